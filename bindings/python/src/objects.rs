//! Python objects made from the engine's memory.
//!
//! Unlike pyo3's own constructors these return an error where memory is short, they do not panic.

use std::ffi::c_char;

use pyo3::ffi;
use pyo3::prelude::*;

/// A `bytes` object with a copy of these bytes.
#[inline]
pub(crate) fn bytes<'py>(py: Python<'py>, content: &[u8]) -> PyResult<Bound<'py, PyAny>> {
    let start = content.as_ptr().cast::<c_char>();
    // SAFETY: a slice has at most `isize::MAX` bytes, all of which may be read; the result is a new
    // reference, or null with an exception set.
    unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyBytes_FromStringAndSize(start, content.len().cast_signed()))
    }
}

/// A `str` object with a copy of this text.
#[inline]
pub(crate) fn text<'py>(py: Python<'py>, content: &str) -> PyResult<Bound<'py, PyAny>> {
    let start = content.as_ptr().cast::<c_char>();
    // SAFETY: as for `bytes`, and the content is valid UTF-8, so that decoding it cannot fail.
    unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_FromStringAndSize(start, content.len().cast_signed()))
    }
}

/// An `int` object.
#[inline]
pub(crate) fn integer(py: Python<'_>, number: i64) -> PyResult<Bound<'_, PyAny>> {
    // SAFETY: the result is a new reference, or null with an exception set.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(number)) }
}
