//! Tuples as keys: bytes that order as the tuples do.
//!
//! Each item is a byte for its type, then its content:
//!
//! ```text
//! 01                null
//! 02 content 00     bytes; every 00 in the content is followed by ff
//! 03 content 00     text in UTF-8, likewise
//! 05 items 00       a tuple
//! 14 - n, 14 + n    an integer of n bytes, most significant first; of a negative one they are inverted
//! int 1e            a float that is equal to the integer
//! int 1f bits       a float between the integer and the next. `bits` is how much more it is than the integer or,
//!                   where the integer is negative, the inverse of how much less it is than the next one
//! 0b bits, 1d bits  a float that is less, or more, than every integer of 64 bits; of a negative one inverted
//! ```
//!
//! So null comes first, then bytes, text, tuples and numbers, and numbers order as numbers. An integer and a
//! float that are equal are two keys, and the integer comes first.
//!
//! A byte that follows an item in a longer tuple is less than `1e`, and a byte of the item is not. So the tuples
//! that start with a tuple are those from its bytes up to its bytes and a `1e`: [`prefix_range`].

mod format;
mod pack;
mod reader;
mod writer;

use core::ops::Bound;

use alloc::vec::Vec;

use format::WHOLE;
pub use format::{MAX_BYTES, MAX_DEPTH};
pub use pack::{Items, Null, Pack, PackItems, Unpack, pack, unpack};
pub use reader::{Reader, Token};
pub use writer::{Short, Writer};

use crate::{Error, Result};

/// The two ends of a range of keys.
pub type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The range of the keys that start with the items of `prefix`, which is the bytes of a tuple.
///
/// # Errors
/// [`Error::OutOfMemory`] if the system has none for the two bounds.
pub fn prefix_range(prefix: &[u8]) -> Result<Range> {
    let copy = |extra: &[u8]| {
        let mut copy = Vec::new();
        copy.try_reserve_exact(prefix.len() + extra.len()).map_err(|_| Error::OutOfMemory)?;
        copy.extend_from_slice(prefix);
        copy.extend_from_slice(extra);
        Ok(copy)
    };
    Ok((Bound::Included(copy(&[])?), Bound::Excluded(copy(&[WHOLE])?)))
}
