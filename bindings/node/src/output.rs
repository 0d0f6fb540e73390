//! Keys, values and sums on their way out.

use crate::call::Call;
use crate::crossing::{Crossing, Region};
use crate::fault::Fault;
use crate::input::{append, trim};
use crate::js::{Answer, Js, Value};
use crate::state::{Column, Encoding, Encodings, State};

/// The most results that cross in one call: the arguments of a call lie on the stack.
pub(crate) const BLOCK_ITEMS: usize = 256;
/// A block is closed once it has this many bytes.
pub(crate) const BLOCK_BYTES: usize = 1 << 16;

/// One key or value: a string, or the length of what is in the crossing buffer, or a `Buffer` where it is longer.
pub(crate) fn single<'c>(
    js: Js<'c>,
    crossing: &mut Crossing,
    column: Column,
    encoding: Encoding,
    bytes: &[u8],
) -> Answer<'c> {
    let region = match column {
        Column::Key => Region::Key,
        Column::Value | Column::Name => Region::Value,
    };
    match encoding {
        Encoding::Text => text(js, column, bytes),
        Encoding::Bytes if crossing.write(region, bytes) => js.usize(bytes.len()),
        Encoding::Bytes => js.buffer(bytes),
    }
}

fn text<'c>(js: Js<'c>, column: Column, bytes: &[u8]) -> Answer<'c> {
    js.text(bytes).unwrap_or_else(|| Err(Fault::not_utf8(column.name(), bytes)))
}

/// What a call that has many results leaves for [`take`] to fetch.
#[derive(Default)]
pub(crate) struct Results {
    encodings: Encodings,
    bytes: Vec<u8>,
    items: Vec<Item>,
    taken: usize,
}

/// One result.
enum Item {
    Absent,
    Bytes { column: Column, start: usize, end: usize },
    Number(i64),
    Bigint(i64),
}

impl Results {
    /// Forgets what is there.
    pub(crate) fn begin(&mut self, encodings: Encodings) {
        self.encodings = encodings;
        self.bytes.clear();
        trim(&mut self.bytes);
        self.items.clear();
        self.taken = 0;
    }

    /// The number of items.
    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    /// The number of bytes in them.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn push(&mut self, column: Column, bytes: Option<&[u8]>) {
        self.items.push(match bytes {
            None => Item::Absent,
            Some(bytes) => {
                let start = self.bytes.len();
                self.bytes.extend_from_slice(bytes);
                Item::Bytes { column, start, end: self.bytes.len() }
            }
        });
    }

    pub(crate) fn push_sum(&mut self, sum: i64, is_bigint: bool) {
        self.items.push(if is_bigint { Item::Bigint(sum) } else { Item::Number(sum) });
    }

    /// Passes the next block to `collect(isMore, bytes, ...items)` and returns what that returns. An item that
    /// is bytes is passed as its length: `bytes` has them one after the other.
    pub(crate) fn take<'c>(&mut self, js: Js<'c>, collect: Value<'c>, is_more: bool) -> Answer<'c> {
        let nothing = js.undefined()?;
        let mut arguments = [nothing; 2 + BLOCK_ITEMS];
        let mut block = Vec::new();
        let mut count = 0;
        for item in self.items[self.taken..].iter().take(BLOCK_ITEMS) {
            arguments[2 + count] = match item {
                Item::Absent => nothing,
                Item::Number(sum) => js.i64(*sum)?,
                Item::Bigint(sum) => js.bigint(*sum)?,
                Item::Bytes { column, start, end } => {
                    let bytes = &self.bytes[*start..*end];
                    match self.encodings.of(*column) {
                        Encoding::Text => text(js, *column, bytes)?,
                        Encoding::Bytes => {
                            append(&mut block, bytes)?;
                            js.usize(bytes.len())?
                        }
                    }
                }
            };
            count += 1;
        }
        self.taken += count;
        arguments[0] = js.boolean(is_more || self.taken < self.items.len())?;
        if !block.is_empty() {
            arguments[1] = js.buffer(&block)?;
        }
        js.call(collect, &arguments[..2 + count])
    }
}

/// `take(collect)`: the next block of the results.
pub(crate) fn take<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.results.take(call.js, call.argument(0), false)
}
