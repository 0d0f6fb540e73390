//! Telling a Python function how far a long call has come.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use twindex_durable::Progress;
use twindex_finalization::attach;

use crate::error::{self, Failure, Result};
use crate::interrupts::wait_for;

/// Between two calls of the function.
const OFTEN: Duration = Duration::from_millis(100);

/// The function that is told, if there is one.
#[derive(Clone)]
pub(crate) struct Telling(Option<Arc<Mutex<Teller>>>);

struct Teller {
    function: Py<PyAny>,
    /// When the function was called, and with what.
    told: (Instant, Option<Progress>),
    latest: Progress,
    /// What the function raised. It is not called again.
    failure: Option<PyErr>,
    /// Nobody waits for the work any more.
    is_over: bool,
}

impl Telling {
    pub(crate) fn new(function: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        let Some(function) = function else { return Ok(Self(None)) };
        if !function.is_callable() {
            return Err(error::wrong_type("progress", "callable or None", function));
        }
        Ok(Self(Some(Arc::new(Mutex::new(Teller {
            function: function.clone().unbind(),
            told: (Instant::now(), None),
            latest: Progress::default(),
            failure: None,
            is_over: false,
        })))))
    }

    /// What a thread outside the interpreter calls.
    pub(crate) fn teller(&self) -> impl FnMut(Progress) + Send + 'static {
        let teller = self.0.clone();
        move |progress| {
            if let Some(teller) = &teller {
                teller.lock().unwrap_or_else(PoisonError::into_inner).note(progress);
            }
        }
    }

    /// Does the work that the function is told of, and heeds signals meanwhile.
    pub(crate) fn wait_for<T, E>(
        &self,
        py: Python<'_>,
        work: impl FnOnce() -> std::result::Result<T, E> + Send + 'static,
    ) -> Result<T>
    where
        T: Send + 'static,
        E: Into<Failure> + Send + 'static,
    {
        match wait_for(py, work) {
            Ok(made) => self.end(py, made),
            Err(failure) => {
                if let Some(teller) = &self.0 {
                    py.detach(|| teller.lock().unwrap_or_else(PoisonError::into_inner).is_over = true);
                }
                Err(failure)
            }
        }
    }

    /// What came of the call. Tells the function the last time where it went well.
    pub(crate) fn end<T>(
        &self,
        py: Python<'_>,
        made: std::result::Result<T, impl Into<Failure>>,
    ) -> Result<T> {
        let Some(teller) = &self.0 else { return made.map_err(Into::into) };
        // No other thread has it any more.
        let mut teller = teller.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = teller.failure.take() {
            return Err(failure.into());
        }
        let made = made.map_err(Into::into)?;
        if teller.told.1 != Some(teller.latest) {
            teller.tell(py)?;
        }
        Ok(made)
    }
}

impl Teller {
    fn note(&mut self, progress: Progress) {
        self.latest = progress;
        if !self.is_over && self.failure.is_none() && self.told.0.elapsed() >= OFTEN {
            self.failure = attach(|py| self.tell(py)).err();
            self.told = (Instant::now(), Some(progress));
        }
    }

    fn tell(&self, py: Python<'_>) -> PyResult<()> {
        static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let Progress { pairs, bytes, .. } = self.latest;
        let progress = CLASS.import(py, "twindex._reports", "Progress")?.call1((pairs, bytes))?;
        self.function.bind(py).call1((progress,)).map(drop)
    }
}
