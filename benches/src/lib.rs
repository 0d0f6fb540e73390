//! What every bench shares: keys and values, the trait of a peer, the works that are measured, and the record of a figure.
//!
//! A program that measures lists its [`System`]s and calls [`main`]: `PROGRAM WORK --system NAME [OPTIONS]` does one work with one
//! system, in this process, and prints a line of JSON for each figure. `cargo xtask bench` starts such processes in turns.

// Counts and times become fractions to be shown, where the 53rd bit does not matter.
#![allow(
    missing_docs,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::missing_errors_doc,
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    reason = "only benches use this crate"
)]

mod append;
mod command;
mod fill;
mod job;
mod keys;
mod memory;
mod options;
mod peer;
mod record;
mod small;
pub mod usual;
mod values;
mod ycsb;

pub use command::{System, main};
pub use job::Job;
pub use keys::KeyList;
pub use memory::{claim_memory, growth_since, most_resident_bytes, resident_bytes};
pub use options::{Clock, Fallible, Index, Options, Order, Persistence};
pub use peer::{Bytes, Hasher, Peer, Session, SortedSession, alone, replace, spread};
pub use record::{Record, Unit, median};
pub use values::{fill_value, is_value_start, number_of_value};
