//! Data that only the thread that runs the interpreter touches.

use std::cell::{Cell, UnsafeCell};

use pyo3::prelude::*;

/// A lock without atomics, which cost more than what an iterator does for a pair.
///
/// The interpreter's own lock keeps other threads away; `busy` keeps the same thread from coming back in the middle.
#[derive(Default)]
pub(crate) struct Attached<T> {
    busy: Cell<bool>,
    data: UnsafeCell<T>,
}

// SAFETY: the module declares that it needs the interpreter's lock, and `with` asks for proof that the thread has it.
unsafe impl<T: Send> Sync for Attached<T> {}

impl<T> Attached<T> {
    pub(crate) fn new(data: T) -> Self {
        Self { busy: Cell::new(false), data: UnsafeCell::new(data) }
    }

    /// Shows the data to `body`, which must not run Python code or let go of the interpreter.
    ///
    /// # Panics
    /// Where it did.
    #[inline]
    pub(crate) fn with<R>(&self, _: Python<'_>, body: impl FnOnce(&mut T) -> R) -> R {
        struct Busy<'a>(&'a Cell<bool>);
        impl Drop for Busy<'_> {
            #[inline]
            fn drop(&mut self) {
                self.0.set(false);
            }
        }
        assert!(!self.busy.replace(true), "an iterator was used while it was being used");
        let _end = Busy(&self.busy);
        // SAFETY: nobody else has come past `busy`.
        body(unsafe { &mut *self.data.get() })
    }
}
