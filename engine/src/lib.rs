//! An in-memory key-value engine with two kinds of index that lives inside the program that uses it.
//!
//! A [`Store`] is a set of named tables. A [`Table`] holds pairs of byte strings under one [`Index`]:
//! `Hash` for single keys, `Sorted` for keys in order too. Every method takes `&self`, and both types
//! are cheap handles that threads clone and share.
//!
//! ```
//! use twindex::{Index, Store};
//!
//! let store = Store::new();
//! let users = store.table("users", Index::Hash)?;
//! assert!(users.insert(b"ada", b"1815")?);
//! assert_eq!(users.select(b"ada").as_deref(), Some(b"1815".as_slice()));
//!
//! let log = store.table("log", Index::Sorted)?;
//! log.insert_many(&[("2026-11-02", "b"), ("2026-11-01", "a"), ("2025-12-31", "z")])?;
//! let mut cursor = log.cursor(b"2026".as_slice()..);
//! assert_eq!(cursor.scan_asc_next(), Some((b"2026-11-01".as_slice(), b"a".as_slice())));
//! let newest = log.prefix(b"2026-").next_back();
//! assert_eq!(newest, Some((b"2026-11-02".to_vec(), b"b".to_vec())));
//! # Ok::<(), twindex::Error>(())
//! ```
//!
//! # Verbs
//!
//! | verb | takes effect where the key is | returns |
//! |---|---|---|
//! | [`insert`](Table::insert) | absent | whether it took effect |
//! | [`update`](Table::update) | present | whether it took effect |
//! | [`upsert`](Table::upsert) | either | whether it took effect: always true |
//! | [`delete`](Table::delete) | present | whether it took effect |
//! | [`select`](Table::select), [`contains`](Table::contains) | | the value, or whether it is there |
//! | [`alter`](Table::alter), [`increment`](Table::increment), [`compare_and_swap`](Table::compare_and_swap) | | read, change and write as one step |
//!
//! Each has a `_many` form over a slice. It does what a loop would do, in the order of the slice, except
//! that every length is checked before the first pair is written.
//!
//! # Limits
//!
//! Keys of 0 to 65,535 bytes ([`MAX_KEY_BYTES`]), values of 0 to 4 GiB - 1 ([`MAX_VALUE_BYTES`]), table
//! names of 1 to 255 bytes ([`MAX_NAME_BYTES`]), as many pairs and tables as memory holds. A sorted table
//! orders keys by their unsigned bytes.
//!
//! # Misuse that does not compile
//!
//! A key is bytes; a number is not:
//! ```compile_fail,E0308
//! # let table = twindex::Store::new().table("t", twindex::Index::Hash).unwrap();
//! table.insert(42, b"value");
//! ```
//! A closed store is a dropped one, so it cannot be used afterwards:
//! ```compile_fail,E0382
//! let store = twindex::Store::new();
//! drop(store);
//! store.table("t", twindex::Index::Hash);
//! ```

use std::collections::{BTreeMap, HashMap, btree_map, hash_map};
use std::fmt;
use std::hash::BuildHasher;
use std::io::{self, Read, Write};
use std::ops::{Bound, RangeBounds};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

// ---------------------------------------------------------------------------------------------------
// Limits and errors
// ---------------------------------------------------------------------------------------------------

/// The longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 65_535;
/// The longest value, in bytes.
pub const MAX_VALUE_BYTES: u64 = u32::MAX as u64;
/// The longest table name, in bytes of UTF-8.
pub const MAX_NAME_BYTES: usize = 255;

/// What can go wrong, and with what.
///
/// An operation that returns an error has changed nothing, but for a `_many` form that met the memory
/// limit: pairs before the one that did not fit stay written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A key of more than [`MAX_KEY_BYTES`].
    KeyTooLong {
        /// Its length in bytes.
        len: usize,
        /// How it begins.
        start: String,
    },
    /// A value of more than [`MAX_VALUE_BYTES`].
    ValueTooLarge {
        /// Its length in bytes.
        len: u64,
    },
    /// A table name that is empty or longer than [`MAX_NAME_BYTES`].
    TableName {
        /// The name as given.
        name: String,
    },
    /// A table that has one index was asked for as, or used as if it had, the other.
    WrongIndex {
        /// The table's name.
        table: String,
        /// The index that it has.
        has: Index,
        /// The index that the call needs.
        needs: Index,
    },
    /// A name that is neither `hash` nor `sorted`.
    UnknownIndex {
        /// The name as given.
        name: String,
    },
    /// The table was dropped from its store, so a write to it would be lost.
    TableDropped {
        /// The table's name.
        table: String,
    },
    /// The write would take the store past its memory limit.
    MemoryLimit {
        /// The limit in bytes.
        limit: usize,
        /// The bytes that the store would hold after the write.
        needed: usize,
    },
    /// [`Table::increment`] met a value that is not a decimal integer of 64 bits.
    NotAnInteger {
        /// How the value begins.
        start: String,
    },
    /// [`Table::increment`] would leave the range of a 64-bit integer.
    Overflow {
        /// The value as it is.
        value: i64,
        /// The increment that did not fit.
        by: i64,
    },
    /// The bytes are not a whole dump.
    Corrupt {
        /// Where, in bytes from the start.
        offset: u64,
        /// What is wrong there.
        what: &'static str,
    },
    /// Reading or writing failed underneath.
    Io(io::Error),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_KEY_TOO_LONG`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyTooLong { .. } => "TWINDEX_KEY_TOO_LONG",
            Self::ValueTooLarge { .. } => "TWINDEX_VALUE_TOO_LARGE",
            Self::TableName { .. } => "TWINDEX_TABLE_NAME",
            Self::WrongIndex { .. } => "TWINDEX_WRONG_INDEX",
            Self::UnknownIndex { .. } => "TWINDEX_UNKNOWN_INDEX",
            Self::TableDropped { .. } => "TWINDEX_TABLE_DROPPED",
            Self::MemoryLimit { .. } => "TWINDEX_MEMORY_LIMIT",
            Self::NotAnInteger { .. } => "TWINDEX_NOT_AN_INTEGER",
            Self::Overflow { .. } => "TWINDEX_OVERFLOW",
            Self::Corrupt { .. } => "TWINDEX_CORRUPT",
            Self::Io(_) => "TWINDEX_IO",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { len, start } => write!(
                f,
                "a key of {len} bytes is too long, the limit is {MAX_KEY_BYTES} (it begins with \"{start}\")"
            ),
            Self::ValueTooLarge { len } => {
                write!(f, "a value of {len} bytes is too large, the limit is {MAX_VALUE_BYTES}")
            }
            Self::TableName { name } => write!(
                f,
                "a table name has 1 to {MAX_NAME_BYTES} bytes, this one has {}: \"{}\"",
                name.len(),
                excerpt(name.as_bytes())
            ),
            Self::WrongIndex { table, has, needs } => {
                write!(f, "table \"{table}\" has a {has} index, this needs a {needs} index")
            }
            Self::UnknownIndex { name } => {
                write!(f, "unknown index \"{}\", it is \"hash\" or \"sorted\"", excerpt(name.as_bytes()))
            }
            Self::TableDropped { table } => write!(f, "table \"{table}\" was dropped"),
            Self::MemoryLimit { limit, needed } => {
                write!(f, "the store would hold {needed} bytes, its memory limit is {limit}")
            }
            Self::NotAnInteger { start } => {
                write!(f, "the value is not a decimal integer of 64 bits (it begins with \"{start}\")")
            }
            Self::Overflow { value, by } => {
                write!(f, "{value} incremented by {by} does not fit into 64 bits")
            }
            Self::Corrupt { offset, what } => write!(f, "corrupt at byte {offset}: {what}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The start of some bytes, as text that is safe to print.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(32)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { len: key.len(), start: excerpt(key) });
    }
    Ok(())
}

fn check_value(value: &[u8]) -> Result<()> {
    if value.len() as u64 > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLarge { len: value.len() as u64 });
    }
    Ok(())
}

// ---------------------------------------------------------------------------------------------------
// Store
// ---------------------------------------------------------------------------------------------------

/// The kind of index that a table has, chosen when the table is created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Index {
    /// Finds single keys.
    Hash,
    /// Finds single keys, and scans keys in the order of their unsigned bytes.
    Sorted,
}

impl Index {
    /// `hash` or `sorted`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hash => "hash",
            Self::Sorted => "sorted",
        }
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Index {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match name {
            "hash" => Ok(Self::Hash),
            "sorted" => Ok(Self::Sorted),
            _ => Err(Error::UnknownIndex { name: name.into() }),
        }
    }
}

/// A set of named tables in memory.
///
/// A handle: clones are the same store, and it lives as long as the last handle of it or of its tables.
#[derive(Clone, Default)]
pub struct Store {
    inner: Arc<StoreInner>,
}

#[derive(Default)]
struct StoreInner {
    tables: RwLock<BTreeMap<String, Table>>,
    memory: Arc<Memory>,
}

impl Store {
    /// An empty store without a memory limit.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty store that holds at most `limit` bytes, as [`memory`](Self::memory) counts them.
    pub fn with_memory_limit(limit: usize) -> Self {
        let store = Self::new();
        store.set_memory_limit(Some(limit));
        store
    }

    /// Opens the table called `name`, or creates it with this index.
    ///
    /// Fails where a table of that name has the other index, or the name is not 1 to 255 bytes long.
    pub fn table(&self, name: &str, index: Index) -> Result<Table> {
        if name.is_empty() || name.len() > MAX_NAME_BYTES {
            return Err(Error::TableName { name: name.into() });
        }
        let mut tables = write(&self.inner.tables);
        if let Some(table) = tables.get(name) {
            table.needs(index)?;
            return Ok(table.clone());
        }
        let table = Table::new(name, index, Arc::clone(&self.inner.memory));
        tables.insert(name.into(), table.clone());
        Ok(table)
    }

    /// The table called `name`, if there is one.
    pub fn find_table(&self, name: &str) -> Option<Table> {
        read(&self.inner.tables).get(name).cloned()
    }

    /// All tables, by name.
    pub fn tables(&self) -> Vec<Table> {
        read(&self.inner.tables).values().cloned().collect()
    }

    /// Removes a table and its pairs; whether it was there.
    ///
    /// Handles of it find nothing from then on, and their writes fail with [`Error::TableDropped`].
    pub fn drop_table(&self, name: &str) -> bool {
        let removed = write(&self.inner.tables).remove(name);
        removed.is_some_and(|table| {
            table.inner.dropped.store(true, Ordering::Release);
            table.inner.pairs.clear(&table.inner);
            true
        })
    }

    /// The bytes that the store holds: pairs, indexes and free space kept for reuse.
    pub fn memory(&self) -> usize {
        self.inner.memory.used.load(Ordering::Relaxed)
    }

    /// The most bytes that the store may hold, or `None` where there is no limit.
    pub fn memory_limit(&self) -> Option<usize> {
        let limit = self.inner.memory.limit.load(Ordering::Relaxed);
        (limit != usize::MAX).then_some(limit)
    }

    /// Sets the memory limit. A store that already holds more keeps its pairs, and refuses to grow.
    pub fn set_memory_limit(&self, limit: Option<usize>) {
        self.inner.memory.limit.store(limit.unwrap_or(usize::MAX), Ordering::Relaxed);
    }

    /// Writes every table to `writer`, in a form that [`load`](Self::load) reads on any platform.
    ///
    /// Pairs that other threads write meanwhile may be in it or not. Writes go out in blocks of some
    /// 64 KiB, so `writer` need not be buffered; it is not flushed.
    pub fn dump<W: Write + ?Sized>(&self, writer: &mut W) -> Result<()> {
        dump::write_store(self, writer)
    }

    /// A store from the bytes that [`dump`](Self::dump) wrote, read up to the end of the dump.
    ///
    /// Fails with [`Error::Corrupt`] on anything but a whole, undamaged dump.
    pub fn load<R: Read + ?Sized>(reader: &mut R) -> Result<Self> {
        let store = Self::new();
        dump::read_store(&store, reader)?;
        Ok(store)
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store").field("tables", &self.tables()).field("memory", &self.memory()).finish()
    }
}

/// What the tables of a store hold together, and the most they may.
struct Memory {
    used: AtomicUsize,
    limit: AtomicUsize,
}

impl Default for Memory {
    fn default() -> Self {
        Self { used: AtomicUsize::new(0), limit: AtomicUsize::new(usize::MAX) }
    }
}

impl Memory {
    /// Exchanges `old` bytes for `new` ones, unless that grows the store past its limit.
    fn exchange(&self, old: usize, new: usize) -> Result<()> {
        let limit = self.limit.load(Ordering::Relaxed);
        self.used
            .try_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                let needed = used.saturating_sub(old).saturating_add(new);
                (new <= old || needed <= limit).then_some(needed)
            })
            .map(drop)
            .map_err(|used| Error::MemoryLimit { limit, needed: (used - old).saturating_add(new) })
    }
}

// ---------------------------------------------------------------------------------------------------
// Table
// ---------------------------------------------------------------------------------------------------

/// What [`Table::alter`] does with a pair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<V = Vec<u8>> {
    /// Leaves it as it is.
    Keep,
    /// Gives the key this value, present or not.
    Set(V),
    /// Removes it.
    Delete,
}

/// A key, the value it should have, and the one it then gets, as in [`Table::compare_and_swap`].
pub type Swap<'a, K> = (K, Option<&'a [u8]>, Option<&'a [u8]>);

/// A named set of pairs under one index.
///
/// A handle: clones are the same table.
#[derive(Clone)]
pub struct Table {
    inner: Arc<TableInner>,
}

struct TableInner {
    name: String,
    index: Index,
    dropped: AtomicBool,
    len: AtomicUsize,
    bytes: AtomicUsize,
    memory: Arc<Memory>,
    pairs: Pairs,
}

impl Drop for TableInner {
    fn drop(&mut self) {
        self.memory.used.fetch_sub(*self.bytes.get_mut(), Ordering::Relaxed);
    }
}

impl Table {
    fn new(name: &str, index: Index, memory: Arc<Memory>) -> Self {
        let inner = TableInner {
            name: name.into(),
            index,
            dropped: AtomicBool::new(false),
            len: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            memory,
            pairs: Pairs::new(index),
        };
        Self { inner: Arc::new(inner) }
    }

    /// The name it has in its store.
    pub fn name(&self) -> &str {
        &self.inner.name
    }

    /// The index it was created with.
    pub fn index(&self) -> Index {
        self.inner.index
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.inner.len.load(Ordering::Relaxed)
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that this table holds.
    pub fn memory(&self) -> usize {
        self.inner.bytes.load(Ordering::Relaxed)
    }

    /// Removes all pairs and returns their memory.
    ///
    /// Pairs that other threads write meanwhile may stay.
    pub fn clear(&self) -> Result<()> {
        self.check_not_dropped()?;
        self.inner.pairs.clear(&self.inner);
        Ok(())
    }

    fn needs(&self, needs: Index) -> Result<()> {
        if self.index() == needs {
            return Ok(());
        }
        Err(Error::WrongIndex { table: self.inner.name.clone(), has: self.index(), needs })
    }

    fn check_not_dropped(&self) -> Result<()> {
        if self.inner.dropped.load(Ordering::Acquire) {
            return Err(Error::TableDropped { table: self.inner.name.clone() });
        }
        Ok(())
    }

    // --- write verbs

    /// Adds the pair where the key is absent; whether it was.
    pub fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.change(key.as_ref(), |old| match old {
            None => Ok(Change::Set(value.as_ref())),
            Some(_) => Ok(Change::Keep),
        })
    }

    /// Replaces the value where the key is present; whether it was.
    pub fn update(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.change(key.as_ref(), |old| match old {
            None => Ok(Change::Keep),
            Some(_) => Ok(Change::Set(value.as_ref())),
        })
    }

    /// Gives the key this value, present or not. Always takes effect, so always true.
    pub fn upsert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.change(key.as_ref(), |_| Ok(Change::Set(value.as_ref())))
    }

    /// Removes the pair; whether it was there.
    pub fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        self.change::<&[u8]>(key.as_ref(), |_| Ok(Change::Delete))
    }

    /// Shows `change` the value of the key, or `None` where it is absent, and does what it returns, with
    /// no other write to the key in between; whether a pair was written or removed.
    ///
    /// `change` runs under a lock: it must not use this store, or it may wait for itself for ever.
    pub fn alter(&self, key: impl AsRef<[u8]>, change: impl FnOnce(Option<&[u8]>) -> Change) -> Result<bool> {
        self.change(key.as_ref(), |old| Ok(change(old)))
    }

    /// Adds `by` to the value, a decimal integer in ASCII such as `-42`, and returns the sum. An absent
    /// key counts as 0.
    pub fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let mut sum = by;
        self.change(key.as_ref(), |old| {
            if let Some(text) = old {
                let value: i64 = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse().ok())
                    .ok_or_else(|| Error::NotAnInteger { start: excerpt(text) })?;
                sum = value.checked_add(by).ok_or(Error::Overflow { value, by })?;
            }
            Ok(Change::Set(sum.to_string()))
        })?;
        Ok(sum)
    }

    /// Gives the key the value `new`, or removes it for `None`, where its value is `expected`, `None`
    /// standing for absent; whether it was.
    pub fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let mut matched = false;
        self.change(key.as_ref(), |old| {
            matched = old == expected;
            Ok(match new {
                _ if !matched => Change::Keep,
                Some(value) => Change::Set(value),
                None => Change::Delete,
            })
        })?;
        Ok(matched)
    }

    /// The one way in which pairs change; whether one was written or removed.
    fn change<V: AsRef<[u8]>>(
        &self,
        key: &[u8],
        decide: impl FnOnce(Option<&[u8]>) -> Result<Change<V>>,
    ) -> Result<bool> {
        check_key(key)?;
        self.inner.pairs.change(&self.inner, key, |old| {
            self.check_not_dropped()?;
            let change = decide(old)?;
            if let Change::Set(value) = &change {
                check_value(value.as_ref())?;
            }
            Ok(change)
        })
    }

    // --- write verbs over many

    /// [`insert`](Self::insert) for each pair: whether each took effect.
    pub fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        check_pairs(pairs)?;
        pairs.iter().map(|(key, value)| self.insert(key, value)).collect()
    }

    /// [`update`](Self::update) for each pair: whether each took effect.
    pub fn update_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        check_pairs(pairs)?;
        pairs.iter().map(|(key, value)| self.update(key, value)).collect()
    }

    /// [`upsert`](Self::upsert) for each pair: whether each took effect.
    pub fn upsert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        check_pairs(pairs)?;
        pairs.iter().map(|(key, value)| self.upsert(key, value)).collect()
    }

    /// [`delete`](Self::delete) for each key: whether each took effect.
    pub fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        keys.iter().try_for_each(|key| check_key(key.as_ref()))?;
        keys.iter().map(|key| self.delete(key)).collect()
    }

    /// [`alter`](Self::alter) for each key, with its position in `keys`: whether each took effect.
    pub fn alter_many<K: AsRef<[u8]>>(
        &self,
        keys: &[K],
        mut change: impl FnMut(usize, Option<&[u8]>) -> Change,
    ) -> Result<Vec<bool>> {
        keys.iter().try_for_each(|key| check_key(key.as_ref()))?;
        keys.iter().enumerate().map(|(position, key)| self.alter(key, |old| change(position, old))).collect()
    }

    /// [`increment`](Self::increment) for each key and amount: the sums. Stops at the first that fails.
    pub fn increment_many<K: AsRef<[u8]>>(&self, amounts: &[(K, i64)]) -> Result<Vec<i64>> {
        amounts.iter().try_for_each(|(key, _)| check_key(key.as_ref()))?;
        amounts.iter().map(|(key, by)| self.increment(key, *by)).collect()
    }

    /// [`compare_and_swap`](Self::compare_and_swap) for each key, expected and new value: whether each
    /// took effect.
    pub fn compare_and_swap_many<K: AsRef<[u8]>>(&self, swaps: &[Swap<'_, K>]) -> Result<Vec<bool>> {
        for (key, _, new) in swaps {
            check_key(key.as_ref())?;
            new.map_or(Ok(()), check_value)?;
        }
        swaps.iter().map(|(key, expected, new)| self.compare_and_swap(key, *expected, *new)).collect()
    }

    // --- read verbs

    /// A copy of the key's value, or `None` where the key is absent.
    pub fn select(&self, key: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        self.select_with(key, <[u8]>::to_vec)
    }

    /// What `read` makes of the key's value, which is not copied, or `None` where the key is absent.
    pub fn select_with<T>(&self, key: impl AsRef<[u8]>, read: impl FnOnce(&[u8]) -> T) -> Option<T> {
        self.inner.pairs.get(key.as_ref()).map(|value| read(&value))
    }

    /// Whether the key is there.
    pub fn contains(&self, key: impl AsRef<[u8]>) -> bool {
        self.inner.pairs.get(key.as_ref()).is_some()
    }

    /// Shows `read` every key's position in `keys` and its value, or `None` where it is absent. The
    /// positions come in order.
    pub fn select_many<K: AsRef<[u8]>>(&self, keys: &[K], mut read: impl FnMut(usize, Option<&[u8]>)) {
        for (position, key) in keys.iter().enumerate() {
            read(position, self.inner.pairs.get(key.as_ref()).as_deref());
        }
    }

    /// Whether each key is there.
    pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Vec<bool> {
        keys.iter().map(|key| self.contains(key)).collect()
    }

    // --- order

    /// A cursor over the keys in `range`, before its first pair and after its last at once.
    ///
    /// # Panics
    /// On a hash table; [`try_cursor`](Self::try_cursor) returns an error instead.
    pub fn cursor<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Cursor {
        self.try_cursor(range).unwrap_or_else(|error| panic!("{error}"))
    }

    /// As [`cursor`](Self::cursor), with [`Error::WrongIndex`] on a hash table.
    ///
    /// A range that ends before it starts is empty.
    pub fn try_cursor<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Cursor> {
        self.needs(Index::Sorted)?;
        let (lower, upper) = (owned(range.start_bound()), owned(range.end_bound()));
        Ok(Cursor { table: self.clone(), lower, upper, on: None })
    }

    /// The pairs with keys in `range`, in order; `.rev()` for the other way.
    ///
    /// # Panics
    /// On a hash table; `try_cursor(range)?.into_iter()` returns an error instead.
    pub fn scan<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Scan {
        self.cursor(range).into_iter()
    }

    /// The pairs whose keys start with `prefix`, in order; `.rev()` for the other way.
    ///
    /// # Panics
    /// On a hash table; `try_cursor(prefix_range(prefix))?.into_iter()` returns an error instead.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Scan {
        let (lower, upper) = prefix_range(prefix.as_ref());
        self.scan((as_slice(&lower), as_slice(&upper)))
    }

    /// Every pair: in the order of the keys in a sorted table, in no particular order in a hash table.
    ///
    /// A pair that is there all the while comes exactly once. One that other threads write meanwhile may
    /// come or not.
    pub fn iter(&self) -> Iter {
        match self.index() {
            Index::Sorted => Iter(IterState::Sorted(self.scan(..))),
            Index::Hash => {
                Iter(IterState::Hash { table: self.clone(), shard: 0, pairs: Vec::new().into_iter() })
            }
        }
    }
}

impl IntoIterator for &Table {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Iter;

    fn into_iter(self) -> Iter {
        self.iter()
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("index", &self.index())
            .field("len", &self.len())
            .finish_non_exhaustive()
    }
}

fn check_pairs<K: AsRef<[u8]>, V: AsRef<[u8]>>(pairs: &[(K, V)]) -> Result<()> {
    pairs.iter().try_for_each(|(key, value)| {
        check_key(key.as_ref())?;
        check_value(value.as_ref())
    })
}

/// The bounds of the keys that start with `prefix`, as [`Table::try_cursor`] takes them once borrowed.
pub fn prefix_range(prefix: &[u8]) -> (Bound<Vec<u8>>, Bound<Vec<u8>>) {
    // The first key after all of them: the prefix without trailing 0xff, its last byte one higher.
    let upper = prefix.iter().rposition(|&byte| byte != 0xff).map_or(Bound::Unbounded, |last| {
        let mut next = prefix[..=last].to_vec();
        next[last] += 1;
        Bound::Excluded(next)
    });
    (Bound::Included(prefix.to_vec()), upper)
}

fn as_slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

fn owned(bound: Bound<&&[u8]>) -> Bound<Vec<u8>> {
    bound.map(|key| key.to_vec())
}

// ---------------------------------------------------------------------------------------------------
// Cursors and iterators
// ---------------------------------------------------------------------------------------------------

/// A position in a sorted table.
///
/// The position is a key, not a place in memory: the cursor holds no lock, stays valid under any write,
/// and sees every write that was finished before the call. At an end of its range it stays on the pair
/// it returned last, so pairs that are appended later are found by asking again.
#[derive(Clone)]
pub struct Cursor {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    on: Option<Pair>,
}

impl Cursor {
    /// Moves to the next pair upwards and returns it, or `None` where there is none.
    ///
    /// A new cursor moves to the first pair of its range.
    pub fn scan_asc_next(&mut self) -> Option<(&[u8], &[u8])> {
        let lower = self.on.as_ref().map_or_else(|| as_slice(&self.lower), |(key, _)| Bound::Excluded(key));
        let next = self.table.inner.pairs.first(lower, as_slice(&self.upper))?;
        let (key, value) = self.on.insert(next);
        Some((key, value))
    }

    /// Moves to the next pair downwards and returns it, or `None` where there is none.
    ///
    /// A new cursor moves to the last pair of its range.
    pub fn scan_desc_next(&mut self) -> Option<(&[u8], &[u8])> {
        let upper = self.on.as_ref().map_or_else(|| as_slice(&self.upper), |(key, _)| Bound::Excluded(key));
        let next = self.table.inner.pairs.last(as_slice(&self.lower), upper)?;
        let (key, value) = self.on.insert(next);
        Some((key, value))
    }

    /// [`scan_asc_next`](Self::scan_asc_next) up to `limit` times, each pair shown to `read`; how many
    /// there were.
    pub fn scan_asc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        (0..limit).take_while(|_| self.scan_asc_next().map(|(key, value)| read(key, value)).is_some()).count()
    }

    /// [`scan_desc_next`](Self::scan_desc_next) up to `limit` times, each pair shown to `read`; how many
    /// there were.
    pub fn scan_desc_next_many(&mut self, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        (0..limit)
            .take_while(|_| self.scan_desc_next().map(|(key, value)| read(key, value)).is_some())
            .count()
    }
}

impl IntoIterator for Cursor {
    type Item = (Vec<u8>, Vec<u8>);
    type IntoIter = Scan;

    /// The pairs of the cursor's whole range, wherever it stands.
    fn into_iter(self) -> Scan {
        Scan { table: self.table, lower: self.lower, upper: self.upper }
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("table", &self.table.name())
            .field("on", &self.on.as_ref().map(|(key, _)| excerpt(key)))
            .finish_non_exhaustive()
    }
}

/// The pairs of a range of a sorted table, either way. Like a [`Cursor`], it stays valid under any write.
#[derive(Clone, Debug)]
pub struct Scan {
    table: Table,
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl Iterator for Scan {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        let (key, value) = self.table.inner.pairs.first(as_slice(&self.lower), as_slice(&self.upper))?;
        self.lower = Bound::Excluded(key.to_vec());
        Some((key.into_vec(), value.to_vec()))
    }
}

impl DoubleEndedIterator for Scan {
    fn next_back(&mut self) -> Option<Self::Item> {
        let (key, value) = self.table.inner.pairs.last(as_slice(&self.lower), as_slice(&self.upper))?;
        self.upper = Bound::Excluded(key.to_vec());
        Some((key.into_vec(), value.to_vec()))
    }
}

/// Every pair of a table. See [`Table::iter`].
pub struct Iter(IterState);

enum IterState {
    Sorted(Scan),
    Hash { table: Table, shard: usize, pairs: std::vec::IntoIter<(Vec<u8>, Vec<u8>)> },
}

impl Iterator for Iter {
    type Item = (Vec<u8>, Vec<u8>);

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.0 {
            IterState::Sorted(scan) => scan.next(),
            IterState::Hash { table, shard, pairs } => loop {
                if let Some(pair) = pairs.next() {
                    return Some(pair);
                }
                *pairs = table.inner.pairs.copy_shard(*shard)?.into_iter();
                *shard += 1;
            },
        }
    }
}

impl fmt::Debug for Iter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Iter").finish_non_exhaustive()
    }
}

// ---------------------------------------------------------------------------------------------------
// The indexes
// ---------------------------------------------------------------------------------------------------

type Pair = (Box<[u8]>, Arc<[u8]>);
type SortedMap = BTreeMap<Box<[u8]>, Arc<[u8]>>;
type HashShard = HashMap<Box<[u8]>, Arc<[u8]>, foldhash::fast::RandomState>;

/// The pairs of a table under its index. Values are immutable behind an `Arc`, so a reader holds no lock
/// while it looks at one.
enum Pairs {
    Hash { hasher: foldhash::fast::RandomState, shards: Box<[RwLock<HashShard>]> },
    Sorted(RwLock<SortedMap>),
}

/// Enough that a few dozen threads seldom meet.
const SHARDS: usize = 64;

/// What a pair costs beside its own bytes: two allocations' headers, two fat pointers, the `Arc`'s counts.
const PAIR_OVERHEAD: usize = 64;

fn pair_bytes(key: &[u8], value: &[u8]) -> usize {
    PAIR_OVERHEAD + key.len() + value.len()
}

// A panic in a caller's closure poisons a lock, but no pair is half written then: the closure runs first.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl Pairs {
    fn new(index: Index) -> Self {
        match index {
            Index::Hash => Self::Hash {
                hasher: foldhash::fast::RandomState::default(),
                shards: (0..SHARDS).map(|_| RwLock::default()).collect(),
            },
            Index::Sorted => Self::Sorted(RwLock::default()),
        }
    }

    fn get(&self, key: &[u8]) -> Option<Arc<[u8]>> {
        match self {
            Self::Hash { hasher, shards } => read(shard_of(hasher, shards, key)).get(key).cloned(),
            Self::Sorted(map) => read(map).get(key).cloned(),
        }
    }

    fn change<V: AsRef<[u8]>>(
        &self,
        table: &TableInner,
        key: &[u8],
        decide: impl FnOnce(Option<&[u8]>) -> Result<Change<V>>,
    ) -> Result<bool> {
        match self {
            Self::Hash { hasher, shards } => {
                let mut map = write(shard_of(hasher, shards, key));
                let change = decide(map.get(key).map(AsRef::as_ref))?;
                match map.entry(key.into()) {
                    hash_map::Entry::Occupied(entry) => {
                        table.account(key, Some(entry.get()), &change)?;
                        match change {
                            Change::Keep => return Ok(false),
                            Change::Set(value) => *entry.into_mut() = value.as_ref().into(),
                            Change::Delete => drop(entry.remove()),
                        }
                    }
                    hash_map::Entry::Vacant(entry) => {
                        table.account(key, None, &change)?;
                        let Change::Set(value) = change else { return Ok(false) };
                        entry.insert(value.as_ref().into());
                    }
                }
                Ok(true)
            }
            Self::Sorted(map) => {
                let mut map = write(map);
                let change = decide(map.get(key).map(AsRef::as_ref))?;
                match map.entry(key.into()) {
                    btree_map::Entry::Occupied(entry) => {
                        table.account(key, Some(entry.get()), &change)?;
                        match change {
                            Change::Keep => return Ok(false),
                            Change::Set(value) => *entry.into_mut() = value.as_ref().into(),
                            Change::Delete => drop(entry.remove()),
                        }
                    }
                    btree_map::Entry::Vacant(entry) => {
                        table.account(key, None, &change)?;
                        let Change::Set(value) = change else { return Ok(false) };
                        entry.insert(value.as_ref().into());
                    }
                }
                Ok(true)
            }
        }
    }

    fn clear(&self, table: &TableInner) {
        match self {
            Self::Hash { shards, .. } => {
                for shard in shards {
                    table.forget(std::mem::take(&mut *write(shard)).iter());
                }
            }
            Self::Sorted(map) => table.forget(std::mem::take(&mut *write(map)).iter()),
        }
    }

    /// The pairs of one shard of a hash table, `None` past the last.
    fn copy_shard(&self, position: usize) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
        let Self::Hash { shards, .. } = self else { return None };
        let shard = read(shards.get(position)?);
        Some(shard.iter().map(|(key, value)| (key.to_vec(), value.to_vec())).collect())
    }

    fn first(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<Pair> {
        self.end_of_range(lower, upper, |mut range| range.next())
    }

    fn last(&self, lower: Bound<&[u8]>, upper: Bound<&[u8]>) -> Option<Pair> {
        self.end_of_range(lower, upper, |mut range| range.next_back())
    }

    fn end_of_range(
        &self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        pick: impl for<'m> FnOnce(
            btree_map::Range<'m, Box<[u8]>, Arc<[u8]>>,
        ) -> Option<(&'m Box<[u8]>, &'m Arc<[u8]>)>,
    ) -> Option<Pair> {
        let Self::Sorted(map) = self else { return None };
        // `BTreeMap::range` panics on these.
        match (lower, upper) {
            (Bound::Excluded(a), Bound::Excluded(b)) if a >= b => return None,
            (Bound::Included(a) | Bound::Excluded(a), Bound::Included(b) | Bound::Excluded(b)) if a > b => {
                return None;
            }
            _ => {}
        }
        pick(read(map).range::<[u8], _>((lower, upper))).map(|(key, value)| (key.clone(), Arc::clone(value)))
    }
}

fn shard_of<'s>(
    hasher: &foldhash::fast::RandomState,
    shards: &'s [RwLock<HashShard>],
    key: &[u8],
) -> &'s RwLock<HashShard> {
    &shards[hasher.hash_one(key) as usize % SHARDS]
}

impl TableInner {
    /// Counts a change that is about to happen, or refuses it at the memory limit.
    fn account<V: AsRef<[u8]>>(&self, key: &[u8], old: Option<&Arc<[u8]>>, change: &Change<V>) -> Result<()> {
        let old_bytes = old.map_or(0, |value| pair_bytes(key, value));
        let new_bytes = match change {
            Change::Keep => return Ok(()),
            Change::Set(value) => pair_bytes(key, value.as_ref()),
            Change::Delete => 0,
        };
        self.memory.exchange(old_bytes, new_bytes)?;
        self.bytes.fetch_add(new_bytes.wrapping_sub(old_bytes), Ordering::Relaxed);
        self.len.fetch_add(
            usize::from(new_bytes > 0).wrapping_sub(usize::from(old_bytes > 0)),
            Ordering::Relaxed,
        );
        Ok(())
    }

    /// Counts pairs that were cleared.
    fn forget<'p>(&self, pairs: impl ExactSizeIterator<Item = (&'p Box<[u8]>, &'p Arc<[u8]>)>) {
        let len = pairs.len();
        let bytes: usize = pairs.map(|(key, value)| pair_bytes(key, value)).sum();
        self.len.fetch_sub(len, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.memory.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// ---------------------------------------------------------------------------------------------------
// Dump
// ---------------------------------------------------------------------------------------------------

/// A dump is a header and a row of blocks, all integers little-endian:
///
/// ```text
/// header   magic [8] · version u32 · crc32 u32 (of the 12 bytes before)
/// block    kind u8 · length u64 · payload [length] · crc32 u32 (of all before it in the block)
///   kind 1  a table: index u8 (0 hash, 1 sorted) · its name
///   kind 2  pairs of the last table: for each, shared varint · rest varint · value varint
///           · the key's last `rest` bytes · the value; `shared` bytes come from the key before it in the block
///   kind 3  the end: number of pairs u64
/// ```
mod dump {
    use super::{
        Error, Index, MAX_KEY_BYTES, MAX_NAME_BYTES, MAX_VALUE_BYTES, Read, Result, Store, Table, Write,
    };

    /// Unlike any text, and damaged by what changes line ends.
    const MAGIC: [u8; 8] = *b"\x89TWX\r\n\x1a\n";
    const VERSION: u32 = 1;
    /// A block is closed once its payload has this many bytes.
    const BLOCK_BYTES: usize = 64 * 1024;

    const TABLE: u8 = 1;
    const PAIRS: u8 = 2;
    const END: u8 = 3;

    pub(super) fn write_store<W: Write + ?Sized>(store: &Store, writer: &mut W) -> Result<()> {
        let mut header = MAGIC.to_vec();
        header.extend(VERSION.to_le_bytes());
        header.extend(crc32fast::hash(&header).to_le_bytes());
        writer.write_all(&header)?;

        let mut pairs = 0_u64;
        for table in store.tables() {
            let index = [u8::from(table.index() == Index::Sorted)];
            write_block(writer, TABLE, &[&index, table.name().as_bytes()].concat())?;
            pairs += write_pairs(&table, writer)?;
        }
        write_block(writer, END, &pairs.to_le_bytes())
    }

    fn write_pairs<W: Write + ?Sized>(table: &Table, writer: &mut W) -> Result<u64> {
        let mut payload = Vec::with_capacity(BLOCK_BYTES);
        let mut before = Vec::new();
        let mut pairs = 0;
        for (key, value) in table {
            let shared = before.iter().zip(&key).take_while(|(a, b)| a == b).count();
            push_varint(&mut payload, shared as u64);
            push_varint(&mut payload, (key.len() - shared) as u64);
            push_varint(&mut payload, value.len() as u64);
            payload.extend(&key[shared..]);
            payload.extend(&value);
            before = key;
            pairs += 1;
            if payload.len() >= BLOCK_BYTES {
                write_block(writer, PAIRS, &payload)?;
                payload.clear();
                before.clear();
            }
        }
        if !payload.is_empty() {
            write_block(writer, PAIRS, &payload)?;
        }
        Ok(pairs)
    }

    fn write_block<W: Write + ?Sized>(writer: &mut W, kind: u8, payload: &[u8]) -> Result<()> {
        let head = block_head(kind, payload.len() as u64);
        let mut crc = crc32fast::Hasher::new();
        crc.update(&head);
        crc.update(payload);
        writer.write_all(&head)?;
        writer.write_all(payload)?;
        writer.write_all(&crc.finalize().to_le_bytes())?;
        Ok(())
    }

    fn block_head(kind: u8, length: u64) -> [u8; 9] {
        let mut head = [kind; 9];
        head[1..].copy_from_slice(&length.to_le_bytes());
        head
    }

    fn push_varint(bytes: &mut Vec<u8>, mut number: u64) {
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
    }

    pub(super) fn read_store<R: Read + ?Sized>(store: &Store, reader: &mut R) -> Result<()> {
        let mut source = Source { reader, offset: 0 };
        let mut header = [0; 16];
        source.fill(&mut header, "it ends within the header")?;
        if header[..8] != MAGIC {
            return Err(Error::Corrupt { offset: 0, what: "this is no Twindex dump" });
        }
        if header[8..12] != VERSION.to_le_bytes() {
            return Err(Error::Corrupt { offset: 8, what: "a version that this release does not know" });
        }
        if header[12..] != crc32fast::hash(&header[..12]).to_le_bytes() {
            return Err(Error::Corrupt { offset: 12, what: "the header's checksum does not match" });
        }
        let mut table = None;
        let mut pairs = 0;
        loop {
            let offset = source.offset;
            let corrupt = |what| Error::Corrupt { offset, what };
            let (kind, payload) = source.block()?;
            match (kind, &table) {
                (TABLE, _) => {
                    table = Some(read_table(store, &payload).ok_or_else(|| {
                        corrupt("a table's name or index is not valid, or the table comes twice")
                    })?);
                }
                (PAIRS, Some(table)) => pairs += read_pairs(table, &payload, offset)?,
                (END, _) if payload == u64::to_le_bytes(pairs) => return Ok(()),
                (END, _) => return Err(corrupt("the number of pairs does not match")),
                _ => return Err(corrupt("a block of unknown kind, or out of place")),
            }
        }
    }

    fn read_table(store: &Store, payload: &[u8]) -> Option<Table> {
        let (index, name) = payload.split_first()?;
        let index = match index {
            0 => Index::Hash,
            1 => Index::Sorted,
            _ => return None,
        };
        let name = std::str::from_utf8(name).ok().filter(|name| name.len() <= MAX_NAME_BYTES)?;
        if store.find_table(name).is_some() {
            return None;
        }
        store.table(name, index).ok()
    }

    fn read_pairs(table: &Table, mut payload: &[u8], offset: u64) -> Result<u64> {
        let mut key = Vec::new();
        let mut pairs = 0;
        while !payload.is_empty() {
            let value = take_pair(&mut payload, &mut key)
                .ok_or(Error::Corrupt { offset, what: "a pair runs over its limits or its block" })?;
            if !table.insert(&key, value)? {
                return Err(Error::Corrupt { offset, what: "a key comes twice" });
            }
            pairs += 1;
        }
        Ok(pairs)
    }

    /// Takes the next pair off `payload`: turns `key` into its key and returns its value.
    fn take_pair<'p>(payload: &mut &'p [u8], key: &mut Vec<u8>) -> Option<&'p [u8]> {
        let shared = usize::try_from(take_varint(payload)?).ok()?;
        let rest = usize::try_from(take_varint(payload)?).ok()?;
        let value = take_varint(payload)?;
        if shared > key.len() || rest > MAX_KEY_BYTES - shared || value > MAX_VALUE_BYTES {
            return None;
        }
        key.truncate(shared);
        key.extend(payload.split_off(..rest)?);
        payload.split_off(..usize::try_from(value).ok()?)
    }

    fn take_varint(bytes: &mut &[u8]) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = bytes.split_off_first()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    struct Source<'r, R: ?Sized> {
        reader: &'r mut R,
        offset: u64,
    }

    impl<R: Read + ?Sized> Source<'_, R> {
        fn fill(&mut self, bytes: &mut [u8], at_end: &'static str) -> Result<()> {
            self.reader.read_exact(bytes).map_err(|error| match error.kind() {
                std::io::ErrorKind::UnexpectedEof => Error::Corrupt { offset: self.offset, what: at_end },
                _ => Error::Io(error),
            })?;
            self.offset += bytes.len() as u64;
            Ok(())
        }

        fn block(&mut self) -> Result<(u8, Vec<u8>)> {
            const CUT: &str = "it ends within a block";
            let start = self.offset;
            let mut head = [0; 9];
            self.fill(&mut head, "it ends without an end block")?;
            let [kind, length @ ..] = head;
            let length = u64::from_le_bytes(length);
            // Grows with what is really there: a false length must not claim memory.
            let mut payload = Vec::new();
            let read = (&mut *self.reader).take(length).read_to_end(&mut payload)? as u64;
            self.offset += read;
            if read < length {
                return Err(Error::Corrupt { offset: self.offset, what: CUT });
            }
            let mut crc = [0; 4];
            self.fill(&mut crc, CUT)?;
            let mut expected = crc32fast::Hasher::new();
            expected.update(&head);
            expected.update(&payload);
            if crc != expected.finalize().to_le_bytes() {
                return Err(Error::Corrupt { offset: start, what: "a block's checksum does not match" });
            }
            Ok((kind, payload))
        }
    }
}
