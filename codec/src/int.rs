//! Integers as keys: eight bytes that order as the numbers do.

use crate::error::excerpt;
use crate::{Error, Result};

/// The bytes of this integer: big-endian, with the sign turned over so that negative ones come first.
#[inline]
pub const fn encode(number: i64) -> [u8; 8] {
    (number ^ i64::MIN).to_be_bytes()
}

/// The integer that these bytes stand for.
///
/// # Errors
/// [`Error::NotAnInteger`] unless there are eight.
#[inline]
pub fn decode(key: &[u8]) -> Result<i64> {
    match key.try_into() {
        Ok(bytes) => Ok(i64::from_be_bytes(bytes) ^ i64::MIN),
        Err(_) => Err(Error::NotAnInteger { len: key.len(), start: excerpt(key) }),
    }
}
