//! Loading a file: several threads read the dump, then the log behind it is replayed.

use std::io::{self, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread;

use twindex::Error::{Corrupt, MemoryLimit};
use twindex::{Index, Result};
use twindex_format::{
    HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, Loader, Position, Progress, Unpacked, synced_by,
    table_of_pairs,
};

use crate::clock;
use crate::disk::File;
use crate::log::End;
use crate::options::ProgressFn;
use crate::replay::{Replay, threads};

/// The torn end of a log: bytes that a power cut left incomplete. No call had promised that they were on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where the log was cut, in bytes from the file's start.
    pub offset: u64,
    /// How many bytes were lost there.
    pub bytes: u64,
}

/// What a file contains.
pub(crate) struct Found {
    pub(crate) loader: Loader,
    /// Where the log continues. `None` if the file has no salt and so cannot have a log.
    pub(crate) end: Option<End>,
    pub(crate) torn: Option<Torn>,
}

/// A file is read in pieces of at most this size, or of one record.
const PIECE: usize = 1 << 20;
/// A longer record is read once before memory is allocated for it, to check that all of it is there.
const BELIEVED: u64 = 16 << 20;
/// For an even longer one, we check before that so much memory can be allocated at all: reading a hole of a tebibyte takes
/// minutes.
const LARGE: u64 = 1 << 30;
/// The smallest piece. In a dump of many small tables, each table ends a piece.
const LEAST_PIECE: usize = 1 << 12;

/// Loads the file. `has_writer` tells whether another store may be writing to it.
pub(crate) fn load(
    file: &Arc<dyn File>,
    has_writer: &dyn Fn() -> bool,
    memory_limit: Option<usize>,
    progress: &mut ProgressFn,
) -> Result<Found> {
    let len = file.len()?;
    let mut bytes = [0; HEADER_BYTES];
    let read = file.read_at(0, &mut bytes)?;
    let header = Header::decode(&bytes[..read])?;
    let store = twindex::Store::new();
    clock::wind(&store);
    store.set_memory_limit(memory_limit);
    let (mut loader, dump) = load_dump(&**file, header.salt, len, store, progress)?;
    if header.salt == 0 {
        return Ok(Found { loader, end: None, torn: None });
    }
    let mut log = LogReader::of_file(&**file, header.salt, len, dump);
    let (position, synced) = log.replay(&mut loader, progress)?;
    let position = position_in(position, header.salt);
    let torn = log.torn(has_writer)?;
    let end = End { file: Arc::clone(file), salt: header.salt, at: log.at, dump, position, synced };
    Ok(Found { loader, end: Some(end), torn })
}

/// The position as read from the file with this salt. A session of 0 stands for the salt.
pub(crate) fn position_in(position: Position, salt: u64) -> Position {
    if position.session == 0 { Position { session: salt, ..position } } else { position }
}

/// Reads a file from `offset` to its end.
struct FileReader<'f> {
    file: &'f dyn File,
    offset: u64,
}

impl Read for FileReader<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, bytes)?;
        self.offset += read as u64;
        Ok(read)
    }
}

/// Whether memory may be allocated for the payload at `start`. A file can claim any length, and with holes it even has that
/// length. So we allocate much memory only for bytes that were really written.
pub(crate) fn is_believed(file: &dyn File, start: u64, head: &Head) -> Result<bool> {
    if head.length <= BELIEVED {
        return Ok(true);
    }
    if head.length > LARGE {
        room(&mut Vec::new(), head.length)?;
    }
    head.matches_read(&mut FileReader { file, offset: start })
}

// --- the dump

/// What the threads that read a dump share.
struct Shared<'s> {
    file: &'s dyn File,
    salt: u64,
    len: u64,
    loader: RwLock<Loader>,
    next: Mutex<Next<'s>>,
    /// How many runs of records of sorted tables were inserted. `u64::MAX` if one never will be.
    inserted: Mutex<u64>,
    turn: Condvar,
}

struct Next<'s> {
    offset: u64,
    /// How much to read at once. Grows if a run of records does not fit, and shrinks if runs are short.
    piece: usize,
    /// How many runs of records of sorted tables were taken.
    in_order: u64,
    /// What the end record says, once it is read.
    end: Option<u64>,
    done: Progress,
    progress: &'s mut ProgressFn,
    failed: Option<twindex::Error>,
}

/// Loads the dump. Returns the tables, and where the dump ends.
fn load_dump(
    file: &dyn File,
    salt: u64,
    len: u64,
    store: twindex::Store,
    progress: &mut ProgressFn,
) -> Result<(Loader, u64)> {
    let next = Next {
        offset: HEADER_BYTES as u64,
        piece: LEAST_PIECE,
        in_order: 0,
        end: None,
        done: Progress { pairs: 0, bytes: HEADER_BYTES as u64 },
        progress,
        failed: None,
    };
    let loader = RwLock::new(Loader::new(store));
    let (inserted, turn) = (Mutex::new(0), Condvar::new());
    let shared = Shared { file, salt, len, loader, next: Mutex::new(next), inserted, turn };
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
        return Err(Corrupt { offset: next.offset, what: "the number of pairs does not match" });
    }
    Ok((shared.loader.into_inner().unwrap_or_else(PoisonError::into_inner), next.offset))
}

impl<'s> Shared<'s> {
    /// Loads one record after the other, as long as there are any.
    fn work(&self) {
        let mut piece = Vec::new();
        loop {
            let worked = self.records(&mut piece);
            match worked {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => {
                    self.next().failed.get_or_insert(error);
                    return;
                }
            }
        }
    }

    fn next(&self) -> MutexGuard<'_, Next<'s>> {
        // Only a panic in the caller's progress function leaves the lock poisoned, and that is passed on.
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Loads the next few records. Returns whether there were any.
    fn records(&self, piece: &mut Vec<u8>) -> Result<bool> {
        let mut next = self.next();
        if next.failed.is_some() || next.end.is_some() {
            return Ok(false);
        }
        let offset = next.offset;
        self.read(offset, next.piece, piece)?;
        let tables = self.tables(offset, piece)?;
        if tables > 0 {
            next.offset += tables as u64;
            return Ok(true);
        }
        // Records of pairs of one table.
        let mut run = Vec::new();
        let mut len = 0;
        let mut is_cut = false;
        while let Some(head) = self.head(offset + len as u64, &piece[len..])
            && head.kind == Kind::Pairs
        {
            is_cut = head.length > (piece.len() - len - HEAD_BYTES) as u64;
            if is_cut {
                break;
            }
            let payload = len + HEAD_BYTES..len + HEAD_BYTES + head.length as usize;
            run.push((offset + len as u64, head, payload.clone()));
            len = payload.end;
        }
        if is_cut && next.piece < PIECE {
            next.piece = PIECE;
            return Ok(true);
        }
        if len < next.piece / 4 {
            next.piece = (next.piece / 2).max(LEAST_PIECE);
        }
        let Some((_, _, first)) = run.first() else { return self.record(&mut next, piece) };
        let turn = self.is_sorted(&piece[first.clone()]).then(|| {
            next.in_order += 1;
            Turn { inserted: &self.inserted, changed: &self.turn, number: next.in_order - 1 }
        });
        next.offset += len as u64;
        drop(next);
        let unpacked = run
            .into_iter()
            .map(|(offset, head, payload)| self.unpack(offset, &head, &piece[payload]))
            .collect::<Result<Vec<_>>>()?;
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
        self.next().tell(pairs, len as u64);
        Ok(true)
    }

    /// Reads the next `len` bytes, or fewer if the file ends before. Its writer may have cut it meanwhile: never within
    /// the dump, but the space that was reserved behind the log.
    fn read(&self, offset: u64, len: usize, piece: &mut Vec<u8>) -> Result<()> {
        piece.resize(self.len.saturating_sub(offset).min(len as u64) as usize, 0);
        let read = self.file.read_at(offset, piece)?;
        piece.truncate(read);
        Ok(())
    }

    /// Creates the tables that the piece begins with. Returns how many bytes their records have.
    fn tables(&self, offset: u64, piece: &[u8]) -> Result<usize> {
        let mut len = 0;
        while let Some(head) = self.head(offset + len as u64, &piece[len..])
            && head.kind == Kind::Table
            && let Some(payload) =
                piece[len + HEAD_BYTES..].get(..usize::try_from(head.length).unwrap_or(usize::MAX))
        {
            let offset = offset + len as u64;
            if !head.matches(payload) {
                return Err(Corrupt { offset, what: BAD_SUM });
            }
            self.loader.write().unwrap_or_else(PoisonError::into_inner).record(head.kind, offset, payload)?;
            len += HEAD_BYTES + payload.len();
        }
        Ok(len)
    }

    fn is_sorted(&self, payload: &[u8]) -> bool {
        let loader = self.loader.read().unwrap_or_else(PoisonError::into_inner);
        let table = table_of_pairs(payload).and_then(|id| loader.find(id));
        table.is_some_and(|table| table.index() == Index::Sorted)
    }

    /// Loads one record that is of another kind, or too large for a piece.
    fn record(&self, next: &mut Next<'_>, payload: &mut Vec<u8>) -> Result<bool> {
        let offset = next.offset;
        let corrupt = |what| Corrupt { offset, what };
        if payload.len() < HEAD_BYTES {
            return Err(corrupt("it ends without the end of a dump"));
        }
        let head = self.head(offset, payload).ok_or(corrupt("a record's head is damaged"))?;
        let start = offset + HEAD_BYTES as u64;
        if head.length > self.len - start {
            return Err(corrupt("it ends within a record"));
        }
        if !is_believed(self.file, start, &head)? {
            return Err(corrupt(BAD_SUM));
        }
        resize(payload, head.length)?;
        if self.file.read_at(start, payload)? < payload.len() {
            return Err(corrupt("it ends within a record"));
        }
        next.offset = start + head.length;
        if head.kind == Kind::Pairs {
            let pairs = self.unpack(offset, &head, payload)?.insert()?;
            next.tell(pairs, HEAD_BYTES as u64 + head.length);
            return Ok(true);
        }
        if !head.matches(payload) {
            return Err(corrupt(BAD_SUM));
        }
        if head.kind.is_logged() {
            return Err(corrupt(OUT_OF_PLACE));
        }
        if head.kind == Kind::End {
            let pairs = payload.as_slice().try_into().ok().map(u64::from_le_bytes);
            next.end = Some(pairs.ok_or(corrupt("the number of pairs does not match"))?);
        }
        self.loader.write().unwrap_or_else(PoisonError::into_inner).record(head.kind, offset, payload)?;
        Ok(true)
    }

    fn head(&self, offset: u64, bytes: &[u8]) -> Option<Head> {
        Head::decode(self.salt, offset, bytes.first_chunk()?)
    }

    /// Checks and unpacks a record of pairs.
    fn unpack<'p>(&self, offset: u64, head: &Head, payload: &'p [u8]) -> Result<Unpacked<'p>> {
        if !head.matches(payload) {
            return Err(Corrupt { offset, what: BAD_SUM });
        }
        self.loader.read().unwrap_or_else(PoisonError::into_inner).unpack(offset, payload)
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

const OUT_OF_PLACE: &str = "a record out of place";
const BAD_SUM: &str = "a record's checksum does not match";

impl Next<'_> {
    fn tell(&mut self, pairs: u64, bytes: u64) {
        self.done.pairs += pairs;
        self.done.bytes += bytes;
        (self.progress)(self.done);
    }
}

// --- the log

/// The bytes of a record that says how much is on disk.
const SYNCED_BYTES: usize = HEAD_BYTES + size_of::<u64>();

/// A log, read in pieces.
pub(crate) struct LogReader<'f> {
    file: &'f dyn File,
    salt: u64,
    len: u64,
    /// The end of the last record that was read.
    at: u64,
    /// The longest record that may be read into memory.
    most: usize,
    piece: Vec<u8>,
    /// The offset of the piece.
    start: u64,
}

impl<'f> LogReader<'f> {
    /// The records from `at`, where one starts, to `end`, where one ends.
    pub(crate) fn new(end: &'f End, at: u64) -> Self {
        Self::of_file(&*end.file, end.salt, end.at, at)
    }

    /// The records from `at`, up to the end of the file.
    pub(crate) fn of_file(file: &'f dyn File, salt: u64, len: u64, at: u64) -> Self {
        Self { file, salt, len, at, most: usize::MAX, piece: Vec::new(), start: at }
    }

    /// A longer record is an error.
    pub(crate) fn with_limit(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Continues at `offset`.
    pub(crate) fn go_to(&mut self, offset: u64) {
        (self.at, self.start) = (offset, offset);
        self.piece.clear();
    }

    /// Where the next record should start.
    pub(crate) fn at(&self) -> u64 {
        self.at
    }

    /// Searches behind this place for a valid record, and continues there. Returns whether there is one.
    pub(crate) fn find_next(&mut self) -> Result<bool> {
        let mut at = self.at;
        while at + (HEAD_BYTES as u64) < self.len {
            at += 1;
            // No record begins with a zero byte. So we skip zeros quickly, as a hole may be long.
            let piece = self.piece.get((at - self.start) as usize..).unwrap_or_default();
            at += zeros(piece) as u64;
            self.at = at;
            if self.record()?.is_some() {
                self.at = at;
                return Ok(true);
            }
        }
        self.at = self.len;
        Ok(false)
    }

    /// Applies all records. Returns the position behind the last one, and up to where a synced record says that the file
    /// was on disk.
    fn replay(&mut self, loader: &mut Loader, progress: &mut ProgressFn) -> Result<(Position, u64)> {
        let (mut done, mut synced) = (0, self.at);
        let mut replay = Replay::new(loader);
        loop {
            let offset = self.at;
            let Some((kind, payload)) = self.record()? else { return Ok((replay.end()?, synced)) };
            if !kind.is_logged() {
                return Err(Corrupt { offset, what: OUT_OF_PLACE });
            }
            if kind == Kind::Synced {
                synced = synced_by(offset, payload)?;
            }
            done += replay.record(kind, offset, payload)?;
            if self.at >> 20 != offset >> 20 {
                progress(Progress { pairs: done, bytes: self.at });
            }
        }
    }

    /// The next record, or `None` if no valid one follows.
    pub(crate) fn record(&mut self) -> Result<Option<(Kind, &[u8])>> {
        let (salt, at) = (self.salt, self.at);
        let head = self.bytes(HEAD_BYTES as u64)?.and_then(|bytes| bytes.try_into().ok());
        let Some(head) = head.and_then(|head| Head::decode(salt, at, head)) else { return Ok(None) };
        let len = HEAD_BYTES as u64 + head.length;
        let is_there = len <= self.len.saturating_sub(at);
        if !is_there || !is_believed(self.file, at + HEAD_BYTES as u64, &head)? {
            return Ok(None);
        }
        if head.length > self.most as u64 {
            let needed = usize::try_from(head.length).unwrap_or(usize::MAX);
            return Err(MemoryLimit { limit: Some(self.most), needed });
        }
        if !self.bytes(len)?.is_some_and(|record| head.matches(&record[HEAD_BYTES..])) {
            return Ok(None);
        }
        self.at += len;
        let from = (at - self.start) as usize;
        Ok(Some((head.kind, &self.piece[from + HEAD_BYTES..from + len as usize])))
    }

    /// The next `len` bytes, or `None` if there are fewer.
    fn bytes(&mut self, len: u64) -> io::Result<Option<&[u8]>> {
        if len > self.len.saturating_sub(self.at) {
            return Ok(None);
        }
        let have = (self.start + self.piece.len() as u64).saturating_sub(self.at);
        if have < len {
            resize(&mut self.piece, len.max(PIECE as u64).min(self.len - self.at))?;
            let read = self.file.read_at(self.at, &mut self.piece)?;
            self.piece.truncate(read);
            self.start = self.at;
        }
        let from = (self.at - self.start) as usize;
        Ok(self.piece.get(from..from + len as usize))
    }

    /// Checks what follows the last valid record: only zeros, or a torn end. Fails if it had been on disk: that is damage.
    ///
    /// Another store may be writing to the file, so its last records may be incomplete only because they are not
    /// written *yet*. We must call them neither damaged nor torn:
    ///
    /// - A synced record is written after the records that it covers. So once we have read a synced record, we read
    ///   a covered record again: now it is complete, or it is really damaged.
    /// - If no synced record covers them, only a live writer can complete them. A writer holds the lock while it
    ///   writes, and cuts or extends the file before it writes anything else. So if nobody holds the lock, and the
    ///   file was neither cut nor extended while we read, then what we read will stay.
    pub(crate) fn torn(&mut self, has_writer: &dyn Fn() -> bool) -> Result<Option<Torn>> {
        let end = self.at;
        let mut torn = self.unfinished(end)?;
        while torn.is_some() {
            let before = self.file.stamp()?;
            torn = if has_writer() { None } else { self.unfinished(end)? };
            if self.file.stamp()? == before {
                break;
            }
        }
        self.at = end;
        Ok(torn)
    }

    /// Checks what follows `end` at this moment.
    fn unfinished(&mut self, end: u64) -> Result<Option<Torn>> {
        self.len = self.file.len()?;
        if self.is_whole_by_now(end)? {
            return Ok(None);
        }
        let mut last = end;
        let mut offset = end;
        let mut piece = Vec::new();
        // Most often there is little or nothing behind the last record.
        resize(&mut piece, self.len.saturating_sub(end).clamp(LEAST_PIECE as u64, PIECE as u64))?;
        while offset < self.len {
            let read = self.file.read_at(offset, &mut piece)?;
            let bytes = &piece[..read];
            if bytes.is_empty() {
                // The file was cut meanwhile.
                break;
            }
            if is_zero(bytes) {
                offset += read as u64;
                continue;
            }
            last = bytes.iter().rposition(|&byte| byte != 0).map_or(last, |at| offset + at as u64 + 1);
            let says = bytes.windows(SYNCED_BYTES).enumerate();
            if says
                .filter_map(|(at, record)| self.synced(offset + at as u64, record))
                .any(|synced| synced > end)
            {
                if self.is_whole_by_now(end)? {
                    return Ok(None);
                }
                let what = "a record that was on disk is damaged, and valid ones follow it";
                return Err(Corrupt { offset: end, what });
            }
            // A record that this piece cuts is whole in the next one.
            offset += if read < SYNCED_BYTES { read as u64 } else { (read - (SYNCED_BYTES - 1)) as u64 };
            if offset + SYNCED_BYTES as u64 > self.len {
                break;
            }
        }
        Ok((last > end).then_some(Torn { offset: end, bytes: last - end }))
    }

    /// How much was on disk, if these bytes at `offset` are a valid synced record.
    fn synced(&self, offset: u64, record: &[u8]) -> Option<u64> {
        // Most other bytes differ here, and this check is quick.
        const START: [u8; 6] = [Kind::Synced as u8, 8, 0, 0, 0, 0];
        let (head, payload) = record.split_first_chunk().filter(|_| record.starts_with(&START))?;
        Head::decode(self.salt, offset, head)?.matches(payload).then_some(())?;
        synced_by(offset, payload).ok()
    }

    /// Whether a record that was incomplete is complete now.
    fn is_whole_by_now(&mut self, offset: u64) -> Result<bool> {
        self.len = self.len.max(self.file.len()?);
        self.go_to(offset);
        Ok(self.record()?.is_some())
    }
}

/// Reserves memory for a record. Fails if there is too little: with holes, a file can easily be longer than memory.
fn room(bytes: &mut Vec<u8>, len: u64) -> io::Result<usize> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(len.saturating_sub(bytes.len()))?;
    Ok(len)
}

fn resize(bytes: &mut Vec<u8>, len: u64) -> io::Result<()> {
    let len = room(bytes, len)?;
    bytes.resize(len, 0);
    Ok(())
}

/// Whether all bytes are 0. This must be fast: most of what is searched is reserved space.
fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// How many zeros `bytes` begin with.
fn zeros(bytes: &[u8]) -> usize {
    const CHUNK: usize = 4096;
    let chunks = bytes.chunks_exact(CHUNK).take_while(|chunk| is_zero(chunk)).count();
    let rest = &bytes[chunks * CHUNK..];
    chunks * CHUNK + rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use twindex_format::Dump;

    use super::*;
    use crate::disk::{Stamp, Window};

    /// A file that is only read, and counts how much.
    #[derive(Debug)]
    struct Counting {
        bytes: Vec<u8>,
        read: AtomicU64,
        /// The length that it claims, if it was cut since.
        shorter: Option<u64>,
    }

    impl File for Counting {
        fn len(&self) -> io::Result<u64> {
            Ok(self.shorter.unwrap_or(self.bytes.len() as u64))
        }

        fn stamp(&self) -> io::Result<Stamp> {
            Ok((self.len()?, None))
        }

        fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
            let read = self.bytes.get(offset as usize..).unwrap_or_default().read(bytes)?;
            self.read.fetch_add(read as u64, Relaxed);
            Ok(read)
        }

        fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn set_len(&self, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn reserve(&self, _: u64, _: u64) -> io::Result<()> {
            Err(io::ErrorKind::ReadOnlyFilesystem.into())
        }

        fn sync(&self) -> io::Result<()> {
            Ok(())
        }

        fn forget(&self, _: u64) -> io::Result<bool> {
            Ok(false)
        }

        fn lock(
            &self,
            _: &std::path::Path,
            _: Option<&crate::lock::Lock>,
        ) -> io::Result<Option<crate::lock::Lock>> {
            Ok(None)
        }

        fn is_gone(&self, _: &std::path::Path) -> io::Result<bool> {
            Ok(false)
        }

        fn window(&self, _: u64, _: usize) -> Option<Box<dyn Window>> {
            None
        }
    }

    /// Once, each table of a dump made us read a million bytes again: 100,000 empty tables took 8 to 22 s.
    #[test]
    fn many_small_tables_are_read_a_few_times() {
        for pairs in [0, 1] {
            let store = twindex::Store::new();
            for table in 0..5_000 {
                let table = store.table(&format!("table {table}"), Index::Hash).unwrap();
                (0..pairs).for_each(|key: u8| assert!(table.insert([key], "v").unwrap()));
            }
            let mut bytes = Vec::new();
            store.dump(&mut bytes).unwrap();
            let len = bytes.len() as u64;
            let file = Arc::new(Counting { bytes, read: AtomicU64::new(0), shorter: None });
            let shared: Arc<dyn File> = file.clone();
            let found = load(&shared, &|| false, None, &mut |_| {}).unwrap();
            assert_eq!(found.loader.store().tables().len(), 5_000);
            let most = len * 4 + u64::from(pairs) * 5_000 * LEAST_PIECE as u64 * 3;
            assert!(file.read.load(Relaxed) < most, "{} of {len} bytes were read", file.read.load(Relaxed));
        }
    }

    /// A reader asked for the length of a file, then the writer closed it and cut off the reserved space, then the reader
    /// read on: it called the file damaged.
    #[test]
    fn a_file_that_is_cut_to_its_end_meanwhile_is_whole() {
        let store = twindex::Store::new();
        store.table("t", Index::Hash).unwrap().insert("a", "1").unwrap();
        let mut bytes = Vec::new();
        twindex_format::write_tables(
            &[(0, store.table("t", Index::Hash).unwrap())],
            7,
            &mut bytes,
            &mut |_| {},
        )
        .unwrap();
        for zeros in [1, 100, 10 << 20] {
            let claimed = bytes.len() as u64 + zeros;
            let file: Arc<dyn File> =
                Arc::new(Counting { bytes: bytes.clone(), read: AtomicU64::new(0), shorter: Some(claimed) });
            let found = load(&file, &|| true, None, &mut |_| {}).unwrap();
            assert_eq!(found.loader.store().find_table("t").unwrap().len(), 1);
            assert_eq!(found.torn, None);
        }
    }

    /// Once, each byte behind a torn end cost a read of a mebibyte if it began like a synced record. Four mebibytes of them
    /// took minutes.
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
