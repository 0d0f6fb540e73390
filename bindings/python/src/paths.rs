//! Paths of files.

use std::path::PathBuf;

use pyo3::exceptions::PyUnicodeEncodeError;

use crate::prelude::*;

/// The path that a `str`, a `bytes` or an `os.PathLike` stands for, `None` for anything else.
pub(crate) fn path_of(object: &Bound<'_, PyAny>) -> Result<Option<PathBuf>> {
    let py = object.py();
    let is_text = object.is_instance_of::<PyString>() || object.is_instance_of::<PyBytes>();
    if !is_text && !object.hasattr("__fspath__")? {
        return Ok(None);
    }
    // It leaves what is `str` as it is, and makes `str` of `bytes` as the system encodes names.
    let text = py.import("os")?.call_method1("fsdecode", (object,))?;
    let path = text.extract().map_err(|cause: PyErr| {
        if !cause.is_instance_of::<PyUnicodeEncodeError>(py) {
            return cause.into();
        }
        let message = format!("the path has no form in the system's encoding: {}", shown(object));
        error::encoding(message).caused_by(py, cause)
    });
    path.map(Some)
}

/// The path of a file that has to be named.
pub(crate) fn path(what: &str, object: &Bound<'_, PyAny>) -> Result<PathBuf> {
    path_of(object)?.ok_or_else(|| error::wrong_type(what, "str, bytes or os.PathLike", object))
}
