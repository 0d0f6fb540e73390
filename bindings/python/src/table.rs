//! The class `Table`.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyList, PyMapping};
use twindex::Change;

use crate::arena::Arena;
use crate::arguments::{Amount, Count, Given};
use crate::batch::{Groups, items};
use crate::codec::{KeyCodec, ValueCodec, integer};
use crate::cursor::Cursor;
use crate::encoded::Encoded;
use crate::error::{self, Result};
use crate::range::Range;
use crate::scan::{Scan, Yields};
use crate::store::Shared;

/// So many values at a time are read outside the interpreter: enough to make leaving it cheap, few enough
/// to stay in the processor's cache until they are objects.
const READ_AT_ONCE: usize = 1024;

/// A named set of pairs under one index: a mapping, with the verbs of Twindex on top.
///
/// `Store.table` opens one.
///
/// >>> store = Store()
/// >>> users = store.table("users", keys="str", values="json")
/// >>> users["ada"] = {"born": 1815}
/// >>> users["ada"], "bob" in users, len(users)
/// ({'born': 1815}, False, 1)
/// >>> users.update({"ada": 1, "bob": 2})      # as dict.update
/// >>> users.update("carol", 3)                # the verb: only where the key is present
/// False
/// >>> del users["bob"]
/// >>> dict(users)
/// {'ada': 1}
///
/// Reading and writing while other code iterates is fine: a pair that is there all the while comes exactly
/// once, one that is written meanwhile may come or not.
#[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
pub(crate) struct Table {
    store: Arc<Shared>,
    engine: twindex::Table,
    keys: KeyCodec,
    values: ValueCodec,
}

type KeyAndValue<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

impl Table {
    pub(crate) fn new(
        store: Arc<Shared>,
        engine: twindex::Table,
        keys: KeyCodec,
        values: ValueCodec,
    ) -> Self {
        Self { store, engine, keys, values }
    }

    #[inline]
    fn open(&self) -> Result<&twindex::Table> {
        self.store.check_open()?;
        Ok(&self.engine)
    }

    #[inline]
    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let table = self.open()?;
        let key = self.keys.encode(key)?;
        match table.select_with(&key, |value| self.values.make(py, value)) {
            Some(made) => self.values.finish(made?).map(Some),
            None => Ok(None),
        }
    }

    /// Removes the pair and returns its value. A value that cannot be read stays.
    fn take<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let key = self.keys.encode(key)?;
        loop {
            let table = self.open()?;
            let Some(bytes) = table.select(&key) else { return Ok(None) };
            let value = self.values.decode(py, &bytes)?;
            if table.compare_and_swap(&key, Some(&bytes), None)? {
                return Ok(Some(value));
            }
            py.check_signals()?;
        }
    }

    /// One try at `alter`; `None` where another write came in between.
    fn try_alter(&self, key: &Encoded<'_>, change: &Bound<'_, PyAny>) -> Result<Option<bool>> {
        let py = change.py();
        let bytes = self.open()?.select(key);
        let value = bytes.as_deref().map(|bytes| self.values.decode(py, bytes)).transpose()?;
        let new = change.call1((value,))?;
        let new = self.values.encode_present(&new)?;
        let (old, new) = (bytes.as_deref(), new.as_ref().map(AsRef::as_ref));
        let table = self.open()?;
        if old == new {
            return Ok(Some(table.alter(key, |_| Change::Keep)?));
        }
        Ok(table.compare_and_swap(key, old, new)?.then_some(true))
    }

    fn encode_keys<'a>(&self, keys: &'a [Bound<'_, PyAny>]) -> Result<Vec<Encoded<'a>>> {
        let mut encoded = Vec::with_capacity(keys.len());
        for key in keys {
            encoded.push(self.keys.encode(key)?);
        }
        Ok(encoded)
    }

    /// Converts pairs, then writes them by `write` outside the interpreter.
    fn write_many(
        &self,
        py: Python<'_>,
        pairs: &Groups<'_, 2>,
        write: impl Send + FnOnce(&twindex::Table, &[(Encoded<'_>, Encoded<'_>)]) -> twindex::Result<Vec<bool>>,
    ) -> Result<Vec<bool>> {
        let mut encoded = Vec::with_capacity(pairs.len());
        for [key, value] in pairs.iter() {
            encoded.push((self.keys.encode(key)?, self.values.encode(value)?));
        }
        let table = self.open()?;
        Ok(py.detach(|| write(table, &encoded))?)
    }

    fn iterate(&self, yields: Yields) -> Result<Scan> {
        let table = self.open()?;
        Ok(Scan::over_table(Arc::clone(&self.store), table, (self.keys, self.values), yields))
    }

    fn cursor_over(&self, range: &Range<'_, '_>) -> Result<twindex::Cursor> {
        range.cursor(self.open()?, self.keys)
    }
}

#[pymethods]
impl Table {
    /// The name it has in its store.
    #[getter]
    fn name(&self) -> &str {
        self.engine.name()
    }

    /// The index it was created with, "hash" or "sorted".
    #[getter]
    fn index(&self) -> &'static str {
        self.engine.index().name()
    }

    /// The bytes that this table holds.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.open()?.memory())
    }

    // --- write verbs

    /// Adds the pair where the key is absent; whether it was.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert(b"ada", b"1815"), users.insert(b"ada", b"1852")
    /// (True, False)
    #[pyo3(signature = (key, value, /))]
    fn insert(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let table = self.open()?;
        Ok(table.insert(self.keys.encode(key)?, self.values.encode(value)?)?)
    }

    /// With a key and a value: replaces the value where the key is present; whether it was.
    ///
    /// >>> users = Store().table("users", keys="str", values="int")
    /// >>> users.update("ada", 1815)
    /// False
    ///
    /// With anything else: writes the pairs of a mapping or an iterable and of the keywords, as `dict`
    /// does, all of them converted before the first is written.
    ///
    /// >>> users.update([("ada", 1815)], bob=1900)
    /// >>> sorted(users.items())
    /// [('ada', 1815), ('bob', 1900)]
    #[pyo3(
        signature = (key_or_pairs=Given::Nothing, value=Given::Nothing, /, **keywords),
        text_signature = "($self, key_or_pairs=(), value=..., /, **keywords)"
    )]
    fn update(
        &self,
        py: Python<'_>,
        key_or_pairs: Given<'_, '_>,
        value: Given<'_, '_>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> Result<Option<bool>> {
        match (key_or_pairs, value, keywords) {
            (Given::Object(key), Given::Object(value), None) => {
                let table = self.open()?;
                Ok(Some(table.update(self.keys.encode(&key)?, self.values.encode(&value)?)?))
            }
            (_, Given::Object(_), Some(_)) => {
                Err(error::misuse("update() takes a key and a value, or pairs and keywords"))
            }
            (source, _, keywords) => {
                let mut pairs = match source {
                    Given::Object(source) => Groups::pairs("pairs", &source)?,
                    Given::Nothing => Groups::default(),
                };
                if let Some(keywords) = keywords {
                    pairs.extend_by_dict(keywords);
                }
                self.write_many(py, &pairs, |table, pairs| table.upsert_many(pairs))?;
                Ok(None)
            }
        }
    }

    /// Gives the key this value, present or not. Always takes effect, so always True.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.upsert(b"ada", b"1815"), users.upsert(b"ada", b"1852")
    /// (True, True)
    #[pyo3(signature = (key, value, /))]
    fn upsert(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let table = self.open()?;
        Ok(table.upsert(self.keys.encode(key)?, self.values.encode(value)?)?)
    }

    /// Removes the pair; whether it was there.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.delete(b"ada")
    /// False
    #[pyo3(signature = (key, /))]
    fn delete(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.delete(self.keys.encode(key)?)?)
    }

    /// Removes all pairs. Those that other threads write meanwhile may stay.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        let table = self.open()?;
        Ok(py.detach(|| table.clear())?)
    }

    // --- read verbs

    /// The key's value, or None where the key is absent.
    ///
    /// >>> users = Store().table("users")
    /// >>> users[b"ada"] = b"1815"
    /// >>> users.select(b"ada"), users.select(b"bob")
    /// (b'1815', None)
    #[pyo3(signature = (key, /))]
    fn select<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        self.find(key)
    }

    /// Whether the key is there.
    #[pyo3(signature = (key, /))]
    fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.contains(self.keys.encode(key)?))
    }

    // --- read, change and write as one step

    /// Calls `change` with the key's value, or None where the key is absent, and gives the key the value
    /// that it returns, None removing the pair; whether a pair was written or removed. Returning an equal
    /// value changes nothing.
    ///
    /// `change` may use the store. Where another write to the key came in between, it is called again.
    ///
    /// >>> lists = Store().table("lists", keys="str", values="json")
    /// >>> lists.alter("primes", lambda found: (found or []) + [2])
    /// True
    /// >>> lists["primes"]
    /// [2]
    /// >>> lists.alter("primes", lambda found: None), len(lists)
    /// (True, 0)
    #[pyo3(signature = (key, change, /))]
    fn alter(&self, key: &Bound<'_, PyAny>, change: &Bound<'_, PyAny>) -> Result<bool> {
        if !change.is_callable() {
            return Err(error::wrong_type("change", "callable", change));
        }
        let key = self.keys.encode(key)?;
        loop {
            if let Some(took_effect) = self.try_alter(&key, change)? {
                return Ok(took_effect);
            }
            change.py().check_signals()?;
        }
    }

    /// Adds `by` to the value, decimal text in whatever codec, and returns the sum. An absent key counts
    /// as 0.
    ///
    /// >>> hits = Store().table("hits", keys="str", values="int")
    /// >>> hits.increment("/"), hits.increment("/", 10), hits["/"]
    /// (1, 11, 11)
    #[pyo3(signature = (key, by=Amount(1), /), text_signature = "($self, key, by=1, /)")]
    fn increment(&self, key: &Bound<'_, PyAny>, by: Amount) -> Result<i64> {
        Ok(self.open()?.increment(self.keys.encode(key)?, by.0)?)
    }

    /// Gives the key the value `new`, or removes it for None, where its value is `expected`, None standing
    /// for absent; whether it was.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.compare_and_swap(b"ada", None, b"1"), users.compare_and_swap(b"ada", b"2", b"3")
    /// (True, False)
    #[pyo3(signature = (key, expected, new, /))]
    fn compare_and_swap(
        &self,
        key: &Bound<'_, PyAny>,
        expected: &Bound<'_, PyAny>,
        new: &Bound<'_, PyAny>,
    ) -> Result<bool> {
        let key = self.keys.encode(key)?;
        let expected = self.values.encode_present(expected)?;
        let new = self.values.encode_present(new)?;
        let (expected, new) = (expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref));
        Ok(self.open()?.compare_and_swap(key, expected, new)?)
    }

    // --- the same over many, outside the interpreter's lock

    /// `insert` for each pair of a mapping or an iterable: whether each took effect.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert_many([(b"ada", b"1815"), (b"bob", b"1900"), (b"ada", b"1852")])
    /// [True, True, False]
    #[pyo3(signature = (pairs, /))]
    fn insert_many(&self, pairs: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let groups = Groups::pairs("pairs", pairs)?;
        self.write_many(pairs.py(), &groups, |table, pairs| table.insert_many(pairs))
    }

    /// `update` for each pair of a mapping or an iterable: whether each took effect.
    #[pyo3(signature = (pairs, /))]
    fn update_many(&self, pairs: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let groups = Groups::pairs("pairs", pairs)?;
        self.write_many(pairs.py(), &groups, |table, pairs| table.update_many(pairs))
    }

    /// `upsert` for each pair of a mapping or an iterable: whether each took effect.
    #[pyo3(signature = (pairs, /))]
    fn upsert_many(&self, pairs: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let groups = Groups::pairs("pairs", pairs)?;
        self.write_many(pairs.py(), &groups, |table, pairs| table.upsert_many(pairs))
    }

    /// `delete` for each key: whether each took effect.
    #[pyo3(signature = (keys, /))]
    fn delete_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let py = keys.py();
        let keys = items("keys", keys)?;
        let keys = self.encode_keys(&keys)?;
        let table = self.open()?;
        Ok(py.detach(|| table.delete_many(&keys))?)
    }

    /// The value of each key, None for those that are absent.
    ///
    /// >>> users = Store().table("users")
    /// >>> users[b"ada"] = b"1815"
    /// >>> users.select_many([b"ada", b"bob"])
    /// [b'1815', None]
    #[pyo3(signature = (keys, /))]
    fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
        let py = keys.py();
        let keys = items("keys", keys)?;
        let mut values = Vec::with_capacity(keys.len());
        let mut arena = Arena::default();
        for keys in keys.chunks(READ_AT_ONCE) {
            let keys = self.encode_keys(keys)?;
            let table = self.open()?;
            arena.clear();
            py.detach(|| {
                table.select_many(&keys, |_, value| match value {
                    Some(value) => arena.push(value),
                    None => arena.push_absent(),
                });
            });
            for value in arena.iter() {
                values.push(value.map(|value| self.values.decode(py, value)).transpose()?);
            }
        }
        self.store.check_open()?;
        Ok(PyList::new(py, values)?)
    }

    /// Whether each key is there.
    #[pyo3(signature = (keys, /))]
    fn contains_many(&self, keys: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let py = keys.py();
        let keys = items("keys", keys)?;
        let keys = self.encode_keys(&keys)?;
        let table = self.open()?;
        Ok(py.detach(|| table.contains_many(&keys)))
    }

    /// `increment` for each key and amount of a mapping or an iterable: the sums. Stops at the first that
    /// fails.
    ///
    /// >>> hits = Store().table("hits", keys="str", values="int")
    /// >>> hits.increment_many([("/", 1), ("/", 10)])
    /// [1, 11]
    #[pyo3(signature = (amounts, /))]
    fn increment_many(&self, amounts: &Bound<'_, PyAny>) -> Result<Vec<i64>> {
        let py = amounts.py();
        let amounts = Groups::pairs("amounts", amounts)?;
        let amounts = amounts
            .iter()
            .map(|[key, by]| Ok((self.keys.encode(key)?, integer("amount", by)?)))
            .collect::<Result<Vec<_>>>()?;
        let table = self.open()?;
        Ok(py.detach(|| table.increment_many(&amounts))?)
    }

    /// `compare_and_swap` for each key, expected and new value: whether each took effect.
    #[pyo3(signature = (swaps, /))]
    fn compare_and_swap_many(&self, swaps: &Bound<'_, PyAny>) -> Result<Vec<bool>> {
        let py = swaps.py();
        let swaps = Groups::<3>::new("swaps", swaps)?;
        let swaps = swaps
            .iter()
            .map(|[key, expected, new]| {
                let (expected, new) =
                    (self.values.encode_present(expected)?, self.values.encode_present(new)?);
                Ok((self.keys.encode(key)?, expected, new))
            })
            .collect::<Result<Vec<_>>>()?;
        let swaps: Vec<twindex::Swap<'_, &Encoded<'_>>> = swaps
            .iter()
            .map(|(key, expected, new)| {
                (key, expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref))
            })
            .collect();
        let table = self.open()?;
        Ok(py.detach(|| table.compare_and_swap_many(&swaps))?)
    }

    // --- order

    /// A cursor over the keys from `gt` (without it) or `gte` (with it) to `lt` or `lte`, or over those
    /// that start with `prefix`. Needs a sorted table.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="str", values="str")
    /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
    /// >>> cursor = log.cursor(lt="2027")
    /// >>> cursor.scan_asc_next(), cursor.scan_asc_next(), cursor.scan_asc_next()
    /// (('2026-11-01', 'a'), ('2026-11-02', 'b'), None)
    #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None))]
    fn cursor(
        &self,
        gt: Option<&Bound<'_, PyAny>>,
        gte: Option<&Bound<'_, PyAny>>,
        lt: Option<&Bound<'_, PyAny>>,
        lte: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
    ) -> Result<Cursor> {
        let cursor = self.cursor_over(&Range { gt, gte, lt, lte, prefix })?;
        Ok(Cursor::new(Arc::clone(&self.store), cursor, self.keys, self.values))
    }

    /// An iterator over the pairs of a range, as `cursor` takes it, in the order of the keys or the other
    /// way, at most `limit` of them. It reads ahead by up to 256 pairs.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int", values="str")
    /// >>> log.update([(3, "c"), (-1, "a"), (2, "b")])
    /// >>> list(log.scan(gte=0)), list(log.scan(reverse=True, limit=1))
    /// ([(2, 'b'), (3, 'c')], [(3, 'c')])
    #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=false, limit=None))]
    #[allow(clippy::too_many_arguments, reason = "they are keywords")]
    fn scan(
        &self,
        gt: Option<&Bound<'_, PyAny>>,
        gte: Option<&Bound<'_, PyAny>>,
        lt: Option<&Bound<'_, PyAny>>,
        lte: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        reverse: bool,
        limit: Option<Count>,
    ) -> Result<Scan> {
        let cursor = self.cursor_over(&Range { gt, gte, lt, lte, prefix })?;
        let codecs = (self.keys, self.values);
        let limit = limit.map(|Count(pairs)| pairs);
        Ok(Scan::over_range(Arc::clone(&self.store), cursor, codecs, Yields::Pairs, reverse, limit))
    }

    // --- a mapping

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        self.find(key)?.ok_or_else(|| error::missing(key))
    }

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        self.upsert(key, value).map(drop)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Result<()> {
        if self.delete(key)? { Ok(()) } else { Err(error::missing(key)) }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        self.contains(key)
    }

    fn __len__(&self) -> Result<usize> {
        Ok(self.open()?.len())
    }

    fn __iter__(&self) -> Result<Scan> {
        self.iterate(Yields::Keys)
    }

    fn __reversed__(&self) -> Result<Scan> {
        let cursor = self.open()?.try_cursor(..)?;
        let codecs = (self.keys, self.values);
        Ok(Scan::over_range(Arc::clone(&self.store), cursor, codecs, Yields::Keys, true, None))
    }

    /// The pairs, without the key look-ups of `collections.abc.ItemsView`.
    fn _iterate_items(&self) -> Result<Scan> {
        self.iterate(Yields::Pairs)
    }

    /// The values, without the key look-ups of `collections.abc.ValuesView`.
    fn _iterate_values(&self) -> Result<Scan> {
        self.iterate(Yields::Values)
    }

    /// A set-like view of the keys.
    fn keys<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        VIEW.import(slf.py(), "twindex._views", "KeysView")?.call1((slf,))
    }

    /// A view of the values.
    fn values<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        VIEW.import(slf.py(), "twindex._views", "ValuesView")?.call1((slf,))
    }

    /// A set-like view of the pairs.
    fn items<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        VIEW.import(slf.py(), "twindex._views", "ItemsView")?.call1((slf,))
    }

    /// The key's value, or `default` where the key is absent.
    #[pyo3(signature = (key, default=None, /))]
    fn get<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        Ok(self.find(key)?.or(default))
    }

    /// Removes the key and returns its value; where it is absent returns `default`, or raises `KeyError`
    /// where that is not given.
    #[pyo3(
        signature = (key, default=Given::Nothing, /),
        text_signature = "($self, key, default=..., /)"
    )]
    fn pop<'py>(&self, key: &Bound<'py, PyAny>, default: Given<'_, 'py>) -> Result<Bound<'py, PyAny>> {
        match (self.take(key)?, default) {
            (Some(value), _) => Ok(value),
            (None, Given::Object(default)) => Ok(default.to_owned()),
            (None, Given::Nothing) => Err(error::missing(key)),
        }
    }

    /// Removes some pair and returns it, that with the least key from a sorted table; raises `KeyError`
    /// where there is none.
    fn popitem<'py>(&self, py: Python<'py>) -> Result<KeyAndValue<'py>> {
        loop {
            let table = self.open()?;
            let Some((key, value)) = table.iter().next() else {
                return Err(error::missing(&"the table is empty".into_bound_py_any(py)?));
            };
            let pair = (self.keys.make(py, &key)?, self.values.decode(py, &value)?);
            if table.compare_and_swap(&key, Some(&value), None)? {
                return Ok(pair);
            }
            py.check_signals()?;
        }
    }

    /// The key's value; where it is absent gives it the value `default` and returns that.
    #[pyo3(signature = (key, default=None, /))]
    fn setdefault<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        loop {
            if let Some(value) = self.find(key)? {
                return Ok(value);
            }
            let default = default.map_or_else(|| key.py().None().into_bound(key.py()), Clone::clone);
            if self.insert(key, &default)? {
                return Ok(default);
            }
            key.py().check_signals()?;
        }
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        if other.cast::<PyMapping>().is_err() {
            return Ok(py.NotImplemented().into_bound(py));
        }
        let as_dict = |mapping: &Bound<'py, PyAny>| {
            let dict = PyDict::new(py);
            for pair in Groups::pairs("pairs", mapping)?.iter() {
                let [key, value] = pair;
                dict.set_item(&**key, &**value)?;
            }
            PyResult::Ok(dict)
        };
        let equal = as_dict(&Self::items(slf)?)?.eq(as_dict(&other.call_method0("items")?)?)?;
        equal.into_bound_py_any(py)
    }

    fn __repr__(&self) -> String {
        let (name, index) = (self.name(), self.index());
        match self.open() {
            Ok(table) => format!("<twindex.Table {name:?}: {index}, {} pairs>", table.len()),
            Err(_) => format!("<twindex.Table {name:?}: {index}, closed>"),
        }
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        Err(error::misuse(
            "a Table cannot be pickled or copied; Store.load(store.dump()) is a copy of its store",
        ))
    }
}
