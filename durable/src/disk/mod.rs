//! What a store needs of a file system, so that tests can put one in its place that fails and crashes.

use std::fmt::Debug;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::error::Result;
use crate::lock::Lock;

pub(crate) mod real;
#[cfg(test)]
pub(crate) mod sim;

/// A file system.
pub(crate) trait Disk: Debug + Send + Sync {
    /// Opens a file that is there, for writing too or for reading alone.
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn File>>;
    /// Makes an empty file where nothing is, for the owner and with the permissions of the one that `lock` is on.
    fn create(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>>;
    /// Gives a file another name in the same folder, in place of what has it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// The folder of `path`, opened.
    fn folder(&self, path: &Path) -> io::Result<Box<dyn Folder>>;
    /// Keeps others from opening a file for writing, where there may be others. Where there is no file, makes an empty
    /// one if that is asked for.
    fn lock(&self, path: &Path, make: bool) -> Result<Option<Lock>>;
    /// Whether a store has the file open for writing, as far as the system can tell.
    fn has_writer(&self, path: &Path) -> bool;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The length of a file, and when it was written to.
pub(crate) type Stamp = (u64, Option<SystemTime>);

/// A file, written and read by offset.
pub(crate) trait File: Debug + Send + Sync {
    fn len(&self) -> io::Result<u64>;
    /// Differs from what it was where the file was cut or made longer, or opened for writing, since.
    fn stamp(&self) -> io::Result<Stamp>;
    /// Fills `bytes` from `offset` on as far as the file goes; how much that was.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;
    /// Writes all of `bytes`. They outlive this process at once, and a power cut after `sync`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file.
    fn set_len(&self, len: u64) -> io::Result<()>;
    /// Extends the file with zeros from its end `from` up to `to`, with space on disk for them.
    fn reserve(&self, from: u64, to: u64) -> io::Result<()>;
    /// Returns once all that was written is on disk.
    fn sync(&self) -> io::Result<()>;
    /// Has later reads from `offset` on come from the disk, not from the system's memory; whether the system can.
    fn forget(&self, offset: u64) -> io::Result<bool>;
    /// Locks a file that was just created and is to be renamed to `path`.
    fn lock(&self, path: &Path) -> io::Result<Option<Lock>>;
    /// Whether no folder has a name for the file any more, so that it is gone once it is closed.
    fn is_removed(&self) -> io::Result<bool>;
    /// A part of the file, which was reserved, as memory: what is written there is as good as by `write_at`.
    /// `None` where the system has no such thing.
    fn window(&self, offset: u64, len: usize) -> Option<Box<dyn Window>>;
}

/// A folder.
pub(crate) trait Folder: Debug + Send + Sync {
    /// Returns once the names in it are on disk.
    fn sync(&self) -> io::Result<()>;
}

/// A part of a file as memory.
pub(crate) trait Window: Debug + Send {
    fn bytes(&mut self) -> &mut [u8];
}
