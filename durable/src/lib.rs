//! A Twindex store in one file.
//!
//! [`save`] writes a store's dump beside the target and renames it into place, so that the file holds
//! either the old store or the new one, whole. [`load`] reads it back.
//!
//! ```
//! use twindex::{Index, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("app.twx");
//! let store = Store::new();
//! store.table("users", Index::Hash)?.insert(b"ada", b"1815")?;
//! twindex_durable::save(&store, &path)?;
//! let again = twindex_durable::load(&path)?;
//! assert_eq!(again.table("users", Index::Hash)?.select(b"ada").as_deref(), Some(b"1815".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

pub use twindex;
use twindex::{Error, Result, Store};

/// Writes the whole store to the file at `path`, which is replaced in one step once the new one is on disk.
///
/// Fails with [`Error::Io`] and leaves the file at `path` as it was where the disk or the folder refuses.
pub fn save(store: &Store, path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    write_beside(store, path, folder).map_err(|error| name_path(error, path))
}

fn write_beside(store: &Store, path: &Path, folder: &Path) -> Result<()> {
    let mut file = tempfile::Builder::new().prefix(".twindex-").tempfile_in(folder)?;
    store.dump(file.as_file_mut())?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(sync_folder(folder)?)
}

/// A store from the file at `path`, as [`save`] wrote it.
///
/// Fails with [`Error::Io`] where the file cannot be read, and with [`Error::Corrupt`] where it is not a
/// whole, undamaged store.
pub fn load(path: impl AsRef<Path>) -> Result<Store> {
    let path = path.as_ref();
    read_whole(path).map_err(|error| name_path(error, path))
}

fn read_whole(path: &Path) -> Result<Store> {
    Store::load(&mut BufReader::with_capacity(1 << 18, File::open(path)?))
}

/// A rename is on disk once its folder is.
#[cfg(unix)]
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Tells which file an error of the system is about. The system's own error stays its source.
fn name_path(error: Error, path: &Path) -> Error {
    match error {
        Error::Io(source) => io::Error::new(source.kind(), AtPath { path: path.into(), source }).into(),
        other => other,
    }
}

#[derive(Debug)]
struct AtPath {
    path: PathBuf,
    source: io::Error,
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
