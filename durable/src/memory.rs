//! Memory for what may not fail once it has begun.

use std::io;

use twindex::Result;

/// Smaller changes find room in what [`Reserving`](crate::Reserving) keeps back.
const SMALL: usize = 64 << 10;

/// Fails where the system has no memory for a change of so many bytes: for the pairs, for the record of them that is made
/// once they are in memory, and for its copy on the way to the file.
#[inline]
pub(crate) fn ensure(bytes: usize) -> Result<()> {
    if bytes < SMALL { Ok(()) } else { probe(bytes) }
}

#[cold]
fn probe(bytes: usize) -> Result<()> {
    const COPIES: usize = 3;
    room::<u8>(bytes.saturating_mul(COPIES)).map(drop)
}

/// A copy, where there is memory for one.
pub(crate) fn copied(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut copy = room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// An empty list with memory for so many.
pub(crate) fn room<T>(count: usize) -> Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(io::Error::from)?;
    Ok(all)
}
