//! Looking for damage in a file, and saving what is left.

use std::io::ErrorKind;
use std::path::Path;

use twindex::IndexKind;
use twindex_format::{Progress, Report, limit_while_loading};

use crate::disk::Disk;
use crate::disk::real::RealDisk;
use crate::error::{Error, Result};
use crate::lock::Make;
use crate::paths::resolve;
use crate::whole::{on_disk, save_snapshot};

/// The result of [`recover`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recovery {
    /// The damage that it was saved from.
    pub report: Report,
    /// The tables that were saved: their names, indexes and pairs. Those whose names were lost are called
    /// `recovered` and a number, and are sorted.
    pub tables: Vec<(String, IndexKind, usize)>,
}

/// What [`check`] and [`recover`] may allocate in any case.
const LEAST_LIMIT: u64 = 256 << 20;
/// And for each byte of the file. Keys that share much are stored once and may take thousands of times as much memory.
const LIMIT_PER_BYTE: u64 = 32;

/// Reads the whole file at `path` and verifies every checksum, and that what is under it can be loaded.
///
/// Fails with [`Error::Damaged`] if the file is not a store; any other damage is in the report. A file that needs
/// more than 256 MiB of memory, and more than 32 bytes for each byte that it takes on the disk, fails with
/// [`MemoryLimit`](twindex::Error::MemoryLimit): the file may not be trusted. [`check_within`] has another limit.
pub fn check(path: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Report> {
    let path = &resolve(path.as_ref());
    check_in(path, default_limit(path), progress)
}

/// [`check`] for the file of a store with this memory limit: it may take the limit, half of it and 1 MiB.
pub fn check_within(
    path: impl AsRef<Path>,
    memory_limit: usize,
    progress: impl FnMut(Progress),
) -> Result<Report> {
    check_in(&resolve(path.as_ref()), limit_while_loading(memory_limit), progress)
        .map_err(|error| error.naming_limit(memory_limit))
}

fn check_in(path: &Path, memory_limit: usize, mut progress: impl FnMut(Progress)) -> Result<Report> {
    let file = RealDisk.open(path, None).map_err(|error| Error::io(path, error))?;
    twindex_format::check(&*file, memory_limit, &|| RealDisk.has_writer(path), &mut progress)
        .map_err(|error| Error::of_file(path, error))
}

/// Writes what can be saved of the file at `path` to a new file, `target`. The old one is left as it is.
///
/// It leaves out damaged records, and applies later changes to the same keys. Fails with [`Error::Io`] if `target` exists and is not
/// empty, and with the errors of [`check`].
pub fn recover(
    path: impl AsRef<Path>,
    target: impl AsRef<Path>,
    progress: impl FnMut(Progress),
) -> Result<Recovery> {
    let path = &resolve(path.as_ref());
    recover_in(path, target.as_ref(), default_limit(path), progress)
}

/// [`recover`] for the file of a store with this memory limit, as [`check_within`].
pub fn recover_within(
    path: impl AsRef<Path>,
    target: impl AsRef<Path>,
    memory_limit: usize,
    progress: impl FnMut(Progress),
) -> Result<Recovery> {
    recover_in(&resolve(path.as_ref()), target.as_ref(), limit_while_loading(memory_limit), progress)
        .map_err(|error| error.naming_limit(memory_limit))
}

fn recover_in(
    from: &Path,
    to: &Path,
    memory_limit: usize,
    mut progress: impl FnMut(Progress),
) -> Result<Recovery> {
    // So that nobody waits in vain. A file made meanwhile is not replaced either. An empty one is what a recovery leaves that was
    // killed.
    if to.symlink_metadata().is_ok_and(|there| !there.is_file() || there.len() > 0) {
        return Err(Error::io(to, ErrorKind::AlreadyExists.into()));
    }
    let file = RealDisk.open(from, None).map_err(|error| Error::io(from, error))?;
    let (report, store) =
        twindex_format::salvage(&*file, memory_limit, &|| RealDisk.has_writer(from), &mut progress)
            .map_err(|error| Error::of_file(from, error))?;
    save_snapshot(&store.snapshot()?, &resolve(to), Make::New)?;
    let tables =
        store.tables().iter().map(|table| (table.name().to_owned(), table.index(), table.len())).collect();
    Ok(Recovery { report, tables })
}

/// The limit where the caller names none. Holes in a file do not count.
fn default_limit(path: &Path) -> usize {
    LEAST_LIMIT.max(on_disk(path).saturating_mul(LIMIT_PER_BYTE)).try_into().unwrap_or(usize::MAX)
}
