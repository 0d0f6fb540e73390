//! What makes a table a mapping.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use twindex::IndexKind;

use super::Table;
use crate::arguments::Position;
use crate::error::{self, Result};
use crate::memory::check_memory;
use crate::objects::Pair;
use crate::scan::{Scan, Yields};

impl Table {
    /// Removes the pair and returns its value. A value that cannot be read stays.
    pub(super) fn take<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
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

    /// Removes a pair and returns it; raises `KeyError` where there is none.
    ///
    /// From a sorted table that is the pair at a position, as `peekitem` takes it: the last one by default. A hash table
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
                (IndexKind::Hash, None) => self.any_key(py),
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
}
