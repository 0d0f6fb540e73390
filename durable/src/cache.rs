//! Caches in files.

use std::io::{self, Read};
use std::path::Path;

use twindex_cache::{Cache, Error, Result, Saved};

use crate::whole::{WholeFile, read_file, replace_file};

/// Writes the cache, with the times that its pairs still live, to the file at `path`. Replaces the file as [`save`](crate::save)
/// does, and fails as it does.
///
/// ```
/// use twindex_cache::{Cache, CacheOptions};
/// use twindex_durable::{read_cache, save_cache};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pages.twx");
/// let pages = Cache::new(CacheOptions::capacity(64 << 20))?;
/// pages.upsert("/", "<h1>Hello")?;
/// save_cache(&pages, &path)?;
///
/// let saved = read_cache(&path)?;
/// let options = saved.options();
/// let pages = saved.load(options)?;
/// assert_eq!(pages.get("/").as_deref(), Some(&b"<h1>Hello"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save_cache(cache: &Cache, path: impl AsRef<Path>) -> Result<()> {
    let save = |to: &mut dyn io::Write| match cache.save(to) {
        Err(Error::Io(error)) => Err(error),
        saved => saved.map_err(io::Error::other),
    };
    replace_file(path, save).map_err(to_cache)
}

fn to_cache(error: twindex::Error) -> Error {
    match error {
        twindex::Error::Io(error) => error.into(),
        twindex::Error::Corrupt { offset, what } => Error::Corrupt { offset, what },
        other => io::Error::other(other).into(),
    }
}

/// The cache in the file at `path`, of which the beginning was read.
///
/// Fails with [`Error::Io`] if the file cannot be read, and with [`Error::Corrupt`] if it does not begin as a saved cache does. An
/// empty file counts as none ([`NotFound`](io::ErrorKind::NotFound)): a first save that is under way, or was cut short, leaves one.
pub fn read_cache(path: impl AsRef<Path>) -> Result<Saved<Box<dyn Read + Send>>> {
    Saved::read(read_file(path).map_err(to_cache)?)
}

/// Reads the whole file of a cache and verifies every checksum. Returns how many pairs it has, expired ones included. Takes less than
/// 1 MiB of memory.
///
/// Fails as [`read_cache`] does, and with [`Error::Corrupt`] if the file is damaged.
pub fn check_cache(path: impl AsRef<Path>) -> Result<u64> {
    WholeFile::open(path.as_ref()).map_err(to_cache)?.check_cache()
}

/// Whether the file at `path` begins as a saved cache does.
pub fn holds_cache(path: impl AsRef<Path>) -> Result<bool> {
    Ok(WholeFile::open(path.as_ref()).map_err(to_cache)?.is_cache()?)
}
