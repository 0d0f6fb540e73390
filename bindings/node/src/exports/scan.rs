//! Cursors, which go pair by pair, and walks, which go block by block.

use std::ops::Bound;

use twindex::prefix_range;

use crate::call::{Call, Native};
use crate::crossing::{Crossing, Region};
use crate::encoding::{BLOCK_ITEMS, Column, Encoding, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::{Input, trim};
use crate::js::Value;
use crate::memory::refused;
use crate::pairs::Tabular;
use crate::results::{More, optional, single};
use crate::state::{Of, Parts, State, Thing, Tools};
use crate::walk::{Cursor, DOWN, Halves, Range, Walk, Way, fill, pass};

/// The range in `(from, low, to, high)` from argument `first` on: `from` is 0 for none, 1 for `low` and after, 2 for
/// after `low`, 3 for what begins with `low`; `to` is 0 for none, 1 for up to `high`, 2 for before `high`, 3 for up to the end of
/// what begins with `high`.
pub(super) fn range<'c>(
    call: &Call<'c>,
    (input, crossing): (&mut Input, &Crossing),
    keys: Encoding,
    first: usize,
) -> Result<Range, Fault<'c>> {
    let mut read = |at: usize, region| {
        let kind = call.number(at);
        if kind != 0 {
            input.read(call.js, crossing, region, (Column::Key, keys), call.argument(at + 1))?;
        }
        Ok::<_, Fault<'c>>(kind)
    };
    let (from, to) = (read(first, Region::Key)?, read(first + 2, Region::Value)?);
    let bound = |kind, key: &Vec<u8>| match kind {
        1 => Bound::Included(key.clone()),
        2 => Bound::Excluded(key.clone()),
        _ => Bound::Unbounded,
    };
    let (mut lower, mut upper) = (bound(from, &input.key), bound(to, &input.value));
    if from == 3 {
        let (start, end) = prefix_range(&input.key);
        lower = start;
        if to == 0 {
            upper = end;
        }
    }
    if to == 3 {
        upper = prefix_range(&input.value).1;
    }
    Ok((lower, upper))
}

fn cursor<'c, T: Tabular>(call: &Call<'c>, state: &mut State, first: usize) -> Result<Of<Cursor>, Fault<'c>> {
    let Parts { table, input, crossing, .. } = state.parts::<T>(call.number(0))?;
    let range = range(call, (input, crossing), table.encodings.keys, first)?;
    let thing = table.thing.cursor(range)?;
    Ok(Of { owner: table.owner, encodings: table.encodings, thing })
}

/// `first(table)`, `last(table)`: the number of results to take, none or the pair at that end. `popFirst` and `popLast` remove it.
pub(super) fn end<'c, T: Tabular, const LAST: bool, const POPS: bool>(
    call: &Call<'c>,
    state: &mut State,
) -> Answer<'c> {
    let Parts { table, results, .. } = state.parts::<T>(call.number(0))?;
    let pair = table.thing.end::<LAST, POPS>()?;
    results.begin(table.encodings, Halves::BOTH.columns());
    if let Some((key, value)) = &pair {
        Halves::BOTH.push(results, key, value);
    }
    results.check()?;
    call.give(results.len())
}

/// `deleteRange(table, from, low, to, high)`: how many pairs there were.
pub(super) fn delete_range<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = state.parts::<T>(call.number(0))?;
    let range = range(call, (input, crossing), table.encodings.keys, 1)?;
    call.give(table.thing.delete_range(range)?)
}

// --- cursors and walks

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    ("free_cursor", super::free::<Cursor>),
    // `seek(cursor, key)`: moves before the first pair from a key on.
    ("seek", |call, state| {
        let (cursors, Tools { input, prepared, .. }) = Cursor::all(state);
        let cursor = cursors.get_mut(call.number(0))?;
        let crossing = &prepared.as_ref().ok_or_else(Fault::bug)?.crossing;
        let keys = (Column::Key, cursor.encodings.keys);
        input.read(call.js, crossing, Region::Key, keys, call.argument(1))?;
        call.give(cursor.thing.seek(&input.key))
    }),
    // `cursorKey(cursor)`: the key of the pair that it is on, see [`single`], or `undefined`.
    ("cursor_key", |call, state| {
        let Parts { table: cursor, crossing, .. } = state.parts::<Cursor>(call.number(0))?;
        optional(call.js, crossing, Column::Key, cursor.encodings.keys, cursor.thing.key())
    }),
    // `cursorValue(cursor)`: the value that this key has now, or `undefined`.
    ("cursor_value", |call, state| {
        let Parts { table: cursor, crossing, .. } = state.parts::<Cursor>(call.number(0))?;
        let value = cursor.thing.value();
        optional(call.js, crossing, Column::Value, cursor.encodings.values, value.as_deref())
    }),
    // `ascNext(cursor)`: the next pair as one string, with the length of the key in the first word behind the crossing buffer; or the
    // key alone, and `pairValue` has its value. `descNext(cursor)`: the same downwards.
    ("asc_next", |call, state| step(call, state, Cursor::scan_asc_next)),
    ("desc_next", |call, state| step(call, state, Cursor::scan_desc_next)),
    // `pairValue(cursor)`: the value of the pair that the cursor has just returned the key of.
    ("pair_value", |call, state| {
        let values = state.cursors.get(call.number(0))?.encodings.values;
        let mut value = std::mem::take(&mut state.pair_value);
        let answer = single(call.js, state.crossing()?, Column::Value, values, &value);
        trim(&mut value);
        state.pair_value = value;
        answer
    }),
    // `ascNextMany(cursor, limit, collect)`, `descNextMany`: a block of at most `limit` pairs.
    ("asc_next_many", |call, state| steps(call, state, false)),
    ("desc_next_many", |call, state| steps(call, state, true)),
    ("free_walk", super::free::<Walk>),
    // `walk(walk, collect)`: the next block.
    ("walk", |call, state| {
        let Of { encodings, thing: walk, .. } = state.walks.get_mut(call.number(0))?;
        state.results.begin(*encodings, walk.halves.columns());
        let is_more = walk.fill(&mut state.results);
        take_block(call, state, 1, if is_more { More::Elsewhere } else { More::Nothing })
    }),
];

/// `openCursor(table, from, low, to, high)`: the number of a cursor.
pub(super) fn open_cursor<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let cursor = cursor::<T>(call, state, 1)?;
    call.give(state.cursors.add(cursor).map_err(|_| refused())?)
}

/// A pair of strings of up to so many bytes crosses as one string. Keeping one of the two keeps both.
const PAIR_BYTES: usize = 1 << 10;
/// What stands for the length of the key where only that crosses.
const NO_PAIR: u32 = u32::MAX;

type Step = fn(&mut Cursor) -> Option<(&[u8], &[u8])>;

fn step<'c>(call: &Call<'c>, state: &mut State, step: Step) -> Answer<'c> {
    let State { cursors, input, prepared, pair_value, .. } = state;
    let cursor = cursors.get_mut(call.number(0))?;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let encodings = cursor.encodings;
    let Some((key, value)) = step(&mut cursor.thing) else { return Ok(Value::UNDEFINED) };
    input.key.clear();
    input.key.extend_from_slice(key);
    let key_bytes = input.key.len();
    if encodings == Encodings::default() && key_bytes + value.len() <= PAIR_BYTES {
        input.key.extend_from_slice(value);
        if input.key.is_ascii() {
            crossing.note(0, key_bytes as u32);
            return Ok(call.js.text(&input.key).ok_or_else(Fault::bug)??);
        }
        input.key.truncate(key_bytes);
    }
    pair_value.clear();
    pair_value.extend_from_slice(value);
    crossing.note(0, NO_PAIR);
    single(call.js, crossing, Column::Key, encodings.keys, &input.key)
}

fn steps<'c>(call: &Call<'c>, state: &mut State, is_down: bool) -> Answer<'c> {
    let wanted = (call.number(1) as usize).min(BLOCK_ITEMS / 2);
    let cursor = state.cursors.get_mut(call.number(0))?;
    state.results.begin(cursor.encodings, Halves::BOTH.columns());
    let is_more =
        fill(&mut cursor.thing, wanted, &mut { wanted }, &mut state.results, |cursor, limit, results| {
            pass(cursor, is_down, limit, Halves::BOTH, results)
        });
    take_block(call, state, 2, if is_more { More::Elsewhere } else { More::Nothing })
}

/// The block that is in `results`, for the function in that argument.
fn take_block<'c>(call: &Call<'c>, state: &mut State, collect: usize, more: More) -> Answer<'c> {
    let State { results, prepared, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let taken = results.take(call.js, crossing, call.argument(collect), more);
    results.clear();
    taken
}

/// `openWalk(table, halves, way, limit, from, low, to, high)`: the number of a walk. `halves` is 1 for keys, 2 for
/// values, 3 for both; `way` is 0 for any, 1 for up, 2 for down, and only these two have a range.
pub(super) fn open_walk<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let halves = Halves::of(call.number(1));
    let left = call.count(3).unwrap_or(usize::MAX);
    let way = match call.number(2) {
        0 => state.parts::<T>(call.number(0))?.table.thing.walk(),
        way => Way::Along(cursor::<T>(call, state, 4)?.thing, way == DOWN),
    };
    let table = state.parts::<T>(call.number(0))?.table;
    let (owner, encodings) = (table.owner, table.encodings);
    call.give(state.add(owner, encodings, Walk::new(way, halves, left))?)
}

/// `scanBlock(table, way, limit, collect, from, low, to, high)`: the first pairs of a range, in one block, without a walk that
/// has to be freed. Where they are too large for one block, there is a walk to the others.
pub(super) fn scan_block<'c, T: Tabular>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Of { owner, encodings, thing } = cursor::<T>(call, state, 4)?;
    let limit = (call.number(2) as usize).min(BLOCK_ITEMS / 2);
    let mut walk = Walk::short(Way::Along(thing, call.number(1) == DOWN), limit);
    state.results.begin(encodings, Halves::BOTH.columns());
    state.results.expect_one_block();
    let more = if walk.fill(&mut state.results) {
        More::Walk(state.add(owner, encodings, walk)?)
    } else {
        More::Nothing
    };
    take_block(call, state, 3, more)
}
