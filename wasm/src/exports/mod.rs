//! Every function that a host can call.

mod error;
mod many;
mod memory;
mod scan;
mod store;
mod table;
