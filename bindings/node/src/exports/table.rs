//! The verbs on one pair. Their first argument is the number of a table.

use twindex::{Index, TableOptions};

use crate::call::Call;
use crate::crossing::Region;
use crate::encoding::{Column, Encoding, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::js::Value;
use crate::results::single;
use crate::state::{Of, Parts, State};

/// `openTable(store, name, index, keys, values, default, create)`: the number of a table, whose two codecs are then
/// results to take. Where `keys` or `values` is `undefined`, a table that is there keeps its codec, and a new one gets
/// the one called `default`.
pub(crate) fn open<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let named = |position| {
        let is_named = !call.js.is_nothing(call.argument(position));
        is_named.then(|| call.string(position)).transpose()
    };
    let (keys, values, default) = (named(3)?, named(4)?, call.string(5)?);
    let options = TableOptions::new(call.string(2)?.parse::<Index>()?).create(call.flag(6));
    let options = match &keys {
        Some(keys) => options.keys(keys),
        None => options.keys_if_new(&default),
    };
    let options = match &values {
        Some(values) => options.values(values),
        None => options.values_if_new(&default),
    };
    let store = call.number(0);
    let table = state.store(store)?.table_with(&call.string(1)?, options)?;
    state.results.begin(Encodings::default(), &[Column::Name]);
    let (keys, values) = table.codecs();
    state.results.push(keys.as_bytes());
    state.results.push(values.as_bytes());
    let encodings = Encodings::default();
    Ok(call.js.u32(state.tables.add(Of { store, encodings, thing: table }))?)
}

/// `seeTable(table, keysAreBytes, valuesAreBytes)`: says how its pairs cross, which is as strings until then.
pub(crate) fn see<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.tables.get_mut(call.number(0)).ok_or_else(Fault::closed)?.encodings = encodings(call);
    Ok(Value::UNDEFINED)
}

/// How pairs cross, in `(.., keysAreBytes, valuesAreBytes)`.
pub(super) fn encodings(call: &Call<'_>) -> Encodings {
    let encoding = |position| if call.flag(position) { Encoding::Bytes } else { Encoding::Text };
    Encodings { keys: encoding(1), values: encoding(2) }
}

/// `freeTable(table)`
pub(crate) fn free<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.tables.free(call.number(0));
    Ok(Value::UNDEFINED)
}

/// `size(table)`: the number of pairs.
pub(crate) fn size<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.parts(call.number(0))?.table.thing.len())?)
}

/// `tableMemory(table)`: in bytes.
pub(crate) fn memory<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.parts(call.number(0))?.table.thing.memory())?)
}

/// `clear(table)`
pub(crate) fn clear<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.parts(call.number(0))?.table.thing.clear()?;
    Ok(Value::UNDEFINED)
}

/// The table, with the key in `input.key`.
fn keyed<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s>, Fault<'c>> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    asked(call, state)
}

/// As [`keyed`], with the value in `input.value`.
fn paired<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s>, Fault<'c>> {
    state.input.ask(call.js, Region::Key, call.argument(1));
    state.input.ask(call.js, Region::Value, call.argument(2));
    let mut parts = asked(call, state)?;
    parts.settle_value(call.js, call.argument(2))?;
    Ok(parts)
}

/// The table, with the key that was asked for.
fn asked<'c, 's>(call: &Call<'c>, state: &'s mut State) -> Result<Parts<'s>, Fault<'c>> {
    let mut parts = state.parts(call.number(0))?;
    parts.settle_key(call.js, call.argument(1))?;
    Ok(parts)
}

/// `insert(table, key, value)`: whether it took effect.
pub(crate) fn insert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = paired(call, state)?;
    Ok(call.js.boolean(parts.table.thing.insert(&parts.input.key, &parts.input.value)?)?)
}

/// `replace(table, key, value)`: whether it took effect.
pub(crate) fn replace<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = paired(call, state)?;
    Ok(call.js.boolean(parts.table.thing.replace(&parts.input.key, &parts.input.value)?)?)
}

/// `upsert(table, key, value)`: true.
pub(crate) fn upsert<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = paired(call, state)?;
    Ok(call.js.boolean(parts.table.thing.upsert(&parts.input.key, &parts.input.value)?)?)
}

/// `delete(table, key)`: whether it took effect.
pub(crate) fn delete<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    Ok(call.js.boolean(parts.table.thing.delete(&parts.input.key)?)?)
}

/// `contains(table, key)`
pub(crate) fn contains<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    Ok(call.js.boolean(parts.table.thing.in_memory().contains(&parts.input.key))?)
}

/// `select(table, key)`: the value, see [`single`], or `undefined`.
pub(crate) fn select<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = keyed(call, state)?;
    let (key, out) = (&input.key, &mut input.value);
    out.clear();
    // Copied first: making a JavaScript value may collect garbage, and the engine is not to wait for that.
    match table.thing.in_memory().select_with(key, |value| out.extend_from_slice(value)) {
        Some(()) => single(call.js, crossing, Column::Value, table.encodings.values, out),
        None => Ok(Value::UNDEFINED),
    }
}

/// `increment(table, key, by)`: the sum, a number or a bigint like `by`.
pub(crate) fn increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let parts = keyed(call, state)?;
    let (by, is_bigint) = amount(call.js, call.argument(2))?;
    let sum = parts.table.thing.increment(&parts.input.key, by)?;
    Ok(if is_bigint { call.js.bigint(sum) } else { call.js.i64(sum) }?)
}

/// `compareAndSwap(table, key, expected, value)`: whether the value was as expected; `undefined` for none.
pub(crate) fn compare_and_swap<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut parts = keyed(call, state)?;
    let has_expected = parts.read_present(call.js, Region::Expected, call.argument(2))?;
    let has_value = parts.read_present(call.js, Region::Value, call.argument(3))?;
    let Parts { table, input, .. } = parts;
    let expected = has_expected.then_some(input.expected.as_slice());
    let value = has_value.then_some(input.value.as_slice());
    Ok(call.js.boolean(table.thing.compare_and_swap(&input.key, expected, value)?)?)
}
