//! Data that one thread at a time touches while it runs the interpreter.

use pyo3::prelude::*;

pub(crate) use self::lock::Attached;

/// The interpreter's lock keeps other threads away. A lock of our own would cost more than what an iterator does for a pair.
#[cfg(not(Py_GIL_DISABLED))]
mod lock {
    use std::cell::{Cell, UnsafeCell};

    use super::Python;

    /// A lock without atomics.
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
            assert!(!self.busy.replace(true), "two calls used an iterator at the same time");
            let _end = Busy(&self.busy);
            // SAFETY: nobody else has come past `busy`.
            body(unsafe { &mut *self.data.get() })
        }
    }
}

/// The interpreter has no lock: several threads may use one iterator at once.
#[cfg(Py_GIL_DISABLED)]
mod lock {
    use std::sync::{Mutex, PoisonError};

    use pyo3::sync::MutexExt;

    use super::Python;

    /// A lock that lets the interpreter go on while it is waited for.
    #[derive(Default)]
    pub(crate) struct Attached<T>(Mutex<T>);

    impl<T> Attached<T> {
        pub(crate) fn new(data: T) -> Self {
            Self(Mutex::new(data))
        }

        /// Shows the data to `body`, which must not run Python code or let go of the interpreter.
        #[inline]
        pub(crate) fn with<R>(&self, py: Python<'_>, body: impl FnOnce(&mut T) -> R) -> R {
            body(&mut self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner))
        }
    }
}
