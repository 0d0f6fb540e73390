//! What makes a cache a mapping.

use pyo3::{IntoPyObjectExt, intern};

use super::Cache;
use crate::prelude::*;

impl Cache {
    fn iterate(&self, py: Python<'_>, yields: Yields) -> Result<Scan> {
        check_memory()?;
        Ok(Scan::over_cache(self.open()?, self.codecs.clone_ref(py), yields))
    }

    /// The key of some pair, if there is one: one that follows those that `popitem` has removed.
    fn any_key(&self, py: Python<'_>) -> Result<Option<Vec<u8>>> {
        let cache = self.open()?;
        Ok(self.popping.with(py, |popping| {
            let mut rest = popping.take().filter(|rest| !rest.is_foreign());
            let mut found = rest.as_mut().and_then(|rest| rest.next());
            if found.is_none() {
                let all = rest.insert(Inherited::new(cache.iter()));
                found = all.next();
            }
            *popping = rest;
            found.map(|(key, _)| key)
        }))
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
        while let Some(key) = self.any_key(py)? {
            let object = self.codecs.keys.decode(py, &key)?;
            if let Some(value) = self.remove(py, &key)? {
                return Ok(Pair(object, value));
            }
            py.check_signals()?;
        }
        Err(error::missing(&"the cache is empty".into_bound_py_any(py)?).without_context(py)?)
    }
}
