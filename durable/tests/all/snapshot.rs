//! Snapshots and transactions of stores in files.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Effect, Error, Result, Store, Table, load};

use crate::common::{LOGGED, Pairs, folder, follower, open, pairs_of, until};

const ACCOUNTS: u32 = 40;

fn key(number: u32) -> [u8; 4] {
    (number % ACCOUNTS).to_be_bytes()
}

/// Moves money between two accounts of two tables until it is told to end.
fn move_money(store: &Store, tables: &[Table; 2], mut number: u32, ended: &AtomicBool) {
    while !ended.load(Relaxed) {
        number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        store
            .transaction(|tx| {
                tx.increment(&tables[0], key(number >> 8), -1)?;
                tx.increment(&tables[1], key(number >> 16), 1)?;
                Ok::<_, Error>(())
            })
            .unwrap();
    }
}

fn sum<'p>(values: impl Iterator<Item = &'p Vec<u8>>) -> i64 {
    values.map(|value| std::str::from_utf8(value).unwrap().parse::<i64>().unwrap()).sum()
}

fn accounts(store: &Store) -> [Table; 2] {
    ["hash", "sorted"].map(|name| {
        let index = if name == "hash" { IndexKind::Hash } else { IndexKind::Sorted };
        store.table(name, index).unwrap()
    })
}

/// What a snapshot has, by table.
fn content(snapshot: &twindex_durable::Snapshot) -> [Pairs; 2] {
    ["hash", "sorted"].map(|name| snapshot.table(name).unwrap().iter().collect())
}

#[test]
fn feed_from_a_snapshot_has_exactly_what_came_after_it() {
    let (_folder, path) = folder();
    for durability in LOGGED {
        let store = open(&path, durability);
        let tables = accounts(&store);
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            let (store, tables, ended) = (&store, &tables, &ended);
            for number in 0..2 {
                scope.spawn(move || move_money(store, tables, number, ended));
            }
            scope.spawn(move || {
                while !ended.load(Relaxed) {
                    tables[0].increment("single", 1).unwrap();
                    let pairs = [("many", "1"), ("more", "2")];
                    tables[1].upsert_many(&pairs).unwrap();
                }
            });
            let snapshots: Vec<_> = (0..20)
                .map(|_| {
                    thread::sleep(std::time::Duration::from_millis(1));
                    store.snapshot().unwrap()
                })
                .collect();
            ended.store(true, Relaxed);
            for snapshot in &snapshots {
                let mut now = content(snapshot);
                let money = |pairs: &[Pairs; 2]| {
                    sum(pairs
                        .iter()
                        .flatten()
                        .filter(|(key, _)| key.len() == 4 && key[0] == 0)
                        .map(|pair| pair.1))
                };
                assert_eq!(money(&now), 0, "half of a transaction");
                let mut feed = store.changes(snapshot.position().unwrap()).unwrap();
                let end = store.position().unwrap();
                let mut at = snapshot.position().unwrap();
                while at != end {
                    let set = feed.poll().unwrap().expect("there is more");
                    for change in set.changes {
                        let pairs = &mut now[usize::from(&*change.table.name == "sorted")];
                        match change.effect {
                            Effect::Put { key, value } => drop(pairs.insert(key, value)),
                            Effect::Delete { key } => drop(pairs.remove(&key)),
                            other => panic!("{other:?}"),
                        }
                    }
                    assert_eq!(money(&now), 0, "half of a transaction in the log");
                    at = set.position;
                }
            }
        });
        store.close().unwrap();
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn transactions_are_whole_in_copies_followers_and_after_reopening() {
    let (folder, path) = folder();
    let store = open(&path, LOGGED[0]);
    let tables = accounts(&store);
    let (followed, ended) = (follower(&path), AtomicBool::new(false));
    let total = |snapshot: &twindex_durable::Snapshot| sum(content(snapshot).iter().flat_map(Pairs::values));
    thread::scope(|scope| {
        scope.spawn(|| move_money(&store, &tables, 1, &ended));
        let copy = folder.path().join("copy.twx");
        for _ in 0..10 {
            followed.refresh().unwrap();
            let snapshot = followed.snapshot().unwrap();
            assert_eq!(total(&snapshot), 0);
            assert_eq!(snapshot.position().unwrap(), followed.position().unwrap());
            store.snapshot().unwrap().save_as(&copy).unwrap();
            let loaded = Store::from(load(&copy).unwrap());
            assert_eq!(total(&loaded.snapshot().unwrap()), 0);
        }
        store.compact().unwrap();
        ended.store(true, Relaxed);
    });
    let last = tables.each_ref().map(pairs_of);
    store.close().unwrap();
    let store = open(&path, LOGGED[0]);
    assert_eq!(accounts(&store).each_ref().map(pairs_of), last);
    until("the follower has it", || {
        followed.refresh().unwrap();
        content(&followed.snapshot().unwrap()) == last
    });
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
    let mut late = store.begin().unwrap();
    late.upsert(&table, "a", "1").unwrap();
    assert!(!late.contains(&table, "b").unwrap());
    table.upsert("b", "2").unwrap();
    assert!(matches!(late.commit(), Err(Error::Engine(twindex::Error::Conflict { .. }))));
    assert!(matches!(other.snapshot().unwrap().position(), Err(Error::NoFile)));
    let (snapshot, mut open_one) = (store.snapshot().unwrap(), store.begin().unwrap());
    open_one.upsert(&table, "c", "3").unwrap();
    let kept = snapshot.table("hash").unwrap();
    store.close().unwrap();
    assert!(matches!(snapshot.table("hash"), Err(Error::Closed { .. })));
    assert!(matches!(open_one.commit(), Err(Error::Closed { .. })));
    assert!(matches!(store.begin(), Err(Error::Closed { .. })));
    assert_eq!((kept.select("b").as_deref(), kept.len()), (Some(&b"2"[..]), 1));
    let read = follower(&path);
    let mut refused = read.begin().unwrap();
    let [table, _] = accounts(&read);
    refused.upsert(&table, "d", "4").unwrap();
    assert!(matches!(refused.commit(), Err(Error::ReadOnly { .. })));
    assert_eq!(read.snapshot().unwrap().table("hash").unwrap().len(), 1);
}
