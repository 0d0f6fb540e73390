//! The standard tests, for any host that holds the engine.
//!
//! `TestStrings` inserts every pair into a hash table and selects every key in another random order.
//! `TestSortedSet` inserts every pair into a sorted table in random order and scans all of it, one
//! [`scan_asc_next`](Worker::scan_asc_next) a pair. The clients' test of Skytable inserts every pair into a hash table,
//! selects every key and then updates it. N pairs are split over T threads; a step is timed
//! from the first thread's start to the last one's end, and every value read is checked.
//!
//! A host implements [`Host`] and [`Worker`], and its whole `main` is:
//!
//! ```no_run
//! # use twindex_benches::{Fallible, Host, Test, Worker};
//! # struct MyHost;
//! # struct MyWorker;
//! # impl Host for MyHost {
//! #     const NAME: &'static str = "mine";
//! #     const THREADS: bool = false;
//! #     type Worker<'h> = MyWorker;
//! #     fn renew(&mut self, _: Test) -> Fallible { Ok(()) }
//! #     fn workers(&mut self, _: usize) -> Fallible<Vec<MyWorker>> { Ok(vec![MyWorker]) }
//! #     fn memory(&mut self) -> Fallible<Option<u64>> { Ok(None) }
//! # }
//! # impl Worker for MyWorker {
//! #     fn insert(&mut self, _: &[u8], _: &[u8]) -> Fallible<bool> { Ok(true) }
//! #     fn replace(&mut self, _: &[u8], _: &[u8]) -> Fallible<bool> { Ok(true) }
//! #     fn select<R>(&mut self, _: &[u8], _: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>> { Ok(None) }
//! #     fn open(&mut self, _: &[u8]) -> Fallible { Ok(()) }
//! #     fn scan_asc_next<R>(&mut self, _: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>> { Ok(None) }
//! # }
//! fn main() -> std::process::ExitCode {
//!     twindex_benches::main(MyHost)
//! }
//! ```

// Counts and times become fractions to be shown, where the 53rd bit does not matter.
#![allow(clippy::cast_precision_loss, clippy::cast_sign_loss)]

mod claim;
mod fallible;
mod keys;
mod options;
mod progress;
mod record;
mod report;
mod resident;
mod seeds;
mod values;

pub use claim::{claim_memory, claim_memory_for};
pub use fallible::Fallible;
pub use keys::{KeyList, random_hex, words};
pub use options::{Options, Test};
pub use record::{Reach, Record};
pub use report::{Measure, Report};
pub use resident::resident_bytes;
pub use seeds::{Host, Worker, main, run};
pub use values::{fill_value, is_value, is_value_start, number_of_value};
