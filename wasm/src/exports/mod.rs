//! Every function that a host can call.

#[cfg(feature = "caches")]
mod cache;
#[cfg(feature = "files")]
mod check;
mod error;
#[cfg(feature = "files")]
mod file;
mod many;
mod memory;
mod scan;
mod snapshot;
mod store;
mod verbs;
