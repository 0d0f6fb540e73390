//! Which tables have pairs that expire, when the next do, and how far their removal has come.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use twindex_format::{Due, Pass, values_that_expire};

use super::clock::Clock;
use crate::mutex::lock;

/// The clock of a store, and its tables whose pairs expire, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Expiry {
    /// The system's, unless a test gave another.
    clock: Mutex<Option<Arc<Clock>>>,
    pub(super) tables: Mutex<BTreeMap<u32, Arc<Removal>>>,
}

/// How far the removal of a table's expired pairs has come. It goes through all pairs, in passes.
#[derive(Debug)]
pub(crate) struct Removal {
    pub(super) id: u32,
    pub(super) table: twindex::Table,
    pub(super) pass: Mutex<Pass>,
    pub(crate) due: Due,
}

impl Expiry {
    pub(crate) fn clock(&self) -> Arc<Clock> {
        lock(&self.clock).as_ref().map_or_else(Clock::system, Arc::clone)
    }

    pub(crate) fn set_clock(&self, clock: Clock) {
        *lock(&self.clock) = Some(Arc::new(clock));
    }

    pub(crate) fn removal(&self, id: u32, table: &twindex::Table) -> Arc<Removal> {
        let new = || Arc::new(Removal::new(id, table.clone()));
        Arc::clone(lock(&self.tables).entry(id).or_insert_with(new))
    }

    pub(crate) fn forget(&self, id: u32) {
        lock(&self.tables).remove(&id);
    }

    /// Remembers those of these tables whose pairs expire.
    pub(crate) fn remember(&self, tables: &[(u32, twindex::Table)]) {
        for (id, table) in tables.iter().filter(|(_, table)| values_that_expire(table.codecs().1).is_some()) {
            self.removal(*id, table);
        }
    }
}

impl Removal {
    pub(crate) fn new(id: u32, table: twindex::Table) -> Self {
        Self { id, table, pass: Mutex::default(), due: Due::default() }
    }
}
