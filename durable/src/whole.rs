//! Whole stores, in memory, to files and from files.

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use twindex::dump::Progress;
use twindex::{Error, Result, Store};

use crate::disk::Disk;
use crate::disk::real::RealDisk;
use crate::error::AtPath;
use crate::load::load as load_file;
use crate::options::ProgressFn;
use crate::paths::resolve;
use crate::rewrite::write_anew;

/// Writes the whole store to the file at `path`, which is replaced in one step once the new one is on disk.
///
/// Fails with [`Error::Io`] and leaves the file at `path` as it was where the disk or the folder refuses, what is there
/// is no regular file, or a [`Store`](crate::Store) has it open for writing. From its beginning to its end nobody else
/// can open it for writing.
pub fn save(store: &Store, path: impl AsRef<Path>) -> Result<()> {
    save_to(store, &resolve(path.as_ref())).map_err(|error| match error {
        crate::error::Error::Engine(error) => error,
        crate::error::Error::Io { path, source } => {
            io::Error::new(source.kind(), AtPath { path, source }).into()
        }
        other => io::Error::new(io::ErrorKind::ResourceBusy, other.to_string()).into(),
    })
}

/// [`save`], to a path that leads to no link.
pub(crate) fn save_to(store: &Store, path: &Path) -> crate::error::Result<()> {
    /// One thread of this process after the other, so that none finds the file in use for that alone.
    static SAVING: Mutex<()> = Mutex::new(());
    let _one = SAVING.lock().unwrap_or_else(PoisonError::into_inner);
    let mut lock = RealDisk.lock(path, true)?;
    let tables = (0..).zip(store.tables()).collect::<Vec<_>>();
    write_anew(&RealDisk, path, &mut lock, &tables, &mut |_| {}).map(drop)
}

/// A store in memory from the file at `path`, as [`save`] or a [`Store`](crate::Store) wrote it.
///
/// Fails with [`Error::Io`] where the file cannot be read, and with [`Error::Corrupt`] where it is not a
/// whole, undamaged store.
pub fn load(path: impl AsRef<Path>) -> Result<Store> {
    load_within(path, None, |_| {})
}

/// [`load`] into a store that holds at most so many bytes. `progress` is told how far it has come, from one thread at a
/// time.
///
/// Also fails with [`Error::MemoryLimit`] where the file has more.
pub fn load_within(
    path: impl AsRef<Path>,
    memory_limit: Option<usize>,
    mut progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Store> {
    let path = &resolve(path.as_ref());
    read_whole(path, memory_limit, &mut progress).map_err(|error| name_path(error, path))
}

fn read_whole(path: &Path, memory_limit: Option<usize>, progress: &mut ProgressFn) -> Result<Store> {
    let file = RealDisk.open(path, false)?;
    let found = load_file(&file, &|| RealDisk.has_writer(path), memory_limit, progress)?;
    match found.torn {
        None => Ok(found.loader.store().clone()),
        Some(torn) => Err(Error::Corrupt {
            offset: torn.offset,
            what: "the log is torn from here on: open the file as a store, which reports and cuts that",
        }),
    }
}

/// Tells which file an error of the system is about. The system's own error stays its source.
fn name_path(error: Error, path: &Path) -> Error {
    match error {
        Error::Io(source) => io::Error::new(source.kind(), AtPath { path: path.into(), source }).into(),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use twindex::Index;

    use super::*;

    /// A process that opened the file while another saved to it went on in a file that was replaced: all that it had
    /// acknowledged was gone.
    #[test]
    fn a_file_cannot_be_opened_while_it_is_saved_to() -> crate::error::Result<()> {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("app.twx");
        let store = Store::new();
        let table = store.table("t", Index::Hash)?;
        table.insert_many(&(0..5_000_u32).map(|key| (key.to_be_bytes(), "v")).collect::<Vec<_>>())?;
        for _ in 0..2 {
            let mut tried = 0;
            let mut lock = RealDisk.lock(&path, true)?;
            write_anew(&RealDisk, &path, &mut lock, &[(0, table.clone())], &mut |_| {
                assert!(matches!(crate::Store::open(&path), Err(crate::Error::InUse { .. })));
                tried += 1;
            })?;
            assert!(tried > 0);
            assert!(matches!(crate::Store::open(&path), Err(crate::Error::InUse { .. })));
        }
        assert_eq!(crate::Store::open(&path)?.tables().unwrap().len(), 1);
        Ok(())
    }
}
