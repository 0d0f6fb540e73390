//! What becomes of a store in a child of `fork`: nobody may use it there.
//!
//! The child has one thread, so locks that others held stay held for ever and readers that were pinned stay pinned.
//! Every use in the child is an error, and what it inherited is not even freed.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};

/// How many forks lie between this process and the one that loaded the module.
static FORKS: AtomicU32 = AtomicU32::new(0);

/// The number of this process among its ancestors.
#[inline]
pub(crate) fn generation() -> u32 {
    FORKS.load(Ordering::Relaxed)
}

/// Counts forks from now on.
#[cfg(unix)]
pub(crate) fn watch() -> std::io::Result<()> {
    extern "C" fn in_child() {
        FORKS.fetch_add(1, Ordering::Relaxed);
    }
    // SAFETY: the handler only adds to an atomic, which is allowed in the child of a process with threads.
    match unsafe { libc::pthread_atfork(None, None, Some(in_child)) } {
        0 => Ok(()),
        number => Err(std::io::Error::from_raw_os_error(number)),
    }
}

/// There is no fork.
#[cfg(not(unix))]
pub(crate) fn watch() -> std::io::Result<()> {
    Ok(())
}

/// A part of the engine, which is not dropped in a child of the process that made it.
pub(crate) struct Inherited<T> {
    part: ManuallyDrop<T>,
    generation: u32,
}

impl<T> Inherited<T> {
    pub(crate) fn new(part: T) -> Self {
        Self { part: ManuallyDrop::new(part), generation: generation() }
    }

    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: this is its end: it is neither dropped nor used afterwards.
        unsafe { ManuallyDrop::take(&mut this.part) }
    }

    /// Whether it came from a parent.
    #[inline]
    pub(crate) fn is_foreign(&self) -> bool {
        self.generation != generation()
    }
}

impl<T> Deref for Inherited<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.part
    }
}

impl<T> DerefMut for Inherited<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.part
    }
}

impl<T> Drop for Inherited<T> {
    fn drop(&mut self) {
        if !self.is_foreign() {
            // SAFETY: this is its end, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.part) };
        }
    }
}
