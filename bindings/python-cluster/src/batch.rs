//! The class `Batch`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use twindex_cluster::Result;

use crate::answer::{Mode, answer, now};
use crate::error::ended;
use crate::table::Table;

type Bytes = PyBackedBytes;

/// Writes that are collected, and committed once.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Batch {
    /// None once it was committed.
    inner: Mutex<Option<twindex_cluster::Batch>>,
    mode: Mode,
}

impl Batch {
    pub(crate) fn new(inner: twindex_cluster::Batch, mode: Mode) -> Self {
        Self { inner: Mutex::new(Some(inner)), mode }
    }

    fn add(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut twindex_cluster::Batch) -> Result<()>,
    ) -> PyResult<()> {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = inner.as_mut().ok_or_else(|| ended(py))?;
        now(py, || add(batch))
    }
}

macro_rules! puts {
    ($($verb:ident)*) => {
        #[pymethods]
        impl Batch {
            $(fn $verb(&self, py: Python<'_>, table: &Table, key: Bytes, value: Bytes) -> PyResult<()> {
                self.add(py, |batch| batch.$verb(table.inner(), key, value))
            })*
        }
    };
}

puts!(insert replace upsert);

#[pymethods]
#[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
impl Batch {
    fn delete(&self, py: Python<'_>, table: &Table, key: Bytes) -> PyResult<()> {
        self.add(py, |batch| batch.delete(table.inner(), key))
    }

    fn increment(&self, py: Python<'_>, table: &Table, key: Bytes, by: i64) -> PyResult<()> {
        self.add(py, |batch| batch.increment(table.inner(), key, by))
    }

    fn expect(&self, py: Python<'_>, table: &Table, key: Bytes, value: Option<Bytes>) -> PyResult<()> {
        self.add(py, |batch| batch.expect(table.inner(), key, value.as_deref()))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let batch = self.inner.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batch = batch.ok_or_else(|| ended(py))?;
        answer(py, self.mode, None, async move { batch.commit().await })
    }

    fn __len__(&self) -> usize {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        inner.as_ref().map_or(0, twindex_cluster::Batch::len)
    }
}
