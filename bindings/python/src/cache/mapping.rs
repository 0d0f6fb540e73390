//! What makes a cache a mapping.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;

use super::Cache;
use crate::error::{self, Result};
use crate::memory::check_memory;
use crate::objects::Pair;
use crate::scan::{Scan, Yields};

impl Cache {
    /// Removes the pair and returns its value. A value that cannot be read stays.
    pub(super) fn take<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
        self.open()?.forget(Some(key));
        loop {
            let Some(bytes) = self.open()?.peek(key) else { return Ok(None) };
            let value = self.codecs.values.decode(py, &bytes)?;
            if self.swap(py, key, Some(&bytes), None)? {
                return Ok(Some(value));
            }
            py.check_signals()?;
        }
    }

    fn iterate(&self, py: Python<'_>, yields: Yields) -> Result<Scan> {
        check_memory()?;
        Ok(Scan::over_cache(Arc::clone(&self.store), self.open()?, self.codecs.clone_ref(py), yields))
    }
}

/// What `cache[key]` is where the key is absent: a subclass may say, as those of `dict` do.
#[cold]
fn absent<'py>(cache: &Bound<'py, Cache>, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    match cache.get_type().getattr_opt(intern!(key.py(), "__missing__"))? {
        Some(missing) => Ok(missing.call1((cache, key))?),
        None => Err(error::missing(key)),
    }
}

#[pymethods]
impl Cache {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        match slf.get().find(key)? {
            Some(value) => Ok(value),
            None => absent(slf, key),
        }
    }

    fn __iter__(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Keys)
    }

    #[pyo3(signature = ())]
    fn _iterate_items(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Pairs)
    }

    #[pyo3(signature = ())]
    fn _iterate_values(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Values)
    }

    /// Removes some pair and returns it; raises `KeyError` where there is none.
    fn popitem<'py>(&self, py: Python<'py>) -> Result<Pair<'py>> {
        loop {
            let cache = self.open()?;
            let walk =
                |from: u64, keys: &mut Vec<Vec<u8>>| cache.walk(from, |key, _, _| keys.push(key.to_vec()));
            let Some(key) = self.popping.with(py, |popping| popping.any_key(walk)) else {
                let empty = error::missing(&"the cache is empty".into_bound_py_any(py)?);
                return Err(empty.without_context(py)?);
            };
            let object = self.codecs.keys.decode(py, &key)?;
            if let Some(value) = self.take(py, &key)? {
                return Ok(Pair(object, value));
            }
            py.check_signals()?;
        }
    }
}
