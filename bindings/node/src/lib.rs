//! The native half of the npm package `twindex`.
//!
//! The JavaScript half (`lib/`) has the classes; this half has plain functions, which take the number of a
//! store, table, cursor or walk (see [`state`]) and cross the border as rarely and as cheaply as measured.
//! Per call or item on Node 20, with 16-character keys:
//!
//! | way | ns |
//! |---|---|
//! | an empty call; with a number for a handle; unwrapping a native object | 11; 17; 47 |
//! | a string in as UTF-16, which shows lone surrogates; as UTF-8, which hides them | 14; 16 |
//! | a pair out in two calls; as the result of a JavaScript function; as a native array | 54; 78; 175 |
//! | an item out, passed to a JavaScript function that returns its arguments; as an array element | 11; 70 |
//! | an item in as an argument; as an array element | 8; 41 |
//! | a `Uint8Array` in through the crossing buffer; small and fresh, by its own buffer | 15; 640 |
//! | 16 bytes out through the crossing buffer; as a new `Buffer` of Node-API | 35-53; 886 |
//!
//! So strings come as UTF-16 and leave as Latin-1 where they are ASCII, short byte arrays go through one buffer
//! that both halves see ([`crossing`]), and whatever is many goes as the arguments of one call.
//!
//! From the bottom up, where no file uses one that comes later: `notices`, `slab`, `encoding`, `js`, `shared`, `fault`, `memory`,
//! `crossing`, `input`, `results`, `staged`, `walk`, `gauge`, `feed`, `state`, `call`, and `exports` with the functions.

#![allow(clippy::unnecessary_wraps, reason = "every function that JavaScript sees has the one type `Native`")]

mod call;
mod crossing;
mod encoding;
mod exports;
mod fault;
mod feed;
mod gauge;
mod input;
mod js;
mod memory;
mod notices;
mod results;
mod shared;
mod slab;
mod staged;
mod state;
mod walk;

use napi::bindgen_prelude::Object;
use napi::{Env, JsValue};
use napi_derive::napi;

use call::Native;
use exports::{batch, cache, changes, cli, many, prepare, saved, scan, store, table, work};

/// Every function that `lib/native.js` finds.
const FUNCTIONS: &[(&str, Native)] = &[
    ("prepare", prepare),
    ("openStore", store::open),
    ("openShared", store::open_shared),
    ("hasShared", store::has_shared),
    ("openFile", store::open_file),
    ("loadBytes", store::load_bytes),
    ("loadFile", store::load_file),
    ("closeStore", store::close),
    ("freeStore", store::free),
    ("dropTable", store::drop_table),
    ("tables", store::tables),
    ("storeMemory", store::memory),
    ("memoryLimit", store::memory_limit),
    ("setMemoryLimit", store::set_memory_limit),
    ("dump", store::dump),
    ("flush", store::flush),
    ("compact", store::compact),
    ("saveAs", store::save_as),
    ("refresh", store::refresh),
    ("follow", store::follow),
    ("position", store::position),
    ("stats", store::stats),
    ("fileOf", store::file_of),
    ("check", store::check),
    ("recover", store::recover),
    ("runCommandLine", cli::run),
    ("openGauge", work::open_gauge),
    ("freeGauge", work::free_gauge),
    ("gaugePairs", work::gauge_pairs),
    ("gaugeBytes", work::gauge_bytes),
    ("countNotices", work::count_notices),
    ("noticesBehind", work::notices_behind),
    ("openChanges", changes::open),
    ("openFileChanges", changes::open_file),
    ("pollChanges", changes::poll),
    ("freeChanges", changes::free),
    ("openBatch", batch::open),
    ("freeBatch", batch::free),
    ("batchLength", batch::len),
    ("batchInsert", batch::insert),
    ("batchReplace", batch::replace),
    ("batchUpsert", batch::upsert),
    ("batchDelete", batch::delete),
    ("batchIncrement", batch::increment),
    ("batchExpect", batch::expect),
    ("commit", batch::commit),
    ("openTable", table::open),
    ("seeTable", table::see),
    ("freeTable", table::free),
    ("size", table::size),
    ("tableMemory", table::memory),
    ("clear", table::clear),
    ("insert", table::insert),
    ("replace", table::replace),
    ("upsert", table::upsert),
    ("delete", table::delete),
    ("select", table::select),
    ("contains", table::contains),
    ("increment", table::increment),
    ("compareAndSwap", table::compare_and_swap),
    ("openCache", cache::open),
    ("saveCache", saved::save),
    ("dumpCache", saved::dump),
    ("loadCache", saved::load),
    ("seeCache", cache::see),
    ("freeCache", cache::free),
    ("caches", cache::all),
    ("dropCache", cache::drop),
    ("cacheFigures", cache::figures),
    ("cacheSize", cache::len),
    ("clearCache", cache::clear),
    ("cacheInsert", cache::insert),
    ("cacheReplace", cache::replace),
    ("cacheUpsert", cache::upsert),
    ("deleteCached", cache::delete),
    ("cacheSelect", cache::select),
    ("cachePeek", cache::peek),
    ("cacheContains", cache::contains),
    ("cacheTtl", cache::remaining),
    ("cacheTouch", cache::touch),
    ("cacheIncrement", cache::increment),
    ("cacheSwap", cache::swap),
    ("openCacheWalk", cache::open_walk),
    ("begin", many::begin),
    ("beginCached", many::begin_cached),
    ("stage", many::stage),
    ("insertMany", many::insert),
    ("replaceMany", many::replace),
    ("upsertMany", many::upsert),
    ("deleteMany", many::delete),
    ("containsMany", many::contains),
    ("selectMany", many::select),
    ("incrementMany", many::increment),
    ("compareAndSwapMany", many::compare_and_swap),
    ("cacheUpsertMany", many::upsert_cached),
    ("deleteManyCached", many::delete_cached),
    ("cacheSelectMany", many::select_cached),
    ("take", many::take),
    ("openCursor", scan::open_cursor),
    ("freeCursor", scan::free_cursor),
    ("ascNext", scan::asc_next),
    ("descNext", scan::desc_next),
    ("pairValue", scan::pair_value),
    ("ascNextMany", scan::asc_next_many),
    ("descNextMany", scan::desc_next_many),
    ("openWalk", scan::open),
    ("scanBlock", scan::scan_block),
    ("freeWalk", scan::free),
    ("walk", scan::next),
];

/// Runs once in every environment that loads the module: the main thread and each worker.
#[napi(module_exports)]
pub fn register(exports: Object, env: Env) -> napi::Result<()> {
    // A shared store outlives the worker that opened it, so the code that frees it has to stay as well.
    napi::bindgen_prelude::retain_current_module_for_unload_safety();
    notices::keep();
    // SAFETY: both are of the call that Node is making into this module right now.
    unsafe { call::export(env.raw(), exports.raw(), FUNCTIONS) }
}
