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

mod append;
mod growth;
mod sync;

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use twindex_format::Position;

use self::growth::{Growth, Space};
use self::sync::{OnDisk, Sync};
use crate::disk::{File, NoFile, Window};
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::notice::tell;
use crate::options::Durability;

pub(crate) use self::append::with_operations;
#[cfg(test)]
pub(crate) use self::growth::{ASK_AGAIN, LONGEST};
pub(crate) use self::growth::{LEAST_DUE_BYTES, Pace, Place, SLACK};
#[cfg(test)]
pub(crate) use self::sync::MOST_UNSYNCED;
pub(crate) use self::sync::SYNC_EVERY;

/// Tests divide sizes by this: the simulated disk is slow.
const PART: u64 = if cfg!(test) { 16 } else { 1 };

/// The place where a file's log continues.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) file: Arc<dyn File>,
    pub(crate) salt: u64,
    /// The end of the last record.
    pub(crate) at: u64,
    /// The end of the dump.
    pub(crate) dump: u64,
    /// The position in the store's history after the last record.
    pub(crate) position: Position,
    /// Up to here the file is known to be on disk: by its last synced record, or since we synced it.
    pub(crate) synced: u64,
    /// Where the last record of the log is, if there was one when the file was loaded.
    pub(crate) last: Option<u64>,
}

#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    durability: Durability,
    tail: Mutex<Out>,
    /// No change begins any more. Set while no thread writes, so no record can follow.
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

#[derive(Debug)]
struct Out {
    end: End,
    /// The session with which the next record must begin. See [`Log::begin_session`].
    session: Option<u64>,
    /// The part of the file that is mapped into memory, and its offset.
    window: Option<(u64, Box<dyn Window>)>,
    /// Records that the system does not have yet.
    buffer: Vec<u8>,
    /// The system refused to write the buffer, although its place was reserved.
    stuck: bool,
    /// How many bytes were ever appended, over all files. A writer waits until this many are safe.
    written: u64,
    /// The end of the last record of operations.
    last: u64,
    marks: Marks,
    space: Space,
    disk: OnDisk,
    growth: Growth,
}

/// Some ends of records and the positions there, so that a compaction need not read the whole log to keep its last changes.
#[derive(Debug, Default)]
struct Marks {
    list: VecDeque<(u64, Position)>,
    /// Where the next one is due.
    due: u64,
}

/// How far marks are apart, and how many there are at most: for more than a file keeps.
const MARK_BYTES: u64 = (1 << 20) / PART;
const MOST_MARKS: usize = 18;

impl Marks {
    #[cold]
    fn push(&mut self, at: u64, position: Position) {
        if self.list.len() == MOST_MARKS {
            self.list.pop_front();
        }
        self.list.push_back((at, position));
        self.due = at + MARK_BYTES;
    }
}

#[derive(Debug, Default)]
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

impl Log {
    pub(crate) fn new(path: &Path, durability: Durability, end: End) -> Self {
        let out = Out {
            last: end.at,
            marks: Marks::default(),
            space: Space { reserved: end.at, ..Space::default() },
            disk: OnDisk::new(end.at),
            growth: Growth::default(),
            end,
            session: None,
            window: None,
            buffer: Vec::new(),
            stuck: false,
            written: 0,
        };
        Self {
            path: path.into(),
            durability,
            tail: Mutex::new(out),
            closed: AtomicBool::new(false),
            places: AtomicU64::new(0),
            handing: Mutex::new(Vec::new()),
            handed: AtomicU64::new(0),
            sync: Mutex::default(),
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
            tell(&self.path, "log_failed", format_args!("the log failed: {error}"));
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

    /// Lets go of the file, once the log is closed or has failed.
    pub(crate) fn release(&self) {
        let out = &mut *lock(&self.tail);
        out.window = None;
        out.end.file = Arc::new(NoFile);
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
            failed: self.failed.get().or(out.space.full.as_ref()).cloned(),
        }
    }

    /// Where the next record goes.
    pub(crate) fn at(&self) -> u64 {
        lock(&self.tail).end.at
    }

    /// Where the next record goes, the position in the store's history there, and the marks before it.
    pub(crate) fn place(&self) -> (u64, Position, Vec<(u64, Position)>) {
        let out = lock(&self.tail);
        (out.end.at, out.end.position, out.marks.list.iter().copied().collect())
    }

    /// A table came or went.
    pub(crate) fn forget_marks(&self) {
        lock(&self.tail).marks.list.clear();
    }

    pub(crate) fn salt(&self) -> u64 {
        lock(&self.tail).end.salt
    }

    /// The end of the log. The system has all records before it.
    pub(crate) fn end(&self) -> Result<End> {
        let out = lock(&self.tail);
        let (end, written) = (out.end.clone(), out.written);
        drop(out);
        self.hand_over(written)?;
        Ok(end)
    }

    /// Whether the log cannot grow just now, for example while another file takes its place.
    #[cfg(test)]
    pub(crate) fn is_held(&self) -> bool {
        self.tail.try_lock().is_err()
    }
}

impl Out {
    fn length(&self) -> u64 {
        self.end.at - self.end.dump
    }
}
