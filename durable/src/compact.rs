//! Writing the file anew: a dump beside it, what was logged meanwhile, and a rename.
//!
//! The dump is taken while writers go on, so it is of no single moment. All that changed since it began is in
//! the log, and doing that again makes the two one. Writers wait for the last of it alone.

use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use twindex::dump::{self, HEAD_BYTES, Kind, Progress};

use crate::core::{Core, Home, Logged, lock};
use crate::disk::{Disk, File};
use crate::load::LogReader;
use crate::log::End;
use crate::{Error, Result};

/// What is still to be copied when writers are made to wait.
const LAST_BYTES: u64 = 64 * 1024;
/// How often at most it is tried to get there. Writers may be quicker than the disk.
const MOST_ROUNDS: usize = 8;

/// Whether and how often the file was written anew.
#[derive(Default)]
pub(crate) struct Compaction {
    running: Mutex<()>,
    in_background: Arc<AtomicBool>,
    stopped: AtomicBool,
    pub(crate) count: AtomicU64,
    /// Why the last one in the background came to nothing.
    pub(crate) error: Mutex<Option<Error>>,
}

/// That a compaction in the background is on its way.
pub(crate) struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

impl Compaction {
    /// `None` where one is on its way.
    pub(crate) fn begin_in_background(&self) -> Option<Running> {
        (!self.in_background.swap(true, Relaxed)).then(|| Running(Arc::clone(&self.in_background)))
    }

    /// Ends the one that is running, and lets no more begin.
    pub(crate) fn stop(&self) -> MutexGuard<'_, ()> {
        self.stopped.store(true, Relaxed);
        lock(&self.running)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.running.try_lock().is_err()
    }

    pub(crate) fn note(&self, error: Option<Error>) {
        *lock(&self.error) = error;
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Writes the whole store to its file.
pub(crate) fn compact(core: &Core, home: &Home, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let Some(Logged { log, .. }) = &home.logged else { return save(core, home, progress) };
    let _running = lock(&home.compaction.running);
    home.check_writable()?;
    let (from, tables) = core.moment(|| log.at());
    let mut new = New::create(&*home.disk, &home.path, &home.compaction.stopped)?;
    new.dump(&tables, progress)?;
    let mut copied = from;
    // Each round has less to do, since less is written while the one before is put on disk.
    for _ in 0..MOST_ROUNDS {
        let end = log.end()?;
        let left = end.at - copied;
        new.copy(&end, copied)?;
        copied = end.at;
        new.sync()?;
        if left <= LAST_BYTES {
            break;
        }
    }
    let leader = log.lead();
    leader.switch(|end| {
        new.copy(end, copied)?;
        new.sync()?;
        new.put_in_place()?;
        // From here on a crash may leave either file, and the old one will lack what is written next.
        home.disk.sync_folder(&home.path).map_err(|error| leader.fail(&error))?;
        Ok(new.end())
    })?;
    drop(leader);
    home.compaction.count.fetch_add(1, Relaxed);
    Ok(())
}

/// Writes the store of a file without a log.
pub(crate) fn save(core: &Core, home: &Home, progress: &mut dyn FnMut(Progress)) -> Result<()> {
    let _whole = home.batches.write().unwrap_or_else(PoisonError::into_inner);
    write_anew(&*home.disk, &home.path, &core.tables(), progress)?;
    home.compaction.count.fetch_add(1, Relaxed);
    Ok(())
}

/// Writes a file of these tables, with a log that is empty.
pub(crate) fn write_anew(
    disk: &dyn Disk,
    path: &Path,
    tables: &[(u32, twindex::Table)],
    progress: &mut dyn FnMut(Progress),
) -> Result<End> {
    let never = AtomicBool::new(false);
    let mut new = New::create(disk, path, &never)?;
    new.dump(tables, progress)?;
    new.sync()?;
    new.put_in_place()?;
    disk.sync_folder(path).map_err(|error| Error::io(path, error))?;
    Ok(new.end())
}

/// A file that is to take another's place.
struct New<'d> {
    disk: &'d dyn Disk,
    /// The other's, and its own while it is beside it.
    path: &'d Path,
    beside: PathBuf,
    in_place: bool,
    file: Arc<dyn File>,
    salt: u64,
    at: u64,
    dump: u64,
    stopped: &'d AtomicBool,
}

impl<'d> New<'d> {
    fn create(disk: &'d dyn Disk, path: &'d Path, stopped: &'d AtomicBool) -> Result<Self> {
        let beside = crate::beside(path, ".new");
        let file = disk.create(&beside).map_err(|error| Error::io(&beside, error))?;
        let salt = random_salt();
        Ok(Self { disk, path, beside, in_place: false, file, salt, at: 0, dump: 0, stopped })
    }

    fn dump(&mut self, tables: &[(u32, twindex::Table)], progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let salt = self.salt;
        let written = dump::write(tables, salt, self, progress);
        let path = &self.beside;
        self.dump = written.map_err(|error| Error::of_file(path, error))?.bytes;
        Ok(())
    }

    /// Appends the operations that the other file has between `from` and its end.
    fn copy(&mut self, end: &End, from: u64) -> Result<()> {
        let mut reader = LogReader::new(end, from);
        let mut records = Vec::new();
        let mut copied = from;
        while copied < end.at {
            let found = reader.record().map_err(|error| Error::of_file(self.path, error))?;
            let Some((kind, payload)) = found else {
                let what = "a record that was just written is damaged";
                return Err(Error::Damaged { path: self.path.into(), offset: copied, what });
            };
            copied += (HEAD_BYTES + payload.len()) as u64;
            if kind == Kind::Log {
                let start = records.len();
                records.resize(start + HEAD_BYTES, 0);
                records.extend_from_slice(payload);
                dump::seal(kind, self.salt, self.at + start as u64, &mut records[start..]);
            }
            if records.len() >= 1 << 20 || copied >= end.at {
                let written = self.write_all(&records);
                written.map_err(|error| Error::io(&self.beside, error))?;
                records.clear();
            }
        }
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file.sync().map_err(|error| Error::io(&self.beside, error))
    }

    fn put_in_place(&mut self) -> Result<()> {
        self.disk.rename(&self.beside, self.path).map_err(|error| Error::io(self.path, error))?;
        self.in_place = true;
        Ok(())
    }

    fn end(&self) -> End {
        End { file: Arc::clone(&self.file), salt: self.salt, at: self.at, dump: self.dump }
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if !self.in_place {
            // It is only in the way where it cannot be removed: the next one overwrites it.
            let _ = self.disk.remove(&self.beside);
        }
    }
}

impl Write for New<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.stopped.load(Relaxed) {
            return Err(io::Error::other("the store is being closed"));
        }
        self.file.write_at(self.at, bytes)?;
        self.at += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A random number other than 0. The standard library seeds its hashes from the system.
pub(crate) fn random_salt() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id()).max(1)
}
