//! Whole stores and caches, in memory, to files and from files.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::thread;
use std::time::Duration;

use twindex::{Error, Result, Store};
use twindex_cache::{CacheOptions, Error as CacheError, MIN_CAPACITY, Saved};
use twindex_format::{CACHE_MAGIC, Progress, load_into, tables_of};

use crate::disk::real::RealDisk;
use crate::disk::{Disk, File};
use crate::error::AtPath;
use crate::lock::{Make, pid};
use crate::options::ProgressFn;
use crate::paths::resolve;
use crate::rewrite::{New, replace};

/// Writes the whole store to the file at `path`, which is replaced in one step once the new one is on disk.
///
/// Fails with [`Error::Io`], and leaves the file at `path` unchanged, if the disk or the folder refuses, `path` is not a regular
/// file, or a [`Store`](crate::Store) has it open for writing. Meanwhile no other process can open it for writing.
pub fn save(store: &Store, path: impl AsRef<Path>) -> Result<()> {
    save_to(store, &resolve(path.as_ref())).map_err(to_engine)
}

fn to_engine(error: crate::error::Error) -> Error {
    match error {
        crate::error::Error::Engine(error) => error,
        crate::error::Error::Io { path, source } => {
            io::Error::new(source.kind(), AtPath { path, source }).into()
        }
        other => io::Error::new(io::ErrorKind::ResourceBusy, other.to_string()).into(),
    }
}

/// [`save`], to a path that leads to no link.
pub(crate) fn save_to(store: &Store, path: &Path) -> crate::error::Result<()> {
    save_snapshot(&store.snapshot()?, path, Make::IfAbsent)
}

pub(crate) fn save_snapshot(of: &twindex::Snapshot, path: &Path, make: Make) -> crate::error::Result<()> {
    let tables = tables_of(of);
    save_by(path, make, &mut |new| new.dump(&tables, None, &mut |_| {}))
}

fn save_by(
    path: &Path,
    make: Make,
    fill: &mut dyn FnMut(&mut New<'_>) -> crate::error::Result<()>,
) -> crate::error::Result<()> {
    let _one = Saving::begin();
    let mut lock = RealDisk.lock(path, make)?;
    replace(&RealDisk, path, &mut lock, fill).map(drop)
}

/// The process that saves a file, or 0. One thread of it does so after the other, so that none finds the file in use for that
/// alone. No mutex: a child of fork would inherit it locked, and wait for a thread that it does not have.
static SAVING: AtomicU32 = AtomicU32::new(0);

/// That no other thread of this process saves a file.
struct Saving;

impl Saving {
    fn begin() -> Self {
        const PAUSE: Duration = Duration::from_millis(1);
        let own = pid();
        while SAVING
            .try_update(Acquire, Relaxed, |saving| (saving != own || own == 0).then_some(own))
            .is_err()
        {
            thread::sleep(PAUSE);
        }
        Self
    }
}

impl Drop for Saving {
    fn drop(&mut self) {
        SAVING.store(0, Release);
    }
}

/// Replaces the file at `path` by the bytes that `write` writes, as [`save`] does, and fails as it does: the file of a cache, or of
/// anything else that is whole or of no use.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("pages.twx");
/// twindex_durable::replace_file(&path, |to| to.write_all(b"all of it"))?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replace_file(
    path: impl AsRef<Path>,
    mut write: impl FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    let path = &resolve(path.as_ref());
    let fill = &mut |new: &mut New<'_>| {
        let mut buffer = BufWriter::with_capacity(1 << 18, new);
        let written = write(&mut buffer).and_then(|()| buffer.flush());
        // Else the drop would write the rest, without reporting errors.
        let _ = buffer.into_parts();
        written.map_err(|source| crate::error::Error::io(path, source))
    };
    save_by(path, Make::IfAbsent, fill).map_err(to_engine)
}

/// The file at `path`, to be read from its beginning. An empty one counts as none ([`NotFound`](io::ErrorKind::NotFound)): a
/// first [`replace_file`] that is under way, or was cut short, leaves one.
///
/// A large file with holes that begins as a saved cache is checked first: it can claim more memory than was ever written.
pub fn read_file(path: impl AsRef<Path>) -> Result<Box<dyn Read + Send>> {
    let file = WholeFile::open(path.as_ref())?;
    file.check_holes()?;
    Ok(Box::new(file.buffered()))
}

fn check_not_empty(file: &dyn File) -> Result<()> {
    if file.len()? == 0 {
        // The first save makes such a file, and puts what it wrote in its place at its end.
        return Err(
            io::Error::new(io::ErrorKind::NotFound, "it is empty: nothing was ever saved to it").into()
        );
    }
    Ok(())
}

pub(crate) struct WholeFile {
    pub(crate) file: Arc<dyn File>,
    pub(crate) path: PathBuf,
    pub(crate) offset: u64,
}

impl WholeFile {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let path = resolve(path);
        let open = || Ok(RealDisk.open(&path, None)?).and_then(|file| check_not_empty(&*file).map(|()| file));
        let file = open().map_err(|error| name_path(error, &path))?;
        Ok(Self { file, path, offset: 0 })
    }

    pub(crate) fn from(&self, offset: u64) -> Self {
        Self { file: Arc::clone(&self.file), path: self.path.clone(), offset }
    }

    pub(crate) fn buffered(self) -> BufReader<Self> {
        BufReader::with_capacity(1 << 18, self)
    }

    /// Whether it begins as the file of a cache does.
    pub(crate) fn is_cache(&self) -> io::Result<bool> {
        let mut start = [0; CACHE_MAGIC.len()];
        Ok(self.from(0).read(&mut start)? == start.len() && start == *CACHE_MAGIC)
    }

    /// Verifies every checksum of a saved cache. Returns the number of its pairs.
    pub(crate) fn check_cache(&self) -> twindex_cache::Result<u64> {
        /// The number of pairs and its checksum are the end of the file.
        const END: u64 = 12;
        // What the smallest cache cannot keep is read and checked all the same.
        Saved::read(self.from(0).buffered())?.load(CacheOptions::capacity(MIN_CAPACITY))?;
        let mut pairs = [0; 8];
        self.from(self.file.len()? - END).read_exact(&mut pairs)?;
        Ok(u64::from_le_bytes(pairs))
    }

    /// Checks a large cache whose file has holes: it can claim more memory than was ever written.
    fn check_holes(&self) -> Result<()> {
        const BELIEVED: u64 = 16 << 20;
        let length = self.file.len()?;
        if length <= BELIEVED || on_disk(&self.path) >= length || !self.is_cache()? {
            return Ok(());
        }
        self.check_cache().map(drop).map_err(|error| match error {
            CacheError::Corrupt { offset, what } => Error::Corrupt { offset, what },
            CacheError::Io(error) => error.into(),
            other => io::Error::other(other).into(),
        })
    }
}

/// How many bytes of the file are on the disk: not its holes, as far as the system tells.
pub(crate) fn on_disk(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| {
        #[cfg(unix)]
        let blocks = 512 * std::os::unix::fs::MetadataExt::blocks(&file);
        #[cfg(not(unix))]
        let blocks = u64::MAX;
        file.len().min(blocks)
    })
}

impl Read for WholeFile {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, bytes);
        let read =
            read.map_err(|source| io::Error::new(source.kind(), AtPath { path: self.path.clone(), source }))?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// A store in memory from the file at `path`, as [`save`] or a [`Store`](crate::Store) wrote it.
///
/// Fails with [`Error::Io`] if the file cannot be read, and with [`Error::Corrupt`] if it is not a
/// whole, undamaged store. An empty file is an empty store.
pub fn load(path: impl AsRef<Path>) -> Result<Store> {
    load_within(path, None, |_| {})
}

/// [`load`] into a store with this memory limit. `progress` is called with its progress, from one thread at a time.
///
/// Also fails with [`Error::MemoryLimit`] if the file needs more than the limit, half of it and 1 MiB: the file of a store
/// always loads with its limit.
pub fn load_within(
    path: impl AsRef<Path>,
    memory_limit: Option<usize>,
    mut progress: impl FnMut(Progress) + Send + 'static,
) -> Result<Store> {
    let path = &resolve(path.as_ref());
    read_whole(path, memory_limit, &mut progress).map_err(|error| name_path(error, path))
}

fn read_whole(path: &Path, memory_limit: Option<usize>, progress: &mut ProgressFn) -> Result<Store> {
    let file = RealDisk.open(path, None)?;
    let store = Store::new();
    let found = load_into(&store, memory_limit, |store| {
        twindex_format::open(&*file, store.clone(), &|| RealDisk.has_writer(path), progress)
    })?;
    match found.torn {
        None => Ok(store),
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
    use twindex::IndexKind;

    use super::*;
    use crate::rewrite::write_anew;

    #[test]
    fn a_file_cannot_be_opened_while_it_is_saved_to() -> crate::error::Result<()> {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("app.twx");
        let store = Store::new();
        let table = store.table("t", IndexKind::Hash)?;
        table.insert_many(&(0..5_000_u32).map(|key| (key.to_be_bytes(), "v")).collect::<Vec<_>>())?;
        for _ in 0..2 {
            let mut tried = 0;
            let mut lock = RealDisk.lock(&path, Make::IfAbsent)?;
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
