//! Errors as the classes of `twindex_cluster.errors`.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyInt, PyList};
use twindex_cluster::{Answer, Error};

/// The exception that has the error's code.
pub(crate) fn raised(py: Python<'_>, error: &Error) -> PyErr {
    let outcomes = match error {
        Error::PartlyDone { outcomes } => {
            let outcome = |one: &Result<Answer, Error>| match one {
                Ok(Answer::Took(took)) => PyBool::new(py, *took).to_owned().into_any(),
                Ok(Answer::Sum(sum)) => PyInt::new(py, *sum).into_any(),
                Err(error) => raised(py, error).into_value(py).into_bound(py).into_any(),
            };
            match PyList::new(py, outcomes.iter().map(outcome)) {
                Ok(list) => Some(list),
                Err(failure) => return failure,
            }
        }
        _ => None,
    };
    made(py, error.code(), &error.to_string(), outcomes)
}

fn made(py: Python<'_>, code: &str, message: &str, outcomes: Option<Bound<'_, PyList>>) -> PyErr {
    static MADE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    MADE.import(py, "twindex_cluster.errors", "of_code")
        .and_then(|of_code| of_code.call1((code, message, outcomes)))
        .map_or_else(|failure| failure, PyErr::from_value)
}

/// A use of a batch that was committed.
pub(crate) fn ended(py: Python<'_>) -> PyErr {
    made(py, "TWINDEX_CLOSED", "the batch has ended", None)
}

/// A use of a store in another process than the one that connected it.
pub(crate) fn forked(py: Python<'_>) -> PyErr {
    let message = "the store belongs to the parent process, before the fork: connect again in this process";
    made(py, "TWINDEX_FORKED", message, None)
}
