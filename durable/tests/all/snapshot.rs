//! Snapshots and transactions of stores in files.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Effect, Error, Result, Snapshot, Store, Table, load};
use twindex_format::Dump;

use crate::common::{LOGGED, Pairs, folder, follower, open, open_by_hand, pairs_of, until};

const ACCOUNTS: u32 = 40;
const NAMES: [&str; 2] = ["hash", "sorted"];

/// The accounts of a store, in two tables. Money moves between these, so together they always have none.
fn accounts(store: &Store) -> [Table; 2] {
    NAMES.map(|name| store.table(name, name.parse().unwrap()).unwrap())
}

/// Moves money from an account of one table to one of the other, by a transaction or a batch.
fn move_money(store: &Store, tables: &[Table; 2], random: &mut fastrand::Rng) {
    let by = random.i64(1..100);
    let [from, to] = [(); 2].map(|()| random.u32(..ACCOUNTS).to_be_bytes());
    if random.bool() {
        let mut batch = store.batch();
        batch.increment(&tables[0], from, -by).unwrap();
        batch.increment(&tables[1], to, by).unwrap();
        batch.commit().unwrap();
        return;
    }
    let number = |value: Option<Vec<u8>>| value.map_or(0, |text| parsed(&text));
    let moved = store.transaction(|tx| {
        let has = number(tx.select(&tables[0], from)?);
        tx.upsert(&tables[0], from, (has - by).to_string())?;
        tx.increment(&tables[1], to, by)
    });
    moved.unwrap();
}

fn parsed(value: &[u8]) -> i64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

/// What the accounts have together. Other keys have another length.
fn money<'p>(pairs: impl IntoIterator<Item = (&'p Vec<u8>, &'p Vec<u8>)>) -> i64 {
    pairs.into_iter().filter(|(key, _)| key.len() == 4).map(|(_, value)| parsed(value)).sum()
}

/// What a snapshot has, by table.
fn content(snapshot: &Snapshot) -> [Pairs; 2] {
    NAMES.map(|name| snapshot.table(name).unwrap().iter().collect())
}

fn money_in(snapshot: &Snapshot) -> i64 {
    money(content(snapshot).iter().flatten())
}

/// The snapshots are of the writer and of a follower, while transactions, batches, single writes and compactions go on.
#[test]
fn feed_from_a_snapshot_has_exactly_what_came_after_it() {
    // Together less than the log that a compaction keeps in any case.
    const WRITES: u64 = 1000;
    for durability in LOGGED {
        let (_folder, path) = folder();
        let store = open_by_hand(&path, durability);
        let tables = accounts(&store);
        let followed = follower(&path);
        followed.follow().unwrap();
        until("the follower has the tables", || followed.tables().unwrap().len() == 2);
        let working = AtomicUsize::new(4);
        let snapshots = thread::scope(|scope| {
            let (store, tables, working) = (&store, &tables, &working);
            for seed in 0..3 {
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed);
                    (0..WRITES).for_each(|_| move_money(store, tables, &mut random));
                    working.fetch_sub(1, Relaxed);
                });
            }
            scope.spawn(move || {
                for _ in 0..WRITES / 2 {
                    tables[0].increment("single", 1).unwrap();
                    tables[1].upsert_many(&[("many 1", "1"), ("many 2", "2")]).unwrap();
                    tables[1].delete("many 2").unwrap();
                }
                working.fetch_sub(1, Relaxed);
            });
            scope.spawn(|| {
                while working.load(Relaxed) > 0 {
                    store.compact().unwrap();
                    thread::sleep(Duration::from_millis(3));
                }
            });
            let mut snapshots = Vec::new();
            while working.load(Relaxed) > 0 {
                snapshots.extend([store, &followed].map(|store| store.snapshot().unwrap()));
                thread::sleep(Duration::from_millis(if snapshots.len() < 100 { 1 } else { 20 }));
            }
            snapshots
        });
        let (last, end) = (store.snapshot().unwrap(), store.position().unwrap());
        assert_eq!(last.position().unwrap(), end);
        for snapshot in &snapshots {
            let (mut now, mut at) = (content(snapshot), snapshot.position().unwrap());
            assert_eq!(money(now.iter().flatten()), 0, "half of a transaction");
            let mut feed = store.changes(at).unwrap();
            while at != end {
                let set = feed.poll().unwrap().expect("there is more");
                for change in set.changes {
                    let pairs = &mut now[usize::from(&*change.table.name == NAMES[1])];
                    match change.effect {
                        Effect::Put { key, value } => drop(pairs.insert(key, value)),
                        Effect::Delete { key } => drop(pairs.remove(&key).expect("it came before")),
                        other => panic!("{other:?}"),
                    }
                }
                assert_eq!(money(now.iter().flatten()), 0, "half of a transaction in the log");
                at = set.position;
            }
            assert_eq!(now, content(&last));
        }
        until("the follower has it", || followed.position().unwrap() == end);
        assert_eq!(content(&followed.snapshot().unwrap()), content(&last));
    }
}

/// `TWINDEX_STRESS` times as much of it in the soak.
#[test]
fn money_is_neither_lost_nor_made_by_16_threads() {
    let moves = 50 * std::env::var("TWINDEX_STRESS").map_or(1, |times| times.parse::<u64>().unwrap());
    let seed = std::env::var("TWINDEX_SEED").map_or(1, |seed| seed.parse::<u64>().unwrap());
    let (folder, path) = folder();
    for store in [Store::new(), open(&path, LOGGED[0])] {
        let (tables, working) = (accounts(&store), AtomicUsize::new(16));
        let followers = store.path().map(|path| [(); 2].map(|()| follower(path)));
        thread::scope(|scope| {
            let (store, tables, working, followers) = (&store, &tables, &working, &followers);
            for thread in 0..16 {
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed + thread);
                    (0..moves).for_each(|_| move_money(store, tables, &mut random));
                    working.fetch_sub(1, Relaxed);
                });
            }
            let beside = |check: &(dyn Fn() + Sync)| {
                while working.load(Relaxed) > 0 {
                    check();
                    thread::sleep(Duration::from_millis(2));
                }
            };
            scope.spawn(move || beside(&|| assert_eq!(money_in(&store.snapshot().unwrap()), 0)));
            scope.spawn(move || {
                beside(&|| {
                    let read = store.transaction(|tx| {
                        let pairs = tx.range(&tables[1], .., usize::MAX, false)?;
                        let mut sum = money(pairs.iter().map(|(key, value)| (key, value)));
                        for account in 0..ACCOUNTS {
                            sum +=
                                tx.select(&tables[0], account.to_be_bytes())?.map_or(0, |text| parsed(&text));
                        }
                        Ok::<_, Error>(sum)
                    });
                    assert!(matches!(read, Ok(0) | Err(Error::Engine(twindex::Error::Conflict { .. }))));
                });
            });
            let copy = folder.path().join("copy.twx");
            scope.spawn(move || {
                beside(&|| {
                    store.save_as(&copy).unwrap();
                    assert_eq!(money_in(&Store::from(load(&copy).unwrap()).snapshot().unwrap()), 0);
                    let mut bytes = Vec::new();
                    store.dump(&mut bytes).unwrap();
                    let dumped = <twindex::Store as Dump>::load(&mut bytes.as_slice()).unwrap();
                    assert_eq!(money_in(&Store::from(dumped).snapshot().unwrap()), 0);
                });
            });
            let Some([refreshed, followed]) = followers else { return };
            scope.spawn(move || beside(&|| store.compact().unwrap()));
            scope.spawn(move || {
                beside(&|| {
                    refreshed.refresh().unwrap();
                    let pairs = refreshed.tables().unwrap().iter().map(pairs_of).collect::<Vec<_>>();
                    assert_eq!(money(pairs.iter().flatten()), 0, "a follower between two refreshes");
                    assert_eq!(
                        refreshed.snapshot().unwrap().position().unwrap(),
                        refreshed.position().unwrap()
                    );
                });
            });
            scope.spawn(move || {
                followed.follow().unwrap();
                beside(&|| {
                    assert_eq!(money_in(&followed.snapshot().unwrap()), 0);
                });
            });
        });
        let last = content(&store.snapshot().unwrap());
        assert_eq!(money(last.iter().flatten()), 0);
        store.close().unwrap();
        if store.path().is_some() {
            assert_eq!(content(&open(&path, LOGGED[0]).snapshot().unwrap()), last);
        }
    }
}

#[test]
fn uses_that_cannot_be_are_errors_and_write_nothing() {
    let (_folder, path) = folder();
    let (store, other) = (open(&path, LOGGED[0]), Store::new());
    let [table, _] = accounts(&store);
    let foreign = other.table("hash", IndexKind::Hash).unwrap();
    assert!(matches!(store.begin().unwrap().select(&foreign, "a"), Err(Error::ForeignTable { .. })));
    let failed: Result<()> = store.transaction(|tx| {
        tx.upsert(&table, "a", "1")?;
        Err(Error::NoFile)
    });
    assert!(matches!(failed, Err(Error::NoFile)) && table.is_empty());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        store.transaction(|tx| -> Result<()> {
            tx.upsert(&table, "a", "1")?;
            panic!("a function that panics")
        })
    }));
    assert!(panicked.is_err() && table.is_empty());
    let nested: Result<()> = store.transaction(|tx| {
        tx.upsert(&table, "a", "1")?;
        store.transaction(|tx| tx.upsert(&table, "b", "2").map(drop))
    });
    assert!(matches!(nested, Err(Error::Engine(twindex::Error::InWrite))) && table.is_empty());
    let of_other: Result<bool> = store.transaction(|_| other.transaction(|tx| tx.insert(&foreign, "a", "1")));
    assert!(of_other.unwrap());
    let mut late = store.begin().unwrap();
    late.upsert(&table, "a", "1").unwrap();
    assert!(!late.contains(&table, "b").unwrap());
    table.upsert("b", "2").unwrap();
    assert!(matches!(late.commit(), Err(Error::Engine(twindex::Error::Conflict { .. }))));
    assert!(matches!(other.snapshot().unwrap().position(), Err(Error::NoFile)));
    let within = table.alter("b", |_| {
        assert!(matches!(store.snapshot(), Err(Error::Engine(twindex::Error::InWrite))));
        twindex::Change::Keep
    });
    assert!(!within.unwrap());
    let (snapshot, mut open_one) = (store.snapshot().unwrap(), store.begin().unwrap());
    open_one.upsert(&table, "c", "3").unwrap();
    let stats = store.stats();
    assert_eq!((stats.snapshots, stats.transactions, stats.kept_bytes), (1, 1, 0));
    let kept = snapshot.table("hash").unwrap();
    assert!(matches!(kept.as_table().upsert("b", "3"), Err(twindex::Error::ReadOnly { .. })));
    table.upsert("b", "3").unwrap();
    assert!(store.stats().kept_bytes > 0);
    store.drop_table("hash").unwrap();
    store.table("later", IndexKind::Hash).unwrap();
    assert!(matches!(snapshot.table("later"), Err(Error::Engine(twindex::Error::NoTable { .. }))));
    assert_eq!(snapshot.table("hash").unwrap().select("b").as_deref(), Some(&b"2"[..]));
    assert!(matches!(open_one.select(&table, "b"), Err(Error::Engine(_))));
    store.close().unwrap();
    assert!(matches!(snapshot.table("hash"), Err(Error::Closed { .. })));
    assert!(matches!(store.snapshot(), Err(Error::Closed { .. })));
    assert!(matches!(open_one.select(&table, "b"), Err(Error::Closed { .. })));
    assert!(matches!(open_one.commit(), Err(Error::Closed { .. })));
    assert!(matches!(store.begin(), Err(Error::Closed { .. })));
    assert_eq!((kept.select("b").as_deref(), kept.len()), (Some(&b"2"[..]), 1));
    let read = follower(&path);
    let mut refused = read.begin().unwrap();
    let table = read.table("later", IndexKind::Hash).unwrap();
    assert!(!refused.contains(&table, "d").unwrap());
    refused.upsert(&table, "d", "4").unwrap();
    assert!(matches!(refused.commit(), Err(Error::ReadOnly { .. })));
    assert_eq!(read.snapshot().unwrap().table("later").unwrap().len(), 0);
}

#[test]
fn limit_names_what_snapshots_keep_and_a_compaction_at_the_limit_keeps_nothing() {
    const KEYS: u32 = 10_000;
    // One table at a time: of two, one may take the room that the other needs for its replaced values.
    for (with_snapshot, of) in [(true, 0), (true, 1), (false, 0), (false, 1)] {
        let (_folder, path) = folder();
        let store = open_by_hand(&path, LOGGED[0]);
        let table = &accounts(&store)[of];
        // A thread that reads what was replaced may delay its reuse. Nothing is kept for a snapshot then.
        let is_delayed = |written: &Result<()>| {
            let limit =
                |error: &Error| matches!(error, Error::Engine(twindex::Error::MemoryLimit { kept: 0, .. }));
            written.as_ref().is_err_and(limit)
        };
        let write = |round: u8| {
            let until = Instant::now() + Duration::from_mins(1);
            (0..KEYS).step_by(50).try_for_each(|from| {
                let pairs: Vec<_> = (from..from + 50).map(|key| (key.to_be_bytes(), [round; 100])).collect();
                loop {
                    match table.upsert_many(&pairs) {
                        delayed if is_delayed(&delayed) && Instant::now() < until => thread::yield_now(),
                        written => break written,
                    }
                }
            })
        };
        write(0).unwrap();
        write(1).unwrap();
        let has = store.memory();
        store.set_memory_limit(Some(has + if with_snapshot { has / 8 } else { has / 2 }));
        if with_snapshot {
            let _snapshot = store.snapshot().unwrap();
            let refused = write(2).unwrap_err();
            let is_limit = matches!(refused, Error::Engine(twindex::Error::MemoryLimit { kept: 1.., .. }));
            assert!(is_limit && refused.to_string().contains("snapshot"), "{refused:?}");
            continue;
        }
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Relaxed) {
                    store.compact().unwrap();
                    thread::sleep(Duration::from_millis(5));
                }
            });
            let written: Result<()> = (0..10).try_for_each(write);
            ended.store(true, Relaxed);
            written.expect("memory for each round within a minute");
        });
    }
}
