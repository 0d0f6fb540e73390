//! What the function of `alter` returns.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::Result;

/// `twindex.KEEP`, `twindex.DELETE`, or the new value.
pub(crate) enum Returned<'py> {
    Keep,
    Delete,
    Value(Bound<'py, PyAny>),
}

impl<'py> Returned<'py> {
    pub(crate) fn of(object: Bound<'py, PyAny>) -> Result<Self> {
        static KEEP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DELETE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        if object.is(KEEP.import(py, "twindex._returned", "KEEP")?) {
            return Ok(Self::Keep);
        }
        if object.is(DELETE.import(py, "twindex._returned", "DELETE")?) {
            return Ok(Self::Delete);
        }
        Ok(Self::Value(object))
    }
}
