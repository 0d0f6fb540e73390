//! Keys, values and sums on their way out.

use crate::crossing::{Crossing, Region};
use crate::encoding::{BLOCK_ITEMS, Column, Encoding, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::{append, trim};
use crate::js::{Js, Value};
use crate::memory;

/// A block is closed once it has this many bytes.
const BLOCK_BYTES: usize = 1 << 16;
/// The most bytes of a string that carries many. Keeping one of these keeps it whole.
const TEXT_BYTES: usize = 1 << 13;
/// A block of strings is closed once it has this many bytes, so that they fit into one.
const TEXT_BLOCK_BYTES: usize = TEXT_BYTES / 2;
/// The length of what is not there, here and among the words behind the crossing buffer.
const ABSENT: usize = usize::MAX;
const ABSENT_WORD: u32 = u32::MAX;

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
        Encoding::Bytes if crossing.write(region, bytes) => Ok(js.usize(bytes.len())?),
        Encoding::Bytes => Ok(js.buffer(bytes)?),
    }
}

pub(crate) fn optional<'c>(
    js: Js<'c>,
    crossing: &mut Crossing,
    column: Column,
    encoding: Encoding,
    bytes: Option<&[u8]>,
) -> Answer<'c> {
    bytes.map_or(Ok(Value::UNDEFINED), |bytes| single(js, crossing, column, encoding, bytes))
}

fn text<'c>(js: Js<'c>, column: Column, bytes: &[u8]) -> Answer<'c> {
    let made = js.text(bytes).ok_or_else(|| Fault::not_utf8(column, bytes))?;
    made.map_err(|_| Fault::too_long(bytes.len()))
}

/// What a call that has many results leaves for JavaScript to take.
#[derive(Default)]
pub(crate) struct Results {
    encodings: Encodings,
    /// What the items are, over and over: keys and values, say.
    columns: &'static [Column],
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    /// The items where they are sums instead.
    sums: Vec<Sum>,
    taken: usize,
    taken_bytes: usize,
    is_only_block: bool,
    /// Memory was refused for some of them.
    is_short: bool,
}

/// A sum, and whether JavaScript is to see a bigint.
pub(crate) type Sum = (i64, bool);

/// What there may be behind a block.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum More {
    /// What is held here after it.
    Held,
    /// Nothing: the block has to be all that is held.
    Nothing,
    /// What another call finds; the block has to be all that is held.
    Elsewhere,
    /// The same, by the walk of this number.
    Walk(u32),
}

impl Results {
    pub(crate) fn begin(&mut self, encodings: Encodings, columns: &'static [Column]) {
        self.encodings = encodings;
        self.columns = columns;
        self.clear();
    }

    /// Forgets what is there, and gives back what many items took.
    pub(crate) fn clear(&mut self) {
        trim(&mut self.bytes);
        trim(&mut self.lengths);
        trim(&mut self.sums);
        (self.taken, self.taken_bytes, self.is_short, self.is_only_block) = (0, 0, false, false);
    }

    pub(crate) fn set_names<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        self.begin(Encodings::default(), &[Column::Name]);
        for name in names {
            self.push(name.as_bytes());
        }
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.taken >= self.len()
    }

    pub(crate) fn len(&self) -> usize {
        self.lengths.len() + self.sums.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.bytes.len() >= if self.is_text() && !self.is_only_block { TEXT_BLOCK_BYTES } else { BLOCK_BYTES }
    }

    /// One block is to have all of them, where they are not large.
    pub(crate) fn expect_one_block(&mut self) {
        self.is_only_block = true;
    }

    fn is_text(&self) -> bool {
        self.columns.iter().all(|&column| self.encodings.of(column) == Encoding::Text)
    }

    #[inline]
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.bytes.try_reserve(bytes.len()).is_err() {
            self.is_short = true;
        }
        if !self.is_short {
            self.bytes.extend_from_slice(bytes);
            self.push_length(bytes.len());
        }
    }

    pub(crate) fn push_absent(&mut self) {
        self.push_length(ABSENT);
    }

    fn push_length(&mut self, length: usize) {
        match self.lengths.try_reserve(1) {
            Ok(()) => self.lengths.push(length),
            Err(_) => self.is_short = true,
        }
    }

    pub(crate) fn set_sums(&mut self, sums: impl Iterator<Item = Sum>) {
        match self.sums.try_reserve(sums.size_hint().0) {
            Ok(()) => self.sums.extend(sums),
            Err(_) => self.is_short = true,
        }
    }

    pub(crate) fn check<'c>(&self) -> Result<(), Fault<'c>> {
        if self.is_short { Err(memory::refused()) } else { Ok(()) }
    }

    /// As JavaScript sees it: 0 for nothing, 1 for more, and from 2 on the number of a walk.
    fn rest(&self, more: More) -> u32 {
        match more {
            More::Held => (self.taken < self.len()).into(),
            More::Nothing => 0,
            More::Elsewhere => 1,
            More::Walk(number) => number + 2,
        }
    }

    /// The next block where its strings may be parts of one, or as many of it as may: see [`take`](Self::take).
    fn whole<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &mut Crossing,
        more: More,
    ) -> Result<Option<Value<'c>>, Fault<'c>> {
        if !self.is_text() {
            return Ok(None);
        }
        let items = &self.lengths[self.taken.min(self.lengths.len())..];
        let items = &items[..items.len().min(BLOCK_ITEMS)];
        let (mut bytes, mut count) = (0, 0);
        for (length, word) in items.iter().zip(crossing.lengths()) {
            if *length == ABSENT {
                *word = ABSENT_WORD;
            } else if bytes + length > TEXT_BYTES {
                break;
            } else {
                bytes += length;
                *word = *length as u32;
            }
            count += 1;
        }
        let is_all = count == items.len();
        let text = &self.bytes[self.taken_bytes..][..bytes];
        if count == 0 || (more != More::Held && !is_all) || !text.is_ascii() {
            return Ok(None);
        }
        self.taken += count;
        self.taken_bytes += bytes;
        crossing.note(0, count as u32);
        crossing.note(1, self.rest(more));
        Ok(js.text(text).transpose()?)
    }

    /// The next block. Where strings are short and ASCII, they come as one, since making a string costs more than
    /// cutting one: the words behind the crossing buffer then have the number of items, what there may be behind them, and
    /// each one's length. Otherwise it is what `collect` returns: it is called as
    /// `collect(more, isMixed, bytes, ...items)`. An item that is bytes is passed as its length: `bytes` has them one after the
    /// other. Where a string is not UTF-8, `isMixed` is true and a `Buffer` stands for it.
    pub(crate) fn take<'c>(
        &mut self,
        js: Js<'c>,
        crossing: &mut Crossing,
        collect: Value<'c>,
        more: More,
    ) -> Answer<'c> {
        self.check()?;
        if let Some(text) = self.whole(js, crossing, more)? {
            return Ok(text);
        }
        let nothing = js.undefined()?;
        let mut arguments = [nothing; 3 + BLOCK_ITEMS];
        let mut block = Vec::new();
        let mut is_mixed = false;
        let count = (self.len() - self.taken).min(BLOCK_ITEMS);
        for argument in &mut arguments[3..3 + count] {
            *argument = self.next(js, &mut block, &mut is_mixed, nothing)?;
        }
        arguments[0] = js.u32(self.rest(more))?;
        arguments[1] = js.boolean(is_mixed)?;
        if !block.is_empty() {
            arguments[2] = js.buffer(&block)?;
        }
        Ok(js.call(collect, &arguments[..3 + count])?)
    }

    /// The next item, by itself; the bytes of one that is bytes go into `block`.
    fn next<'c>(
        &mut self,
        js: Js<'c>,
        block: &mut Vec<u8>,
        is_mixed: &mut bool,
        nothing: Value<'c>,
    ) -> Answer<'c> {
        let at = self.taken;
        self.taken += 1;
        if let Some(&(sum, is_bigint)) = self.sums.get(at) {
            return Ok(if is_bigint { js.bigint(sum) } else { js.i64(sum) }?);
        }
        let length = self.lengths[at];
        if length == ABSENT {
            return Ok(nothing);
        }
        let bytes = &self.bytes[self.taken_bytes..][..length];
        self.taken_bytes += length;
        let column = self.columns[at % self.columns.len()];
        match self.encodings.of(column) {
            Encoding::Text => {
                let Some(made) = js.text(bytes) else {
                    *is_mixed = true;
                    return Ok(js.buffer(bytes)?);
                };
                made.map_err(|_| Fault::too_long(length))
            }
            Encoding::Bytes => {
                append(block, bytes)?;
                Ok(js.usize(length)?)
            }
        }
    }
}
