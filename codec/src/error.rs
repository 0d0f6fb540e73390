//! What can go wrong, and with which bytes.

use core::fmt::{self, Write as _};

use alloc::string::String;

/// The result of reading or writing.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a value cannot be written, or some bytes cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The key is not eight bytes long, so it is no integer.
    NotAnInteger {
        /// Its length in bytes.
        len: usize,
        /// How it begins.
        start: String,
    },
    /// The value is not a decimal integer of 64 bits.
    NotADecimal {
        /// How it begins.
        start: String,
    },
    /// The integer is none of the type that was asked for.
    OtherInteger {
        /// The integer.
        number: i64,
        /// The type.
        expected: &'static str,
    },
    /// The bytes are not UTF-8.
    NotText {
        /// `key` or `value`.
        of: &'static str,
        /// How they begin.
        start: String,
    },
    /// The value cannot be written by its codec.
    NotWritten {
        /// The codec.
        codec: &'static str,
        /// The fault of the value.
        reason: String,
    },
    /// The bytes are no value of this codec and type.
    NotRead {
        /// The codec.
        codec: &'static str,
        /// The fault of the bytes.
        reason: String,
    },
    /// The bytes are not what a tuple is stored as.
    NotATuple {
        /// Where, in bytes from the start.
        offset: usize,
        /// How they begin.
        start: String,
    },
    /// The tuple does not have the items that were asked for.
    OtherItems {
        /// What was expected.
        expected: &'static str,
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// NaN has no place in an order.
    NotANumber,
    /// The integer does not fit into 64 bits with a sign.
    OutOfRange,
    /// Tuples lie in tuples more than [`MAX_DEPTH`](crate::tuple::MAX_DEPTH) deep.
    TooDeep,
    /// The tuple is longer than a key may be.
    TooLong {
        /// Its length in bytes.
        len: usize,
        /// How it begins.
        start: String,
    },
    /// A tuple was ended that was not begun, or the other way round.
    Unbalanced,
    /// The system refused memory.
    OutOfMemory,
}

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_ENCODING`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotADecimal { .. } => "TWINDEX_NOT_AN_INTEGER",
            Self::OutOfRange => "TWINDEX_OVERFLOW",
            Self::TooLong { .. } => "TWINDEX_KEY_TOO_LONG",
            Self::OutOfMemory => "TWINDEX_MEMORY_LIMIT",
            _ => "TWINDEX_ENCODING",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotAnInteger { len, start } => {
                write!(f, "the key is not an integer of 8 bytes, it has {len}: \"{start}\"")
            }
            Self::NotADecimal { start } => {
                write!(f, "the value is not a decimal integer of 64 bits: \"{start}\"")
            }
            Self::OtherInteger { number, expected } => {
                write!(f, "{number} does not fit into the type {expected}")
            }
            Self::NotText { of, start } => write!(f, "the {of} is not UTF-8: \"{start}\""),
            Self::NotWritten { codec, reason } => {
                write!(f, "the value cannot be written as {codec}: {reason}")
            }
            Self::NotRead { codec, reason } => write!(f, "the value cannot be read as {codec}: {reason}"),
            Self::NotATuple { offset, start } => {
                write!(f, "the key is not a tuple, from byte {offset} on: \"{start}\"")
            }
            Self::OtherItems { expected, offset } => {
                write!(f, "the tuple has no {expected} at byte {offset}")
            }
            Self::NotANumber => f.write_str("NaN in a key has no place in an order"),
            Self::OutOfRange => f.write_str("an integer in a key has at most 64 bits, with its sign"),
            Self::TooDeep => write!(f, "tuples in a key are at most {} deep", crate::tuple::MAX_DEPTH),
            Self::TooLong { len, start } => write!(
                f,
                "a key of {len} bytes is too long, the limit is {} (it begins with \"{start}\")",
                crate::tuple::MAX_BYTES
            ),
            Self::Unbalanced => f.write_str("a tuple in a key must end as often as it begins"),
            Self::OutOfMemory => f.write_str("the system has no memory left for a key"),
        }
    }
}

impl core::error::Error for Error {}

/// The start of some bytes, as text that is safe to print. Every message of every language prints bytes this way.
#[derive(Clone, Copy, Debug)]
pub struct Excerpt<'a>(pub &'a [u8]);

/// More than that does not help a reader.
const SHOWN_BYTES: usize = 32;

impl fmt::Display for Excerpt<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = &self.0[..self.0.len().min(SHOWN_BYTES)];
        write!(f, "{}", shown.escape_ascii())?;
        if shown.len() < self.0.len() { f.write_str("...") } else { Ok(()) }
    }
}

/// [`Excerpt`] as text.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = write!(text, "{}", Excerpt(bytes));
    text
}
