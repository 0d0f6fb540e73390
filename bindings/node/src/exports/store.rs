//! Functions on stores. Their first argument is the number of a store. Where the last one is `isLater`, the answer is a
//! promise if that is 1.

use std::io::{self, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value as Json, json};
use twindex_durable::{Dump, Durability, Store};

use super::task::{self, Outcome, gauge, torn};
use crate::call::{Call, Native};
use crate::encoding::BLOCK_ITEMS;
use crate::fault::{Answer, Fault};
use crate::gauge::Gauge;
use crate::input::append;
use crate::memory::{Growing, refused};
use crate::module;
use crate::shared::{Asked, Refusal, Shared};
use crate::state::State;

fn add<'c>(call: &Call<'c>, state: &mut State, store: Shared) -> Answer<'c> {
    call.give(state.stores.add(store).map_err(|_| refused())?)
}

/// Does something with the store, perhaps later.
fn with_store<'c>(
    call: &Call<'c>,
    state: &mut State,
    is_later: bool,
    act: impl FnOnce(&Store) -> twindex_durable::Result<()> + Send + 'static,
) -> Answer<'c> {
    let store = state.store(call.number(0))?.clone();
    task::run(call.js, state, is_later, move || {
        act(&store)?;
        Ok(Outcome::Nothing)
    })
}

fn load(bytes: &[u8], limit: Option<usize>, gauge: &Gauge) -> Result<Shared, Refusal> {
    let mut reader = Counting { bytes, gauge };
    let store = twindex::Store::load_within(&mut reader, limit.unwrap_or(usize::MAX))?;
    store.set_memory_limit(limit);
    Ok(Shared::own(store.into()))
}

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

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // --- open and close
    // `openStore()`: the number of a new store.
    ("open_store", |call, state| add(call, state, Shared::own(Store::new()))),
    // `openShared(name)`: the number of the process's store of that name.
    ("open_shared", |call, state| add(call, state, Shared::named(&call.string(0)?)?)),
    // `loadedModules()`: an array of the files that this process has code from, as JSON.
    ("loaded_modules", |call, _| call.give(&Json::from(module::loaded()))),
    // `hasShared(name)`: whether this copy of the package has a store of that name. Another copy asks, whatever its version: this keeps
    // its name and meaning for ever.
    ("has_shared", |call, _| call.give(Shared::is_named(&call.string(0)?))),
    // `openFile(path, durability, readOnly, existing, memoryLimit, gauge, isLater)`: the number of the process's store in that file.
    ("open_file", |call, state| {
        let (path, gauge) = (call.string(0)?, gauge(call, state, 5));
        let asked = Asked {
            durability: call.string(1)?.parse::<Durability>()?,
            read_only: call.flag(2),
            existing: call.flag(3),
            memory_limit: call.count(4),
            progress: Some(Box::new(move |progress| gauge.note(progress))),
        };
        let task = move || Shared::in_file(path.as_ref(), asked).map(Outcome::Store);
        task::run(call.js, state, call.flag(6), task)
    }),
    // `loadBytes(bytes, memoryLimit, gauge, isLater)`: the number of a store with what `dump` gave.
    ("load_bytes", |call, state| {
        let got = call.argument(0);
        let bytes = call.js.get_bytes(got).ok_or_else(|| Fault::wrong_type("a dump is a Uint8Array", got))?;
        let (limit, gauge) = (call.count(1), gauge(call, state, 2));
        if !call.flag(3) {
            return add(call, state, load(bytes, limit, &gauge)?);
        }
        // JavaScript may write to its own meanwhile.
        let mut copy = Vec::new();
        append(&mut copy, bytes)?;
        task::run(call.js, state, true, move || load(&copy, limit, &gauge).map(Outcome::Store))
    }),
    // `loadFile(path, memoryLimit, gauge, isLater)`: the number of a store with what `save` wrote.
    ("load_file", |call, state| {
        let (path, limit, gauge) = (call.string(0)?, call.count(1), gauge(call, state, 2));
        task::run(call.js, state, call.flag(3), move || {
            let store = twindex_durable::load_within(path, limit, move |progress| gauge.note(progress))?;
            Ok(Outcome::Store(Shared::own(store.into())))
        })
    }),
    // `closeStore(store, isLater)`: lets go of the store and all that was opened through it, or where that fails of nothing.
    ("close_store", |call, state| {
        let (number, is_later) = (call.number(0), call.flag(1));
        let Some(shared) = state.stores.close(number) else {
            return task::run(call.js, state, is_later, || Ok(Outcome::Nothing));
        };
        state.park_all(number, true);
        task::run(call.js, state, is_later, move || Ok(Outcome::Closed(number, shared.close())))
    }),
    // `freeStore(store)`: for an object that is gone.
    ("free_store", |call, state| {
        state.close_all(call.number(0));
        call.give(state.stores.free(call.number(0)))
    }),
    // --- tables and memory
    // `dropTable(store, name)`: whether it was there.
    ("drop_table", |call, state| call.give(state.store(call.number(0))?.drop_table(&call.string(1)?)?)),
    // `tables(store)`: the number of results to take, two a table: its name and its index.
    ("tables", |call, state| {
        const { assert!(BLOCK_ITEMS.is_multiple_of(2)) };
        let tables = state.store(call.number(0))?.tables()?;
        state.results.set_names(tables.iter().flat_map(|table| [table.name(), table.index().name()]));
        call.give(state.results.len())
    }),
    // `storeMemory(store)`: in bytes.
    ("store_memory", |call, state| call.give(state.store(call.number(0))?.memory())),
    // `memoryLimit(store)`: in bytes, `undefined` for none.
    ("memory_limit", |call, state| call.give(state.store(call.number(0))?.memory_limit())),
    // `setMemoryLimit(store, bytes)`: `undefined` for none.
    ("set_memory_limit", |call, state| {
        call.give(state.store(call.number(0))?.set_memory_limit(call.count(1)))
    }),
    // --- dumps and files
    // `dump(store, isLater)`: a `Buffer`.
    ("dump", |call, state| {
        let store = state.store(call.number(0))?.clone();
        task::run(call.js, state, call.flag(1), move || {
            let mut bytes = Growing::default();
            store.dump(&mut bytes)?;
            Ok(Outcome::Bytes(bytes.0))
        })
    }),
    // `flush(store, isLater)`: returns once all that was written before is on disk.
    ("flush", |call, state| with_store(call, state, call.flag(1), Store::flush)),
    // `compact(store, gauge, isLater)`: writes the store's own file anew.
    ("compact", |call, state| {
        let gauge = gauge(call, state, 1);
        let compact = move |store: &Store| store.compact_with(|progress| gauge.note(progress));
        with_store(call, state, call.flag(2), compact)
    }),
    // `saveAs(store, path, isLater)`: `dump`, to a file.
    ("save_as", |call, state| {
        let path = call.string(1)?;
        with_store(call, state, call.flag(2), move |store| store.save_as(&path))
    }),
    // `refresh(store, isLater)`: reads what another process wrote to the file; how many batches that were.
    ("refresh", |call, state| {
        let store = state.store(call.number(0))?.clone();
        task::run(call.js, state, call.flag(1), move || Ok(Outcome::Count(store.refresh()?)))
    }),
    // `follow(store, isLater)`: keeps up with the file from now on.
    ("follow", |call, state| with_store(call, state, call.flag(1), Store::follow)),
    // `position(store)`: where its last change is in the log, as text.
    ("position", |call, state| call.give(state.store(call.number(0))?.position()?.to_string())),
    // `stats(store)`: an object as JSON. Times are in milliseconds since 1970.
    ("stats", |call, state| call.give(&stats(state.store(call.number(0))?))),
    // `placeOf(store)`: a number that other handles of the same store have too, where there may be others.
    ("place_of", |call, state| call.give(state.stores.get(call.number(0))?.place())),
    // `fileOf(store)`: `{ path, durability, readOnly, torn }` as JSON, where it has one.
    ("file_of", |call, state| {
        let store = state.store(call.number(0))?;
        let file = store.path().map(|path| {
            json!({
                "path": path.to_string_lossy(),
                "durability": store.durability().name(),
                "readOnly": store.is_read_only(),
                "torn": torn(store.torn()),
            })
        });
        call.give(file.as_ref())
    }),
    // `check(path, memoryLimit, gauge, isLater)`: what is in a file, and what is damaged.
    ("check", |call, state| {
        let (path, limit, gauge) = (call.string(0)?, call.count(1), gauge(call, state, 2));
        task::run(call.js, state, call.flag(3), move || {
            let progress = |progress| gauge.note(progress);
            let report = match limit {
                None => twindex_durable::check(path, progress),
                Some(limit) => twindex_durable::check_within(path, limit, progress),
            };
            Ok(Outcome::Report(report?))
        })
    }),
    // `recover(from, to, memoryLimit, gauge, isLater)`: writes what can be saved of a file to a new one.
    ("recover", |call, state| {
        let (from, to, limit, gauge) =
            (call.string(0)?, call.string(1)?, call.count(2), gauge(call, state, 3));
        task::run(call.js, state, call.flag(4), move || {
            let progress = |progress| gauge.note(progress);
            let recovery = match limit {
                None => twindex_durable::recover(from, to, progress),
                Some(limit) => twindex_durable::recover_within(from, to, limit, progress),
            };
            Ok(Outcome::Recovery(recovery?))
        })
    }),
];

fn stats(store: &Store) -> Json {
    let (it, open) = (store.stats(), store.in_memory().snapshot_stats());
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    let since_epoch =
        |time: Option<SystemTime>| time.and_then(|time| time.duration_since(UNIX_EPOCH).ok()).map(millis);
    json!({
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
    })
}
