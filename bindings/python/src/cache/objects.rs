//! The Python objects of a store's caches.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};

use super::listener::Listener;
use crate::error::Result;
use crate::objects;

/// By a cache's name what is being computed for it, and its listener. All handles of a store share one dict, and each has a
/// reference to it that the garbage collector sees. What the engine held would be invisible, and never freed.
pub(crate) struct CacheObjects(Py<PyDict>);

impl CacheObjects {
    pub(crate) fn new(py: Python<'_>) -> Result<Self> {
        Ok(Self(objects::dict(py)?.unbind()))
    }

    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self(self.0.clone_ref(py))
    }

    /// What is being computed for the cache of this name, by encoded key. A new cache brings a listener, or none.
    pub(crate) fn flights(
        &self,
        py: Python<'_>,
        cache: &str,
        listener: Option<Py<Listener>>,
    ) -> Result<Py<PyDict>> {
        let found = self.0.bind(py).get_item(cache)?;
        let flights = match &found {
            Some(pair) => pair.cast::<PyTuple>().map_err(PyErr::from)?.get_item(0)?,
            None => objects::dict(py)?.into_any(),
        };
        if found.is_none() || listener.is_some() {
            self.0.bind(py).set_item(cache, (&flights, listener))?;
        }
        Ok(flights.cast_into::<PyDict>().map_err(PyErr::from)?.unbind())
    }

    /// Lets go of what a cache has that is dropped.
    pub(crate) fn forget(&self, py: Python<'_>, cache: &str) -> Result<()> {
        let objects = self.0.bind(py);
        if objects.contains(cache)? { Ok(objects.del_item(cache)?) } else { Ok(()) }
    }

    /// Shows the garbage collector what is held.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}
