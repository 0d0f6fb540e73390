//! Writes that wait until replicas have them.

use std::time::{Duration, Instant};

use redis::Commands as _;
use twindex_cluster::{Answer, Error, IndexKind, Options, Store, Table};
use twindex_servers::{Cluster, Result, Server, wait_until};

async fn open(url: &str, replicas: u32, timeout: Duration) -> Result<(Store, [Table; 2])> {
    let options = Options::new().replicas(replicas).timeout(timeout);
    let store = options.patience(Duration::from_secs(30)).connect(url).await?;
    let tables = [store.table("h", IndexKind::Hash).await?, store.table("s", IndexKind::Sorted).await?];
    Ok((store, tables))
}

async fn tables(url: &str, replicas: u32, timeout: Duration) -> Result<[Table; 2]> {
    Ok(open(url, replicas, timeout).await?.1)
}

/// The replica of the master that has a key like this, a connection to it that reads there, and the key.
fn replica_of(cluster: &Cluster, pattern: &str) -> Result<(usize, redis::Connection, String)> {
    let key = &*cluster.keys(pattern)?.pop().ok_or("there is no such key")?;
    let master = cluster.servers()[cluster.master_of(cluster.slot_of(key)?)?].port().to_string();
    for (place, server) in cluster.servers().iter().enumerate() {
        if server.info("master_port")?.is_some_and(|port| port == master) {
            let mut connection = server.connection()?;
            redis::cmd("READONLY").query::<()>(&mut connection)?;
            return Ok((place, connection, key.into()));
        }
    }
    Err("the master has no replica".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_returns_is_on_the_replica() -> Result<()> {
    let cluster = Cluster::start(3, 1)?;
    let [hash, sorted] = tables(&cluster.url(), 1, Duration::from_secs(20)).await?;
    hash.upsert("{k}a", "-1").await?;
    let (_, mut replica, key) = replica_of(&cluster, "tw:h:*:{k}a")?;
    for number in 0..200_i64 {
        hash.upsert("{k}a", number.to_string()).await?;
        let found: i64 = replica.get(&key)?;
        assert_eq!(found, number, "the replica has it at once");
    }
    assert!(hash.delete("{k}a").await?);
    assert!(!replica.exists::<_, bool>(&key)?);
    // Many at once share few connections, and batches go to all masters.
    for table in [&hash, &sorted] {
        let pairs: Vec<_> = (0..3000).map(|number| (number.to_string(), "1")).collect();
        assert!(table.insert_many(&pairs).await?.iter().all(|done| *done));
        let sums = (0..100).map(|number| {
            let table = table.clone();
            tokio::spawn(async move { table.increment(number.to_string(), 1).await })
        });
        for sum in sums.collect::<Vec<_>>() {
            assert_eq!(sum.await??, 2);
        }
        assert!(table.compare_and_swap("7", Some(b"2"), Some(b"3")).await?);
        assert!(!table.replace("absent", "1").await?);
        table.clear().await?;
        assert_eq!(table.len().await?, 0);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_too_few_replicas_have_says_so_and_is_done() -> Result<()> {
    let mut cluster = Cluster::start(3, 1)?;
    let [patient, _] = tables(&cluster.url(), 1, Duration::from_secs(20)).await?;
    let [hash, sorted] = tables(&cluster.url(), 1, Duration::from_millis(500)).await?;
    patient.insert("{k}a", "before").await?;
    let (place, ..) = replica_of(&cluster, "tw:h:*:{k}a")?;
    cluster.servers_mut()[place].fail(true)?;
    let started = Instant::now();
    let error = hash.upsert("{k}a", "after").await.expect_err("the replica hangs");
    assert!(started.elapsed() >= Duration::from_millis(500), "it waited");
    assert_eq!(error.code(), "TWINDEX_NOT_REPLICATED");
    assert!(matches!(error, Error::NotReplicated { wanted: 1, reached: 0, .. }), "{error}");
    assert!(error.to_string().contains("0 of the 1 replicas"), "{error}");
    assert_eq!(hash.select("{k}a").await?.as_deref(), Some(b"after".as_slice()), "it is done");
    // The other masters' replicas answer.
    let mut done = 0;
    for number in 0..30 {
        done += usize::from(sorted.upsert(number.to_string(), "1").await.is_ok());
    }
    assert!((5..30).contains(&done), "{done} of 30");
    cluster.servers_mut()[place].go_on(true)?;
    patient.upsert("{k}a", "again").await?;

    Ok(())
}

/// A program whose replica was gone could not even open a table, and was told that a write was done that was not.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_write_that_took_effect_waits() -> Result<()> {
    let alone = Server::start(&[])?;
    tables(&alone.url(), 0, Duration::from_secs(2)).await?;
    // Waiting would take longer than the test may.
    let (store, all) = open(&alone.url(), 2, Duration::from_mins(5)).await?;
    let without_effect = async {
        for table in &all {
            assert!(!table.replace("a", "1").await?);
            assert!(!table.delete("a").await?);
            assert!(!table.compare_and_swap("a", Some(b"0"), Some(b"1")).await?);
            let mut batch = store.batch();
            batch.replace(table, "a", "1")?;
            assert_eq!(batch.commit().await?, [false]);
            table.clear().await?;
        }
        Result::Ok(())
    };
    tokio::time::timeout(Duration::from_secs(20), without_effect).await.expect("writes that waited")?;
    let [hash, sorted] = tables(&alone.url(), 2, Duration::from_millis(100)).await?;
    for table in [&hash, &sorted] {
        let error = table.insert("a", "1").await.expect_err("it has no replicas");
        assert!(matches!(error, Error::NotReplicated { wanted: 2, reached: 0, .. }), "{error}");
        assert!(!table.insert("a", "2").await?);
        // What was written is told apart from what was not.
        let error = table.insert_many(&[("a", "2"), ("b", "2")]).await.expect_err("one is written");
        let Error::PartlyDone { outcomes } = error else { panic!("{error}") };
        assert!(matches!(outcomes[..], [Ok(Answer::Took(false)), Err(Error::NotReplicated { .. })]));
        assert_eq!(table.select("b").await?.as_deref(), Some(b"2".as_slice()));
    }
    let store = Options::new().replicas(2).timeout(Duration::from_millis(100)).connect(&alone.url()).await?;
    let error = store.table("new", IndexKind::Hash).await.expect_err("creating it is a write");
    assert!(matches!(error, Error::NotReplicated { wanted: 2, reached: 0, .. }), "{error}");
    store.table("new", IndexKind::Hash).await?;
    // All pairs are removed, not only those that were found first; and what was dropped is removed.
    let brief = Duration::from_millis(50);
    let options = Options::new().replicas(2).timeout(brief).catalogue_age(brief);
    let store = options.connect(&alone.url()).await?;
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let pairs: Vec<_> = (0..3000).map(|number| (number.to_string(), "1")).collect();
        let name = if index == IndexKind::Hash { "h" } else { "s" };
        let table = store.table(name, index).await?;
        for removes in [true, false] {
            table.upsert_many(&pairs).await.expect_err("it has no replicas");
            assert!(table.len().await? >= 3000);
            if removes {
                let error = table.clear().await.expect_err("it has no replicas");
                assert!(matches!(error, Error::NotReplicated { .. }), "{error}");
                assert_eq!(table.len().await?, 0);
            }
        }
        let error = store.drop_table(name).await.expect_err("it has no replicas");
        assert!(matches!(error, Error::NotReplicated { .. }), "{error}");
        assert!(table.is_dropped());
    }
    wait_until("removing what was dropped", || {
        let keys: Vec<String> = alone.command(&["KEYS", "*"])?;
        Ok(keys == ["tw~{catalogue}"])
    })?;
    Ok(())
}
