//! Whole stores, in memory, to files and from files.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use twindex::dump;
use twindex::{Error, Result, Store};

use crate::compact::random_salt;
use crate::disk::{Disk, RealDisk, take_permissions};
use crate::load::load as load_file;
use crate::lock::check_free;
use crate::{folder_of, resolve};

/// Writes the whole store to the file at `path`, which is replaced in one step once the new one is on disk.
///
/// Fails with [`Error::Io`] and leaves the file at `path` as it was where the disk or the folder refuses, or a
/// [`Store`](crate::Store) has the file open for writing.
pub fn save(store: &Store, path: impl AsRef<Path>) -> Result<()> {
    let path = &resolve(path.as_ref());
    write_beside(store, path, folder_of(path)).map_err(|error| name_path(error, path))
}

fn write_beside(store: &Store, path: &Path, folder: &Path) -> Result<()> {
    // What a store in use writes later would be lost with the file that it has open.
    check_free(path).map_err(|error| io::Error::new(io::ErrorKind::ResourceBusy, error.to_string()))?;
    let mut builder = tempfile::Builder::new();
    // As for any new file, rather than for a secret one.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.prefix(".twindex-").tempfile_in(folder)?;
    let tables = (0..).zip(store.tables()).collect::<Vec<_>>();
    dump::write(&tables, random_salt(), file.as_file_mut(), &mut |_| {})?;
    file.as_file().sync_all()?;
    take_permissions(file.path(), path)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(RealDisk.sync_folder(path)?)
}

/// A store in memory from the file at `path`, as [`save`] or a [`Store`](crate::Store) wrote it.
///
/// Fails with [`Error::Io`] where the file cannot be read, and with [`Error::Corrupt`] where it is not a
/// whole, undamaged store.
pub fn load(path: impl AsRef<Path>) -> Result<Store> {
    let path = &resolve(path.as_ref());
    read_whole(path).map_err(|error| name_path(error, path))
}

fn read_whole(path: &Path) -> Result<Store> {
    let found = load_file(&RealDisk.open(path, false)?, &|| RealDisk.has_writer(path), None, &mut |_| {})?;
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

/// An error of the system about a file.
#[derive(Debug)]
pub(crate) struct AtPath {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl fmt::Display for AtPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for AtPath {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
