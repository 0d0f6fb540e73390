//! The file system of the machine.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Disk, File, Folder, Stamp, Window};
use crate::error::Result;
use crate::lock::{Lock, open_regular};

/// The file system of the machine.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile(open_regular(OpenOptions::new().read(true).write(write), path)?)))
    }

    fn create(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        // No link that somebody put there is followed.
        options.read(true).write(true).create_new(true);
        let Some(lock) = lock else { return Ok(Arc::new(RealFile(options.open(path)?))) };
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        // Nobody reads there what they could not read in the other file, not even meanwhile.
        take_owner(&file, lock.file()).inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    #[cfg(unix)]
    fn folder(&self, path: &Path) -> io::Result<Box<dyn Folder>> {
        Ok(Box::new(RealFolder(fs::File::open(crate::paths::folder_of(path))?)))
    }

    /// Where a folder is no file, the system keeps its names by itself.
    #[cfg(not(unix))]
    fn folder(&self, _: &Path) -> io::Result<Box<dyn Folder>> {
        Ok(Box::new(RealFolder))
    }

    fn lock(&self, path: &Path, make: bool) -> Result<Option<Lock>> {
        // WASI has neither locks nor processes.
        if cfg!(target_os = "wasi") { Ok(None) } else { Lock::take(path, make).map(Some) }
    }

    fn has_writer(&self, path: &Path) -> bool {
        crate::lock::is_held(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Gives a new file the owner and the permissions of an old one. Whoever may not give it away keeps it.
#[cfg(unix)]
fn take_owner(new: &fs::File, old: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (ours, theirs) = (new.metadata()?, old.metadata()?);
    if ours.uid() != theirs.uid() {
        let _ = fchown(new, Some(theirs.uid()), None);
    }
    if ours.gid() != theirs.gid() {
        let _ = fchown(new, None, Some(theirs.gid()));
    }
    new.set_permissions(fs::Permissions::from_mode(theirs.mode() & 0o777))
}

#[cfg(not(unix))]
fn take_owner(new: &fs::File, old: &fs::File) -> io::Result<()> {
    new.set_permissions(old.metadata()?.permissions())
}

#[cfg(unix)]
#[derive(Debug)]
struct RealFolder(fs::File);

#[cfg(not(unix))]
#[derive(Debug)]
struct RealFolder;

impl Folder for RealFolder {
    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        self.0.sync_all()?;
        Ok(())
    }
}

#[derive(Debug)]
struct RealFile(fs::File);

impl File for RealFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn stamp(&self) -> io::Result<Stamp> {
        let metadata = self.0.metadata()?;
        Ok((metadata.len(), metadata.modified().ok()))
    }

    fn read_at(&self, mut offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < bytes.len() {
            match read_once(&self.0, offset, &mut bytes[done..]) {
                Ok(0) => break,
                Ok(read) => {
                    done += read;
                    offset += read as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        write_all(&self.0, offset, bytes)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    #[cfg(unix)]
    fn reserve(&self, from: u64, to: u64) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{FallocateFlags, fallocate};
            use rustix::io::{Errno, retry_on_intr};
            match retry_on_intr(|| fallocate(&self.0, FallocateFlags::empty(), from, to - from)) {
                Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
                reserved => return Ok(reserved?),
            }
        }
        fill_with_zeros(&self.0, from, to)
    }

    /// Windows gives a file that is made longer its space at once.
    #[cfg(windows)]
    fn reserve(&self, _: u64, to: u64) -> io::Result<()> {
        if self.len()? < to { self.set_len(to) } else { Ok(()) }
    }

    /// WASI reserves nothing: space is found, or not, when it is written to.
    #[cfg(not(any(unix, windows)))]
    fn reserve(&self, _: u64, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    /// The system drops whole pages alone.
    #[cfg(target_os = "linux")]
    fn forget(&self, offset: u64) -> io::Result<bool> {
        const PAGES: u64 = 1 << 16;
        rustix::fs::fadvise(&self.0, offset / PAGES * PAGES, None, rustix::fs::Advice::DontNeed)?;
        Ok(true)
    }

    #[cfg(not(target_os = "linux"))]
    fn forget(&self, _: u64) -> io::Result<bool> {
        Ok(false)
    }

    fn lock(&self, path: &Path) -> io::Result<Option<Lock>> {
        // Elsewhere the lock is on a file beside, which stays.
        if cfg!(unix) { Lock::of_new(&self.0, path).map(Some) } else { Ok(None) }
    }

    #[cfg(unix)]
    fn is_removed(&self) -> io::Result<bool> {
        Ok(std::os::unix::fs::MetadataExt::nlink(&self.0.metadata()?) == 0)
    }

    /// Elsewhere a file that is open cannot be removed.
    #[cfg(not(unix))]
    fn is_removed(&self) -> io::Result<bool> {
        Ok(false)
    }

    #[cfg(target_os = "linux")]
    fn window(&self, offset: u64, len: usize) -> Option<Box<dyn Window>> {
        let end = offset.checked_add(len as u64)?;
        // A store to memory behind the file's end would end the process.
        if self.len().ok()? < end {
            return None;
        }
        // SAFETY: the file is locked against other writers of stores, and its readers copy bytes by system
        // calls. Who changes it all the same changes bytes that this process only ever writes.
        let map = unsafe { memmap2::MmapOptions::new().offset(offset).len(len).map_mut(&self.0) };
        Some(Box::new(Mapped(map.ok()?)))
    }

    /// Elsewhere a sync of the file does not have to include what was written by way of memory.
    #[cfg(not(target_os = "linux"))]
    fn window(&self, _: u64, _: usize) -> Option<Box<dyn Window>> {
        None
    }
}

#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Mapped(memmap2::MmapMut);

#[cfg(target_os = "linux")]
impl Window for Mapped {
    fn bytes(&mut self) -> &mut [u8] {
        &mut self.0
    }
}

/// Reserves space where the file system has no call for that, such as ext2.
#[cfg(unix)]
fn fill_with_zeros(file: &fs::File, from: u64, to: u64) -> io::Result<()> {
    static ZEROS: [u8; 1 << 16] = [0; 1 << 16];
    (from..to)
        .step_by(ZEROS.len())
        .try_for_each(|at| write_all(file, at, &ZEROS[..ZEROS.len().min((to - at) as usize)]))
}

#[cfg(unix)]
fn read_once(file: &fs::File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, bytes, offset)
}

#[cfg(unix)]
fn write_all(file: &fs::File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Where a file has one position for all its users: each thread that comes here holds a lock of ours.
#[cfg(not(unix))]
fn read_once(mut file: &fs::File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    use io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read(bytes)
}

#[cfg(not(unix))]
fn write_all(mut file: &fs::File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    use io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}
