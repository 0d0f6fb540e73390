//! How far the log may grow: space on the disk, writers who wait or are refused, and when a compaction is due.

use std::ops::RangeInclusive;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};
use std::{io, mem, thread};

use super::sync::MOST_UNSYNCED;
use super::{Log, Out, PART};
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::notice::tell;
use crate::options::Durability;

/// How much space to reserve at once: as much as the file has, within these bounds. A sync takes a tenth of the time
/// if the file need not grow.
const ROOM: RangeInclusive<u64> = 1 << 20..=16 << 20;
/// How much to reserve at least if the disk has little left. Each time takes a system call or two.
const LEAST_ROOM: u64 = (64 << 10) / PART;
/// How much is reserved beyond the end of the log, for changes already made in memory when the disk gets full.
pub(crate) const SLACK: u64 = (256 << 10) / PART;
/// Longer records reserve their bytes one by one. For shorter ones, `SLACK` has room for those of 64 writers at a time.
const SHORT_PLACE: u64 = SLACK / 64;
/// If the disk refused space, we ask again after this time. Asking takes as long as a hundred writes.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });
/// We check that only each time so many bytes were written, because checking reads the clock.
const LOOK_BYTES: u64 = 4096;
/// If the disk is too slow, writers wait at every sync. The program's logger is told at most this often.
const TELL_LATE_AGAIN: Duration = Duration::from_secs(10);
/// How long a log may become that cannot be compacted. More is allowed up to 16 times its dump, or four times its length
/// when compacting first failed.
pub(crate) const LONGEST: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };
/// From half of that length on, writers sleep this long for every `NAP_BYTES`. This allows some 12 MiB a second.
const NAP: Duration = Duration::from_millis(5);
const NAP_BYTES: u64 = 64 << 10;
/// If writers append less than this between two syncs, the disk and the processor are free for a compaction.
const QUIET_BYTES: u64 = 4 << 20;
/// A log that is shorter than this, or than twice its dump, loads quickly without a compaction.
pub(crate) const LEAST_DUE_BYTES: u64 = 64 << 20;

/// The space that the file has on the disk.
#[derive(Debug, Default)]
pub(super) struct Space {
    /// The file has at least this many bytes.
    pub(super) reserved: u64,
    /// When the disk last refused to reserve space, how much, and why.
    pub(super) refused: Option<Refused>,
    /// Why writers are refused, if so: less than [`SLACK`] is reserved behind the end, or the log is stuck.
    pub(super) full: Option<Arc<str>>,
}

#[derive(Debug)]
pub(super) struct Growth {
    /// How far the log may grow before a compaction has made progress.
    pub(super) allowed: u64,
    /// Why the file could not be compacted, if so.
    pub(super) uncompacted: Option<Arc<str>>,
    /// How long the log was when compacting first failed.
    uncompacted_at: u64,
    watch: Watch,
    /// The value of `written` when we last checked whether writers pause.
    watched: u64,
    pressure: Pressure,
    /// The value of `written` at which the next writer sleeps.
    nap_at: u64,
}

impl Default for Growth {
    fn default() -> Self {
        Self {
            allowed: u64::MAX,
            uncompacted: None,
            uncompacted_at: 0,
            watch: Watch::Absent,
            watched: 0,
            pressure: Pressure::Free,
            nap_at: 0,
        }
    }
}

/// Whether a thread checks now and then if writers pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Absent,
    Present,
    /// It does, and a compaction is put off until they pause.
    PutOff,
}

/// What a log that cannot be compacted does to writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pressure {
    Free,
    /// The next writer sleeps.
    Slowed,
    /// Writers are refused: the log is as long as it may become.
    Ended,
}

/// A disk refused to reserve space.
#[derive(Debug)]
pub(super) struct Refused {
    at: Instant,
    /// Half of what was refused, and the most to ask for. If less than [`LEAST_ROOM`], we do not ask.
    room: u64,
    error: io::Error,
}

/// Makes writers wait that are too far ahead of a compaction. They are free once this is dropped.
pub(crate) struct Pace {
    log: Arc<Log>,
}

impl Pace {
    /// Lets the log grow up to this offset.
    pub(crate) fn allow(&self, up_to: u64) {
        let mut out = lock(&self.log.tail);
        out.growth.allowed = up_to;
        self.log.tell_writers(&out);
    }
}

impl Drop for Pace {
    fn drop(&mut self) {
        self.allow(u64::MAX);
    }
}

/// A place in the file for a record, from before the change in memory until the record is appended.
#[must_use = "the place is given up when this is dropped"]
pub(crate) struct Place<'l> {
    log: &'l Log,
    bytes: u64,
}

impl Drop for Place<'_> {
    #[inline]
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.log.places.fetch_sub(self.bytes, Relaxed);
        }
    }
}

impl Log {
    /// Lets the log grow up to this offset. The returned [`Pace`] raises the offset later.
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

    /// Waits until the log may grow by so many bytes, and reserves them. Fails if it may not. Writers call this before
    /// they take a lock and change anything.
    #[inline]
    pub(crate) fn place_for(&self, bytes: usize) -> Result<Place<'_>> {
        if self.is_ahead() || bytes as u64 > SHORT_PLACE {
            self.wait_for_place(bytes)
        } else {
            Ok(Place { log: self, bytes: 0 })
        }
    }

    /// As [`place_for`](Self::place_for), for a writer that holds locks and must not wait.
    pub(crate) fn place_now(&self, bytes: usize) -> Result<Place<'_>> {
        if bytes as u64 > SHORT_PLACE {
            self.reserve_place(&mut lock(&self.tail), bytes as u64)
        } else {
            Ok(Place { log: self, bytes: 0 })
        }
    }

    pub(super) fn reserve_place(&self, out: &mut Out, bytes: u64) -> Result<Place<'_>> {
        let bytes = if bytes > SHORT_PLACE { bytes } else { 0 };
        let all = self.places.fetch_add(bytes, Relaxed) + bytes;
        let place = Place { log: self, bytes };
        self.reserve(out, out.end.at + all);
        let Some(reason) = &out.space.full else { return Ok(place) };
        let kind =
            out.space.refused.as_ref().map_or(io::ErrorKind::StorageFull, |refused| refused.error.kind());
        Err(self.refuse(io::Error::new(kind, Arc::clone(reason).as_ref())))
    }

    #[cold]
    pub(super) fn wait_for_place(&self, bytes: usize) -> Result<Place<'_>> {
        // `fail` does not hold the lock when it notifies. A sleeper may miss that, so it wakes up now and then.
        const LOOK: Duration = Duration::from_millis(100);
        let mut out = lock(&self.tail);
        loop {
            self.check_open()?;
            if out.end.at > out.growth.allowed {
                out = self.room.wait_timeout(out, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            } else if out.disk.is_late {
                drop(out);
                self.flush()?;
                out = lock(&self.tail);
            } else if out.stuck {
                let written = out.written;
                drop(out);
                self.hand_over(written)?;
                out = lock(&self.tail);
            } else if out.growth.pressure == Pressure::Ended {
                // So a compaction is tried again.
                self.due.store(true, Relaxed);
                return Err(self.refuse(out.error_of_length()));
            } else if out.growth.pressure == Pressure::Slowed {
                out.growth.pressure = Pressure::Free;
                self.tell_writers(&out);
                drop(out);
                thread::sleep(NAP);
                out = lock(&self.tail);
            } else {
                return self.reserve_place(&mut out, bytes as u64);
            }
        }
    }

    pub(super) fn tell_writers(&self, out: &Out) {
        self.ahead.store(out.is_held_up(), Relaxed);
        self.room.notify_all();
    }

    /// Checks whether writers are too far ahead of the disk.
    #[cold]
    pub(super) fn look(&self, out: &mut Out) {
        out.disk.look_at = out.written + LOOK_BYTES;
        // If writers sync themselves, a writer that would have to wait syncs instead.
        if self.durability == Durability::EverySec && self.by_writers.get().is_none() {
            let (bytes, since) = (out.written - out.disk.done, out.unsynced_for());
            let was_late = out.disk.is_late;
            out.disk.is_late =
                bytes > MOST_UNSYNCED || since.is_some_and(|time| time > out.disk.longest_unsynced);
            if out.disk.is_late
                && !was_late
                && out.disk.told_late.is_none_or(|told| told.elapsed() > TELL_LATE_AGAIN)
            {
                out.disk.told_late = Some(Instant::now());
                let since =
                    since.map(|since| format!(", the first of them for {since:.1?}")).unwrap_or_default();
                let what = format_args!("writers wait, since {bytes} bytes are not on disk{since}");
                tell(&self.path, "writers_wait", what);
            }
        }
        out.look_at_length();
        if out.is_held_up() {
            self.ahead.store(true, Relaxed);
        }
    }

    /// Records why the file could not be compacted, or that it was.
    pub(crate) fn note_compaction(&self, error: Option<&Error>) {
        if let Some(error) = error {
            tell(&self.path, "compaction_failed", format_args!("it could not be compacted: {error}"));
        }
        let out = &mut *lock(&self.tail);
        if out.growth.uncompacted.is_none() {
            out.growth.uncompacted_at = out.length();
        }
        out.growth.uncompacted = error.map(|error| error.to_string().into());
        out.look_at_length();
        self.tell_writers(out);
    }

    /// Reserves space for a log that ends at `end`, or records that there is none. Whatever the disk's reason is,
    /// nothing was changed, and it is asked again.
    #[cold]
    pub(super) fn reserve(&self, out: &mut Out, end: u64) {
        match out.reserve(end + SLACK) {
            Ok(()) => {
                self.due.store(out.is_due(), Relaxed);
                if !out.stuck && out.space.full.take().is_some() {
                    self.tell_writers(out);
                }
            }
            Err(error) => self.note_full(out, &error),
        }
    }

    /// Refuses writers from now on.
    pub(super) fn note_full(&self, out: &mut Out, error: &io::Error) {
        if out.space.full.is_none() {
            tell(&self.path, "log_full", format_args!("no room for the log: {error}"));
        }
        out.space.full = Some(error.to_string().into());
        self.tell_writers(out);
    }

    /// Whether a compaction is worth it. Every write calls this, so it only reads a flag that is set now and then.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    /// Puts off a compaction that is due until writers pause, if it can wait. Returns whether it can: a thread must be
    /// checking for pauses, and the log must be at most twice as long as what the store has in memory.
    ///
    /// Writers that write much at once mostly write new pairs. The log of new pairs is no longer than their dump would
    /// be, and writing the dump meanwhile slows writers down. In messages of 100 bytes a second: one writer appended
    /// 5.0 M during a compaction and 6.5 M without, eight writers 4.6 M and 5.3 M.
    pub(crate) fn put_off(&self, memory: usize) -> bool {
        let out = &mut *lock(&self.tail);
        if out.growth.watch == Watch::Absent {
            return false;
        }
        let can_wait = out.growth.uncompacted.is_none() && out.length() <= 2 * memory as u64;
        out.growth.watch = if can_wait { Watch::PutOff } else { Watch::Present };
        can_wait
    }

    /// From now on a thread calls [`is_quiet`](Self::is_quiet) after each [`tick`](Self::tick).
    pub(crate) fn watch(&self) {
        lock(&self.tail).growth.watch = Watch::Present;
    }

    /// Whether a compaction was put off until writers pause, and they do now.
    pub(crate) fn is_quiet(&self) -> bool {
        let out = &mut *lock(&self.tail);
        let written = out.written - mem::replace(&mut out.growth.watched, out.written);
        if out.growth.watch != Watch::PutOff || written >= QUIET_BYTES {
            return false;
        }
        out.growth.watch = Watch::Present;
        out.is_due()
    }
}

impl Out {
    /// Whether the log is longer than a dump of the same pairs is likely to be.
    pub(super) fn is_due(&self) -> bool {
        self.length() > (2 * self.end.dump).max(LEAST_DUE_BYTES)
    }

    /// Reserves space for the file to have `end` bytes, and more. If the disk refuses, it tries half as much more, then half
    /// of that, and so on.
    pub(super) fn reserve(&mut self, end: u64) -> io::Result<()> {
        if end <= self.space.reserved {
            return Ok(());
        }
        let mut room = end.clamp(*ROOM.start(), *ROOM.end());
        if let Some(refused) = &self.space.refused
            && refused.at.elapsed() < ASK_AGAIN
        {
            room = room.min(refused.room);
        }
        while room >= LEAST_ROOM {
            let len = (end + room).next_multiple_of(LEAST_ROOM);
            match self.end.file.reserve(self.space.reserved, len) {
                Ok(()) => {
                    self.space.reserved = len;
                    return Ok(());
                }
                Err(error) => {
                    room /= 2;
                    self.space.refused = Some(Refused { at: Instant::now(), room, error });
                }
            }
        }
        let error = self.space.refused.as_ref().map(|refused| &refused.error);
        Err(error.map_or(io::ErrorKind::StorageFull.into(), |error| {
            io::Error::new(error.kind(), error.to_string())
        }))
    }

    /// Whether writers wait, or are refused.
    pub(super) fn is_held_up(&self) -> bool {
        let waits =
            self.end.at > self.growth.allowed || self.disk.is_late || self.growth.pressure != Pressure::Free;
        waits || self.stuck || self.space.full.is_some()
    }

    /// If the file cannot be compacted, slows writers down, and in the end refuses them.
    pub(super) fn look_at_length(&mut self) {
        let (length, most) = (self.length(), self.longest());
        self.growth.pressure = match self.growth.pressure {
            _ if self.growth.uncompacted.is_none() => Pressure::Free,
            _ if length > most => Pressure::Ended,
            _ if length > most / 2 && self.written >= self.growth.nap_at => {
                self.growth.nap_at = self.written + NAP_BYTES;
                Pressure::Slowed
            }
            Pressure::Ended => Pressure::Free,
            before => before,
        };
    }

    pub(super) fn longest(&self) -> u64 {
        LONGEST.max(16 * self.end.dump).max(4 * self.growth.uncompacted_at)
    }

    pub(super) fn error_of_length(&self) -> io::Error {
        let reason = self.growth.uncompacted.as_deref().unwrap_or_default();
        io::Error::new(
            io::ErrorKind::StorageFull,
            format!(
                "its log has {} bytes, {} is the most, and it could not be compacted ({reason}). Nothing was written; \
                 it goes on once a compaction succeeds",
                self.length(),
                self.longest(),
            ),
        )
    }
}
