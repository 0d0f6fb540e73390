//! Functions on stores. Their first argument is the number of a store. Where the last one is `isLater`, the answer is a
//! promise if that is 1.

use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use twindex_durable::{Dump, Durability, Store};

use super::task::{self, Outcome, gauge, torn};
use crate::call::Call;
use crate::encoding::BLOCK_ITEMS;
use crate::fault::{Answer, Fault};
use crate::gauge::Gauge;
use crate::input::append;
use crate::js::Value;
use crate::memory::{Growing, refused};
use crate::module;
use crate::shared::{Asked, Refusal, Shared};
use crate::state::State;

#[allow(clippy::cast_sign_loss, reason = "lib/shared/options.js has checked that it is a count")]
fn limit(call: &Call<'_>, position: usize) -> Option<usize> {
    call.js.get_f64(call.argument(position)).map(|limit| limit as usize)
}

fn add<'c>(call: &Call<'c>, state: &mut State, store: Shared) -> Answer<'c> {
    Ok(call.js.u32(state.stores.add(store).map_err(|_| refused())?)?)
}

// --- open and close

/// `openStore()`: the number of a new store.
pub(crate) fn open_store<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    add(call, state, Shared::own(Store::new()))
}

/// `openShared(name)`: the number of the process's store of that name.
pub(crate) fn open_shared<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let named = Shared::named(&call.string(0)?)?;
    add(call, state, named)
}

/// `loadedModules()`: an array of the files that this process has code from, as JSON.
pub(crate) fn loaded_modules<'c>(call: &Call<'c>, _: &mut State) -> Answer<'c> {
    Ok(call.js.json(&module::loaded().into())?)
}

/// `hasShared(name)`: whether this copy of the package has a store of that name. Another copy asks, whatever its version:
/// this keeps its name and meaning for ever.
pub(crate) fn has_shared<'c>(call: &Call<'c>, _: &mut State) -> Answer<'c> {
    Ok(call.js.boolean(Shared::is_named(&call.string(0)?))?)
}

/// `openFile(path, durability, readOnly, existing, memoryLimit, gauge, isLater)`: the number of the process's store in
/// that file.
pub(crate) fn open_file<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let path = call.string(0)?;
    let gauge = gauge(call, state, 5);
    let asked = Asked {
        durability: call.string(1)?.parse::<Durability>()?,
        read_only: call.flag(2),
        existing: call.flag(3),
        memory_limit: limit(call, 4),
        progress: Some(Box::new(move |progress| gauge.note(progress))),
    };
    let task = move || Shared::in_file(path.as_ref(), asked).map(Outcome::Store);
    task::run(call.js, state, call.flag(6), Box::new(task))
}

/// `loadBytes(bytes, memoryLimit, gauge, isLater)`: the number of a store with what `dump` gave.
pub(crate) fn load_bytes<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let got = call.argument(0);
    let bytes = call.js.get_bytes(got).ok_or_else(|| Fault::wrong_type("a dump is a Uint8Array", got))?;
    let (limit, gauge) = (limit(call, 1), gauge(call, state, 2));
    if !call.flag(3) {
        return add(call, state, load(bytes, limit, &gauge)?);
    }
    // JavaScript may write to its own meanwhile.
    let mut copy = Vec::new();
    append(&mut copy, bytes)?;
    let task = move || load(&copy, limit, &gauge).map(Outcome::Store);
    task::run(call.js, state, true, Box::new(task))
}

fn load(bytes: &[u8], limit: Option<usize>, gauge: &Gauge) -> Result<Shared, Refusal> {
    let mut reader = Counting { bytes, gauge };
    let store = twindex::Store::load_within(&mut reader, limit.unwrap_or(usize::MAX))?;
    store.set_memory_limit(limit);
    Ok(Shared::own(store.into()))
}

/// Bytes that are read, and how far that has come.
struct Counting<'b> {
    bytes: &'b [u8],
    gauge: &'b Gauge,
}

impl Read for Counting<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(out)?;
        self.gauge.bytes.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// `loadFile(path, memoryLimit, gauge, isLater)`: the number of a store with what `save` wrote.
pub(crate) fn load_file<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (path, limit, gauge) = (call.string(0)?, limit(call, 1), gauge(call, state, 2));
    let task = move || {
        let store = twindex_durable::load_within(path, limit, move |progress| gauge.note(progress))?;
        Ok(Outcome::Store(Shared::own(store.into())))
    };
    task::run(call.js, state, call.flag(3), Box::new(task))
}

/// `closeStore(store, isLater)`: lets go of the store and all that was opened through it, or where that fails of nothing.
pub(crate) fn close_store<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let number = call.number(0);
    let Some(shared) = state.stores.close(number) else {
        return task::run(call.js, state, call.flag(1), Box::new(|| Ok(Outcome::Nothing)));
    };
    state.park_all(number, true);
    let task = move || Ok(Outcome::Closed(number, shared.close()));
    task::run(call.js, state, call.flag(1), Box::new(task))
}

/// `freeStore(store)`: for an object that is gone.
pub(crate) fn free_store<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.close_all(call.number(0));
    state.stores.free(call.number(0));
    Ok(Value::UNDEFINED)
}

// --- tables and memory

/// `dropTable(store, name)`: whether it was there.
pub(crate) fn drop_table<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?;
    Ok(call.js.boolean(store.drop_table(&call.string(1)?)?)?)
}

/// `tables(store)`: the number of results to take, two a table: its name and its index.
pub(crate) fn tables<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    const { assert!(BLOCK_ITEMS.is_multiple_of(2)) };
    let tables = state.store(call.number(0))?.tables()?;
    state.results.set_names(tables.iter().flat_map(|table| [table.name(), table.index().name()]));
    Ok(call.js.usize(state.results.len())?)
}

/// `storeMemory(store)`: in bytes.
pub(crate) fn store_memory<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    Ok(call.js.usize(state.store(call.number(0))?.memory())?)
}

/// `memoryLimit(store)`: in bytes, `undefined` for none.
pub(crate) fn memory_limit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    match state.store(call.number(0))?.memory_limit() {
        Some(limit) => Ok(call.js.usize(limit)?),
        None => Ok(Value::UNDEFINED),
    }
}

/// `setMemoryLimit(store, bytes)`: `undefined` for none.
pub(crate) fn set_memory_limit<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.store(call.number(0))?.set_memory_limit(limit(call, 1));
    Ok(Value::UNDEFINED)
}

// --- dumps and files

/// `dump(store, isLater)`: a `Buffer`.
pub(crate) fn dump<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?.clone();
    let task = move || {
        let mut bytes = Growing::default();
        store.dump(&mut bytes)?;
        Ok(Outcome::Bytes(bytes.0))
    };
    task::run(call.js, state, call.flag(1), Box::new(task))
}

/// Does something with the store, perhaps later.
fn with_store<'c>(
    call: &Call<'c>,
    state: &mut State,
    is_later: bool,
    act: impl FnOnce(&Store) -> twindex_durable::Result<()> + Send + 'static,
) -> Answer<'c> {
    let store = state.store(call.number(0))?.clone();
    let task = move || act(&store).map(|()| Outcome::Nothing).map_err(Refusal::from);
    task::run(call.js, state, is_later, Box::new(task))
}

/// `flush(store, isLater)`: returns once all that was written before is on disk.
pub(crate) fn flush<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    with_store(call, state, call.flag(1), Store::flush)
}

/// `compact(store, gauge, isLater)`: writes the store's own file anew.
pub(crate) fn compact<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let gauge = gauge(call, state, 1);
    with_store(call, state, call.flag(2), move |store| store.compact_with(|progress| gauge.note(progress)))
}

/// `saveAs(store, path, isLater)`: `dump`, to a file.
pub(crate) fn save_as<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let path = call.string(1)?;
    with_store(call, state, call.flag(2), move |store| store.save_as(&path))
}

/// `refresh(store, isLater)`: reads what another process wrote to the file; how many batches that were.
pub(crate) fn refresh<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?.clone();
    let task = move || store.refresh().map(Outcome::Count).map_err(Refusal::from);
    task::run(call.js, state, call.flag(1), Box::new(task))
}

/// `follow(store, isLater)`: keeps up with the file from now on.
pub(crate) fn follow<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    with_store(call, state, call.flag(1), Store::follow)
}

/// `position(store)`: where its last change is in the log, as text.
pub(crate) fn position<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let position = state.store(call.number(0))?.position()?;
    Ok(call.js.text(position.to_string().as_bytes()).ok_or_else(Fault::bug)??)
}

/// `stats(store)`: an object as JSON. Times are in milliseconds since 1970.
pub(crate) fn stats<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?;
    let (it, open) = (store.stats(), store.in_memory().snapshot_stats());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let since_epoch =
        |time: Option<SystemTime>| time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(millis);
    Ok(call.js.json(&json!({
        "tables": it.tables,
        "pairs": it.pairs,
        "memory": it.memory,
        "snapshots": open.snapshots,
        "keptBytes": open.kept_bytes,
        "transactions": open.transactions,
        "dumpBytes": it.dump_bytes,
        "logBytes": it.log_bytes,
        "unsyncedBytes": it.unsynced_bytes,
        "syncs": it.syncs,
        "compactions": it.compactions,
        "behindBytes": it.behind_bytes,
        "lastSync": since_epoch(it.last_sync),
        "unsyncedFor": it.unsynced_for.map(millis),
        "refreshed": since_epoch(it.refreshed),
        "compacting": it.compacting,
        "compactionError": it.compaction_error,
        "logError": it.log_error,
        "position": it.position.map(|position| position.to_string()),
        "followError": it.follow_error,
    }))?)
}

/// `placeOf(store)`: a number that other handles of the same store have too, where there may be others.
pub(crate) fn place_of<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let place = state.stores.get(call.number(0))?.place();
    Ok(place.map_or(Ok(Value::UNDEFINED), |place| call.js.u32(place))?)
}

/// `fileOf(store)`: `{ path, durability, readOnly, torn }` as JSON, where it has one.
pub(crate) fn file_of<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = state.store(call.number(0))?;
    let Some(path) = store.path() else { return Ok(Value::UNDEFINED) };
    Ok(call.js.json(&json!({
        "path": path.to_string_lossy(),
        "durability": store.durability().name(),
        "readOnly": store.is_read_only(),
        "torn": torn(store.torn()),
    }))?)
}

/// `check(path, memoryLimit, gauge, isLater)`: what is in a file, and what is damaged.
pub(crate) fn check<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (path, limit, gauge) = (call.string(0)?, limit(call, 1), gauge(call, state, 2));
    let task = move || {
        let progress = |progress| gauge.note(progress);
        let report = match limit {
            None => twindex_durable::check(path, progress),
            Some(limit) => twindex_durable::check_within(path, limit, progress),
        };
        Ok(Outcome::Report(report?))
    };
    task::run(call.js, state, call.flag(3), Box::new(task))
}

/// `recover(from, to, memoryLimit, gauge, isLater)`: writes what can be saved of a file to a new one.
pub(crate) fn recover<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let (from, to, limit, gauge) = (call.string(0)?, call.string(1)?, limit(call, 2), gauge(call, state, 3));
    let task = move || {
        let progress = |progress| gauge.note(progress);
        let recovery = match limit {
            None => twindex_durable::recover(from, to, progress),
            Some(limit) => twindex_durable::recover_within(from, to, limit, progress),
        };
        Ok(Outcome::Recovery(recovery?))
    };
    task::run(call.js, state, call.flag(4), Box::new(task))
}
