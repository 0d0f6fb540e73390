//! Batches of writes that are done all or not at all. The first argument is the number of a batch, the second that of
//! a table; see [`super::verbs`] for the others.

use twindex_durable::{Batch, Result};

use super::verbs::booleans;
use crate::call::Call;
use crate::crossing::Region;
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::js::Value;
use crate::pairs::{DELETE, INSERT, REPLACE, UPSERT};
use crate::state::{Parts, State};
use crate::table::Table;

/// `openBatch(store)`: the number of a batch.
pub(crate) fn open_batch<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = call.number(0);
    let batch = state.store(store)?.batch();
    Ok(call.js.u32(state.add(store, Encodings::default(), batch)?)?)
}

/// `batchLength(batch)`: the number of writes in it.
pub(crate) fn batch_length<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.batches.get(call.number(0)).map_or(0, |batch| batch.thing.len()))?)
}

fn add<'c>(
    call: &Call<'c>,
    state: &mut State,
    has_value: bool,
    add: impl FnOnce(&mut Batch, &twindex_durable::Table, &[u8], &[u8]) -> Result<()>,
) -> Answer<'c> {
    let Parts { table, input, crossing, .. } = state.parts::<Table>(call.number(1))?;
    let Encodings { keys, values } = table.encodings;
    input.read(call.js, crossing, Region::Key, (Column::Key, keys), call.argument(2))?;
    input.value.clear();
    if has_value {
        input.read(call.js, crossing, Region::Value, (Column::Value, values), call.argument(3))?;
    }
    let State { batches, tables, input, .. } = state;
    let batch = batches.get_mut(call.number(0))?;
    let table = tables.get(call.number(1))?;
    add(&mut batch.thing, table.thing.live()?, &input.key, &input.value)?;
    Ok(Value::UNDEFINED)
}

/// `batchInsert(batch, table, key, value)`, `batchReplace`, `batchUpsert` and, without a value, `batchDelete`
pub(crate) fn write<'c, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    add(call, state, VERB != DELETE, |batch, table, key, value| match VERB {
        INSERT => batch.insert(table, key, value),
        REPLACE => batch.replace(table, key, value),
        UPSERT => batch.upsert(table, key, value),
        _ => batch.delete(table, key),
    })
}

/// `batchIncrement(batch, table, key, by)`
pub(crate) fn batch_increment<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (by, _) = amount(call.js, call.argument(3))?;
    add(call, state, false, |batch, table, key, _| batch.increment(table, key, by))
}

/// `batchExpect(batch, table, key, value)`: `undefined` for absent.
pub(crate) fn batch_expect<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let has_value = !call.js.is_nothing(call.argument(3));
    add(call, state, has_value, |batch, table, key, value| {
        batch.expect(table, key, has_value.then_some(value))
    })
}

/// `commit(batch)`: whether each took effect. The batch is used up.
pub(crate) fn commit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let batch = state.batches.close(call.number(0)).ok_or_else(Fault::closed)?;
    booleans(call.js, &batch.thing.commit()?)
}
