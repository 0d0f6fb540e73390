//! Walks, which go block by block behind JavaScript's iterators.

use std::iter;
use std::ops::Bound;

use twindex::Iter;
use twindex_cache::Iter as CacheIter;
use twindex_durable::{ExpiringCursor, Unexpired};

use crate::encoding::{BLOCK_ITEMS, Column};
use crate::results::Results;

/// Pairs that are read at once: few at first, so that a block of large pairs does not grow far past its size, and more where
/// those before were small.
const STEP_PAIRS: usize = 8;
const MOST_STEP_PAIRS: usize = 32;
const SMALL_BYTES: usize = 128;
/// A walk's first block; each next one has twice as many pairs, up to what a block holds.
const FIRST_PAIRS: usize = 32;

pub(crate) type Pair = (Vec<u8>, Vec<u8>);
/// The bounds of the keys that a cursor passes.
pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// A position in a sorted table of either kind.
#[allow(clippy::large_enum_variant, reason = "a box would cost each step")]
pub(crate) enum Cursor {
    Plain(twindex::Cursor),
    Expiring(ExpiringCursor),
}

macro_rules! cursor {
    ($(($this:ident: $by:ty) $name:ident($($argument:ident: $of:ty),*) -> $returned:ty;)*) => {
        impl Cursor {
            $(#[inline]
            pub(crate) fn $name($this: $by, $($argument: $of),*) -> $returned {
                match $this {
                    Self::Plain(cursor) => cursor.$name($($argument),*),
                    Self::Expiring(cursor) => cursor.$name($($argument),*),
                }
            })*
        }
    };
}

cursor! {
    (self: &mut Self) seek(key: &[u8]) -> ();
    (self: &Self) key() -> Option<&[u8]>;
    (self: &Self) value() -> Option<Vec<u8>>;
    (self: &mut Self) scan_asc_next() -> Option<(&[u8], &[u8])>;
    (self: &mut Self) scan_desc_next() -> Option<(&[u8], &[u8])>;
    (self: &mut Self) scan_asc_next_many(limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize;
    (self: &mut Self) scan_desc_next_many(limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize;
}

pub(crate) struct Walk {
    way: Way,
    pub(crate) halves: Halves,
    left: usize,
    block: usize,
}

#[allow(clippy::large_enum_variant, reason = "most walks have a cursor, and many are short")]
pub(crate) enum Way {
    /// In order, or downwards.
    Along(Cursor, bool),
    Any(Iter),
    Unexpired(Unexpired<Iter>),
    Cache(CacheIter),
}

/// The way of a walk that goes down, in JavaScript.
pub(crate) const DOWN: u32 = 2;

#[derive(Clone, Copy)]
pub(crate) struct Halves {
    pub(crate) key: bool,
    pub(crate) value: bool,
}

impl Halves {
    pub(crate) const BOTH: Self = Self { key: true, value: true };

    /// By number: 1 for keys, 2 for values, 3 for both.
    pub(crate) const fn of(number: u32) -> Self {
        Self { key: number & 1 != 0, value: number & 2 != 0 }
    }

    pub(crate) const fn columns(self) -> &'static [Column] {
        match self {
            Self { key: true, value: true } => &[Column::Key, Column::Value],
            Self { key: true, value: false } => &[Column::Key],
            Self { .. } => &[Column::Value],
        }
    }

    #[inline]
    pub(crate) fn push(self, results: &mut Results, key: &[u8], value: &[u8]) {
        if self.key {
            results.push(key);
        }
        if self.value {
            results.push(value);
        }
    }
}

/// Steps until there are `wanted` pairs, or enough bytes, or no more pairs, which it returns. Counts `left` down.
pub(crate) fn fill<W>(
    way: &mut W,
    mut wanted: usize,
    left: &mut usize,
    results: &mut Results,
    mut step: impl FnMut(&mut W, usize, &mut Results) -> usize,
) -> bool {
    let mut most = STEP_PAIRS;
    while wanted > 0 && !results.is_full() {
        let limit = most.min(wanted);
        let before = results.bytes();
        let found = step(way, limit, results);
        if results.bytes() - before <= found * SMALL_BYTES {
            most = MOST_STEP_PAIRS.min(2 * most);
        } else {
            most = STEP_PAIRS;
        }
        wanted -= found;
        *left -= found;
        if found < limit {
            return false;
        }
    }
    true
}

/// Moves a cursor past at most so many pairs; how many that were.
#[inline]
pub(crate) fn pass(
    cursor: &mut Cursor,
    is_down: bool,
    limit: usize,
    halves: Halves,
    results: &mut Results,
) -> usize {
    let show = |key: &[u8], value: &[u8]| halves.push(results, key, value);
    if is_down { cursor.scan_desc_next_many(limit, show) } else { cursor.scan_asc_next_many(limit, show) }
}

impl Walk {
    /// A walk past at most so many pairs.
    pub(crate) const fn new(way: Way, halves: Halves, left: usize) -> Self {
        Self { way, halves, left, block: FIRST_PAIRS }
    }

    /// A walk past at most so many pairs, which fit into one block where they are not large.
    pub(crate) const fn short(way: Way, left: usize) -> Self {
        Self { way, halves: Halves::BOTH, left, block: left }
    }

    /// Puts the next block into `results`; whether there may be more pairs.
    pub(crate) fn fill(&mut self, results: &mut Results) -> bool {
        let Self { way, halves, left, block } = self;
        let halves = *halves;
        let wanted = (*block).min(*left);
        *block = (*block * 2).min(BLOCK_ITEMS / 2);
        let is_more = match way {
            Way::Along(cursor, is_down) => fill(cursor, wanted, left, results, |cursor, limit, results| {
                pass(cursor, *is_down, limit, halves, results)
            }),
            Way::Any(pairs) => fill(pairs, wanted, left, results, |pairs, limit, results| {
                let next = iter::from_fn(|| pairs.next_shared()).take(limit);
                next.map(|(key, value)| halves.push(results, key.as_ref(), &value)).count()
            }),
            Way::Unexpired(pairs) => fill(pairs, wanted, left, results, |pairs, limit, results| {
                pairs.take(limit).map(|(key, value)| halves.push(results, &key, &value)).count()
            }),
            Way::Cache(pairs) => fill(pairs, wanted, left, results, |pairs, limit, results| {
                pairs.take(limit).map(|(key, value)| halves.push(results, &key, &value)).count()
            }),
        };
        is_more && *left > 0
    }
}
