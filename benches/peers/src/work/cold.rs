//! Keys of 20 to 150 bytes that lie in the caller's memory in another order than that of their use, so that each costs a
//! cache miss before it can be hashed. Values have 8 bytes.

use std::fmt::Write;

use twindex_benches::{KeyList, fill_value, is_value_start};

use super::fill::BATCH;
use super::steps::{begin, check, mops};
use crate::keys::rng;
use crate::peer::{Peer, Session, time};
use crate::task::{Figure, Task};

const VALUE_BYTES: usize = 8;

pub(crate) fn run<P: Peer>(task: &Task) -> Vec<Figure> {
    let list = lengthened(&task.keys);
    let mut rng = rng();
    let mut keys: Vec<(&[u8], [u8; VALUE_BYTES])> = (0..list.len())
        .map(|position| {
            let mut value = [0; VALUE_BYTES];
            fill_value(list.number(position), &mut value);
            (list.key(position), value)
        })
        .collect();
    rng.shuffle(&mut keys);
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let clock = task.clock();
    let mut peer: P = begin(&list, VALUE_BYTES);
    let one_by_one = time(clock, &mut peer, 1, |_, session| {
        for (key, value) in &pairs {
            assert!(session.insert(key, value), "the key {} was there before", key.escape_ascii());
        }
    });
    drop(peer);
    let mut peer: P = begin(&list, VALUE_BYTES);
    let in_batches = time(clock, &mut peer, 1, |_, session| {
        for batch in pairs.chunks(BATCH) {
            assert_eq!(session.insert_many(batch), batch.len(), "a key was there before");
        }
    });
    let mut positions: Vec<usize> = (0..list.len()).collect();
    rng.shuffle(&mut positions);
    let keys: Vec<&[u8]> = positions.iter().map(|&position| list.key(position)).collect();
    let numbers: Vec<u32> = positions.iter().map(|&position| list.number(position)).collect();
    let is_right = |at: usize, value: &[u8]| is_value_start(numbers[at], VALUE_BYTES, value);
    let selects = time(clock, &mut peer, 1, |_, session| {
        for (at, key) in keys.iter().enumerate() {
            check(session.select(key, |value| is_right(at, value)), key);
        }
    });
    let selects_in_batches = time(clock, &mut peer, 1, |_, session| {
        for (number, batch) in keys.chunks(BATCH).enumerate() {
            session.select_many(batch, |at, value| {
                check(value.map(|value| is_right(number * BATCH + at, value)), batch[at]);
            });
        }
    });
    let rows = [
        ("hash_cold_insert", one_by_one),
        ("hash_cold_insert_many", in_batches),
        ("hash_cold_select", selects),
        ("hash_cold_select_many", selects_in_batches),
    ];
    rows.map(|(row, time)| mops(row, list.len(), time)).into()
}

/// The same keys, each with more bytes behind it: 65 in all on average, 150 at most.
fn lengthened(keys: &KeyList) -> KeyList {
    let mut rng = rng();
    keys.pairs(0..keys.len())
        .map(|(number, key)| {
            let mut long = String::from_utf8_lossy(key).into_owned();
            let bytes = 20 + (rng.f64() * rng.f64() * 180.0) as usize;
            write!(long, "/{number}").expect("a string takes all");
            while long.len() < bytes.min(150) {
                long.push(rng.lowercase());
            }
            long.into_bytes()
        })
        .collect()
}
