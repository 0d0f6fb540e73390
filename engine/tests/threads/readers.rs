//! Single keys read beside writers: whole values, never older ones than were seen, none missed.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use twindex::{IndexKind, Store, Table};

use crate::scale::scaled;
use crate::stamped::{read_stamp, some_length, stamp};
use crate::{BOTH, THREADS, beside, on_threads, table};

fn zeros(count: usize) -> Vec<AtomicUsize> {
    (0..count).map(|_| AtomicUsize::new(0)).collect()
}

/// Each key has one writer, so a reader must never go back: not to an older version, and not behind what
/// was finished before it began.
#[test]
fn readers_never_go_back() {
    const KEYS: usize = 6;
    let key = |number: usize| format!("shared/prefix/{number}").into_bytes();
    for index in BOTH {
        let table = table(index);
        let finished = zeros(KEYS);
        let write = |thread: usize, mut random: fastrand::Rng| {
            for version in 1..=scaled(2500, 30) {
                for number in (thread..KEYS).step_by(THREADS) {
                    let value = stamp(&key(number), version, thread, some_length(&mut random, usize::MAX));
                    replace_somehow(&table, &key(number), &value, &mut random);
                    finished[number].store(version, Ordering::Release);
                }
            }
        };
        let (mut seen, mut random) = ([0; KEYS], fastrand::Rng::with_seed(99));
        let read = || {
            let number = random.usize(..KEYS);
            let least = seen[number].max(finished[number].load(Ordering::Acquire));
            if let Some(version) = version_somehow(&table, &key(number), &mut random) {
                assert!(version >= least, "read {version} of {number} after {least}");
                seen[number] = version;
            }
        };
        beside(|| on_threads(write), read);
        for (number, finished) in finished.into_iter().enumerate() {
            let found = table.select_with(key(number), |value| read_stamp(&key(number), value).version);
            assert_eq!(found, Some(finished.into_inner()));
        }
    }
}

/// Every way of replacing a value, one of them through absence.
fn replace_somehow(table: &Table, key: &[u8], value: &[u8], random: &mut fastrand::Rng) {
    let there = table.contains(key);
    let replaced = match random.u8(..4) {
        0 => table.delete(key).and_then(|_| table.insert(key, value)),
        1 if there => table.replace(key, value),
        2 => table.compare_and_swap(key, table.select(key).as_deref(), Some(value)),
        _ => table.upsert(key, value).map(|()| true),
    };
    assert!(replaced.unwrap(), "nobody else writes this key");
}

/// The version of the key's value by one of the ways of reading it.
fn version_somehow(table: &Table, key: &[u8], random: &mut fastrand::Rng) -> Option<usize> {
    let version = |value: &[u8]| read_stamp(key, value).version;
    match random.u8(..if table.index() == IndexKind::Hash { 3 } else { 5 }) {
        0 => table.select(key).map(|value| version(&value)),
        1 => table.select_with(key, version),
        2 => {
            let mut found = [None; 3];
            table.select_many(&[key, b"absent", key], |position, value| found[position] = value.map(version));
            assert_eq!(found[1], None);
            found[0].and(found[2])
        }
        3 => table.cursor(key..=key).unwrap().scan_asc_next().map(|(_, value)| version(value)),
        _ => table.prefix(key).unwrap().next_back().map(|(_, value)| version(&value)),
    }
}

/// Threads come and go, so what an engine keeps for each thread must come and go too.
#[test]
fn short_lived_threads_leave_nothing_behind() {
    for index in BOTH {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        let base = store.memory();
        let work = |thread: usize| {
            for item in 0..20_u8 {
                table.upsert([item], stamp(&[item], 1, thread, 30 * thread)).unwrap();
                table.select_with([item ^ 1], |value| read_stamp(&[item ^ 1], value));
                table.delete([item / 2]).unwrap();
            }
        };
        for _ in 0..scaled(30, 3) {
            thread::scope(|scope| {
                let work = &work;
                (0..8).for_each(|thread| drop(scope.spawn(move || work(thread))));
            });
            table.clear().unwrap();
            assert_eq!(store.memory(), base);
        }
    }
}

/// A split that moves pairs to another shard once counted them twice, or not at all, for a moment.
#[test]
fn len_never_shrinks_while_pairs_only_come() {
    for index in BOTH {
        for _ in 0..scaled(20, 1) {
            let table = Store::new().table("t", index).unwrap();
            let pairs = scaled(8000, 100);
            thread::scope(|scope| {
                scope.spawn(|| {
                    (0..pairs).for_each(|number| assert!(table.insert(number.to_string(), "").unwrap()));
                });
                let mut before = 0;
                while before < pairs {
                    let len = table.len();
                    assert!((before..=pairs).contains(&len), "{before} then {len}");
                    before = len;
                }
            });
        }
    }
}
