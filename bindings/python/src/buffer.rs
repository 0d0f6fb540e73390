//! Objects with memory of their own that Python code can change: `bytearray`, `memoryview`, `mmap`, arrays.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};

use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;

use crate::layout::is_plain;
use crate::prelude::*;

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
    /// An object may refuse to show its memory, have it in several pieces, or may have pointers in it: that is an error which
    /// says so.
    pub(crate) fn of(what: &str, object: &Bound<'py, PyAny>) -> Result<Option<Self>> {
        const FLAGS: i32 = ffi::PyBUF_ND | ffi::PyBUF_FORMAT;
        let py = object.py();
        // SAFETY: the object is valid.
        if unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) } == 0 {
            return Ok(None);
        }
        let mut view = Box::new(ffi::Py_buffer::new());
        // SAFETY: the object has the protocol, and fills what it is given or fails.
        if unsafe { ffi::PyObject_GetBuffer(object.as_ptr(), &raw mut *view, FLAGS) } != 0 {
            let cause = PyErr::fetch(py);
            let is_refusal = cause.is_instance_of::<PyBufferError>(py)
                || cause.is_instance_of::<PyTypeError>(py)
                || cause.is_instance_of::<PyValueError>(py);
            return Err(if is_refusal { error::no_bytes(what, object, cause) } else { cause.into() });
        }
        let buffer = Self { view, attached: PhantomData };
        if !is_plain(buffer.format(), buffer.view.itemsize.cast_unsigned()) {
            return Err(error::wrong_type(what, "bytes or numbers, not what may be pointers", object));
        }
        Ok(Some(buffer))
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.view.len.cast_unsigned()
    }

    /// A copy of the first bytes, `most` or all that there are.
    pub(crate) fn copy(&self, most: usize) -> Result<Vec<u8>> {
        let count = most.min(self.len());
        let mut copy = with_room(count)?;
        // SAFETY: the view has at least so many bytes until it is dropped.
        unsafe { append(&mut copy, self.view.buf.cast(), count) };
        Ok(copy)
    }

    /// Whether its items are bytes, in one dimension.
    pub(crate) fn is_of_bytes(&self) -> bool {
        self.view.ndim == 1 && self.format() == b"B"
    }

    /// What its items are: bytes unless it says so.
    fn format(&self) -> &[u8] {
        let format = self.view.format;
        // SAFETY: a format is text that ends with a zero, and lives as long as the view.
        if format.is_null() { b"B" } else { unsafe { CStr::from_ptr(format) }.to_bytes() }
    }
}

/// Appends bytes that another thread or process may write to meanwhile, as those of an `mmap`: each is one that was there at
/// some time.
///
/// # Safety
/// They can be read.
unsafe fn append(copy: &mut Vec<u8>, start: *mut u8, count: usize) {
    const WORD: usize = size_of::<usize>();
    let head = start.align_offset(align_of::<usize>()).min(count);
    let words = (count - head) / WORD;
    let byte = |at: usize| {
        // SAFETY: the caller's promise, and an atomic of a byte has no alignment.
        unsafe { AtomicU8::from_ptr(start.add(at)) }.load(Ordering::Relaxed)
    };
    copy.extend((0..head).map(byte));
    for at in 0..words {
        #[expect(clippy::cast_ptr_alignment, reason = "behind the head words are aligned")]
        // SAFETY: the caller's promise.
        let word = unsafe { AtomicUsize::from_ptr(start.add(head + at * WORD).cast::<usize>()) };
        copy.extend_from_slice(&word.load(Ordering::Relaxed).to_ne_bytes());
    }
    copy.extend((head + words * WORD..count).map(byte));
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: `of` filled the view, and nothing uses it afterwards.
        unsafe { ffi::PyBuffer_Release(&raw mut *self.view) };
    }
}
