//! Reads that show no expired pair.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use twindex::{Cursor, IndexKind, Iter, KeyRange, Scan, TableOptions, prefix_range};
use twindex_cache::Ttl;
use twindex_format::{FOREVER, has_expired, split_deadline, values_that_expire};

use super::clock::Clock;
use crate::error::Result;

type Pair = (Vec<u8>, Vec<u8>);

/// By what time pairs have expired.
#[derive(Clone, Debug)]
pub(super) enum Time {
    /// That of the read.
    Now(Arc<Clock>),
    /// That of a snapshot.
    At(u64),
}

impl Time {
    #[inline]
    fn is_past(&self, deadline: u64) -> bool {
        match self {
            Self::Now(clock) => clock.is_past(deadline),
            Self::At(moment) => has_expired(deadline, *moment),
        }
    }

    fn now(&self) -> u64 {
        match self {
            Self::Now(clock) => clock.now(),
            Self::At(moment) => *moment,
        }
    }

    /// The deadline and the value of a stored one, unless it has expired.
    #[inline]
    pub(super) fn show<'s>(&self, stored: &'s [u8]) -> Option<(u64, &'s [u8])> {
        let (deadline, value) = split_deadline(stored);
        (!self.is_past(deadline)).then_some((deadline, value))
    }
}

/// The reads of an [`ExpiringTable`](crate::ExpiringTable), or of such a table in a [`Snapshot`](crate::Snapshot). Expired pairs are
/// absent: in a table those that have expired by the time of the read, in a snapshot those that had by the time of the snapshot.
#[derive(Clone)]
pub struct ExpiringReads {
    table: twindex::Table,
    pub(super) time: Time,
}

impl ExpiringReads {
    pub(super) fn new(table: twindex::Table, time: Time) -> Self {
        Self { table, time }
    }

    /// The name it has in its store.
    pub fn name(&self) -> &str {
        self.table.name()
    }

    /// The index it was created with.
    pub fn index(&self) -> IndexKind {
        self.table.index()
    }

    /// The names of the codecs of its keys and of its values.
    pub fn codecs(&self) -> (&str, &str) {
        let (keys, values) = self.table.codecs();
        (keys, values_that_expire(values).unwrap_or(values))
    }

    /// The bytes that the table holds in memory.
    pub fn memory(&self) -> usize {
        self.table.memory()
    }

    /// Checks that the table is as asked for.
    #[doc(hidden)]
    pub fn check(&self, options: TableOptions<'_>) -> Result<()> {
        super::as_stored(options, |stored| Ok(stored.check(&self.table)?))
    }

    /// The number of pairs. One that has expired counts until it is removed.
    pub fn len(&self) -> usize {
        self.table.len()
    }

    /// Whether there is no pair, not even one that has expired and is not yet removed.
    pub fn is_empty(&self) -> bool {
        self.table.is_empty()
    }

    /// A copy of the key's value, or `None` if the key is absent.
    pub fn select(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.select_with(key, <[u8]>::to_vec)
    }

    /// Calls `read` with the key's value, without a copy, and returns its result, or `None` if the key is absent.
    #[inline]
    pub fn select_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.table.select_with(key, |stored| Some(read(self.time.show(stored)?.1))).flatten()
    }

    /// As [`twindex::Table::select_shared`], always as a copy.
    #[doc(hidden)]
    pub fn select_shared(&self, key: impl AsRef<[u8]>) -> Option<twindex::Value> {
        self.select(key).map(Into::into)
    }

    /// Whether the key is present.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.select_with(key, |_| ()).is_some()
    }

    /// How long a pair still lives.
    pub fn ttl(&self, key: impl AsRef<[u8]>) -> Ttl {
        let deadline = self.table.select_with(key, |stored| Some(self.time.show(stored)?.0)).flatten();
        match deadline {
            None => Ttl::Absent,
            Some(FOREVER) => Ttl::Forever,
            Some(deadline) => {
                Ttl::Left(Duration::from_millis(deadline.saturating_sub(self.time.now()).max(1)))
            }
        }
    }

    /// Shows `read` every key's position in `keys` and its value, or `None` if it is absent.
    pub fn select_many<K: AsRef<[u8]>>(&self, keys: &[K], mut read: impl FnMut(usize, Option<&[u8]>)) {
        self.table.select_many(keys, |position, stored| {
            read(position, stored.and_then(|stored| Some(self.time.show(stored)?.1)));
        });
    }

    /// Whether each key is present.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        let mut found = vec![false; keys.len()];
        self.select_many(keys, |position, value| found[position] = value.is_some());
        found
    }

    /// A cursor over the keys in `range`, before its first pair and after its last at once. Fails on a hash table.
    pub fn cursor(&self, range: impl KeyRange) -> twindex::Result<ExpiringCursor> {
        Ok(ExpiringCursor {
            reads: self.clone(),
            cursor: self.table.cursor(range)?,
            at: At::Start,
            key: Vec::new(),
            value: Vec::new(),
        })
    }

    /// The pairs with keys in `range`, in order; `.rev()` for the other way. As [`cursor`](Self::cursor) fails.
    pub fn scan(&self, range: impl KeyRange) -> twindex::Result<Unexpired<Scan>> {
        Ok(Unexpired { pairs: self.table.scan(range)?, time: self.time.clone() })
    }

    /// The pairs whose keys start with `prefix`, as [`scan`](Self::scan).
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> twindex::Result<Unexpired<Scan>> {
        self.scan(prefix_range(prefix.as_ref()))
    }

    /// Every pair: in the order of the keys in a sorted table, in no particular order in a hash table.
    pub fn iter(&self) -> Unexpired<Iter> {
        Unexpired { pairs: self.table.iter(), time: self.time.clone() }
    }

    /// The pair of a sorted table with the least key.
    pub fn first(&self) -> twindex::Result<Option<Pair>> {
        Ok(self.scan(..)?.next())
    }

    /// The pair of a sorted table with the greatest key.
    pub fn last(&self) -> twindex::Result<Option<Pair>> {
        Ok(self.scan(..)?.next_back())
    }

    /// As [`twindex::Table::walk`].
    #[doc(hidden)]
    pub fn walk(&self, from: u64, mut read: impl FnMut(&[u8], &[u8])) -> Option<u64> {
        self.table.walk(from, |key, stored| {
            if let Some((_, value)) = self.time.show(stored) {
                read(key, value);
            }
        })
    }
}

impl IntoIterator for &ExpiringReads {
    type Item = Pair;
    type IntoIter = Unexpired<Iter>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Debug for ExpiringReads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}

/// Pairs of a table that have not expired when they are returned.
#[derive(Debug)]
pub struct Unexpired<I> {
    pairs: I,
    time: Time,
}

impl<I> Unexpired<I> {
    fn show(time: &Time, (key, mut stored): Pair) -> Option<Pair> {
        let start = stored.len() - time.show(&stored)?.1.len();
        stored.drain(..start);
        Some((key, stored))
    }
}

impl<I: Iterator<Item = Pair>> Iterator for Unexpired<I> {
    type Item = Pair;

    fn next(&mut self) -> Option<Pair> {
        self.pairs.by_ref().find_map(|pair| Self::show(&self.time, pair))
    }
}

impl<I: DoubleEndedIterator<Item = Pair>> DoubleEndedIterator for Unexpired<I> {
    fn next_back(&mut self) -> Option<Pair> {
        self.pairs.by_ref().rev().find_map(|pair| Self::show(&self.time, pair))
    }
}

/// A position in a sorted table, as a [`Cursor`] that passes over expired pairs.
pub struct ExpiringCursor {
    reads: ExpiringReads,
    cursor: Cursor,
    at: At,
    /// Where it is on a pair or was sent to one.
    key: Vec<u8>,
    value: Vec<u8>,
}

/// What a cursor is on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    /// It is new.
    Start,
    /// Right before the key.
    Before,
    /// The pair that it returned last.
    Pair,
}

impl ExpiringCursor {
    /// Moves right before the first pair whose key is not less than `key`, within the cursor's range.
    pub fn seek(&mut self, key: impl AsRef<[u8]>) {
        self.key.clear();
        self.key.extend_from_slice(key.as_ref());
        self.cursor.seek(&self.key);
        self.at = At::Before;
    }

    /// The key of the pair that the cursor is on: `None` before the first step and after [`seek`](Self::seek).
    pub fn key(&self) -> Option<&[u8]> {
        (self.at == At::Pair).then_some(&self.key)
    }

    /// The value that this key has now, or `None` if it was deleted or has expired.
    pub fn value(&self) -> Option<Vec<u8>> {
        self.reads.select(self.key()?)
    }

    /// Moves to the next pair upwards and returns it, or `None` at the end.
    pub fn scan_asc_next(&mut self) -> Option<(&[u8], &[u8])> {
        self.step(false)
    }

    /// Moves to the next pair downwards and returns it, or `None` at the end.
    pub fn scan_desc_next(&mut self) -> Option<(&[u8], &[u8])> {
        self.step(true)
    }

    fn step(&mut self, down: bool) -> Option<(&[u8], &[u8])> {
        (self.steps(down, 1, |_, _| true) == 1).then_some((&self.key, &self.value))
    }

    /// As [`Cursor::steps`].
    #[doc(hidden)]
    pub fn steps(&mut self, down: bool, limit: usize, mut read: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        let Self { reads, cursor, at, key: own_key, value: own_value } = self;
        let (mut done, mut strayed) = (0, false);
        if limit == 0 {
            return 0;
        }
        cursor.steps(down, usize::MAX, |key, stored| {
            let Some((_, value)) = reads.time.show(stored) else {
                strayed = true;
                return true;
            };
            strayed = false;
            done += 1;
            let goes_on = read(key, value) && done < limit;
            if !goes_on || limit > 1 {
                own_key.clear();
                own_key.extend_from_slice(key);
            }
            if limit == 1 {
                own_value.clear();
                own_value.extend_from_slice(value);
            }
            goes_on
        });
        if done > 0 {
            *at = At::Pair;
        }
        // Only expired pairs followed. The next step may find what was written among them, or go the other way.
        match at {
            _ if !strayed => {}
            At::Start => cursor.go_back(None),
            At::Before => cursor.seek(&own_key),
            At::Pair => cursor.go_back(own_key.as_slice()),
        }
        done
    }

    /// [`scan_asc_next`](Self::scan_asc_next) up to `limit` times, and passes each pair to `read`. Returns how many.
    pub fn scan_asc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        self.steps(false, limit, |key, value| {
            read(key, value);
            true
        })
    }

    /// [`scan_desc_next`](Self::scan_desc_next) up to `limit` times, and passes each pair to `read`. Returns how many.
    pub fn scan_desc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        self.steps(true, limit, |key, value| {
            read(key, value);
            true
        })
    }
}

impl fmt::Debug for ExpiringCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cursor.fmt(f)
    }
}
