//! Packed blocks: many items in one row of bytes, so that the border is crossed once for all of them. `docs/wasm.md` has their form.

use crate::answer::Output;
use crate::failure::{Failed, Failure};

/// The bytes of a length.
const LENGTH: usize = 4;
/// The bytes of a pair before its key.
pub(crate) const PAIR_HEAD: usize = 2 * LENGTH;

const ABSENT: u32 = u32::MAX;

// --- reading

/// What an item of a block has beside its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Pair,
    Key,
    Amount,
    Swap,
}

/// An item, with what its shape has.
#[derive(Clone, Copy, Default)]
pub(crate) struct Item<'b> {
    pub(crate) key: &'b [u8],
    /// A pair's value, or a swap's new one.
    pub(crate) value: Option<&'b [u8]>,
    pub(crate) expected: Option<&'b [u8]>,
    pub(crate) by: i64,
}

/// The items that are left of a block.
#[derive(Clone)]
pub(crate) struct Items<'b> {
    bytes: &'b [u8],
    shape: Shape,
    /// How many were taken.
    taken: usize,
}

impl<'b> Items<'b> {
    pub(crate) fn new(bytes: &'b [u8], shape: Shape) -> Self {
        Self { bytes, shape, taken: 0 }
    }

    /// The next item, if any, or the error that the block ends within it.
    #[inline(never)] // one copy, not one for each verb
    pub(crate) fn next(&mut self) -> Result<Option<Item<'b>>, Failed> {
        if self.bytes.is_empty() {
            return Ok(None);
        }
        let mut item = Item::default();
        let key = self.length()?;
        match self.shape {
            Shape::Key => item.key = self.take(key)?,
            Shape::Pair => {
                let value = self.length()?;
                item.key = self.take(key)?;
                item.value = Some(self.take(value)?);
            }
            Shape::Amount => {
                item.by = i64::from_le_bytes(self.array()?);
                item.key = self.take(key)?;
            }
            Shape::Swap => {
                let (expected, new) = (self.length()?, self.length()?);
                item.key = self.take(key)?;
                item.expected = self.take_optional(expected)?;
                item.value = self.take_optional(new)?;
            }
        }
        self.taken += 1;
        Ok(Some(item))
    }

    fn length(&mut self) -> Result<u32, Failed> {
        self.array().map(u32::from_le_bytes)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Failed> {
        let (array, rest) = self.bytes.split_first_chunk().ok_or(Failure::Block { item: self.taken })?;
        self.bytes = rest;
        Ok(*array)
    }

    fn take(&mut self, length: u32) -> Result<&'b [u8], Failed> {
        let bytes = usize::try_from(length).ok().and_then(|length| self.bytes.split_off(..length));
        Ok(bytes.ok_or(Failure::Block { item: self.taken })?)
    }

    fn take_optional(&mut self, length: u32) -> Result<Option<&'b [u8]>, Failed> {
        if length == ABSENT { Ok(None) } else { self.take(length).map(Some) }
    }
}

/// The lengths of the key and of the whole of the first of these packed pairs.
#[inline]
pub(crate) fn first_pair(pairs: &[u8]) -> Option<(usize, usize)> {
    let (lengths, _) = pairs.split_first_chunk::<PAIR_HEAD>()?;
    let lengths = u64::from_le_bytes(*lengths);
    let (key, value) = (lengths as u32 as usize, (lengths >> 32) as usize);
    Some((key, PAIR_HEAD + key + value))
}

/// The key of the first of these packed pairs, if its value is absent, and the length of the whole.
pub(crate) fn first_key(pairs: &[u8]) -> Option<(&[u8], usize)> {
    let (lengths, rest) = pairs.split_first_chunk::<PAIR_HEAD>()?;
    let key = u64::from_le_bytes(*lengths) as u32 as usize;
    Some((&rest[..key], PAIR_HEAD + key))
}

/// How many of these packed pairs come before one whose value is absent, up to `count` or until they are `bytes` long, and their length.
pub(crate) fn copied(pairs: &[u8], count: usize, bytes: usize) -> (usize, usize) {
    let (mut copied, mut end) = (0, 0);
    while copied < count
        && end < bytes
        && pairs.get(end + LENGTH..end + PAIR_HEAD).is_some_and(|value| value != ABSENT.to_le_bytes())
        && let Some((_, length)) = first_pair(&pairs[end..])
    {
        (copied, end) = (copied + 1, end + length);
    }
    (copied, end)
}

// --- writing

pub(crate) fn push_pair(output: &mut Output, key: &[u8], value: &[u8]) -> Result<(), Failed> {
    push_item(output, key, Some(value))
}

pub(crate) fn push_key(output: &mut Output, key: &[u8]) -> Result<(), Failed> {
    output.push_all([&length_of(key).to_le_bytes(), key])
}

/// A pair whose value may be absent.
pub(crate) fn push_item(output: &mut Output, key: &[u8], value: Option<&[u8]>) -> Result<(), Failed> {
    let lengths = u64::from(value.map_or(ABSENT, length_of)) << 32 | u64::from(length_of(key));
    output.push_all([&lengths.to_le_bytes(), key, value.unwrap_or_default()])
}

pub(crate) fn push_optional(output: &mut Output, value: Option<&[u8]>) -> Result<(), Failed> {
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
