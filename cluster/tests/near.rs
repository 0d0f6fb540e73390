//! The near cache, by what went wrong in others; `src/near/mod.rs` has the race of a read and an invalidation on one connection.

#[path = "common/proxy.rs"]
mod proxy;
#[path = "common/waiting.rs"]
mod waiting;

use std::time::Duration;

use proxy::Proxy;
use twindex_cluster::{IndexKind, Options, Store, Table};
use twindex_servers::{Cluster, Result, Server};
use waiting::eventually;

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

async fn near(url: &str, index: IndexKind) -> (Store, Table) {
    near_for(url, index, Duration::from_mins(1)).await
}

/// A store with a near cache that listens to every server already, and a table called as its index is.
async fn near_for(url: &str, index: IndexKind, life: Duration) -> (Store, Table) {
    let options = Options::new().near_cache(1 << 20).longest_life(life).patience(Duration::from_secs(30));
    let store = options.connect(url).await.expect("a store");
    let table = store.table(index.name(), index).await.expect("a table");
    eventually("it listens", || async { listens(&store, index) }).await;
    (store, table)
}

fn listens(store: &Store, index: IndexKind) -> bool {
    let stats = store.near_stats().expect("a near cache");
    stats.servers > 0 && (index == IndexKind::Hash || stats.channels == 16)
}

async fn plain(url: &str, index: IndexKind) -> Table {
    let store = Options::new().patience(Duration::from_secs(30)).connect(url).await.expect("a store");
    store.table(index.name(), index).await.expect("a table")
}

fn hits(store: &Store) -> u64 {
    store.near_stats().expect("a near cache").hits
}

/// Does a write, and waits until a store has heard of it.
async fn invalidates<T>(
    store: &Store,
    write: impl Future<Output = twindex_cluster::Result<T>>,
) -> Result<()> {
    let heard = || store.near_stats().expect("a near cache").invalidations;
    let before = heard();
    write.await?;
    eventually("the invalidation comes", || async { heard() > before }).await;
    Ok(())
}

/// Waits until a table shows a value.
async fn shows(table: &Table, key: impl AsRef<[u8]>, value: Option<&str>) {
    let value = value.map(|value| value.as_bytes().to_vec());
    eventually("the other client's write is seen", || async {
        table.select(key.as_ref()).await.expect("a read") == value
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_read_asks_no_server() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        let (store, table) = near(&server.url(), index).await;
        table.insert("a", "1").await?;
        shows(&table, "a", Some("1")).await;
        assert_eq!(table.select("absent").await?, None);
        let before = hits(&store);
        for _ in 0..10_000 {
            assert_eq!(table.select("a").await?.as_deref(), Some(b"1".as_slice()));
            assert_eq!(table.select("absent").await?, None);
        }
        assert!(hits(&store) - before >= 19_990);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_reads_its_own_writes() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    for index in BOTH {
        let (_, table) = near(&cluster.url(), index).await;
        for number in 0..1000_i64 {
            let key = format!("key{}", number % 10);
            let value = number.to_string();
            table.upsert(&key, &value).await?;
            assert_eq!(table.select(&key).await?, Some(value.clone().into_bytes()));
            assert_eq!(table.increment(&key, 1).await?, number + 1);
            assert_eq!(table.select(&key).await?, Some((number + 1).to_string().into_bytes()));
            let sum = (number + 1).to_string();
            assert!(table.compare_and_swap(&key, Some(sum.as_bytes()), Some(b"swapped")).await?);
            assert_eq!(table.select(&key).await?.as_deref(), Some(b"swapped".as_slice()));
            if number % 7 == 0 {
                assert!(table.delete(&key).await?);
                assert_eq!(table.select(&key).await?, None);
            }
        }
    }
    Ok(())
}

/// In the probe 179 of 400 reads that raced with a write stayed stale for ever without tickets.
#[tokio::test(flavor = "multi_thread")]
async fn no_read_that_an_invalidation_overtook_stays() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    for index in BOTH {
        let (_, table) = near(&cluster.url(), index).await;
        let other = plain(&cluster.url(), index).await;
        for round in 0..300_u32 {
            let key = format!("raced{}", round % 20);
            let value = round.to_string();
            let (reading, writing) = (table.clone(), other.clone());
            let (read_key, write_key, written) = (key.clone(), key.clone(), value.clone());
            let readers = tokio::spawn(async move {
                for _ in 0..5 {
                    reading.select(&read_key).await.expect("a read");
                }
            });
            let writer =
                tokio::spawn(async move { writing.upsert(&write_key, &written).await.expect("a write") });
            readers.await?;
            writer.await?;
            shows(&table, &key, Some(&value)).await;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_held_up_is_not_kept() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        let proxy = Proxy::start(server.port()).await?;
        let (store, table) = near(&proxy.url(), index).await;
        let other = plain(&server.url(), index).await;
        for round in 0..20_u32 {
            let (key, new) = (format!("k{round}"), format!("new {round}"));
            other.upsert(&key, "old").await?;
            proxy.hold_answers(true);
            let (reading, read_key) = (table.clone(), key.clone());
            let read = tokio::spawn(async move { reading.select(&read_key).await });
            eventually("the server answers", || async { proxy.holds() > 0 }).await;
            invalidates(&store, other.upsert(&key, &new)).await?;
            proxy.hold_answers(false);
            assert_eq!(read.await??.as_deref(), Some(b"old".as_slice()), "it was so when it was asked");
            assert_eq!(table.select(&key).await?, Some(new.into_bytes()), "and was not kept");
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalidation_that_was_held_up_is_obeyed() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        let proxy = Proxy::start(server.port()).await?;
        let (store, table) = near(&proxy.url(), index).await;
        let emptied = || store.near_stats().expect("a near cache").emptied;
        let other = plain(&server.url(), index).await;
        other.upsert("k", "old").await?;
        shows(&table, "k", Some("old")).await;
        let before = emptied();
        proxy.hold_pushes(true);
        other.upsert("k", "new").await?;
        let seen = table.select("k").await?;
        // On a busy machine the write may take so long that the silent server is believed to hang.
        assert!(seen.as_deref() == Some(b"old") || emptied() != before, "nothing was received yet: {seen:?}");
        proxy.hold_pushes(false);
        shows(&table, "k", Some("new")).await;
    }
    Ok(())
}

/// The rows of a partition are fields of one HASH, and their keys go over one channel.
#[tokio::test(flavor = "multi_thread")]
async fn rows_of_one_partition_are_not_mixed_up() -> Result<()> {
    let server = Server::start(&[])?;
    let options = || Options::new().partitions(1).patience(Duration::from_secs(30));
    let store = options().near_cache(64 << 20).connect(&server.url()).await?;
    let table = store.table("t", IndexKind::Sorted).await?;
    let other = options().connect(&server.url()).await?.table("t", IndexKind::Sorted).await?;
    eventually("it listens", || async { store.near_stats().expect("a near cache").channels == 1 }).await;
    // Keys with every byte, the empty one and a long one: each is told behind its length.
    let keys: Vec<Vec<u8>> = vec![
        vec![],
        vec![0],
        vec![0, 0],
        vec![0, 1, 0],
        vec![255; 300],
        vec![7; 65_535],
        b"a".into(),
        b"b".into(),
    ];
    for round in 0..20_u8 {
        let pairs: Vec<_> = keys.iter().map(|key| (key, [round])).collect();
        other.upsert_many(&pairs).await?;
        eventually("all are seen", || async {
            let found = table.select_many(&keys).await.expect("a read");
            found.iter().all(|value| value.as_deref() == Some(&[round]))
        })
        .await;
        // One row is written: the others stay, once what was told of all of them has come.
        let written = &keys[usize::from(round) % keys.len()];
        other.upsert(written, "changed").await?;
        shows(&table, written, Some("changed")).await;
        eventually("the others are kept", || async {
            let before = hits(&store);
            let others = keys.iter().filter(|key| *key != written);
            for key in others.clone() {
                let value = table.select(key).await.expect("a read");
                assert_eq!(value.as_deref(), Some([round].as_slice()));
            }
            // With the table before it the longest is longer than a key of a cache may be.
            hits(&store) - before == others.filter(|key| key.len() < 60_000).count() as u64
        })
        .await;
    }
    // A batch tells its rows too.
    let writer = options().connect(&server.url()).await?;
    let other = writer.table("t", IndexKind::Sorted).await?;
    for value in ["x", "y"] {
        let mut batch = writer.batch();
        batch.upsert(&other, "a", value)?;
        batch.upsert(&other, "b", value)?;
        batch.commit().await?;
        shows(&table, "a", Some(value)).await;
        shows(&table, "b", Some(value)).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_that_others_clear_are_gone() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    for index in BOTH {
        let (_, table) = near(&cluster.url(), index).await;
        let other = plain(&cluster.url(), index).await;
        let keys: Vec<_> = (0..100).map(|number| number.to_string()).collect();
        for _ in 0..3 {
            for key in &keys {
                other.upsert(key, "1").await?;
                shows(&table, key, Some("1")).await;
            }
            other.clear().await?;
            for key in &keys {
                shows(&table, key, None).await;
            }
            assert_eq!(other.len().await?, 0);
        }
    }
    Ok(())
}

/// A pair whose time to live was set after it was read, and which the server then removed.
#[tokio::test(flavor = "multi_thread")]
async fn pairs_that_the_server_expires_are_forgotten() -> Result<()> {
    let server = Server::start(&[])?;
    let (_, table) = near(&server.url(), IndexKind::Hash).await;
    let other = plain(&server.url(), IndexKind::Hash).await;
    other.upsert("a", "1").await?;
    shows(&table, "a", Some("1")).await;
    other.touch("a", Some(Duration::from_millis(50))).await?;
    shows(&table, "a", None).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_pairs_are_never_returned() -> Result<()> {
    let server = Server::start(&["--hz", "1"])?;
    let (store, table) = near(&server.url(), IndexKind::Hash).await;
    let brief = plain(&server.url(), IndexKind::Hash).await.with_ttl(Duration::from_millis(300))?;
    brief.upsert("a", "1").await?;
    shows(&table, "a", Some("1")).await;
    tokio::time::sleep(Duration::from_millis(320)).await;
    assert_eq!(table.select("a").await?, None, "its own time to live counts, whenever the server removes it");
    let (_, short) = near_for(&server.url(), IndexKind::Hash, Duration::from_millis(1)).await;
    table.upsert("b", "1").await?;
    assert!(short.select("b").await?.is_some());
    tokio::time::sleep(Duration::from_millis(5)).await;
    let before = hits(&store);
    assert!(short.select("b").await?.is_some());
    assert_eq!(hits(&store), before, "nothing is shown longer than the longest life");
    Ok(())
}

/// The time to live was counted from when the answer came.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_was_held_up_lives_no_longer() -> Result<()> {
    // The server removes nothing by itself, and so says nothing.
    let server = Server::start(&["--enable-debug-command", "yes"])?;
    server.command::<()>(&["DEBUG", "SET-ACTIVE-EXPIRE", "0"])?;
    let proxy = Proxy::start(server.port()).await?;
    let (store, table) = near(&proxy.url(), IndexKind::Hash).await;
    let life = Duration::from_millis(400);
    let brief = plain(&server.url(), IndexKind::Hash).await.with_ttl(life)?;
    // A machine that is busy may ask only once it is over.
    for key in 0..20_u8 {
        invalidates(&store, brief.upsert([key], "1")).await?;
        proxy.hold_answers(true);
        let reading = table.clone();
        let read = tokio::spawn(async move { reading.select([key]).await });
        eventually("the server answers", || async { proxy.holds() > 0 }).await;
        tokio::time::sleep(life).await;
        proxy.hold_answers(false);
        let was_there = read.await??.is_some();
        assert_eq!(table.select([key]).await?, None, "it is over by now");
        if was_there {
            return Ok(());
        }
    }
    panic!("no read was in time");
}

/// With its last handle a table's layout went, by which its keys are known that the servers name: what they named then, and also
/// once the table was opened again, was not forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_is_opened_again_shows_what_was_written_meanwhile() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        for opens_another in [false, true] {
            let (store, table) = near(&server.url(), index).await;
            let other = plain(&server.url(), index).await;
            other.upsert("a", "old").await?;
            shows(&table, "a", Some("old")).await;
            drop(table);
            invalidates(&store, other.upsert("a", "new")).await?;
            if opens_another {
                drop(store.table("another", IndexKind::Sorted).await?);
            }
            let table = store.table(index.name(), index).await?;
            assert_eq!(table.select("a").await?.as_deref(), Some(b"new".as_slice()));
            for value in ["newer", "newest"] {
                other.upsert("a", value).await?;
                shows(&table, "a", Some(value)).await;
            }
        }
    }
    Ok(())
}

/// A loop of hits on the only thread kept the listener from it, and read the old value for a minute.
#[tokio::test]
async fn a_loop_of_hits_sees_a_write() -> Result<()> {
    let server = Server::start(&[])?;
    for (index, at_once) in [(IndexKind::Hash, 1), (IndexKind::Sorted, 1), (IndexKind::Hash, 10_000)] {
        let (store, table) = near(&server.url(), index).await;
        let keys = vec!["a"; at_once];
        table.upsert("a", "old").await?;
        shows(&table, "a", Some("old")).await;
        let before = hits(&store);
        while hits(&store) == before {
            table.select("a").await?;
        }
        let url = server.url();
        let other = std::thread::spawn(move || -> twindex_cluster::Result<()> {
            let store = twindex_cluster::blocking::connect(&url)?;
            store.table(index.name(), index)?.upsert("a", "new")
        });
        let begun = std::time::Instant::now();
        loop {
            let found = match at_once {
                1 => table.select("a").await?,
                _ => table.select_many(&keys).await?.pop().flatten(),
            };
            if found.as_deref() == Some(b"new") {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(10), "the write is not seen");
        }
        other.join().expect("a writer")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flushed_server_empties_it() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        let (store, table) = near(&server.url(), index).await;
        table.upsert("a", "1").await?;
        shows(&table, "a", Some("1")).await;
        let emptied = || store.near_stats().expect("a near cache").emptied;
        let before = emptied();
        server.command::<()>(&["FLUSHALL"])?;
        eventually("the cache is emptied", || async { emptied() > before }).await;
        assert_eq!(table.select("a").await?, None);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_empties_it_and_it_listens_again() -> Result<()> {
    let server = Server::start(&[])?;
    for index in BOTH {
        let (store, table) = near(&server.url(), index).await;
        let other = plain(&server.url(), index).await;
        for round in 0..5_u32 {
            let value = round.to_string();
            other.upsert("a", &value).await?;
            shows(&table, "a", Some(&value)).await;
            // A server without a listener does not report this write.
            server.command::<i64>(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"])?;
            let other = plain(&server.url(), index).await;
            other.upsert("a", "while away").await?;
            shows(&table, "a", Some("while away")).await;
            eventually("it listens again", || async {
                store.near_stats().expect("a near cache").servers == 1
            })
            .await;
        }
        // Pairs cached after all this are invalidated as before.
        let other = plain(&server.url(), index).await;
        shows(&table, "a", Some("while away")).await;
        other.upsert("a", "last").await?;
        shows(&table, "a", Some("last")).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_moved_slot_shows_its_new_values() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    for index in BOTH {
        let (_, table) = near(&cluster.url(), index).await;
        let other = plain(&cluster.url(), index).await;
        other.upsert("{moved}a", "first").await?;
        // A pair's slot is that of its name in braces, a row's that of its partition.
        let pattern = if index == IndexKind::Hash { "tw:hash:*{moved}a" } else { "tw~sorted:*:pairs" };
        let slot = cluster.slot_of(&cluster.keys(pattern)?[0])?;
        for round in 0..4_u32 {
            for key in ["{moved}a", "{moved}b"] {
                let value = format!("before {round} {key}");
                other.upsert(key, &value).await?;
                shows(&table, key, Some(&value)).await;
            }
            let from = cluster.master_of(slot)?;
            cluster.move_slot(slot, (from + 1) % 3)?;
            for key in ["{moved}a", "{moved}b"] {
                let value = format!("after {round} {key}");
                other.upsert(key, &value).await?;
                shows(&table, key, Some(&value)).await;
            }
        }
    }
    Ok(())
}

/// That a key has no value was kept of the slot's former master, which had nothing to tell when the slot went to a master that was
/// new to the cluster. Nobody who finds all in the process hears of a new master, and so of what is written there.
#[tokio::test(flavor = "multi_thread")]
async fn slots_of_a_new_master_show_its_values() -> Result<()> {
    let cluster = Cluster::start(3, 0)?;
    cluster.move_all_slots(0)?;
    let (store, table) = near(&cluster.url(), IndexKind::Hash).await;
    assert_eq!(store.near_stats().expect("a near cache").servers, 1);
    shows(&table, "{moved}a", None).await;
    let slot = cluster.slot_of("{moved}")?;
    cluster.move_slot(slot, 2)?;
    plain(&cluster.url(), IndexKind::Hash).await.upsert("{moved}a", "new").await?;
    shows(&table, "{moved}a", Some("new")).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_master_that_hangs_or_dies_is_not_believed_for_long() -> Result<()> {
    let mut cluster = Cluster::start(3, 1)?;
    let (_, hash) = near(&cluster.url(), IndexKind::Hash).await;
    let (_, sorted) = near(&cluster.url(), IndexKind::Sorted).await;
    let slot = cluster.slot_of("{k}")?;
    // Rows of all partitions, so of all masters.
    let rows: Vec<String> = (0..40).map(|number| number.to_string()).collect();
    for (hangs, value) in [(true, "after hanging"), (false, "after dying")] {
        cluster.wait_until_ready()?;
        let (others, theirs) =
            (plain(&cluster.url(), IndexKind::Hash).await, plain(&cluster.url(), IndexKind::Sorted).await);
        others.upsert("{k}a", "before").await?;
        shows(&hash, "{k}a", Some("before")).await;
        for row in &rows {
            theirs.upsert(row, "before").await?;
            shows(&sorted, row, Some("before")).await;
        }
        // Let the replica have it.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let master = cluster.master_of(slot)?;
        cluster.servers_mut()[master].fail(hangs)?;
        eventually("another master takes over", || async { others.upsert("{k}a", value).await.is_ok() })
            .await;
        shows(&hash, "{k}a", Some(value)).await;
        for row in &rows {
            eventually("rows are written", || async { theirs.upsert(row, value).await.is_ok() }).await;
            shows(&sorted, row, Some(value)).await;
        }
        cluster.servers_mut()[master].go_on(hangs)?;
        shows(&hash, "{k}a", Some(value)).await;
        for row in &rows {
            shows(&sorted, row, Some(value)).await;
        }
    }
    Ok(())
}
