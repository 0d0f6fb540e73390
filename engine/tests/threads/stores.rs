//! Whole tables and stores beside writers: dumps, drops, clears and the memory limit.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use twindex::{Store, Table};
use twindex_format::Dump;

use crate::churned::Churned;
use crate::scale::scaled;
use crate::stamped::{count_sound, read_stamp, some_length, stamp};
use crate::{BOTH, Sound, THREADS, beside, on_threads};

#[test]
fn a_dump_beside_writers_loads_cleanly() {
    for index in BOTH {
        let churned = Churned::new(index);
        let read = || {
            let mut dump = Vec::new();
            churned.store.dump(&mut dump).unwrap();
            let loaded = Store::load(&mut dump.as_slice()).unwrap();
            churned.check(&loaded.table("t", index).unwrap(), |_| true);
        };
        beside(|| churned.churn(), read);
    }
}

#[test]
fn threads_that_open_one_table_share_it() {
    for round in 0..scaled(200, 5) {
        let store = Store::new();
        on_threads(|_, mut random| {
            let mut names = ["a", "b", "c"];
            random.shuffle(&mut names);
            for name in names {
                store.table(name, BOTH[round % 2]).unwrap().increment("opened", 1).unwrap();
            }
        });
        assert_eq!(store.tables().len(), 3);
        for table in store.tables() {
            assert_eq!(table.select("opened").unwrap(), THREADS.to_string().as_bytes());
        }
    }
}

/// Tables are dropped and made anew under their writers: a write takes effect or is refused, and all
/// memory comes back.
#[test]
fn dropping_tables_beside_writers_returns_all_memory() {
    const NAMES: [&str; 2] = ["a", "b"];
    for index in BOTH {
        let store = Store::new();
        let base = store.memory();
        on_threads(|thread, mut random| {
            for round in 0..scaled(1000, 20) {
                let name = NAMES[random.usize(..2)];
                let table = store.table(name, index).unwrap();
                write_or_be_dropped(&table, round, thread, &mut random);
                match random.u8(..4) {
                    0 => _ = store.drop_table(name),
                    1 => table
                        .clear()
                        .unwrap_or_else(|error| assert_eq!(error.code(), "TWINDEX_TABLE_DROPPED")),
                    2 => assert!(count_sound(&table) <= 10),
                    _ => {}
                }
            }
        });
        for name in NAMES {
            store.drop_table(name);
        }
        assert_eq!(store.memory(), base);
    }
}

fn write_or_be_dropped(table: &Table, round: usize, thread: usize, random: &mut fastrand::Rng) {
    for item in 0..10_u8 {
        let key = [item; 3];
        match table.upsert(key, stamp(&key, round, thread, some_length(random, 9000))) {
            Ok(()) => {}
            Err(error) => assert_eq!(error.code(), "TWINDEX_TABLE_DROPPED"),
        }
        table.select_with(key, |value| read_stamp(&key, value));
    }
}

/// Again and again, all threads at once want what is left for one of them.
#[test]
fn the_last_bytes_below_the_limit_are_given_once() {
    const LIMIT: usize = 4 << 20;
    let value = vec![1; LIMIT / 3 * 2];
    for index in BOTH {
        let store = Store::with_memory_limit(LIMIT);
        let table = Sound(store.table("t", index).unwrap());
        let arrived = AtomicUsize::new(0);
        // A barrier that lets all go at once, as a sleeping one does not.
        let meet = |meeting: usize| {
            arrived.fetch_add(1, Ordering::AcqRel);
            while arrived.load(Ordering::Acquire) < meeting * THREADS {
                thread::yield_now();
            }
        };
        // Told at the end: who fails amid the rounds leaves the others waiting.
        let won = on_threads(|thread, _| {
            let mut won = Vec::new();
            for round in (0..scaled(500, 5)).map(|round| 3 * round) {
                meet(round + 1);
                let inserted = table.insert([thread as u8], &value);
                won.push(usize::from(matches!(inserted, Ok(true))));
                meet(round + 2);
                if thread == 0 {
                    table.clear().unwrap();
                }
                meet(round + 3);
            }
            won
        });
        for round in 0..won[0].len() {
            assert_eq!(won.iter().map(|thread| thread[round]).sum::<usize>(), 1, "one of them has it");
        }
    }
}
