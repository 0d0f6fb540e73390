//! Memory for what may not fail once it has begun.

use std::hint::black_box;
use std::io;
use std::sync::{Arc, Barrier};
use std::thread::{Builder, JoinHandle};

use twindex::Result;

/// Smaller changes find room in what [`Reserving`](crate::Reserving) keeps back.
const SMALL: usize = 64 << 10;

/// Fails if the system has no memory for a change of so many bytes: for the pairs, for the record of them that is made
/// once they are in memory, and for its copy on the way to the file.
#[inline]
pub(crate) fn ensure(bytes: usize) -> Result<()> {
    if bytes < SMALL { Ok(()) } else { probe(bytes) }
}

#[cold]
fn probe(bytes: usize) -> Result<()> {
    const COPIES: usize = 3;
    is_room(bytes.saturating_mul(COPIES))
}

/// The compiler would see that nothing comes of the block, and not ask for it.
fn is_room(bytes: usize) -> Result<()> {
    black_box(room::<u8>(bytes)).map(drop)
}

/// Starts a thread, where the system has memory for it to begin: one that finds none ends the process. This returns once it has
/// begun, so the caller cannot take that memory meanwhile.
///
/// # Errors
/// The system's if it has no thread, or [`io::ErrorKind::OutOfMemory`].
pub fn spawn<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<JoinHandle<T>> {
    const THREAD_BYTES: usize = 8 << 20;
    if cfg!(not(target_family = "wasm")) {
        is_room(THREAD_BYTES).map_err(|_| io::ErrorKind::OutOfMemory)?;
    }
    let begun = Arc::new(Barrier::new(2));
    let begins = Arc::clone(&begun);
    let thread = Builder::new().name(name.into()).spawn(move || {
        begins.wait();
        work()
    })?;
    begun.wait();
    Ok(thread)
}

/// A copy, if there is memory for one.
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
