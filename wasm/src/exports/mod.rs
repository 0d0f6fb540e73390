//! Every function that a host can call.

mod cache;
mod error;
#[cfg(feature = "files")]
mod file;
mod many;
mod memory;
mod scan;
mod store;
mod verbs;
