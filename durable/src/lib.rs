//! A Twindex store in one file.
//!
//! [`Store::open`] opens a store in a file. Its [`Durability`] is when writes reach the disk: at once, within two seconds, or
//! on request. Its tables have the verbs of the engine's. A crash at any moment loses nothing that
//! was promised, and leaves no half of a [`Batch`].
//!
//! ```
//! use twindex_durable::{Durability, Options, Store, twindex::IndexKind};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("app.twx");
//! let store = Options::new().durability(Durability::Always).open(&path)?;
//! let users = store.table("users", IndexKind::Hash)?;
//! assert!(users.insert("ada", "1815")?); // on disk when it returns
//! store.close()?;
//!
//! let store = Store::open(&path)?;
//! let users = store.table("users", IndexKind::Hash)?;
//! assert_eq!(users.select("ada")?.as_deref(), Some(b"1815".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`TypedTable`] and [`TypedCache`] hold integers, text, tuples and types that `serde` serializes, where [`Table`] holds bytes.
//!
//! [`save`] and [`load`] write and read the file of a store that is only in memory, [`save_cache`] and [`read_cache`] the file of a
//! cache.

mod batch;
mod cache;
mod change;
mod compact;
mod core;
mod disk;
mod ends;
mod error;
mod expiring;
mod feed;
mod follow_thread;
mod follower;
mod handle;
mod load;
mod lock;
mod log;
mod memory;
mod mutex;
mod notice;
mod options;
mod paths;
mod pause;
mod position;
mod registry;
mod reserve;
mod rewrite;
mod snapshot;
mod store;
mod stripes;
mod sync_thread;
mod table;
mod tail;
#[cfg(test)]
mod tests;
mod transaction;
mod typed;
mod verbs;
mod verify;
mod watch;
mod whole;

use std::path::Path;

pub use twindex;
pub use twindex_cache::Ttl;
pub use twindex_codec as codec;
pub use twindex_format as format;
pub use twindex_format::{Damage, Dump, MAX_TTL, Progress, Report, TableInfo, Torn};

pub use crate::batch::Batch;
pub use crate::cache::{check_cache, holds_cache, read_cache, save_cache};
pub use crate::change::{ChangeSet, Effect, TableChange};
pub use crate::error::{Error, Result};
pub use crate::expiring::{AnyTable, ExpiringCursor, ExpiringPart, ExpiringReads, ExpiringTable, Unexpired};
pub use crate::feed::{Changes, FeedFile};
pub use crate::memory::spawn;
pub use crate::notice::LOG_TARGET;
pub use crate::options::{Durability, Options};
pub use crate::position::Position;
pub use crate::reserve::Reserving;
pub use crate::snapshot::Snapshot;
pub use crate::store::{Stats, Store};
pub use crate::table::Table;
pub use crate::transaction::Transaction;
pub use crate::typed::{Reads, Steps, TypedCache, TypedPairs, TypedTable, TypedWrites, Writes};
pub use crate::verify::{Recovery, check, check_within, recover, recover_within};
pub use crate::watch::{Watch, WatchOptions, Watched};
pub use crate::whole::{load, load_within, read_file, replace_file, save};

/// Opens the store in the file at `path`, or makes one: see [`Store::open`].
pub fn open(path: impl AsRef<Path>) -> Result<Store> {
    Store::open(path)
}
