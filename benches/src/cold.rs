//! Keys of 20 to 150 bytes that lie in the caller's memory in another order than that of their use, so that each costs a
//! cache miss before it can be hashed. Values have 8 bytes.

use crate::fill::{begin, check};
use crate::job::Job;
use crate::keys::{KeyList, rng};
use crate::options::Fallible;
use crate::peer::{Peer, Session, time};
use crate::record::Record;
use crate::values::{fill_value, is_value_start};

const VALUE_BYTES: usize = 8;

/// Figures insert, select, and both in batches.
pub(crate) fn run<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let list = lengthened(&job.keys(0)?);
    let (clock, batch) = (job.options.clock, job.options.batch as usize);
    let mut rng = rng();
    let mut keys: Vec<(&[u8], [u8; VALUE_BYTES])> = list
        .pairs(0..list.len())
        .map(|(number, key)| {
            let mut value = [0; VALUE_BYTES];
            fill_value(number, &mut value);
            (key, value)
        })
        .collect();
    rng.shuffle(&mut keys);
    let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|(key, value)| (*key, value.as_slice())).collect();
    let mut peer: P = begin(job, &list, VALUE_BYTES);
    let one_by_one = time(clock, &mut peer, 1, |_, session| {
        for (key, value) in &pairs {
            assert!(session.insert(key, value), "the key {} was there before", key.escape_ascii());
        }
    });
    drop(peer);
    let mut peer: P = begin(job, &list, VALUE_BYTES);
    let in_batches = time(clock, &mut peer, 1, |_, session| {
        for batch in pairs.chunks(batch) {
            assert_eq!(session.insert_many(batch), batch.len(), "a key was there before");
        }
    });
    let mut positions: Vec<usize> = (0..list.len()).collect();
    rng.shuffle(&mut positions);
    let keys: Vec<&[u8]> = positions.iter().map(|&position| list.key(position)).collect();
    let is_right = |at: usize, value: &[u8]| is_value_start(list.number(positions[at]), VALUE_BYTES, value);
    let selects = time(clock, &mut peer, 1, |_, session| {
        for (at, key) in keys.iter().enumerate() {
            check(session.select(key, |value| is_right(at, value)), key);
        }
    });
    let selects_in_batches = time(clock, &mut peer, 1, |_, session| {
        for (number, some) in keys.chunks(batch).enumerate() {
            session.select_many(some, |at, value| {
                check(value.map(|value| is_right(number * batch + at, value)), some[at]);
            });
        }
    });
    let figures = [
        ("insert", one_by_one),
        ("insert_many", in_batches),
        ("select", selects),
        ("select_many", selects_in_batches),
    ];
    Ok(figures.map(|(figure, time)| job.rate(figure, list.len(), time)).into())
}

/// The same keys, each with more bytes behind it: 65 in all on average, 150 at most.
fn lengthened(keys: &KeyList) -> KeyList {
    let mut rng = rng();
    keys.pairs(0..keys.len())
        .map(|(number, key)| {
            let mut long = [key, b"/", number.to_string().as_bytes()].concat();
            let bytes = 20 + (rng.f64() * rng.f64() * 180.0) as usize;
            while long.len() < bytes.min(150) {
                long.push(rng.lowercase() as u8);
            }
            long
        })
        .collect()
}
