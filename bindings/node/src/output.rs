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
const BLOCK_BYTES: usize = 1 << 16;
/// The most bytes of a string that carries many: whoever keeps one of these keeps it whole.
const TEXT_BYTES: usize = 1 << 13;
/// A block of strings is closed once it has this many bytes, so that they fit into one.
const TEXT_BLOCK_BYTES: usize = TEXT_BYTES / 2;
/// The length of what is not there.
const ABSENT: u32 = u32::MAX;

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
#[derive(Clone, Copy)]
enum Item {
    Absent,
    Bytes { column: Column, start: usize, end: usize },
    Number(i64),
    Bigint(i64),
}

/// What there may be behind a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// What is held here after it.
    Held,
    /// Nothing: the block has to be all that is held.
    Nothing,
    /// What another call finds; the block has to be all that is held.
    Elsewhere,
}

impl Item {
    /// Where its bytes begin.
    const fn start(self) -> Option<usize> {
        match self {
            Self::Bytes { start, .. } => Some(start),
            Self::Absent | Self::Number(_) | Self::Bigint(_) => None,
        }
    }
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

    /// Whether a block of them is large enough.
    pub(crate) fn is_full(&self) -> bool {
        let is_text = self.encodings == Encodings::default();
        self.bytes.len() >= if is_text { TEXT_BLOCK_BYTES } else { BLOCK_BYTES }
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

    fn is_more(&self, more: More) -> bool {
        match more {
            More::Held => self.taken < self.items.len(),
            More::Nothing => false,
            More::Elsewhere => true,
        }
    }

    /// The next block where its strings may be parts of one, or as many of it as may: see [`take`](Self::take).
    fn whole<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &mut Crossing,
        more: More,
    ) -> Result<Option<Value<'c>>, Fault<'c>> {
        let items = self.items[self.taken..].iter().take(BLOCK_ITEMS);
        let from = items.clone().find_map(|item| item.start()).unwrap_or_default();
        let (mut to, mut count) = (from, 0);
        for item in items.clone() {
            let length = match *item {
                Item::Absent => ABSENT,
                Item::Bytes { column, start, end } => {
                    if self.encodings.of(column) != Encoding::Text || end - from > TEXT_BYTES {
                        break;
                    }
                    to = end;
                    (end - start) as u32
                }
                Item::Number(_) | Item::Bigint(_) => break,
            };
            crossing.note(2 + count, length);
            count += 1;
        }
        if more != More::Held && count < items.len() {
            return Ok(None);
        }
        let text = &self.bytes[from..to];
        if count == 0 || !text.is_ascii() {
            return Ok(None);
        }
        self.taken += count;
        crossing.note(0, count as u32);
        crossing.note(1, self.is_more(more).into());
        js.text(text).transpose()
    }

    /// The next block. Where strings are short and ASCII, they come as one, since making a string costs more than
    /// cutting one: the words behind the crossing buffer then have the number of items, whether there may be more, and each
    /// one's length. Otherwise it is what `collect` returns: it is called as `collect(isMore, bytes, ...items)` and returns what that returns. An item that
    /// is bytes is passed as its length: `bytes` has them one after the other.
    pub(crate) fn take<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &mut Crossing,
        collect: Value<'c>,
        more: More,
    ) -> Answer<'c> {
        if let Some(text) = self.whole(js, crossing, more)? {
            return Ok(text);
        }
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
        arguments[0] = js.boolean(self.is_more(more))?;
        if !block.is_empty() {
            arguments[1] = js.buffer(&block)?;
        }
        js.call(collect, &arguments[..2 + count])
    }
}

/// `take(collect)`: the next block of the results.
pub(crate) fn take<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { results, prepared, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or(Fault::Panic)?.crossing;
    results.take(call.js, crossing, call.argument(0), More::Held)
}
