//! Reading a log.

use std::io;

use twindex::Error::{Corrupt, MemoryLimit};
use twindex::Result;

use crate::loader::Loader;
use crate::operation::Position;
use crate::progress::{Progress, ProgressFn};
use crate::record::{HEAD_BYTES, Head, Kind, OUT_OF_PLACE, synced_by};
use crate::replay::Replay;
use crate::source::{BELIEVED, ReadAt, is_believed, is_zero, resize, zeros};

/// A log is read in pieces of at most this size, or of one record.
const PIECE: usize = 1 << 20;
const LEAST_PIECE: usize = 1 << 12;

/// The torn end of a log: bytes that a power cut left incomplete. No call had promised that they were on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Torn {
    /// Where the log was cut, in bytes from the file's start.
    pub offset: u64,
    /// The number of bytes lost.
    pub bytes: u64,
}

/// The bytes of a record that says how much is on disk.
const SYNCED_BYTES: usize = HEAD_BYTES + size_of::<u64>();

pub(crate) struct Replayed {
    pub(crate) position: Position,
    /// Up to where a synced record says that the file was on disk.
    pub(crate) synced: u64,
    pub(crate) last: Option<u64>,
}

/// A log, read in pieces.
pub struct LogReader<'f> {
    file: &'f dyn ReadAt,
    salt: u64,
    len: u64,
    /// The end of the last record that was read.
    at: u64,
    /// The longest record that may be read into memory.
    most: usize,
    /// Up to where the synced records that were found behind a damaged one say that the file was on disk.
    on_disk: u64,
    piece: Vec<u8>,
    /// The offset of the piece.
    start: u64,
}

impl<'f> LogReader<'f> {
    /// The records from `at`, up to the end of the file.
    pub fn of_file(file: &'f dyn ReadAt, salt: u64, len: u64, at: u64) -> Self {
        Self { file, salt, len, at, most: usize::MAX, on_disk: 0, piece: Vec::new(), start: at }
    }

    /// A longer record is an error, unless it is short.
    #[must_use]
    pub fn with_limit(self, most: usize) -> Self {
        Self { most, ..self }
    }

    /// Continues at `offset`.
    pub fn go_to(&mut self, offset: u64) {
        (self.at, self.start) = (offset, offset);
        self.piece.clear();
    }

    /// Goes back to a record that was just read.
    pub(crate) fn go_back(&mut self, offset: u64) {
        self.at = offset;
    }

    /// Where the next record should start.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Searches for the next valid record, and continues with it. Returns whether there is one.
    pub fn find_next(&mut self) -> Result<bool> {
        let mut at = self.behind(self.at)?.max(self.at + 1);
        while at + HEAD_BYTES as u64 <= self.len {
            // No record begins with a zero byte. So we skip zeros quickly, as a hole may be long.
            let piece = self.piece.get((at - self.start) as usize..).unwrap_or_default();
            at += zeros(piece) as u64;
            self.at = at;
            let Some(head) = self.head()? else {
                at += 1;
                continue;
            };
            if self.record()?.is_some() {
                self.at = at;
                return Ok(true);
            }
            // No byte is checked twice, or a forged file with heads everywhere would take hours.
            let end = head.end(at);
            at = if end > self.len { at + 1 } else { end };
        }
        self.at = self.len;
        Ok(false)
    }

    pub(crate) fn replay(&mut self, loader: &mut Loader, progress: &mut ProgressFn<'_>) -> Result<Replayed> {
        let (mut done, mut synced, mut last) = (0, self.at, None);
        let mut replay = Replay::new(loader);
        loop {
            let offset = self.at;
            let Some((kind, payload)) = self.record()? else {
                return Ok(Replayed { position: replay.end()?, synced, last });
            };
            if !kind.is_logged() {
                return Err(Corrupt { offset, what: OUT_OF_PLACE });
            }
            if kind == Kind::Synced {
                synced = synced_by(offset, payload)?;
            }
            done += replay.record(kind, offset, payload)?;
            last = Some(offset);
            if self.at >> 20 != offset >> 20 {
                progress(Progress { pairs: done, bytes: self.at });
            }
        }
    }

    /// The next record, or `None` if no valid one follows.
    pub fn record(&mut self) -> Result<Option<(Kind, &[u8])>> {
        Ok(self.record_and_end()?.map(|(kind, payload, _)| (kind, payload)))
    }

    /// As [`record`](Self::record), with where the record ends.
    pub(crate) fn record_and_end(&mut self) -> Result<Option<(Kind, &[u8], u64)>> {
        let at = self.at;
        let Some(head) = self.head()? else { return Ok(None) };
        let len = HEAD_BYTES as u64 + head.length;
        let is_there = len <= self.len.saturating_sub(at);
        if !is_there || !is_believed(self.file, at + HEAD_BYTES as u64, &head)? {
            return Ok(None);
        }
        if head.length > BELIEVED.max(self.most as u64) {
            let needed = usize::try_from(head.length).unwrap_or(usize::MAX);
            return Err(MemoryLimit { limit: Some(self.most), needed, kept: 0 });
        }
        if !self.bytes(len)?.is_some_and(|record| head.matches(&record[HEAD_BYTES..])) {
            return Ok(None);
        }
        self.at += len;
        let from = (at - self.start) as usize;
        Ok(Some((head.kind, &self.piece[from + HEAD_BYTES..from + len as usize], self.at)))
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
    pub fn torn(&mut self, has_writer: &dyn Fn() -> bool) -> Result<Option<Torn>> {
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
        let damaged = Err(Corrupt {
            offset: end,
            what: "a record that was on disk is damaged, and valid ones follow it",
        });
        if self.on_disk > end {
            // We read this record after the synced one. So the rest is searched once, however many records in it are damaged.
            return damaged;
        }
        self.len = self.file.len()?;
        if self.is_whole_by_now(end)? {
            return Ok(None);
        }
        let behind = self.behind(end)?;
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
            let says = says.skip(behind.saturating_sub(offset).try_into().unwrap_or(usize::MAX));
            let says = says.filter_map(|(at, record)| self.synced(offset + at as u64, record));
            self.on_disk = says.fold(self.on_disk, u64::max);
            // A record that this piece cuts is whole in the next one.
            offset += if read < SYNCED_BYTES { read as u64 } else { (read - (SYNCED_BYTES - 1)) as u64 };
            if offset + SYNCED_BYTES as u64 > self.len {
                break;
            }
        }
        if self.on_disk <= end {
            return Ok((last > end).then_some(Torn { offset: end, bytes: last - end }));
        }
        if self.is_whole_by_now(end)? { Ok(None) } else { damaged }
    }

    /// Where to search for records behind one that is damaged at `at`. If its head is whole, that is behind its payload: a value in
    /// the payload may look like a record.
    fn behind(&mut self, at: u64) -> Result<u64> {
        self.at = at;
        Ok(self.head()?.map_or(at, |head| head.end(at)))
    }

    /// The head of the record that should start here, if it is valid.
    fn head(&mut self) -> Result<Option<Head>> {
        let (salt, at) = (self.salt, self.at);
        let head = self.bytes(HEAD_BYTES as u64)?.and_then(|bytes| bytes.try_into().ok());
        Ok(head.and_then(|head| Head::decode(salt, at, head)))
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
