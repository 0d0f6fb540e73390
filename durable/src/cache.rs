//! Caches in files.

use std::io::{self, Read};
use std::path::Path;

use twindex_cache::{Cache, CacheOptions, Error, MIN_CAPACITY, Result, Saved};
use twindex_format::CACHE_MAGIC;

use crate::verify::on_disk;
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
/// pages.insert("/", "<h1>Hello")?;
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
/// Fails with [`Error::Io`] where the file cannot be read, and with [`Error::Corrupt`] where it does not begin as that of a
/// cache does. An empty file counts as none ([`NotFound`](io::ErrorKind::NotFound)): a first save that is under way, or was
/// cut short, leaves one.
pub fn read_cache(path: impl AsRef<Path>) -> Result<Saved<Box<dyn Read + Send>>> {
    Saved::read(read_file(path).map_err(to_cache)?)
}

/// Reads the whole file of a cache and verifies every checksum. Returns how many pairs it has, expired ones included. Takes less than
/// 1 MiB of memory.
///
/// Fails as [`read_cache`] does, and with [`Error::Corrupt`] where the file is damaged.
pub fn check_cache(path: impl AsRef<Path>) -> Result<u64> {
    check(&WholeFile::open(path.as_ref()).map_err(to_cache)?)
}

/// Whether the file at `path` begins as that of a cache does.
pub fn holds_cache(path: impl AsRef<Path>) -> Result<bool> {
    Ok(is_cache(&WholeFile::open(path.as_ref()).map_err(to_cache)?)?)
}

fn is_cache(file: &WholeFile) -> io::Result<bool> {
    let mut start = [0; CACHE_MAGIC.len()];
    Ok(file.from(0).read(&mut start)? == start.len() && start == *CACHE_MAGIC)
}

fn check(file: &WholeFile) -> Result<u64> {
    /// The number of pairs and its checksum are the end of the file.
    const END: u64 = 12;
    // What the smallest cache cannot keep is read and checked all the same.
    Saved::read(file.from(0).buffered())?.load(CacheOptions::capacity(MIN_CAPACITY))?;
    let mut pairs = [0; 8];
    file.from(file.file.len()? - END).read_exact(&mut pairs)?;
    Ok(u64::from_le_bytes(pairs))
}

/// Checks a large cache whose file has holes: it can claim more memory than what was ever written.
pub(crate) fn check_holes(file: &WholeFile) -> twindex::Result<()> {
    const BELIEVED: u64 = 16 << 20;
    let length = file.file.len()?;
    if length <= BELIEVED || on_disk(&file.path) >= length || !is_cache(file)? {
        return Ok(());
    }
    check(file).map(drop).map_err(|error| match error {
        Error::Corrupt { offset, what } => twindex::Error::Corrupt { offset, what },
        Error::Io(error) => error.into(),
        other => io::Error::other(other).into(),
    })
}
