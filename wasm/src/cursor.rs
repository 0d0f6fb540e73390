//! Cursors and scans.

use std::ops::Bound;

use twindex::{Cursor, MAX_KEY_BYTES, prefix_range};

use crate::answer::Output;
use crate::block;
use crate::buffers::Buffers;
use crate::failure::{Failed, Failure};
use crate::handles::Object;
use crate::reserve;
use crate::state::call;
use crate::steps::Steps;
use crate::store::open;

/// The kinds of bound.
const NONE: u32 = 0;
const INCLUDED: u32 = 1;
const EXCLUDED: u32 = 2;
/// The end, on its side, of the keys that start with these bytes.
const PREFIX: u32 = 3;

/// One end of a range as the host gives it: the kind, and where its key is.
type End = (u32, usize, usize);

type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The range between two ends.
fn range(buffers: &Buffers, lower: End, upper: End) -> Result<Range, Failed> {
    Ok((bound(buffers, lower, |(lower, _)| lower)?, bound(buffers, upper, |(_, upper)| upper)?))
}

fn bound(
    buffers: &Buffers,
    (kind, address, length): End,
    side: fn(Range) -> Bound<Vec<u8>>,
) -> Result<Bound<Vec<u8>>, Failed> {
    // Beyond this length a bound is on the same side of every key, whatever more there is.
    let key = || buffers.bytes((address, length)).map(|key| &key[..length.min(MAX_KEY_BYTES + 1)]);
    match kind {
        NONE => Ok(Bound::Unbounded),
        INCLUDED => Ok(Bound::Included(key()?.to_vec())),
        EXCLUDED => Ok(Bound::Excluded(key()?.to_vec())),
        PREFIX => Ok(side(prefix_range(key()?))),
        _ => Err(Failure::Bound { kind }.into()),
    }
}

fn as_slices((lower, upper): &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
}

/// The way in which a cursor moves.
#[derive(Clone, Copy)]
pub(crate) enum Way {
    Up,
    Down,
}

impl Way {
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Self::Down)
    }

    /// Pushes the next pair, however large; whether there was one.
    pub(crate) fn push_one(self, cursor: &mut Cursor, output: &mut Output) -> Result<bool, Failed> {
        let next = match self {
            Self::Up => cursor.scan_asc_next(),
            Self::Down => cursor.scan_desc_next(),
        };
        let Some((key, value)) = next else { return Ok(false) };
        block::push_pair(output, key, value)?;
        Ok(true)
    }

    /// Pushes a pair, or some, but no more than `limit`, nor any once all are `bytes` long: how many there were.
    fn push_some(
        self,
        cursor: &mut Cursor,
        output: &mut Output,
        limit: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        match cursor.pack(self.is_down(), limit, bytes, output.with_room()) {
            // There is none, or it is a large one.
            0 => self.push_one(cursor, output).map(usize::from),
            packed => Ok(packed),
        }
    }

    /// Pushes up to `count` pairs or until they are `bytes` long: how many there were. On an error the cursor stays where it
    /// was.
    pub(crate) fn push_block(
        self,
        cursor: &mut Cursor,
        output: &mut Output,
        count: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        let before = cursor.clone();
        let mut pairs = 0;
        while pairs < count && output.len() < bytes {
            match self.push_some(cursor, output, count - pairs, bytes) {
                Ok(0) => break,
                Ok(more) => pairs += more,
                Err(error) => {
                    *cursor = before;
                    return Err(error);
                }
            }
        }
        Ok(pairs)
    }
}

/// Opens a cursor on a sorted table, before the first pair of the range and after its last at once: its
/// handle. A bound's kind is 0 none, 1 included, 2 excluded, or 3 the end of a prefix on that side.
#[unsafe(no_mangle)]
extern "C" fn twindex_cursor(
    table: u32,
    lower_kind: u32,
    lower: usize,
    lower_length: usize,
    upper_kind: u32,
    upper: usize,
    upper_length: usize,
) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let range =
            range(&state.buffers, (lower_kind, lower, lower_length), (upper_kind, upper, upper_length))?;
        let (table, store) = state.handles.table_and_store(table)?;
        let cursor = Box::new(Steps::new(table.try_cursor(as_slices(&range))?));
        open(&mut state.handles, Object::Cursor { store, cursor })
    })
}

fn cursor_next(cursor: u32, way: Way) -> i32 {
    call(|state| Ok(state.handles.cursor(cursor)?.next(way, &mut state.output)?.into()))
}

/// Moves a cursor to the next pair upwards and answers with it, packed: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Way::Up)
}

/// Moves a cursor to the next pair downwards and answers with it, packed: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Way::Down)
}

fn cursor_next_many(cursor: u32, way: Way, count: usize, bytes: usize) -> i32 {
    call(|state| {
        let cursor = state.handles.cursor(cursor)?.cursor();
        let output = state.output.start();
        let pairs = way.push_block(cursor, output, count, bytes)?;
        output.finish(pairs);
        Ok(0)
    })
}

/// Moves a cursor upwards by up to `count` pairs, or by fewer once they are `bytes` long, and answers with
/// them, packed, and their number. There is no further pair where that is 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Way::Up, count, bytes)
}

/// As `twindex_scan_asc_next_many`, downwards.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Way::Down, count, bytes)
}

/// Answers with the first pairs of a range of a sorted table (the last ones, in falling order, where
/// `reverse` is not 0): up to `count`, or fewer once they are `bytes` long, packed, and their number.
/// Bounds are as in `twindex_cursor`. The host goes on with the last key as excluded bound.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan(
    table: u32,
    lower_kind: u32,
    lower: usize,
    lower_length: usize,
    upper_kind: u32,
    upper: usize,
    upper_length: usize,
    reverse: u32,
    count: usize,
    bytes: usize,
) -> i32 {
    call(|state| {
        let range =
            range(&state.buffers, (lower_kind, lower, lower_length), (upper_kind, upper, upper_length))?;
        let mut cursor = state.handles.table(table)?.try_cursor(as_slices(&range))?;
        let way = if reverse == 0 { Way::Up } else { Way::Down };
        let output = state.output.start();
        let pairs = way.push_block(&mut cursor, output, count, bytes)?;
        output.finish(pairs);
        Ok(0)
    })
}
