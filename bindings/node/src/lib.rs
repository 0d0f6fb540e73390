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
//! `crossing`, `input`, `results`, `staged`, `walk`, `gauge`, `feed`, `state`, `pairs`, `call`, `exports` with the functions, and
//! `module`, which Node finds them by.

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
mod module;
mod notices;
mod pairs;
mod results;
mod shared;
mod slab;
mod staged;
mod state;
mod walk;

use twindex::Cache;
use twindex_durable::Table;

use call::Native;
use exports::{batch, cache, cache_files, changes, cli, many, prepare, scan, store, task, verbs};
use pairs::{INSERT, REPLACE, UPSERT};

/// Every function that `lib/native.js` finds.
const FUNCTIONS: &[(&str, Native)] = &[
    ("prepare", prepare),
    ("openStore", store::open),
    ("openShared", store::open_shared),
    ("hasShared", store::has_shared),
    ("loadedModules", store::loaded_modules),
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
    ("openGauge", task::open_gauge),
    ("freeGauge", task::free_gauge),
    ("gaugePairs", task::gauge_pairs),
    ("gaugeBytes", task::gauge_bytes),
    ("noticesBehind", task::notices_behind),
    ("openChanges", changes::open),
    ("openFileChanges", changes::open_file),
    ("pollChanges", changes::poll),
    ("freeChanges", changes::free),
    ("openBatch", batch::open),
    ("freeBatch", batch::free),
    ("batchLength", batch::len),
    ("batchInsert", batch::write::<INSERT>),
    ("batchReplace", batch::write::<REPLACE>),
    ("batchUpsert", batch::write::<UPSERT>),
    ("batchDelete", batch::delete),
    ("batchIncrement", batch::increment),
    ("batchExpect", batch::expect),
    ("commit", batch::commit),
    ("openTable", verbs::open_table),
    ("seeTable", verbs::see::<Table>),
    ("freeTable", verbs::free::<Table>),
    ("size", verbs::size::<Table>),
    ("tableMemory", verbs::memory),
    ("clear", verbs::clear::<Table>),
    ("insert", verbs::write::<Table, INSERT>),
    ("replace", verbs::write::<Table, REPLACE>),
    ("upsert", verbs::write::<Table, UPSERT>),
    ("delete", verbs::delete::<Table>),
    ("select", verbs::select::<Table>),
    ("contains", verbs::contains::<Table>),
    ("increment", verbs::increment::<Table>),
    ("compareAndSwap", verbs::compare_and_swap::<Table>),
    ("openCache", cache::open),
    ("saveCache", cache_files::save),
    ("dumpCache", cache_files::dump),
    ("loadCache", cache_files::load),
    ("seeCache", verbs::see::<Cache>),
    ("freeCache", verbs::free::<Cache>),
    ("caches", cache::all),
    ("dropCache", cache::drop),
    ("cacheFigures", cache::figures),
    ("cacheSize", verbs::size::<Cache>),
    ("clearCache", verbs::clear::<Cache>),
    ("cacheInsert", verbs::write::<Cache, INSERT>),
    ("cacheReplace", verbs::write::<Cache, REPLACE>),
    ("cacheUpsert", verbs::write::<Cache, UPSERT>),
    ("deleteCached", verbs::delete::<Cache>),
    ("cacheSelect", verbs::select::<Cache>),
    ("cachePeek", cache::peek),
    ("cacheContains", verbs::contains::<Cache>),
    ("cacheTtl", cache::remaining),
    ("cacheTouch", cache::touch),
    ("cacheIncrement", verbs::increment::<Cache>),
    ("cacheSwap", verbs::compare_and_swap::<Cache>),
    ("openCacheWalk", cache::open_walk),
    ("beginComputation", cache::begin_computation),
    ("computationStands", cache::computation_stands),
    ("storeComputed", cache::store_computed),
    ("freeComputation", cache::free_computation),
    ("begin", many::begin::<Table>),
    ("beginCached", many::begin::<Cache>),
    ("stage", many::stage),
    ("insertMany", many::write::<Table, INSERT>),
    ("replaceMany", many::write::<Table, REPLACE>),
    ("upsertMany", many::write::<Table, UPSERT>),
    ("deleteMany", many::delete::<Table>),
    ("containsMany", many::contains),
    ("selectMany", many::select::<Table>),
    ("incrementMany", many::increment),
    ("compareAndSwapMany", many::compare_and_swap),
    ("cacheUpsertMany", many::write::<Cache, UPSERT>),
    ("deleteManyCached", many::delete::<Cache>),
    ("cacheSelectMany", many::select::<Cache>),
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
