//! Packed blocks: many items in one row of bytes, so that the border is crossed once for all of them.
//!
//! Every length is a u32, little-endian; nothing is aligned. An item is its lengths and then its bytes:
//!
//! ```text
//! pair     key length · value length · key · value
//! key      key length · key
//! amount   key length · by (i64) · key
//! swap     key length · expected length · new length · key · expected · new
//! value    value length · value
//! ```
//!
//! Where a value may be absent, the length `0xffff_ffff` stands for that.

use twindex::Swap;

use crate::answer::Output;
use crate::failure::Failure;

/// The bytes of a length.
const LENGTH: usize = 4;
/// The bytes of a pair before its key.
pub(crate) const PAIR_HEAD: usize = 2 * LENGTH;

const ABSENT: u32 = u32::MAX;

// --- reading

/// What is left of a block, and the number of the item at its start.
struct Rest<'b> {
    bytes: &'b [u8],
    item: usize,
}

impl<'b> Rest<'b> {
    fn take(&mut self, length: u32) -> Result<&'b [u8], Failure> {
        let bytes = usize::try_from(length).ok().and_then(|length| self.bytes.split_off(..length));
        bytes.ok_or(Failure::Block { item: self.item })
    }

    fn take_optional(&mut self, length: u32) -> Result<Option<&'b [u8]>, Failure> {
        if length == ABSENT { Ok(None) } else { self.take(length).map(Some) }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failure> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or(Failure::Block { item: self.item })?;
        self.bytes = rest;
        Ok(*array)
    }

    fn length(&mut self) -> Result<u32, Failure> {
        self.array().map(u32::from_le_bytes)
    }
}

/// The items of a block, each read by `read`.
fn items<'b, T>(
    bytes: &'b [u8],
    read: impl Fn(&mut Rest<'b>) -> Result<T, Failure>,
) -> Result<Vec<T>, Failure> {
    let mut items = Vec::new();
    let mut rest = Rest { bytes, item: 0 };
    while !rest.bytes.is_empty() {
        items.try_reserve(1).map_err(|_| Failure::NoMemory { bytes: size_of::<T>() })?;
        items.push(read(&mut rest)?);
        rest.item += 1;
    }
    Ok(items)
}

/// A pair in a block.
pub(crate) type Pair<'b> = (&'b [u8], &'b [u8]);

pub(crate) fn pairs(bytes: &[u8]) -> Result<Vec<Pair<'_>>, Failure> {
    items(bytes, |rest| {
        let (key, value) = (rest.length()?, rest.length()?);
        Ok((rest.take(key)?, rest.take(value)?))
    })
}

pub(crate) fn keys(bytes: &[u8]) -> Result<Vec<&[u8]>, Failure> {
    items(bytes, |rest| {
        let key = rest.length()?;
        rest.take(key)
    })
}

pub(crate) fn amounts(bytes: &[u8]) -> Result<Vec<(&[u8], i64)>, Failure> {
    items(bytes, |rest| {
        let key = rest.length()?;
        let by = i64::from_le_bytes(rest.array()?);
        Ok((rest.take(key)?, by))
    })
}

pub(crate) fn swaps(bytes: &[u8]) -> Result<Vec<Swap<'_, &[u8]>>, Failure> {
    items(bytes, |rest| {
        let (key, expected, new) = (rest.length()?, rest.length()?, rest.length()?);
        Ok((rest.take(key)?, rest.take_optional(expected)?, rest.take_optional(new)?))
    })
}

// --- writing

pub(crate) fn push_pair(output: &mut Output, key: &[u8], value: &[u8]) -> Result<(), Failure> {
    output.reserve(PAIR_HEAD + key.len() + value.len())?;
    output.push(&length_of(key).to_le_bytes())?;
    output.push(&length_of(value).to_le_bytes())?;
    output.push(key)?;
    output.push(value)
}

pub(crate) fn push_optional(output: &mut Output, value: Option<&[u8]>) -> Result<(), Failure> {
    output.push(&value.map_or(ABSENT, length_of).to_le_bytes())?;
    output.push(value.unwrap_or_default())
}

/// What the engine returns as a key or a value is shorter than 4 GiB.
const fn length_of(bytes: &[u8]) -> u32 {
    bytes.len() as u32
}

/// A packed pair that is known when the module is built.
pub(crate) const fn const_pair<const N: usize>(key: &[u8], value: &[u8]) -> [u8; N] {
    let mut pair = [0; N];
    let (head, body) = pair.split_at_mut(PAIR_HEAD);
    let (key_length, value_length) = head.split_at_mut(LENGTH);
    key_length.copy_from_slice(&length_of(key).to_le_bytes());
    value_length.copy_from_slice(&length_of(value).to_le_bytes());
    let (key_bytes, value_bytes) = body.split_at_mut(key.len());
    key_bytes.copy_from_slice(key);
    value_bytes.copy_from_slice(value);
    pair
}
