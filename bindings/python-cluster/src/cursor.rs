//! The classes `Cursor` and `Pairs`.

use std::sync::Arc;

use pyo3::prelude::*;
use tokio::sync::Mutex;
use twindex_cluster::Walk;

use crate::answer::{Mode, Then, answer};

/// A position in a sorted table. Calls of several threads or tasks take their turns.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Cursor {
    inner: Arc<Mutex<twindex_cluster::Cursor>>,
    mode: Mode,
}

impl Cursor {
    pub(crate) fn new(inner: twindex_cluster::Cursor, mode: Mode) -> Self {
        Self { inner: Arc::new(Mutex::new(inner)), mode }
    }
}

#[pymethods]
impl Cursor {
    fn next(&self, py: Python<'_>, down: bool, then: Then) -> PyResult<Py<PyAny>> {
        let cursor = self.inner.clone();
        answer(py, self.mode, then, async move {
            let mut cursor = cursor.lock().await;
            if down { cursor.scan_desc_next().await } else { cursor.scan_asc_next().await }
        })
    }

    fn next_many(&self, py: Python<'_>, down: bool, limit: usize, then: Then) -> PyResult<Py<PyAny>> {
        let cursor = self.inner.clone();
        answer(py, self.mode, then, async move {
            let mut cursor = cursor.lock().await;
            if down {
                cursor.scan_desc_next_many(limit).await
            } else {
                cursor.scan_asc_next_many(limit).await
            }
        })
    }
}

/// Pairs that come one after another.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Pairs {
    inner: Arc<Mutex<Walk>>,
    mode: Mode,
}

impl Pairs {
    pub(crate) fn new(pairs: impl Into<Walk>, mode: Mode) -> Self {
        Self { inner: Arc::new(Mutex::new(pairs.into())), mode }
    }
}

#[pymethods]
impl Pairs {
    fn next_many(&self, py: Python<'_>, count: usize, then: Then) -> PyResult<Py<PyAny>> {
        let source = self.inner.clone();
        answer(py, self.mode, then, async move { source.lock().await.next_many(count).await })
    }
}
