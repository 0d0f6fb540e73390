//! Appending records, and handing them to the system.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Instant;
use std::{io, mem};

use twindex_format::{Operations, Position};

use super::{Log, Out, SLACK, is_refusal};
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::options::Durability;

/// A record up to this length is copied into the mapped part of the file. With `write` alone, `everysec` on ext4 made 0.18 to
/// 0.26 M/s of single pairs from one writer, with the mapping 0.38 to 0.55 (three runs in turns on a busy machine, November 2026);
/// from eight 0.17 to 0.37 and 0.40 to 0.45; batches of 256, which are longer, were equal.
const SHORT_BYTES: usize = 1024;
/// Buffers up to this size are kept for reuse.
const KEPT_BYTES: usize = 1 << 20;
/// A longer buffer is handed to the system before its writes are acknowledged.
const LONG_BUFFER: u64 = 128 << 10;

thread_local! {
    /// Memory for the record that a thread makes. It makes the record before it takes the lock that all writers share.
    static OPERATIONS: Cell<Option<Operations>> = const { Cell::new(None) };
}

/// Runs `append` with the operations that `fill` makes.
#[inline]
pub(crate) fn with_operations<T>(
    fill: impl FnOnce(&mut Operations),
    append: impl FnOnce(&mut Operations) -> T,
) -> T {
    // A thread that is about to end has no thread-local any more.
    let kept = OPERATIONS.try_with(Cell::take).ok().flatten();
    let mut operations = kept.unwrap_or_default();
    operations.clear(KEPT_BYTES);
    fill(&mut operations);
    let done = append(&mut operations);
    let _ = OPERATIONS.try_with(|own| own.set(Some(operations)));
    done
}

impl Log {
    /// Appends these operations as one record. Returns what to [`acknowledge`](Self::acknowledge) then.
    #[inline]
    pub(crate) fn append(&self, operations: &mut Operations) -> u64 {
        let written = self.put_in_order(operations);
        // Many writes may be acknowledged together. Their buffer must not outgrow the memory that is kept back for it.
        if written.saturating_sub(self.handed.load(Acquire)) >= LONG_BUFFER {
            // If that fails, the writer hears of it when it acknowledges.
            let _ = self.hand_over(written);
        }
        written
    }

    #[inline]
    pub(super) fn put_in_order(&self, operations: &mut Operations) -> u64 {
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
        if out.end.at >= out.marks.due {
            out.marks.push(out.end.at, out.end.position);
        }
        out.written
    }

    /// Appends a record, either to the mapped file, so that the system has it, or to the buffer.
    #[inline]
    pub(super) fn put(&self, out: &mut Out, record: &[u8]) {
        let (at, end) = (out.end.at + record.len() as u64, out.written + record.len() as u64);
        let places = self.places.load(Relaxed);
        if at + places + SLACK > out.space.reserved {
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
        if out.disk.unsynced.is_none() {
            out.disk.unsynced = Some(Instant::now());
        }
        if at > out.growth.allowed {
            self.ahead.store(true, Relaxed);
        }
        if end >= out.disk.look_at {
            self.look(out);
        }
    }

    /// Returns once the system has what was appended up to `written`.
    pub(super) fn hand_over(&self, written: u64) -> Result<()> {
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
    pub(super) fn keep(&self, out: &mut Out, mut buffer: Vec<u8>, error: &io::Error) -> Error {
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
    pub(super) fn note_written(&self, out: &mut Out) {
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
}

impl Out {
    /// Copies a record to its place, if that is mapped or can be. Returns whether it did.
    #[inline]
    pub(super) fn copy(&mut self, record: &[u8]) -> bool {
        if self.copy_mapped(record) {
            return true;
        }
        if self.end.at + record.len() as u64 > self.space.reserved {
            return false;
        }
        self.map();
        self.copy_mapped(record)
    }

    #[inline]
    pub(super) fn copy_mapped(&mut self, record: &[u8]) -> bool {
        let Some((start, window)) = &mut self.window else { return false };
        let from = (self.end.at - *start) as usize;
        let Some(to) = window.bytes().get_mut(from..from + record.len()) else { return false };
        to.copy_from_slice(record);
        true
    }

    #[cold]
    pub(super) fn map(&mut self) {
        self.window = None;
        let at = self.end.at;
        let len = self.space.reserved.saturating_sub(at) as usize;
        self.window = self.end.file.window(at, len).map(|window| (at, window));
    }
}
