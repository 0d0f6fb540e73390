//! The log behind the dump: appending, syncing, failing.
//!
//! The log has the changes of a key in the same order as memory: a writer holds the key's stripe while it appends.
//! With `everysec` the system has the record before the write returns, so a killed process loses nothing. A short
//! record is copied into a mapped part of the file, if the platform has that: the copy takes 50 ns, a system call
//! 500 ns. A longer record goes into a buffer. One of the waiting writers then hands the whole buffer to the system
//! at once: the system need not read a page that is written whole. With `always` all records go into the buffer, and
//! one of the waiting writers, the *leader*, also syncs the file. So many writers share one sync.
//!
//! A change is made in memory first, so appending its record cannot fail. Before a writer changes anything, its record
//! gets a place in the file: the file always has [`SLACK`] bytes more than the log needs, and long records reserve
//! theirs. Writers wait or are refused then, if the disk is full, if the last sync is too long ago, or if the log has
//! grown too long because the file could not be compacted. An error of the disk is reported to whoever waits for the
//! record to be [acknowledged](Log::acknowledge).

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{io, mem, thread};

use twindex_format::{Operations, Position, synced};

use crate::disk::{File, Window};
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::options::Durability;
use crate::stripes::Stripes;

/// How much space to reserve at once: as much as the file has, within these bounds. A sync takes a tenth of the time
/// if the file need not grow.
const ROOM: std::ops::RangeInclusive<u64> = 1 << 20..=16 << 20;
/// Tests divide sizes by this: the simulated disk is slow.
const PART: u64 = if cfg!(test) { 16 } else { 1 };
/// How much to reserve at least if the disk has little left. Each time takes a system call or two.
const LEAST_ROOM: u64 = (64 << 10) / PART;
/// How much is reserved beyond the end of the log, for changes already made in memory when the disk gets full.
pub(crate) const SLACK: u64 = (256 << 10) / PART;
/// Longer records reserve their bytes one by one. For shorter ones, `SLACK` has room for those of 64 writers at a time.
const SHORT_PLACE: u64 = SLACK / 64;
/// If the disk refused space, we ask again after this time. Asking takes as long as a hundred writes.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });
/// With `everysec`, writers wait while a record older than this is not on disk, or more than `MOST_UNSYNCED` bytes are not.
const LONGEST_UNSYNCED: Duration = if cfg!(test) { Duration::MAX } else { Duration::from_secs(2) };
pub(crate) const MOST_UNSYNCED: u64 = (256 << 20) / PART;
/// We check that only each time so many bytes were written, because checking reads the clock.
const LOOK_BYTES: u64 = 4096;
/// If the disk is too slow, writers wait at every sync. The program's logger is told at most this often.
const TELL_LATE_AGAIN: Duration = Duration::from_secs(10);
/// A sync that takes longer than this is reported to the program's logger.
const SLOW_SYNC: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
/// How long a log may become that cannot be compacted. More is allowed up to 16 times its dump, or four times its length
/// when compacting first failed.
pub(crate) const LONGEST: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };
/// From half of that length on, writers sleep this long for every `NAP_BYTES`. This allows some 12 MiB a second.
const NAP: Duration = Duration::from_millis(5);
const NAP_BYTES: u64 = 64 << 10;
/// A sync begins after half a second. That leaves it the other half to end.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(500);
/// If writers append less than this between two syncs, the disk and the processor are free for a compaction.
const QUIET_BYTES: u64 = 4 << 20;
/// A record up to this length is copied into the mapped part of the file.
const SHORT_BYTES: usize = 1024;
/// A log that is shorter than this, or than twice its dump, loads quickly without a compaction.
pub(crate) const LEAST_DUE_BYTES: u64 = 64 << 20;
/// Buffers up to this size are kept for reuse.
const KEPT_BYTES: usize = 1 << 20;
/// A longer buffer is handed to the system before its writes are acknowledged.
const LONG_BUFFER: u64 = 128 << 10;

/// Where a file's log continues.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) file: Arc<dyn File>,
    pub(crate) salt: u64,
    /// The end of the last record.
    pub(crate) at: u64,
    /// The end of the dump.
    pub(crate) dump: u64,
    /// The position in the store's history behind the last record.
    pub(crate) position: Position,
    /// Up to here the file is known to be on disk: by its last synced record, or since we synced it.
    pub(crate) synced: u64,
}

#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    durability: Durability,
    tail: Mutex<Out>,
    /// No change begins any more. Set while all stripes are held, so no record can follow.
    closed: AtomicBool,
    /// The bytes that writers have reserved and not appended yet.
    places: AtomicU64,
    /// Locked by the writer that hands records to the system. Holds the spare buffer.
    handing: Mutex<Vec<u8>>,
    /// How much of [`Out::written`] the system has. Grows while `tail` or `handing` is held.
    handed: AtomicU64,
    sync: Mutex<Sync>,
    synced: Condvar,
    failed: OnceLock<Arc<str>>,
    syncs: AtomicU64,
    due: AtomicBool,
    /// The result of [`Out::is_held_up`]. Changed while `tail` is held.
    ahead: AtomicBool,
    room: Condvar,
    /// When writers last synced, if no thread of ours does that.
    by_writers: OnceLock<Mutex<Instant>>,
}

thread_local! {
    /// Memory for the record that a thread makes. It makes the record before it takes the lock that all writers share.
    static OPERATIONS: Cell<Option<Operations>> = const { Cell::new(None) };
}

/// Where records are appended.
#[derive(Debug)]
struct Out {
    end: End,
    /// The session with which the next record must begin. See [`Log::begin_session`].
    session: Option<u64>,
    /// The file has at least this many bytes.
    reserved: u64,
    /// The part of the file that is mapped into memory, and its offset.
    window: Option<(u64, Box<dyn Window>)>,
    /// Records that the system does not have yet.
    buffer: Vec<u8>,
    /// How many bytes were ever appended, over all files. A writer waits until this many are safe.
    written: u64,
    /// The end of the last record of operations.
    last: u64,
    /// Up to where the file is on disk, and up to where a synced record says so.
    synced: u64,
    said: u64,
    /// How far the log may grow before a compaction has made progress.
    allowed: u64,
    /// When the disk last refused to reserve space, how much, and why.
    refused: Option<Refused>,
    /// Why writers are refused, if so: less than [`SLACK`] is reserved behind the end, or the log is stuck.
    full: Option<Arc<str>>,
    /// The system refused to write the buffer, although its place was reserved.
    stuck: bool,
    /// When the oldest record was appended that a sync under way covers, and the oldest that no sync covers yet.
    syncing: Option<Instant>,
    unsynced: Option<Instant>,
    /// How much of `written` is on disk.
    done: u64,
    /// [`LONGEST_UNSYNCED`], unless a test says otherwise.
    longest_unsynced: Duration,
    /// Too many bytes are not on disk, or for too long.
    is_late: bool,
    /// When the program's logger was last told so.
    told_late: Option<Instant>,
    /// The value of `written` at which to check that again.
    look_at: u64,
    /// Why the file could not be compacted, if so.
    uncompacted: Option<Arc<str>>,
    /// How long the log was when compacting first failed.
    uncompacted_at: u64,
    watch: Watch,
    /// The value of `written` when we last checked whether writers pause.
    watched: u64,
    growth: Growth,
    /// The value of `written` at which the next writer sleeps.
    nap_at: u64,
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
enum Growth {
    Free,
    /// The next writer sleeps.
    Slowed,
    /// Writers are refused: the log is as long as it may become.
    Ended,
}

/// A disk refused to reserve space.
#[derive(Debug)]
struct Refused {
    at: Instant,
    /// Half of what was refused, and the most to ask for. If less than [`LEAST_ROOM`], we do not ask.
    room: u64,
    error: io::Error,
}

/// The state of syncs.
#[derive(Debug)]
struct Sync {
    /// How much of [`Out::written`] is on disk.
    done: u64,
    /// There is a [`Leader`].
    busy: bool,
    last: Option<SystemTime>,
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

/// Makes writers wait that are too far ahead of a compaction. They are free once this is dropped.
pub(crate) struct Pace {
    log: Arc<Log>,
}

impl Pace {
    /// Lets the log grow up to this offset.
    pub(crate) fn allow(&self, up_to: u64) {
        let mut out = lock(&self.log.tail);
        out.allowed = up_to;
        self.log.tell_writers(&out);
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
    /// How long ago the oldest of them was written.
    pub(crate) unsynced_for: Option<Duration>,
    pub(crate) syncs: u64,
    pub(crate) last_sync: Option<SystemTime>,
    /// Why nothing can be written, for good or for now.
    pub(crate) failed: Option<Arc<str>>,
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

/// Whether the system may succeed later, when there is space or memory. What it did so far, if anything, can be done
/// again.
fn is_refusal(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, OutOfMemory, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge | OutOfMemory)
}

/// A random number other than 0. The standard library seeds its hashes from the system.
pub(crate) fn random_salt() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(crate::lock::pid()).max(1)
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
            session: None,
            window: None,
            buffer: Vec::new(),
            written: 0,
            refused: None,
            full: None,
            stuck: false,
            syncing: None,
            unsynced: None,
            done: 0,
            longest_unsynced: LONGEST_UNSYNCED,
            is_late: false,
            told_late: None,
            look_at: 0,
            uncompacted: None,
            uncompacted_at: 0,
            watch: Watch::Absent,
            watched: 0,
            growth: Growth::Free,
            nap_at: 0,
        };
        Self {
            path: path.into(),
            durability,
            tail: Mutex::new(out),
            closed: AtomicBool::new(false),
            places: AtomicU64::new(0),
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

    /// Begins a new session with the next record. A power cut may have removed records that a reader had seen. The new
    /// session tells that reader that the records from here on do not continue those.
    pub(crate) fn begin_session(&self) {
        lock(&self.tail).session = Some(random_salt());
    }

    /// Fails if the log has failed, or takes no more records.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Relaxed) {
            return Err(Error::Closed { path: self.path.clone() });
        }
        self.check()
    }

    /// Fails if the log has failed.
    #[inline]
    pub(crate) fn check(&self) -> Result<()> {
        match self.failed.get() {
            None => Ok(()),
            Some(reason) => Err(Error::LogFailed { path: self.path.clone(), reason: Arc::clone(reason) }),
        }
    }

    /// Ends the log for good, because we no longer know what the file holds.
    pub(crate) fn fail(&self, error: &io::Error) -> Error {
        let reason = self.failed.get_or_init(|| {
            Notice::LogFailed(error).tell(&self.path);
            error.to_string().into()
        });
        self.synced.notify_all();
        self.room.notify_all();
        Error::LogFailed { path: self.path.clone(), reason: Arc::clone(reason) }
    }

    /// An error of the system after which the log goes on.
    fn refuse(&self, error: io::Error) -> Error {
        Error::io(&self.path, error)
    }

    // --- who has to wait

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

    fn reserve_place(&self, out: &mut Out, bytes: u64) -> Result<Place<'_>> {
        let bytes = if bytes > SHORT_PLACE { bytes } else { 0 };
        let all = self.places.fetch_add(bytes, Relaxed) + bytes;
        let place = Place { log: self, bytes };
        self.reserve(out, out.end.at + all);
        let Some(reason) = &out.full else { return Ok(place) };
        let kind = out.refused.as_ref().map_or(io::ErrorKind::StorageFull, |refused| refused.error.kind());
        Err(self.refuse(io::Error::new(kind, Arc::clone(reason).as_ref())))
    }

    #[cold]
    fn wait_for_place(&self, bytes: usize) -> Result<Place<'_>> {
        // `fail` does not hold the lock when it notifies. A sleeper may miss that, so it wakes up now and then.
        const LOOK: Duration = Duration::from_millis(100);
        let mut out = lock(&self.tail);
        loop {
            self.check_open()?;
            if out.end.at > out.allowed {
                out = self.room.wait_timeout(out, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            } else if out.is_late {
                drop(out);
                self.flush()?;
                out = lock(&self.tail);
            } else if out.stuck {
                let written = out.written;
                drop(out);
                self.hand_over(written)?;
                out = lock(&self.tail);
            } else if out.growth == Growth::Ended {
                // So a compaction is tried again.
                self.due.store(true, Relaxed);
                return Err(self.refuse(out.error_of_length()));
            } else if out.growth == Growth::Slowed {
                out.growth = Growth::Free;
                self.tell_writers(&out);
                drop(out);
                thread::sleep(NAP);
                out = lock(&self.tail);
            } else {
                return self.reserve_place(&mut out, bytes as u64);
            }
        }
    }

    /// Tells writers whether they may go on.
    fn tell_writers(&self, out: &Out) {
        self.ahead.store(out.is_held_up(), Relaxed);
        self.room.notify_all();
    }

    /// Checks whether writers are too far ahead of the disk.
    #[cold]
    fn look(&self, out: &mut Out) {
        out.look_at = out.written + LOOK_BYTES;
        // If writers sync themselves, a writer that would have to wait syncs instead.
        if self.durability == Durability::EverySec && self.by_writers.get().is_none() {
            let (bytes, since) = (out.written - out.done, out.unsynced_for());
            let was_late = out.is_late;
            out.is_late = bytes > MOST_UNSYNCED || since.is_some_and(|time| time > out.longest_unsynced);
            if out.is_late && !was_late && out.told_late.is_none_or(|told| told.elapsed() > TELL_LATE_AGAIN) {
                out.told_late = Some(Instant::now());
                Notice::WritersWait(bytes, since).tell(&self.path);
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
            Notice::CompactionFailed(error).tell(&self.path);
        }
        let out = &mut *lock(&self.tail);
        if out.uncompacted.is_none() {
            out.uncompacted_at = out.length();
        }
        out.uncompacted = error.map(|error| error.to_string().into());
        out.look_at_length();
        self.tell_writers(out);
    }

    // --- appending

    /// Appends the operations that `fill` makes as one record. Returns what to [`acknowledge`](Self::acknowledge) then.
    #[inline]
    pub(crate) fn append(&self, fill: impl FnOnce(&mut Operations)) -> u64 {
        // A thread that is about to end has no thread-local any more.
        let kept = OPERATIONS.try_with(Cell::take).ok().flatten();
        let mut operations = kept.unwrap_or_default();
        operations.clear(KEPT_BYTES);
        fill(&mut operations);
        let written = self.append_made(&mut operations);
        let _ = OPERATIONS.try_with(|own| own.set(Some(operations)));
        written
    }

    /// Appends these operations as one record. Otherwise like `append`.
    #[inline]
    pub(crate) fn append_made(&self, operations: &mut Operations) -> u64 {
        let written = self.put_in_order(operations);
        // Many writes may be acknowledged together. Their buffer must not outgrow the memory that is kept back for it.
        if written.saturating_sub(self.handed.load(Acquire)) >= LONG_BUFFER {
            // If that fails, the writer hears of it when it acknowledges.
            let _ = self.hand_over(written);
        }
        written
    }

    #[inline]
    fn put_in_order(&self, operations: &mut Operations) -> u64 {
        let out = &mut *lock(&self.tail);
        if self.check().is_err() {
            // It is never handed over, so acknowledging it fails.
            out.written += 1;
            return out.written;
        }
        let Position { mut session, mut sequence } = out.end.position;
        sequence = sequence.wrapping_add(1);
        if let Some(own) = out.session.take() {
            session = own;
            operations.begin_with(Position { session, sequence });
        }
        self.put(out, operations.seal(out.end.salt, out.end.at));
        out.end.position = Position { session, sequence };
        out.last = out.end.at;
        out.written
    }

    /// Appends a record, either to the mapped file, so that the system has it, or to the buffer.
    #[inline]
    fn put(&self, out: &mut Out, record: &[u8]) {
        let (at, end) = (out.end.at + record.len() as u64, out.written + record.len() as u64);
        let places = self.places.load(Relaxed);
        if at + places + SLACK > out.reserved {
            self.reserve(out, at + places);
        }
        let all_handed = self.handed.load(Acquire) == out.written;
        let short = record.len() <= SHORT_BYTES && self.durability == Durability::EverySec;
        if all_handed && short && out.copy(record) {
            self.handed.fetch_max(end, Release);
        } else {
            out.buffer.extend_from_slice(record);
        }
        out.end.at = at;
        out.written = end;
        if out.unsynced.is_none() {
            out.unsynced = Some(Instant::now());
        }
        if at > out.allowed {
            self.ahead.store(true, Relaxed);
        }
        if end >= out.look_at {
            self.look(out);
        }
    }

    /// Reserves space for a log that ends at `end`, or records that there is none. Whatever the disk's reason is,
    /// nothing was changed, and it is asked again.
    #[cold]
    fn reserve(&self, out: &mut Out, end: u64) {
        match out.reserve(end + SLACK) {
            Ok(()) => {
                self.due.store(out.is_due(), Relaxed);
                if !out.stuck && out.full.take().is_some() {
                    self.tell_writers(out);
                }
            }
            Err(error) => self.note_full(out, &error),
        }
    }

    /// Refuses writers from now on.
    fn note_full(&self, out: &mut Out, error: &io::Error) {
        if out.full.is_none() {
            Notice::LogFull(error).tell(&self.path);
        }
        out.full = Some(error.to_string().into());
        self.tell_writers(out);
    }

    /// Returns once the system has what was appended up to `written`.
    fn hand_over(&self, written: u64) -> Result<()> {
        if self.handed.load(Acquire) >= written {
            return Ok(());
        }
        let mut free = lock(&self.handing);
        // While this thread waited, another one may have handed its records over too.
        if self.handed.load(Acquire) >= written {
            return Ok(());
        }
        self.check()?;
        let mut out = lock(&self.tail);
        let mut buffer = mem::replace(&mut out.buffer, mem::take(&mut free));
        let (file, at, written) = (Arc::clone(&out.end.file), out.end.at - buffer.len() as u64, out.written);
        drop(out);
        if let Err(error) = file.write_at(at, &buffer) {
            return Err(self.keep(&mut lock(&self.tail), buffer, &error));
        }
        self.handed.fetch_max(written, Release);
        let mut out = lock(&self.tail);
        self.note_written(&mut out);
        drop(out);
        buffer.clear();
        if buffer.capacity() <= KEPT_BYTES {
            *free = buffer;
        }
        Ok(())
    }

    /// Keeps a buffer that could not be written, if that may succeed later. A part of it may be in the file now. It is
    /// no valid record, and will be overwritten.
    fn keep(&self, out: &mut Out, mut buffer: Vec<u8>, error: &io::Error) -> Error {
        if !is_refusal(error) {
            return self.fail(error);
        }
        buffer.append(&mut out.buffer);
        out.buffer = buffer;
        out.stuck = true;
        let what = format!("{error}. The change is in memory; it will be in the file once there is room");
        let error = io::Error::new(error.kind(), what);
        self.note_full(out, &error);
        self.refuse(error)
    }

    /// The system took the buffer.
    fn note_written(&self, out: &mut Out) {
        if mem::take(&mut out.stuck) {
            let end = out.end.at;
            self.reserve(out, end);
            self.tell_writers(out);
        }
    }

    /// Returns once all that was appended up to `written` is as safe as the durability demands.
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
        let written = lock(&self.tail).written;
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
    fn tick_if_due(&self, last: &Mutex<Instant>) -> Result<()> {
        let mut last = lock(last);
        if last.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        *last = Instant::now();
        drop(last);
        self.tick()
    }

    /// Appends a synced record, if operations are on disk that no synced record covers yet.
    fn say_synced(&self, out: &mut Out) {
        if out.said < out.synced.min(out.last) {
            out.said = out.synced;
            self.put(out, &synced(out.end.salt, out.end.at, out.synced));
        }
    }

    /// Syncs all records, cuts off the reserved space, and takes no more records. If that fails, the log goes on as before.
    ///
    /// Writers check under their stripes whether the log is closed, before they change anything. So whoever changed
    /// something appends it before this syncs.
    pub(crate) fn close(&self, stripes: &Stripes) -> Result<()> {
        let held = stripes.hold_all();
        if self.closed.swap(true, Relaxed) {
            return Ok(());
        }
        drop(held);
        let closed = self.finish(&self.lead());
        self.closed.store(closed.is_ok(), Relaxed);
        self.room.notify_all();
        closed
    }

    fn finish(&self, leader: &Leader<'_>) -> Result<()> {
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

    pub(crate) fn stats(&self) -> LogStats {
        let (done, last) = {
            let sync = lock(&self.sync);
            (sync.done, sync.last)
        };
        let out = lock(&self.tail);
        LogStats {
            dump_bytes: out.end.dump,
            log_bytes: out.length(),
            unsynced_bytes: out.written.saturating_sub(done),
            unsynced_for: out.unsynced_for(),
            syncs: self.syncs.load(Relaxed),
            last_sync: last,
            failed: self.failed.get().or(out.full.as_ref()).cloned(),
        }
    }

    /// Where the next record goes.
    pub(crate) fn at(&self) -> u64 {
        lock(&self.tail).end.at
    }

    /// Where the next record goes, and the position in the store's history there.
    pub(crate) fn place(&self) -> (u64, Position) {
        let end = &lock(&self.tail).end;
        (end.at, end.position)
    }

    /// The end of the log. The system has all records before it.
    pub(crate) fn end(&self) -> Result<End> {
        let out = lock(&self.tail);
        let End { file, salt, at, dump, position, synced } = &out.end;
        let (file, salt, at, dump, position, synced) =
            (Arc::clone(file), *salt, *at, *dump, *position, *synced);
        let end = End { file, salt, at, dump, position, synced };
        let written = out.written;
        drop(out);
        self.hand_over(written)?;
        Ok(end)
    }

    #[cfg(test)]
    pub(crate) fn set_longest_unsynced(&self, time: Duration) {
        lock(&self.tail).longest_unsynced = time;
    }

    /// Whether the log cannot grow just now, for example while another file takes its place.
    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.tail.try_lock().is_err()
    }

    // --- when to write the file anew

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
        if out.watch == Watch::Absent {
            return false;
        }
        let can_wait = out.uncompacted.is_none() && out.length() <= 2 * memory as u64;
        out.watch = if can_wait { Watch::PutOff } else { Watch::Present };
        can_wait
    }

    /// From now on a thread calls [`is_quiet`](Self::is_quiet) after each [`tick`](Self::tick).
    pub(crate) fn watch(&self) {
        lock(&self.tail).watch = Watch::Present;
    }

    /// Whether a compaction was put off until writers pause, and they do now.
    pub(crate) fn is_quiet(&self) -> bool {
        let out = &mut *lock(&self.tail);
        let written = out.written - mem::replace(&mut out.watched, out.written);
        if out.watch != Watch::PutOff || written >= QUIET_BYTES {
            return false;
        }
        out.watch = Watch::Present;
        out.is_due()
    }
}

impl Out {
    /// Whether the log is longer than a dump of the same pairs is likely to be.
    fn is_due(&self) -> bool {
        self.length() > (2 * self.end.dump).max(LEAST_DUE_BYTES)
    }

    /// How long the log is.
    fn length(&self) -> u64 {
        self.end.at - self.end.dump
    }

    /// Copies a record to its place, if that is mapped or can be. Returns whether it did.
    #[inline]
    fn copy(&mut self, record: &[u8]) -> bool {
        if self.copy_mapped(record) {
            return true;
        }
        if self.end.at + record.len() as u64 > self.reserved {
            return false;
        }
        self.map();
        self.copy_mapped(record)
    }

    #[inline]
    fn copy_mapped(&mut self, record: &[u8]) -> bool {
        let Some((start, window)) = &mut self.window else { return false };
        let from = (self.end.at - *start) as usize;
        let Some(to) = window.bytes().get_mut(from..from + record.len()) else { return false };
        to.copy_from_slice(record);
        true
    }

    /// Maps the reserved space into memory.
    #[cold]
    fn map(&mut self) {
        self.window = None;
        let at = self.end.at;
        let len = self.reserved.saturating_sub(at) as usize;
        self.window = self.end.file.window(at, len).map(|window| (at, window));
    }

    /// Reserves space for the file to have `end` bytes, and more. If the disk refuses, it tries half as much more, then half
    /// of that, and so on.
    fn reserve(&mut self, end: u64) -> io::Result<()> {
        if end <= self.reserved {
            return Ok(());
        }
        let mut room = end.clamp(*ROOM.start(), *ROOM.end());
        if let Some(refused) = &self.refused
            && refused.at.elapsed() < ASK_AGAIN
        {
            room = room.min(refused.room);
        }
        while room >= LEAST_ROOM {
            let len = (end + room).next_multiple_of(LEAST_ROOM);
            match self.end.file.reserve(self.reserved, len) {
                Ok(()) => {
                    self.reserved = len;
                    return Ok(());
                }
                Err(error) => {
                    room /= 2;
                    self.refused = Some(Refused { at: Instant::now(), room, error });
                }
            }
        }
        let error = self.refused.as_ref().map(|refused| &refused.error);
        Err(error.map_or(io::ErrorKind::StorageFull.into(), |error| {
            io::Error::new(error.kind(), error.to_string())
        }))
    }

    /// How long ago the oldest record that is not on disk was appended.
    fn unsynced_for(&self) -> Option<Duration> {
        self.syncing.or(self.unsynced).map(|since| since.elapsed())
    }

    /// Records that the bytes up to `written` are on disk.
    fn is_on_disk(&mut self, written: u64) {
        self.syncing = None;
        self.done = written;
    }

    /// Whether writers wait, or are refused.
    fn is_held_up(&self) -> bool {
        let waits = self.end.at > self.allowed || self.is_late || self.growth != Growth::Free;
        waits || self.stuck || self.full.is_some()
    }

    /// If the file cannot be compacted, slows writers down, and in the end refuses them.
    fn look_at_length(&mut self) {
        let (length, most) = (self.length(), self.longest());
        self.growth = match self.growth {
            _ if self.uncompacted.is_none() => Growth::Free,
            _ if length > most => Growth::Ended,
            _ if length > most / 2 && self.written >= self.nap_at => {
                self.nap_at = self.written + NAP_BYTES;
                Growth::Slowed
            }
            Growth::Ended => Growth::Free,
            before => before,
        };
    }

    fn longest(&self) -> u64 {
        LONGEST.max(16 * self.end.dump).max(4 * self.uncompacted_at)
    }

    fn error_of_length(&self) -> io::Error {
        let reason = self.uncompacted.as_deref().unwrap_or_default();
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
        out.syncing = out.syncing.or(out.unsynced);
        out.unsynced = None;
        drop(out);
        log.hand_over(written)?;
        let begun = Instant::now();
        let is_removed = file.sync().and_then(|()| file.is_removed()).map_err(|error| log.fail(&error))?;
        if is_removed {
            let what = "its file was removed or replaced, so what is written to it would be lost";
            return Err(log.fail(&io::Error::new(io::ErrorKind::NotFound, what)));
        }
        if begun.elapsed() > SLOW_SYNC {
            Notice::SlowSync(begun.elapsed()).tell(&log.path);
        }
        let mut out = lock(&log.tail);
        (out.synced, out.end.synced) = (end, end);
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
        (out.last, out.synced, out.said) = (end.at, end.at, end.at);
        // Space for more was reserved before.
        out.reserved = end.file.len().unwrap_or(end.at);
        out.end = end;
        let written = out.written;
        out.unsynced = None;
        out.is_on_disk(written);
        (out.full, out.refused, out.uncompacted) = (None, None, None);
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
