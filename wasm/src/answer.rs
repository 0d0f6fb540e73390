//! The answer cell, where the host finds what a call returned beside its status.

use std::cell::Cell;
use std::io::{self, Write};
use std::mem::MaybeUninit;

use crate::failure::{Failed, Failure};

/// Where the bytes of the last answer are, its number, and where the record of what the call changed is. The host reads it in place.
#[derive(Clone, Copy)]
#[repr(C)]
struct Answer {
    address: usize,
    length: usize,
    number: i64,
    record: usize,
    record_length: usize,
    /// The store that the record is of.
    store: u32,
}

const NOTHING: Answer = Answer { address: 0, length: 0, number: 0, record: 0, record_length: 0, store: 0 };

thread_local! {
    static ANSWER: Cell<Answer> = const { Cell::new(NOTHING) };
}

/// A block of more bytes than this is given back on the next call.
const KEEP_BYTES: usize = 1024 * 1024;

/// A sorted table has larger values apart.
const ROOM: usize = 1024;

/// The address of the answer cell, which never changes.
pub(crate) fn address() -> usize {
    ANSWER.with(|answer| answer.as_ptr().expose_provenance())
}

/// Answers with a count.
pub(crate) fn set_count(count: usize) {
    set_number(i64::try_from(count).unwrap_or(i64::MAX));
}

/// Answers with a number.
pub(crate) fn set_number(number: i64) {
    ANSWER.with(|answer| answer.set(Answer { number, ..answer.get() }));
}

/// Answers with bytes where they lie, which have to stay there until the next call, and a number.
pub(crate) fn set_bytes(bytes: &[u8], number: i64) {
    let (address, length) = (bytes.as_ptr().expose_provenance(), bytes.len());
    ANSWER.with(|answer| answer.set(Answer { address, length, number, ..answer.get() }));
}

/// Says where the record of what a call has changed in a store is, which has to stay there until the next call.
#[cfg(feature = "journal")]
#[cold]
pub(crate) fn set_record(store: u32, bytes: &[u8]) {
    let (record, record_length) = (bytes.as_ptr().expose_provenance(), bytes.len());
    ANSWER.with(|answer| answer.set(Answer { record, record_length, store, ..answer.get() }));
}

/// The bytes of an answer while they are put together. One block serves every call.
#[derive(Default)]
pub(crate) struct Output(Vec<u8>);

impl Output {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    /// Starts an answer.
    pub(crate) fn start(&mut self) -> &mut Self {
        self.0.clear();
        self
    }

    /// Gives the memory of a large block back. The host is done with it once it calls again.
    pub(crate) fn let_go_of_a_large_block(&mut self) {
        if self.0.capacity() > KEEP_BYTES {
            self.0 = Vec::new();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Takes back what was pushed behind the first `len` bytes.
    #[cfg(feature = "caches")]
    pub(crate) fn truncate(&mut self, len: usize) {
        self.0.truncate(len);
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Makes room for `bytes` more.
    #[cold]
    pub(crate) fn reserve(&mut self, bytes: usize) -> Result<(), Failed> {
        Ok(self.0.try_reserve(bytes).map_err(|_| Failure::NoMemory { bytes })?)
    }

    /// The bytes, with room for a pair that is not large, if there is memory.
    pub(crate) fn with_room(&mut self) -> &mut Vec<u8> {
        if self.0.capacity() - self.0.len() < ROOM {
            let _ = self.0.try_reserve(ROOM);
        }
        &mut self.0
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        self.push_all([bytes])
    }

    pub(crate) fn push_all<const N: usize>(&mut self, pieces: [&[u8]; N]) -> Result<(), Failed> {
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let length = self.0.len();
        if self.0.capacity() - length < bytes {
            self.reserve(bytes)?;
        }
        let mut room = self.0.spare_capacity_mut();
        for piece in pieces {
            let (to, rest) = room.split_at_mut(piece.len());
            copy(to, piece);
            room = rest;
        }
        // SAFETY: so many bytes were written behind the others, within the capacity.
        unsafe { self.0.set_len(length + bytes) };
        Ok(())
    }

    /// Answers with figures of 8 bytes each, behind which more may be pushed.
    pub(crate) fn figures(&mut self, figures: &[i64]) -> Result<(), Failed> {
        self.start();
        for figure in figures {
            self.push(&figure.to_le_bytes())?;
        }
        self.finish(figures.len());
        Ok(())
    }

    /// Makes these bytes and `number` the answer.
    pub(crate) fn finish(&self, number: usize) {
        set_bytes(&self.0, i64::try_from(number).unwrap_or(i64::MAX));
    }
}

/// Copies a piece to where there is just room for it. A few bytes go as words that overlap: runtimes call a function of
/// their own to copy memory, which takes as long as copying a hundred.
#[inline]
fn copy(to: &mut [MaybeUninit<u8>], from: &[u8]) {
    /// The first and the last `W` bytes, where there are so many.
    #[inline]
    fn ends<const W: usize>(to: &mut [MaybeUninit<u8>], from: &[u8]) {
        if let (Some(first), Some(last)) = (from.first_chunk::<W>(), from.last_chunk::<W>()) {
            let [first, last] = [first, last].map(|word| word.map(MaybeUninit::new));
            to.first_chunk_mut().into_iter().for_each(|to| *to = first);
            to.last_chunk_mut().into_iter().for_each(|to| *to = last);
        }
    }
    match from.len() {
        17..=32 => ends::<16>(to, from),
        8..=16 => ends::<8>(to, from),
        4..=7 => ends::<4>(to, from),
        0..=3 => to.iter_mut().zip(from).for_each(|(to, &byte)| *to = MaybeUninit::new(byte)),
        _ => _ = to.write_copy_of_slice(from),
    }
}

/// A dump goes straight into the answer.
impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
