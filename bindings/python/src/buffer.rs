//! Objects with memory of their own that Python code can change: `bytearray`, `memoryview`, `mmap`, arrays.

use std::marker::PhantomData;
#[cfg(not(feature = "free-threaded"))]
use std::slice;

use pyo3::exceptions::PyMemoryError;
use pyo3::ffi;
use pyo3::prelude::*;

use crate::error::{self, Result};
use crate::room::with_room;

/// The bytes of such an object, which stay where they are for as long as this is there.
pub(crate) struct Buffer<'py> {
    /// In a box, since it may not move.
    view: Box<ffi::Py_buffer>,
    /// Only a thread that runs the interpreter may let go of it.
    attached: PhantomData<Python<'py>>,
}

impl<'py> Buffer<'py> {
    /// That of this object. `None` for one without memory to show.
    ///
    /// An object may refuse to show its memory, or have it in several pieces: that is an error which says so.
    pub(crate) fn of(what: &str, object: &Bound<'py, PyAny>) -> Result<Option<Self>> {
        // SAFETY: the object is valid.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object has the protocol, and fills what it is given or fails.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, ffi::PyBUF_SIMPLE) } == 0 {
            return Ok(Some(Self { view, attached: PhantomData }));
        }
        let cause = PyErr::fetch(object.py());
        if cause.is_instance_of::<PyMemoryError>(object.py()) {
            return Err(cause.into());
        }
        Err(error::no_bytes(what, object, cause))
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.view.len.cast_unsigned()
    }

    /// A copy of the first bytes, `most` or all that there are.
    pub(crate) fn copy(&self, most: usize) -> Result<Vec<u8>> {
        let count = most.min(self.len());
        let mut copy = with_room(count)?;
        if count > 0 {
            append(&mut copy, self.view.buf.cast(), count);
        }
        Ok(copy)
    }
}

/// Appends the bytes of an object, which promises so many.
#[cfg(not(feature = "free-threaded"))]
fn append(copy: &mut Vec<u8>, start: *mut u8, count: usize) {
    // SAFETY: they are there. Nobody changes them meanwhile: that takes the interpreter's lock, which this thread has.
    copy.extend_from_slice(unsafe { slice::from_raw_parts(start, count) });
}

/// The same where another thread may write to them: each byte is one that was there at some time.
#[cfg(feature = "free-threaded")]
fn append(copy: &mut Vec<u8>, start: *mut u8, count: usize) {
    use std::sync::atomic::{AtomicU8, Ordering};
    // SAFETY: they are there, and an atomic needs no more than a byte's alignment.
    let byte = |at| unsafe { AtomicU8::from_ptr(start.add(at)) };
    copy.extend((0..count).map(|at| byte(at).load(Ordering::Relaxed)));
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: `of` filled the view, and nothing uses it afterwards.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.view) };
    }
}
