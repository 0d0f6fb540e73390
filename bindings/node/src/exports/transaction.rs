//! Transactions, which JavaScript finds in `native.transaction`. The first argument is the number of one, the second that of a table
//! that it has opened.

use twindex_durable::AnyTable::{self, Expiring, Plain};
use twindex_durable::{Error, ExpiringTable, Result, Transaction};

use super::cache::show;
use super::scan::range;
use super::verbs::{Wanted, see_as, tell_any, ttl};
use crate::call::{Call, Native};
use crate::crossing::{Crossing, Region};
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::{Input, amount};
use crate::js::Value;
use crate::pairs::{INSERT, REPLACE, UPSERT, write_of};
use crate::results::{Results, optional};
use crate::state::{State, Thing, Tools};
use crate::transacting::Transacting;
use crate::walk::{DOWN, Halves};

pub(crate) const FUNCTIONS: [(&str, Native); 16] = [
    ("begin", begin),
    ("open", open),
    ("see", see),
    ("select", select),
    ("insert", write::<INSERT>),
    ("replace", write::<REPLACE>),
    ("upsert", write::<UPSERT>),
    ("delete", delete),
    ("increment", increment),
    ("swap", swap),
    ("ttl", time_left),
    ("touch", touch),
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
    let (wanted, number) = (Wanted::read(call)?, call.number(0));
    let owner = state.transactions.get(number)?.owner.store;
    let table = wanted.open(state.store(owner)?, twindex::BYTES, false, None)?;
    tell_any(&table, &mut state.results);
    Ok(call.js.u32(state.transactions.get_mut(number)?.thing.add(table)?)?)
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
    verb: impl FnOnce(&mut Transaction, &AnyTable, &Input) -> Result<T>,
) -> std::result::Result<T, Fault<'c>> {
    let keys = (Column::Key, parts.encodings.keys);
    parts.input.read(call.js, parts.crossing, Region::Key, keys, call.argument(2))?;
    parts.open.run(parts.table, |transaction, table| verb(transaction, table, parts.input))
}

/// What only tables whose pairs expire have, and lib/shared/transaction.js asks of no other.
fn expiring(table: &AnyTable) -> Result<&ExpiringTable> {
    match table {
        Expiring(table) => Ok(table),
        Plain(table) => Err(Error::WrongExpiry { table: table.name().into(), expires: false }),
    }
}

/// `select(transaction, table, key)`: as of a table.
fn select<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let value = on_key(call, &mut parts, |transaction, table, Input { key, .. }| match table {
        Plain(table) => transaction.select(table, key),
        Expiring(table) => transaction.expiring(table).select(key),
    })?;
    optional(call.js, parts.crossing, Column::Value, parts.encodings.values, value.as_deref())
}

/// `insert(transaction, table, key, value, ttl)`, `replace` and `upsert`: whether it takes effect.
fn write<'c, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let values = (Column::Value, parts.encodings.values);
    parts.input.read(call.js, parts.crossing, Region::Value, values, call.argument(3))?;
    let (verb, ttl) = (write_of(VERB), ttl(call, 4));
    let took = on_key(call, &mut parts, |transaction, table, Input { key, value, .. }| match table {
        Plain(table) => transaction.write(verb, table, key, value),
        Expiring(table) => transaction.expiring(table).write(verb, key, value, ttl),
    })?;
    Ok(call.js.boolean(took)?)
}

/// `delete(transaction, table, key)`: whether it takes effect.
fn delete<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let took = on_key(call, &mut parts, |transaction, table, Input { key, .. }| match table {
        Plain(table) => transaction.delete(table, key),
        Expiring(table) => transaction.expiring(table).delete(key),
    })?;
    Ok(call.js.boolean(took)?)
}

/// `increment(transaction, table, key, by, ttl)`: the sum, like `by`.
fn increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (by, is_bigint) = amount(call.js, call.argument(3))?;
    let mut parts = parts(call, state)?;
    let ttl = ttl(call, 4);
    let sum = on_key(call, &mut parts, |transaction, table, Input { key, .. }| match table {
        Plain(table) => transaction.increment(table, key, by),
        Expiring(table) => transaction.expiring(table).increment(key, by, ttl),
    })?;
    Ok(if is_bigint { call.js.bigint(sum) } else { call.js.i64(sum) }?)
}

/// `swap(transaction, table, key, expected, value)`: as `compareAndSwap` of a table whose pairs expire.
fn swap<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let mut read = |region, at| {
        let values = (Column::Value, parts.encodings.values);
        parts.input.read_present(call.js, parts.crossing, region, values, call.argument(at))
    };
    let (has_expected, has_value) = (read(Region::Expected, 3)?, read(Region::Value, 4)?);
    let took = on_key(call, &mut parts, |transaction, table, Input { key, value, expected, .. }| {
        let (expected, value) = (has_expected.then_some(&**expected), has_value.then_some(&**value));
        transaction.expiring(expiring(table)?).compare_and_swap(key, expected, value, None)
    })?;
    Ok(call.js.boolean(took)?)
}

/// `ttl(transaction, table, key)`: as of a table.
fn time_left<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = parts(call, state)?;
    let left = on_key(call, &mut parts, |transaction, table, Input { key, .. }| {
        transaction.expiring(expiring(table)?).ttl(key)
    })?;
    show(call.js, left)
}

/// `touch(transaction, table, key, ttl)`: whether the key was there.
fn touch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (mut parts, ttl) = (parts(call, state)?, ttl(call, 3));
    let took = on_key(call, &mut parts, |transaction, table, Input { key, .. }| {
        transaction.expiring(expiring(table)?).touch(key, ttl)
    })?;
    Ok(call.js.boolean(took)?)
}

/// `range(transaction, table, way, limit, from, low, to, high)`: the number of results to take, two a pair.
#[allow(clippy::cast_sign_loss, reason = "lib/shared/options.js has checked that it is a count")]
fn scan<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let is_down = call.number(2) == DOWN;
    let limit = call.js.get_f64(call.argument(3)).map_or(usize::MAX, |limit| limit as usize);
    let Parts { open, table, encodings, input, results, crossing } = parts(call, state)?;
    let range = range(call, (input, crossing), encodings.keys, 4)?;
    let pairs = open.run(table, |transaction, table| match table {
        Plain(table) => transaction.range(table, range, limit, is_down),
        Expiring(table) => transaction.expiring(table).range(range, limit, is_down),
    })?;
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
