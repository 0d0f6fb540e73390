//! Tables and caches of Rust's types instead of bytes.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds, RangeFull};
use std::sync::Arc;
use std::time::Duration;

use twindex::{
    Change, Cursor, IndexKind, Iter, KeyRange, Scan, SnapshotTable, TableOptions, Write, prefix_range,
};
use twindex_cache::{Cache, CacheOptions, ComputeError, Ttl};
use twindex_codec::{Excerpt, Key, Prefix, Value};
use twindex_format::{decode_codecs, encode_codecs};

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::expiring::{ExpiringCursor, ExpiringReads, ExpiringTable, Unexpired};
use crate::snapshot::Snapshot;
use crate::store::Store;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::verbs::{write_many_verbs, write_verbs};

/// Bounds of keys as bytes.
type Bounds<'k, K> = (Bound<<K as Key>::Bytes<'k>>, Bound<<K as Key>::Bytes<'k>>);
type TypedPair<K, V> = (<K as Key>::Owned, <V as Value>::Owned);

#[derive(Clone, Copy)]
enum Place<'t> {
    Table(&'t str),
    Cache,
}

impl Place<'_> {
    fn key<K: Key>(self, key: K::Borrowed<'_>) -> Result<K::Bytes<'_>> {
        K::encode(key).map_err(|source| self.refuse(None, K::CODEC, source))
    }

    fn value<'v, V: Value>(self, key: &[u8], value: V::Borrowed<'v>) -> Result<V::Bytes<'v>> {
        V::encode(value).map_err(|source| self.refuse(Some(key), V::CODEC, source))
    }

    fn read_key<K: Key>(self, key: &[u8]) -> Result<K::Owned> {
        K::decode(key).map_err(|source| self.refuse(Some(key), K::CODEC, source))
    }

    fn read_value<V: Value>(self, key: &[u8], value: &[u8]) -> Result<V::Owned> {
        V::decode(value).map_err(|source| self.refuse(Some(key), V::CODEC, source))
    }

    fn read_pair<K: Key, V: Value>(
        self,
        (key, value): (impl AsRef<[u8]>, impl AsRef<[u8]>),
    ) -> Result<TypedPair<K, V>> {
        let (key, value) = (key.as_ref(), value.as_ref());
        Ok((self.read_key::<K>(key)?, self.read_value::<V>(key, value)?))
    }

    fn keys<'k, K: Key>(self, keys: impl IntoIterator<Item = K::Borrowed<'k>>) -> Result<Vec<K::Bytes<'k>>> {
        keys.into_iter().map(|key| self.key::<K>(key)).collect()
    }

    fn pair<'k, 'v, K: Key, V: Value>(
        self,
        key: K::Borrowed<'k>,
        value: V::Borrowed<'v>,
    ) -> Result<(K::Bytes<'k>, V::Bytes<'v>)> {
        let key = self.key::<K>(key)?;
        let value = self.value::<V>(key.as_ref(), value)?;
        Ok((key, value))
    }

    fn pairs<'k, 'v, K: Key, V: Value>(
        self,
        pairs: impl IntoIterator<Item = (K::Borrowed<'k>, V::Borrowed<'v>)>,
    ) -> Result<Vec<(K::Bytes<'k>, V::Bytes<'v>)>> {
        pairs.into_iter().map(|(key, value)| self.pair::<K, V>(key, value)).collect()
    }

    fn bounds<'k, K: Key>(self, range: &impl RangeBounds<K::Borrowed<'k>>) -> Result<Bounds<'k, K>> {
        let bytes = |bound| {
            Ok::<_, Error>(match bound {
                Bound::Included(&key) => Bound::Included(self.key::<K>(key)?),
                Bound::Excluded(&key) => Bound::Excluded(self.key::<K>(key)?),
                Bound::Unbounded => Bound::Unbounded,
            })
        };
        Ok((bytes(range.start_bound())?, bytes(range.end_bound())?))
    }

    fn prefix<K: Key>(self, prefix: impl Prefix<K>) -> Result<impl KeyRange> {
        prefix.range(prefix_range).map_err(|source| self.refuse(None, K::CODEC, source))
    }

    /// Checks that keys and values are what a table or cache remembers. `bytes` are what is stored, whatever that is.
    fn check<K: Key, V: Value>(self, (keys, values): (&str, &str)) -> Result<()> {
        for (of, has, needs) in [("keys", keys, K::CODEC), ("values", values, V::CODEC)] {
            if needs != has && needs != twindex::BYTES {
                let (has, needs) = (has.into(), needs.into());
                let table = match self {
                    Self::Table(name) => name.into(),
                    Self::Cache => return Err(Error::WrongCodecOfCache { of, has, needs }),
                };
                return Err(twindex::Error::WrongCodec { table, of, has, needs }.into());
            }
        }
        Ok(())
    }

    fn refuse(self, key: Option<&[u8]>, codec: &'static str, source: twindex_codec::Error) -> Error {
        let table = match self {
            Self::Table(name) => Some(name.into()),
            Self::Cache => None,
        };
        Error::Codec { table, key: key.map(|key| Excerpt(key).to_string()), codec, source }
    }
}

/// A table that can be read: of a store, or of a snapshot.
pub trait Reads: Clone {
    /// Its cursors.
    type Cursor: Steps;
    /// The pairs of a range.
    type Scan: DoubleEndedIterator<Item = (Vec<u8>, Vec<u8>)>;
    /// All its pairs.
    type Iter: Iterator<Item = (Vec<u8>, Vec<u8>)>;

    /// The name that it has in its store.
    fn name(&self) -> &str;
    /// The names of the codecs of its keys and of its values.
    fn codecs(&self) -> (&str, &str);
    /// The number of pairs.
    fn count(&self) -> usize;
    /// What `read` makes of the key's value.
    fn select_with<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>>;
    /// Shows `read` the position and the value of every key.
    fn select_many<B: AsRef<[u8]>>(&self, keys: &[B], read: impl FnMut(usize, Option<&[u8]>)) -> Result<()>;
    /// A cursor over a range of keys.
    fn cursor(&self, range: impl KeyRange) -> Result<Self::Cursor>;
    /// The pairs of a range of keys.
    fn scan(&self, range: impl KeyRange) -> Result<Self::Scan>;
    /// Every pair.
    fn pairs(&self) -> Result<Self::Iter>;
}

/// A cursor.
pub trait Steps {
    /// The next pair up or down.
    fn step(&mut self, down: bool) -> Option<(&[u8], &[u8])>;
}

macro_rules! steps {
    ($($type:ty),*) => {$(
        impl Steps for $type {
            fn step(&mut self, down: bool) -> Option<(&[u8], &[u8])> {
                if down { self.scan_desc_next() } else { self.scan_asc_next() }
            }
        }
    )*};
}

steps!(Cursor, ExpiringCursor);

macro_rules! reads {
    ($type:ty, $named:ty, $cursor:ty, $scan:ty, $iter:ty, $ok:expr) => {
        impl Reads for $type {
            type Cursor = $cursor;
            type Scan = $scan;
            type Iter = $iter;

            fn name(&self) -> &str {
                <$named>::name(self)
            }

            fn codecs(&self) -> (&str, &str) {
                <$named>::codecs(self)
            }

            fn count(&self) -> usize {
                <$named>::len(self)
            }

            fn select_with<R>(&self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
                $ok(<$type>::select_with(self, key, read))
            }

            fn select_many<B: AsRef<[u8]>>(
                &self,
                keys: &[B],
                read: impl FnMut(usize, Option<&[u8]>),
            ) -> Result<()> {
                $ok(<$type>::select_many(self, keys, read))
            }

            fn cursor(&self, range: impl KeyRange) -> Result<$cursor> {
                <$type>::cursor(self, range).map_err(Into::into)
            }

            fn scan(&self, range: impl KeyRange) -> Result<$scan> {
                <$type>::scan(self, range).map_err(Into::into)
            }

            fn pairs(&self) -> Result<$iter> {
                $ok(<$type>::iter(self))
            }
        }
    };
}

reads!(Table, Table, Cursor, Scan, Iter, |read| read);
reads!(SnapshotTable, SnapshotTable, Cursor, Scan, Iter, Ok);
reads!(ExpiringTable, ExpiringReads, ExpiringCursor, Unexpired<Scan>, Unexpired<Iter>, |read| read);

/// A table of Rust's types: of [`Store::typed`], or of a snapshot by [`at`](Self::at).
///
/// Keys are of the type `K`, an integer, text, bytes or a tuple of these; values are of the type `V`, an integer, text, bytes or, with the
/// features of `twindex-codec`, `Json<T>` and `Msgpack<T>`. The store remembers the codecs. So every language reads the table, and types
/// that do not fit are an error. Stored bytes that cannot be read are [`Error::Codec`], which names the key.
///
/// ```
/// use serde::{Deserialize, Serialize};
/// use twindex_codec::Json;
/// use twindex_durable::{Result, Store, twindex::IndexKind};
///
/// #[derive(Serialize, Deserialize, PartialEq, Debug)]
/// struct User {
///     born: u32,
/// }
///
/// let store = Store::new();
/// let users = store.typed::<String, Json<User>>("users", IndexKind::Hash)?; // Python: keys="str", values="json"
/// users.insert("ada", &User { born: 1815 })?;
/// assert_eq!(users.select("ada")?, Some(User { born: 1815 }));
///
/// let visits = store.typed::<(String, i64), i64>("visits", IndexKind::Sorted)?;
/// visits.increment(("ada", 2026), 2)?;
/// let pairs = visits.prefix(("ada",))?.collect::<Result<Vec<_>>>()?;
/// assert_eq!(pairs, [(("ada".to_owned(), 2026), 2)]);
/// # Ok::<(), twindex_durable::Error>(())
/// ```
pub struct TypedTable<K, V, T = Table> {
    table: T,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V, T: Clone> Clone for TypedTable<K, V, T> {
    fn clone(&self) -> Self {
        Self { table: self.table.clone(), types: PhantomData }
    }
}

impl<K, V, T: fmt::Debug> fmt::Debug for TypedTable<K, V, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(f)
    }
}

impl Store {
    /// Opens the table called `name`, or creates it with this index and the codecs of these types. Fails if it has others.
    pub fn typed<K: Key, V: Value>(&self, name: &str, index: IndexKind) -> Result<TypedTable<K, V>> {
        let options = TableOptions::new(index).keys(K::CODEC).values(V::CODEC);
        Ok(TypedTable { table: self.table_with(name, options)?, types: PhantomData })
    }

    /// As [`typed`](Self::typed), a table whose pairs expire.
    pub fn typed_expiring<K: Key, V: Value>(
        &self,
        name: &str,
        index: IndexKind,
    ) -> Result<TypedTable<K, V, ExpiringTable>> {
        let options = TableOptions::new(index).keys(K::CODEC).values(V::CODEC);
        Ok(TypedTable { table: self.expiring_table_with(name, options)?, types: PhantomData })
    }
}

impl<K: Key, V: Value, T: Reads> TypedTable<K, V, T> {
    /// A table that was opened as bytes. Fails with [`WrongCodec`](twindex::Error::WrongCodec) if it has other types.
    pub fn of(table: T) -> Result<Self> {
        Place::Table(table.name()).check::<K, V>(table.codecs())?;
        Ok(Self { table, types: PhantomData })
    }

    /// The table of bytes.
    pub fn as_table(&self) -> &T {
        &self.table
    }

    /// The name it has in its store.
    pub fn name(&self) -> &str {
        self.table.name()
    }

    fn place(&self) -> Place<'_> {
        Place::Table(self.table.name())
    }

    /// The number of pairs.
    pub fn len(&self) -> usize {
        self.table.count()
    }

    /// Whether there is no pair.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The key's value, or `None` if the key is absent.
    pub fn select(&self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let (place, key) = (self.place(), self.place().key::<K>(key)?);
        let key = key.as_ref();
        self.table.select_with(key, |value| place.read_value::<V>(key, value))?.transpose()
    }

    /// Whether the key is present.
    pub fn contains(&self, key: K::Borrowed<'_>) -> Result<bool> {
        let key = self.place().key::<K>(key)?;
        Ok(self.table.select_with(key.as_ref(), |_| ())?.is_some())
    }

    /// [`select`](Self::select) for each key.
    pub fn select_many<'k>(
        &self,
        keys: impl IntoIterator<Item = K::Borrowed<'k>>,
    ) -> Result<Vec<Option<V::Owned>>> {
        let (place, keys) = (self.place(), self.place().keys::<K>(keys)?);
        let mut values: Vec<Result<_>> = keys.iter().map(|_| Ok(None)).collect();
        let read = |position: usize, value: Option<&[u8]>| {
            let key = keys[position].as_ref();
            values[position] = value.map(|value| place.read_value::<V>(key, value)).transpose();
        };
        self.table.select_many(&keys, read)?;
        values.into_iter().collect()
    }

    /// Whether each key is present.
    pub fn contains_many<'k>(&self, keys: impl IntoIterator<Item = K::Borrowed<'k>>) -> Result<Vec<bool>> {
        let keys = self.place().keys::<K>(keys)?;
        let mut found = vec![false; keys.len()];
        self.table.select_many(&keys, |position, value| found[position] = value.is_some())?;
        Ok(found)
    }

    fn pairs<I>(&self, pairs: I) -> TypedPairs<K, V, I> {
        TypedPairs { pairs, table: self.name().into(), types: PhantomData }
    }

    /// A cursor over the keys in `range`, before its first pair and after its last at once. Fails on a hash table.
    pub fn cursor<'k>(
        &self,
        range: impl RangeBounds<K::Borrowed<'k>>,
    ) -> Result<TypedPairs<K, V, T::Cursor>> {
        Ok(self.pairs(self.table.cursor(self.place().bounds::<K>(&range)?)?))
    }

    /// The pairs with keys in `range`, in order; `.rev()` for the other way. Fails on a hash table.
    pub fn scan<'k>(&self, range: impl RangeBounds<K::Borrowed<'k>>) -> Result<TypedPairs<K, V, T::Scan>> {
        Ok(self.pairs(self.table.scan(self.place().bounds::<K>(&range)?)?))
    }

    /// The pairs whose keys start with `prefix`: for keys that are tuples, with these items.
    pub fn prefix(&self, prefix: impl Prefix<K>) -> Result<TypedPairs<K, V, T::Scan>> {
        Ok(self.pairs(self.table.scan(self.place().prefix(prefix)?)?))
    }

    /// Every pair: in the order of the keys in a sorted table, in no particular order in a hash table.
    #[expect(clippy::iter_not_returning_iterator, reason = "as that of a table of bytes")]
    pub fn iter(&self) -> Result<TypedPairs<K, V, T::Iter>> {
        Ok(self.pairs(self.table.pairs()?))
    }

    /// The pair of a sorted table with the least key.
    pub fn first(&self) -> Result<Option<TypedPair<K, V>>> {
        self.pairs(self.table.cursor(RangeFull)?).scan_asc_next().transpose()
    }

    /// The pair of a sorted table with the greatest key.
    pub fn last(&self) -> Result<Option<TypedPair<K, V>>> {
        self.pairs(self.table.cursor(RangeFull)?).scan_desc_next().transpose()
    }
}

impl<K: Key, V: Value> TypedTable<K, V> {
    /// The same table as it was at a snapshot's moment.
    pub fn at(&self, snapshot: &Snapshot) -> Result<TypedTable<K, V, SnapshotTable>> {
        TypedTable::of(snapshot.table(self.name())?)
    }

    /// The same table within a transaction, or for a batch.
    pub fn within<'w, W: Writes>(&'w self, writes: &'w mut W) -> TypedWrites<'w, K, V, W> {
        TypedWrites { table: self, writes }
    }

    write_verbs!((&self) self, (key: K::Borrowed<'_>, value: V::Borrowed<'_>) -> bool, "; whether it was.");

    fn write(&self, write: Write, key: K::Borrowed<'_>, value: V::Borrowed<'_>) -> Result<bool> {
        let (key, value) = self.place().pair::<K, V>(key, value)?;
        self.table.write(write, key, value)
    }

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&self, key: K::Borrowed<'_>) -> Result<bool> {
        self.table.delete(self.place().key::<K>(key)?)
    }

    /// Removes the pair and returns its value, or `None` if the key was absent. A value that cannot be read stays.
    pub fn take(&self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let mut taken = None;
        self.alter(key, |value| {
            taken = value;
            Change::Delete
        })?;
        Ok(taken)
    }

    /// Shows `change` the value of the key, or `None` if it is absent, and does what it returns, as [`Table::alter`] does.
    pub fn alter(
        &self,
        key: K::Borrowed<'_>,
        change: impl FnOnce(Option<V::Owned>) -> Change<V::Owned>,
    ) -> Result<bool> {
        let (place, key) = (self.place(), self.place().key::<K>(key)?);
        let key = key.as_ref();
        let mut refused = None;
        let run = |old: Option<&[u8]>| {
            Ok(match change(old.map(|old| place.read_value::<V>(key, old)).transpose()?) {
                Change::Set(new) => Change::Set(place.value::<V>(key, V::borrow(&new))?.as_ref().to_vec()),
                Change::Delete => Change::Delete,
                Change::Keep => Change::Keep,
            })
        };
        let done = self.table.alter(key, |old| {
            run(old).unwrap_or_else(|error| {
                refused = Some(error);
                Change::Keep
            })
        });
        refused.map_or(done, Err)
    }

    /// Writes the value `new` if the stored bytes are those of `expected`. `None` is an absent value, so it also inserts and removes.
    /// Returns whether it took effect.
    pub fn compare_and_swap<'v>(
        &self,
        key: K::Borrowed<'_>,
        expected: Option<V::Borrowed<'v>>,
        new: Option<V::Borrowed<'v>>,
    ) -> Result<bool> {
        let key = self.place().key::<K>(key)?;
        let value = |value| self.place().value::<V>(key.as_ref(), value);
        let (expected, new) = (expected.map(value).transpose()?, new.map(value).transpose()?);
        self.table.compare_and_swap(
            &key,
            expected.as_ref().map(AsRef::as_ref),
            new.as_ref().map(AsRef::as_ref),
        )
    }

    /// Removes all pairs and returns their memory.
    pub fn clear(&self) -> Result<()> {
        self.table.clear()
    }

    write_many_verbs!(['k, 'v] impl IntoIterator<Item = (K::Borrowed<'k>, V::Borrowed<'v>)>);

    fn write_many<'k, 'v>(
        &self,
        write: Write,
        pairs: impl IntoIterator<Item = (K::Borrowed<'k>, V::Borrowed<'v>)>,
    ) -> Result<Vec<bool>> {
        self.table.write_many(write, &self.place().pairs::<K, V>(pairs)?)
    }

    /// [`delete`](Self::delete) for each key. Returns whether each took effect.
    pub fn delete_many<'k>(&self, keys: impl IntoIterator<Item = K::Borrowed<'k>>) -> Result<Vec<bool>> {
        self.table.delete_many(&self.place().keys::<K>(keys)?)
    }

    /// Removes the pair with the least key of a sorted table and returns it.
    pub fn pop_first(&self) -> Result<Option<TypedPair<K, V>>> {
        self.pop(TypedPairs::scan_asc_next)
    }

    /// Removes the pair with the greatest key of a sorted table and returns it.
    pub fn pop_last(&self) -> Result<Option<TypedPair<K, V>>> {
        self.pop(TypedPairs::scan_desc_next)
    }

    fn pop(
        &self,
        step: impl Fn(&mut TypedPairs<K, V, Cursor>) -> Option<Result<TypedPair<K, V>>>,
    ) -> Result<Option<TypedPair<K, V>>> {
        let mut pairs = self.pairs(self.table.cursor(RangeFull)?);
        self.table.check_not_dropped()?;
        while let Some((key, _)) = step(&mut pairs).transpose()? {
            // If another thread was quicker, the next pair is tried.
            if let Some(value) = self.take(K::borrow(&key))? {
                return Ok(Some((key, value)));
            }
        }
        Ok(None)
    }

    /// Removes the pairs of a sorted table with keys in `range`, as [`Table::delete_range`] does. Returns how many.
    pub fn delete_range<'k>(&self, range: impl RangeBounds<K::Borrowed<'k>>) -> Result<usize> {
        self.table.delete_range(self.place().bounds::<K>(&range)?)
    }

    /// Removes the pairs of a sorted table whose keys start with `prefix`, as [`delete_range`](Self::delete_range).
    pub fn delete_prefix(&self, prefix: impl Prefix<K>) -> Result<usize> {
        self.table.delete_range(self.place().prefix(prefix)?)
    }
}

/// A table whose pairs expire. A time to live of `None` is for ever.
impl<K: Key, V: Value> TypedTable<K, V, ExpiringTable> {
    write_verbs!(
        (&self) self,
        (key: K::Borrowed<'_>, value: V::Borrowed<'_>, ttl: impl Into<Option<Duration>>) -> bool,
        "; whether it was."
    );

    fn write(
        &self,
        write: Write,
        key: K::Borrowed<'_>,
        value: V::Borrowed<'_>,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<bool> {
        let (key, value) = self.place().pair::<K, V>(key, value)?;
        self.table.write(write, key, value, ttl)
    }

    /// How long a pair still lives.
    pub fn ttl(&self, key: K::Borrowed<'_>) -> Result<Ttl> {
        self.table.ttl(self.place().key::<K>(key)?)
    }

    /// Gives a pair a new time to live. Returns whether the key was present.
    pub fn touch(&self, key: K::Borrowed<'_>, ttl: impl Into<Option<Duration>>) -> Result<bool> {
        self.table.touch(self.place().key::<K>(key)?, ttl)
    }

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&self, key: K::Borrowed<'_>) -> Result<bool> {
        self.table.delete(self.place().key::<K>(key)?)
    }
}

impl<K: Key> TypedTable<K, i64, ExpiringTable> {
    /// Adds `by` to the value, which then lives so long, and returns the sum. An absent key counts as 0.
    pub fn increment(&self, key: K::Borrowed<'_>, by: i64, ttl: impl Into<Option<Duration>>) -> Result<i64> {
        self.table.increment(self.place().key::<K>(key)?, by, ttl)
    }
}

impl<K: Key> TypedTable<K, i64> {
    /// Adds `by` to the value and returns the sum. An absent key counts as 0.
    pub fn increment(&self, key: K::Borrowed<'_>, by: i64) -> Result<i64> {
        self.table.increment(self.place().key::<K>(key)?, by)
    }

    /// [`increment`](Self::increment) for each key and amount: the sums. Stops at the first that fails.
    pub fn increment_many<'k>(
        &self,
        amounts: impl IntoIterator<Item = (K::Borrowed<'k>, i64)>,
    ) -> Result<Vec<i64>> {
        let amounts = amounts.into_iter().map(|(key, by)| Ok((self.place().key::<K>(key)?, by)));
        self.table.increment_many(&amounts.collect::<Result<Vec<_>>>()?)
    }
}

/// Pairs of a typed table, each read when its turn comes: an iterator, or a cursor.
pub struct TypedPairs<K, V, I> {
    pairs: I,
    table: String,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V, I: fmt::Debug> fmt::Debug for TypedPairs<K, V, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pairs.fmt(f)
    }
}

impl<K: Key, V: Value, I: Iterator<Item = (Vec<u8>, Vec<u8>)>> Iterator for TypedPairs<K, V, I> {
    type Item = Result<TypedPair<K, V>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.pairs.next().map(|pair| Place::Table(&self.table).read_pair::<K, V>(pair))
    }
}

impl<K: Key, V: Value, I> DoubleEndedIterator for TypedPairs<K, V, I>
where
    I: DoubleEndedIterator<Item = (Vec<u8>, Vec<u8>)>,
{
    fn next_back(&mut self) -> Option<Self::Item> {
        self.pairs.next_back().map(|pair| Place::Table(&self.table).read_pair::<K, V>(pair))
    }
}

impl<K: Key, V: Value, C: Steps> TypedPairs<K, V, C> {
    /// The next pair up.
    pub fn scan_asc_next(&mut self) -> Option<Result<TypedPair<K, V>>> {
        self.pairs.step(false).map(|pair| Place::Table(&self.table).read_pair::<K, V>(pair))
    }

    /// The next pair down.
    pub fn scan_desc_next(&mut self) -> Option<Result<TypedPair<K, V>>> {
        self.pairs.step(true).map(|pair| Place::Table(&self.table).read_pair::<K, V>(pair))
    }
}

/// Writes that take effect later and together: a [`Transaction`] or a [`Batch`].
pub trait Writes {
    /// Whether a write takes effect, where that is known at once.
    type Took;
    /// The sum of an increment, likewise.
    type Sum;
    /// Does the verb that `write` names.
    fn write(&mut self, write: Write, table: &Table, key: &[u8], value: &[u8]) -> Result<Self::Took>;
    /// Removes a pair.
    fn delete(&mut self, table: &Table, key: &[u8]) -> Result<Self::Took>;
    /// Adds to a value.
    fn increment(&mut self, table: &Table, key: &[u8], by: i64) -> Result<Self::Sum>;
}

macro_rules! writes {
    ($type:ty, $took:ty, $sum:ty) => {
        impl Writes for $type {
            type Took = $took;
            type Sum = $sum;

            fn write(&mut self, write: Write, table: &Table, key: &[u8], value: &[u8]) -> Result<$took> {
                self.write(write, table, key, value)
            }

            fn delete(&mut self, table: &Table, key: &[u8]) -> Result<$took> {
                self.delete(table, key)
            }

            fn increment(&mut self, table: &Table, key: &[u8], by: i64) -> Result<$sum> {
                self.increment(table, key, by)
            }
        }
    };
}

writes!(Transaction, bool, i64);
writes!(Batch, (), ());

/// A typed table within a transaction, or for a batch: [`TypedTable::within`].
///
/// ```
/// # use twindex_durable::{Error, Store, twindex::IndexKind};
/// # let store = Store::new();
/// let accounts = store.typed::<String, i64>("accounts", IndexKind::Hash)?;
/// accounts.insert("ada", 100)?;
/// store.transaction(|tx| {
///     let mut accounts = accounts.within(tx);
///     let all = accounts.select("ada")?.unwrap_or(0);
///     accounts.delete("ada")?;
///     accounts.increment("bob", all)?;
///     Ok::<_, Error>(())
/// })?;
/// assert_eq!(accounts.select("bob")?, Some(100));
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct TypedWrites<'w, K, V, W> {
    table: &'w TypedTable<K, V>,
    writes: &'w mut W,
}

impl<K: Key, V: Value, W: Writes> TypedWrites<'_, K, V, W> {
    write_verbs!((&mut self) self, (key: K::Borrowed<'_>, value: V::Borrowed<'_>) -> W::Took, ".");

    fn write(&mut self, write: Write, key: K::Borrowed<'_>, value: V::Borrowed<'_>) -> Result<W::Took> {
        let place = self.table.place();
        let (key, value) = place.pair::<K, V>(key, value)?;
        self.writes.write(write, &self.table.table, key.as_ref(), value.as_ref())
    }

    /// Removes the pair.
    pub fn delete(&mut self, key: K::Borrowed<'_>) -> Result<W::Took> {
        self.writes.delete(&self.table.table, self.table.place().key::<K>(key)?.as_ref())
    }
}

impl<K: Key, W: Writes> TypedWrites<'_, K, i64, W> {
    /// Adds `by` to the value. An absent key counts as 0.
    pub fn increment(&mut self, key: K::Borrowed<'_>, by: i64) -> Result<W::Sum> {
        self.writes.increment(&self.table.table, self.table.place().key::<K>(key)?.as_ref(), by)
    }
}

impl<K: Key, V: Value> TypedWrites<'_, K, V, Transaction> {
    /// The key's value, or `None` if the key is absent.
    pub fn select(&mut self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let place = self.table.place();
        let key = place.key::<K>(key)?;
        let value = self.writes.select(&self.table.table, &key)?;
        value.map(|value| place.read_value::<V>(key.as_ref(), &value)).transpose()
    }

    /// Whether the key is present.
    pub fn contains(&mut self, key: K::Borrowed<'_>) -> Result<bool> {
        self.writes.contains(&self.table.table, self.table.place().key::<K>(key)?)
    }

    /// Up to `limit` pairs of a sorted table with keys in `range`, the first ones, or the last ones from the end if `down`.
    pub fn range<'k>(
        &mut self,
        range: impl RangeBounds<K::Borrowed<'k>>,
        limit: usize,
        down: bool,
    ) -> Result<Vec<TypedPair<K, V>>> {
        let place = self.table.place();
        let pairs = self.writes.range(&self.table.table, place.bounds::<K>(&range)?, limit, down)?;
        pairs.into_iter().map(|pair| place.read_pair::<K, V>(pair)).collect()
    }
}

impl<K: Key, V: Value> TypedWrites<'_, K, V, Batch> {
    /// Has the batch done only if the key has this value, or is absent for `None`: see [`Batch::expect`].
    pub fn expect(&mut self, key: K::Borrowed<'_>, value: Option<V::Borrowed<'_>>) -> Result<()> {
        let place = self.table.place();
        let key = place.key::<K>(key)?;
        let value = value.map(|value| place.value::<V>(key.as_ref(), value)).transpose()?;
        self.writes.expect(&self.table.table, &key, value.as_ref().map(AsRef::as_ref))
    }
}

/// A cache of Rust's types, with the codecs of a [`TypedTable`].
///
/// ```
/// use std::time::Duration;
/// use twindex_cache::CacheOptions;
/// use twindex_durable::TypedCache;
///
/// let squares = TypedCache::<i64, i64>::new(CacheOptions::max_entries(1000).ttl(Duration::from_secs(60)))?;
/// squares.insert(12, 144, None)?;
/// assert_eq!(squares.get(12)?, Some(144));
/// # Ok::<(), twindex_durable::Error>(())
/// ```
pub struct TypedCache<K, V> {
    cache: Cache,
    types: PhantomData<fn() -> (K, V)>,
}

impl<K, V> Clone for TypedCache<K, V> {
    fn clone(&self) -> Self {
        Self { cache: self.cache.clone(), types: PhantomData }
    }
}

impl<K, V> fmt::Debug for TypedCache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cache.fmt(f)
    }
}

impl<K: Key, V: Value> TypedCache<K, V> {
    /// A new cache. Its label, which [`save_cache`](crate::save_cache) writes, names the codecs.
    pub fn new(options: CacheOptions) -> Result<Self> {
        let cache = Cache::new(options.label(encode_codecs(K::CODEC, V::CODEC)))?;
        Ok(Self { cache, types: PhantomData })
    }

    /// A cache that was loaded from a file. Fails if its label names other codecs.
    pub fn of(cache: Cache) -> Result<Self> {
        let bytes = (twindex::BYTES, twindex::BYTES);
        Place::Cache.check::<K, V>(decode_codecs(cache.label()).unwrap_or(bytes))?;
        Ok(Self { cache, types: PhantomData })
    }

    /// The cache of bytes, with all that does not need types, such as its statistics.
    pub fn as_cache(&self) -> &Cache {
        &self.cache
    }

    /// The value of a key.
    pub fn get(&self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let key = Place::Cache.key::<K>(key)?;
        let read = |value: &[u8]| Place::Cache.read_value::<V>(key.as_ref(), value);
        self.cache.get_with(&key, read).transpose()
    }

    /// The value of a key. It does not count as a use.
    pub fn peek(&self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let key = Place::Cache.key::<K>(key)?;
        let read = |value: &[u8]| Place::Cache.read_value::<V>(key.as_ref(), value);
        self.cache.peek_with(&key, read).transpose()
    }

    /// Whether a key is present. It does not count as a use.
    pub fn contains(&self, key: K::Borrowed<'_>) -> Result<bool> {
        Ok(self.cache.contains(Place::Cache.key::<K>(key)?))
    }

    /// How long a pair still lives.
    pub fn ttl(&self, key: K::Borrowed<'_>) -> Result<Ttl> {
        Ok(self.cache.ttl(Place::Cache.key::<K>(key)?))
    }

    /// [`get`](Self::get) for each key.
    pub fn get_many<'k>(
        &self,
        keys: impl IntoIterator<Item = K::Borrowed<'k>>,
    ) -> Result<Vec<Option<V::Owned>>> {
        let keys = Place::Cache.keys::<K>(keys)?;
        let mut values: Vec<Result<_>> = keys.iter().map(|_| Ok(None)).collect();
        self.cache.get_many(&keys, |position, value| {
            let key = keys[position].as_ref();
            values[position] = value.map(|value| Place::Cache.read_value::<V>(key, value)).transpose();
        });
        values.into_iter().collect()
    }

    /// Writes a pair, which lives for the cache's time to live. Returns whether the cache stored it.
    pub fn upsert(&self, key: K::Borrowed<'_>, value: V::Borrowed<'_>) -> Result<bool> {
        let (key, value) = Place::Cache.pair::<K, V>(key, value)?;
        Ok(self.cache.upsert(key, value)?)
    }

    /// Writes a pair that lives for so long; [`Duration::MAX`] is for ever.
    pub fn upsert_for(&self, key: K::Borrowed<'_>, value: V::Borrowed<'_>, ttl: Duration) -> Result<bool> {
        let (key, value) = Place::Cache.pair::<K, V>(key, value)?;
        Ok(self.cache.upsert_for(key, value, ttl)?)
    }

    /// Writes a pair if its key is absent. Returns whether it was. `ttl` is as for [`upsert_many`](Self::upsert_many).
    pub fn insert(
        &self,
        key: K::Borrowed<'_>,
        value: V::Borrowed<'_>,
        ttl: Option<Duration>,
    ) -> Result<bool> {
        let (key, value) = Place::Cache.pair::<K, V>(key, value)?;
        Ok(self.cache.insert(key, value, ttl)?)
    }

    /// Writes a pair if its key is present. Returns whether it was. `ttl` is as for [`upsert_many`](Self::upsert_many).
    pub fn replace(
        &self,
        key: K::Borrowed<'_>,
        value: V::Borrowed<'_>,
        ttl: Option<Duration>,
    ) -> Result<bool> {
        let (key, value) = Place::Cache.pair::<K, V>(key, value)?;
        Ok(self.cache.replace(key, value, ttl)?)
    }

    /// Writes pairs. Returns for each whether the cache stored it. `ttl` is how long they live: `None` is the cache's time to live.
    pub fn upsert_many<'k, 'v>(
        &self,
        pairs: impl IntoIterator<Item = (K::Borrowed<'k>, V::Borrowed<'v>)>,
        ttl: Option<Duration>,
    ) -> Result<Vec<bool>> {
        Ok(self.cache.upsert_many(&Place::Cache.pairs::<K, V>(pairs)?, ttl)?)
    }

    /// Removes a pair. Returns whether the key was present.
    pub fn remove(&self, key: K::Borrowed<'_>) -> Result<bool> {
        Ok(self.cache.remove(Place::Cache.key::<K>(key)?))
    }

    /// Removes a pair and returns its value.
    pub fn take(&self, key: K::Borrowed<'_>) -> Result<Option<V::Owned>> {
        let key = Place::Cache.key::<K>(key)?;
        let value = self.cache.take(&key);
        value.map(|value| Place::Cache.read_value::<V>(key.as_ref(), &value)).transpose()
    }

    /// Gives a pair a new time to live: `None` is the cache's, [`Duration::MAX`] for ever. Returns whether it is present.
    pub fn touch(&self, key: K::Borrowed<'_>, ttl: Option<Duration>) -> Result<bool> {
        Ok(self.cache.touch(Place::Cache.key::<K>(key)?, ttl)?)
    }

    /// The value of a key. If it is absent, one caller computes it, and the others wait: see [`Cache::get_or_compute`].
    pub fn get_or_compute<E: From<Error> + Send + Sync + 'static>(
        &self,
        key: K::Borrowed<'_>,
        compute: impl FnOnce() -> std::result::Result<V::Owned, E>,
    ) -> std::result::Result<V::Owned, ComputeError<E>> {
        let failed = |error: Error| ComputeError::Failed(Arc::new(error.into()));
        let key = Place::Cache.key::<K>(key).map_err(failed)?;
        let encoded = || {
            let value = compute()?;
            Ok::<_, E>(Place::Cache.value::<V>(key.as_ref(), V::borrow(&value))?.as_ref().to_vec())
        };
        let value = self.cache.get_or_compute(&key, encoded)?;
        Place::Cache.read_value::<V>(key.as_ref(), &value).map_err(failed)
    }

    /// All pairs, in no order.
    pub fn iter(&self) -> impl Iterator<Item = Result<TypedPair<K, V>>> + use<K, V> {
        self.cache.iter().map(|pair| Place::Cache.read_pair::<K, V>(pair))
    }
}

impl<K: Key> TypedCache<K, i64> {
    /// Adds to a value; an absent one counts as 0. Returns the new value.
    pub fn increment(&self, key: K::Borrowed<'_>, by: i64) -> Result<i64> {
        Ok(self.cache.increment(Place::Cache.key::<K>(key)?, by)?)
    }
}
