//! Rewriting a file: beside the old one, then in its place.

use std::fmt;
use std::io::{self, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use twindex_format::{
    HEAD_BYTES, History, Kind, LogReader, Operations, Position, Progress, write_tables_after,
};

use crate::disk::{Disk, File};
use crate::error::{Error, Result};
use crate::lock::Lock;
use crate::log::{End, LEAST_DUE_BYTES, Log, Pace, random_salt};
use crate::mutex::lock;
use crate::paths::temporary;

/// The simulated disk is slow enough for tests of less.
const PART: u64 = if cfg!(test) { 16 } else { 1 };
/// How much of the new file is put on disk at once, and may be left to copy before the log is held.
pub(crate) const CHUNK: u64 = (4 << 20) / PART;
/// What writers may append in any case. With half of this, a log is not due again as soon as it is compacted.
pub(crate) const BURST: u64 = LEAST_DUE_BYTES / 2 / PART;
/// How many bytes of its old log a file keeps for feeds and followers: as many as its pairs take, within these bounds. So a
/// compaction writes little more because of them, and a small store stays small.
pub(crate) const KEPT: RangeInclusive<u64> = (1 << 20) / PART..=(16 << 20) / PART;

/// Whether and how often the file was written anew.
#[derive(Default)]
pub(crate) struct Compaction {
    running: Mutex<()>,
    is_running: AtomicBool,
    in_background: Arc<AtomicBool>,
    pub(crate) stopped: AtomicBool,
    pub(crate) count: AtomicU64,
    /// Why the last one in the background came to nothing.
    pub(crate) error: Mutex<Option<Error>>,
    /// When the next one may begin by itself after one that failed, and how long that was.
    next: Mutex<Option<(Instant, Duration)>>,
}

/// How long nothing is written anew after a first failure. After each further one it is twice as long.
const PAUSE: RangeInclusive<Duration> = if cfg!(test) {
    Duration::ZERO..=Duration::ZERO
} else {
    Duration::from_secs(1)..=Duration::from_mins(1)
};

/// That a compaction in the background is on its way.
pub(crate) struct Running(Arc<AtomicBool>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.store(false, Relaxed);
    }
}

/// That no other compaction is running.
pub(crate) struct Alone<'c> {
    is_running: &'c AtomicBool,
    _held: MutexGuard<'c, ()>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        self.is_running.store(false, Relaxed);
    }
}

impl Compaction {
    pub(crate) fn begin(&self) -> Alone<'_> {
        self.alone(lock(&self.running))
    }

    pub(crate) fn try_begin(&self) -> Option<Alone<'_>> {
        match self.running.try_lock() {
            Ok(held) => Some(self.alone(held)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.alone(poisoned.into_inner())),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn alone<'c>(&'c self, held: MutexGuard<'c, ()>) -> Alone<'c> {
        self.is_running.store(true, Relaxed);
        Alone { is_running: &self.is_running, _held: held }
    }

    /// `None` if one is on its way.
    pub(crate) fn begin_in_background(&self) -> Option<Running> {
        (!self.in_background.swap(true, Relaxed)).then(|| Running(Arc::clone(&self.in_background)))
    }

    /// Ends the one that is running, and lets no more begin.
    pub(crate) fn stop(&self) -> Alone<'_> {
        self.stopped.store(true, Relaxed);
        self.begin()
    }

    /// Lets others begin again, after [`stop`](Self::stop).
    pub(crate) fn go_on(&self) {
        self.stopped.store(false, Relaxed);
    }

    /// Whether it is not too early after one that failed.
    pub(crate) fn is_time(&self) -> bool {
        lock(&self.next).is_none_or(|(next, _)| Instant::now() >= next)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    pub(crate) fn is_running(&self) -> bool {
        self.is_running.load(Relaxed)
    }

    pub(crate) fn note(&self, error: Option<Error>) {
        let mut next = lock(&self.next);
        *next = error.is_some().then(|| {
            let pause = next.map_or(*PAUSE.start(), |(_, pause)| (2 * pause).min(*PAUSE.end()));
            (Instant::now() + pause, pause)
        });
        *lock(&self.error) = error;
    }
}

impl fmt::Debug for Compaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compaction").field("count", &self.count).finish_non_exhaustive()
    }
}

/// Writes a file of these tables, with a log that is empty, in the place of the one that is locked. Then the new one is.
pub(crate) fn write_anew(
    disk: &dyn Disk,
    path: &Path,
    held: &mut Option<Lock>,
    tables: &[(u32, twindex::Table)],
    progress: &mut dyn FnMut(Progress),
) -> Result<End> {
    replace(disk, path, held, &mut |new| new.dump(tables, None, progress))
}

/// Puts the file that `fill` writes in the place of the one that is locked. Then the new one is.
pub(crate) fn replace(
    disk: &dyn Disk,
    path: &Path,
    held: &mut Option<Lock>,
    fill: &mut dyn FnMut(&mut New<'_>) -> Result<()>,
) -> Result<End> {
    let never = AtomicBool::new(false);
    let mut new = New::create(disk, path, held.as_ref(), &never)?;
    fill(&mut new)?;
    new.sync()?;
    let folder = disk.folder(path).map_err(|error| Error::io(path, error))?;
    if !is_in_place(held.as_ref(), path)? {
        return Err(moved(path));
    }
    let lock = new.put_in_place(held.as_ref())?;
    *held = lock.or(held.take());
    folder.sync().map_err(|error| Error::io(path, error))?;
    Ok(new.end())
}

/// Whether the path still names the file that is locked.
pub(crate) fn is_in_place(held: Option<&Lock>, path: &Path) -> Result<bool> {
    held.map_or(Ok(true), Lock::is_in_place).map_err(|error| Error::io(path, error))
}

pub(crate) fn moved(path: &Path) -> Error {
    let what = "the store's file was moved, removed or replaced, so it cannot be compacted";
    Error::io(path, io::Error::new(io::ErrorKind::NotFound, what))
}

/// Removes what a process that ended too early left beside the file, which whoever calls this has locked.
pub(crate) fn remove_left(disk: &dyn Disk, path: &Path) -> io::Result<()> {
    match disk.remove(&temporary(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// A file that is to take another's place.
pub(crate) struct New<'d> {
    disk: &'d dyn Disk,
    /// The other's, and its own while it is beside it.
    path: &'d Path,
    pub(crate) beside: PathBuf,
    in_place: bool,
    pub(crate) file: Arc<dyn File>,
    salt: u64,
    pub(crate) at: u64,
    dump: u64,
    /// Where its last record is in the store's history.
    position: Position,
    /// How much of it is on disk.
    synced: u64,
    /// Called then, so that writers may go on.
    paced: Option<Paced>,
    stopped: &'d AtomicBool,
}

/// What writers may append.
pub(crate) struct Paced {
    pace: Pace,
    /// An offset in the log up to which they may in any case.
    base: u64,
    /// How much of the new file was on disk when that was so.
    synced: u64,
    /// How many quarters they may append of what is put on disk since.
    quarters: u64,
}

impl Paced {
    fn may_reach(&self, synced: u64) -> u64 {
        self.base + (synced - self.synced) / 4 * self.quarters
    }
}

impl<'d> New<'d> {
    /// Makes an empty file beside the one that is locked.
    pub(crate) fn create(
        disk: &'d dyn Disk,
        path: &'d Path,
        held: Option<&Lock>,
        stopped: &'d AtomicBool,
    ) -> Result<Self> {
        let beside = temporary(path);
        let file = remove_left(disk, path).and_then(|()| disk.create(&beside, held));
        let file = file.map_err(|error| Error::io(&beside, error))?;
        let salt = random_salt();
        let position = Position::start(salt);
        let (in_place, at, dump, synced, paced) = (false, 0, 0, 0, None);
        Ok(Self { disk, path, beside, in_place, file, salt, at, dump, position, synced, paced, stopped })
    }

    /// From now on, writers may append what they can do in a burst behind the offset `from`, and three quarters
    /// of what is put on disk.
    pub(crate) fn keep_pace(&mut self, log: &Arc<Log>, from: u64) {
        let base = from + BURST;
        self.paced = Some(Paced { pace: log.allow(base), base, synced: self.synced, quarters: 3 });
    }

    /// From now on, writers may append half of what is put on disk.
    pub(crate) fn slow_down(&mut self) {
        if let Some(paced) = &mut self.paced {
            paced.base = paced.may_reach(self.synced);
            (paced.synced, paced.quarters) = (self.synced, 2);
        }
    }

    /// From now on, and until what is returned is dropped, writers may append up to this offset.
    pub(crate) fn hold_at(&mut self, most: u64) -> Option<Pace> {
        let Paced { pace, .. } = self.paced.take()?;
        pace.allow(most);
        Some(pace)
    }

    pub(crate) fn dump(
        &mut self,
        tables: &[(u32, twindex::Table)],
        history: Option<&History<'_>>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        let salt = self.salt;
        let written = write_tables_after(history, tables, salt, self, progress);
        let path = &self.beside;
        self.dump = written.map_err(|error| Error::of_file(path, error))?.bytes;
        Ok(())
    }

    /// Says, behind the dump, where the log that follows is in the store's history.
    pub(crate) fn begin_log(&mut self, position: Position) -> Result<()> {
        let mut operations = Operations::default();
        operations.begin_with(position);
        self.position = position;
        let record = operations.seal(self.salt, self.at);
        self.write_all(record).map_err(|error| Error::io(&self.beside, error))
    }

    /// Appends the operations that the other file has between `from` and its end, which is returned.
    pub(crate) fn copy(&mut self, end: &End, from: u64) -> Result<u64> {
        let mut reader = LogReader::of_file(&*end.file, end.salt, end.at, from);
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
                twindex_format::seal(kind, self.salt, self.at + start as u64, &mut records[start..]);
            }
            if records.len() >= 1 << 20 || copied >= end.at {
                let written = self.write_all(&records);
                written.map_err(|error| Error::io(&self.beside, error))?;
                records.clear();
            }
        }
        self.position = end.position;
        Ok(end.at)
    }

    pub(crate) fn sync(&mut self) -> Result<()> {
        self.put_on_disk().map_err(|error| Error::io(&self.beside, error))
    }

    fn put_on_disk(&mut self) -> io::Result<()> {
        self.file.sync()?;
        self.synced = self.at;
        if let Some(paced) = &self.paced {
            paced.pace.allow(paced.may_reach(self.synced));
        }
        Ok(())
    }

    /// Gives it the other's name, and returns the lock that it has from before on.
    pub(crate) fn put_in_place(&mut self, held: Option<&Lock>) -> Result<Option<Lock>> {
        let failed = |error| Error::io(self.path, error);
        let lock = self.file.lock(self.path, held).map_err(failed)?;
        self.disk.rename(&self.beside, self.path).map_err(failed)?;
        self.in_place = true;
        Ok(lock)
    }

    pub(crate) fn end(&self) -> End {
        let Self { salt, at, dump, position, synced, .. } = *self;
        End { file: Arc::clone(&self.file), salt, at, dump, position, synced, last: None }
    }
}

impl Drop for New<'_> {
    fn drop(&mut self) {
        if !self.in_place {
            // Where it cannot be removed now, the next one tries again.
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
        if self.paced.is_some() && self.at - self.synced >= CHUNK {
            self.put_on_disk()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
