//! What a store needs of a file system, so that tests can put one in its place that fails and crashes.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;

pub(crate) use twindex_format::{ReadAt, Stamp};

use crate::error::Result;
use crate::lock::{Lock, Make};

pub(crate) mod real;
#[cfg(test)]
pub(crate) mod sim;

pub(crate) trait Disk: Debug + Send + Sync {
    /// Opens a file that is there: the one that `lock` is on, or else for reading alone.
    fn open(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>>;
    /// Makes an empty file if nothing is, for the owner and with the permissions of the one that `lock` is on.
    fn create(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>>;
    /// Gives a file another name in the same folder, in place of what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// The folder of `path`, opened.
    fn folder(&self, path: &Path) -> io::Result<Box<dyn Folder>>;
    /// Keeps others from opening a file for writing, where there may be others.
    fn lock(&self, path: &Path, make: Make) -> Result<Option<Lock>>;
    /// Whether a store has the file open for writing, as far as the system can tell.
    fn has_writer(&self, path: &Path) -> bool;
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// A file, written and read by offset.
pub(crate) trait File: ReadAt + Debug + Send {
    /// Writes all of `bytes`. They outlive this process at once, and a power cut after `sync`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Extends the file with zeros from its end `from` up to `to`, with space on disk for them.
    fn reserve(&self, from: u64, to: u64) -> io::Result<()>;
    /// Returns once all that was written is on disk.
    fn sync(&self) -> io::Result<()>;
    /// Has later reads from `offset` on come from the disk, not from the system's memory. Returns whether the system can.
    fn forget(&self, offset: u64) -> io::Result<bool>;
    /// Locks a file that was just created and is to take the place of the `old` one at `path`.
    fn lock(&self, path: &Path, old: Option<&Lock>) -> io::Result<Option<Lock>>;
    /// Whether what is written to the file is lost, since no folder has a name for it, or another one is at its `path`.
    fn is_gone(&self, path: &Path) -> io::Result<bool>;
    /// A part of the file, which was reserved, as memory: what is written there is as good as by `write_at`.
    /// `None` if the system has no such thing.
    fn window(&self, _offset: u64, _len: usize) -> Option<Box<dyn Window>> {
        None
    }
}

/// In the place of the file of a store that was closed.
#[derive(Debug)]
pub(crate) struct NoFile;

macro_rules! closed {
    ($of:ty, $($name:ident($($argument:ty),*) -> $result:ty,)+) => {
        impl $of for NoFile {
            $(fn $name(&self, $(_: $argument),*) -> io::Result<$result> {
                Err(io::Error::other("the store was closed"))
            })+
        }
    };
}

closed!(ReadAt, len() -> u64, stamp() -> Stamp, read_at(u64, &mut [u8]) -> usize,);
closed!(
    File,
    write_at(u64, &[u8]) -> (),
    set_len(u64) -> (),
    reserve(u64, u64) -> (),
    sync() -> (),
    forget(u64) -> bool,
    lock(&Path, Option<&Lock>) -> Option<Lock>,
    is_gone(&Path) -> bool,
);

pub(crate) trait Folder: Debug + Send + Sync {
    /// Returns once the names in it are on disk.
    fn sync(&self) -> io::Result<()>;
}

pub(crate) trait Window: Debug + Send {
    fn bytes(&mut self) -> &mut [u8];
}
