//! Values that Python sees where they lie.

use std::ffi::c_int;

use pyo3::ffi;
use pyo3::types::PyMemoryView;

use crate::prelude::*;

/// What a `memoryview` of a value keeps alive.
#[pyclass(frozen, module = "twindex")]
pub(crate) struct Value(Inherited<twindex::Value>);

/// A read-only view of a value, good for as long as anybody has it.
pub(crate) fn view(py: Python<'_>, value: twindex::Value) -> Result<Bound<'_, PyMemoryView>> {
    let value = Bound::new(py, Value(Inherited::new(value)))?;
    Ok(PyMemoryView::from(value.as_any())?)
}

#[pymethods]
impl Value {
    /// # Safety
    /// `view` is where a view may be written, as in Python's buffer protocol.
    unsafe fn __getbuffer__(slf: &Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        let bytes: &[u8] = &slf.get().0;
        let (start, len) = (bytes.as_ptr().cast_mut().cast(), bytes.len().cast_signed());
        // SAFETY: the caller's promise. The view gets a reference to this object, whose bytes never change or move,
        // and is read-only.
        match unsafe { ffi::PyBuffer_FillInfo(view, slf.as_ptr(), start, len, 1, flags) } {
            0 => Ok(()),
            _ => Err(PyErr::fetch(slf.py())),
        }
    }
}
