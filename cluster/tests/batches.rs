//! Writes that are done all or not at all.

use std::time::Duration;

use twindex_cluster::{Error, IndexKind, Options, Store, Table, Ttl};
use twindex_servers::{Cluster, Result, Server};

async fn open(url: &str, partitions: u16) -> Result<(Store, Table, Table)> {
    let store = Options::new().partitions(partitions).connect(url).await?;
    let (hash, sorted) =
        (store.table("h", IndexKind::Hash).await?, store.table("s", IndexKind::Sorted).await?);
    Ok((store, hash, sorted))
}

async fn pairs(table: &Table) -> Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    for (key, value) in table.iter().all().await? {
        pairs.push((String::from_utf8(key)?, String::from_utf8(value)?));
    }
    pairs.sort();
    Ok(pairs)
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

/// Each table on its own, since no slot of a cluster has pairs of both but by chance.
#[tokio::test(flavor = "multi_thread")]
async fn a_batch_is_done_in_one_slot() -> Result<()> {
    let (cluster, server) = (Cluster::start(3, 0)?, Server::start(&[])?);
    for url in [cluster.url(), server.url()] {
        let (store, hash, sorted) = open(&url, 1).await?;
        for table in [&hash, &sorted] {
            table.upsert("{k}n", "+7").await?;
            let mut batch = store.batch();
            assert!(batch.is_empty());
            batch.insert(table, "{k}a", "1")?;
            batch.insert(table, "{k}a", "2")?;
            batch.replace(table, "{k}a", "3")?;
            batch.replace(table, "{k}b", "4")?;
            batch.upsert(table, "{k}b", "5")?;
            batch.delete(table, "{k}c")?;
            batch.expect(table, "{k}b", None)?;
            batch.expect(table, "{k}n", Some(b"+7"))?;
            batch.increment(table, "{k}n", 3)?;
            batch.increment(table, "{k}m", -3)?;
            assert_eq!(batch.len(), 8);
            let took = batch.commit().await?;
            assert_eq!(took, [true, false, true, false, true, false, true, true]);
            let now = owned(&[("{k}a", "3"), ("{k}b", "5"), ("{k}m", "-3"), ("{k}n", "10")]);
            assert_eq!(pairs(table).await?, now);
            let mut batch = store.batch();
            batch.delete(table, "{k}a")?;
            batch.insert(table, "{k}a", "again")?;
            assert_eq!(batch.commit().await?, [true, true]);
            assert_eq!(table.select("{k}a").await?.as_deref(), Some(b"again".as_slice()));
            assert_eq!(table.len().await?, 4);
        }
        assert_eq!(store.batch().commit().await?, [] as [bool; 0]);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_that_fails_does_nothing() -> Result<()> {
    let server = Server::start(&[])?;
    let (store, hash, sorted) = open(&server.url(), 16).await?;
    for table in [&hash, &sorted] {
        table.upsert_many(&[("a", "1"), ("text", "x"), ("most", "9223372036854775807")]).await?;
    }
    hash.touch("a", Some(Duration::from_secs(100))).await?;
    let before = (pairs(&hash).await?, pairs(&sorted).await?);
    for (key, code) in [("text", "TWINDEX_NOT_AN_INTEGER"), ("most", "TWINDEX_OVERFLOW")] {
        for last in [&hash, &sorted] {
            let mut batch = store.batch();
            for table in [&hash, &sorted] {
                batch.upsert(table, "a", "2")?;
                batch.delete(table, "most-not")?;
                batch.insert(table, "b", "2")?;
                batch.delete(table, "a")?;
                batch.increment(table, "n", 5)?;
            }
            batch.increment(last, key, 1)?;
            let error = batch.commit().await.expect_err("no integer");
            assert_eq!(error.code(), code, "{error}");
            assert_eq!((pairs(&hash).await?, pairs(&sorted).await?), before);
            assert!(matches!(hash.ttl("a").await?, Ttl::Left(_)), "times to live come back too");
            assert_eq!(sorted.scan(..)?.all().await?.len(), 3);
        }
    }
    let mut batch = store.batch();
    batch.expect(&hash, "a", Some(b"1"))?;
    batch.expect(&sorted, "a", Some(b"0"))?;
    batch.expect(&sorted, "b", None)?;
    batch.expect(&hash, "text", None)?;
    batch.upsert(&hash, "a", "2")?;
    let error = batch.commit().await.expect_err("not as expected");
    assert!(error.to_string().contains("\"a\" of table \"s\""), "{error}");
    assert!(matches!(&error, Error::Unexpected { failed, .. } if failed[..] == [1, 3]), "{error}");
    assert_eq!(error.code(), "TWINDEX_UNEXPECTED");
    assert_eq!((pairs(&hash).await?, pairs(&sorted).await?), before);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_over_several_slots_are_refused() -> Result<()> {
    let (cluster, server) = (Cluster::start(3, 0)?, Server::start(&[])?);
    for (url, is_cluster) in [(cluster.url(), true), (server.url(), false)] {
        let (store, hash, sorted) = open(&url, 16).await?;
        for (one, other) in [(&hash, &hash), (&hash, &sorted), (&sorted, &sorted)] {
            let mut batch = store.batch();
            batch.upsert(one, "a", "1")?;
            batch.upsert(other, "b", "1")?;
            if is_cluster {
                let error = batch.commit().await.expect_err("two slots");
                assert_eq!(error.code(), "TWINDEX_CROSS_SLOT");
                for name in ["\"a\"", "\"b\"", "braces", other.name()] {
                    assert!(error.to_string().contains(name), "{error}");
                }
                assert_eq!(hash.select_many(&["a", "b"]).await?, [None, None]);
            } else {
                assert_eq!(batch.commit().await?, [true, true], "one server has all slots");
            }
        }
        let (other, theirs, _) = open(&url, 16).await?;
        let error = store.batch().upsert(&theirs, "a", "1").expect_err("a table of another store");
        assert_eq!(error.code(), "TWINDEX_FOREIGN_TABLE");
        let mut batch = store.batch();
        assert_eq!(
            batch.insert(&hash, vec![0; 70_000], "").expect_err("long").code(),
            "TWINDEX_KEY_TOO_LONG"
        );
        batch.upsert(&hash, "a", "1")?;
        other.drop_table("h").await?;
        store.tables().await?;
        assert_eq!(batch.commit().await.expect_err("dropped").code(), "TWINDEX_TABLE_DROPPED");
        let batch = other.batch();
        other.close();
        assert_eq!(batch.commit().await.expect_err("closed").code(), "TWINDEX_CLOSED");
    }
    Ok(())
}

/// Money goes to and fro between accounts while slots move and connections drop; none is made or lost, and no reader sees a
/// transfer half done.
#[tokio::test(flavor = "multi_thread")]
async fn no_reader_sees_half_a_batch() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    let (store, _, sorted) = open(&cluster.url(), 1).await?;
    let accounts: Vec<String> = (0..10).map(|number| format!("account{number}")).collect();
    for account in &accounts {
        sorted.upsert(account, "100").await?;
    }
    let movers: Vec<_> = (0..4_usize)
        .map(|mover| {
            let (store, sorted, accounts) = (store.clone(), sorted.clone(), accounts.clone());
            tokio::spawn(async move {
                for round in 0..200 {
                    let (from, to) =
                        (&accounts[(mover + round) % 10], &accounts[(mover * 3 + round * 7 + 1) % 10]);
                    let mut batch = store.batch();
                    batch.increment(&sorted, from, -1).expect("a good key");
                    batch.increment(&sorted, to, 1).expect("a good key");
                    assert_eq!(batch.commit().await.expect("a batch"), [true, true]);
                }
            })
        })
        .collect();
    let slot = cluster.slot_of(&cluster.keys("tw~s:*:order")?[0])?;
    while movers.iter().any(|mover| !mover.is_finished()) {
        let sum = total(&sorted).await?;
        // Money that is gone for good was lost by the servers; what one page alone does not show, by its reader.
        let later: i64 = if sum == 1000 { sum } else { total(&sorted).await? };
        assert_eq!((sum, later), (1000, 1000), "a page is read in one step");
        cluster.move_slot(slot, (cluster.master_of(slot)? + 1) % 3)?;
    }
    for mover in movers {
        mover.await?;
    }
    Ok(())
}

/// What all accounts hold together.
async fn total(accounts: &Table) -> Result<i64> {
    let amount = |(_, value): &(String, String)| value.parse::<i64>().expect("a sum");
    Ok(pairs(accounts).await?.iter().map(amount).sum())
}
