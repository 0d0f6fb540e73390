//! The log behind the dump: appending, syncing, failing.
//!
//! A record is appended in memory order for each key, since its writer holds the key's stripe. With `everysec`
//! it is the system's before the write returns, so a killed process loses nothing. A short record is copied
//! into memory that is the file's, where the system has that: a call of the system would take 500 ns where the
//! copy takes 50. A longer one waits in a buffer, until one of the writers that wait for it has handed all
//! that has come in to the system at once: a page that is written whole need not be made and read first.
//! With `always` all records go by the buffer, and the *leader* of those who wait syncs the file too: many
//! writers share one sync.
//!
//! A change is made in memory before it is appended, so that the log must then take it. Therefore the file always has
//! [`SLACK`] more than the log needs, and writers are refused, or wait, before they change anything: where the disk
//! has no more room, the last sync is too long ago, or the file could not be compacted and grows without end.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::atomic::{
    AtomicBool, AtomicU64,
    Ordering::{Acquire, Relaxed, Release},
};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use std::{io, mem, thread};

use twindex::dump::{Operations, Position, synced};

use crate::disk::{File, Window};
use crate::error::{Error, Result};
use crate::notice::Notice;
use crate::options::Durability;

/// How much of the file is set aside at once: as much as there is, within these bounds. A sync of a file that need
/// not grow takes a tenth of the time.
const ROOM: std::ops::RangeInclusive<u64> = 1 << 20..=16 << 20;
/// The simulated disk is slow enough for tests of less.
const PART: u64 = if cfg!(test) { 16 } else { 1 };
/// Where the disk has less than that, so much at least, as each time takes a call of the system or two.
const LEAST_ROOM: u64 = (64 << 10) / PART;
/// How much is set aside beyond the end of the log: for changes that were made in memory when the disk became full.
pub(crate) const SLACK: u64 = (256 << 10) / PART;
/// A disk that refused room is asked again after this time. To ask takes as long as a hundred writes.
pub(crate) const ASK_AGAIN: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });
/// With `everysec`, writers wait while anything was written longer ago than this and is not on disk, or so much is not.
const LONGEST_UNSYNCED: Duration = if cfg!(test) { Duration::MAX } else { Duration::from_secs(2) };
pub(crate) const MOST_UNSYNCED: u64 = (256 << 20) / PART;
/// Whether that is so is looked at whenever so much was written: it takes as long as reading the clock.
const LOOK_BYTES: u64 = 4096;
/// A disk that is too slow lets writers wait with every sync. The program's logger is told no more often than this.
const TELL_LATE_AGAIN: Duration = Duration::from_secs(10);
/// A sync that takes longer is told to the program's logger.
const SLOW_SYNC: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 1000 });
/// How long a log may become, or 16 times as long as its dump, or four times as long as it was first, when it cannot be
/// compacted.
pub(crate) const LONGEST: u64 = if cfg!(test) { 4 << 20 } else { 1 << 30 };
/// From half of that on, writers sleep so long for each so many bytes, which is some 12 MiB a second.
const NAP: Duration = Duration::from_millis(5);
const NAP_BYTES: u64 = 64 << 10;
/// Half a second until a sync begins leaves the other half for it to end.
pub(crate) const SYNC_EVERY: Duration = Duration::from_millis(500);
/// Writers who append less than this between two syncs leave the disk and the processor to a compaction.
const QUIET_BYTES: u64 = 4 << 20;
/// A record up to this length is copied into the file's memory.
const SHORT_BYTES: usize = 1024;
/// A log that is shorter than this, or than twice its dump, is quick to read as it is.
pub(crate) const LEAST_DUE_BYTES: u64 = 64 << 20;
/// Buffers up to this size are kept.
const KEPT_BYTES: usize = 1 << 20;
/// A buffer that is longer is handed over before its writes are acknowledged.
const LONG_BUFFER: u64 = 128 << 10;

/// Where a file's log goes on.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) file: Arc<dyn File>,
    pub(crate) salt: u64,
    /// The end of the last record.
    pub(crate) at: u64,
    /// The end of the dump.
    pub(crate) dump: u64,
    /// Where the last record is in the store's history.
    pub(crate) position: Position,
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
    /// [`Out::is_held_up`]. Changed while `tail` is held.
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
    /// What the next record is to say who wrote it. See [`Log::begin_session`].
    session: Option<u64>,
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
    /// When the disk refused to set so much aside, and why.
    refused: Option<Refused>,
    /// There is less than [`SLACK`] behind the end, for this reason.
    full: Option<Arc<str>>,
    /// The system refused what is in the buffer, for want of space.
    stuck: bool,
    /// When the first record was appended that is not on disk, and the first that no sync is under way for.
    syncing: Option<Instant>,
    unsynced: Option<Instant>,
    /// How much of `written` is on disk.
    done: u64,
    /// [`LONGEST_UNSYNCED`], unless a test says otherwise.
    longest_unsynced: Duration,
    /// Too much is not on disk, or for too long.
    is_late: bool,
    /// When the program's logger was told so.
    told_late: Option<Instant>,
    /// When to look at that again, in `written`.
    look_at: u64,
    /// Why the file could not be compacted.
    uncompacted: Option<Arc<str>>,
    /// How long the log was when that was first so.
    uncompacted_at: u64,
    watch: Watch,
    /// `written` when somebody last looked whether writers pause.
    watched: u64,
    growth: Growth,
    /// When a writer sleeps next, in `written`.
    nap_at: u64,
}

/// Whether a thread looks now and then if writers pause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Watch {
    Absent,
    Present,
    /// A compaction is put off until they do.
    PutOff,
}

/// What a log does that cannot be compacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Free,
    /// The next writer sleeps.
    Slowed,
    /// It is as long as it may become.
    Ended,
}

/// That a disk refused room.
#[derive(Debug)]
struct Refused {
    at: Instant,
    /// Half of what was refused: 0 where that is too little.
    room: u64,
    error: io::Error,
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
        self.log.tell_writers(&tail.out);
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
    /// How long ago the first of them was written.
    pub(crate) unsynced_for: Option<Duration>,
    pub(crate) syncs: u64,
    pub(crate) last_sync: Option<SystemTime>,
    /// Why nothing can be written, for good or for now.
    pub(crate) failed: Option<Arc<str>>,
}

/// Whether the system may do later what it could not do now, and did nothing or a part that can be done again.
fn is_want_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
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

    /// The next record says that another process writes from there on. A power cut may have taken records away that
    /// somebody had read: what follows is not to be taken for what comes behind these.
    pub(crate) fn begin_session(&self) {
        lock(&self.tail).out.session = Some(random_salt());
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

    /// Returns once the log may grow by so many bytes, or why it may not. Writers come here before they take a lock and
    /// change anything.
    #[inline]
    pub(crate) fn wait_for_room(&self, bytes: usize) -> Result<()> {
        if self.is_ahead() || bytes as u64 > SLACK / 8 { self.wait(bytes) } else { Ok(()) }
    }

    #[cold]
    fn wait(&self, bytes: usize) -> Result<()> {
        // As a failed log wakes who sleeps here without the lock, they look for themselves now and then.
        const LOOK: Duration = Duration::from_millis(100);
        let mut tail = lock(&self.tail);
        loop {
            self.check()?;
            if tail.closed {
                // Whoever comes here asks for that next.
                return Ok(());
            }
            let out = &mut tail.out;
            if out.end.at > out.allowed {
                tail = self.room.wait_timeout(tail, LOOK).unwrap_or_else(PoisonError::into_inner).0;
            } else if out.is_late {
                drop(tail);
                self.flush()?;
                tail = lock(&self.tail);
            } else if out.growth == Growth::Ended {
                // It is tried again, now and then.
                self.due.store(true, Relaxed);
                return Err(self.refuse(out.error_of_length()));
            } else if out.growth == Growth::Slowed {
                out.growth = Growth::Free;
                self.tell_writers(out);
                drop(tail);
                thread::sleep(NAP);
                tail = lock(&self.tail);
            } else {
                break;
            }
        }
        let out = &mut tail.out;
        self.reserve(out, out.end.at + bytes as u64)?;
        if let Some(reason) = &out.full {
            let error =
                out.refused.as_ref().map_or(io::ErrorKind::StorageFull, |refused| refused.error.kind());
            return Err(self.refuse(io::Error::new(error, Arc::clone(reason).as_ref())));
        }
        let (stuck, written) = (out.stuck, out.written);
        drop(tail);
        if stuck { self.hand_over(written) } else { Ok(()) }
    }

    /// Lets writers go on, or not.
    fn tell_writers(&self, out: &Out) {
        self.ahead.store(out.is_held_up(), Relaxed);
        self.room.notify_all();
    }

    /// Looks whether writers are too far ahead of the disk.
    #[cold]
    fn look(&self, out: &mut Out) {
        out.look_at = out.written + LOOK_BYTES;
        // Where writers sync, whoever would wait does so.
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

    /// Notes why the file could not be compacted, or that it was.
    pub(crate) fn note_compaction(&self, error: Option<&Error>) {
        if let Some(error) = error {
            Notice::CompactionFailed(error).tell(&self.path);
        }
        let mut tail = lock(&self.tail);
        let out = &mut tail.out;
        if out.uncompacted.is_none() {
            out.uncompacted_at = out.length();
        }
        out.uncompacted = error.map(|error| error.to_string().into());
        out.look_at_length();
        self.tell_writers(out);
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

    /// Appends these operations, in one record, as `append` does.
    #[inline]
    pub(crate) fn append_made(&self, operations: &mut Operations) -> Result<u64> {
        let written = self.put_in_order(operations)?;
        // The buffer of many writes that are acknowledged together stays short enough for the memory that is kept back.
        if written.saturating_sub(self.handed.load(Acquire)) >= LONG_BUFFER {
            self.hand_over(written)?;
        }
        Ok(written)
    }

    #[inline]
    fn put_in_order(&self, operations: &mut Operations) -> Result<u64> {
        let mut tail = lock(&self.tail);
        self.check()?;
        if tail.closed {
            return Err(Error::Closed { path: self.path.clone() });
        }
        let out = &mut tail.out;
        let Position { mut session, mut sequence } = out.end.position;
        sequence = sequence.wrapping_add(1);
        if let Some(own) = out.session.take() {
            session = own;
            operations.begin_with(Position { session, sequence });
        }
        self.put(out, operations.seal(out.end.salt, out.end.at))?;
        out.end.position = Position { session, sequence };
        out.last = out.end.at;
        Ok(out.written)
    }

    /// Appends a record. The system has it then, or it is in the buffer.
    #[inline]
    fn put(&self, out: &mut Out, record: &[u8]) -> Result<()> {
        let (at, end) = (out.end.at + record.len() as u64, out.written + record.len() as u64);
        if at + SLACK > out.reserved {
            self.reserve(out, at)?;
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
        Ok(())
    }

    /// Sets room aside for the log to have its end at `end`, or notes that there is none.
    #[cold]
    fn reserve(&self, out: &mut Out, end: u64) -> Result<()> {
        match out.reserve(end + SLACK) {
            Ok(()) => {
                self.due.store(out.is_due(), Relaxed);
                if out.full.take().is_some() {
                    self.tell_writers(out);
                }
            }
            Err(error) if is_want_of_space(&error) => {
                if out.full.is_none() {
                    Notice::LogFull(&error).tell(&self.path);
                }
                out.full = Some(error.to_string().into());
                self.ahead.store(true, Relaxed);
            }
            Err(error) => return Err(self.fail(&error)),
        }
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
        let mut buffer = mem::replace(&mut out.buffer, mem::take(&mut free));
        let (file, at, written) = (Arc::clone(&out.end.file), out.end.at - buffer.len() as u64, out.written);
        drop(tail);
        if let Err(error) = file.write_at(at, &buffer) {
            let mut tail = lock(&self.tail);
            return Err(self.keep(&mut tail.out, buffer, &error));
        }
        self.handed.fetch_max(written, Release);
        let mut tail = lock(&self.tail);
        if mem::take(&mut tail.out.stuck) {
            self.tell_writers(&tail.out);
        }
        drop(tail);
        buffer.clear();
        if buffer.capacity() <= KEPT_BYTES {
            *free = buffer;
        }
        Ok(())
    }

    /// Keeps what could not be written to its place, where that may be done later. A part of it that is there now is
    /// no record, and is then written again.
    fn keep(&self, out: &mut Out, mut buffer: Vec<u8>, error: &io::Error) -> Error {
        if !is_want_of_space(error) {
            return self.fail(error);
        }
        buffer.append(&mut out.buffer);
        out.buffer = buffer;
        out.stuck = true;
        self.tell_writers(out);
        let what = format!("{error}. The change is in memory; it will be in the file once there is room");
        self.refuse(io::Error::new(error.kind(), what))
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
            log_bytes: tail.out.length(),
            unsynced_bytes: tail.out.written.saturating_sub(done),
            unsynced_for: tail.out.unsynced_for(),
            syncs: self.syncs.load(Relaxed),
            last_sync: last,
            failed: self.failed.get().or(tail.out.full.as_ref()).cloned(),
        }
    }

    /// Where the next record goes.
    pub(crate) fn at(&self) -> u64 {
        lock(&self.tail).out.end.at
    }

    /// Where the next record goes, and where the last one is in the store's history.
    pub(crate) fn place(&self) -> (u64, Position) {
        let end = &lock(&self.tail).out.end;
        (end.at, end.position)
    }

    /// The end of what has been appended, all of which the system has.
    pub(crate) fn end(&self) -> Result<End> {
        let tail = lock(&self.tail);
        let End { file, salt, at, dump, position } = &tail.out.end;
        let end = End { file: Arc::clone(file), salt: *salt, at: *at, dump: *dump, position: *position };
        let written = tail.out.written;
        drop(tail);
        self.hand_over(written)?;
        Ok(end)
    }

    #[cfg(test)]
    pub(crate) fn set_longest_unsynced(&self, time: Duration) {
        lock(&self.tail).out.longest_unsynced = time;
    }

    /// Whether the log is kept from growing, as while another file takes its place.
    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.tail.try_lock().is_err()
    }

    // --- when to write the file anew

    /// Whether it is worth it to write the file anew. Asked with every write, so it is looked at now and then.
    #[inline]
    pub(crate) fn is_due(&self) -> bool {
        self.due.load(Relaxed) && self.due.swap(false, Relaxed)
    }

    /// Puts a compaction that is due off until writers pause, where it can wait. Returns whether it can: a thread
    /// tells when they do, and the log is not longer than twice what the store has in memory.
    ///
    /// Who writes much at once mostly writes what is new. A log of that is no longer than its dump would be, and writing
    /// the dump beside it took from the writers: one of them appended 5.0 M messages of 100 bytes a second with it and
    /// 6.5 without, eight 4.6 and 5.3.
    pub(crate) fn put_off(&self, memory: usize) -> bool {
        let out = &mut lock(&self.tail).out;
        if out.watch == Watch::Absent {
            return false;
        }
        let can_wait = out.uncompacted.is_none() && out.length() <= 2 * memory as u64;
        out.watch = if can_wait { Watch::PutOff } else { Watch::Present };
        can_wait
    }

    /// Somebody asks [`is_quiet`](Self::is_quiet) from now on, after each [`tick`](Self::tick).
    pub(crate) fn watch(&self) {
        lock(&self.tail).out.watch = Watch::Present;
    }

    /// Whether writers pause, and a compaction was put off until then.
    pub(crate) fn is_quiet(&self) -> bool {
        let out = &mut lock(&self.tail).out;
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

    /// Copies a record to its place, where that is memory or can be; whether it is.
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

    /// Makes the room that is set aside memory.
    #[cold]
    fn map(&mut self) {
        self.window = None;
        let at = self.end.at;
        let len = self.reserved.saturating_sub(at) as usize;
        self.window = self.end.file.window(at, len).map(|window| (at, window));
    }

    /// Sets room aside for the file to have `end` bytes, and more: where the disk has little left, half as much and half
    /// of that.
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
            match self.end.file.reserve(len) {
                Ok(()) => {
                    self.reserved = len;
                    return Ok(());
                }
                Err(error) if is_want_of_space(&error) => {
                    room /= 2;
                    self.refused = Some(Refused { at: Instant::now(), room, error });
                }
                Err(error) => return Err(error),
            }
        }
        let error = self.refused.as_ref().map(|refused| &refused.error);
        Err(error.map_or(io::ErrorKind::StorageFull.into(), |error| {
            io::Error::new(error.kind(), error.to_string())
        }))
    }

    /// How long ago the first record was appended that is not on disk.
    fn unsynced_for(&self) -> Option<Duration> {
        self.syncing.or(self.unsynced).map(|since| since.elapsed())
    }

    /// So much of what was written is on disk.
    fn is_on_disk(&mut self, written: u64) {
        self.syncing = None;
        self.done = written;
    }

    /// Whether writers wait, or are refused.
    fn is_held_up(&self) -> bool {
        let waits = self.end.at > self.allowed || self.is_late || self.growth != Growth::Free;
        waits || self.stuck || self.full.is_some()
    }

    /// Slows writers down where the file cannot be compacted, and in the end refuses them.
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
        let mut tail = lock(&log.tail);
        let out = &mut tail.out;
        if !out.buffer.is_empty() {
            log.say_synced(out)?;
        }
        let (file, end, written) = (Arc::clone(&out.end.file), out.end.at, out.written);
        out.syncing = out.syncing.or(out.unsynced);
        out.unsynced = None;
        drop(tail);
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
        let mut tail = lock(&log.tail);
        tail.out.synced = end;
        tail.out.is_on_disk(written);
        log.look(&mut tail.out);
        log.tell_writers(&tail.out);
        drop(tail);
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
            if let Err(error) = out.end.file.write_at(at, &buffer) {
                return Err(self.log.keep(out, buffer, &error));
            }
            out.stuck = false;
            self.log.handed.fetch_max(out.written, Release);
        }
        self.log.check()?;
        let end = change(&out.end)?;
        out.window = None;
        (out.last, out.synced, out.said) = (end.at, end.at, end.at);
        // Room for more was set aside before.
        out.reserved = end.file.len().unwrap_or(end.at);
        out.end = end;
        let written = out.written;
        out.unsynced = None;
        out.is_on_disk(written);
        (out.full, out.refused, out.uncompacted) = (None, None, None);
        self.log.look(out);
        self.log.tell_writers(out);
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
