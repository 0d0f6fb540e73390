//! Syncing, closing, and switching to another file.

use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{io, mem};

use twindex_format::synced;

use super::{End, Log, Marks, Out, PART};
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::notice::tell;

/// With `everysec`, writers wait while a record older than this is not on disk, or more than `MOST_UNSYNCED` bytes are not.
const LONGEST_UNSYNCED: Duration = if cfg!(test) { Duration::MAX } else { Duration::from_secs(2) };
pub(crate) const MOST_UNSYNCED: u64 = (256 << 20) / PART;
/// A sync that takes longer than this is reported to the program's logger.
const SLOW_SYNC: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
/// A sync begins after half a second. That leaves it the other half to end.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(500);

#[derive(Debug, Default)]
pub(super) struct Sync {
    /// How much of [`Out::written`] is on disk.
    pub(super) done: u64,
    /// There is a [`Leader`].
    pub(super) busy: bool,
    pub(super) last: Option<SystemTime>,
}

#[derive(Debug)]
pub(super) struct OnDisk {
    /// Up to where the file is on disk, and up to where a synced record says so.
    pub(super) synced: u64,
    said: u64,
    /// When the oldest record was appended that a sync under way covers, and the oldest that no sync covers yet.
    syncing: Option<Instant>,
    pub(super) unsynced: Option<Instant>,
    /// How much of `written` is on disk.
    pub(super) done: u64,
    /// [`LONGEST_UNSYNCED`], unless a test says otherwise.
    pub(super) longest_unsynced: Duration,
    /// Too many bytes are not on disk, or for too long.
    pub(super) is_late: bool,
    /// When the program's logger was last told so.
    pub(super) told_late: Option<Instant>,
    /// The value of `written` at which to check that again.
    pub(super) look_at: u64,
}

impl OnDisk {
    /// The file is on disk up to `at`.
    pub(super) fn new(at: u64) -> Self {
        Self {
            synced: at,
            said: at,
            syncing: None,
            unsynced: None,
            done: 0,
            longest_unsynced: LONGEST_UNSYNCED,
            is_late: false,
            told_late: None,
            look_at: 0,
        }
    }
}

/// The right to sync, or to switch to another file. Only one thread has it at a time.
pub(crate) struct Leader<'l> {
    log: &'l Log,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        lock(&self.log.sync).busy = false;
        self.log.synced.notify_all();
    }
}

impl Log {
    /// Returns once all that was appended before the call is on disk.
    pub(crate) fn flush(&self) -> Result<()> {
        let written = lock(&self.tail).written;
        self.sync_up_to(written)
    }

    pub(super) fn sync_up_to(&self, written: u64) -> Result<()> {
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

    /// Waits until there is no other leader, and becomes it.
    pub(crate) fn lead(&self) -> Leader<'_> {
        let mut sync = lock(&self.sync);
        while sync.busy {
            sync = self.synced.wait(sync).unwrap_or_else(PoisonError::into_inner);
        }
        sync.busy = true;
        Leader { log: self }
    }

    /// Syncs all records, and appends a synced record. With it a reader can tell damage from what a power cut left
    /// incomplete.
    pub(crate) fn tick(&self) -> Result<()> {
        self.flush()?;
        let mut out = lock(&self.tail);
        if self.check_open().is_ok() {
            self.say_synced(&mut out);
        }
        Ok(())
    }

    /// From now on writers sync: the first one that comes when a sync is due does it for all.
    pub(crate) fn leave_to_writers(&self) {
        self.by_writers.get_or_init(|| Mutex::new(Instant::now()));
    }

    #[cold]
    pub(super) fn tick_if_due(&self, last: &Mutex<Instant>) -> Result<()> {
        let mut last = lock(last);
        if last.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        *last = Instant::now();
        drop(last);
        self.tick()
    }

    /// Appends a synced record, if operations are on disk that no synced record covers yet.
    pub(super) fn say_synced(&self, out: &mut Out) {
        if out.disk.said < out.disk.synced.min(out.last) {
            out.disk.said = out.disk.synced;
            self.put(out, &synced(out.end.salt, out.end.at, out.disk.synced));
        }
    }

    /// Takes no more records. To be called while no thread writes. Returns whether it was open.
    pub(crate) fn set_closed(&self) -> bool {
        !self.closed.swap(true, Relaxed)
    }

    /// After [`set_closed`](Self::set_closed), syncs all records, and cuts off the reserved space. If that fails, the log goes on as
    /// before.
    pub(crate) fn close(&self) -> Result<()> {
        let closed = self.finish(&self.lead());
        self.closed.store(closed.is_ok(), Relaxed);
        self.room.notify_all();
        closed
    }

    pub(super) fn finish(&self, leader: &Leader<'_>) -> Result<()> {
        leader.sync()?;
        let mut out = lock(&self.tail);
        self.say_synced(&mut out);
        out.window = None;
        drop(out);
        leader.sync()?;
        let out = lock(&self.tail);
        let End { file, at, .. } = &out.end;
        let cut = file.set_len(*at).and_then(|()| file.sync());
        cut.map_err(|error| self.fail(&error))
    }

    #[cfg(test)]
    pub(crate) fn set_longest_unsynced(&self, time: Duration) {
        lock(&self.tail).disk.longest_unsynced = time;
    }
}

impl Out {
    /// How long ago the oldest record that is not on disk was appended.
    pub(super) fn unsynced_for(&self) -> Option<Duration> {
        self.disk.syncing.or(self.disk.unsynced).map(|since| since.elapsed())
    }

    /// Records that the bytes up to `written` are on disk.
    pub(super) fn is_on_disk(&mut self, written: u64) {
        self.disk.syncing = None;
        self.disk.done = written;
    }
}

impl Leader<'_> {
    /// Puts on disk what has been appended before the call.
    pub(crate) fn sync(&self) -> Result<()> {
        let log = self.log;
        log.check()?;
        let mut out = lock(&log.tail);
        if !out.buffer.is_empty() {
            log.say_synced(&mut out);
        }
        let (file, end, written) = (Arc::clone(&out.end.file), out.end.at, out.written);
        out.disk.syncing = out.disk.syncing.or(out.disk.unsynced);
        out.disk.unsynced = None;
        drop(out);
        log.hand_over(written)?;
        let begun = Instant::now();
        let is_gone = file.sync().and_then(|()| file.is_gone(&log.path)).map_err(|error| log.fail(&error))?;
        if is_gone {
            let what = "its file was removed or replaced, so what is written to it would be lost";
            return Err(log.fail(&io::Error::new(io::ErrorKind::NotFound, what)));
        }
        if begun.elapsed() > SLOW_SYNC {
            tell(&log.path, "slow_sync", format_args!("a sync took {:.1?}", begun.elapsed()));
        }
        let mut out = lock(&log.tail);
        (out.disk.synced, out.end.synced) = (end, end);
        out.is_on_disk(written);
        log.look(&mut out);
        log.tell_writers(&out);
        drop(out);
        log.syncs.fetch_add(1, Relaxed);
        let mut sync = lock(&log.sync);
        sync.done = sync.done.max(written);
        sync.last = Some(SystemTime::now());
        Ok(())
    }

    /// Replaces this file by another one, while no record can be appended. `change` gets the end of this file, copies
    /// what the other one lacks, and returns the end of the other file. All of that must be on disk then.
    pub(crate) fn switch(&self, change: impl FnOnce(&End) -> Result<End>) -> Result<()> {
        let _alone = lock(&self.log.handing);
        let out = &mut *lock(&self.log.tail);
        let buffer = mem::take(&mut out.buffer);
        if !buffer.is_empty() {
            let at = out.end.at - buffer.len() as u64;
            if let Err(error) = out.end.file.write_at(at, &buffer) {
                return Err(self.log.keep(out, buffer, &error));
            }
            self.log.handed.fetch_max(out.written, Release);
            self.log.note_written(out);
        }
        self.log.check()?;
        let end = change(&out.end)?;
        out.window = None;
        (out.last, out.disk.synced, out.disk.said) = (end.at, end.at, end.at);
        // Space for more was reserved before.
        out.space.reserved = end.file.len().unwrap_or(end.at);
        out.end = end;
        out.marks = Marks::default();
        let written = out.written;
        out.disk.unsynced = None;
        out.is_on_disk(written);
        (out.space.full, out.space.refused, out.growth.uncompacted) = (None, None, None);
        self.log.look(out);
        self.log.tell_writers(out);
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
