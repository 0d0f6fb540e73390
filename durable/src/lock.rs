//! One writer a file.
//!
//! The lock is on the store's file itself, so that whoever comes by another name of it, a hard link or a new name,
//! meets it too. What takes the file's place is locked before it does. The system lets go of a lock when its process
//! ends, however it ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::paths::{TEMPORARY, is_temporary};
use crate::registry::{self, Entry, Identity};

/// How often, and with what pauses, a lock is tried for that a reader seems to hold: one looks for a moment.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(1);

/// Whether to make the file that is to be locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Make {
    Never,
    /// If there is none, an empty one.
    IfAbsent,
    /// Fails if there is one that is not empty.
    New,
}

/// A store's file, locked. Reads and writes use the same handle, so that it is the file that is
/// locked.
#[derive(Debug)]
pub(crate) struct Lock {
    /// Where the file was when it was locked.
    path: PathBuf,
    file: Arc<File>,
    may_write: bool,
    /// Whose it is. A child of fork leaves it to its parent.
    pid: u32,
    /// It was made to be locked, and is empty until a store takes its place.
    made: bool,
    held: bool,
    entry: &'static Entry,
}

impl Lock {
    /// Locks the store's file at `path`. Waits for a store of this process that is being closed.
    pub(crate) fn take(path: &Path, make: Make) -> Result<Self> {
        let failed = |error| Error::io(path, error);
        if is_temporary(path) {
            let what =
                format!("a name that ends in {TEMPORARY} is for files that Twindex removes: use another one");
            return Err(failed(io::Error::new(ErrorKind::InvalidInput, what)));
        }
        loop {
            let (file, may_write, is_new) = match Self::open(path, make) {
                // Somebody else made it meanwhile.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                opened => opened.map_err(failed)?,
            };
            let mut lock = Self::of(file, path, may_write).map_err(failed)?;
            lock.made = is_new;
            lock.held = lock.try_for(TRIES).map_err(failed)?;
            // Another file may have taken this one's place since it was opened.
            if !lock.is_in_place().map_err(failed)? {
                continue;
            }
            if make == Make::New && lock.file.metadata().map_err(failed)?.len() > 0 {
                return Err(failed(ErrorKind::AlreadyExists.into()));
            }
            if lock.held {
                return Ok(lock);
            }
            if !registry::is_closing(identity(&lock.file).map_err(failed)?) {
                return Err(Error::InUse { path: path.into(), pid: holder(&lock.file) });
            }
            drop(lock);
            thread::sleep(PAUSE);
        }
    }

    /// The file, whether it may be written to, and whether it was made.
    fn open(path: &Path, make: Make) -> io::Result<(File, bool, bool)> {
        match open_regular(OpenOptions::new().read(true).write(true), path) {
            // A lock takes no more than reading.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                Ok((open_to_read(path)?, false, false))
            }
            Err(error) if error.kind() == ErrorKind::NotFound && make != Make::Never => {
                let new = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
                Ok((new, true, true))
            }
            found => Ok((found?, true, false)),
        }
    }

    fn of(file: impl Into<Arc<File>>, path: &Path, may_write: bool) -> io::Result<Self> {
        let file = file.into();
        // Before it is locked, so that no child of fork gets the lock.
        let entry = registry::enter(&file, identity(&file)?);
        Ok(Self { path: path.into(), file, may_write, pid: pid(), made: false, held: false, entry })
    }

    /// Locks a file that nobody else knows yet, and which is to take the place of the one at `path`, which is locked.
    pub(crate) fn of_new(file: &Arc<File>, path: &Path, old: Option<&Self>) -> io::Result<Self> {
        let mut lock = Self::of(Arc::clone(file), path, true)?;
        lock.entry.set_closing(old.is_some_and(|old| old.entry.is_closing()));
        lock.held = lock.try_for(1)?;
        if lock.held { Ok(lock) } else { Err(ErrorKind::ResourceBusy.into()) }
    }

    /// Whether the file is locked now. Readers that look whether it is make no difference.
    fn try_for(&self, tries: u32) -> io::Result<bool> {
        for _ in 0..tries {
            match system::try_lock(&self.file) {
                Ok(()) => return Ok(true),
                Err(TryLockError::WouldBlock) if system::try_lock_shared(&self.file).is_ok() => {
                    system::unlock(&self.file)?;
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

    /// Has others wait until the file is free, or refuses them again.
    pub(crate) fn set_closing(&self, closing: bool) {
        self.entry.set_closing(closing);
    }

    pub(crate) fn is_own(&self) -> bool {
        self.pid == pid()
    }

    /// The file, as it was when it was locked.
    pub(crate) fn file(&self) -> &Arc<File> {
        &self.file
    }

    pub(crate) fn check_writable(&self) -> io::Result<()> {
        if self.may_write { Ok(()) } else { Err(ErrorKind::PermissionDenied.into()) }
    }

    /// Whether the path still names the file.
    pub(crate) fn is_in_place(&self) -> io::Result<bool> {
        Ok(identity_at(&self.path)? == Some(identity(&self.file)?))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        if self.held && self.is_own() {
            // While it is still locked, so that nobody else's is removed. WASI cannot tell whether the file is still in place, but
            // a store that took its place is not empty.
            let is_empty = || fs::metadata(&self.path).is_ok_and(|metadata| metadata.len() == 0);
            if self.made && is_empty() && self.is_in_place().unwrap_or(false) {
                let _ = fs::remove_file(&self.path);
            }
            // Others may have the file open by the same handle, so that closing this one would not do.
            let _ = system::unlock(&self.file);
        }
        self.entry.leave();
    }
}

/// The number of this process. WASI has none.
pub(crate) fn pid() -> u32 {
    if cfg!(target_os = "wasi") { 0 } else { std::process::id() }
}

/// Whether somebody has the store's file at `path` open for writing.
pub(crate) fn is_held(path: &Path) -> bool {
    let Ok(file) = open_to_read(path) else { return false };
    matches!(system::try_lock_shared(&file), Err(TryLockError::WouldBlock))
}

pub(crate) fn open_to_read(path: &Path) -> io::Result<File> {
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

fn identity(file: &File) -> io::Result<Identity> {
    system::about(file).map(|(identity, _)| identity)
}

fn identity_at(path: &Path) -> io::Result<Option<Identity>> {
    match system::identity_at(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

/// Whether what is written to the file is lost: no folder has a name for it any more, or another file is at its path. A
/// file that was moved, if nothing is at its path, has its bytes under its new name.
pub(crate) fn is_gone(file: &File, path: &Path) -> io::Result<bool> {
    let (own, names) = system::about(file)?;
    Ok(names == 0 || identity_at(path).is_ok_and(|there| there.is_some_and(|there| there != own)))
}

/// WASI has neither locks nor processes, and cannot tell files from each other.
#[cfg(not(windows))]
mod system {
    use std::fs::{self, File, Metadata, TryLockError};
    use std::io;
    use std::path::Path;

    use crate::registry::Identity;

    pub(super) fn try_lock(file: &File) -> Result<(), TryLockError> {
        file.try_lock()
    }

    pub(super) fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
        file.try_lock_shared()
    }

    pub(super) fn unlock(file: &File) -> io::Result<()> {
        file.unlock()
    }

    #[cfg(unix)]
    fn of(metadata: &Metadata) -> (Identity, u64) {
        use std::os::unix::fs::MetadataExt;
        (Identity(metadata.dev(), metadata.ino()), metadata.nlink())
    }

    #[cfg(not(unix))]
    fn of(_: &Metadata) -> (Identity, u64) {
        (Identity(0, 0), 1)
    }

    /// What tells the file from others, and how many names it has.
    pub(super) fn about(file: &File) -> io::Result<(Identity, u64)> {
        file.metadata().map(|metadata| of(&metadata))
    }

    pub(super) fn identity_at(path: &Path) -> io::Result<Identity> {
        fs::metadata(path).map(|metadata| of(&metadata).0)
    }
}

/// A lock of a file's bytes keeps others from reading them here, so it is on a byte that no file has.
#[cfg(windows)]
mod system {
    use std::fs::{File, TryLockError};
    use std::io;
    use std::mem::MaybeUninit;
    use std::os::windows::io::AsRawHandle;
    use std::path::Path;

    use windows_sys::Win32::Foundation::{ERROR_IO_PENDING, ERROR_LOCK_VIOLATION};
    use windows_sys::Win32::Storage::FileSystem::{
        BY_HANDLE_FILE_INFORMATION, GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK,
        LOCKFILE_FAIL_IMMEDIATELY, LockFileEx, UnlockFileEx,
    };
    use windows_sys::Win32::System::IO::{OVERLAPPED, OVERLAPPED_0, OVERLAPPED_0_0};

    use crate::registry::Identity;

    fn byte() -> OVERLAPPED {
        let place = OVERLAPPED_0_0 { Offset: 0, OffsetHigh: 1 << 30 };
        OVERLAPPED { Anonymous: OVERLAPPED_0 { Anonymous: place }, ..OVERLAPPED::default() }
    }

    fn lock(file: &File, flags: u32) -> Result<(), TryLockError> {
        let flags = flags | LOCKFILE_FAIL_IMMEDIATELY;
        // SAFETY: the handle is open, and the place outlives the call, which does not wait.
        if unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &mut byte()) } != 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error().map(i32::cast_unsigned) {
            Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => Err(TryLockError::WouldBlock),
            _ => Err(TryLockError::Error(error)),
        }
    }

    pub(super) fn try_lock(file: &File) -> Result<(), TryLockError> {
        lock(file, LOCKFILE_EXCLUSIVE_LOCK)
    }

    pub(super) fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
        lock(file, 0)
    }

    pub(super) fn unlock(file: &File) -> io::Result<()> {
        // SAFETY: as above.
        let unlocked = unsafe { UnlockFileEx(file.as_raw_handle(), 0, 1, 0, &mut byte()) };
        if unlocked != 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What tells the file from others, and how many names it has.
    pub(super) fn about(file: &File) -> io::Result<(Identity, u64)> {
        let mut about = MaybeUninit::<BY_HANDLE_FILE_INFORMATION>::uninit();
        // SAFETY: the handle is open, and there is room for what the call writes.
        if unsafe { GetFileInformationByHandle(file.as_raw_handle(), about.as_mut_ptr()) } == 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the call succeeded, so it wrote all of it.
        let about = unsafe { about.assume_init() };
        let index = u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow);
        Ok((Identity(about.dwVolumeSerialNumber.into(), index), about.nNumberOfLinks.into()))
    }

    pub(super) fn identity_at(path: &Path) -> io::Result<Identity> {
        about(&File::open(path)?).map(|(identity, _)| identity)
    }
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
