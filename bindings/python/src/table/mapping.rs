//! What makes a table a mapping.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use twindex::Index;

use super::Table;
use crate::arguments::{Given, Position};
use crate::error::{self, Result};
use crate::memory::check_memory;
use crate::objects::Pair;
use crate::scan::{Scan, Yields};
use crate::views::{is_equal, items_view, keys_view, values_view};

impl Table {
    /// Removes the pair and returns its value. A value that cannot be read stays.
    fn take<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
        loop {
            let Some(bytes) = self.open()?.in_memory().select_shared(key) else { return Ok(None) };
            let value = self.codecs.values.decode(py, &bytes)?;
            if self.change(py, 0, |table| table.compare_and_swap(key, Some(&bytes), None))? {
                return Ok(Some(value));
            }
            py.check_signals()?;
        }
    }

    /// The key of some pair of a hash table, if there is one.
    fn any_key(&self, py: Python<'_>) -> Option<Vec<u8>> {
        let table = self.engine.in_memory();
        let walk = |from: u64, keys: &mut Vec<Vec<u8>>| table.walk(from, |key, _| keys.push(key.to_vec()));
        self.popping.with(py, |popping| popping.any_key(walk))
    }

    fn iterate(&self, py: Python<'_>, yields: Yields) -> Result<Scan> {
        check_memory()?;
        Ok(Scan::over_table(
            Arc::clone(&self.store),
            self.open()?.in_memory(),
            self.codecs.clone_ref(py),
            yields,
        ))
    }

    fn iterate_back(&self, py: Python<'_>, yields: Yields) -> Result<Scan> {
        check_memory()?;
        let cursor = self.open()?.cursor(..)?;
        Ok(Scan::over_range(Arc::clone(&self.store), cursor, self.codecs.clone_ref(py), yields, true, None))
    }
}

#[pymethods]
impl Table {
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

    fn __iter__(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Keys)
    }

    fn __reversed__(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate_back(py, Yields::Keys)
    }

    /// The pairs, without the key look-ups of `collections.abc.ItemsView`.
    #[pyo3(signature = (*, reverse=false))]
    fn _iterate_items(&self, py: Python<'_>, reverse: bool) -> Result<Scan> {
        if reverse { self.iterate_back(py, Yields::Pairs) } else { self.iterate(py, Yields::Pairs) }
    }

    /// The values, without the key look-ups of `collections.abc.ValuesView`.
    #[pyo3(signature = (*, reverse=false))]
    fn _iterate_values(&self, py: Python<'_>, reverse: bool) -> Result<Scan> {
        if reverse { self.iterate_back(py, Yields::Values) } else { self.iterate(py, Yields::Values) }
    }

    /// A set-like view of the keys.
    fn keys<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        keys_view(slf)
    }

    /// A view of the values.
    fn values<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        values_view(slf)
    }

    /// A set-like view of the pairs.
    fn items<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
        items_view(slf)
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
        match (self.take(key.py(), self.codecs.keys.encode_sought(key)?.as_ref())?, default) {
            (Some(value), _) => Ok(value),
            (None, Given::Object(default)) => Ok(default.to_owned()),
            (None, Given::Nothing) => Err(error::missing(key)),
        }
    }

    /// Removes a pair and returns it; raises `KeyError` where there is none.
    ///
    /// From a sorted table that is the pair at a position, as `peekitem` takes it: the last one unless told. A hash table
    /// takes no position and gives any pair.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int")
    /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
    /// >>> log.popitem(), log.popitem(index=0)
    /// ((30, 'c'), (10, 'a'))
    #[pyo3(signature = (*, index=None))]
    fn popitem<'py>(&self, py: Python<'py>, index: Option<Position>) -> Result<Pair<'py>> {
        loop {
            let table = self.open()?;
            if table.is_empty() {
                return Err(error::missing(&"the table is empty".into_bound_py_any(py)?));
            }
            let key = match (table.index(), index) {
                (Index::Hash, None) => self.any_key(py),
                (_, index) => match self.at(py, index.unwrap_or(Position::LAST), |key, _| key.to_vec()) {
                    Err(_) if table.is_empty() => None,
                    found => Some(found?),
                },
            };
            if let Some(key) = key {
                let object = self.codecs.keys.decode(py, &key)?;
                if let Some(value) = self.take(py, &key)? {
                    return Ok(Pair(object, value));
                }
            }
            py.check_signals()?;
        }
    }

    /// The key's value; where it is absent gives it the value `default` first. What it returns is always what is stored.
    #[pyo3(signature = (key, default=None, /))]
    fn setdefault<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = key.py();
        loop {
            if let Some(value) = self.find(key)? {
                return Ok(value);
            }
            let default = default.map_or_else(|| py.None().into_bound(py), Clone::clone);
            let (key, value) = (self.codecs.keys.encode(key)?, self.codecs.values.encode(&default)?);
            if self.write(py, value.len(), |table| table.insert(&key, &value))? {
                return self.codecs.values.decode(py, value.as_ref());
            }
            py.check_signals()?;
        }
    }

    fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = slf.py();
        if other.cast::<PyMapping>().is_err() {
            return Ok(py.NotImplemented().into_bound(py));
        }
        Ok(is_equal(&Self::items(slf)?, other)?.into_bound_py_any(py)?)
    }
}
