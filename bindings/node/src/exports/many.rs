//! The verbs on many pairs: `begin`, then `stage` as often as it takes, then the verb, which works on what was
//! staged. So all arguments are converted and checked before the first write. Some are for
//! tables alone.

use twindex_durable::Table;

use crate::call::Call;
use crate::encoding::{BLOCK_ITEMS, Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::pairs::Pairs;
use crate::results::{More, Results};
use crate::staged::Staged;
use crate::state::{Of, State};

/// `begin(table, shape)`
pub(crate) fn begin<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let encodings = state.parts::<T>(number)?.table.encodings;
    state.staged.begin(number, encodings, call.number(1));
    Ok(Value::UNDEFINED)
}

/// `stage(bytes, ...items)`: an item that is bytes is passed as its length, and `bytes` has them one after the other.
pub(crate) fn stage<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut room = [Value::UNDEFINED; 1 + BLOCK_ITEMS];
    let [bytes, items @ ..] = call.all(&mut room) else { return Ok(Value::UNDEFINED) };
    let bytes = call.js.get_bytes(*bytes).unwrap_or_default();
    // Only what is whole comes back.
    let mut staged = std::mem::take(&mut state.staged);
    staged.add(call.js, &mut state.input, bytes, items)?;
    state.staged = staged;
    Ok(Value::UNDEFINED)
}

/// Runs a verb on what was staged, which is gone afterwards.
fn run<'c, T: Pairs, R>(
    state: &mut State,
    verb: impl FnOnce(&Of<T>, &Staged, &mut Results) -> Result<R, Fault<'c>>,
) -> Result<R, Fault<'c>> {
    let mut staged = std::mem::take(&mut state.staged);
    let parts = state.parts::<T>(staged.target)?;
    let outcome = verb(parts.table, &staged, parts.results);
    staged.clear();
    state.staged = staged;
    outcome
}

/// A `Buffer` with a 1 or a 0 for each.
pub(crate) fn booleans<'c>(js: Js<'c>, booleans: &[bool]) -> Answer<'c> {
    Ok(js.buffer(&collected(booleans.iter().copied().map(u8::from))?)?)
}

/// `insertMany(ttl)`, `replaceMany`, `upsertMany` and `deleteMany`: whether each took effect.
pub(crate) fn write<'c, T: Pairs, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let ttl = T::lifetime(call.js, call.argument(0));
    booleans(call.js, &run::<T, _>(state, |of, staged, _| of.thing.write_many::<VERB>(staged, ttl))?)
}

/// `containsMany()`
pub(crate) fn contains_many<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let found =
        run::<Table, _>(state, |of, staged, _| Ok(of.thing.in_memory().contains_many(&staged.keys()?)))?;
    booleans(call.js, &found)
}

/// `compareAndSwapMany()`: whether each was as expected.
pub(crate) fn compare_and_swap_many<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let done =
        run::<Table, _>(state, |of, staged, _| Ok(of.thing.compare_and_swap_many(&staged.swaps()?)?))?;
    booleans(call.js, &done)
}

/// `selectMany()`: the number of results to take.
pub(crate) fn select<'c, T: Pairs>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run::<T, _>(state, |of, staged, results| {
        results.begin(of.encodings, &[Column::Value]);
        of.thing.select_many(&staged.keys()?, results);
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
}

/// `incrementMany()`: the number of results to take.
pub(crate) fn increment_many<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run::<Table, _>(state, |of, staged, results| {
        results.begin(Encodings::default(), &[]);
        let sums = of.thing.increment_many(&staged.amounts()?)?;
        results.set_sums(sums.into_iter().zip(staged.bigints()));
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
}

/// `take(collect)`: the next block of the results.
pub(crate) fn take<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { results, prepared, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    let taken = results.take(call.js, crossing, call.argument(0), More::Held);
    if results.is_taken() {
        results.clear();
    }
    taken
}
