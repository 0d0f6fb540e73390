//! Transactions, which JavaScript finds in `native.transaction`. The first argument is the number of one, the second that of a table
//! that it has opened.

use twindex_durable::{Result, Table, Transaction};

use super::scan::range;
use super::verbs::{Wanted, see_as, tell};
use crate::call::{Call, Native};
use crate::crossing::{Crossing, Region};
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::{Input, amount};
use crate::js::Value;
use crate::pairs::{INSERT, REPLACE, UPSERT, write_of};
use crate::results::{Results, optional};
use crate::shared::Refusal;
use crate::state::{State, Thing, Tools};
use crate::transacting::Transacting;
use crate::walk::{DOWN, Halves};

pub(crate) const FUNCTIONS: [(&str, Native); 13] = [
    ("begin", begin),
    ("open", open),
    ("see", see),
    ("select", select),
    ("insert", write::<INSERT>),
    ("replace", write::<REPLACE>),
    ("upsert", write::<UPSERT>),
    ("delete", delete),
    ("increment", increment),
    ("range", scan),
    ("has_conflict", has_conflict),
    ("commit", commit),
    ("free", super::free::<Transacting>),
];

/// `begin(store)`: the number of a transaction.
fn begin<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = call.number(0);
    let begun = Transacting::begin(state.store(store)?)?;
    Ok(call.js.u32(state.add(store, Encodings::default(), begun)?)?)
}

/// `open(transaction, name, index, keys, values)`: the number of a table in the transaction; results as of `openTable`.
fn open<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let wanted = Wanted::read(call)?;
    let open = &mut state.transactions.get_mut(call.number(0))?.thing;
    let table = open.find(&wanted.name).map_err(Refusal::unless_plain)?;
    wanted.check(table.in_memory())?;
    tell(table.in_memory(), &mut state.results);
    Ok(call.js.u32(open.add(table)?)?)
}

/// `see(transaction, table, keysAreBytes, valuesAreBytes)`: as of a table.
fn see<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let open = &mut state.transactions.get_mut(call.number(0))?.thing;
    *open.encodings(call.number(1))? = see_as(call, 2);
    Ok(Value::UNDEFINED)
}

/// What a verb works with.
struct Parts<'s> {
    open: &'s mut Transacting,
    table: u32,
    encodings: Encodings,
    input: &'s mut Input,
    results: &'s mut Results,
    crossing: &'s mut Crossing,
}

fn parts<'c, 's>(call: &Call<'c>, state: &'s mut State) -> std::result::Result<Parts<'s>, Fault<'c>> {
    let (all, Tools { input, results, prepared }) = Transacting::all(state);
    let (open, table) = (&mut all.get_mut(call.number(0))?.thing, call.number(1));
    let encodings = *open.encodings(table)?;
    let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
    Ok(Parts { open, table, encodings, input, results, crossing })
}

/// Does a verb on a key, which is in argument 2.
fn on_key<'c, T>(
    call: &Call<'c>,
    parts: &mut Parts<'_>,
    verb: impl FnOnce(&mut Transaction, &Table, &[u8], &[u8]) -> Result<T>,
) -> std::result::Result<T, Fault<'c>> {
    let keys = (Column::Key, parts.encodings.keys);
    parts.input.read(call.js, parts.crossing, Region::Key, keys, call.argument(2))?;
    let Input { key, value, .. } = &*parts.input;
    parts.open.run(parts.table, |transaction, table| verb(transaction, table, key, value))
}

/// `select(transaction, table, key)`: as of a table.
fn select<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let value = on_key(call, &mut parts, |transaction, table, key, _| transaction.select(table, key))?;
    optional(call.js, parts.crossing, Column::Value, parts.encodings.values, value.as_deref())
}

/// `insert(transaction, table, key, value)`, `replace` and `upsert`: whether it takes effect.
fn write<'c, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let values = (Column::Value, parts.encodings.values);
    parts.input.read(call.js, parts.crossing, Region::Value, values, call.argument(3))?;
    let took = on_key(call, &mut parts, |transaction, table, key, value| {
        transaction.write(write_of(VERB), table, key, value)
    })?;
    Ok(call.js.boolean(took)?)
}

/// `delete(transaction, table, key)`: whether it takes effect.
fn delete<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let took = on_key(call, &mut parts, |transaction, table, key, _| transaction.delete(table, key))?;
    Ok(call.js.boolean(took)?)
}

/// `increment(transaction, table, key, by)`: the sum, like `by`.
fn increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (by, is_bigint) = amount(call.js, call.argument(3))?;
    let mut parts = parts(call, state)?;
    let sum = on_key(call, &mut parts, |transaction, table, key, _| transaction.increment(table, key, by))?;
    Ok(if is_bigint { call.js.bigint(sum) } else { call.js.i64(sum) }?)
}

/// `range(transaction, table, way, limit, from, low, to, high)`: the number of results to take, two a pair.
#[allow(clippy::cast_sign_loss, reason = "lib/shared/options.js has checked that it is a count")]
fn scan<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let is_down = call.number(2) == DOWN;
    let limit = call.js.get_f64(call.argument(3)).map_or(usize::MAX, |limit| limit as usize);
    let Parts { open, table, encodings, input, results, crossing } = parts(call, state)?;
    let range = range(call, (input, crossing), encodings.keys, 4)?;
    let pairs = open.run(table, |transaction, table| transaction.range(table, range, limit, is_down))?;
    results.begin(encodings, Halves::BOTH.columns());
    for (key, value) in &pairs {
        Halves::BOTH.push(results, key, value);
    }
    results.check()?;
    Ok(call.js.usize(results.len())?)
}

/// `hasConflict(transaction)`: whether it can only be begun again.
fn has_conflict<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let open = state.transactions.get(call.number(0));
    Ok(call.js.boolean(open.is_ok_and(|open| open.thing.has_conflict()))?)
}

/// `commit(transaction)`: fails with `TWINDEX_CONFLICT` if something that it read has changed.
fn commit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    state.transactions.get(number)?;
    let open = state.transactions.close(number).ok_or_else(Fault::bug)?;
    open.thing.commit()?;
    Ok(Value::UNDEFINED)
}
