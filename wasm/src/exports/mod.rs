//! Every function that a host can call.

mod cache;
mod error;
mod many;
mod memory;
mod scan;
mod store;
mod table;
