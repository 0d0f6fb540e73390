//! Lists for which there may be too little memory.

use std::io;

use twindex::Result;

/// An empty list with memory for so many.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(io::Error::from)?;
    Ok(all)
}

/// A list of what the iterator has, if there is memory for it.
pub(crate) fn collected<T>(items: impl Iterator<Item = T>) -> Result<Vec<T>> {
    let mut all = room(items.size_hint().0)?;
    for item in items {
        if all.len() == all.capacity() {
            all.try_reserve(1).map_err(io::Error::from)?;
        }
        all.push(item);
    }
    Ok(all)
}
