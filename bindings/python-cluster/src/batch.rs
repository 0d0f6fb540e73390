//! The class `Batch`.

use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;
use twindex_cluster::Result;

use crate::answer::{Home, Mode, answer, now};
use crate::error::ended;
use crate::table::{Bytes, Table};

/// Writes that are collected, and committed once: then there are none.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Batch(Home<Mutex<Option<twindex_cluster::Batch>>>);

impl Batch {
    pub(crate) fn new(inner: twindex_cluster::Batch, mode: Mode) -> Self {
        Self(Home::new(Mutex::new(Some(inner)), mode))
    }

    fn add(
        &self,
        py: Python<'_>,
        add: impl FnOnce(&mut twindex_cluster::Batch) -> Result<()>,
    ) -> PyResult<()> {
        let mut inner = self.0.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        let batch = inner.as_mut().ok_or_else(|| ended(py))?;
        now(py, || add(batch))
    }
}

macro_rules! puts {
    ($($verb:ident)*) => {
        #[pymethods]
        impl Batch {
            $(fn $verb(&self, py: Python<'_>, table: &Table, key: Bytes, value: Bytes) -> PyResult<()> {
                let table = table.inner(py)?;
                self.add(py, |batch| batch.$verb(table, key, value))
            })*
        }
    };
}

puts!(insert replace upsert);

#[pymethods]
#[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
impl Batch {
    fn delete(&self, py: Python<'_>, table: &Table, key: Bytes) -> PyResult<()> {
        let table = table.inner(py)?;
        self.add(py, |batch| batch.delete(table, key))
    }

    fn increment(&self, py: Python<'_>, table: &Table, key: Bytes, by: i64) -> PyResult<()> {
        let table = table.inner(py)?;
        self.add(py, |batch| batch.increment(table, key, by))
    }

    fn expect(&self, py: Python<'_>, table: &Table, key: Bytes, value: Option<Bytes>) -> PyResult<()> {
        let table = table.inner(py)?;
        self.add(py, |batch| batch.expect(table, key, value.as_deref()))
    }

    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let batch = self.0.get(py)?.lock().unwrap_or_else(PoisonError::into_inner).take();
        let batch = batch.ok_or_else(|| ended(py))?;
        answer(py, self.0.mode, None, async move { batch.commit().await })
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        let inner = self.0.get(py)?.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(inner.as_ref().map_or(0, twindex_cluster::Batch::len))
    }
}
