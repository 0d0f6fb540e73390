//! What feeds and watches give.

use std::sync::Arc;

use twindex_format::{FOREVER, TableInfo, split_deadline};

use crate::position::Position;

/// Changes that were made together: all of them, or none after a crash.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChangeSet {
    /// The position after them, to continue from.
    pub position: Position,
    /// The changes, in order.
    pub changes: Vec<TableChange>,
}

/// A change of one table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableChange {
    /// The table: the same for all changes of it that are read.
    pub table: Arc<TableInfo>,
    /// The change.
    pub effect: Effect,
    /// When a pair that was put expires, in milliseconds since 1970, if it does.
    pub expires: Option<u64>,
}

/// A value as feeds and watches show it, and when its pair expires.
pub(crate) fn shown<'v>(table: &TableInfo, stored: &'v [u8]) -> (&'v [u8], Option<u64>) {
    if !table.expires {
        return (stored, None);
    }
    let (deadline, value) = split_deadline(stored);
    (value, Some(deadline).filter(|&deadline| deadline != FOREVER))
}

/// The effect of a change. Applying it twice is harmless.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// The key has this value.
    Put {
        /// The key.
        key: Vec<u8>,
        /// The value.
        value: Vec<u8>,
    },
    /// The key is absent.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
    /// The table is there, and empty.
    Create,
    /// The table is no more.
    Drop,
    /// The table has no pairs.
    Clear,
}
