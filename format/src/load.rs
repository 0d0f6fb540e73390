//! Loading a file: several threads read the dump, then the log behind it is replayed.

use std::io;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use twindex::Error::MemoryLimit;
use twindex::{IndexKind, Result, Store};

use crate::loader::{Loader, table_of_pairs};
use crate::log::{LogReader, Replayed, Torn};
use crate::operation::Position;
use crate::progress::{Progress, ProgressFn};
use crate::record::{HEADER_BYTES, Header, Kind, OUT_OF_PLACE, corrupt};
use crate::replay::threads;
use crate::source::ReadAt;

/// The contents of a file.
#[derive(Debug)]
pub struct Found {
    /// The tables with their ids.
    pub loader: Loader,
    /// Where the log continues. `None` if the file has no salt and so cannot have a log.
    pub end: Option<LogEnd>,
    /// The torn end of the log, if there is one. A writer cuts it off.
    pub torn: Option<Torn>,
}

/// The place where a file's log continues.
#[derive(Clone, Copy, Debug)]
pub struct LogEnd {
    /// The salt of the file.
    pub salt: u64,
    /// The end of the last record.
    pub at: u64,
    /// The end of the dump.
    pub dump: u64,
    /// The position in the store's history after the last record.
    pub position: Position,
    /// Up to here the file was on disk: so the last synced record says.
    pub synced: u64,
    /// Where the last record of the log is, if it has one.
    pub last: Option<u64>,
}

/// A thread takes records of at most so many bytes at once, or one that is larger.
const RUN: usize = 1 << 20;

/// The memory limit with which to load, follow or check the file of a store with this limit.
///
/// Pairs that are loaded together need not take the memory that they took when they were written one by one: a hash table may split
/// at other places. Measured with limits from 64 KiB to 4 MiB, both indexes, values up to 3,000 bytes, keys in order and at random, in 1
/// and 20 tables: up to 1.43 times the limit for 64 KiB, 1.38 for 256 KiB, 1.27 for 1 MiB and 1.25 for 4 MiB. A store that reached its limit has to come back. Set the limit itself
/// once the file is loaded: a store that holds more refuses to grow.
pub fn limit_while_loading(limit: usize) -> usize {
    limit.saturating_add(limit / 2).saturating_add(1 << 20)
}

/// The error of loading with [`limit_while_loading`], which names the store's own limit.
pub fn name_limit(error: twindex::Error, limit: Option<usize>) -> twindex::Error {
    match error {
        MemoryLimit { needed, kept, .. } if limit.is_some() => MemoryLimit { limit, needed, kept },
        other => other,
    }
}

/// Calls `load`, which fills `store`, with [`limit_while_loading`]. The limit holds afterwards: a store that has more by then refuses
/// to grow.
pub fn load_into<T>(
    store: &Store,
    limit: Option<usize>,
    load: impl FnOnce(&Store) -> Result<T>,
) -> Result<T> {
    store.set_memory_limit(limit.map(limit_while_loading));
    let loaded = load(store);
    store.set_memory_limit(limit);
    loaded.map_err(|error| name_limit(error, limit))
}

/// Loads a file into `store`, which is empty. `has_writer` says whether another process may be writing to it.
///
/// Fails with [`Error::Corrupt`](twindex::Error::Corrupt) if the file is damaged. A torn end is not damage, and an empty file is
/// an empty store. Use [`load_into`] for a store with a memory limit.
pub fn open(
    file: &dyn ReadAt,
    store: Store,
    has_writer: &dyn Fn() -> bool,
    progress: &mut ProgressFn<'_>,
) -> Result<Found> {
    let len = file.len()?;
    if len == 0 {
        return Ok(Found { loader: Loader::new(store), end: None, torn: None });
    }
    let mut bytes = [0; HEADER_BYTES];
    let read = file.read_at(0, &mut bytes)?;
    let Header { salt } = Header::decode(&bytes[..read])?;
    let (mut loader, dump) = load_dump(file, salt, len, store, progress)?;
    if salt == 0 {
        return Ok(Found { loader, end: None, torn: None });
    }
    let mut log = LogReader::of_file(file, salt, len, dump);
    let Replayed { mut position, synced, last } = log.replay(&mut loader, progress)?;
    if position.session == 0 {
        position.session = Position::start(salt).session;
    }
    let torn = log.torn(has_writer)?;
    let end = LogEnd { salt, at: log.at(), dump, position, synced, last };
    Ok(Found { loader, end: Some(end), torn })
}

/// What the threads that read a dump share.
struct Shared<'s> {
    loader: RwLock<Loader>,
    next: Mutex<Next<'s>>,
    /// How many runs of records of sorted tables were inserted. `u64::MAX` if one never will be.
    inserted: Mutex<u64>,
    turn: Condvar,
}

struct Next<'s> {
    reader: LogReader<'s>,
    /// How many runs of records of sorted tables were taken.
    in_order: u64,
    /// What the end record says, once it is read.
    end: Option<u64>,
    done: Progress,
    progress: &'s mut ProgressFn<'s>,
    failed: Option<twindex::Error>,
}

/// Loads the dump. Returns the tables, and where the dump ends.
fn load_dump(
    file: &dyn ReadAt,
    salt: u64,
    len: u64,
    store: twindex::Store,
    progress: &mut ProgressFn<'_>,
) -> Result<(Loader, u64)> {
    let next = Next {
        reader: LogReader::of_file(file, salt, len, HEADER_BYTES as u64),
        in_order: 0,
        end: None,
        done: Progress { pairs: 0, bytes: HEADER_BYTES as u64 },
        progress,
        failed: None,
    };
    let loader = RwLock::new(Loader::new(store));
    let shared = Shared { loader, next: Mutex::new(next), inserted: Mutex::new(0), turn: Condvar::new() };
    let threads = threads();
    // A small file is loaded before another thread would have started.
    if threads == 1 || len < 4 << 20 {
        shared.work();
    } else {
        thread::scope(|scope| {
            for _ in 1..threads {
                // If a thread cannot be started, the others do its work.
                let _ = thread::Builder::new().spawn_scoped(scope, || shared.work());
            }
            shared.work();
        });
    }
    let next = shared.next.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = next.failed {
        return Err(error);
    }
    if next.end != Some(next.done.pairs) {
        return corrupt(next.reader.at(), BAD_NUMBER);
    }
    Ok((shared.loader.into_inner().unwrap_or_else(PoisonError::into_inner), next.reader.at()))
}

impl<'s> Shared<'s> {
    /// Loads one record after the other, as long as there are any.
    fn work(&self) {
        let mut run = Vec::new();
        while self.records(&mut run).unwrap_or_else(|error| {
            self.next().failed.get_or_insert(error);
            false
        }) {}
    }

    fn next(&self) -> MutexGuard<'_, Next<'s>> {
        // Only a panic in the caller's progress function leaves the lock poisoned, and that is passed on.
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the next few records of pairs, or one of another kind. Returns whether there were any. `run` is memory for payloads.
    fn records(&self, run: &mut Vec<u8>) -> Result<bool> {
        let mut held = self.next();
        let next = &mut *held;
        if next.failed.is_some() || next.end.is_some() {
            return Ok(false);
        }
        let (start, mut records) = (next.reader.at(), Vec::new());
        run.clear();
        while run.len() < RUN {
            let offset = next.reader.at();
            match next.reader.record()? {
                Some((Kind::Pairs, payload)) if payload.len() <= RUN => {
                    run.try_reserve(payload.len()).map_err(io::Error::from)?;
                    records.push((offset, run.len()..run.len() + payload.len()));
                    run.extend_from_slice(payload);
                }
                _ if !records.is_empty() => {
                    next.reader.go_back(offset);
                    break;
                }
                None => return corrupt(offset, "a record is cut or damaged, or the dump has no end"),
                Some((kind, _)) if kind.is_logged() => return corrupt(offset, OUT_OF_PLACE),
                Some((kind, payload)) => {
                    if kind == Kind::End {
                        let pairs = payload.try_into().map(u64::from_le_bytes);
                        next.end = Some(pairs.or_else(|_| corrupt(offset, BAD_NUMBER))?);
                    }
                    let mut loader = self.loader.write().unwrap_or_else(PoisonError::into_inner);
                    let pairs = loader.record(kind, offset, payload)?;
                    if pairs > 0 {
                        next.tell(pairs, next.reader.at() - offset);
                    }
                    return Ok(true);
                }
            }
        }
        let loader = self.loader.read().unwrap_or_else(PoisonError::into_inner);
        let table = table_of_pairs(run).and_then(|id| loader.find(id));
        let turn = table.is_some_and(|table| table.index() == IndexKind::Sorted).then(|| {
            next.in_order += 1;
            Turn { inserted: &self.inserted, changed: &self.turn, number: next.in_order - 1 }
        });
        let bytes = next.reader.at() - start;
        drop(held);
        let unpack = |(offset, payload): (u64, Range<usize>)| loader.unpack(offset, &run[payload]);
        let unpacked = records.into_iter().map(unpack).collect::<Result<Vec<_>>>()?;
        drop(loader);
        if !turn.as_ref().is_none_or(Turn::wait) {
            return Ok(false);
        }
        let mut pairs = 0;
        for record in unpacked {
            pairs += record.insert()?;
        }
        if let Some(turn) = turn {
            turn.pass();
        }
        self.next().tell(pairs, bytes);
        Ok(true)
    }
}

/// Makes a run of records of a sorted table wait until the previous run is inserted: keys in order fill leaf after leaf.
/// Inserting a million keys takes one thread 0.09 s. Two threads that do not wait take 0.14 s of CPU time.
struct Turn<'t> {
    inserted: &'t Mutex<u64>,
    changed: &'t Condvar,
    number: u64,
}

impl Turn<'_> {
    fn inserted(&self) -> MutexGuard<'_, u64> {
        self.inserted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the turn of this run. Returns false if an earlier run was not inserted.
    fn wait(&self) -> bool {
        let mut inserted = self.inserted();
        while *inserted < self.number {
            inserted = self.changed.wait(inserted).unwrap_or_else(PoisonError::into_inner);
        }
        *inserted == self.number
    }

    fn pass(self) {
        *self.inserted() = self.number + 1;
    }
}

impl Drop for Turn<'_> {
    /// If this run was not inserted, no later one may be.
    fn drop(&mut self) {
        let mut inserted = self.inserted();
        if *inserted <= self.number {
            *inserted = u64::MAX;
        }
        drop(inserted);
        self.changed.notify_all();
    }
}

const BAD_NUMBER: &str = "the number of pairs does not match";

impl Next<'_> {
    fn tell(&mut self, pairs: u64, bytes: u64) {
        self.done.pairs += pairs;
        self.done.bytes += bytes;
        (self.progress)(self.done);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::*;
    use crate::writer::write_tables;

    /// A file that is only read, and counts how much.
    #[derive(Debug)]
    struct Counting {
        bytes: Vec<u8>,
        read: AtomicU64,
        /// The length that it claims, if it was cut since.
        shorter: Option<u64>,
    }

    impl ReadAt for Counting {
        fn len(&self) -> io::Result<u64> {
            Ok(self.shorter.unwrap_or(self.bytes.len() as u64))
        }

        fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.bytes.as_slice().read_at(offset, bytes)?;
            self.read.fetch_add(read as u64, Relaxed);
            Ok(read)
        }
    }

    #[test]
    fn many_small_tables_are_read_a_few_times() {
        for pairs in [0, 1] {
            let store = twindex::Store::new();
            for table in 0..5_000 {
                let table = store.table(&format!("table {table}"), IndexKind::Hash).unwrap();
                (0..pairs).for_each(|key: u8| assert!(table.insert([key], "v").unwrap()));
            }
            let mut bytes = Vec::new();
            let tables: Vec<_> = (0..).zip(store.tables()).collect();
            write_tables(&tables, 0, &mut bytes, &mut |_| {}).unwrap();
            let len = bytes.len() as u64;
            let file = Counting { bytes, read: AtomicU64::new(0), shorter: None };
            let found = open(&file, Store::new(), &|| false, &mut |_| {}).unwrap();
            assert_eq!(found.loader.store().tables().len(), 5_000);
            assert!(
                file.read.load(Relaxed) < 2 * len,
                "{} of {len} bytes were read",
                file.read.load(Relaxed)
            );
        }
    }

    #[test]
    fn a_file_that_is_cut_to_its_end_meanwhile_is_whole() {
        let store = twindex::Store::new();
        store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
        let mut bytes = Vec::new();
        write_tables(&[(0, store.table("t", IndexKind::Hash).unwrap())], 7, &mut bytes, &mut |_| {}).unwrap();
        for zeros in [1, 100, 10 << 20] {
            let claimed = bytes.len() as u64 + zeros;
            let file = Counting { bytes: bytes.clone(), read: AtomicU64::new(0), shorter: Some(claimed) };
            let found = open(&file, Store::new(), &|| true, &mut |_| {}).unwrap();
            assert_eq!(found.loader.store().find_table("t").unwrap().len(), 1);
            assert_eq!(found.torn, None);
        }
    }

    #[test]
    fn a_torn_end_is_read_a_few_times_whatever_is_in_it() {
        const SALT: u64 = 7;
        let mut bytes = Header::encode(SALT);
        let end = bytes.len() as u64;
        bytes.extend([Kind::Synced as u8, 8, 0, 0, 0, 0].repeat(20_000));
        bytes.push(1);
        let len = bytes.len() as u64;
        let file = Counting { bytes, read: AtomicU64::new(0), shorter: None };
        let torn = LogReader::of_file(&file, SALT, len, end).torn(&|| false).unwrap();
        assert_eq!(torn, Some(Torn { offset: end, bytes: len - end }));
        assert!(file.read.into_inner() < 10 * len);
    }
}
