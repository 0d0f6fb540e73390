//! One writer a file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;

use crate::{Error, Result};

/// A lock on a store's file, by way of a small file beside it that names the process. The system lets go of it
/// when the process ends, however it ends.
///
/// The store's file itself cannot carry the lock: compaction puts another in its place.
#[derive(Debug)]
pub(crate) struct Lock {
    path: PathBuf,
    file: File,
    /// Whose it is. A child of fork has it too, and leaves it to its parent.
    pid: u32,
}

impl Lock {
    /// Locks the store's file at `path`, which need not be there yet.
    pub(crate) fn take(path: &Path) -> Result<Self> {
        let beside = crate::beside(path, ".lock");
        let failed = |error| Error::io(&beside, error);
        loop {
            let mut file = OpenOptions::new()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(&beside)
                .map_err(failed)?;
            match file.try_lock() {
                Ok(()) => {}
                // Who reads the file looks whether it is locked, which takes a moment.
                Err(TryLockError::WouldBlock) if file.try_lock_shared().is_ok() => {
                    file.unlock().map_err(failed)?;
                    thread::yield_now();
                    continue;
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::InUse { path: path.into(), pid: pid_in(&mut file) });
                }
                // A file system without locks has one process a file by other means or not at all.
                Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            // Who had the lock before may have removed the file between our opening and our locking it.
            if is_still_at(&file, &beside).map_err(failed)? {
                // On a disk that is full, others are told no number.
                let _ = file.set_len(0).and_then(|()| file.write_all(pid().to_string().as_bytes()));
                return Ok(Self { path: beside, file, pid: pid() });
            }
        }
    }
}

impl Lock {
    /// Whether it was this process that took it.
    pub(crate) fn is_own(&self) -> bool {
        self.pid == pid()
    }
}

/// The number of this process. WASI has none.
pub(crate) fn pid() -> u32 {
    if cfg!(target_os = "wasi") { 0 } else { std::process::id() }
}

/// That nobody has the store's file at `path` open for writing.
pub(crate) fn check_free(path: &Path) -> Result<()> {
    match held(path) {
        Some(mut file) => Err(Error::InUse { path: path.into(), pid: pid_in(&mut file) }),
        None => Ok(()),
    }
}

/// Whether somebody has the store's file at `path` open for writing.
pub(crate) fn is_held(path: &Path) -> bool {
    held(path).is_some()
}

/// The small file, where somebody has it locked.
fn held(path: &Path) -> Option<File> {
    let file = File::open(crate::beside(path, ".lock")).ok()?;
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)).then_some(file)
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While it is still locked, so that nobody else's is removed.
        if self.is_own() && is_still_at(&self.file, &self.path).unwrap_or(false) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    // More than that is no number of ours.
    file.take(20).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(unix)]
fn is_still_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn is_still_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}
