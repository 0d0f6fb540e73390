//! Twindex as a WebAssembly core module: the engine behind a small C ABI, which `docs/wasm.md` describes
//! export by export.
//!
//! The module imports nothing, so any runtime can instantiate it. It crosses the border with integers
//! alone, under five rules:
//!
//! * **Bytes go in through buffers.** The host writes into buffers that [`twindex_alloc`](buffers) gave
//!   it, and passes an address and a length. Both are checked against the list of those buffers, which
//!   the module itself owns: whatever integers a host passes, the module reads nothing else, and that
//!   without a line of `unsafe`.
//! * **Bytes come out through one answer cell**, an address, a length and a number, which stays valid
//!   until the next call.
//! * **Objects are handles**: integers that are checked on every call, and used again only after a billion others.
//! * **A negative result is an error number.** Nothing panics; `twindex_last_error` has the text.
//! * **Memory that the host refuses is an error too**, as far as the [reserve] reaches.
//!
//! To read it from the bottom up: `failure`, `reserve`, `time`, `answer`, `block`, `buffers`, `range`, `read`, `journal`, `expiry`,
//! `direction`, `buffered_cursor`, `iterator`, `transaction`, `stored`, `expiring`, `cached`, `pairs`, `handles`, `state`, and what hosts
//! call in `exports`.
//!
//! On wasm32 there is one thread, hence one module state. Built natively, which only the checks do, every
//! thread has a state of its own.

#![cfg_attr(
    not(all(feature = "caches", feature = "files", feature = "transactions")),
    allow(dead_code, reason = "a module leaves out what it does not export")
)]

mod answer;
mod block;
mod buffered_cursor;
mod buffers;
#[cfg(feature = "caches")]
mod cached;
#[cfg(not(feature = "caches"))]
#[path = "uncached.rs"]
mod cached;
mod direction;
mod expiring;
mod expiry;
mod exports;
mod failure;
mod handles;
mod iterator;
#[cfg(feature = "journal")]
mod journal;
#[cfg(not(feature = "journal"))]
#[path = "unkept.rs"]
mod journal;
mod pairs;
mod range;
mod read;
mod reserve;
mod state;
mod stored;
mod time;
mod transaction;
