//! The operations of a log.

use twindex::Result;

use crate::checksum::crc32;
use crate::entry::TableEntry;
use crate::record::{HEAD_BYTES, Kind, seal};
use crate::varint::{number, push_varint, take_varint};

/// The result of a change. Applying it once more changes nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation<'p> {
    /// The key has this value.
    Put(&'p [u8], &'p [u8]),
    /// The key is absent.
    Delete(&'p [u8]),
    /// There is an empty table like this under the id. No table had that id before.
    Create(TableEntry<'p>),
    /// The table is dropped.
    Drop,
    /// The table has no pairs.
    Clear,
    /// The position after the record that begins with this operation. It changes nothing.
    Position(Position),
}

/// A place in the history of a store. Rewriting the store's file does not change it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Position {
    /// The random number of the process that wrote the last record before it. 0 stands for the session of [`start`](Self::start).
    pub session: u64,
    /// How many records of operations precede it.
    pub sequence: u64,
}

impl Position {
    /// Where the log of a new file with this salt begins. The session does not reveal the salt: anyone who sees a position and knew the
    /// salt could write a value that looks like a record.
    #[must_use]
    pub fn start(salt: u64) -> Self {
        Self { session: crc32(0, &salt.to_le_bytes()).into(), sequence: 0 }
    }

    /// The position after a record of operations that starts here.
    #[inline]
    #[must_use]
    pub fn after(self, payload: &[u8]) -> Self {
        match Operation::take(&mut &payload[..payload.len().min(32)]) {
            Some((_, Operation::Position(position))) => position,
            // In a forged file the sequence may be the highest number already.
            _ => Self { sequence: self.sequence.wrapping_add(1), ..self },
        }
    }
}

/// Builds a record of operations. The record is atomic: after a crash, all of its operations apply or none.
#[derive(Clone, Debug)]
pub struct Operations {
    bytes: Vec<u8>,
}

impl Default for Operations {
    fn default() -> Self {
        Self { bytes: vec![0; HEAD_BYTES] }
    }
}

impl Operations {
    /// Removes all operations. Retains at most `kept` bytes of memory for the next ones.
    pub fn clear(&mut self, kept: usize) {
        self.bytes.truncate(HEAD_BYTES);
        self.bytes.shrink_to(kept);
    }

    /// Adds the result of a change to the table with this id.
    #[inline]
    pub fn push(&mut self, table: u32, operation: Operation<'_>) {
        let (entry, numbers);
        let (what, first, second): (u8, &[u8], &[u8]) = match operation {
            Operation::Put(key, value) => (0, key, value),
            Operation::Delete(key) => (1, key, &[]),
            Operation::Create(table) => {
                entry = table.encode();
                (2, &entry, &[])
            }
            Operation::Drop => (3, &[], &[]),
            Operation::Clear => (4, &[], &[]),
            Operation::Position(Position { session, sequence }) => {
                numbers = [session.to_le_bytes(), sequence.to_le_bytes()];
                (5, &numbers[0], &numbers[1])
            }
        };
        self.bytes.push(what | (table.min(31) as u8) << 3);
        if table >= 31 {
            push_varint(&mut self.bytes, u64::from(table - 31));
        }
        match what {
            0 => {
                push_varint(&mut self.bytes, first.len() as u64);
                push_varint(&mut self.bytes, second.len() as u64);
            }
            1 | 2 => push_varint(&mut self.bytes, (first.len() + second.len()) as u64),
            _ => {}
        }
        self.bytes.extend_from_slice(first);
        self.bytes.extend_from_slice(second);
    }

    /// Reserves memory for `bytes` more bytes of operations.
    pub fn reserve(&mut self, bytes: usize) -> Result<()> {
        Ok(self.bytes.try_reserve(bytes).map_err(std::io::Error::from)?)
    }

    /// The operations that were pushed, encoded.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        &self.bytes[HEAD_BYTES..]
    }

    /// Inserts the position after this record as its first operation.
    pub fn begin_with(&mut self, position: Position) {
        let mut first = Self::default();
        first.push(0, Operation::Position(position));
        self.bytes.splice(HEAD_BYTES..HEAD_BYTES, first.bytes.drain(HEAD_BYTES..));
    }

    /// Completes the record for `offset` of the file with this salt.
    #[inline]
    pub fn seal(&mut self, salt: u64, offset: u64) -> &[u8] {
        seal(Kind::Log, salt, offset, &mut self.bytes);
        &self.bytes
    }
}

impl<'p> Operation<'p> {
    /// Takes the next operation and its table's id off `payload`. `None` if the operation is not valid.
    pub fn take(payload: &mut &'p [u8]) -> Option<(u32, Self)> {
        let head = *payload.split_off_first()?;
        let mut id = u32::from(head >> 3);
        if id == 31 {
            id = take_varint::<u32>(payload)?.checked_add(31)?;
        }
        let operation = match head & 7 {
            0 => {
                let (key, value) = (take_varint::<u16>(payload)?, take_varint::<u32>(payload)?);
                Self::Put(payload.split_off(..key.into())?, payload.split_off(..value as usize)?)
            }
            1 => Self::Delete(take_short(payload)?),
            2 => Self::Create(TableEntry::decode(take_short(payload)?)?),
            3 => Self::Drop,
            4 => Self::Clear,
            5 => Self::Position(Position {
                session: number(payload.split_off(..8)?),
                sequence: number(payload.split_off(..8)?),
            }),
            _ => return None,
        };
        Some((id, operation))
    }
}

/// Takes a length and that many bytes off `payload`.
fn take_short<'p>(payload: &mut &'p [u8]) -> Option<&'p [u8]> {
    let length = take_varint::<u16>(payload)?;
    payload.split_off(..length.into())
}
