//! All threads write the same keys: nothing is lost, nothing takes effect twice.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use twindex::Table;

use crate::scale::scaled;
use crate::stamped::{Stamp, read_stamp, some_length, stamp};
use crate::{BOTH, THREADS, on_threads, table};

/// Few, so that the threads meet.
const KEYS: usize = 3;

#[test]
fn increments_add_up_and_no_sum_comes_twice() {
    for index in BOTH {
        let table = table(index);
        let sums = on_threads(|_, random| increment_at_random(&table, random));
        for key in 0..KEYS {
            assert!(sums.iter().all(|thread| thread[key].is_sorted()), "a thread's later sums are higher");
            let mut all: Vec<_> = sums.iter().flat_map(|thread| thread[key].iter().copied()).collect();
            all.sort_unstable();
            assert_eq!(table.select([key as u8]).unwrap(), all.len().to_string().as_bytes());
            assert!(all.iter().zip(1_i64..).all(|(sum, expected)| *sum == expected));
        }
    }
}

/// The sums of each key, in the order in which they came.
fn increment_at_random(table: &Table, mut random: fastrand::Rng) -> [Vec<i64>; KEYS] {
    let mut sums = [const { Vec::new() }; KEYS];
    for _ in 0..scaled(5000, 40) {
        if random.bool() {
            let key = random.usize(..KEYS);
            sums[key].push(table.increment([key as u8], 1).unwrap());
        } else {
            let amounts = [0; 5].map(|_| ([random.usize(..KEYS) as u8], 1));
            for (([key], _), sum) in amounts.iter().zip(table.increment_many(&amounts).unwrap()) {
                sums[usize::from(*key)].push(sum);
            }
        }
    }
    sums
}

#[test]
fn each_key_is_inserted_once_and_keeps_the_winner_s_value() {
    for index in BOTH {
        let table = table(index);
        let keys: Vec<_> = (0..scaled(3000, 60)).map(|number| format!("key/{number}").into_bytes()).collect();
        let won = on_threads(|writer, mut random| {
            let mut shuffled = keys.clone();
            random.shuffle(&mut shuffled);
            table.reserve(writer * keys.len()).unwrap();
            shuffled.chunks(100).map(|batch| insert_batch(&table, writer, batch, &mut random)).sum::<usize>()
        });
        assert_eq!(won.iter().sum::<usize>(), keys.len(), "each key is won, and by one thread");
        assert_eq!(table.len(), keys.len());
        let mut kept = vec![0; THREADS];
        table.select_many(&keys, |position, value| {
            let Stamp { version: 1, writer } = read_stamp(&keys[position], value.unwrap()) else {
                panic!("a value that nobody wrote");
            };
            kept[writer] += 1;
        });
        assert_eq!(kept, won);
    }
}

/// How many of the keys it was the first to insert.
fn insert_batch(table: &Table, writer: usize, batch: &[Vec<u8>], random: &mut fastrand::Rng) -> usize {
    let pairs: Vec<_> = batch.iter().map(|key| (key, stamp(key, 1, writer, 20 * writer))).collect();
    let inserted = if random.bool() {
        table.insert_many(&pairs).unwrap()
    } else {
        pairs.iter().map(|(key, value)| table.insert(key, value).unwrap()).collect()
    };
    inserted.into_iter().filter(|inserted| *inserted).count()
}

#[test]
fn inserts_and_deletes_of_a_key_take_turns() {
    for index in BOTH {
        let table = table(index);
        let counts = on_threads(|writer, mut random| {
            let mut counts = [(0_usize, 0_usize); KEYS];
            for version in 0..scaled(10_000, 60) {
                let number = random.usize(..KEYS);
                let key = [number as u8; 9];
                if random.bool() {
                    let value = stamp(&key, version, writer, some_length(&mut random, 20_000));
                    counts[number].0 += usize::from(table.insert(key, value).unwrap());
                } else {
                    counts[number].1 += usize::from(table.delete(key).unwrap());
                }
            }
            counts
        });
        let mut present = 0;
        for number in 0..KEYS {
            let inserts: usize = counts.iter().map(|thread| thread[number].0).sum();
            let deletes: usize = counts.iter().map(|thread| thread[number].1).sum();
            let there = usize::from(table.contains([number as u8; 9]));
            assert_eq!(inserts, deletes + there);
            present += there;
        }
        assert_eq!(table.len(), present);
        assert_eq!(table.iter().count(), present);
    }
}

/// From absent to present and back is a lock.
#[test]
fn compare_and_swap_of_absence_excludes_others() {
    for index in BOTH {
        let table = table(index);
        let inside = AtomicUsize::new(0);
        on_threads(|number, _| {
            let name = vec![number as u8; 5000];
            for _ in 0..scaled(300, 10) {
                while !table.compare_and_swap("lock", None, Some(&name)).unwrap() {
                    thread::yield_now();
                }
                assert_eq!(inside.fetch_add(1, Ordering::Relaxed), 0);
                inside.fetch_sub(1, Ordering::Relaxed);
                assert_eq!(table.compare_and_swap_many(&[("lock", Some(&name), None)]).unwrap(), [true]);
            }
        });
        assert!(table.is_empty());
    }
}
