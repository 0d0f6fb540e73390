//! What the jobs have in common.

use std::ops::Range;
use std::time::Duration;

use twindex_benches::{KeyList, claim_memory_for, fill_value, is_value_start, resident_bytes};

use crate::peer::{Peer, Session};
use crate::task::Figure;

/// A read is measured over at least so many operations, in several walks over the keys if they are few.
/// The tests look at what is read, not at how long it takes.
const LEAST_READS: usize = if cfg!(test) { 1 } else { 500_000 };

pub(super) fn walks(keys: usize) -> usize {
    LEAST_READS.div_ceil(keys.max(1))
}

pub(super) fn mops(row: impl Into<String>, operations: usize, time: Duration) -> Figure {
    Figure { row: row.into(), value: operations as f64 / time.as_secs_f64() / 1e6 }
}

pub(super) fn figure(row: impl Into<String>, value: f64) -> Figure {
    Figure { row: row.into(), value }
}

/// An empty system, with memory at hand for pairs of these keys and values of so many bytes.
pub(crate) fn begin<P: Peer>(keys: &KeyList, value_bytes: usize) -> P {
    claim_memory_for(keys, value_bytes);
    P::new()
}

/// Inserts the pairs at these positions.
pub(crate) fn insert(
    session: &mut impl Session,
    list: &KeyList,
    positions: Range<usize>,
    value_bytes: usize,
) {
    let mut value = vec![0; value_bytes];
    for (number, key) in list.pairs(positions) {
        fill_value(number, &mut value);
        assert!(session.insert(key, &value), "the key {} was there before", key.escape_ascii());
    }
}

/// Selects the keys at these positions and checks each value.
pub(crate) fn select(
    session: &mut impl Session,
    list: &KeyList,
    positions: Range<usize>,
    value_bytes: usize,
) {
    for (number, key) in list.pairs(positions) {
        let right = session.select(key, |value| is_value_start(number, value_bytes, value));
        check(right, key);
    }
}

pub(crate) fn check(right: Option<bool>, key: &[u8]) {
    match right {
        Some(true) => {}
        Some(false) => panic!("a wrong value was read for the key {}", key.escape_ascii()),
        None => panic!("nothing was read for the key {}", key.escape_ascii()),
    }
}

/// The resident size now. Where the system does not tell it, there are no rows of bytes.
pub(crate) fn resident() -> Option<u64> {
    resident_bytes()
}
