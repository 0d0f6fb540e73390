//! Decoding the pairs of a record.

use std::ops::Range;

use twindex::{MAX_KEY_BYTES, Result, Table};

use crate::record::corrupt;
use crate::step::{AGAIN, SAME_KEY, SAME_VALUE, SHARED, STEPS, Step, Steps, TIMES};
use crate::varint::take_varint;

/// Decodes the pairs of a record and inserts them, group by group. The first group is decoded before any pair is
/// inserted. Meanwhile another thread can insert another record.
#[derive(Debug)]
pub struct Unpacked<'p> {
    table: Table,
    expected: u64,
    offset: u64,
    payload: &'p [u8],
    /// The part of the payload that is not decoded yet.
    left: &'p [u8],
    /// The last key of the previous group, then the keys of this one, without gaps.
    pub(crate) keys: Vec<u8>,
    /// The pairs of the group: where in `keys` each key is, and its value.
    pub(crate) pairs: Vec<(Range<usize>, &'p [u8])>,
    /// The lengths of the last key and of its value.
    last: usize,
    value: usize,
    steps: Steps,
    /// The last token that refers. Its `TIMES` bits count down the pairs that still repeat the step.
    again: u8,
}

impl<'p> Unpacked<'p> {
    pub(crate) fn new(table: &Table, expected: u64, offset: u64, payload: &'p [u8]) -> Result<Self> {
        let mut unpacked = Self {
            table: table.clone(),
            expected,
            offset,
            payload,
            left: payload,
            keys: Vec::new(),
            pairs: Vec::new(),
            last: 0,
            value: 0,
            steps: Steps::default(),
            again: 0,
        };
        unpacked.next_group()?;
        Ok(unpacked)
    }

    /// Decodes the next group. Its memory is bounded, as keys that share long prefixes grow when decoded.
    pub(crate) fn next_group(&mut self) -> Result<()> {
        const GROUP: usize = 4096;
        const GROUP_BYTES: usize = 192 * 1024;
        self.pairs.clear();
        self.keys.drain(..self.keys.len() - self.last);
        while (!self.left.is_empty() || self.again & TIMES != 0)
            && self.pairs.len() < GROUP
            && self.keys.len() < GROUP_BYTES
        {
            let Some(pair) = self.take_pair() else {
                return corrupt(self.offset, "a pair runs over its limits or its record");
            };
            self.pairs.push(pair);
        }
        Ok(())
    }

    /// Decodes the next pair: where in `keys` its key is, and its value.
    fn take_pair(&mut self) -> Option<(Range<usize>, &'p [u8])> {
        let step = self.take_step()?;
        self.steps.add(step);
        let shared = self.last.checked_sub(step.cut)?;
        (self.last, self.value) = (shared + step.rest_len, step.value);
        if self.last > MAX_KEY_BYTES {
            return None;
        }
        let start = self.keys.len();
        let before = start - step.cut - shared;
        self.keys.extend_from_within(before..before + shared);
        self.keys.extend_from_slice(&self.payload[step.rest..][..step.rest_len]);
        Some((start..self.keys.len(), self.left.split_off(..step.value)?))
    }

    /// Decodes the next pair up to its value.
    fn take_step(&mut self) -> Option<Step> {
        if self.again & TIMES != 0 {
            self.again -= 1;
            return self.step_back();
        }
        let token = *self.left.split_off_first()?;
        let step = if token & AGAIN != 0 {
            self.again = token;
            let step = self.step_back()?;
            if token & TIMES != 0 {
                self.again -= 1;
                return Some(step);
            }
            step
        } else {
            let mut shared = usize::from(token & SHARED);
            if shared == SHARED.into() {
                shared += usize::from(take_varint::<u16>(&mut self.left)?);
            }
            let cut = self.last.checked_sub(shared)?;
            let (same_key, same_value) = (token & SAME_KEY != 0, token & SAME_VALUE != 0);
            let rest_len = if same_key { cut } else { take_varint::<u16>(&mut self.left)?.into() };
            let value = if same_value { self.value } else { take_varint::<u32>(&mut self.left)? as usize };
            Step { cut, rest_len, rest: 0, value }
        };
        let rest = self.payload.len() - self.left.len();
        self.left.split_off(..step.rest_len)?;
        Some(Step { rest, ..step })
    }

    /// The step that the token refers to, but with the length of this pair's value.
    fn step_back(&mut self) -> Option<Step> {
        let mut step = self.steps.back(usize::from(self.again >> 3) % STEPS + 1)?;
        if self.again & SAME_VALUE == 0 {
            step.value = take_varint::<u32>(&mut self.left)? as usize;
        }
        Some(step)
    }

    /// Reserves room for the expected pairs. That number may be false, so each call reserves at most 16 times what the
    /// table holds. If the room is refused, the pairs themselves may still fit.
    fn make_ready(&self) {
        let len = self.table.len() as u64;
        let before = len.saturating_sub(self.pairs.len() as u64);
        // Reserves whenever the length has one more octal digit. WebAssembly modules leave this out to be small.
        let digits = |len: u64| len.checked_ilog2().map(|bits| bits / 3);
        if cfg!(not(target_family = "wasm")) && len < self.expected && digits(len) != digits(before) {
            let _refused = self.table.reserve(self.expected.min(16 * len) as usize);
        }
    }

    /// Inserts all pairs and returns how many there were. They must be new.
    pub fn insert(mut self) -> Result<u64> {
        let mut count = 0;
        while !self.pairs.is_empty() {
            let pairs: Vec<_> =
                self.pairs.iter().map(|(key, value)| (&self.keys[key.clone()], *value)).collect();
            count += pairs.len() as u64;
            if self.table.insert_many(&pairs)?.contains(&false) {
                return corrupt(self.offset, "a key comes twice");
            }
            self.make_ready();
            self.next_group()?;
        }
        Ok(count)
    }
}
