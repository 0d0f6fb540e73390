//! Clients that write while connections drop, slots move and masters die.
//!
//! Every key is inserted once, so `false` is a lie unless an earlier attempt had an unknown outcome. What was answered with
//! `true` is there afterwards, but for what the servers themselves lose: a master that dies may take with it what it had
//! acknowledged just before.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use twindex_cluster::{Answer, Error, IndexKind, Options, Store, Table};
use twindex_servers::{Cluster, Result, Server};

/// How many times the usual work is done.
fn stress() -> u32 {
    std::env::var("TWINDEX_STRESS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

async fn connect(url: &str) -> Store {
    Options::new().patience(Duration::from_secs(30)).connect(url).await.expect("a store")
}

/// What writers were told.
#[derive(Debug, Default)]
struct Told {
    /// The keys that are written, and when their writers were told.
    written: HashMap<String, Instant>,
    unknown: Vec<String>,
    /// The longest time for which a writer was told nothing good.
    pause: Duration,
}

/// Clients that insert keys of their own, as fast as they can, until they are stopped.
struct Writers {
    stop: Arc<AtomicBool>,
    told: Arc<Mutex<Told>>,
    tasks: Vec<JoinHandle<()>>,
}

impl Writers {
    fn start(tables: &[Table]) -> Self {
        let (stop, told) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Told::default())));
        let tasks = tables
            .iter()
            .enumerate()
            .map(|(number, table)| tokio::spawn(write(number, table.clone(), stop.clone(), told.clone())));
        Self { tasks: tasks.collect(), stop, told }
    }

    async fn stop(self) -> Told {
        self.stop.store(true, Relaxed);
        for task in self.tasks {
            task.await.expect("a writer");
        }
        std::mem::take(&mut self.told.lock().expect("no writer panicked"))
    }
}

async fn write(number: usize, table: Table, stop: Arc<AtomicBool>, told: Arc<Mutex<Told>>) {
    let mut last = Instant::now();
    for count in 0.. {
        if stop.load(Relaxed) {
            return;
        }
        let key = format!("writer {number} key {count:06}");
        let outcome = table.insert(&key, &key).await;
        let mut told = told.lock().expect("no writer panicked");
        match outcome {
            Ok(true) => {
                let now = Instant::now();
                told.pause = told.pause.max(now - last);
                last = now;
                told.written.insert(key, now);
            }
            Ok(false) => panic!("{key} is said to be there, and nobody wrote it"),
            Err(Error::UnknownOutcome { .. } | Error::NotReplicated { .. }) => told.unknown.push(key),
            Err(error) => panic!("{key}: {error}"),
        }
    }
}

/// Checks a table against what the writers were told; how many acknowledged writes are lost.
async fn check(table: &Table, told: &Told, before: Option<Instant>) -> Result<usize> {
    let mut pairs = table.iter().all().await?;
    if table.index() == IndexKind::Sorted {
        assert!(pairs.is_sorted_by(|one, two| one.0 < two.0), "in order, and nothing twice");
    } else {
        pairs.sort_unstable();
        assert!(pairs.is_sorted_by(|one, two| one.0 < two.0), "nothing twice");
    }
    assert_eq!(table.len().await?, pairs.len() as u64);
    let mut missing = told.written.clone();
    for (key, value) in &pairs {
        assert!(key == value);
        let key = String::from_utf8(key.clone())?;
        assert!(missing.remove(&key).is_some() || told.unknown.contains(&key), "{key} was refused");
    }
    for (key, when) in &missing {
        assert!(before.is_some_and(|before| *when > before), "{key} was acknowledged and is lost");
    }
    Ok(missing.len())
}

async fn tables(store: &Store) -> Vec<Table> {
    let hash = store.table("h", IndexKind::Hash).await.expect("a table");
    let sorted = store.table("s", IndexKind::Sorted).await.expect("a table");
    vec![hash, sorted]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_answer_is_false_where_connections_drop() -> Result<()> {
    let server = Server::start(&[])?;
    for table in tables(&connect(&server.url()).await).await {
        let writers = Writers::start(&vec![table.clone(); 8]);
        for _ in 0..60 * stress() {
            tokio::time::sleep(Duration::from_millis(20)).await;
            server.command::<i64>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])?;
        }
        let told = writers.stop().await;
        assert!(!told.unknown.is_empty(), "connections were dropped under writes");
        assert_eq!(check(&table, &told, None).await?, 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_doubled_where_slots_move() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    let store = connect(&cluster.url()).await;
    for table in tables(&store).await {
        let kept: Vec<_> = (0..2000).map(|number| format!("kept {number:05}")).collect();
        let pairs: Vec<_> = kept.iter().map(|key| (key, key)).collect();
        table.insert_many(&pairs).await?;
        let writers = Writers::start(&vec![table.clone(); 4]);
        // Slots of pairs, and those of some partitions: their order is what a slot that moves is asked about most.
        let keys: Vec<String> = cluster.servers()[0].command(&["KEYS", "tw*"])?;
        for round in 0..12 * stress() as usize {
            let slot = cluster.slot_of(&keys[round * 7 % keys.len()])?;
            let from = cluster.master_of(slot)?;
            cluster.move_slot(slot, (from + 1) % 3)?;
            if table.index() == IndexKind::Sorted {
                let found = table.prefix("kept ")?.all().await?;
                let found: Vec<_> = found.into_iter().map(|(key, _)| key).collect();
                assert!(found.iter().eq(kept.iter().map(String::as_bytes)), "{} of 2000", found.len());
            }
        }
        let mut told = writers.stop().await;
        assert!(told.unknown.is_empty(), "a move leaves no outcome unknown: {:?}", told.unknown);
        told.written.extend(kept.into_iter().map(|key| (key, Instant::now())));
        assert_eq!(check(&table, &told, None).await?, 0);
    }
    Ok(())
}

/// A retry of what was said not to be done counted twice. And walks never ended, since the other masters answered.
#[tokio::test(flavor = "multi_thread")]
async fn each_item_has_an_outcome_where_a_master_is_gone() -> Result<()> {
    let mut cluster = Cluster::start_with(3, 0, None, &["--cluster-require-full-coverage", "no"])?;
    let brief = Duration::from_millis(200);
    let store =
        Options::new().patience(brief).timeout(brief).connect_timeout(brief).connect(&cluster.url()).await?;
    let gone = (cluster.master_of(cluster.slot_of("tw~{catalogue}")?)? + 1) % 3;
    let amounts: Vec<_> = (0..300).map(|number| (number.to_string(), 1)).collect();
    let keys: Vec<_> = amounts.iter().map(|(key, _)| key).collect();
    let pairs: Vec<_> = keys.iter().map(|key| (key, "1")).collect();
    let tables = tables(&store).await;
    for hangs in [true, false] {
        for table in &tables {
            table.upsert_many(&pairs).await?;
        }
        cluster.servers_mut()[gone].fail(hangs)?;
        for table in &tables {
            let error = table.increment_many(&amounts).await.expect_err("a master is gone");
            assert_eq!(error.code(), "TWINDEX_PARTLY_DONE", "{error}");
            let Error::PartlyDone { outcomes } = error else { panic!("{error}") };
            let done = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Answer::Sum(2)))).count();
            assert!((150..250).contains(&done) && outcomes.len() == 300, "{done} of {}", outcomes.len());
            for (key, outcome) in keys.iter().zip(&outcomes) {
                match outcome {
                    Ok(_) => assert_eq!(table.select(key).await?.as_deref(), Some(b"2".as_slice())),
                    Err(error) if hangs && table.index() == IndexKind::Hash => {
                        assert_eq!(error.code(), "TWINDEX_UNKNOWN_OUTCOME", "{error}");
                    }
                    // Once a connection was lost, none is made, so nothing is sent.
                    Err(Error::Unavailable { .. } | Error::UnknownOutcome { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            if hangs {
                continue;
            }
            let swaps: Vec<_> = keys.iter().map(|key| (key.as_bytes(), None, None)).collect();
            for error in [
                table.insert_many(&pairs).await.expect_err("insert"),
                table.replace_many(&pairs).await.expect_err("replace"),
                table.upsert_many(&pairs).await.expect_err("upsert"),
                table.compare_and_swap_many(&swaps).await.expect_err("swap"),
                table.delete_many(&keys).await.expect_err("delete"),
            ] {
                let Error::PartlyDone { outcomes } = error else { panic!("{error}") };
                assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), done);
            }
            let walks = async {
                table.len().await.map(drop).expect_err("len");
                table.iter().all().await.map(drop).expect_err("walk");
                table.clear().await.expect_err("clear")
            };
            let error = tokio::time::timeout(Duration::from_secs(30), walks).await.expect("walks end");
            let code =
                if table.index() == IndexKind::Hash { "TWINDEX_UNAVAILABLE" } else { "TWINDEX_PARTLY_DONE" };
            assert_eq!(error.code(), code, "{error}");
            // The pairs of the other masters are gone, and it is not said that nothing was done.
            table.upsert_many(&pairs).await.expect_err("upsert");
            let error = table.clear().await.expect_err("clear");
            assert_eq!(error.code(), "TWINDEX_PARTLY_DONE", "{error}");
            for (key, _) in keys.iter().zip(&outcomes).filter(|(_, outcome)| outcome.is_ok()) {
                assert_eq!(table.select(key).await?, None);
            }
        }
        if hangs {
            cluster.servers_mut()[gone].go_on(true)?;
            cluster.wait_until_ready()?;
        }
    }
    Ok(())
}

/// Another pod was given the address of one that had died, and was given its writes.
#[tokio::test(flavor = "multi_thread")]
async fn servers_that_are_no_cluster_get_nothing_meant_for_one() -> Result<()> {
    let mut cluster = Cluster::start(1, 0)?;
    let options = || Options::new().patience(Duration::from_millis(300));
    let store = options().connect(&cluster.url()).await?;
    let tables = tables(&store).await;
    cluster.servers_mut()[0].kill()?;
    let stranger = Server::start_on(cluster.servers()[0].port(), &[])?;
    for table in &tables {
        for error in [
            table.select("a").await.expect_err("a read"),
            table.len().await.expect_err("a walk"),
            // Now that the loss of the connection is known, nothing is written to it.
            table.upsert("a", "1").await.expect_err("a write"),
        ] {
            assert_eq!(error.code(), "TWINDEX_UNAVAILABLE");
            assert!(error.to_string().contains("it is not in a cluster"), "{error}");
        }
    }
    // Two servers alone are no cluster either: a store would go from one to the other.
    let other = Server::start(&[])?;
    let url = format!("redis://127.0.0.1:{},127.0.0.1:{}", stranger.port(), other.port());
    let error = options().connect(&url).await.expect_err("two servers");
    assert!(error.to_string().contains("it is not in a cluster"), "{error}");
    for server in [&stranger, &other] {
        assert_eq!(server.command::<u64>(&["DBSIZE"])?, 0);
    }
    Ok(())
}

/// Four writers, under whom the master of a slot dies, or hangs, for six seconds: what they were told, and when that was.
async fn fail_under_writers(
    cluster: &mut Cluster,
    table: &Table,
    slot: u16,
    hangs: bool,
) -> Result<(Told, Instant)> {
    cluster.wait_until_ready()?;
    let writers = Writers::start(&vec![table.clone(); 4]);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let master = cluster.master_of(slot)?;
    let failed = Instant::now();
    cluster.servers_mut()[master].fail(hangs)?;
    tokio::time::sleep(Duration::from_secs(6)).await;
    cluster.servers_mut()[master].go_on(hangs)?;
    tokio::time::sleep(Duration::from_secs(1)).await;
    let told = writers.stop().await;
    cluster.wait_until_ready()?;
    Ok((told, failed))
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_go_on_where_a_master_dies_or_hangs() -> Result<()> {
    let mut cluster = Cluster::start(3, 1)?;
    let store = connect(&cluster.url()).await;
    for (round, table) in tables(&store).await.into_iter().enumerate() {
        // The soak has both tables meet both.
        let hangs = table.index() == IndexKind::Sorted;
        for hangs in [hangs, !hangs].into_iter().take(stress() as usize) {
            table.clear().await?;
            let (told, failed) = fail_under_writers(&mut cluster, &table, 5000 * round as u16, hangs).await?;
            // What was acknowledged earlier has reached the replica.
            let before = failed.checked_sub(Duration::from_millis(300)).ok_or("the clock began just now")?;
            let lost = check(&table, &told, Some(before)).await?;
            let (written, unknown, pause) = (told.written.len(), told.unknown.len(), told.pause);
            println!(
                "hangs: {hangs}: {written} written, {unknown} unknown, {lost} lost, a pause of {pause:?}"
            );
            assert!(pause < Duration::from_secs(6), "writes resumed after {pause:?}");
            assert!(lost * 50 < written, "{lost} of {written} are lost");
        }
    }
    Ok(())
}

/// A paused master that goes on acknowledges nothing that its replica, which is a master by then, has not.
#[tokio::test(flavor = "multi_thread")]
async fn no_write_that_the_replica_has_is_lost() -> Result<()> {
    let mut cluster = Cluster::start(3, 1)?;
    let options = Options::new().replicas(1).patience(Duration::from_secs(30));
    let store = options.connect(&cluster.url()).await?;
    for (table, hangs) in tables(&store).await.into_iter().zip([true, false]) {
        let (told, _) = fail_under_writers(&mut cluster, &table, 3000, hangs).await?;
        assert!(!told.written.is_empty());
        assert_eq!(check(&table, &told, None).await?, 0);
    }
    Ok(())
}
