//! The header of a file, and the records that follow it: what frames them.

use std::io::{ErrorKind, Read};

use twindex::{Error, Result};

use crate::checksum::crc32;
use crate::varint::number;

/// No text file begins like this. A program that converts line ends damages it, and readers notice.
const MAGIC: [u8; 8] = *b"\x89TWX\r\n\x1a\n";
/// The version of the format.
pub const VERSION: u32 = 1;
/// How the file of a saved cache begins. The crate of caches writes and reads it.
pub const CACHE_MAGIC: &[u8; 8] = b"twxcache";
/// The bytes of a header.
pub const HEADER_BYTES: usize = 24;
/// The bytes of a record before its payload.
pub const HEAD_BYTES: usize = 12;
/// The longest payload: the field for its length has five bytes.
const MAX_LENGTH: u64 = (1 << 40) - 1;

/// The kind of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A table's id, index, codecs and name.
    Table = 1,
    /// Pairs of one table.
    Pairs = 2,
    /// The end of the dump.
    End = 3,
    /// Operations that took effect after the dump began.
    Log = 4,
    /// The offset up to which the file was on disk.
    Synced = 5,
    /// Operations of an earlier log, which the pairs of the dump have already: for those who follow the changes.
    Kept = 6,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Table, Self::Pairs, Self::End, Self::Log, Self::Synced, Self::Kept];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }

    /// Whether the record belongs in the log rather than in the dump.
    pub fn is_logged(self) -> bool {
        matches!(self, Self::Log | Self::Synced)
    }
}

pub(crate) const OUT_OF_PLACE: &str = "a record out of place";

pub(crate) fn corrupt<T>(offset: u64, what: &'static str) -> Result<T> {
    Err(Error::Corrupt { offset, what })
}

/// The header at the start of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Included in the checksums of all records. 0 means that no log follows the dump.
    pub salt: u64,
}

impl Header {
    /// Encodes a header with this salt.
    pub fn encode(salt: u64) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &VERSION.to_le_bytes(), &salt.to_le_bytes()].concat();
        bytes.extend(crc32(0, &bytes).to_le_bytes());
        bytes
    }

    /// Decodes the header from the first bytes of a file. More bytes may follow.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let Some(bytes) = bytes.get(..HEADER_BYTES) else {
            return corrupt(0, "it ends within the header");
        };
        if bytes[..8] == *CACHE_MAGIC {
            return corrupt(0, "it holds a cache, not a store");
        }
        if bytes[..8] != MAGIC {
            return corrupt(0, "it does not begin as a Twindex file does");
        }
        if number(&bytes[8..12]) != VERSION.into() {
            return corrupt(8, "a version that this release does not know");
        }
        let (bytes, crc) = bytes.split_at(HEADER_BYTES - 4);
        if number(crc) as u32 != crc32(0, bytes) {
            return corrupt(HEADER_BYTES as u64 - 4, "the header's checksum does not match");
        }
        Ok(Self { salt: number(&bytes[12..]) })
    }
}

/// The head of a record. Its checksum was right.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    /// Its kind.
    pub kind: Kind,
    /// How many bytes its payload has.
    pub length: u64,
    /// The checksum up to the payload. `crc` includes the payload.
    before: u32,
    crc: u32,
}

/// The checksum of salt, offset and `start`, which is the kind and length of a record.
fn sum_before(salt: u64, offset: u64, start: &[u8]) -> u32 {
    let mut bytes = [0; 22];
    bytes[..16].copy_from_slice([salt, offset].map(u64::to_le_bytes).as_flattened());
    bytes[16..].copy_from_slice(start);
    crc32(0, &bytes)
}

impl Head {
    /// Decodes the head of the record at `offset` of the file with this salt. `None` if there is no valid head.
    pub fn decode(salt: u64, offset: u64, bytes: &[u8; HEAD_BYTES]) -> Option<Self> {
        let (kind, length) = (Kind::of(bytes[0])?, number(&bytes[1..6]));
        let (check, crc) = (number(&bytes[6..8]), number(&bytes[8..]) as u32);
        let before = sum_before(salt, offset, &bytes[..6]);
        (check == u64::from(before as u16)).then_some(Self { kind, length, before, crc })
    }

    /// Where the record ends, which begins at `offset`.
    pub(crate) fn end(&self, offset: u64) -> u64 {
        offset.saturating_add(HEAD_BYTES as u64 + self.length)
    }

    /// Whether `payload` has the length and the checksum that the head gives.
    pub fn matches(&self, payload: &[u8]) -> bool {
        payload.len() as u64 == self.length && crc32(self.before, payload) == self.crc
    }

    /// Like [`matches`](Self::matches), but reads the payload piece by piece, so a false length cannot claim memory.
    pub fn matches_read<R: Read + ?Sized>(&self, reader: &mut R) -> Result<bool> {
        let mut piece = vec![0; self.length.min(1 << 18) as usize];
        let (mut sum, mut payload) = (self.before, reader.take(self.length));
        loop {
            match payload.read(&mut piece) {
                Ok(0) => return Ok(payload.limit() == 0 && sum == self.crc),
                Ok(read) => sum = crc32(sum, &piece[..read]),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Makes `bytes` a record at `offset` of the file with this salt. The caller has left the first [`HEAD_BYTES`] free, and
/// this writes the head there.
///
/// # Panics
/// If there is no room for a head, or the payload has a tebibyte or more.
pub fn seal(kind: Kind, salt: u64, offset: u64, bytes: &mut [u8]) {
    let (head, payload) = bytes.split_at_mut(HEAD_BYTES);
    let length = payload.len() as u64;
    assert!(length <= MAX_LENGTH, "a record of {length} bytes");
    head[0] = kind as u8;
    head[1..6].copy_from_slice(&length.to_le_bytes()[..5]);
    let before = sum_before(salt, offset, &head[..6]);
    head[6..8].copy_from_slice(&(before as u16).to_le_bytes());
    head[8..].copy_from_slice(&crc32(before, payload).to_le_bytes());
}

/// The record for `offset` of the file with this salt that says: all bytes before `synced` are on disk.
pub fn synced(salt: u64, offset: u64, synced: u64) -> [u8; HEAD_BYTES + 8] {
    let mut bytes = [0; HEAD_BYTES + 8];
    bytes[HEAD_BYTES..].copy_from_slice(&synced.to_le_bytes());
    seal(Kind::Synced, salt, offset, &mut bytes);
    bytes
}

/// Decodes the record at `offset` that says how much was on disk. Fails if that is more than precedes the record.
pub fn synced_by(offset: u64, payload: &[u8]) -> Result<u64> {
    match payload.try_into().map(u64::from_le_bytes) {
        Ok(synced) if synced <= offset => Ok(synced),
        Ok(_) => corrupt(offset, "a record says that more was on disk than comes before it"),
        Err(_) => corrupt(offset, "a record of how much was on disk has not eight bytes"),
    }
}
