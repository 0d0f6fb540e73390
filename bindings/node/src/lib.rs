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
//! From the bottom up, where no file uses one that comes later: `notices`, `encoding`, `js`, `shared`, `inbox`, `cached`, `fault`,
//! `slab`, `memory`, `crossing`, `input`, `results`, `staged`, `table`, `transacting`, `walk`, `gauge`, `feed`, `state`, `pairs`,
//! `call`, `exports` with the functions, and `module`, which Node finds them by.

#![allow(clippy::unnecessary_wraps, reason = "every function that JavaScript sees has the one type `Native`")]

mod cached;
mod call;
mod crossing;
mod encoding;
mod exports;
mod fault;
mod feed;
mod gauge;
mod inbox;
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
mod table;
mod transacting;
mod walk;

use std::sync::Arc;

use twindex_durable::Batch;

use cached::Cached;
use call::Native;
use exports::{batch, expiring, free, prepare, transaction, verbs};
use feed::{Reader, Watching};
use gauge::Gauge;
use pairs::{DELETE, INSERT, REPLACE, UPSERT};
use state::Computing;
use table::{Expiring, Table};
use walk::{Cursor, Walk};

/// Functions by the names that they have in Rust: `open_store` is `openStore` in JavaScript.
macro_rules! functions {
    ($($module:ident: $($function:ident)*;)*) => {
        &[$($((stringify!($function), exports::$module::$function as Native),)*)*]
    };
}

/// Every function that `lib/native.js` finds, by the object that it is in. The lists of one object follow each other.
const FUNCTIONS: &[(&str, &[(&str, Native)])] = &[
    (
        "",
        functions! {
            store: open_store open_shared has_shared loaded_modules open_file load_bytes load_file close_store free_store
                drop_table tables store_memory memory_limit set_memory_limit dump flush compact save_as refresh follow
                position stats place_of file_of check recover;
            task: open_gauge gauge_pairs gauge_bytes notices_behind;
            changes: open_changes open_file_changes poll_changes poll_watch;
            batch: open_batch batch_length batch_increment batch_expect commit;
            cache: open_cache load_cache save_cache dump_cache has_shared_cache cache_label cache_figures cache_peek
                cache_ttl cache_touch shrink_cache open_cache_walk take_evicted open_inbox keep_alive take_woken
                begin_computation computation_stands end_computation fail_computation poll_computation;
            verbs: open_table stage take;
            scan: seek cursor_key cursor_value asc_next desc_next asc_next_many desc_next_many pair_value walk;
            snapshot: open_snapshot open_snapshot_table snapshot_tables snapshot_position close_snapshot;
            cli: run_command_line;
        },
    ),
    (
        "",
        &[
            ("prepare", prepare),
            ("batch_insert", batch::write::<INSERT>),
            ("batch_replace", batch::write::<REPLACE>),
            ("batch_upsert", batch::write::<UPSERT>),
            ("batch_delete", batch::write::<DELETE>),
            ("free_batch", free::<Batch>),
            ("free_changes", free::<Reader>),
            ("free_computation", free::<Computing>),
            ("free_cursor", free::<Cursor>),
            ("free_gauge", free::<Arc<Gauge>>),
            ("free_walk", free::<Walk>),
            ("free_watch", free::<Watching>),
        ],
    ),
    ("table", &verbs::of::<Table>()),
    ("table", &verbs::of_table::<Table>()),
    ("expiring", &verbs::of::<Expiring>()),
    ("expiring", &verbs::of_table::<Expiring>()),
    ("expiring", &expiring::FUNCTIONS),
    ("cache", &verbs::of::<Cached>()),
    ("transaction", &transaction::FUNCTIONS),
];
