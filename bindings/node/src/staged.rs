//! Many keys and values on their way in.

use std::ops::Range;

use twindex::Swap;

use crate::encoding::{Column, Encoding, Encodings};
use crate::fault::Fault;
use crate::input::{Input, amount, append, trim};
use crate::js::{Js, Value};
use crate::memory::{collected, reserve};

#[derive(Default)]
pub(crate) struct Staged {
    /// The number of the table or cache that the items are for.
    pub(crate) target: u32,
    encodings: Encodings,
    shape: &'static [Kind],
    bytes: Vec<u8>,
    items: Vec<Item>,
}

#[derive(Clone, Copy)]
enum Kind {
    Key,
    Value,
    ValueOrNone,
    Amount,
}

/// The shapes that `begin` knows by number.
const SHAPES: [&[Kind]; 4] = [
    &[Kind::Key],
    &[Kind::Key, Kind::Value],
    &[Kind::Key, Kind::Amount],
    &[Kind::Key, Kind::ValueOrNone, Kind::ValueOrNone],
];

enum Item {
    Bytes(Range<usize>),
    None,
    Amount { by: i64, is_bigint: bool },
}

type Pair<'s> = (&'s [u8], &'s [u8]);

impl Staged {
    /// Forgets what is there, for a table or cache, how its pairs cross, and one of the shapes.
    pub(crate) fn begin(&mut self, target: u32, encodings: Encodings, shape: u32) {
        self.clear();
        (self.target, self.encodings) = (target, encodings);
        self.shape = SHAPES.get(shape as usize).copied().unwrap_or_default();
    }

    /// Adds items; those that are bytes are passed as their lengths, and `bytes` has them one after the other.
    pub(crate) fn add<'c>(
        &mut self,
        js: Js<'c>,
        input: &mut Input,
        mut bytes: &[u8],
        items: &[Value<'c>],
    ) -> Result<(), Fault<'c>> {
        reserve(&mut self.items, items.len())?;
        for &argument in items {
            let kind = self.shape[self.items.len() % self.shape.len().max(1)];
            let column = match kind {
                Kind::Key => Column::Key,
                Kind::ValueOrNone if js.is_nothing(argument) => {
                    self.items.push(Item::None);
                    continue;
                }
                Kind::Value | Kind::ValueOrNone => Column::Value,
                Kind::Amount => {
                    let (by, is_bigint) = amount(js, argument)?;
                    self.items.push(Item::Amount { by, is_bigint });
                    continue;
                }
            };
            let start = self.bytes.len();
            match self.encodings.of(column) {
                Encoding::Text => input.append_text(js, argument, column, &mut self.bytes)?,
                Encoding::Bytes => {
                    let own = js.get_u32(argument).and_then(|len| bytes.split_off(..len as usize));
                    let needed = column.needs(Encoding::Bytes);
                    append(&mut self.bytes, own.ok_or_else(|| Fault::wrong_type(needed, argument))?)?;
                }
            }
            self.items.push(Item::Bytes(start..self.bytes.len()));
        }
        Ok(())
    }

    pub(crate) fn clear(&mut self) {
        trim(&mut self.bytes);
        trim(&mut self.items);
    }

    fn bytes(&self, item: &Item) -> Option<&[u8]> {
        match item {
            Item::Bytes(range) => Some(&self.bytes[range.clone()]),
            Item::None | Item::Amount { .. } => None,
        }
    }

    fn required(&self, item: &Item) -> &[u8] {
        self.bytes(item).unwrap_or_default()
    }

    pub(crate) fn keys<'c>(&self) -> Result<Vec<&[u8]>, Fault<'c>> {
        collected(self.items.iter().map(|item| self.required(item)))
    }

    pub(crate) fn pairs<'c>(&self) -> Result<Vec<Pair<'_>>, Fault<'c>> {
        collected(self.items.chunks_exact(2).map(|pair| (self.required(&pair[0]), self.required(&pair[1]))))
    }

    pub(crate) fn amounts<'c>(&self) -> Result<Vec<(&[u8], i64)>, Fault<'c>> {
        collected(self.items.chunks_exact(2).map(|pair| match pair[1] {
            Item::Amount { by, .. } => (self.required(&pair[0]), by),
            Item::Bytes(_) | Item::None => (self.required(&pair[0]), 0),
        }))
    }

    pub(crate) fn bigints(&self) -> impl Iterator<Item = bool> {
        self.items.chunks_exact(2).map(|pair| matches!(pair[1], Item::Amount { is_bigint: true, .. }))
    }

    pub(crate) fn swaps<'c>(&self) -> Result<Vec<Swap<'_, &[u8]>>, Fault<'c>> {
        let swaps = self.items.chunks_exact(3);
        collected(swaps.map(|swap| (self.required(&swap[0]), self.bytes(&swap[1]), self.bytes(&swap[2]))))
    }
}
