//! The verbs on many pairs: `begin`, then `stage` as often as it takes, then the verb, which works on what was
//! staged. So all arguments are converted and checked before the first write.

use std::ops::Range;

use twindex::Swap;
use twindex_durable::Table;

use crate::call::Call;
use crate::fault::Fault;
use crate::input::{amount, append, trim};
use crate::js::{Answer, Js, Value};
use crate::memory::{collected, reserve};
use crate::output::{BLOCK_ITEMS, Results};
use crate::state::{Column, Encoding, Encodings, Of, Parts, State};

/// What has been staged.
#[derive(Default)]
pub(crate) struct Staged {
    table: u32,
    shape: &'static [Kind],
    bytes: Vec<u8>,
    items: Vec<Item>,
}

/// What an item is.
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
    fn clear(&mut self) {
        self.bytes.clear();
        trim(&mut self.bytes);
        self.items.clear();
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

    fn keys<'c>(&self) -> Result<Vec<&[u8]>, Fault<'c>> {
        collected(self.items.iter().map(|item| self.required(item)))
    }

    fn pairs<'c>(&self) -> Result<Vec<Pair<'_>>, Fault<'c>> {
        collected(self.items.chunks_exact(2).map(|pair| (self.required(&pair[0]), self.required(&pair[1]))))
    }

    fn amounts<'c>(&self) -> Result<Vec<(&[u8], i64)>, Fault<'c>> {
        collected(self.items.chunks_exact(2).map(|pair| match pair[1] {
            Item::Amount { by, .. } => (self.required(&pair[0]), by),
            Item::Bytes(_) | Item::None => (self.required(&pair[0]), 0),
        }))
    }

    /// Which amounts are bigints.
    fn bigints(&self) -> impl Iterator<Item = bool> {
        self.items.chunks_exact(2).map(|pair| matches!(pair[1], Item::Amount { is_bigint: true, .. }))
    }

    fn swaps<'c>(&self) -> Result<Vec<Swap<'_, &[u8]>>, Fault<'c>> {
        let swaps = self.items.chunks_exact(3);
        collected(swaps.map(|swap| (self.required(&swap[0]), self.bytes(&swap[1]), self.bytes(&swap[2]))))
    }
}

/// `begin(table, shape)`
pub(crate) fn begin<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.staged.clear();
    state.staged.table = call.number(0);
    state.staged.shape = SHAPES.get(call.number(1) as usize).copied().unwrap_or_default();
    state.parts(state.staged.table)?;
    Ok(Value::UNDEFINED)
}

/// `stage(bytes, ...items)`: an item that is bytes is passed as its length, and `bytes` has them one after the other.
pub(crate) fn stage<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut room = [Value::UNDEFINED; 1 + BLOCK_ITEMS];
    let [bytes, items @ ..] = call.all(&mut room) else { return Ok(Value::UNDEFINED) };
    let mut staged = std::mem::take(&mut state.staged);
    // Only what is whole comes back.
    stage_items(call.js, state, &mut staged, call.js.get_bytes(*bytes).unwrap_or_default(), items)?;
    state.staged = staged;
    Ok(Value::UNDEFINED)
}

fn stage_items<'c>(
    js: Js<'c>,
    state: &mut State,
    staged: &mut Staged,
    mut bytes: &[u8],
    items: &[Value<'c>],
) -> Result<(), Fault<'c>> {
    let Parts { table, input, .. } = state.parts(staged.table)?;
    reserve(&mut staged.items, items.len())?;
    for &argument in items {
        let kind = staged.shape[staged.items.len() % staged.shape.len().max(1)];
        let column = match kind {
            Kind::Key => Column::Key,
            Kind::ValueOrNone if js.is_nothing(argument) => {
                staged.items.push(Item::None);
                continue;
            }
            Kind::Value | Kind::ValueOrNone => Column::Value,
            Kind::Amount => {
                let (by, is_bigint) = amount(js, argument)?;
                staged.items.push(Item::Amount { by, is_bigint });
                continue;
            }
        };
        let start = staged.bytes.len();
        match table.encodings.of(column) {
            Encoding::Text => input.append_text(js, argument, column, &mut staged.bytes)?,
            Encoding::Bytes => {
                let own = js.get_u32(argument).and_then(|len| bytes.split_off(..len as usize));
                let needed = column.needs(Encoding::Bytes);
                append(&mut staged.bytes, own.ok_or_else(|| Fault::wrong_type(needed, argument))?)?;
            }
        }
        staged.items.push(Item::Bytes(start..staged.bytes.len()));
    }
    Ok(())
}

/// Runs a verb on what was staged, which is gone afterwards.
fn run<'c, T>(
    state: &mut State,
    verb: impl FnOnce(&Of<Table>, &Staged, &mut Results) -> Result<T, Fault<'c>>,
) -> Result<T, Fault<'c>> {
    let mut staged = std::mem::take(&mut state.staged);
    let parts = state.parts(staged.table)?;
    let outcome = verb(parts.table, &staged, parts.results);
    staged.clear();
    state.staged = staged;
    outcome
}

/// A `Buffer` with a 1 or a 0 for each.
pub(crate) fn booleans<'c>(js: Js<'c>, booleans: &[bool]) -> Answer<'c> {
    js.buffer(&collected(booleans.iter().copied().map(u8::from))?)
}

/// `insertMany()`: whether each took effect.
pub(crate) fn insert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run(state, |table, staged, _| Ok(table.thing.insert_many(&staged.pairs()?)?))?)
}

/// `replaceMany()`: whether each took effect.
pub(crate) fn replace<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run(state, |table, staged, _| Ok(table.thing.replace_many(&staged.pairs()?)?))?)
}

/// `upsertMany()`: whether each took effect.
pub(crate) fn upsert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run(state, |table, staged, _| Ok(table.thing.upsert_many(&staged.pairs()?)?))?)
}

/// `deleteMany()`: whether each took effect.
pub(crate) fn delete<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run(state, |table, staged, _| Ok(table.thing.delete_many(&staged.keys()?)?))?)
}

/// `containsMany()`
pub(crate) fn contains<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(call.js, &run(state, |table, staged, _| Ok(table.thing.contains_many(&staged.keys()?)))?)
}

/// `compareAndSwapMany()`: whether each was as expected.
pub(crate) fn compare_and_swap<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    booleans(
        call.js,
        &run(state, |table, staged, _| Ok(table.thing.compare_and_swap_many(&staged.swaps()?)?))?,
    )
}

/// `selectMany()`: the number of results to take.
pub(crate) fn select<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run(state, |table, staged, results| {
        results.begin(table.encodings, &[Column::Value]);
        table.thing.select_many(&staged.keys()?, |_, value| match value {
            Some(value) => results.push(value),
            None => results.push_absent(),
        });
        results.check()?;
        Ok(results.len())
    })?;
    call.js.usize(count)
}

/// `incrementMany()`: the number of results to take.
pub(crate) fn increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run(state, |table, staged, results| {
        results.begin(Encodings::default(), &[]);
        let sums = table.thing.increment_many(&staged.amounts()?)?;
        results.set_sums(sums.into_iter().zip(staged.bigints()));
        results.check()?;
        Ok(results.len())
    })?;
    call.js.usize(count)
}
