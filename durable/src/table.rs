//! The verbs of a table, with each write in the log.

use std::fmt;
use std::sync::Arc;

use twindex::{Change, Cursor, IndexKind, Iter, Scan, Swap, Write};
use twindex_format::{Operation, Operations, TableEntry, TableInfo};

use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::memory;
use crate::verbs::{read_verbs, write_many_verbs, write_verbs};
use crate::watch::{Watch, WatchOptions};

/// How many pairs a `_many` form writes under one set of locks and into one record: as few as the engine writes shard by
/// shard.
pub(crate) const GROUP: usize = 64;

/// A named set of pairs under one index, with the verbs of [`twindex::Table`].
///
/// A handle: clones are the same table. Reads go straight to memory, and fail once the store is closed
/// ([`Error::Closed`]). Writes that take effect are in the log when they return, and on disk as the store's
/// [`Durability`](crate::Durability) says; beside the engine's errors they fail with [`Error::LogFailed`],
/// [`Error::ReadOnly`] and [`Error::Closed`].
#[derive(Clone)]
pub struct Table {
    engine: twindex::Table,
    pub(crate) id: u32,
    pub(crate) handle: Arc<Handle>,
}

/// What came of a write, and what is to be acknowledged before it may be told.
type Written<T> = Result<(T, Option<u64>)>;

impl Table {
    pub(crate) fn new(handle: Arc<Handle>, id: u32, engine: twindex::Table) -> Self {
        Self { engine, id, handle }
    }

    /// The name it has in its store.
    pub fn name(&self) -> &str {
        self.engine.name()
    }

    /// The index it was created with.
    pub fn index(&self) -> IndexKind {
        self.engine.index()
    }

    /// The names of the codecs of its keys and of its values.
    pub fn codecs(&self) -> (&str, &str) {
        self.engine.codecs()
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.engine.len()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.engine.is_empty()
    }

    /// The bytes that this table holds in memory.
    pub fn memory(&self) -> usize {
        self.engine.memory()
    }

    /// The table in memory, for reads. Writes to it are not in the log.
    pub fn in_memory(&self) -> &twindex::Table {
        &self.engine
    }

    // --- write verbs

    write_verbs!((&self) self, (key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool, "; whether it was.");

    /// Does the verb that `write` names. Returns whether it took effect.
    #[inline]
    pub fn write(&self, write: Write, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.acknowledged(self.change(
            key,
            value.len(),
            || self.engine.write(write, key, value),
            |log| log.push(self.id, Operation::Put(key, value)),
        ))
    }

    /// Removes the pair. Returns whether the key was present.
    #[inline]
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.acknowledged(self.change(
            key,
            0,
            || self.engine.delete(key),
            |log| log.push(self.id, Operation::Delete(key)),
        ))
    }

    /// Shows `change` the value of the key, or `None` if it is absent, and does what it returns, with no
    /// other write to the key in between. Returns whether a pair was written or removed.
    ///
    /// `change` runs under a lock: it must not use this store, or it may wait for itself for ever.
    pub fn alter(&self, key: impl AsRef<[u8]>, change: impl FnOnce(Option<&[u8]>) -> Change) -> Result<bool> {
        self.acknowledged(self.alter_unacknowledged(key.as_ref(), change))
    }

    /// Adds `by` to the value, a decimal integer in ASCII such as `-42`, and returns the sum. An absent key
    /// counts as 0.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        self.acknowledged(self.increment_unacknowledged(key.as_ref(), by))
    }

    /// Gives the key the value `new`, or removes it for `None`, if its value is `expected`, `None` standing
    /// for absent. Returns whether it was.
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        self.acknowledged(self.swap_unacknowledged(key.as_ref(), expected, new))
    }

    /// Whether the next write may wait for the disk or a compaction.
    #[inline]
    pub fn may_wait(&self) -> bool {
        self.handle.0.logged().is_some_and(|logged| logged.log.is_ahead())
    }

    /// Removes all pairs and returns their memory.
    pub fn clear(&self) -> Result<()> {
        let handle = &self.handle;
        let clear = |log: &mut Operations| log.push(self.id, Operation::Clear);
        let writer = handle.writer(0)?;
        let ((), written) = handle.change_whole(&writer, || Ok(self.engine.clear()?), clear)?;
        self.engine.reclaim();
        handle.acknowledge(written)
    }

    // --- write verbs over many

    write_many_verbs!([K: AsRef<[u8]>, V: AsRef<[u8]>] &[(K, V)]);

    /// [`write`](Self::write) for each pair. Returns whether each took effect.
    pub fn write_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        write: Write,
        pairs: &[(K, V)],
    ) -> Result<Vec<bool>> {
        self.change_many(
            pairs,
            |(key, value)| {
                let (key, value) = (key.as_ref(), value.as_ref());
                twindex::check_key(key)?;
                twindex::check_value(value).map(|()| (key, value))
            },
            |&(key, value)| (key, value.len()),
            || self.engine.write_many(write, pairs),
            |pairs| self.engine.write_many(write, pairs),
            |log, (key, value)| log.push(self.id, Operation::Put(key, value)),
        )
    }

    /// [`delete`](Self::delete) for each key. Returns whether each took effect.
    pub fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        self.change_many(
            keys,
            |key| {
                let key = key.as_ref();
                twindex::check_key(key).map(|()| key)
            },
            |&key| (key, 0),
            || self.engine.delete_many(keys),
            |keys| self.engine.delete_many(keys),
            |log, key| log.push(self.id, Operation::Delete(key)),
        )
    }

    /// [`alter`](Self::alter) for each key, with its position in `keys`. Returns whether each took effect.
    pub fn alter_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut change: impl FnMut(usize, Option<&[u8]>) -> Change,
    ) -> Result<Vec<bool>> {
        keys.iter().try_for_each(|key| twindex::check_key(key.as_ref()))?;
        self.each(keys.iter().enumerate(), |(position, key)| {
            self.alter_unacknowledged(key.as_ref(), |old| change(position, old))
        })
    }

    /// [`increment`](Self::increment) for each key and amount: the sums. Stops at the first that fails.
    pub fn increment_many<K: AsRef<[u8]>>(&self, amounts: &[(K, i64)]) -> Result<Vec<i64>> {
        amounts.iter().try_for_each(|(key, _)| twindex::check_key(key.as_ref()))?;
        self.each(amounts, |(key, by)| self.increment_unacknowledged(key.as_ref(), *by))
    }

    /// [`compare_and_swap`](Self::compare_and_swap) for each key, expected and new value. Returns whether each took
    /// effect.
    pub fn compare_and_swap_many<K: AsRef<[u8]>>(&self, swaps: &[Swap<'_, K>]) -> Result<Vec<bool>> {
        for (key, _, new) in swaps {
            twindex::check_key(key.as_ref())?;
            new.map_or(Ok(()), twindex::check_value)?;
        }
        self.each(swaps, |(key, expected, new)| self.swap_unacknowledged(key.as_ref(), *expected, *new))
    }

    // --- read verbs

    /// The table in memory, of a store that is open.
    #[inline]
    fn open(&self) -> Result<&twindex::Table> {
        self.handle.0.check_open()?;
        Ok(&self.engine)
    }

    read_verbs!(Cursor, Scan, Iter);

    // --- watches

    /// The changes that this process makes from now on to keys that begin with `prefix`, in the order in which each key changes; an
    /// empty prefix stands for all keys. A [`clear`](Self::clear) and a drop of the table reach every watch of it.
    ///
    /// A batch or a transaction comes as a whole. You may get a change before it is on disk. A follower's watch has the changes that
    /// its refreshes read. A write that is under way when this is called may come or not; it is in the table if it does not.
    ///
    /// The watch is a bounded queue that never holds up a writer. Changes that find it full are counted: [`Watched::Lost`](crate::Watched::Lost).
    /// Changes made to [`in_memory`](Self::in_memory), or through another [`Store`](crate::Store) that was made of the same engine, are
    /// not seen. In a child of fork nothing comes.
    ///
    /// ```
    /// use twindex_durable::{Effect, Store, Watched, twindex::IndexKind};
    ///
    /// let store = Store::new();
    /// let users = store.table("users", IndexKind::Hash)?;
    /// let watch = users.watch("user:")?;
    /// users.upsert("user:ada", "1815")?;
    /// users.upsert("other", "1")?;
    /// store.close()?;
    /// for item in watch {
    ///     let Watched::Change(change) = item else { continue };
    ///     assert_eq!(change.effect, Effect::Put { key: b"user:ada".into(), value: b"1815".into() });
    /// }
    /// # Ok::<(), twindex_durable::Error>(())
    /// ```
    ///
    /// Fails if the store is closed or the table dropped, and with [`InWrite`](twindex::Error::InWrite) in the closure of a write, such
    /// as the one of [`alter`](Self::alter).
    pub fn watch(&self, prefix: impl AsRef<[u8]>) -> Result<Watch> {
        self.watch_with(prefix, WatchOptions::new())
    }

    /// [`watch`](Self::watch) with another capacity.
    pub fn watch_with(&self, prefix: impl AsRef<[u8]>, options: WatchOptions) -> Result<Watch> {
        let core = &self.handle.0;
        core.check_open()?;
        let prefix = memory::copied(prefix.as_ref())?;
        core.between_refreshes(|_| {
            // A follower that read its file anew knows the table by another number.
            let id = core.find_table(self.name()).map_or(self.id, |(id, _)| id);
            let table = TableInfo::of(&TableEntry::of(&self.engine));
            let watch = core.watches.prepare(id, table, prefix, options);
            // A write that saw no watch when it began looks again at its end.
            core.engine.alone(|| {
                self.check_not_dropped()?;
                core.watches.add(&watch);
                Ok(watch)
            })
        })?
    }

    // --- how writes are kept

    /// What came of the write, once it is as safe as the durability says.
    #[inline]
    fn acknowledged<T>(&self, written: Written<T>) -> Result<T> {
        let (result, written) = written?;
        self.handle.acknowledge(written)?;
        Ok(result)
    }

    /// Writes to one key a value of so many bytes: in memory, and where that took effect in the log.
    #[inline]
    fn change<E: Into<Error>>(
        &self,
        key: &[u8],
        value: usize,
        apply: impl FnOnce() -> std::result::Result<bool, E>,
        fill: impl FnOnce(&mut Operations),
    ) -> Written<bool> {
        let handle = &*self.handle;
        let Some(writer) = handle.before_write(key.len() + value)? else {
            let took = apply().map_err(Into::into)?;
            if took && handle.0.watches.any() {
                self.tell_late(std::iter::once(key));
            }
            return Ok((took, None));
        };
        let stripes = handle.0.stripes();
        let _held = stripes.hold(stripes.of(self.id, key));
        let _writing = handle.0.engine.writing();
        handle.0.check_writable()?;
        if !apply().map_err(Into::into)? {
            return Ok((false, None));
        }
        Ok((true, writer.append(fill)))
    }

    /// Tells watches that began during a write without a stripe what its keys have become.
    #[cold]
    fn tell_late<'k>(&self, keys: impl Iterator<Item = &'k [u8]>) {
        let Ok(writer) = self.handle.writer(0) else { return };
        let stripes = self.handle.0.stripes();
        for key in keys {
            let _held = stripes.hold(stripes.of(self.id, key));
            let _writing = self.handle.0.engine.writing();
            writer.append(|log| self.log_change(log, key, self.engine.select(key).as_deref()));
        }
    }

    fn alter_unacknowledged(
        &self,
        key: &[u8],
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Written<bool> {
        // The value, and its record's place in the log, which only the caller's function tells.
        let new = std::cell::RefCell::new(None);
        let log = self.handle.0.logged().map(|logged| &logged.log);
        let prepare = |value: &[u8]| {
            memory::ensure(value.len())?;
            Ok::<_, Error>((memory::copied(value)?, log.map(|log| log.place_now(value.len())).transpose()?))
        };
        let apply = || {
            let mut refused = None;
            let altered = self.engine.alter(key, |old| {
                let change = change(old);
                let Change::Set(value) = &change else { return change };
                match prepare(value) {
                    Ok(prepared) => *new.borrow_mut() = Some(prepared),
                    Err(error) => {
                        refused = Some(error);
                        return Change::Keep;
                    }
                }
                change
            })?;
            refused.map_or(Ok(altered), Err)
        };
        self.change(key, 0, apply, |log| {
            self.log_change(log, key, new.borrow().as_ref().map(|(value, _)| value.as_slice()));
        })
    }

    fn increment_unacknowledged(&self, key: &[u8], by: i64) -> Written<i64> {
        let sum = std::cell::Cell::new(0);
        let apply = || self.engine.increment(key, by).map(|new| sum.set(new)).map(|()| true);
        let (_, written) = self.change(key, 0, apply, |log| {
            log.push(self.id, Operation::Put(key, sum.get().to_string().as_bytes()));
        })?;
        Ok((sum.get(), written))
    }

    fn swap_unacknowledged(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Written<bool> {
        let is_so = std::cell::Cell::new(false);
        let apply = || {
            is_so.set(self.engine.compare_and_swap(key, expected, new)?);
            // A key that was absent and stays so has not changed.
            Ok::<_, Error>(is_so.get() && (expected.is_some() || new.is_some()))
        };
        let fill = |log: &mut Operations| self.log_change(log, key, new);
        let (_, written) = self.change(key, new.map_or(0, <[u8]>::len), apply, fill)?;
        Ok((is_so.get(), written))
    }

    /// Logs what a key has become.
    fn log_change(&self, log: &mut Operations, key: &[u8], new: Option<&[u8]>) {
        match new {
            Some(value) => log.push(self.id, Operation::Put(key, value)),
            None => log.push(self.id, Operation::Delete(key)),
        }
    }

    /// Writes one after the other, and acknowledges all at the end.
    fn each<I, T>(
        &self,
        items: impl IntoIterator<Item = I>,
        mut write: impl FnMut(I) -> Written<T>,
    ) -> Result<Vec<T>> {
        let mut last = None;
        let mut results = Vec::new();
        for item in items {
            match write(item) {
                Ok((result, written)) => {
                    last = written.or(last);
                    results.push(result);
                }
                // What was written before stays, and is as safe as any other write.
                Err(error) => {
                    self.acknowledged(Ok(((), last)))?;
                    return Err(error);
                }
            }
        }
        self.acknowledged(Ok((results, last)))
    }

    /// Writes all items, which `read` makes bytes of: without a log at one go, else group by group, in memory and what
    /// took effect in the log.
    ///
    /// Read once more, a caller's type may give other bytes: what is written and logged is what was read and checked once.
    fn change_many<'i, I, B: Copy>(
        &self,
        items: &'i [I],
        read: impl Fn(&'i I) -> twindex::Result<B>,
        key_and_length: impl Fn(&B) -> (&'i [u8], usize),
        apply_all: impl Fn() -> twindex::Result<Vec<bool>>,
        apply: impl Fn(&[B]) -> twindex::Result<Vec<bool>>,
        fill: impl Fn(&mut Operations, B),
    ) -> Result<Vec<bool>> {
        items.iter().try_for_each(|item| read(item).map(drop))?;
        let handle = &*self.handle;
        let key = |item: &B| key_and_length(item).0;
        if handle.before_write(0)?.is_none() {
            let results = apply_all();
            if handle.0.watches.any() {
                let read = items.iter().filter_map(|item| read(item).ok());
                self.tell_late(read.map(|item| key(&item)));
            }
            return Ok(results?);
        }
        let stripes = handle.0.stripes();
        let mut results = Vec::with_capacity(items.len());
        let mut last = None;
        for group in items.chunks(GROUP) {
            let group = group.iter().map(&read).collect::<twindex::Result<Vec<B>>>()?;
            let bytes = group.iter().map(&key_and_length).map(|(key, value)| key.len() + value).sum();
            let of = |item| stripes.of(self.id, key(item));
            let held = handle.writer(bytes).and_then(|writer| {
                let held = stripes.hold_many(group.iter().map(of).collect());
                handle.0.check_writable().map(|()| (writer, held))
            });
            let (writer, held) = match held {
                Ok(held) => held,
                Err(error) => {
                    // What was written before stays, and is as safe as any other write.
                    self.acknowledged(Ok(((), last)))?;
                    return Err(error);
                }
            };
            let writing = handle.0.engine.writing();
            match apply(&group) {
                Ok(took) => {
                    if took.contains(&true) {
                        let took = group.iter().zip(&took).filter(|(_, took)| **took);
                        last = writer.append(|log| took.for_each(|(&item, _)| fill(log, item)));
                    }
                    results.extend(took);
                }
                // Nothing of a table that was dropped is in the log any more, and nothing was written to it.
                Err(error) if self.engine.is_dropped() => return Err(error.into()),
                // Some of them may be written. What their keys have become is in the log then.
                Err(error) => {
                    let written = writer.append(|log| {
                        for key in group.iter().map(key) {
                            self.log_change(log, key, self.engine.select(key).as_deref());
                        }
                    });
                    drop((writing, held, writer));
                    self.acknowledged(Ok(((), written.or(last))))?;
                    return Err(error.into());
                }
            }
        }
        self.acknowledged(Ok((results, last)))
    }

    // --- for batches

    /// Whether both are the same table of the same store.
    #[inline]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.id == other.id && Arc::ptr_eq(&self.handle, &other.handle)
    }

    pub(crate) fn check_pair(&self, handle: &Arc<Handle>, key: &[u8], value: &[u8]) -> Result<()> {
        if !Arc::ptr_eq(handle, &self.handle) {
            return Err(Error::ForeignTable { table: self.name().into() });
        }
        twindex::check_key(key)?;
        Ok(twindex::check_value(value)?)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine.fmt(f)
    }
}
