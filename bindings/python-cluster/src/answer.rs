//! How a call gives its result: when it is done, or as an awaitable.

use std::process;
use std::sync::OnceLock;
use std::time::Duration;

use pyo3::IntoPyObjectExt as _;
use pyo3::prelude::*;
use twindex_cluster::{Result, blocking};

use crate::error::{forked, raised};

/// How soon Ctrl-C ends a call.
const SIGNALS: Duration = Duration::from_millis(100);

/// Whose results are awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    Blocking,
    Asyncio,
}

/// What a Python function makes of a result, where there is one.
pub(crate) type Then = Option<Py<PyAny>>;

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
    check_process(py)?;
    match mode {
        Mode::Blocking => finish(py, wait(py, call)?, then),
        Mode::Asyncio => {
            let awaited = async move {
                let done = call.await;
                Python::attach(|py| finish(py, done, then))
            };
            // The runtime is that of the blocking calls; a second try changes nothing.
            let _ = pyo3_async_runtimes::tokio::init_with_runtime(runtime(py)?);
            Ok(pyo3_async_runtimes::tokio::future_into_py(py, awaited)?.unbind())
        }
    }
}

fn runtime(py: Python<'_>) -> PyResult<&'static tokio::runtime::Runtime> {
    blocking::runtime().map_err(|error| raised(py, &error))
}

/// Waits with the interpreter's lock released, so that other threads and Ctrl-C have their turn.
fn wait<T: Send>(py: Python<'_>, call: impl Future<Output = Result<T>> + Send) -> PyResult<Result<T>> {
    let runtime = runtime(py)?;
    let mut call = Box::pin(call);
    loop {
        let done =
            py.detach(|| runtime.block_on(async { tokio::time::timeout(SIGNALS, call.as_mut()).await }));
        match done {
            Ok(done) => return Ok(done),
            Err(_) => py.check_signals()?,
        }
    }
}

fn finish<'py, T: IntoPyObject<'py>>(py: Python<'py>, done: Result<T>, then: Then) -> PyResult<Py<PyAny>> {
    let value = done.map_err(|error| raised(py, &error))?;
    let object = value.into_bound_py_any(py)?;
    match then {
        Some(then) => then.call1(py, (object,)),
        None => Ok(object.unbind()),
    }
}

/// The threads that speak to the servers are not in a process that was forked.
fn check_process(py: Python<'_>) -> PyResult<()> {
    static PROCESS: OnceLock<u32> = OnceLock::new();
    if *PROCESS.get_or_init(process::id) == process::id() { Ok(()) } else { Err(forked(py)) }
}
