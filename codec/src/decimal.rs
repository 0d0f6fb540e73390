//! Integers as values: decimal text, to which the engine's `increment` adds.

use core::fmt;
use core::ops::Deref;

use crate::error::excerpt;
use crate::{Error, Result};

/// The longest is the text of the least integer of 64 bits.
const MOST_BYTES: usize = "-9223372036854775808".len();

/// The text of an integer, without an allocation.
#[derive(Clone, Copy)]
pub struct Decimal {
    bytes: [u8; MOST_BYTES],
    /// The text begins here and goes on to the end.
    start: u8,
}

impl Decimal {
    /// The text.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

impl Deref for Decimal {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl AsRef<[u8]> for Decimal {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.as_bytes().escape_ascii())
    }
}

/// The text of this integer: digits without zeros before them, after a `-` if it is negative.
#[inline]
pub const fn encode(number: i64) -> Decimal {
    let mut bytes = [0; MOST_BYTES];
    let mut start = MOST_BYTES;
    let mut rest = number.unsigned_abs();
    loop {
        start -= 1;
        bytes[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        bytes[start] = b'-';
    }
    Decimal { bytes, start: start as u8 }
}

/// The integer that this text stands for. A sign and zeros before the number are read over, as by `increment`:
/// `-0` is 0.
///
/// # Errors
/// [`Error::NotADecimal`] if it is something else, or has more than 64 bits.
#[inline]
pub fn decode(value: &[u8]) -> Result<i64> {
    let number = core::str::from_utf8(value).ok().and_then(|text| text.parse().ok());
    number.ok_or_else(|| Error::NotADecimal { start: excerpt(value) })
}
