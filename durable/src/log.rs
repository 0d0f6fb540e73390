//! The log behind the dump: appending, syncing, failing.
//!
//! A record is appended in memory order for each key, since its writer holds the key's stripe. With `everysec`
//! it is the system's before the write returns, so a killed process loses nothing. A short record is copied
//! into memory that is the file's, where the system has that: a call of the system would take 500 ns where the
//! copy takes 50. A longer one waits in a buffer, until one of the writers that wait for it has handed all
//! that has come in to the system at once: a page that is written whole need not be made and read first.
//! With `always` all records go by the buffer, and the *leader* of those who wait syncs the file too: many
//! writers share one sync.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{io, mem};

use twindex::dump::{Operations, synced};

use crate::disk::{File, Window};
use crate::{Durability, Error, Result};

/// How much of the file is set aside at once: as much as there is, within these bounds. A sync of a file that need
/// not grow takes a tenth of the time.
const ROOM: std::ops::RangeInclusive<u64> = 1 << 20..=16 << 20;
/// Half a second until a sync begins leaves the other half for it to end.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(500);
/// A record up to this length is copied into the file's memory.
const SHORT_BYTES: usize = 1024;
/// A log that is shorter than this, or than twice its dump, is quick to read as it is.
pub(crate) const LEAST_DUE_BYTES: u64 = 64 << 20;
/// Buffers up to this size are kept.
const KEPT_BYTES: usize = 1 << 20;

/// Where a file's log goes on.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) file: Arc<dyn File>,
    pub(crate) salt: u64,
    /// The end of the last record.
    pub(crate) at: u64,
    /// The end of the dump.
    pub(crate) dump: u64,
}

#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    durability: Durability,
    tail: Mutex<Tail>,
    /// Held by who hands records to the system, with a buffer that is free.
    handing: Mutex<Vec<u8>>,
    /// How much of [`Out::written`] the system has. Grows while `tail` or `handing` is held.
    handed: AtomicU64,
    sync: Mutex<Sync>,
    synced: Condvar,
    failed: OnceLock<Arc<str>>,
    syncs: AtomicU64,
    due: AtomicBool,
    /// The log is past [`Out::allowed`]. Changed while `tail` is held.
    ahead: AtomicBool,
    room: Condvar,
    /// When it was last synced, where no thread of ours does that.
    by_writers: OnceLock<Mutex<Instant>>,
}

thread_local! {
    /// Memory for the record that a thread is making. It is made before the lock is taken that all writers share.
    static OPERATIONS: Cell<Option<Operations>> = const { Cell::new(None) };
}

#[derive(Debug)]
struct Tail {
    out: Out,
    closed: bool,
}

/// Where records are appended.
#[derive(Debug)]
struct Out {
    end: End,
    /// The file has at least this many bytes.
    reserved: u64,
    /// The part of the file that is memory, and its offset.
    window: Option<(u64, Box<dyn Window>)>,
    /// Records that are not yet written, with `always`.
    buffer: Vec<u8>,
    /// All the bytes ever appended, over all files: what a writer waits for.
    written: u64,
    /// The end of the last record of operations.
    last: u64,
    /// Up to where the file is on disk, and up to where a record says so.
    synced: u64,
    said: u64,
    /// How far the log may grow until a compaction has come further.
    allowed: u64,
}

/// What is on disk.
#[derive(Debug)]
struct Sync {
    /// How much of [`Tail::written`].
    done: u64,
    /// Somebody is at it.
    busy: bool,
    last: Option<SystemTime>,
}

/// The only thread that may sync, or put another file in place.
pub(crate) struct Leader<'l> {
    log: &'l Log,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        lock(&self.log.sync).busy = false;
        self.log.synced.notify_all();
    }
}

/// That writers wait where they are too far ahead of a compaction. They are free when it is dropped.
pub(crate) struct Pace {
    log: Arc<Log>,
}

impl Pace {
    /// Lets the log grow up to this offset.
    pub(crate) fn allow(&self, up_to: u64) {
        let mut tail = lock(&self.log.tail);
        tail.out.allowed = up_to;
        self.log.ahead.store(tail.out.end.at > up_to, Relaxed);
        drop(tail);
        self.log.room.notify_all();
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.allow(u64::MAX);
    }
}

/// Figures of a log.
#[derive(Debug)]
pub(crate) struct LogStats {
    pub(crate) dump_bytes: u64,
    pub(crate) log_bytes: u64,
    pub(crate) unsynced_bytes: u64,
    pub(crate) syncs: u64,
    pub(crate) last_sync: Option<SystemTime>,
    pub(crate) failed: Option<Arc<str>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Log {
    pub(crate) fn new(path: &Path, durability: Durability, end: End) -> Self {
        let out = Out {
            last: end.at,
            synced: end.at,
            said: end.at,
            reserved: end.at,
            allowed: u64::MAX,
            end,
            window: None,
            buffer: Vec::new(),
            written: 0,
        };
        let tail = Tail { out, closed: false };
        Self {
            path: path.into(),
            durability,
            tail: Mutex::new(tail),
            handing: Mutex::new(Vec::new()),
            handed: AtomicU64::new(0),
            sync: Mutex::new(Sync { done: 0, busy: false, last: None }),
            synced: Condvar::new(),
            failed: OnceLock::new(),
            syncs: AtomicU64::new(0),
            due: AtomicBool::new(false),
            ahead: AtomicBool::new(false),
            room: Condvar::new(),
            by_writers: OnceLock::new(),
        }
    }

    /// That writes can still be kept.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(reason) => Err(Error::LogFailed { path: self.path.clone(), reason: Arc::clone(reason) }),
        }
    }

    /// Ends the log for good: what the file holds from here on is not known.
    fn fail(&self, error: &io::Error) -> Error {
        let reason = self.failed.get_or_init(|| error.to_string().into());
        self.synced.notify_all();
        Error::LogFailed { path: self.path.clone(), reason: Arc::clone(reason) }
    }

    // --- keeping pace with a compaction

    /// Lets the log grow up to this offset, and says later how far it may then.
    pub(crate) fn allow(self: &Arc<Self>, up_to: u64) -> Pace {
        let pace = Pace { log: Arc::clone(self) };
        pace.allow(up_to);
        pace
    }

    /// Whether the next writer would wait.
    #[inline]
    pub(crate) fn is_ahead(&self) -> bool {
        self.ahead.load(Relaxed)
    }

    /// Returns once the log may grow. Writers come here before they take a lock and change anything.
    #[inline]
    pub(crate) fn wait_for_room(&self) {
        if self.is_ahead() {
            self.wait();
        }
    }

    #[cold]
    fn wait(&self) {
        let mut tail = lock(&self.tail);
        while self.is_ahead() {
            tail = self.room.wait(tail).unwrap_or_else(PoisonError::into_inner);
        }
    }

    // --- appending

    /// Appends what `fill` makes, in one record; what to [`acknowledge`](Self::acknowledge) then.
    #[inline]
    pub(crate) fn append(&self, fill: impl FnOnce(&mut Operations)) -> Result<u64> {
        // A thread that is about to end has none any more.
        let kept = OPERATIONS.try_with(Cell::take).ok().flatten();
        let mut operations = kept.unwrap_or_default();
        operations.clear(KEPT_BYTES);
        fill(&mut operations);
        let written = self.append_made(&mut operations);
        let _ = OPERATIONS.try_with(|own| own.set(Some(operations)));
        written
    }

    #[inline]
    fn append_made(&self, operations: &mut Operations) -> Result<u64> {
        let mut tail = lock(&self.tail);
        self.check()?;
        if tail.closed {
            return Err(Error::Closed { path: self.path.clone() });
        }
        let out = &mut tail.out;
        self.put(out, operations.seal(out.end.salt, out.end.at))?;
        out.last = out.end.at;
        Ok(out.written)
    }

    /// Appends a record. The system has it then, or it is in the buffer.
    #[inline]
    fn put(&self, out: &mut Out, record: &[u8]) -> Result<()> {
        let end = out.written + record.len() as u64;
        let all_handed = self.handed.load(Acquire) == out.written;
        let short = record.len() <= SHORT_BYTES && self.durability == Durability::EverySec;
        if all_handed && short && self.copy(out, record)? {
            self.handed.fetch_max(end, Release);
        } else {
            out.buffer.extend_from_slice(record);
        }
        out.end.at += record.len() as u64;
        out.written = end;
        if out.end.at > out.allowed {
            self.ahead.store(true, Relaxed);
        }
        Ok(())
    }

    /// Copies a record to its place in the file by way of memory; whether that can be done.
    #[inline]
    fn copy(&self, out: &mut Out, record: &[u8]) -> Result<bool> {
        if out.copy(record) {
            return Ok(true);
        }
        self.reserve(out, out.end.at + record.len() as u64)?;
        out.map();
        Ok(out.copy(record))
    }

    /// Sets room aside for the file to have `end` bytes, and more.
    fn reserve(&self, out: &mut Out, end: u64) -> Result<()> {
        if end <= out.reserved {
            return Ok(());
        }
        let room = end.clamp(*ROOM.start(), *ROOM.end());
        let len = (end + room).next_multiple_of(*ROOM.start());
        let file = &out.end.file;
        // Where that is more than the disk has left, what is needed may still fit.
        let reserved = file.reserve(len).map(|()| len).or_else(|_| file.reserve(end).map(|()| end));
        out.reserved = reserved.map_err(|error| self.fail(&error))?;
        self.due.store(out.is_due(), Relaxed);
        Ok(())
    }

    /// Returns once the system has what was appended up to `written`.
    fn hand_over(&self, written: u64) -> Result<()> {
        if self.handed.load(Acquire) >= written {
            return Ok(());
        }
        let mut free = lock(&self.handing);
        // While this one waited, another has handed its records over too.
        if self.handed.load(Acquire) >= written {
            return Ok(());
        }
        self.check()?;
        let mut tail = lock(&self.tail);
        let out = &mut tail.out;
        self.reserve(out, out.end.at)?;
        let mut buffer = mem::replace(&mut out.buffer, mem::take(&mut free));
        let (file, at, written) = (Arc::clone(&out.end.file), out.end.at - buffer.len() as u64, out.written);
        drop(tail);
        file.write_at(at, &buffer).map_err(|error| self.fail(&error))?;
        self.handed.fetch_max(written, Release);
        buffer.clear();
        if buffer.capacity() <= KEPT_BYTES {
            *free = buffer;
        }
        Ok(())
    }

    /// Returns once what was appended up to `written` is as safe as the durability says.
    #[inline]
    pub(crate) fn acknowledge(&self, written: u64) -> Result<()> {
        if self.durability == Durability::Always {
            return self.sync_up_to(written);
        }
        self.hand_over(written)?;
        match self.by_writers.get() {
            None => Ok(()),
            Some(last) => self.tick_if_due(last),
        }
    }

    // --- syncing

    /// Returns once all that was appended before the call is on disk.
    pub(crate) fn flush(&self) -> Result<()> {
        let written = lock(&self.tail).out.written;
        self.sync_up_to(written)
    }

    fn sync_up_to(&self, written: u64) -> Result<()> {
        let mut sync = lock(&self.sync);
        while sync.done < written {
            self.check()?;
            if sync.busy {
                sync = self.synced.wait(sync).unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            sync.busy = true;
            drop(sync);
            let synced = Leader { log: self }.sync();
            synced?;
            sync = lock(&self.sync);
        }
        Ok(())
    }

    /// Waits until nobody else is at it.
    pub(crate) fn lead(&self) -> Leader<'_> {
        let mut sync = lock(&self.sync);
        while sync.busy {
            sync = self.synced.wait(sync).unwrap_or_else(PoisonError::into_inner);
        }
        sync.busy = true;
        Leader { log: self }
    }

    /// Syncs what there is, and notes in the log that it is done, so that a reader can tell damage from what a
    /// power cut left unfinished.
    pub(crate) fn tick(&self) -> Result<()> {
        self.flush()?;
        let mut tail = lock(&self.tail);
        if !tail.closed && self.failed.get().is_none() {
            self.say_synced(&mut tail.out)?;
        }
        Ok(())
    }

    /// From now on a writer that comes when it is time syncs for all.
    pub(crate) fn leave_to_writers(&self) {
        self.by_writers.get_or_init(|| Mutex::new(Instant::now()));
    }

    #[cold]
    fn tick_if_due(&self, last: &Mutex<Instant>) -> Result<()> {
        let mut last = lock(last);
        if last.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        *last = Instant::now();
        drop(last);
        self.tick()
    }

    /// Appends the record that tells how much of the file is on disk, where there are operations of which none
    /// tells that yet.
    fn say_synced(&self, out: &mut Out) -> Result<()> {
        if out.said >= out.synced.min(out.last) {
            return Ok(());
        }
        out.said = out.synced;
        self.put(out, &synced(out.end.salt, out.end.at, out.synced))
    }

    /// Syncs all, cuts off what was set aside, and takes no more. Where that fails, it goes on as before.
    pub(crate) fn close(&self) -> Result<()> {
        let leader = self.lead();
        if mem::replace(&mut lock(&self.tail).closed, true) {
            return Ok(());
        }
        let closed = self.finish(&leader);
        if closed.is_err() {
            lock(&self.tail).closed = false;
        }
        closed
    }

    fn finish(&self, leader: &Leader<'_>) -> Result<()> {
        leader.sync()?;
        let mut tail = lock(&self.tail);
        self.say_synced(&mut tail.out)?;
        tail.out.window = None;
        drop(tail);
        leader.sync()?;
        let tail = lock(&self.tail);
        let End { file, at, .. } = &tail.out.end;
        let cut = file.set_len(*at).and_then(|()| file.sync());
        cut.map_err(|error| self.fail(&error))
    }

    pub(crate) fn stats(&self) -> LogStats {
        let (done, last) = {
            let sync = lock(&self.sync);
            (sync.done, sync.last)
        };
        let tail = lock(&self.tail);
        LogStats {
            dump_bytes: tail.out.end.dump,
            log_bytes: tail.out.end.at - tail.out.end.dump,
            unsynced_bytes: tail.out.written.saturating_sub(done),
            syncs: self.syncs.load(Relaxed),
            last_sync: last,
            failed: self.failed.get().cloned(),
        }
    }

    /// Where the next record goes.
    pub(crate) fn at(&self) -> u64 {
        lock(&self.tail).out.end.at
    }

    /// The end of what has been appended, all of which the system has.
    pub(crate) fn end(&self) -> Result<End> {
        let tail = lock(&self.tail);
        let End { file, salt, at, dump } = &tail.out.end;
        let end = End { file: Arc::clone(file), salt: *salt, at: *at, dump: *dump };
        let written = tail.out.written;
        drop(tail);
        self.hand_over(written)?;
        Ok(end)
    }

    /// Whether the log is kept from growing, as while another file takes its place.
    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.tail.try_lock().is_err()
    }

    /// Whether it is worth it to write the file anew. Asked with every write, so it is looked at now and then.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }
}

impl Out {
    /// Whether the log is longer than a dump of the same pairs is likely to be.
    fn is_due(&self) -> bool {
        self.end.at - self.end.dump > (2 * self.end.dump).max(LEAST_DUE_BYTES)
    }

    /// Copies a record to its place, where that is memory; whether it is.
    #[inline]
    fn copy(&mut self, record: &[u8]) -> bool {
        let Some((start, window)) = &mut self.window else { return false };
        let from = (self.end.at - *start) as usize;
        let Some(to) = window.bytes().get_mut(from..from + record.len()) else { return false };
        to.copy_from_slice(record);
        true
    }

    /// Makes the room that is set aside memory.
    #[cold]
    fn map(&mut self) {
        self.window = None;
        let at = self.end.at;
        let len = self.reserved.saturating_sub(at) as usize;
        self.window = self.end.file.window(at, len).map(|window| (at, window));
    }
}

impl Leader<'_> {
    /// Puts on disk what has been appended before the call.
    pub(crate) fn sync(&self) -> Result<()> {
        let log = self.log;
        log.check()?;
        let mut tail = lock(&log.tail);
        let out = &mut tail.out;
        if !out.buffer.is_empty() {
            log.say_synced(out)?;
        }
        let (file, end, written) = (Arc::clone(&out.end.file), out.end.at, out.written);
        drop(tail);
        log.hand_over(written)?;
        let is_removed = file.sync().and_then(|()| file.is_removed()).map_err(|error| log.fail(&error))?;
        if is_removed {
            let what = "its file was removed or replaced, so what is written to it would be lost";
            return Err(log.fail(&io::Error::new(io::ErrorKind::NotFound, what)));
        }
        lock(&log.tail).out.synced = end;
        log.syncs.fetch_add(1, Relaxed);
        let mut sync = lock(&log.sync);
        sync.done = sync.done.max(written);
        sync.last = Some(SystemTime::now());
        Ok(())
    }

    /// Puts another file in the place of this one, while no record is appended. `change` is given this file's
    /// last end, to copy what is missing, and returns the other's; all of that must be on disk then.
    pub(crate) fn switch(&self, change: impl FnOnce(&End) -> Result<End>) -> Result<()> {
        let _alone = lock(&self.log.handing);
        let mut tail = lock(&self.log.tail);
        let out = &mut tail.out;
        let buffer = mem::take(&mut out.buffer);
        if !buffer.is_empty() {
            let at = out.end.at - buffer.len() as u64;
            out.end.file.write_at(at, &buffer).map_err(|error| self.log.fail(&error))?;
            self.log.handed.fetch_max(out.written, Release);
        }
        self.log.check()?;
        let end = change(&out.end)?;
        out.window = None;
        (out.reserved, out.last, out.synced, out.said) = (end.at, end.at, end.at, end.at);
        out.end = end;
        let written = out.written;
        drop(tail);
        let mut sync = lock(&self.log.sync);
        sync.done = sync.done.max(written);
        sync.last = Some(SystemTime::now());
        Ok(())
    }

    /// Ends the log for good.
    pub(crate) fn fail(&self, error: &io::Error) -> Error {
        self.log.fail(error)
    }
}
