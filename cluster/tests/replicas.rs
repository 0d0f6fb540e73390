//! Writes that wait until replicas have them.

use std::time::{Duration, Instant};

use redis::Commands as _;
use twindex_cluster::{Error, Index, Options, Table};
use twindex_servers::{Cluster, Result, Server};

async fn tables(url: &str, replicas: u32, timeout: Duration) -> Result<[Table; 2]> {
    let options = Options::new().replicas(replicas).timeout(timeout);
    let store = options.patience(Duration::from_secs(30)).connect(url).await?;
    Ok([store.table("h", Index::Hash).await?, store.table("s", Index::Sorted).await?])
}

/// The replica of the master that has this key, and a connection to it that reads there.
fn replica_of(cluster: &Cluster, key: &str) -> Result<(usize, redis::Connection)> {
    let slot: u16 = cluster.servers()[0].command(&["CLUSTER", "KEYSLOT", key])?;
    let master = cluster.servers()[cluster.master_of(slot)?].port().to_string();
    for (place, server) in cluster.servers().iter().enumerate() {
        if server.info("master_port")?.is_some_and(|port| port == master) {
            let mut connection = server.connection()?;
            redis::cmd("READONLY").query::<()>(&mut connection)?;
            return Ok((place, connection));
        }
    }
    Err("the master has no replica".into())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_returns_is_on_the_replica() -> Result<()> {
    let cluster = Cluster::start(3, 1)?;
    let [hash, sorted] = tables(&cluster.url(), 1, Duration::from_secs(20)).await?;
    let (_, mut replica) = replica_of(&cluster, "tw:h:1:{k}a")?;
    for number in 0..200_i64 {
        hash.upsert("{k}a", number.to_string()).await?;
        let found: i64 = replica.get("tw:h:1:{k}a")?;
        assert_eq!(found, number, "the replica has it at once");
    }
    assert!(hash.delete("{k}a").await?);
    assert!(!replica.exists::<_, bool>("tw:h:1:{k}a")?);
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
    let cluster = Cluster::start(3, 1)?;
    let [patient, _] = tables(&cluster.url(), 1, Duration::from_secs(20)).await?;
    let [hash, sorted] = tables(&cluster.url(), 1, Duration::from_millis(500)).await?;
    patient.insert("{k}a", "before").await?;
    let (place, _) = replica_of(&cluster, "tw:h:1:{k}a")?;
    cluster.servers()[place].pause()?;
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
    cluster.servers()[place].resume()?;
    assert!(patient.upsert("{k}a", "again").await?);

    let alone = Server::start(&[])?;
    let options = Options::new().replicas(2).timeout(Duration::from_millis(100));
    let error = match options.connect(&alone.url()).await {
        Ok(store) => store.table("t", Index::Hash).await.expect_err("it has no replicas"),
        Err(error) => error,
    };
    assert!(matches!(error, Error::NotReplicated { wanted: 2, reached: 0, .. }), "{error}");
    Ok(())
}
