//! Telling a Python function how far a long call has come.

use std::cell::Cell;
use std::sync::MutexGuard;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use pyo3::exceptions::PyRuntimeError;
use twindex_durable::Progress;
use twindex_finalization::try_attach;

use crate::interrupts::wait_for;
use crate::prelude::*;

/// Between two calls of the function.
const OFTEN: Duration = Duration::from_millis(100);

thread_local! {
    /// This thread calls such a function, in the middle of work that the store's next call would wait for.
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// An error for a call that would wait for ever for the work that it is told of.
pub(crate) fn check_not_telling() -> Result<()> {
    if !IS_TELLING.get() {
        return Ok(());
    }
    let message = "a progress function cannot compact, save or close a store, nor write while writers wait for that: \
                   it is called in the middle of such work";
    Err(PyRuntimeError::new_err(message).into())
}

/// The function that is told, if there is one.
#[derive(Clone)]
pub(crate) struct Telling(Option<Arc<Teller>>);

struct Teller {
    function: Py<PyAny>,
    /// Nobody waits for the work any more.
    is_over: AtomicBool,
    /// Never locked while Python code runs.
    told: Mutex<Told>,
}

struct Told {
    /// When the function was called, and with what.
    last: (Instant, Option<Progress>),
    latest: Progress,
    /// What the function raised. It is not called again.
    failure: Option<PyErr>,
}

impl Telling {
    pub(crate) fn new(function: Option<&Bound<'_, PyAny>>) -> Result<Self> {
        let Some(function) = function else { return Ok(Self(None)) };
        if !function.is_callable() {
            return Err(error::wrong_type("progress", "callable or None", function));
        }
        let told = Told { last: (Instant::now(), None), latest: Progress::default(), failure: None };
        let (function, is_over) = (function.clone().unbind(), AtomicBool::new(false));
        Ok(Self(Some(Arc::new(Teller { function, is_over, told: Mutex::new(told) }))))
    }

    /// What a thread outside the interpreter calls.
    pub(crate) fn teller(&self) -> impl FnMut(Progress) + Send + 'static {
        let teller = self.0.clone();
        move |progress| {
            if let Some(teller) = &teller {
                teller.note(progress);
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
        let made = wait_for(py, work);
        if let Some(teller) = &self.0 {
            teller.is_over.store(true, Relaxed);
        }
        self.end(py, made?)
    }

    /// What came of the call. Tells the function the last time where it went well.
    pub(crate) fn end<T>(
        &self,
        py: Python<'_>,
        made: std::result::Result<T, impl Into<Failure>>,
    ) -> Result<T> {
        let Some(teller) = &self.0 else { return made.map_err(Into::into) };
        let (failure, latest, last) = {
            let mut told = teller.lock();
            (told.failure.take(), told.latest, told.last.1)
        };
        if let Some(failure) = failure {
            return Err(failure.into());
        }
        let made = made.map_err(Into::into)?;
        if last != Some(latest) {
            teller.tell(py, latest)?;
        }
        Ok(made)
    }
}

impl Teller {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, progress: Progress) {
        let is_due = {
            let mut told = self.lock();
            told.latest = progress;
            !self.is_over.load(Relaxed) && told.failure.is_none() && told.last.0.elapsed() >= OFTEN
        };
        if is_due {
            IS_TELLING.set(true);
            // Once the interpreter has ended, the work goes on without reports: a finalizer may wait for it.
            let failure = try_attach(|py| self.tell(py, progress)).and_then(std::result::Result::err);
            IS_TELLING.set(false);
            let mut told = self.lock();
            (told.failure, told.last) = (failure, (Instant::now(), Some(progress)));
        }
    }

    fn tell(&self, py: Python<'_>, progress: Progress) -> PyResult<()> {
        static CLASS: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let Progress { pairs, bytes, .. } = progress;
        let progress = CLASS.import(py, "twindex._reports", "Progress")?.call1((pairs, bytes))?;
        self.function.bind(py).call1((progress,)).map(drop)
    }
}
