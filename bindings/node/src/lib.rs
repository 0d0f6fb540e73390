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
//! `joined`, `call`, `exports` with the functions, and `module`, which Node finds them by.

#![allow(clippy::unnecessary_wraps, reason = "every function that JavaScript sees has the one type `Native`")]
#![allow(clippy::unit_arg, reason = "a function that gives nothing gives `()`")]

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
mod joined;
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

use cached::Cached;
use call::Native;
use exports::verbs::{OF_EXPIRING, of, of_pairs, of_table, timed};
use exports::{batch, cache, changes, cli, prepare, scan, snapshot, store, task, transaction, verbs};
use table::{Expiring, Table};
use transacting::Joined;

/// Every function that `lib/native.js` finds, by the object that it is in. Names are as in Rust: `open_store` is `openStore` in
/// JavaScript. The lists of one object follow each other.
const FUNCTIONS: &[(&str, &[(&str, Native)])] = &[
    ("", &[("prepare", prepare)]),
    ("", store::FUNCTIONS),
    ("", task::FUNCTIONS),
    ("", changes::FUNCTIONS),
    ("", batch::FUNCTIONS),
    ("", cache::FUNCTIONS),
    ("", verbs::FUNCTIONS),
    ("", scan::FUNCTIONS),
    ("", snapshot::FUNCTIONS),
    ("", cli::FUNCTIONS),
    ("table", &of::<Table>()),
    ("table", &of_pairs::<Table>()),
    ("table", &of_table::<Table>()),
    ("expiring", &of::<Expiring>()),
    ("expiring", &timed::<Expiring>()),
    ("expiring", &of_pairs::<Expiring>()),
    ("expiring", &of_table::<Expiring>()),
    ("expiring", OF_EXPIRING),
    ("cache", &of::<Cached>()),
    ("cache", &timed::<Cached>()),
    ("cache", &of_pairs::<Cached>()),
    ("joined", &of::<Joined>()),
    ("joined", &timed::<Joined>()),
    ("joined", transaction::OF_TABLES),
    ("transaction", transaction::FUNCTIONS),
];
