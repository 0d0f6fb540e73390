//! Tables whose pairs expire.
//!
//! The deadline of a pair is stored in front of its value, so the log, dumps and followers have it too. One
//! wrapper of a [`Table`] writes and hides it, and no other table knows of it.

mod clock;
pub(crate) mod due;
pub(crate) mod kind;
mod reads;
mod removal;
mod transaction;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use twindex::{Change, IndexKind, Swap, TableOptions, Write};
use twindex_format::{
    FOREVER, values_that_expire, with_deadline, with_expiring_codec, without_expiring_codec,
};

pub(crate) use self::clock::Clock;
use self::due::Removal;
use self::kind::check_expires;
use self::reads::Time;
pub use self::reads::{ExpiringCursor, ExpiringReads, Unexpired};
pub use self::transaction::ExpiringPart;
use crate::error::{Error, Result};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::table::Table;
use crate::verbs::{alter_verbs, read_verbs, write_many_verbs, write_verbs};
use crate::watch::{Watch, WatchOptions};

/// A table whose pairs expire: [`Store::expiring_table`].
///
/// A handle, with the verbs of a [`Table`]. A pair that has expired is absent for all of them, also when the wall clock is set back
/// while the process runs. The deadline is in the file, in dumps, and reaches followers.
///
/// `ttl` is how long the pair lives from this write on; `None` and [`Duration::MAX`] are for ever. Zero and more than
/// [`MAX_TTL`](crate::MAX_TTL) are errors. [`alter`](Self::alter), [`increment`](Self::increment) and
/// [`compare_and_swap`](Self::compare_and_swap) give it to a pair
/// that they add. An existing pair keeps its deadline.
///
/// Expired pairs take memory until they are removed: a few by each write, more by the thread that syncs a log with `everysec`, and all
/// by [`remove_expired`](Self::remove_expired). A removal is a `Delete` in the feed.
///
/// ```
/// # use std::time::Duration;
/// # use twindex_durable::{Store, Ttl, twindex::IndexKind};
/// # let store = Store::new();
/// let sessions = store.expiring_table("sessions", IndexKind::Hash)?;
/// sessions.upsert("4f1a", "ada", Duration::from_mins(30))?;
/// assert_eq!(sessions.select("4f1a")?.as_deref(), Some(b"ada".as_slice()));
/// sessions.touch("4f1a", Duration::from_hours(1))?;
/// assert!(matches!(sessions.ttl("4f1a")?, Ttl::Left(left) if left > Duration::from_mins(59)));
/// # Ok::<(), twindex_durable::Error>(())
/// ```
#[derive(Clone)]
pub struct ExpiringTable {
    table: Table,
    reads: ExpiringReads,
    clock: Arc<Clock>,
    removal: Arc<Removal>,
}

/// A table, of either kind.
#[derive(Clone, Debug)]
pub enum AnyTable {
    /// Its pairs stay.
    Plain(Table),
    /// Its pairs expire.
    Expiring(ExpiringTable),
}

impl Store {
    /// Opens the table called `name` whose pairs expire, or creates it with this index.
    ///
    /// Fails with [`Error::WrongExpiry`] if the pairs of that table do not expire.
    pub fn expiring_table(&self, name: &str, index: IndexKind) -> Result<ExpiringTable> {
        self.expiring_table_with(name, TableOptions::new(index))
    }

    /// As [`expiring_table`](Self::expiring_table), with the codecs of its keys and values, and only an existing table if the
    /// options say so.
    pub fn expiring_table_with(&self, name: &str, options: TableOptions<'_>) -> Result<ExpiringTable> {
        self.check_found(name, true)?;
        let (id, table) = as_stored(options, |stored| self.handle.table(name, stored))?;
        check_expires(&table, true)?;
        Ok(self.expiring(Table::new(Arc::clone(&self.handle), id, table)))
    }

    /// The table called `name`, with or without expiry; `expires` chooses for a new one. Fails with [`Error::WrongExpiry`] if it
    /// contradicts an existing table.
    pub fn any_table_with(
        &self,
        name: &str,
        options: TableOptions<'_>,
        expires: Option<bool>,
    ) -> Result<AnyTable> {
        let found = self.in_memory().find_table(name);
        let is_found = found.map(|table| values_that_expire(table.codecs().1).is_some());
        match expires.or(is_found) {
            Some(true) => self.expiring_table_with(name, options).map(AnyTable::Expiring),
            _ => self.table_with(name, options).map(AnyTable::Plain),
        }
    }

    fn expiring(&self, table: Table) -> ExpiringTable {
        let core = &self.handle.0;
        let removal = if self.is_read_only() {
            Arc::new(Removal::new(table.id, table.in_memory().clone()))
        } else {
            core.expiry.removal(table.id, table.in_memory())
        };
        let clock = core.expiry.clock();
        let reads = ExpiringReads::new(table.in_memory().clone(), Time::Now(Arc::clone(&clock)));
        ExpiringTable { table, reads, clock, removal }
    }

    /// For tests: the store's clock, as steady milliseconds and as wall time in milliseconds since 1970. Tables that are already open
    /// have their own.
    #[doc(hidden)]
    pub fn set_clock(&self, clock: impl Fn() -> (u64, u64) + Send + Sync + 'static) {
        self.handle.0.expiry.set_clock(Clock::new(Some(Box::new(clock))));
    }
}

impl Snapshot {
    /// The table called `name` whose pairs expire: the pairs that had not expired when the snapshot was taken.
    pub fn expiring_table(&self, name: &str) -> Result<ExpiringReads> {
        let table = self.raw_table(name)?;
        check_expires(table.as_table(), true)?;
        Ok(ExpiringReads::new(table.as_table().clone(), Time::At(self.time)))
    }
}

/// Does something with options that name the codec of values with their deadlines.
fn as_stored<T>(options: TableOptions<'_>, act: impl FnOnce(TableOptions<'_>) -> Result<T>) -> Result<T> {
    with_expiring_codec(options, act).map_err(|error| match error {
        Error::Engine(error) => without_expiring_codec(error).into(),
        other => other,
    })
}

impl ExpiringTable {
    /// The bytes that this table holds in memory.
    pub fn memory(&self) -> usize {
        self.table.memory()
    }

    /// The reads, which also work once the store is closed.
    pub fn in_memory(&self) -> &ExpiringReads {
        &self.reads
    }

    /// Whether the next write may wait for the disk or a compaction.
    #[inline]
    pub fn may_wait(&self) -> bool {
        self.table.may_wait()
    }

    fn deadline(&self, ttl: Option<Duration>) -> Result<u64> {
        self.clock.deadline(ttl)
    }

    /// Is told of writes, and removes a few expired pairs now and then.
    #[inline]
    fn written(&self, deadline: u64, writes: usize) {
        self.removal.written(&self.table.handle.0, deadline, writes);
    }

    // --- write verbs

    write_verbs!(
        (&self) self,
        (key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) -> bool,
        "; whether it was."
    );

    /// Does the verb that `write` names. Returns whether it took effect.
    pub fn write(
        &self,
        write: Write,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<bool> {
        /// Shorter values are put together on the stack.
        const SHORT: usize = 128;
        let (key, value) = (key.as_ref(), value.as_ref());
        let deadline = self.deadline(ttl.into())?;
        let mut short = [0; SHORT];
        let (long, end);
        let stored = if value.len() <= SHORT - size_of::<u64>() {
            end = size_of::<u64>() + value.len();
            short[..size_of::<u64>()].copy_from_slice(&deadline.to_le_bytes());
            short[size_of::<u64>()..end].copy_from_slice(value);
            &short[..end]
        } else {
            twindex::check_value(value)?;
            long = with_deadline(deadline, value);
            &long[..]
        };
        let done = match write {
            Write::Upsert => self.table.write(write, key, stored)?,
            Write::Insert => self.table.write(write, key, stored)? || self.write_over(key, stored)?,
            Write::Replace => self.table.alter(key, |old| self.set_if(true, old, stored))?,
        };
        if done {
            self.written(deadline, 1);
        }
        Ok(done)
    }

    /// Adds a pair in place of an expired one. Returns whether there was no other.
    fn write_over(&self, key: &[u8], stored: &[u8]) -> Result<bool> {
        Ok(!self.reads.contains(key) && self.table.alter(key, |old| self.set_if(false, old, stored))?)
    }

    /// Sets the pair if one that has not expired is there, or, without `is_there`, if none is. Call it under the key's lock: a write may
    /// wait for the disk before it gets that, and the pair may expire meanwhile.
    fn set_if(&self, is_there: bool, old: Option<&[u8]>, stored: &[u8]) -> Change {
        let is_shown = old.is_some_and(|old| self.reads.time.show(old).is_some());
        if is_shown == is_there { Change::Set(stored.to_vec()) } else { Change::Keep }
    }

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.change(key, FOREVER, |_| Change::Delete)
    }

    /// Gives a pair a new time to live from now on. Returns whether the key was present.
    pub fn touch(&self, key: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) -> Result<bool> {
        let deadline = self.deadline(ttl.into())?;
        let mut is_there = false;
        self.table.alter(key, |old| match old.map(|old| self.reads.time.show(old)) {
            None => Change::Keep,
            Some(None) => Change::Delete,
            Some(Some((_, value))) => {
                is_there = true;
                Change::Set(with_deadline(deadline, value))
            }
        })?;
        self.written(deadline, 1);
        Ok(is_there)
    }

    /// Shows `change` the value of the key, or `None` if it is absent, and does what it returns, with no
    /// other write to the key in between. Returns whether a pair was written or removed.
    ///
    /// `change` runs under a lock: it must not use this store, or it may wait for itself for ever.
    pub fn alter(
        &self,
        key: impl AsRef<[u8]>,
        ttl: impl Into<Option<Duration>>,
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Result<bool> {
        self.change(key, self.deadline(ttl.into())?, change)
    }

    alter_verbs!((&self) self);

    /// As [`Table::watch`]. A pair that is removed because it has expired is a `Delete`.
    pub fn watch(&self, prefix: impl AsRef<[u8]>) -> Result<Watch> {
        self.table.watch(prefix)
    }

    /// As [`Table::watch_with`].
    pub fn watch_with(&self, prefix: impl AsRef<[u8]>, options: WatchOptions) -> Result<Watch> {
        self.table.watch_with(prefix, options)
    }

    /// Removes all pairs and returns their memory.
    pub fn clear(&self) -> Result<()> {
        self.table.clear()
    }

    /// Removes up to `limit` expired pairs, and returns how many that were. Fewer than `limit` means that there are no more. It goes
    /// through the table, unless that has nothing to remove.
    pub fn remove_expired(&self, limit: usize) -> Result<usize> {
        self.removal.remove(&self.table.handle.0, limit)
    }

    /// As `alter`, with the deadline of a pair that is added.
    fn change(
        &self,
        key: impl AsRef<[u8]>,
        deadline: u64,
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Result<bool> {
        let mut done = false;
        self.table.alter(key, |old| self.decide(old, deadline, &mut done, change))?;
        if done {
            self.written(deadline, 1);
        }
        Ok(done)
    }

    /// The next stored value, and whether that changes a pair that has not expired.
    fn decide(
        &self,
        old: Option<&[u8]>,
        deadline: u64,
        done: &mut bool,
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Change {
        let shown = old.and_then(|old| self.reads.time.show(old));
        let change = change(shown.map(|(_, value)| value));
        *done = match change {
            Change::Keep => false,
            Change::Set(_) => true,
            Change::Delete => shown.is_some(),
        };
        match change {
            Change::Set(value) => Change::Set(with_deadline(shown.map_or(deadline, |(own, _)| own), &value)),
            Change::Keep if shown.is_some() || old.is_none() => Change::Keep,
            // An expired pair goes.
            _ => Change::Delete,
        }
    }

    // --- write verbs over many

    /// Does the verb that `write` names for each pair. Returns whether each took effect.
    pub fn write_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        write: Write,
        pairs: &[(K, V)],
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Vec<bool>> {
        let deadline = self.deadline(ttl.into())?;
        let mut stored = Vec::with_capacity(pairs.len());
        for (key, value) in pairs {
            twindex::check_value(value.as_ref())?;
            stored.push((key.as_ref(), with_deadline(deadline, value.as_ref())));
        }
        let done = self.write_stored(write, &stored);
        self.written(deadline, pairs.len());
        done
    }

    fn write_stored(&self, write: Write, stored: &[(&[u8], Vec<u8>)]) -> Result<Vec<bool>> {
        if write == Write::Replace {
            let keys: Vec<_> = stored.iter().map(|(key, _)| key).collect();
            return self.table.alter_many(&keys, |position, old| self.set_if(true, old, &stored[position].1));
        }
        let mut done = self.table.write_many(write, stored)?;
        for (done, (key, stored)) in done.iter_mut().zip(stored).filter(|(done, _)| !**done) {
            *done = self.write_over(key, stored)?;
        }
        Ok(done)
    }

    write_many_verbs!([K: AsRef<[u8]>, V: AsRef<[u8]>] &[(K, V)], ttl: impl Into<Option<Duration>>);

    /// [`delete`](Self::delete) for each key. Returns whether each took effect.
    pub fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        self.change_many(keys, FOREVER, |_, _| Change::Delete)
    }

    /// [`increment`](Self::increment) for each key and amount: the sums. Stops at the first that fails.
    pub fn increment_many<K: AsRef<[u8]>>(
        &self,
        amounts: &[(K, i64)],
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Vec<i64>> {
        let keys: Vec<_> = amounts.iter().map(|(key, _)| key.as_ref()).collect();
        let (mut sums, mut failed) = (Vec::with_capacity(keys.len()), None);
        self.change_many(&keys, self.deadline(ttl.into())?, |position, old| {
            if failed.is_some() {
                return Change::Keep;
            }
            match incremented(old, amounts[position].1) {
                Ok(sum) => {
                    sums.push(sum);
                    Change::Set(sum.to_string().into_bytes())
                }
                Err(error) => {
                    failed = Some(error);
                    Change::Keep
                }
            }
        })?;
        failed.map_or(Ok(sums), |error| Err(error.into()))
    }

    /// [`compare_and_swap`](Self::compare_and_swap) for each key, expected and new value. Returns whether each took
    /// effect.
    pub fn compare_and_swap_many<K: AsRef<[u8]>>(
        &self,
        swaps: &[Swap<'_, K>],
        ttl: impl Into<Option<Duration>>,
    ) -> Result<Vec<bool>> {
        swaps.iter().try_for_each(|(_, _, new)| new.map_or(Ok(()), twindex::check_value))?;
        let keys: Vec<_> = swaps.iter().map(|(key, ..)| key.as_ref()).collect();
        let mut matched = vec![false; keys.len()];
        self.change_many(&keys, self.deadline(ttl.into())?, |position, old| {
            let (_, expected, new) = swaps[position];
            matched[position] = old == expected;
            if matched[position] { set(new) } else { Change::Keep }
        })?;
        Ok(matched)
    }

    /// As `change`, for each key with its position.
    fn change_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        deadline: u64,
        mut change: impl FnMut(usize, Option<&[u8]>) -> Change,
    ) -> Result<Vec<bool>> {
        let mut done = vec![false; keys.len()];
        let altered = self.table.alter_many(keys, |position, old| {
            self.decide(old, deadline, &mut done[position], |old| change(position, old))
        });
        // Where it failed, some may be written.
        self.written(deadline, keys.len());
        altered.map(|_| done)
    }

    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        self.table.check_not_dropped()
    }
}

impl ExpiringTable {
    #[inline]
    fn open(&self) -> Result<&ExpiringReads> {
        self.table.handle.0.check_open()?;
        Ok(&self.reads)
    }

    read_verbs!(ExpiringCursor, Unexpired<twindex::Scan>, Unexpired<twindex::Iter>);

    /// How long a pair still lives.
    pub fn ttl(&self, key: impl AsRef<[u8]>) -> Result<twindex_cache::Ttl> {
        Ok(self.open()?.ttl(key))
    }
}

pub(crate) fn set(value: Option<&[u8]>) -> Change {
    value.map_or(Change::Delete, |value| Change::Set(value.to_vec()))
}

/// The sum of a value, 0 if there is none, and of `by`.
pub(crate) fn incremented(old: Option<&[u8]>, by: i64) -> twindex::Result<i64> {
    old.map_or(Ok(by), |text| twindex::incremented(text, by).map_err(|error| *error))
}

/// Its name, index, codecs and length.
impl Deref for ExpiringTable {
    type Target = ExpiringReads;

    fn deref(&self) -> &ExpiringReads {
        &self.reads
    }
}

impl fmt::Debug for ExpiringTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reads.fmt(f)
    }
}
