//! The file system of the machine.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::Path;
use std::sync::Arc;

use super::{Disk, File, Stamp, Window};
use crate::Result;
use crate::lock::Lock;

/// The file system of the machine.
#[derive(Debug)]
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn open(&self, path: &Path, write: bool) -> io::Result<Arc<dyn File>> {
        Ok(Arc::new(RealFile(OpenOptions::new().read(true).write(write).open(path)?)))
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn File>> {
        let mut options = OpenOptions::new();
        Ok(Arc::new(RealFile(options.read(true).write(true).create(true).truncate(true).open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        take_permissions(from, to)?;
        fs::rename(from, to)
    }

    #[cfg(unix)]
    fn sync_folder(&self, path: &Path) -> io::Result<()> {
        fs::File::open(crate::folder_of(path))?.sync_all()
    }

    /// Where a folder is no file, the system keeps its names by itself.
    #[cfg(not(unix))]
    fn sync_folder(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn lock(&self, path: &Path) -> Result<Option<Lock>> {
        // WASI has neither locks nor processes.
        if cfg!(target_os = "wasi") { Ok(None) } else { Lock::take(path).map(Some) }
    }

    fn has_writer(&self, path: &Path) -> bool {
        crate::lock::is_held(path)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Whoever may read and write a file may do so with the one that takes its place. WASI knows nothing of that.
pub(crate) fn take_permissions(from: &Path, to: &Path) -> io::Result<()> {
    match fs::metadata(to) {
        Ok(_) if cfg!(target_os = "wasi") => Ok(()),
        Ok(old) => fs::set_permissions(from, old.permissions()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
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

    #[cfg(target_os = "linux")]
    fn reserve(&self, len: u64) -> io::Result<()> {
        use rustix::io::Errno;
        match rustix::fs::fallocate(&self.0, rustix::fs::FallocateFlags::empty(), 0, len) {
            // Room is then found, or not, when it is written to.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            reserved => Ok(reserved?),
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn reserve(&self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
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
