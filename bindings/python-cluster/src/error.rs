//! Errors as the classes of `twindex_cluster.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use twindex_cluster::Error;

/// The exception that has the error's code.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    static RAISED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let made = RAISED
        .import(py, "twindex_cluster.errors", "of_code")
        .and_then(|of_code| of_code.call1((error.code(), error.to_string())));
    made.map_or_else(|failure| failure, PyErr::from_value)
}

/// A use of a batch that was committed.
pub(crate) fn ended(py: Python<'_>) -> PyErr {
    let class = py.import("twindex.errors").and_then(|errors| errors.getattr("ClosedError"));
    class
        .and_then(|class| class.call1(("the batch has ended",)))
        .map_or_else(|failure| failure, PyErr::from_value)
}

/// A use of a store in another process than the one that connected it.
pub(crate) fn forked(py: Python<'_>) -> PyErr {
    let message = "the store belongs to the process that this one was forked from; connect in this process";
    let class = py.import("twindex.errors").and_then(|errors| errors.getattr("ForkedError"));
    class.and_then(|class| class.call1((message,))).map_or_else(|failure| failure, PyErr::from_value)
}
