//! Several threads that write to one file.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use twindex::IndexKind;

use super::faults::{open, path};
use crate::disk::sim::{Fault, SimDisk};
use crate::{Changes, Durability, Effect, Error, Result, Store, Table};

type Work = fn(&Store, &Table) -> Result<()>;

const CHANGES: [Work; 6] = [
    |_, table| table.increment("source", 1).map(drop),
    |_, table| table.upsert_many(&[("source", "7"), ("other", "")]),
    |_, table| table.delete("source").map(drop),
    |store, table| {
        let mut batch = store.batch();
        batch.increment(table, "source", 1)?;
        batch.commit().map(drop)
    },
    |store, table| store.transaction(|tx| tx.increment(table, "source", 1).map(drop)),
    |store, table| store.transaction(|tx| tx.delete(table, "source").map(drop)),
];

fn text(value: Option<&[u8]>) -> Vec<u8> {
    value.unwrap_or(b"absent").to_vec()
}

/// What writes down what the source is, by the way.
const COPIES: [Work; 3] = [
    |store, table| {
        store.transaction(|tx| {
            let found = tx.select(table, "source")?;
            tx.upsert(table, "copy", text(found.as_deref()))
        })
    },
    |store, table| {
        let found = table.select("source")?;
        let mut batch = store.batch();
        batch.expect(table, "source", found.as_deref())?;
        batch.upsert(table, "copy", text(found.as_deref()))?;
        match batch.commit() {
            Ok(_) | Err(Error::Unexpected { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    },
    |store, table| {
        store.transaction(|tx| {
            let found = tx.range(table, twindex::prefix_range(b"source"), 1, false)?;
            tx.upsert(table, "copy", text(found.first().map(|pair| &*pair.1)))
        })
    },
];

/// While one writer waits to append what it has done in memory, another one does what goes with that. In the log each copy has to
/// equal the source as it is just there.
#[test]
fn log_has_each_write_behind_those_that_it_read_and_before_those_that_it_did_not_see() {
    for kind in [IndexKind::Hash, IndexKind::Sorted] {
        let disk = SimDisk::new(1);
        let store = open(&disk, Durability::EverySec).expect("the disk works");
        let table = store.table("t", kind).expect("the disk works");
        let copies = &COPIES[..if kind == IndexKind::Hash { 2 } else { 3 }];
        let begun = store.position().expect("it has a log");
        let pairs = CHANGES.iter().flat_map(|change| copies.iter().flat_map(move |copy| [(change, copy); 8]));
        for (number, (change, copy)) in pairs.enumerate() {
            table.upsert("source", "1").expect("the disk works");
            table.delete("copy").expect("the disk works");
            let seen = || ["source", "copy"].map(|key| table.in_memory().select(key));
            let (before, ends) = (seen(), Instant::now() + Duration::from_mins(1));
            let (first, second) = if number % 2 == 0 { (change, copy) } else { (copy, change) };
            thread::scope(|scope| {
                let run = |work: &'static Work| {
                    let (store, table) = (&store, &table);
                    scope.spawn(move || work(store, table).expect("the disk works"));
                };
                let log = &store.handle.0.logged().expect("it has a log").log;
                let held = log.lead().switch(|_| {
                    run(first);
                    while seen() == before {
                        assert!(Instant::now() < ends, "the first one is done in memory");
                        thread::yield_now();
                    }
                    run(second);
                    // Where it does not wait for the first one, it is about to append as well.
                    thread::sleep(Duration::from_millis(1));
                    Err(Error::NoFile)
                });
                assert!(matches!(held, Err(Error::NoFile)));
            });
        }
        store.flush().expect("the disk works");
        let mut source = None;
        for set in Changes::open_on(Arc::new(disk.clone()), path(), Some(begun)).expect("it is there") {
            for change in set.expect("the disk works").changes {
                match change.effect {
                    Effect::Put { key, value } if *key == *b"source" => source = Some(value),
                    Effect::Delete { key } if *key == *b"source" => source = None,
                    Effect::Put { key, value } if *key == *b"copy" => {
                        assert_eq!(value, text(source.as_deref()), "{kind}");
                    }
                    _ => {}
                }
            }
        }
        assert_eq!(table.select("source").expect("it is open"), source);
    }
}

#[test]
fn transactions_and_batches_of_threads_survive_a_crash_whole_or_not_at_all() {
    const THREADS: u8 = 4;
    let moves_of = |thread: u8| [b'm', thread];
    let number = |table: &Table, key: &[u8]| {
        let value = table.select(key).expect("it is open");
        value.map_or(0, |text| String::from_utf8(text).expect("digits").parse::<i64>().expect("a number"))
    };
    for (durability, kind) in
        [(Durability::EverySec, IndexKind::Hash), (Durability::Always, IndexKind::Sorted)]
    {
        for step in 0..60 {
            let disk = SimDisk::new(step as u64);
            let store = open(&disk, durability).expect("the disk works");
            let table = store.table("t", kind).expect("the disk works");
            store.flush().expect("the disk works");
            disk.fail_after(step, Fault::Crash);
            let move_money = |thread: u8, round: u8| -> Result<()> {
                let (from, to) = ([b'a', (thread + round) % 3], [b'a', round % 3]);
                if round == 1 || round > 4 {
                    let mut batch = store.batch();
                    batch.increment(&table, from, -1)?;
                    batch.increment(&table, to, 1)?;
                    batch.increment(&table, moves_of(thread), 1)?;
                    return batch.commit().map(drop);
                }
                store.transaction(|tx| {
                    tx.increment(&table, from, -1)?;
                    tx.increment(&table, to, 1)?;
                    tx.increment(&table, moves_of(thread), 1).map(drop)
                })
            };
            let run = |thread| {
                (0..10)
                    .take_while(|round| move_money(thread, *round).is_ok())
                    .fold(0, |count, _| count + 1_i64)
            };
            let acknowledged: Vec<i64> = thread::scope(|scope| {
                let run = &run;
                let running: Vec<_> = (0..THREADS).map(|thread| scope.spawn(move || run(thread))).collect();
                running.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            for (disk, keeps) in
                [(disk.after_kill(), true), (disk.after_power_cut(), durability == Durability::Always)]
            {
                let store = open(&disk, durability).expect("the disk works again");
                let table = store.table("t", kind).expect("the disk works again");
                let money: i64 = (0..3).map(|account| number(&table, &[b'a', account])).sum();
                assert_eq!(money, 0, "{durability}, step {step}");
                for (thread, acknowledged) in (0..).zip(&acknowledged) {
                    let moves = number(&table, &moves_of(thread));
                    assert!(
                        moves <= acknowledged + 1 && (moves >= *acknowledged || !keeps),
                        "{durability}, step {step}"
                    );
                }
            }
        }
    }
}
