//! Writing a tuple item by item.

use alloc::vec::Vec;

use super::format::{
    BETWEEN, BYTES, END, END_OF_INTEGERS, GREATEST_FLOATS, LEAST_FLOATS, MAX_BYTES, MAX_DEPTH, NOT_THE_END,
    NULL, TEXT, TUPLE, WHOLE, ZERO,
};
use crate::error::excerpt;
use crate::{Error, Result};

/// Writes a tuple item by item. [`pack`](super::pack) does so for Rust's own tuples.
///
/// If the tuple is too long, only its start is stored. The rest is counted, so that the error can name the length.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
    /// The length of all that was written, kept or not.
    len: usize,
    depth: usize,
}

impl Writer {
    /// An empty tuple.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), len: 0, depth: 0 }
    }

    /// Appends null.
    pub fn null(&mut self) -> Result<()> {
        self.append(&[NULL])
    }

    /// Appends bytes.
    pub fn bytes(&mut self, content: &[u8]) -> Result<()> {
        self.content(BYTES, content)
    }

    /// Appends text.
    pub fn text(&mut self, content: &str) -> Result<()> {
        self.content(TEXT, content.as_bytes())
    }

    /// Appends an integer.
    pub fn int(&mut self, number: i64) -> Result<()> {
        let (bytes, len) = integer(number);
        self.append(&bytes[..len])
    }

    /// Appends a float. The two zeros are one.
    ///
    /// # Errors
    /// [`Error::NotANumber`] for NaN.
    pub fn float(&mut self, number: f64) -> Result<()> {
        let (bytes, len) = float(number)?;
        self.append(&bytes[..len])
    }

    /// Begins a tuple within this one.
    ///
    /// # Errors
    /// [`Error::TooDeep`] if it would be the 65th.
    pub fn begin(&mut self) -> Result<()> {
        if self.depth == MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.depth += 1;
        self.append(&[TUPLE])
    }

    /// Ends the tuple that was begun last.
    ///
    /// # Errors
    /// [`Error::Unbalanced`] if there is none.
    pub fn end(&mut self) -> Result<()> {
        self.depth = self.depth.checked_sub(1).ok_or(Error::Unbalanced)?;
        self.append(&[END])
    }

    /// The bytes of the tuple.
    ///
    /// # Errors
    /// [`Error::TooLong`] for more than [`MAX_BYTES`], [`Error::Unbalanced`] if a tuple was begun and not ended.
    pub fn finish(self) -> Result<Vec<u8>> {
        if self.len > MAX_BYTES {
            return Err(Error::TooLong { len: self.len, start: excerpt(&self.bytes) });
        }
        self.finish_sought()
    }

    /// The bytes of a tuple to look up, or of an end of a range. It may have any length: it is cut after [`MAX_BYTES`] and one
    /// more, which keeps its place in the order, since no key is that long.
    ///
    /// # Errors
    /// [`Error::Unbalanced`] if a tuple was begun and not ended.
    pub fn finish_sought(self) -> Result<Vec<u8>> {
        if self.depth > 0 { Err(Error::Unbalanced) } else { Ok(self.bytes) }
    }

    fn content(&mut self, kind: u8, content: &[u8]) -> Result<()> {
        self.append(&[kind])?;
        let mut pieces = content.split(|&byte| byte == END);
        self.append(pieces.next().unwrap_or_default())?;
        for piece in pieces {
            self.append(&[END, NOT_THE_END])?;
            self.append(piece)?;
        }
        self.append(&[END])
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.len = self.len.saturating_add(bytes.len());
        let kept = &bytes[..bytes.len().min(MAX_BYTES + 1 - self.bytes.len())];
        // Most tuples fit into what is reserved at first, and so are allocated once.
        let least = if self.bytes.is_empty() { 48 } else { 0 };
        self.bytes.try_reserve(kept.len().max(least)).map_err(|_| Error::OutOfMemory)?;
        self.bytes.extend_from_slice(kept);
        Ok(())
    }
}

/// A tuple of one short item, written without an allocation.
#[derive(Clone, Copy, Debug)]
pub struct Short {
    bytes: [u8; SHORT_BYTES],
    len: u8,
}

const SHORT_BYTES: usize = 22;

impl Short {
    /// The tuple of this text. `None` if it is longer, or has a byte that is written as two.
    #[inline]
    pub fn text(content: &str) -> Option<Self> {
        let content = content.as_bytes();
        if content.len() > SHORT_BYTES - 2 || content.contains(&END) {
            return None;
        }
        let mut bytes = [END; SHORT_BYTES];
        bytes[0] = TEXT;
        bytes[1..=content.len()].copy_from_slice(content);
        Some(Self { bytes, len: content.len() as u8 + 2 })
    }

    /// The tuple of this integer.
    #[inline]
    pub fn int(number: i64) -> Self {
        let (number, len) = integer(number);
        let mut bytes = [END; SHORT_BYTES];
        bytes[..NUMBER_BYTES].copy_from_slice(&number);
        Self { bytes, len: len as u8 }
    }
}

impl AsRef<[u8]> for Short {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

/// The longest number is an integer, the byte that a float is between it and the next, and by how much.
const NUMBER_BYTES: usize = 1 + 8 + 1 + 8;

/// A number as it is written, at the start of these bytes, and its length.
type Number = ([u8; NUMBER_BYTES], usize);

pub(super) fn integer(number: i64) -> Number {
    let size = size_of::<u64>() - number.unsigned_abs().leading_zeros() as usize / 8;
    let magnitude = if number < 0 { !number.unsigned_abs() } else { number.unsigned_abs() };
    let mut bytes = [0; NUMBER_BYTES];
    bytes[0] = if number < 0 { ZERO - size as u8 } else { ZERO + size as u8 };
    bytes[1..=size].copy_from_slice(&magnitude.to_be_bytes()[size_of::<u64>() - size..]);
    (bytes, 1 + size)
}

pub(super) fn float(number: f64) -> Result<Number> {
    if number.is_nan() {
        return Err(Error::NotANumber);
    }
    if number >= END_OF_INTEGERS {
        return Ok(with_bits(([0; NUMBER_BYTES], 0), GREATEST_FLOATS, number.to_bits()));
    }
    if number < -END_OF_INTEGERS {
        return Ok(with_bits(([0; NUMBER_BYTES], 0), LEAST_FLOATS, !number.to_bits()));
    }
    let floor = floor(number);
    let (mut bytes, len) = integer(floor);
    // The next two are exact: no float has a fraction and so many digits before it that these would not be.
    #[expect(clippy::cast_precision_loss, reason = "an integer of 53 bits or fewer, or one power of two")]
    let (above, below) = (number - floor as f64, (floor + 1) as f64 - number);
    if above == 0.0 {
        bytes[len] = WHOLE;
        return Ok((bytes, len + 1));
    }
    let bits = if floor < 0 { !below.to_bits() } else { above.to_bits() };
    Ok(with_bits((bytes, len), BETWEEN, bits))
}

/// The greatest integer that is not more than a number of 64 bits.
fn floor(number: f64) -> i64 {
    let towards_zero = number as i64;
    #[expect(clippy::cast_precision_loss, reason = "it was a float, whose fraction alone was cut off")]
    let is_more = towards_zero as f64 > number;
    towards_zero - i64::from(is_more)
}

fn with_bits((mut bytes, len): Number, kind: u8, bits: u64) -> Number {
    bytes[len] = kind;
    bytes[len + 1..len + 9].copy_from_slice(&bits.to_be_bytes());
    (bytes, len + 9)
}
