//! Vectors as long as what a caller gives or asks for: if memory is short that is an error.

use crate::prelude::*;
use pyo3::exceptions::PyMemoryError;

/// An empty one with room for so many.
pub(crate) fn with_room<T>(count: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count)?;
    Ok(all)
}

/// All items, up to the first error or signal.
pub(crate) fn gather<T>(py: Python<'_>, items: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut all = with_room(items.size_hint().0)?;
    let mut interrupts = Interrupts::default();
    for item in items {
        all.try_reserve(1)?;
        all.push(item?);
        interrupts.item(py)?;
    }
    Ok(all)
}

/// What of this module cannot fail is allocated even where the system has no more memory.
#[global_allocator]
static MEMORY: twindex_durable::Reserving = twindex_durable::Reserving::new();

/// An error if memory is short, before something that takes more of it.
#[inline]
pub(crate) fn check_memory() -> PyResult<()> {
    MEMORY.check().map_err(|_| PyMemoryError::new_err(()))
}
