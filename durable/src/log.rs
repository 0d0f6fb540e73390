//! The log behind the dump: appending, syncing, failing.
//!
//! A record is written in memory order for each key, since its writer holds the key's stripe. With
//! `everysec` it goes to the system before the write returns, so a killed process loses nothing: as a copy
//! into memory that is the file's, where the system has that (a call of the system for each would take some
//! 500 ns where the copy takes 50). With `always` it waits in a buffer, until one of the writers that wait
//! for it, the *leader*, writes and syncs all that has come in: many writers share one sync.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;
use std::{io, mem};

use twindex::dump::{Operations, synced};

use crate::disk::{File, Window};
use crate::{Durability, Error, Result};

/// How much of the file is set aside at once, and is memory at once. A sync of a file that need not grow takes
/// a tenth of the time.
const WINDOW_BYTES: u64 = 4 << 20;
/// A log that is shorter than this, or than its dump, is quick to read as it is.
const LEAST_DUE_BYTES: u64 = 16 << 20;
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
    sync: Mutex<Sync>,
    synced: Condvar,
    failed: OnceLock<Arc<str>>,
    syncs: AtomicU64,
    due: AtomicBool,
}

/// Where records are made.
#[derive(Debug)]
struct Tail {
    /// The record in the making.
    operations: Operations,
    out: Out,
    closed: bool,
}

/// Where records are appended.
#[derive(Debug)]
struct Out {
    end: End,
    /// Records wait in the buffer for somebody to sync them.
    buffered: bool,
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
            end,
            buffered: durability == Durability::Always,
            window: None,
            buffer: Vec::new(),
            written: 0,
        };
        let tail = Tail { operations: Operations::new(), out, closed: false };
        Self {
            path: path.into(),
            durability,
            tail: Mutex::new(tail),
            sync: Mutex::new(Sync { done: 0, busy: false, last: None }),
            synced: Condvar::new(),
            failed: OnceLock::new(),
            syncs: AtomicU64::new(0),
            due: AtomicBool::new(false),
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

    // --- appending

    /// Appends what `fill` makes, in one record; what to [`acknowledge`](Self::acknowledge) then.
    #[inline]
    pub(crate) fn append(&self, fill: impl FnOnce(&mut Operations)) -> Result<u64> {
        let mut tail = lock(&self.tail);
        self.check()?;
        if tail.closed {
            return Err(Error::Closed { path: self.path.clone() });
        }
        let Tail { operations, out, .. } = &mut *tail;
        fill(operations);
        let reserved = out.reserved;
        let appended = out.append(operations.seal(out.end.salt, out.end.at));
        if out.reserved != reserved {
            self.due.store(out.is_due(), Relaxed);
        }
        if operations.len() <= KEPT_BYTES {
            operations.clear();
        } else {
            *operations = Operations::new();
        }
        out.last = out.end.at;
        appended.map_err(|error| self.fail(&error))?;
        Ok(out.written)
    }

    /// Returns once what was appended up to `written` is as safe as the durability says.
    #[inline]
    pub(crate) fn acknowledge(&self, written: u64) -> Result<()> {
        if self.durability == Durability::Always { self.sync_up_to(written) } else { Ok(()) }
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
            tail.out.say_synced().map_err(|error| self.fail(&error))?;
        }
        Ok(())
    }

    /// Syncs all, cuts off what was set aside, and takes no more.
    pub(crate) fn close(&self) -> Result<()> {
        let leader = self.lead();
        {
            let mut tail = lock(&self.tail);
            if mem::replace(&mut tail.closed, true) {
                return Ok(());
            }
            self.check()?;
        }
        leader.sync()?;
        let mut tail = lock(&self.tail);
        tail.out.say_synced().map_err(|error| self.fail(&error))?;
        tail.out.window = None;
        drop(tail);
        leader.sync()?;
        let End { file, at, .. } = &lock(&self.tail).out.end;
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

    /// Whether it is worth it to write the file anew. Asked with every write, so it is looked at now and then.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }
}

impl Out {
    #[inline]
    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.buffered {
            self.buffer.extend_from_slice(record);
        } else {
            self.write(record)?;
        }
        self.end.at += record.len() as u64;
        self.written += record.len() as u64;
        Ok(())
    }

    /// Appends the record that tells how much of the file is on disk, where there are operations of which none
    /// tells that yet.
    fn say_synced(&mut self) -> io::Result<()> {
        if self.said >= self.synced.min(self.last) {
            return Ok(());
        }
        self.said = self.synced;
        self.append(&synced(self.end.salt, self.end.at, self.synced))
    }

    /// Whether the log is longer than a dump of the same pairs is likely to be.
    fn is_due(&self) -> bool {
        self.end.at - self.end.dump > self.end.dump.max(LEAST_DUE_BYTES)
    }

    /// Hands a record to the system.
    #[inline]
    fn write(&mut self, record: &[u8]) -> io::Result<()> {
        if let Some((start, window)) = &mut self.window {
            let from = (self.end.at - *start) as usize;
            if let Some(to) = window.bytes().get_mut(from..from + record.len()) {
                to.copy_from_slice(record);
                return Ok(());
            }
        }
        self.write_behind_window(record)
    }

    #[cold]
    fn write_behind_window(&mut self, record: &[u8]) -> io::Result<()> {
        let (at, end) = (self.end.at, self.end.at + record.len() as u64);
        self.window = None;
        self.reserve(end)?;
        self.end.file.write_at(at, record)?;
        // What is left of the room is memory from the next record on.
        let len = (self.reserved - end) as usize;
        self.window = self.end.file.window(end, len).map(|window| (end, window));
        Ok(())
    }

    /// Sets room aside for the file to have `end` bytes, and more.
    fn reserve(&mut self, end: u64) -> io::Result<()> {
        if end <= self.reserved {
            return Ok(());
        }
        let len = end.next_multiple_of(WINDOW_BYTES) + WINDOW_BYTES;
        self.end.file.reserve(len)?;
        self.reserved = len;
        Ok(())
    }
}

impl Leader<'_> {
    /// Puts on disk what has been appended before the call.
    pub(crate) fn sync(&self) -> Result<()> {
        let log = self.log;
        log.check()?;
        let failed = |error: io::Error| log.fail(&error);
        let mut tail = lock(&log.tail);
        let out = &mut tail.out;
        if !out.buffer.is_empty() {
            out.say_synced().map_err(failed)?;
            out.reserve(out.end.at).map_err(failed)?;
            log.due.store(out.is_due(), Relaxed);
        }
        let (file, end, written) = (Arc::clone(&out.end.file), out.end.at, out.written);
        let mut buffer = mem::take(&mut out.buffer);
        drop(tail);
        if !buffer.is_empty() {
            file.write_at(end - buffer.len() as u64, &buffer).map_err(failed)?;
        }
        file.sync().map_err(failed)?;
        let mut tail = lock(&log.tail);
        if tail.out.buffer.is_empty() && buffer.capacity() <= KEPT_BYTES {
            buffer.clear();
            tail.out.buffer = buffer;
        }
        tail.out.synced = end;
        drop(tail);
        log.syncs.fetch_add(1, Relaxed);
        let mut sync = lock(&log.sync);
        sync.done = sync.done.max(written);
        sync.last = Some(SystemTime::now());
        Ok(())
    }

    /// Where the file stands, with all that was appended handed to the system.
    pub(crate) fn end(&self) -> Result<End> {
        self.sync()?;
        let out = &lock(&self.log.tail).out;
        let End { file, salt, dump, .. } = &out.end;
        Ok(End { file: Arc::clone(file), salt: *salt, at: out.synced, dump: *dump })
    }

    /// Puts another file in the place of this one, while no record is appended. `change` is given this file's
    /// last end, to copy what is missing, and returns the other's; all of that must be on disk then.
    pub(crate) fn switch(&self, change: impl FnOnce(&End) -> Result<End>) -> Result<()> {
        self.sync()?;
        let mut tail = lock(&self.log.tail);
        let out = &mut tail.out;
        let buffer = mem::take(&mut out.buffer);
        if !buffer.is_empty() {
            let at = out.end.at - buffer.len() as u64;
            out.end.file.write_at(at, &buffer).map_err(|error| self.log.fail(&error))?;
        }
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
