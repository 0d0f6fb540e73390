//! Batches of writes that are done all or not at all. The first argument is the number of a batch, the second that of
//! a table; see [`super::verbs`] for the others.

use twindex_durable::{Batch, Result};

use super::verbs::booleans;
use crate::call::{Call, Native};
use crate::crossing::Region;
use crate::encoding::{Column, Encodings};
use crate::fault::{Answer, Fault};
use crate::input::amount;
use crate::pairs::{DELETE, INSERT, REPLACE, UPSERT};
use crate::state::{Parts, State};
use crate::table::Table;

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `openBatch(store)`: the number of a batch.
    ("open_batch", |call, state| {
        let store = call.number(0);
        let batch = state.store(store)?.batch();
        call.give(state.add(store, Encodings::default(), batch)?)
    }),
    ("free_batch", super::free::<Batch>),
    // `batchLength(batch)`: the number of writes in it.
    ("batch_length", |call, state| {
        call.give(state.batches.get(call.number(0)).map_or(0, |batch| batch.thing.len()))
    }),
    // `batchInsert(batch, table, key, value)`, `batchReplace`, `batchUpsert` and, without a value, `batchDelete`
    ("batch_insert", write::<INSERT>),
    ("batch_replace", write::<REPLACE>),
    ("batch_upsert", write::<UPSERT>),
    ("batch_delete", write::<DELETE>),
    // `batchIncrement(batch, table, key, by)`
    ("batch_increment", |call, state| {
        let (by, _) = amount(call.js, call.argument(3))?;
        add(call, state, false, |batch, table, key, _| batch.increment(table, key, by))
    }),
    // `batchExpect(batch, table, key, value)`: `undefined` for absent.
    ("batch_expect", |call, state| {
        let has_value = !call.js.is_nothing(call.argument(3));
        add(call, state, has_value, |batch, table, key, value| {
            batch.expect(table, key, has_value.then_some(value))
        })
    }),
    // `commit(batch)`: whether each took effect. The batch is used up.
    ("commit", |call, state| {
        let batch = state.batches.close(call.number(0)).ok_or_else(Fault::closed)?;
        booleans(call.js, &batch.thing.commit()?)
    }),
];

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
    call.give(add(&mut batch.thing, table.thing.live()?, &input.key, &input.value)?)
}

fn write<'c, const VERB: u8>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    add(call, state, VERB != DELETE, |batch, table, key, value| match VERB {
        INSERT => batch.insert(table, key, value),
        REPLACE => batch.replace(table, key, value),
        UPSERT => batch.upsert(table, key, value),
        _ => batch.delete(table, key),
    })
}
