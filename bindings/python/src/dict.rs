//! Walking over a dict.

use std::ptr;

use pyo3::exceptions::PyRuntimeError;
use pyo3::ffi;
use pyo3::sync::critical_section::with_critical_section;

use crate::prelude::*;

/// Shows every pair of a dict, up to the first error or signal.
pub(crate) fn each_pair<'py>(
    dict: &Bound<'py, PyDict>,
    mut show: impl FnMut(Bound<'py, PyAny>, Bound<'py, PyAny>) -> Result<()>,
) -> Result<()> {
    let (py, len) = (dict.py(), dict.len());
    let mut interrupts = Interrupts::default();
    let mut at = 0;
    // Where the interpreter has no lock, the section keeps the pair in the dict until it has references of its own.
    let mut next = || with_critical_section(dict, || next_pair(dict, &mut at));
    while let Some((key, value)) = next() {
        show(key, value)?;
        interrupts.item(py)?;
        if dict.len() != len {
            return Err(PyRuntimeError::new_err("dictionary changed size during iteration").into());
        }
    }
    Ok(())
}

/// The pair at a position of a dict, and moves on. Nobody may change the dict meanwhile.
fn next_pair<'py>(
    dict: &Bound<'py, PyDict>,
    at: &mut ffi::Py_ssize_t,
) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (py, mut key, mut value) = (dict.py(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the dict is valid, and so are the places to write to. The dict may have changed since the last call: then this
    // one gives a pair that is there now, or none.
    let found = unsafe { ffi::PyDict_Next(dict.as_ptr(), at, &raw mut key, &raw mut value) } != 0;
    // SAFETY: both are objects that the dict holds.
    found.then(|| unsafe { (Bound::from_borrowed_ptr(py, key), Bound::from_borrowed_ptr(py, value)) })
}
