//! Twindex's tables in a Valkey or Redis Cluster, or in one server.
//!
//! ```no_run
//! use twindex_cluster::{IndexKind, connect};
//!
//! # async fn example() -> twindex_cluster::Result<()> {
//! let store = connect("redis://localhost:7000").await?;
//! let users = store.table("users", IndexKind::Hash).await?;
//! users.insert("ada", "1815").await?; // true; false if the key is present, and nothing changes
//! assert_eq!(users.select("ada").await?.as_deref(), Some(b"1815".as_slice()));
//! let log = store.table("log", IndexKind::Sorted).await?;
//! let mut november = log.prefix("2026-11-")?;
//! while let Some((key, value)) = november.next().await? {}
//! # Ok(())
//! # }
//! ```
//!
//! It has the verbs of the crate `twindex`, each with its `_many` form, and asynchronous; [`blocking`] has the same
//! ones for programs without a runtime. Needs Redis 7 or later, or Valkey.

#![forbid(unsafe_code)]

mod batch;
pub mod blocking;
mod catalogue;
mod clock;
mod cursor;
mod error;
mod functions;
mod guard;
mod hash;
mod keys;
mod link;
mod locks;
mod merge;
mod names;
mod near;
mod options;
mod pairs;
mod router;
mod shared;
mod slot;
mod sorted;
mod store;
mod sweep;
mod table;
mod topology;
mod unlink;
mod walk;

pub use twindex::{Change, Error as EngineError, IndexKind, TableOptions, Write, prefix_range};
pub use twindex_cache::Ttl;

pub use crate::batch::Batch;
pub use crate::cursor::{Cursor, Scan};
pub use crate::error::{Answer, Error, Result};
#[doc(hidden)]
pub use crate::guard::{guarded, guarded_now};
pub use crate::near::NearStats;
pub use crate::options::Options;
pub use crate::pairs::{Pair, Swap};
pub use crate::store::{Store, connect};
pub use crate::table::Table;
pub use crate::walk::Walk;
