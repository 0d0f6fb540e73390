//! What makes a cache a mapping.

use std::sync::Arc;

use pyo3::IntoPyObjectExt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyMapping;

use super::Cache;
use crate::arguments::Given;
use crate::error::{self, Result};
use crate::memory::check_memory;
use crate::objects::Pair;
use crate::scan::{Scan, Yields};
use crate::views::{is_equal, items_view, keys_view, values_view};

impl Cache {
    /// Removes the pair and returns its value. A value that cannot be read stays.
    fn take<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
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

    fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
        self.upsert(key, value, None).map(drop)
    }

    fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Result<()> {
        if self.delete(key)? { Ok(()) } else { Err(error::missing(key)) }
    }

    fn __contains__(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        self.contains(key)
    }

    /// The number of pairs. One that has expired is never shown, but counts until a later write removes it.
    fn __len__(&self) -> Result<usize> {
        Ok(self.open()?.len())
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

    /// Removes the key and returns its value; where it is absent returns `default`, or raises `KeyError` where that is not
    /// given. `on_evict` is not told.
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
            if self.write(py, value.len(), |cache| cache.insert(&key, &value))? {
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
        Ok(is_equal(&items_view(slf)?, other)?.into_bound_py_any(py)?)
    }
}
