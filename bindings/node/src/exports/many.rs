//! The verbs on many pairs: `begin`, then `stage` as often as it takes, then the verb, which works on what was
//! staged. So all arguments are converted and checked before the first write. Of a cache they begin with `beginCached`.

use twindex::Cache;
use twindex_durable::Table;

use super::cache::ttl;
use crate::call::Call;
use crate::encoding::{BLOCK_ITEMS, Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::results::{More, Results};
use crate::staged::{Staged, Target};
use crate::state::{Of, State};

/// `begin(table, shape)`
pub(crate) fn begin<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    begin_for(Target::Table(call.number(0)), call, state)
}

/// `beginCached(cache, shape)`
pub(crate) fn begin_cached<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    begin_for(Target::Cache(call.number(0)), call, state)
}

fn begin_for<'c>(target: Target, call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.staged.begin(target, call.number(1));
    state.staging(target)?;
    Ok(Value::UNDEFINED)
}

/// `stage(bytes, ...items)`: an item that is bytes is passed as its length, and `bytes` has them one after the other.
pub(crate) fn stage<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut room = [Value::UNDEFINED; 1 + BLOCK_ITEMS];
    let [bytes, items @ ..] = call.all(&mut room) else { return Ok(Value::UNDEFINED) };
    let bytes = call.js.get_bytes(*bytes).unwrap_or_default();
    // Only what is whole comes back.
    let mut staged = std::mem::take(&mut state.staged);
    let (input, encodings) = state.staging(staged.target)?;
    staged.add(call.js, input, encodings, bytes, items)?;
    state.staged = staged;
    Ok(Value::UNDEFINED)
}

/// Runs a verb of a table on what was staged, which is gone afterwards.
fn run<'c, T>(
    state: &mut State,
    verb: impl FnOnce(&Of<Table>, &Staged, &mut Results) -> Result<T, Fault<'c>>,
) -> Result<T, Fault<'c>> {
    let mut staged = std::mem::take(&mut state.staged);
    let Target::Table(table) = staged.target else { return Err(Fault::bug()) };
    let parts = state.parts(table)?;
    let outcome = verb(parts.table, &staged, parts.results);
    staged.clear();
    state.staged = staged;
    outcome
}

/// The same of a cache.
fn run_cached<'c, T>(
    state: &mut State,
    verb: impl FnOnce(&Of<Cache>, &Staged, &mut Results) -> Result<T, Fault<'c>>,
) -> Result<T, Fault<'c>> {
    let mut staged = std::mem::take(&mut state.staged);
    let Target::Cache(cache) = staged.target else { return Err(Fault::bug()) };
    let parts = state.cache_parts(cache)?;
    let outcome = verb(parts.table, &staged, parts.results);
    staged.clear();
    state.staged = staged;
    outcome
}

/// A `Buffer` with a 1 or a 0 for each.
pub(crate) fn booleans<'c>(js: Js<'c>, booleans: &[bool]) -> Answer<'c> {
    Ok(js.buffer(&collected(booleans.iter().copied().map(u8::from))?)?)
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
    booleans(
        call.js,
        &run(state, |table, staged, _| Ok(table.thing.in_memory().contains_many(&staged.keys()?)))?,
    )
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
        table.thing.in_memory().select_many(&staged.keys()?, |_, value| match value {
            Some(value) => results.push(value),
            None => results.push_absent(),
        });
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
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
    Ok(call.js.usize(count)?)
}

/// `cacheUpsertMany(ttl)`: true for each. What was written before one that fails stays written.
pub(crate) fn upsert_cached<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let ttl = ttl(call, 0);
    let flags = run_cached(state, |cache, staged, _| {
        each(staged.pairs()?, |(key, value)| match ttl {
            Some(ttl) => cache.thing.upsert_for(key, value, ttl),
            None => cache.thing.upsert(key, value),
        })
    })?;
    booleans(call.js, &flags)
}

/// `deleteManyCached()`: whether each took effect.
pub(crate) fn delete_cached<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let flags = run_cached(state, |cache, staged, _| each(staged.keys()?, |key| cache.thing.delete(key)))?;
    booleans(call.js, &flags)
}

/// `cacheSelectMany()`: the number of results to take.
pub(crate) fn select_cached<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let count = run_cached(state, |cache, staged, results| {
        results.begin(cache.encodings, &[Column::Value]);
        for key in staged.keys()? {
            if cache.thing.select_with(key, |value| results.push(value)).is_none() {
                results.push_absent();
            }
        }
        results.check()?;
        Ok(results.len())
    })?;
    Ok(call.js.usize(count)?)
}

/// Writes each, up to the first that fails.
fn each<'c, T>(items: Vec<T>, write: impl Fn(T) -> twindex::Result<bool>) -> Result<Vec<bool>, Fault<'c>> {
    let mut flags = collected(items.iter().map(|_| false))?;
    for (flag, item) in flags.iter_mut().zip(items) {
        *flag = write(item)?;
    }
    Ok(flags)
}

/// `take(collect)`: the next block of the results.
pub(crate) fn take<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let State { results, prepared, .. } = state;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    results.take(call.js, crossing, call.argument(0), More::Held)
}
