//! The file system of the machine.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

#[cfg(target_os = "linux")]
use super::Window;
use super::{Disk, File, Folder, ReadAt, Stamp};
use crate::error::Result;
use crate::lock::{self, Lock, Make, open_to_read};

/// The file system of the machine.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>> {
        let file =
            lock.map_or_else(|| open_to_read(path).map(Arc::new), |lock| Ok(Arc::clone(lock.file())))?;
        Ok(Arc::new(RealFile(file)))
    }

    fn create(&self, path: &Path, lock: Option<&Lock>) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        // No link that somebody put there is followed.
        options.read(true).write(true).create_new(true);
        let Some(lock) = lock else { return Ok(Arc::new(RealFile(options.open(path)?.into()))) };
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        // Nobody reads there what they could not read in the other file, not even meanwhile.
        take_owner(&file, lock.file()).inspect_err(|_| drop(fs::remove_file(path)))?;
        Ok(Arc::new(RealFile(file.into())))
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

    fn lock(&self, path: &Path, make: Make) -> Result<Option<Lock>> {
        Lock::take(path, make).map(Some)
    }

    fn has_writer(&self, path: &Path) -> bool {
        lock::is_held(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Gives a new file the owner and the permissions of an old one. A process that may not give it away keeps it. If the
/// group stays another one, it gets nothing, and everybody else no more than both others and the old group had.
#[cfg(unix)]
fn take_owner(new: &fs::File, old: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
    let (ours, theirs) = (new.metadata()?, old.metadata()?);
    if ours.uid() != theirs.uid() {
        let _ = fchown(new, Some(theirs.uid()), None);
    }
    let mode = theirs.mode() & 0o777;
    let has_group = ours.gid() == theirs.gid() || fchown(new, None, Some(theirs.gid())).is_ok();
    let mode = if has_group { mode } else { without_group(mode) };
    new.set_permissions(fs::Permissions::from_mode(mode))
}

#[cfg(unix)]
fn without_group(mode: u32) -> u32 {
    mode & 0o700 | mode & mode >> 3 & 0o007
}

#[cfg(not(unix))]
fn take_owner(new: &fs::File, old: &fs::File) -> io::Result<()> {
    // WASI has no permissions.
    if cfg!(windows) { new.set_permissions(old.metadata()?.permissions()) } else { Ok(()) }
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
struct RealFile(Arc<fs::File>);

impl ReadAt for RealFile {
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
}

impl File for RealFile {
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

    fn lock(&self, path: &Path, old: Option<&Lock>) -> io::Result<Option<Lock>> {
        Lock::of_new(&self.0, path, old).map(Some)
    }

    fn is_gone(&self, path: &Path) -> io::Result<bool> {
        lock::is_gone(&self.0, path)
    }

    /// Elsewhere a sync of the file does not have to include what was written by way of memory.
    #[cfg(target_os = "linux")]
    fn window(&self, offset: u64, len: usize) -> Option<Box<dyn Window>> {
        let end = offset.checked_add(len as u64)?;
        if !has_blocks_of_its_own(&self.0) {
            return None;
        }
        // A store to memory behind the file's end would end the process.
        if self.len().ok()? < end {
            return None;
        }
        // SAFETY: the file is locked against other writers of stores, and its readers copy bytes by system
        // calls. Any other program that changes it changes bytes that this process only writes.
        let map = unsafe { memmap2::MmapOptions::new().offset(offset).len(len).map_mut(&*self.0) }.ok()?;
        // A mapping keeps the lock, so a child of fork must not have it.
        map.advise(memmap2::Advice::DontFork).ok()?;
        Some(Box::new(Mapped(map)))
    }
}

/// Whether a store to a mapped part of the file takes no space. Elsewhere copies of a file may share its blocks (btrfs,
/// XFS): the first store to one needs a new block, and where the disk is full it ends the process (`SIGBUS`).
#[cfg(target_os = "linux")]
fn has_blocks_of_its_own(file: &fs::File) -> bool {
    /// ext2 to ext4, and tmpfs.
    const OWN: [i128; 2] = [0xef53, 0x0102_1994];
    rustix::fs::fstatfs(file).is_ok_and(|system| OWN.contains(&i128::from(system.f_type)))
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

#[cfg(windows)]
fn read_once(file: &fs::File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, bytes, offset)
}

#[cfg(windows)]
fn write_all(file: &fs::File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => {
                bytes = &bytes[written..];
                offset += written as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// WASI has one thread, so nobody else moves the file's position.
#[cfg(not(any(unix, windows)))]
fn read_once(mut file: &fs::File, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
    use io::{Read, Seek, SeekFrom};
    file.seek(SeekFrom::Start(offset))?;
    file.read(bytes)
}

#[cfg(not(any(unix, windows)))]
fn write_all(mut file: &fs::File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    use io::{Seek, SeekFrom, Write};
    file.seek(SeekFrom::Start(offset))?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn permissions_of_a_group_pass_to_no_other() {
        let modes = [(0o660, 0o600), (0o640, 0o600), (0o664, 0o604), (0o604, 0o600), (0o600, 0o600)];
        for (mode, expected) in modes {
            assert_eq!(without_group(mode), expected, "{mode:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn zeros_are_written_behind_the_end_alone() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("file");
        fs::write(&path, [1; 1000]).expect("a new file");
        let file = OpenOptions::new().write(true).open(&path).expect("it is there");
        fill_with_zeros(&file, 1000, 200_000).expect("space");
        let bytes = fs::read(&path).expect("it is there");
        assert_eq!(bytes.len(), 200_000);
        assert_eq!(bytes.iter().position(|&byte| byte != 1), Some(1000));
        assert!(bytes[1000..].iter().all(|&byte| byte == 0));
    }
}
