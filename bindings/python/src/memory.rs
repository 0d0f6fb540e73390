//! The allocator.

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

/// What of this module cannot fail is allocated even where the system has no more memory.
#[global_allocator]
static MEMORY: twindex_durable::Reserving = twindex_durable::Reserving::new();

/// An error where memory is short, before something that takes more of it.
#[inline]
pub(crate) fn check_memory() -> PyResult<()> {
    MEMORY.check().map_err(|_| PyMemoryError::new_err(()))
}
