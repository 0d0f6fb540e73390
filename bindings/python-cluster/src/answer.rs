//! How a call gives its result: when it is done, or as an awaitable.
//!
//! A result that is awaited is handed to the event loop, whose thread decodes it and wakes who awaits it. A loop that was
//! closed has no use for it.

use std::process;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pyo3::IntoPyObjectExt as _;
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
    if mode.process != process::id() {
        return Err(forked(py));
    }
    let call = guarded(call);
    if mode.awaits {
        return begin(py, then, call);
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
    future.call_method1("add_done_callback", (Abort(task.abort_handle()),))?;
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
            Err(error) => self.future.call_method1(py, "set_exception", (error.into_value(py),))?,
        };
        Ok(())
    }
}

/// Ends a call whose future was cancelled.
#[pyclass(frozen)]
struct Abort(AbortHandle);

#[pymethods]
impl Abort {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}
