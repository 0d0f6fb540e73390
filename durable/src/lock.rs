//! One writer a file.
//!
//! The lock is on the store's file itself, so that whoever comes by another name of it, a hard link or a new name,
//! meets it too. What takes the file's place is locked before it does. The system lets go of a lock when its process
//! ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};

/// How often, and with what pauses, a lock is tried for that a reader seems to hold: one looks for a moment.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// A store's file, locked or about to be.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Where the file was when it was locked.
    path: PathBuf,
    file: File,
    /// Whose it is. A child of fork has it too, and leaves it to its parent.
    pid: u32,
    /// It was made to be locked, and is empty until a store takes its place.
    made: bool,
    /// Whether it is locked.
    held: bool,
}

impl Lock {
    /// Locks the store's file at `path`. Where there is none, makes an empty one if that is asked for.
    pub(crate) fn take(path: &Path, creates: bool) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        loop {
            let (opened, made) = match open(&name_to_lock(path)) {
                Err(error) if error.kind() == ErrorKind::NotFound && creates => {
                    match OpenOptions::new().read(true).write(true).create_new(true).open(name_to_lock(path))
                    {
                        Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                        file => (file.map_err(failed)?, true),
                    }
                }
                file => (file.map_err(failed)?, false),
            };
            let mut lock = Self { path: path.into(), file: opened, pid: pid(), made, held: false };
            lock.held = lock.try_for(TRIES).map_err(failed)?;
            // Another file may have taken this one's place since it was opened.
            if !lock.is_in_place().map_err(failed)? {
                continue;
            }
            if lock.held {
                return Ok(lock);
            }
            return Err(Error::InUse { path: path.into(), pid: holder(&lock.file) });
        }
    }

    /// Locks a file that nobody else knows yet, and which is to have this name.
    pub(crate) fn of_new(file: &File, path: &Path) -> io::Result<Self> {
        let mut lock =
            Self { path: path.into(), file: file.try_clone()?, pid: pid(), made: false, held: false };
        lock.held = lock.try_for(1)?;
        if lock.held { Ok(lock) } else { Err(ErrorKind::ResourceBusy.into()) }
    }

    /// Whether the file is locked now. Readers that look whether it is make no difference.
    fn try_for(&self, tries: u32) -> io::Result<bool> {
        for _ in 0..tries {
            match self.file.try_lock() {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) if self.file.try_lock_shared().is_ok() => {
                    self.file.unlock()?;
                    thread::sleep(PAUSE);
                }
                Err(TryLockError::WouldBlock) => return Ok(false),
                // A file system without locks has one process a file by other means or not at all.
                Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Unsupported => return Ok(true),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Whether it was this process that took it.
    pub(crate) fn is_own(&self) -> bool {
        self.pid == pid()
    }

    /// The file, as it was when it was locked.
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Whether the path still names the file.
    pub(crate) fn is_in_place(&self) -> io::Result<bool> {
        is_at(&self.file, &name_to_lock(&self.path))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if !self.held || !self.is_own() {
            return;
        }
        // While it is still locked, so that nobody else's is removed.
        let is_empty = || self.file.metadata().is_ok_and(|metadata| metadata.len() == 0);
        if (self.made && is_empty() || cfg!(not(unix))) && self.is_in_place().unwrap_or(false) {
            let _ = fs::remove_file(name_to_lock(&self.path));
        }
        // Others may have the file open by the same handle, so that closing this one would not do.
        let _ = self.file.unlock();
    }
}

/// The number of this process. WASI has none.
pub(crate) fn pid() -> u32 {
    if cfg!(target_os = "wasi") { 0 } else { std::process::id() }
}

/// Whether somebody has the store's file at `path` open for writing.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = open_to_read(&name_to_lock(path)) else { return false };
    matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
}

/// Opens a file for writing, or for reading where it may only be read: a lock takes no more.
fn open(path: &Path) -> io::Result<File> {
    match open_regular(OpenOptions::new().read(true).write(true), path) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => open_to_read(path),
        opened => opened,
    }
}

fn open_to_read(path: &Path) -> io::Result<File> {
    open_regular(OpenOptions::new().read(true), path)
}

/// Opens a regular file. Anything else is refused: a pipe would wait for its other end, and what a device does when it
/// is written to, or replaced, is not for us to find out.
pub(crate) fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    #[cfg(unix)]
    if kind.is_dir() {
        return Err(rustix::io::Errno::ISDIR.into());
    }
    if kind.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"))
    }
}

/// The file that carries the lock: the store's own.
#[cfg(unix)]
fn name_to_lock(path: &Path) -> PathBuf {
    path.into()
}

/// Elsewhere a lock keeps others from reading, so it is on a file beside the store's.
#[cfg(not(unix))]
fn name_to_lock(path: &Path) -> PathBuf {
    crate::paths::beside(path, ".lock")
}

#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(there) => Ok((ours.dev(), ours.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Elsewhere a file that is open cannot be removed.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
fn is_at(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

/// The process that holds the lock, where the system tells. Not the one that took it: that may have ended, and left it
/// to a child.
#[cfg(target_os = "linux")]
fn holder(file: &File) -> Option<u32> {
    use std::os::unix::fs::MetadataExt;
    let wanted = file.metadata().ok()?;
    let holds = |process: &Path| {
        let Ok(handles) = fs::read_dir(process.join("fd")) else { return false };
        handles.flatten().any(|handle| {
            let is_it = |there: fs::Metadata| (there.dev(), there.ino()) == (wanted.dev(), wanted.ino());
            fs::metadata(handle.path()).is_ok_and(is_it)
                && fs::read_to_string(process.join("fdinfo").join(handle.file_name())).is_ok_and(|about| {
                    about.lines().any(|line| line.starts_with("lock:") && line.contains("WRITE"))
                })
        })
    };
    let own = pid();
    let others =
        fs::read_dir("/proc").ok()?.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    // Where several have it, as after a fork, this one is named first.
    std::iter::once(own)
        .chain(others.filter(|other: &u32| *other != own))
        .find(|process| holds(&PathBuf::from(format!("/proc/{process}"))))
}

#[cfg(not(target_os = "linux"))]
fn holder(_: &File) -> Option<u32> {
    None
}
