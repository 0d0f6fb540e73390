//! What tables do beyond the verbs: times to live, codecs, what other clients see, and what is left behind.

#[path = "common/fake.rs"]
mod fake;
#[path = "common/proxy.rs"]
mod proxy;
#[path = "common/waiting.rs"]
mod waiting;

use std::sync::Arc;
use std::time::Duration;

use proxy::Proxy;
use twindex_cluster::{IndexKind, Options, Store, TableOptions, Ttl};
use twindex_servers::{Cluster, Result, Server};
use waiting::eventually;

async fn connect(url: &str, namespace: &str) -> Store {
    let options = Options::new().namespace(namespace).catalogue_age(Duration::from_millis(50));
    options.connect(url).await.expect("a store")
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_of_hash_tables_expire_when_told_to() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "ttl").await;
    let table = store.table("t", IndexKind::Hash).await?;
    let brief = table.with_ttl(Duration::from_millis(300))?;
    assert!(brief.insert("a", "1").await?);
    assert!(!brief.insert("a", "2").await?);
    assert!(table.insert("b", "2").await?);
    assert!(matches!(table.ttl("a").await?, Ttl::Left(left) if left <= Duration::from_millis(300)));
    assert_eq!(table.ttl("b").await?, Ttl::Forever);
    assert_eq!(table.ttl("c").await?, Ttl::Absent);
    assert_eq!(brief.increment("n", 1).await?, 1);
    assert_eq!(table.ttl("n").await?, Ttl::Forever);
    tokio::time::sleep(Duration::from_millis(400)).await;
    assert_eq!(table.select("a").await?, None);
    assert!(table.touch("b", Some(Duration::from_secs(100))).await?);
    assert!(table.compare_and_swap("b", Some(b"2"), Some(b"3")).await?);
    assert!(matches!(table.ttl("b").await?, Ttl::Left(_)), "a swap keeps the time to live");
    assert!(table.touch("b", None).await?);
    assert_eq!(table.ttl("b").await?, Ttl::Forever);
    assert!(!table.touch("c", Some(Duration::from_secs(1))).await?);
    assert!(table.with_ttl(Duration::MAX)?.insert("d", "4").await?);
    assert_eq!(table.ttl("d").await?, Ttl::Forever);
    assert_eq!(table.with_ttl(Duration::ZERO).expect_err("no time").code(), "TWINDEX_TTL");
    assert_eq!(table.touch("d", Some(Duration::ZERO)).await.expect_err("no time").code(), "TWINDEX_TTL");
    let sorted = store.table("s", IndexKind::Sorted).await?;
    assert_eq!(
        sorted.with_ttl(Duration::from_secs(1)).expect_err("a sorted table").code(),
        "TWINDEX_WRONG_INDEX"
    );
    assert_eq!(sorted.ttl("a").await.expect_err("a sorted table").code(), "TWINDEX_WRONG_INDEX");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_remembers_its_codecs() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "codecs").await;
    assert!(store.find_table("t").await?.is_none());
    let strict = TableOptions::new(IndexKind::Hash).keys("str").values("json");
    let error = store.table_with("t", strict.create(false)).await.expect_err("there is none");
    assert_eq!((error.code(), error.to_string().contains("\"t\"")), ("TWINDEX_NO_TABLE", true));
    store.table_with("t", strict).await?;
    let other = connect(&server.url(), "codecs").await;
    assert_eq!(other.find_table("t").await?.expect("a table").codecs(), ("str", "json"));
    assert_eq!(other.table("t", IndexKind::Hash).await?.codecs(), ("str", "json"));
    let error = other.table_with("t", strict.values("int")).await.expect_err("other codecs");
    assert_eq!(error.code(), "TWINDEX_WRONG_CODEC");
    assert!(error.to_string().contains("json") && error.to_string().contains("int"), "{error}");
    let own = strict.keys("two words").values("12 34");
    other.table_with("u", own).await?;
    assert_eq!(store.table_with("u", own).await?.codecs(), ("two words", "12 34"));
    let error = other.table_with("v", strict.keys("")).await.expect_err("no name");
    assert_eq!(error.code(), "TWINDEX_CODEC_NAME");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn other_clients_see_what_one_clears_and_drops() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    let (one, two) = (connect(&cluster.url(), "seen").await, connect(&cluster.url(), "seen").await);
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let (mine, theirs) = (one.table("t", index).await?, two.table("t", index).await?);
        let pairs: Vec<_> = (0..3000).map(|number| (format!("key{number}"), number.to_string())).collect();
        assert!(mine.insert_many(&pairs).await?.iter().all(|done| *done));
        assert_eq!((theirs.len().await?, mine.len().await?), (3000, 3000));
        mine.clear().await?;
        assert_eq!(mine.len().await?, 0);
        assert_eq!(theirs.len().await?, 0);
        assert!(theirs.insert("a", "1").await?);
        assert_eq!(mine.select("a").await?, Some(b"1".to_vec()));
        assert!(one.drop_table("t").await?);
        assert!(mine.is_dropped());
        eventually("a drop is seen", || async { theirs.insert("b", "2").await.is_err() }).await;
        assert_eq!(theirs.select("a").await?, None);
    }
    eventually("all keys are removed", || async { cluster.keys("*").expect("keys").is_empty() }).await;
    Ok(())
}

/// An idle handle went on for good, and its writes were acknowledged and lost.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_write_after_idling_sees_what_others_did() -> Result<()> {
    let server = Server::start(&[])?;
    let (one, two) = (connect(&server.url(), "idle").await, connect(&server.url(), "idle").await);
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let theirs = two.table("t", index).await?;
        one.drop_table("t").await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let error = theirs.upsert("late", "1").await.expect_err("the table was dropped");
        assert_eq!(error.code(), "TWINDEX_TABLE_DROPPED");
        // Generations that count from 1 began again, and old handles wrote into new tables.
        let theirs = two.table("t", index).await?;
        let mut batch = two.batch();
        batch.upsert(&theirs, "late", "1")?;
        server.command::<()>(&["FLUSHALL"])?;
        let other = if index == IndexKind::Hash { IndexKind::Sorted } else { IndexKind::Hash };
        let new = one.table("t", other).await?;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(batch.commit().await.expect_err("a batch").code(), "TWINDEX_TABLE_DROPPED");
        assert_eq!(theirs.clear().await.expect_err("clearing").code(), "TWINDEX_TABLE_DROPPED");
        assert_eq!((new.len().await?, theirs.len().await?), (0, 0));
        one.drop_table("t").await?;
    }
    Ok(())
}

/// A look at the catalogue was begun from there, which panicked.
#[test]
fn batches_and_checks_need_no_runtime() -> Result<()> {
    let server = Server::start(&[])?;
    // As JavaScript has it where a number is too large for a time.
    let forever = Options::new().catalogue_age(Duration::MAX).connect_blocking(&server.url())?;
    forever.table("forever", IndexKind::Hash)?.upsert("a", "1")?;
    assert!(forever.drop_table("forever")?);
    let options = Options::new().catalogue_age(Duration::from_millis(20));
    let store = options.connect_blocking(&server.url())?;
    let table = store.table("t", IndexKind::Sorted)?;
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(30));
        let mut batch = store.batch();
        batch.increment(&table, "n", 1)?;
        assert_eq!(batch.commit()?, [true]);
        let changed = table.alter("n", |old| {
            std::thread::sleep(Duration::from_millis(30));
            twindex_cluster::Change::Set(old.unwrap_or_default().to_vec())
        })?;
        assert!(changed);
    }
    assert_eq!(table.select("n")?.as_deref(), Some(b"3".as_slice()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_databases_and_addresses_are_refused() -> Result<()> {
    // No machine has this address.
    let cluster = Cluster::start_with(1, 0, None, &["--cluster-announce-ip", "192.0.2.1"])?;
    let port = cluster.servers()[0].port();
    let brief = || {
        let brief = Duration::from_millis(300);
        Options::new().connect_timeout(brief).patience(brief)
    };
    let error = brief().connect(&format!("{}/1", cluster.url())).await.expect_err("database 1");
    assert_eq!(error.code(), "TWINDEX_REFUSED");
    assert!(error.to_string().contains("a cluster has only database 0"), "{error}");
    let store = brief().connect(&cluster.url()).await?;
    let error = store.table("t", IndexKind::Hash).await.expect_err("nothing is there");
    assert_eq!(error.code(), "TWINDEX_UNAVAILABLE");
    assert!(error.to_string().contains("192.0.2.1") && error.to_string().contains("announced"), "{error}");
    for (announced, reached) in
        [("192.0.2.1".into(), "127.0.0.1".into()), (format!("192.0.2.1:{port}"), format!("127.0.0.1:{port}"))]
    {
        let store = brief().address(&announced, &reached).connect(&cluster.url()).await?;
        store.table("t", IndexKind::Hash).await?.upsert("a", "1").await?;
    }
    let error = brief().connect("redis://127.0.0.1:1").await.expect_err("nobody listens");
    assert!(!error.to_string().contains("TLS") && !error.to_string().contains("announced"), "{error}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn large_tables_are_scanned_whole_and_in_order() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    let store = connect(&cluster.url(), "large").await;
    let table = store.table("t", IndexKind::Sorted).await?;
    let mut pairs: Vec<_> = (0..40_000_u32)
        .map(|number| (number.wrapping_mul(0x9E37_79B1).to_be_bytes(), number.to_be_bytes()))
        .collect();
    for some in pairs.chunks(5000) {
        table.upsert_many(some).await?;
    }
    pairs.sort_unstable();
    let sorted: Vec<_> = pairs.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
    assert!(table.iter().all().await? == sorted);
    let mut reversed = table.scan(..)?.rev().all().await?;
    reversed.reverse();
    assert!(reversed == sorted);
    for (from, limit) in [(0, 1), (100, 100), (39_950, 100), (20_000, 5000)] {
        let found = table.scan(&pairs[from].0[..]..)?.limit(limit).all().await?;
        assert!(found == sorted[from..sorted.len().min(from + limit)], "{limit} from {from}");
    }
    let mut cursor = table.cursor(..)?;
    for pair in &sorted[..3000] {
        assert_eq!(cursor.scan_asc_next().await?.as_ref(), Some(pair));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn long_values_come_in_short_pages() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "heavy").await;
    let sent = || -> Result<u64> { Ok(server.info("total_net_output_bytes")?.ok_or("no figure")?.parse()?) };
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = store.table("t", index).await?;
        // Some 60 MB in one call: it goes in several commands.
        let pairs: Vec<_> = (0..60_u8).map(|number| ([number], vec![number; 1 << 20])).collect();
        table.upsert_many(&pairs).await?;
        let before = sent()?;
        let mut walk = table.iter();
        let mut found = vec![walk.next().await?.ok_or("a pair")?];
        assert!(sent()? - before < 25 << 20, "{} bytes for the first pair", sent()? - before);
        found.extend(walk.all().await?);
        found.sort();
        let some = table.iter().next_many(1000).await?;
        assert!(!some.is_empty() && some.len() <= 32, "{} long pairs at once", some.len());
        assert!(found.len() == 60 && found.iter().zip(&pairs).all(|(found, pair)| found.1 == pair.1));
        if index == IndexKind::Sorted {
            // Short pairs make pages long, until the long ones come.
            let short: Vec<_> = (0..2000_u16)
                .map(|number| ([0, 0].into_iter().chain(number.to_be_bytes()).collect(), ""))
                .collect();
            table.upsert_many::<Vec<u8>, _>(&short).await?;
            assert_eq!(table.scan(..)?.limit(1000).all().await?.len(), 1000);
            let before = sent()?;
            let some = table.scan([0, 0, 7, 192].as_slice()..)?.limit(20).all().await?;
            assert!(some.len() == 20 && some[15].1.is_empty() && some[16].0 == [1]);
            assert!(sent()? - before < 45 << 20, "{} bytes for four long pairs", sent()? - before);
        }
        let keys: Vec<_> = pairs.iter().map(|pair| pair.0).collect();
        assert!(table.contains_many(&keys).await?.iter().all(|is| *is));
        // Servers would end the connection, and its outcome be unknown.
        let huge = vec![0; (512 << 20) + 1];
        for error in [
            table.upsert("huge", &huge).await.expect_err("too long"),
            table.compare_and_swap("huge", None, Some(&huge)).await.expect_err("too long"),
            table.compare_and_swap("huge", Some(&huge), None).await.expect_err("too long"),
            store.batch().upsert(&table, "huge", &huge).expect_err("too long"),
        ] {
            assert_eq!(error.code(), "TWINDEX_VALUE_TOO_LARGE");
        }
        assert!(store.drop_table("t").await?);
    }
    Ok(())
}

/// As Redis 6 does.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_functions_is_told_of() -> Result<()> {
    let server = Server::start(&["--rename-command", "FCALL", ""])?;
    let store = connect(&server.url(), "old").await;
    let error = store.table("t", IndexKind::Hash).await.expect_err("it has no functions");
    assert_eq!(error.code(), "TWINDEX_REFUSED");
    assert!(error.to_string().contains("Redis 7 or later"), "{error}");
    Ok(())
}

/// A new master, or a server on which somebody removed all functions, does not know ours.
#[tokio::test(flavor = "multi_thread")]
async fn functions_that_are_gone_are_loaded_again() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "again").await;
    let table = store.table("t", IndexKind::Sorted).await?;
    for round in 0..5_u8 {
        server.command::<()>(&["FUNCTION", "FLUSH"])?;
        assert!(table.insert([round], "1").await?);
        server.command::<()>(&["FUNCTION", "FLUSH"])?;
        assert_eq!(table.scan(..)?.all().await?.len(), usize::from(round) + 1);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_say_why() -> Result<()> {
    let server = Server::start(&["--maxmemory", "3mb", "--maxmemory-policy", "noeviction"])?;
    let store = connect(&server.url(), "full").await;
    let (hash, sorted) =
        (store.table("h", IndexKind::Hash).await?, store.table("s", IndexKind::Sorted).await?);
    let mut refused = None;
    for number in 0..100_u32 {
        match hash.upsert(number.to_be_bytes(), vec![0; 100_000]).await {
            Ok(()) => {}
            Err(error) => {
                refused = Some(error);
                break;
            }
        }
    }
    let error = refused.expect("the server is full");
    assert_eq!(error.code(), "TWINDEX_REFUSED");
    assert!(error.to_string().contains("OOM"), "{error}");
    let error = sorted.insert("a", vec![0; 100_000]).await.expect_err("the server is full");
    assert!(error.to_string().contains("OOM"), "{error}");
    // What frees memory is done, also by a client that comes only now.
    for store in [store, connect(&server.url(), "full").await] {
        let (hash, sorted) =
            (store.table("h", IndexKind::Hash).await?, store.find_table("s").await?.ok_or("a table")?);
        let mut batch = store.batch();
        batch.expect(&hash, "a", None)?;
        for table in [&hash, &sorted] {
            assert!(!table.delete("a").await?);
            assert!(!table.compare_and_swap("a", Some(b"1"), None).await?);
            batch.delete(table, "a")?;
            table.compare_and_swap("a", None, Some(b"1")).await.expect_err("what takes memory");
        }
        assert_eq!(batch.commit().await?, [false, false]);
    }
    Ok(())
}

/// Scans failed for good, or never showed a pair again.
#[tokio::test(flavor = "multi_thread")]
async fn a_partition_of_which_one_key_was_evicted_shows_its_pairs() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "evicted").await;
    let table = store.table("t", IndexKind::Sorted).await?;
    let pairs: Vec<_> = (0..100).map(|number| (format!("{number:03}"), "1")).collect();
    for key in ["pairs", "order"] {
        table.upsert_many(&pairs).await?;
        let mut all: Vec<String> = server.command(&["KEYS", &format!("evicted~t:*:{key}")])?;
        all.truncate(3);
        for key in all {
            server.command::<()>(&["DEL", &key])?;
        }
        // Some that are gone are written again, and some that are there.
        table.insert_many(&pairs[..50]).await?;
        let all: Vec<_> = table.scan(..)?.all().await?.into_iter().map(|(key, _)| key).collect();
        assert_eq!((all.len() as u64, all.is_sorted()), (table.len().await?, true));
        assert!(table.select_many(&all).await?.iter().all(Option::is_some));
        assert_eq!(all.len() == 100, key == "order", "{} are left", all.len());
        table.delete_many(&all).await?;
        assert_eq!((table.scan(..)?.all().await?.len(), table.len().await?), (0, 0));
    }
    Ok(())
}

/// A call that was dropped, or failed, took the keys along whose values it was reading.
#[tokio::test(flavor = "multi_thread")]
async fn a_walk_that_was_interrupted_misses_nothing() -> Result<()> {
    let server = Server::start(&[])?;
    let proxy = Proxy::start(server.port()).await?;
    let brief = Duration::from_millis(500);
    let store = Options::new().timeout(brief).patience(brief).connect(&proxy.url()).await?;
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        proxy.hold_answers(false);
        let table = store.table(index.name(), index).await?;
        let pairs: Vec<_> = (0..3000).map(|number| (format!("{number:04}"), "1")).collect();
        for some in pairs.chunks(500) {
            table.upsert_many(some).await?;
        }
        for is_dropped in [true, false] {
            let (mut walk, mut found) = (table.iter(), Vec::new());
            for round in 0.. {
                let is_held = round % 2 == 1;
                proxy.hold_answers(is_held);
                let wait = if is_held && is_dropped { brief / 10 } else { Duration::MAX };
                let next = tokio::time::timeout(wait, walk.next_many(50));
                let Ok(Ok(some)) = next.await else { continue };
                if some.is_empty() {
                    break;
                }
                found.extend(some);
            }
            found.sort();
            assert!(found.iter().map(|(key, _)| key).eq(pairs.iter().map(|(key, _)| key.as_bytes())));
        }
    }
    Ok(())
}

/// A read said that the write was not done, and then it was: it could undo what its caller wrote meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_finds_out_what_became_of_a_write() -> Result<()> {
    let server = Server::start(&[])?;
    let proxy = Arc::new(Proxy::start(server.port()).await?);
    for replicas in [0, 1] {
        let namespace = replicas.to_string();
        let direct = connect(&server.url(), &namespace).await.table("t", IndexKind::Hash).await?;
        let options = Options::new().namespace(&namespace).replicas(replicas);
        let options = options.timeout(Duration::from_secs(1)).catalogue_age(Duration::from_mins(1));
        let table = options.connect(&proxy.url()).await?.table("t", IndexKind::Hash).await?;
        // Now there is a connection for writes.
        let _ = table.upsert("a", "first").await;
        proxy.hold_commands(true);
        let error = table.upsert("a", "second").await.expect_err("no answer comes");
        assert_eq!(error.code(), "TWINDEX_UNKNOWN_OUTCOME");
        let later = proxy.clone();
        let release = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(300)).await;
            later.hold_commands(false);
        });
        let found = table.select("a").await?;
        release.await?;
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!((&direct.select("a").await?, found.is_some()), (&found, true));
    }
    Ok(())
}

/// A walk did not find the pair, and then it was there. And while the old connection stayed silent, no read with a deadline shorter
/// than the timeout was ever done.
#[tokio::test(flavor = "multi_thread")]
async fn walks_and_reads_with_deadlines_go_on_behind_a_write_without_an_answer() -> Result<()> {
    let server = Server::start(&[])?;
    let proxy = Arc::new(Proxy::start(server.port()).await?);
    let direct = connect(&server.url(), "behind").await.table("t", IndexKind::Hash).await?;
    let options = Options::new().namespace("behind").timeout(Duration::from_secs(1));
    let store = options.catalogue_age(Duration::from_mins(1)).connect(&proxy.url()).await?;
    let table = store.table("t", IndexKind::Hash).await?;
    table.upsert("a", "1").await?;
    proxy.hold_commands(true);
    table.upsert("b", "1").await.expect_err("no answer comes");
    let later = proxy.clone();
    let release = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(300)).await;
        later.hold_commands(false);
    });
    let found = table.len().await?;
    release.await?;
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((direct.len().await?, found), (2, 2));

    proxy.hold_commands(true);
    table.upsert("b", "2").await.expect_err("no answer comes");
    let begun = std::time::Instant::now();
    while tokio::time::timeout(Duration::from_millis(250), table.select("a")).await.is_err() {
        assert!(begun.elapsed() < Duration::from_secs(5), "no read is done");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_none_is_an_error() -> Result<()> {
    let url = fake::server(|command| match command.split(' ').next() {
        Some("HELLO") => "%1\r\n+mode\r\n+standalone\r\n".into(),
        Some("CLUSTER") => "-ERR This instance has cluster support disabled\r\n".into(),
        Some("HGET") => "$33\r\nhash AAAAAAAAAAAAAAAA 16 3 strstr\r\n".into(),
        Some("SCAN") => "*2\r\n$1\r\n0\r\n*1\r\n$1\r\nx\r\n".into(),
        Some("HGETALL") => "%0\r\n".into(),
        // Half of the attempts go there, half come back here.
        Some("GET") => "-ASK 5 127.0.0.1:1\r\n".into(),
        _ => "+OK\r\n".into(),
    })?;
    let store = Options::new().patience(Duration::from_millis(500)).connect(&url).await?;
    let table = store.table("t", IndexKind::Hash).await?;
    let error = table.len().await.expect_err("a key of nobody");
    assert!(error.to_string().contains("no list of keys"), "{error}");
    let error = table.select("a").await.expect_err("a server that is gone");
    assert!(error.to_string().contains("127.0.0.1:1: Connection refused"), "{error}");
    Ok(())
}

/// A firewall drops a connection that is idle, and the next write has an unknown outcome.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_probed() -> Result<()> {
    let server = Server::start(&[])?;
    let store = connect(&server.url(), "idle").await;
    let to = format!(":{:04X}", server.port());
    let is_probed = || {
        let sockets = std::fs::read_to_string("/proc/net/tcp").expect("this system's sockets");
        // Its own and the other's address, its state, and in the sixth word which timer runs: 2 is the one of probes.
        let mut words = sockets.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        words.any(|words| words[2].ends_with(&to) && words[3] == "01" && words[5].starts_with("02"))
    };
    eventually("a connection is idle", || async { is_probed() }).await;
    assert!(store.tables().await?.is_empty());
    Ok(())
}
