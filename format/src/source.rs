//! Files that can be read at any offset.

use std::io::{self, Read};
use std::time::SystemTime;

use twindex::Result;

use crate::record::Head;

/// The length of a file, and the time of its last change if the host knows it. Both change when the file is cut or extended.
pub type Stamp = (u64, Option<SystemTime>);

/// A file, or anything else that can be read at an offset.
#[expect(clippy::len_without_is_empty, reason = "no reader asks")]
pub trait ReadAt: Sync {
    /// How many bytes there are.
    fn len(&self) -> io::Result<u64>;

    /// Reads the bytes at `offset`: fewer than asked only where the file ends.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize>;

    /// What differs once the file was cut or extended.
    fn stamp(&self) -> io::Result<Stamp> {
        Ok((self.len()?, None))
    }
}

impl ReadAt for &[u8] {
    fn len(&self) -> io::Result<u64> {
        Ok(<[u8]>::len(self) as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<usize> {
        usize::try_from(offset).ok().and_then(|offset| self.get(offset..)).unwrap_or_default().read(bytes)
    }
}

/// A longer record is read once before memory is allocated for it, to check that all of it is there.
pub(crate) const BELIEVED: u64 = 16 << 20;
/// For an even longer one, we check before that so much memory can be allocated at all: reading a hole of a tebibyte takes
/// minutes.
const LARGE: u64 = 1 << 30;

/// Reads a file from `offset` to its end.
pub(crate) struct FileReader<'f> {
    pub(crate) file: &'f dyn ReadAt,
    pub(crate) offset: u64,
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
pub(crate) fn is_believed(file: &dyn ReadAt, start: u64, head: &Head) -> Result<bool> {
    if head.length <= BELIEVED {
        return Ok(true);
    }
    if head.length > LARGE {
        room(&mut Vec::new(), head.length)?;
    }
    head.matches_read(&mut FileReader { file, offset: start })
}

/// Reserves memory for a record. Fails if there is too little: with holes, a file can easily be longer than memory.
pub(crate) fn room(bytes: &mut Vec<u8>, len: u64) -> io::Result<usize> {
    let len = usize::try_from(len).map_err(|_| io::ErrorKind::OutOfMemory)?;
    bytes.try_reserve_exact(len.saturating_sub(bytes.len()))?;
    Ok(len)
}

pub(crate) fn resize(bytes: &mut Vec<u8>, len: u64) -> io::Result<()> {
    let len = room(bytes, len)?;
    bytes.resize(len, 0);
    Ok(())
}

/// Whether all bytes are 0. This must be fast: most of what is searched is reserved space.
pub(crate) fn is_zero(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 4096] = [0; 4096];
    bytes.chunks(ZEROS.len()).all(|chunk| *chunk == ZEROS[..chunk.len()])
}

/// How many zeros `bytes` begin with.
pub(crate) fn zeros(bytes: &[u8]) -> usize {
    const CHUNK: usize = 4096;
    let chunks = bytes.chunks_exact(CHUNK).take_while(|chunk| is_zero(chunk)).count();
    let rest = &bytes[chunks * CHUNK..];
    chunks * CHUNK + rest.iter().position(|&byte| byte != 0).unwrap_or(rest.len())
}
