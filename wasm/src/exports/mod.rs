//! Every function that a host can call. `docs/wasm.md` says what each takes, does and answers with, and a test that it names them all.

#[cfg(feature = "caches")]
mod cache;
#[cfg(feature = "files")]
mod check;
mod error;
#[cfg(feature = "expiring")]
mod expiring;
#[cfg(feature = "files")]
mod file;
mod many;
mod memory;
mod scan;
mod snapshot;
mod store;
mod verbs;
#[cfg(feature = "journal")]
mod watch;
