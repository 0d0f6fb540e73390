//! What a feed reads from.

use std::collections::BTreeMap;
use std::mem::take;
use std::sync::MutexGuard;

use twindex_durable::{ChangeSet, Position};

use crate::prelude::*;

/// The file of a feed, and how far it was read.
pub(crate) struct Source {
    /// None once the feed or its store was closed: it has the file open.
    pub(crate) changes: Option<twindex_durable::Changes>,
    /// Batches that were read, but could not be shown, by their numbers.
    pub(crate) held: BTreeMap<u64, ChangeSet>,
    /// How many batches were read.
    pub(crate) read: u64,
    /// Where to go on: behind what was given.
    pub(crate) position: Position,
}

impl Source {
    /// The source, for a thread that has let go of the interpreter or will not wait for it.
    pub(crate) fn lock(source: &Mutex<Self>) -> MutexGuard<'_, Self> {
        source.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes the file, and frees what was read ahead.
    pub(crate) fn end(source: &Mutex<Self>) {
        let mut source = Self::lock(source);
        let ended = (source.changes.take(), take(&mut source.held));
        drop(source);
        drop(ended);
    }
}
