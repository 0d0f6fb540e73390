//! Which tables have pairs that expire, when the next do, and how far their removal has come.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

use twindex_format::{FOREVER, values_that_expire};

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
    /// Nothing that the last pass left behind expires before.
    pub(super) due: AtomicU64,
    /// Nor does anything that was written since the present one began.
    pub(super) due_of_written: AtomicU64,
}

#[derive(Debug)]
pub(super) struct Pass {
    /// Where a hash table is walked next.
    pub(super) from: u64,
    /// The last key of a sorted table that was passed.
    pub(super) last: Option<Vec<u8>>,
    pub(super) is_new: bool,
    /// The first deadline among the pairs that stay.
    pub(super) due: u64,
}

impl Default for Pass {
    fn default() -> Self {
        Self { from: 0, last: None, is_new: true, due: u64::MAX }
    }
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

    /// Forgets a table that was dropped.
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
        let due_of_written = AtomicU64::new(u64::MAX);
        Self { id, table, pass: Mutex::default(), due: AtomicU64::new(0), due_of_written }
    }

    /// To be called once a pair with this deadline is in memory.
    #[inline]
    pub(crate) fn note(&self, deadline: u64) {
        if deadline != FOREVER && deadline < self.due_of_written.load(Relaxed) {
            self.due_of_written.fetch_min(deadline, Relaxed);
        }
    }

    pub(super) fn is_due(&self, now: u64) -> bool {
        now >= self.due.load(Relaxed).min(self.due_of_written.load(Relaxed))
    }
}
