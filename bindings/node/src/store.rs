//! Functions on stores. Their first argument is the number of a store.

use std::sync::Arc;

use napi::bindgen_prelude::BufferSlice;
use napi::{Env, JsValue};
use twindex::{Index, Store};

use crate::call::Call;
use crate::fault::Fault;
use crate::input::Input;
use crate::js::{Answer, Value};
use crate::output::BLOCK_ITEMS;
use crate::shared;
use crate::state::{Column, Encodings, OpenStore, State};

/// An argument that is a string; `lib/` has checked that it is one.
pub(crate) fn string<'c>(call: &Call<'c>, position: usize) -> Result<String, Fault<'c>> {
    let mut bytes = Vec::new();
    let argument = call.argument(position);
    Input::default().append_text(call.js, argument, Column::Key, &mut bytes).map_err(
        |fault| match fault {
            Fault::Type { got, .. } => {
                Fault::Type { needed: "a name or path is a string without lone surrogates", got }
            }
            other => other,
        },
    )?;
    String::from_utf8(bytes).map_err(|_| Fault::Panic)
}

fn add<'c>(call: &Call<'c>, state: &mut State, store: OpenStore) -> Answer<'c> {
    call.js.u32(state.stores.add(store))
}

/// `openStore()`: the number of a new store.
pub(crate) fn open<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    add(call, state, OpenStore::Own(Store::new()))
}

/// `openShared(name)`: the number of the process's store of that name.
pub(crate) fn open_shared<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let named: Arc<_> = shared::open(&string(call, 0)?);
    add(call, state, OpenStore::Shared(named))
}

/// `loadBytes(bytes)`: the number of a store with what `dump` gave.
pub(crate) fn load_bytes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let got = call.argument(0);
    let mut bytes = call.js.get_bytes(got).ok_or(Fault::Type { needed: "a dump is a Uint8Array", got })?;
    add(call, state, OpenStore::Own(Store::load(&mut bytes)?))
}

/// `loadFile(path)`: the number of a store with what `save` wrote.
pub(crate) fn load_file<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = twindex_durable::load(string(call, 0)?)?;
    add(call, state, OpenStore::Own(store))
}

/// `closeStore(store)`: lets go of the store and all that was opened through it.
pub(crate) fn close<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = call.number(0);
    state.cursors.close_where(|cursor| cursor.store == store);
    state.walks.close_where(|walk| walk.store == store);
    state.tables.close_where(|table| table.store == store);
    state.stores.close(store);
    Ok(Value::UNDEFINED)
}

/// `freeStore(store)`: as `close`, for an object that is gone.
pub(crate) fn free<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    close(call, state)?;
    state.stores.free(call.number(0));
    Ok(Value::UNDEFINED)
}

/// `dropTable(store, name)`: whether it was there.
pub(crate) fn drop_table<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?;
    call.js.boolean(store.drop_table(&string(call, 1)?))
}

/// `tables(store)`: the number of results to take, two a table: its name and its index.
pub(crate) fn tables<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    const { assert!(BLOCK_ITEMS.is_multiple_of(2)) };
    let tables = state.store(call.number(0))?.tables();
    state.results.begin(Encodings::default());
    for table in tables {
        state.results.push(Column::Key, Some(table.name().as_bytes()));
        state.results.push(Column::Value, Some(table.index().name().as_bytes()));
    }
    call.js.usize(state.results.len())
}

/// `storeMemory(store)`: in bytes.
pub(crate) fn memory<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    call.js.usize(state.store(call.number(0))?.memory())
}

/// `memoryLimit(store)`: in bytes, `undefined` for none.
pub(crate) fn memory_limit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    match state.store(call.number(0))?.memory_limit() {
        Some(limit) => call.js.usize(limit),
        None => Ok(Value::UNDEFINED),
    }
}

/// `setMemoryLimit(store, bytes)`: `undefined` for none.
#[allow(clippy::cast_sign_loss, reason = "lib/store.cjs has checked that it is a count")]
pub(crate) fn set_memory_limit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let limit = call.js.get_f64(call.argument(1)).map(|limit| limit as usize);
    state.store(call.number(0))?.set_memory_limit(limit);
    Ok(Value::UNDEFINED)
}

/// `dump(store)`: a `Buffer`.
pub(crate) fn dump<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let mut bytes = Vec::new();
    state.store(call.number(0))?.dump(&mut bytes)?;
    let env = Env::from_raw(call.js.env());
    let buffer = BufferSlice::from_data(&env, bytes).map_err(|error| Fault::Node(error.status as i32))?;
    // SAFETY: it was made in the handle scope of the running call.
    Ok(unsafe { Value::new(buffer.raw()) })
}

/// `save(store, path)`: `dump`, to a file.
pub(crate) fn save<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    twindex_durable::save(state.store(call.number(0))?, string(call, 1)?)?;
    Ok(Value::UNDEFINED)
}

/// `hash` or `sorted`, or an error of the engine.
pub(crate) fn index<'c>(name: &str) -> Result<Index, Fault<'c>> {
    Ok(name.parse::<Index>()?)
}
