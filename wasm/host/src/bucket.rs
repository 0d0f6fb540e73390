//! A bucket: a table, with the rights of its guests.

use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use twindex::{Change, IndexKind, KeyRange, Write};
use twindex_durable::Table;

use crate::refused::{Refused, Result};

/// How many keys one call looks at, and about how many bytes of keys.
const PAGE: usize = 1000;
const PAGE_BYTES: usize = 1 << 20;

/// What a pair of an answer takes beside its bytes.
const PAIR: usize = 64;

pub(crate) type Pair = (Vec<u8>, Vec<u8>);

/// No code that runs under these locks can panic half-way through a change.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a table holds and may hold. Before the first limit nothing is counted.
#[derive(Default)]
pub(crate) struct Quota(OnceLock<Mutex<Used>>);

#[derive(Default)]
pub(crate) struct Used {
    pairs: u64,
    bytes: u64,
    max_pairs: Option<u64>,
    max_bytes: Option<u64>,
}

/// The pairs and bytes of one pair, which may be absent.
type Size = (u64, u64);

fn size(key: &[u8], value: Option<&[u8]>) -> Size {
    value.map_or((0, 0), |value| (1, (key.len() + value.len()) as u64))
}

impl Used {
    pub(crate) fn limit(&mut self, pairs: Option<u64>, bytes: Option<u64>) {
        self.max_pairs = pairs.or(self.max_pairs);
        self.max_bytes = bytes.or(self.max_bytes);
    }

    /// A pair of one size becomes one of another. It may always shrink.
    fn change(&mut self, before: Size, after: Size) -> Result<()> {
        let [pairs, bytes] = [(self.pairs, before.0, after.0), (self.bytes, before.1, after.1)]
            .map(|(all, before, after)| all.saturating_sub(before) + after);
        for (what, now, then, max) in
            [("pairs", self.pairs, pairs, self.max_pairs), ("bytes", self.bytes, bytes, self.max_bytes)]
        {
            if let Some(max) = max.filter(|max| then > now && then > *max) {
                return Err(Refused::Quota(what, max));
            }
        }
        (self.pairs, self.bytes) = (pairs, bytes);
        Ok(())
    }

    fn undo(&mut self, before: Size, after: Size) {
        self.pairs = (self.pairs + before.0).saturating_sub(after.0);
        self.bytes = (self.bytes + before.1).saturating_sub(after.1);
    }
}

/// Where a listing of keys goes on.
pub(crate) enum Position {
    /// In a hash table.
    Hash(u64),
    /// After this key of a sorted table.
    After(Vec<u8>),
}

#[derive(Clone)]
pub(crate) struct Bucket {
    pub(crate) table: Table,
    pub(crate) read_only: bool,
    /// Whether every write waits for the disk.
    pub(crate) waits: bool,
    pub(crate) quota: Arc<Quota>,
}

impl Bucket {
    /// Whether the next write may wait for something.
    pub(crate) fn may_wait(&self) -> bool {
        self.waits || self.table.may_wait()
    }

    fn writable(&self) -> Result<()> {
        if self.read_only { Err(Refused::ReadOnly) } else { Ok(()) }
    }

    fn used(&self) -> Option<&Mutex<Used>> {
        self.quota.0.get()
    }

    /// Sets a limit. The first one has the pairs counted.
    pub(crate) fn limit(&self, limit: impl FnOnce(&mut Used)) -> twindex_durable::Result<()> {
        if self.used().is_none() {
            let mut used = Used::default();
            self.each(None, usize::MAX, |key, value| {
                used.pairs += 1;
                used.bytes += (key.len() + value.len()) as u64;
                true
            })?;
            // Had another thread set one meanwhile, its count would stay.
            self.quota.0.get_or_init(|| Mutex::new(used));
        }
        if let Some(used) = self.used() {
            limit(&mut lock(used));
        }
        Ok(())
    }

    // --- writing

    /// Changes a pair as `decide` says, within the quota. All writes go through here that have to see the value before, or
    /// that a quota counts. Returns whether a pair was written or removed.
    pub(crate) fn change(
        &self,
        key: &[u8],
        decide: impl FnOnce(Option<&[u8]>) -> Result<Change>,
    ) -> Result<bool> {
        self.writable()?;
        let (mut refused, mut counted) = (None, None);
        let done = self.table.alter(key, |old| {
            let decided = decide(old).and_then(|change| {
                let new = match &change {
                    Change::Keep => return Ok(change),
                    Change::Set(value) => Some(value.as_slice()),
                    Change::Delete => None,
                };
                if let Some(used) = self.used() {
                    let (before, after) = (size(key, old), size(key, new));
                    lock(used).change(before, after)?;
                    counted = Some((used, before, after));
                }
                Ok(change)
            });
            decided.unwrap_or_else(|error| {
                refused = Some(error);
                Change::Keep
            })
        });
        if let (Err(_), Some((used, before, after))) = (&done, counted) {
            lock(used).undo(before, after);
        }
        refused.map_or(Ok(done?), Err)
    }

    pub(crate) fn write(&self, write: Write, key: &[u8], value: &[u8]) -> Result<bool> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.write(write, key, value)?);
        }
        twindex::check_value(value)?;
        self.change(key, |old| {
            let takes_effect = write.takes_effect(old.is_some());
            Ok(if takes_effect { Change::Set(value.to_vec()) } else { Change::Keep })
        })
    }

    pub(crate) fn write_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        write: Write,
        pairs: &[(K, V)],
    ) -> Result<Vec<bool>> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.write_many(write, pairs)?);
        }
        pairs.iter().try_for_each(|(key, _)| twindex::check_key(key.as_ref()))?;
        pairs.iter().map(|(key, value)| self.write(write, key.as_ref(), value.as_ref())).collect()
    }

    pub(crate) fn delete(&self, key: &[u8]) -> Result<bool> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.delete(key)?);
        }
        self.take(key).map(|taken| taken.is_some())
    }

    pub(crate) fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.delete_many(keys)?);
        }
        keys.iter().map(|key| self.delete(key.as_ref())).collect()
    }

    pub(crate) fn take(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut taken = None;
        self.change(key, |old| {
            taken = old.map(<[u8]>::to_vec);
            Ok(if old.is_some() { Change::Delete } else { Change::Keep })
        })?;
        Ok(taken)
    }

    /// Adds to a decimal integer of this type. An absent key counts as 0.
    pub(crate) fn increment<N: Into<i128> + TryFrom<i128>>(&self, key: &[u8], by: N) -> Result<N> {
        let mut sum = by.into();
        self.change(key, |old| {
            if let Some(text) = old {
                let value = std::str::from_utf8(text).ok().and_then(|text| text.parse::<i128>().ok());
                sum += value.filter(|value| N::try_from(*value).is_ok()).ok_or(Refused::NotAnInteger)?;
            }
            N::try_from(sum).map_err(|_| Refused::Overflow)?;
            Ok(Change::Set(sum.to_string().into_bytes()))
        })?;
        N::try_from(sum).map_err(|_| Refused::Overflow)
    }

    pub(crate) fn swap(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool> {
        new.map_or(Ok(()), twindex::check_value)?;
        let mut matched = false;
        self.change(key, |old| {
            matched = old == expected;
            Ok(match new {
                _ if !matched => Change::Keep,
                Some(value) => Change::Set(value.to_vec()),
                None if old.is_some() => Change::Delete,
                None => Change::Keep,
            })
        })?;
        Ok(matched)
    }

    pub(crate) fn clear(&self) -> Result<()> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.clear()?);
        }
        let mut from = None;
        loop {
            let mut keys = Vec::new();
            from = self.page(from, |key| keys.push(key.to_vec()))?;
            self.delete_many(&keys)?;
            if from.is_none() {
                return Ok(());
            }
        }
    }

    pub(crate) fn delete_range(&self, range: (Bound<Vec<u8>>, Bound<Vec<u8>>)) -> Result<u64> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(self.table.delete_range(range)? as u64);
        }
        let mut cursor = self.table.cursor(range)?;
        let mut removed = 0;
        loop {
            let mut keys = Vec::new();
            cursor.steps(false, PAGE, |key, _| {
                keys.push(key.to_vec());
                true
            });
            if keys.is_empty() {
                return Ok(removed);
            }
            removed += self.delete_many(&keys)?.into_iter().filter(|was_there| *was_there).count() as u64;
        }
    }

    /// Removes the first or the last pair.
    pub(crate) fn pop(&self, last: bool) -> Result<Option<Pair>> {
        self.writable()?;
        if self.used().is_none() {
            return Ok(if last { self.table.pop_last() } else { self.table.pop_first() }?);
        }
        loop {
            let end = if last { self.table.last() } else { self.table.first() }?;
            let Some((key, _)) = end else { return Ok(None) };
            if let Some(value) = self.take(&key)? {
                return Ok(Some((key, value)));
            }
        }
    }

    // --- reading

    /// Values in the order of their keys, of at most so many bytes in all.
    pub(crate) fn select_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        most: usize,
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let mut left = most.checked_sub(keys.iter().map(|key| key.as_ref().len() + PAIR).sum());
        let mut values = Vec::with_capacity(keys.len());
        if left.is_some() {
            self.table.select_many(keys, |_, value| {
                left = left.and_then(|left| left.checked_sub(value.map_or(0, <[u8]>::len)));
                values.push(value.filter(|_| left.is_some()).map(<[u8]>::to_vec));
            })?;
        }
        left.map(|_| values).ok_or(Refused::Answer(most))
    }

    /// Pairs of a range of a sorted table, of at most so many bytes in all.
    pub(crate) fn scan(
        &self,
        range: impl KeyRange,
        reverse: bool,
        limit: usize,
        most: usize,
    ) -> Result<Vec<Pair>> {
        let (mut left, mut pairs) = (Some(most), Vec::new());
        self.table.cursor(range)?.steps(reverse, limit, |key, value| {
            left = left.and_then(|left| left.checked_sub(key.len() + value.len() + PAIR));
            pairs.extend(left.map(|_| (key.to_vec(), value.to_vec())));
            left.is_some()
        });
        left.map(|_| pairs).ok_or(Refused::Answer(most))
    }

    /// Shows about so many keys at most, about [`PAGE_BYTES`] of them. Returns where the next page begins, if there may be one.
    pub(crate) fn page(
        &self,
        from: Option<Position>,
        mut read: impl FnMut(&[u8]),
    ) -> twindex_durable::Result<Option<Position>> {
        let mut bytes = 0;
        self.each(from, PAGE, |key, _| {
            bytes += key.len();
            read(key);
            bytes < PAGE_BYTES
        })
    }

    /// Shows `read` about so many pairs, fewer where it returns false. Of a hash table it shows all that lie side by side, some
    /// hundreds, whatever `read` returns.
    fn each(
        &self,
        from: Option<Position>,
        limit: usize,
        mut read: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> twindex_durable::Result<Option<Position>> {
        // It fails where the store is closed.
        self.table.contains(b"")?;
        if self.table.index() == IndexKind::Hash {
            let mut at = if let Some(Position::Hash(from)) = from { Some(from) } else { Some(0) };
            let (mut shown, mut goes_on) = (0, true);
            while goes_on
                && shown < limit
                && let Some(from) = at
            {
                at = self.table.in_memory().walk(from, |key, value| {
                    shown += 1;
                    goes_on &= read(key, value);
                });
            }
            return Ok(at.map(Position::Hash));
        }
        let after =
            if let Some(Position::After(key)) = from { Bound::Excluded(key) } else { Bound::Unbounded };
        let mut last = None;
        let mut stopped = false;
        let shown = self.table.cursor((after, Bound::Unbounded))?.steps(false, limit, |key, value| {
            last = Some(key.to_vec());
            stopped = !read(key, value);
            !stopped
        });
        Ok(last.filter(|_| stopped || shown == limit).map(Position::After))
    }
}

/// A key and the value that was seen of it.
pub(crate) struct Cas {
    pub(crate) bucket: Arc<Bucket>,
    pub(crate) key: String,
    pub(crate) seen: Option<Vec<u8>>,
}

impl Cas {
    pub(crate) fn look(bucket: Arc<Bucket>, key: String) -> Result<Self> {
        twindex::check_key(key.as_bytes())?;
        let seen = bucket.table.select(&key)?;
        Ok(Self { bucket, key, seen })
    }

    pub(crate) fn bytes(&self) -> usize {
        self.key.len() + self.seen.as_ref().map_or(0, Vec::len)
    }
}
