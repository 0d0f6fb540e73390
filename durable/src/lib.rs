//! A Twindex store in one file.
//!
//! [`Store::open`] gives a store whose writes are kept in a file, at once or within a second or on request, as
//! its [`Durability`] says. Its tables have the verbs of the engine's. A crash at any moment loses nothing that
//! was promised, and leaves no half of a [`Batch`].
//!
//! ```
//! use twindex_durable::{Durability, Options, Store, twindex::Index};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("app.twx");
//! let store = Options::new().durability(Durability::Always).open(&path)?;
//! let users = store.table("users", Index::Hash)?;
//! assert!(users.insert("ada", "1815")?); // on disk when it returns
//! store.close()?;
//!
//! let store = Store::open(&path)?;
//! let users = store.table("users", Index::Hash)?;
//! assert_eq!(users.select("ada").as_deref(), Some(b"1815".as_slice()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`save`] and [`load`] write and read the file of a store that is in memory alone.

mod background;
mod batch;
mod compact;
mod core;
mod disk;
mod error;
#[cfg(test)]
mod faults;
mod load;
mod lock;
mod log;
mod options;
mod reserve;
#[cfg(test)]
mod slow;
mod store;
mod stripes;
mod table;
mod verify;
mod whole;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use twindex;
pub use twindex::dump::Progress;

pub use crate::batch::Batch;
pub use crate::error::{Error, Result};
pub use crate::load::Torn;
pub use crate::options::{Durability, Options};
pub use crate::reserve::Reserving;
pub use crate::store::{Stats, Store};
pub use crate::table::Table;
pub use crate::verify::{Damage, Recovery, Report, check, check_within, recover, recover_within};
pub use crate::whole::{load, load_within, save};

/// Opens the store in the file at `path`, or makes one: see [`Store::open`].
pub fn open(path: impl AsRef<Path>) -> Result<Store> {
    Store::open(path)
}

/// The file that `path` stands for, whatever folder this process works in later. Links to it are followed: its lock and
/// what takes its place belong beside the file, where whoever comes by another name finds them.
fn resolve(path: &Path) -> PathBuf {
    /// As many as Linux follows. Whoever opens what is still a link then is told so by the system.
    const MOST_LINKS: usize = 40;
    // A WASI module may have a right to a relative path alone.
    let absolute = if cfg!(target_os = "wasi") { None } else { std::path::absolute(path).ok() };
    let mut path = absolute.unwrap_or_else(|| path.into());
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

/// The folder of a file.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The name of a file of ours beside a store's.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    name.into()
}
