//! How a call gives its result: when it is done, or as an awaitable.
//!
//! A result that is awaited is handed to the event loop, whose thread decodes it and wakes who awaits it. A loop that was
//! closed has no use for it.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::IntoPyObjectExt as _;
use pyo3::exceptions::{PyRuntimeError, PyStopIteration};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tokio::task::AbortHandle;
use twindex_cluster::{Result, blocking, guarded, guarded_now};
use twindex_finalization::attach;

use crate::error::{forked, raised};

/// How soon Ctrl-C ends a call.
const SIGNALS: Duration = Duration::from_millis(100);

/// How the calls of a store give their results, and in which process: the threads that speak to the servers are not in one
/// that was forked from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mode {
    awaits: bool,
    process: u32,
}

impl Mode {
    pub(crate) fn new(awaits: bool) -> Self {
        Self { awaits, process: process::id() }
    }

    fn is_here(self) -> bool {
        self.process == process::id()
    }
}

/// What belongs to the process that connected it. One that was forked from it neither uses nor drops it: a lock that another thread
/// held at that moment is locked for good there.
pub(crate) struct Home<T> {
    inner: Option<T>,
    pub(crate) mode: Mode,
}

impl<T> Home<T> {
    pub(crate) fn new(inner: T, mode: Mode) -> Self {
        Self { inner: Some(inner), mode }
    }

    pub(crate) fn get(&self, py: Python<'_>) -> PyResult<&T> {
        self.inner.as_ref().filter(|_| self.mode.is_here()).ok_or_else(|| forked(py))
    }

    /// For what needs no lock, in any process.
    pub(crate) fn constants(&self) -> Option<&T> {
        self.inner.as_ref()
    }
}

impl<T> Drop for Home<T> {
    fn drop(&mut self) {
        if !self.mode.is_here() {
            std::mem::forget(self.inner.take());
        }
    }
}

/// What a Python function makes of a result, where there is one.
pub(crate) type Then = Option<Py<PyAny>>;

/// Does a call that waits for nothing.
pub(crate) fn now<T>(py: Python<'_>, call: impl FnOnce() -> Result<T>) -> PyResult<T> {
    guarded_now(call).map_err(|error| raised(py, &error))
}

/// Runs a call; what comes of it goes through `then`.
pub(crate) fn answer<T>(
    py: Python<'_>,
    mode: Mode,
    then: Then,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    if !mode.is_here() {
        return Err(forked(py));
    }
    let call = guarded(call);
    if mode.awaits {
        return begin(py, mode, then, call);
    }
    let done = wait(py, call)?;
    decoded(py, object(py, done)?, then)
}

/// Waits with the interpreter's lock released, so that other threads and Ctrl-C have their turn.
fn wait<T: Send>(py: Python<'_>, call: impl Future<Output = Result<T>> + Send) -> PyResult<Result<T>> {
    let runtime = now(py, blocking::runtime)?;
    let mut call = Box::pin(call);
    loop {
        let done = py.detach(|| {
            guarded_now(|| Ok(runtime.block_on(async { tokio::time::timeout(SIGNALS, call.as_mut()).await })))
        });
        match done {
            Ok(Ok(done)) => return Ok(done),
            Ok(Err(_)) => py.check_signals()?,
            Err(error) => return Err(raised(py, &error)),
        }
    }
}

fn object<T: for<'py> IntoPyObject<'py>>(py: Python<'_>, done: Result<T>) -> PyResult<Py<PyAny>> {
    done.map_err(|error| raised(py, &error))?.into_py_any(py)
}

fn decoded(py: Python<'_>, object: Py<PyAny>, then: Then) -> PyResult<Py<PyAny>> {
    match then {
        Some(then) => then.call1(py, (object,)),
        None => Ok(object),
    }
}

/// Begins a call: a future of the running event loop.
fn begin<T>(
    py: Python<'_>,
    mode: Mode,
    then: Then,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> PyResult<Py<PyAny>>
where
    T: for<'py> IntoPyObject<'py> + Send + 'static,
{
    static RUNNING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let event_loop = RUNNING.import(py, "asyncio", "get_running_loop")?.call0()?;
    let future = event_loop.call_method0("create_future")?;
    let settle = Settle { future: future.clone().unbind(), then: Mutex::new(then), done: Mutex::default() };
    let (settle, event_loop) = (Py::new(py, settle)?, event_loop.unbind());
    let task = now(py, blocking::runtime)?.spawn(async move {
        let done = call.await;
        // Waiting for the interpreter's lock holds up no other call.
        tokio::task::spawn_blocking(move || {
            attach(move |py| {
                *settle.get().done.lock().unwrap_or_else(PoisonError::into_inner) = Some(object(py, done));
                // This fails where the loop was closed.
                let _ = event_loop.call_method1(py, "call_soon_threadsafe", (settle,));
            });
        });
    });
    future.call_method1("add_done_callback", (Abort(Home::new(task.abort_handle(), mode)),))?;
    Ok(future.unbind())
}

/// Gives a future its result, in the thread of its event loop.
#[pyclass(frozen)]
struct Settle {
    future: Py<PyAny>,
    then: Mutex<Then>,
    done: Mutex<Option<PyResult<Py<PyAny>>>>,
}

#[pymethods]
impl Settle {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner).take();
        let then = self.then.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(done), false) = (done, self.future.call_method0(py, "done")?.is_truthy(py)?) else {
            return Ok(());
        };
        match done.and_then(|object| decoded(py, object, then)) {
            Ok(object) => self.future.call_method1(py, "set_result", (object,))?,
            Err(error) => {
                // A future refuses `StopIteration`, and an await of it would never end.
                let error = if error.is_instance_of::<PyStopIteration>(py) {
                    let raised = PyRuntimeError::new_err("a codec raised StopIteration");
                    raised.set_cause(py, Some(error));
                    raised
                } else {
                    error
                };
                self.future.call_method1(py, "set_exception", (error.into_value(py),))?
            }
        };
        Ok(())
    }
}

/// Ends a call whose future was cancelled.
#[pyclass(frozen)]
struct Abort(Home<AbortHandle>);

#[pymethods]
impl Abort {
    fn __call__(&self, py: Python<'_>, _future: &Bound<'_, PyAny>) {
        // A forked process has nothing to end.
        if let Ok(call) = self.0.get(py) {
            call.abort();
        }
    }
}
