//! The classes `Cursor` and `Pairs`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{self, Arc, PoisonError};

use pyo3::prelude::*;
use tokio::sync::{Mutex, MutexGuard};
use twindex_cluster::Walk;

use crate::answer::{Home, Mode, Then, answer};

/// A position in a sorted table. Calls of several threads or tasks take their turns.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Cursor(Home<Arc<Inner>>);

struct Inner {
    /// The cursor, and the number of the call that began last.
    cursor: Mutex<(twindex_cluster::Cursor, u64)>,
    calls: AtomicU64,
    /// The numbers of the calls that were cancelled, from the one that began last on.
    cancelled: sync::Mutex<Vec<u64>>,
}

impl Inner {
    fn call(&self) -> u64 {
        self.calls.fetch_add(1, Relaxed) + 1
    }

    fn cancelled(&self) -> sync::MutexGuard<'_, Vec<u64>> {
        self.cancelled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a call. If the one that began last was cancelled, nobody has its pairs, and the cursor goes back first. Other
    /// calls may have been cancelled since, before they began.
    async fn begin(&self, call: u64) -> MutexGuard<'_, (twindex_cluster::Cursor, u64)> {
        let mut cursor = self.cursor.lock().await;
        let mut cancelled = self.cancelled();
        if cancelled.contains(&cursor.1) {
            cursor.0.rewind();
        }
        cancelled.retain(|&number| number >= call);
        drop(cancelled);
        cursor.1 = call;
        cursor
    }
}

impl Cursor {
    pub(crate) fn new(cursor: twindex_cluster::Cursor, mode: Mode) -> Self {
        let (calls, cancelled) = (AtomicU64::new(0), sync::Mutex::default());
        let inner = Inner { cursor: Mutex::new((cursor, 0)), calls, cancelled };
        Self(Home::new(Arc::new(inner), mode))
    }
}

#[pymethods]
impl Cursor {
    /// The last call was cancelled.
    fn cancelled(&self, py: Python<'_>) -> PyResult<()> {
        let inner = self.0.get(py)?;
        inner.cancelled().push(inner.calls.load(Relaxed));
        Ok(())
    }

    fn next(&self, py: Python<'_>, down: bool, then: Then) -> PyResult<Py<PyAny>> {
        let inner = self.0.get(py)?.clone();
        let call = inner.call();
        answer(py, self.0.mode, then, async move {
            let cursor = &mut inner.begin(call).await.0;
            if down { cursor.scan_desc_next().await } else { cursor.scan_asc_next().await }
        })
    }

    fn next_many(&self, py: Python<'_>, down: bool, limit: usize, then: Then) -> PyResult<Py<PyAny>> {
        let inner = self.0.get(py)?.clone();
        let call = inner.call();
        answer(py, self.0.mode, then, async move {
            let cursor = &mut inner.begin(call).await.0;
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
pub(crate) struct Pairs(Home<Arc<Mutex<Walk>>>);

impl Pairs {
    pub(crate) fn new(pairs: impl Into<Walk>, mode: Mode) -> Self {
        Self(Home::new(Arc::new(Mutex::new(pairs.into())), mode))
    }
}

#[pymethods]
impl Pairs {
    fn next_many(&self, py: Python<'_>, count: usize, then: Then) -> PyResult<Py<PyAny>> {
        let source = self.0.get(py)?.clone();
        answer(py, self.0.mode, then, async move { source.lock().await.next_many(count).await })
    }
}
