//! Tables of stores and of snapshots, whose pairs stay or expire.

use twindex::SnapshotTable;
use twindex_durable::{self as durable, ExpiringReads, ExpiringTable};

/// A table of a store, or as a snapshot has it.
pub(crate) struct Table {
    memory: twindex::Table,
    /// What writes go to; a snapshot's table has none.
    live: Option<durable::Table>,
}

impl From<durable::Table> for Table {
    fn from(table: durable::Table) -> Self {
        Self { memory: table.in_memory().clone(), live: Some(table) }
    }
}

impl From<&SnapshotTable> for Table {
    fn from(table: &SnapshotTable) -> Self {
        Self { memory: table.as_table().clone(), live: None }
    }
}

impl Table {
    /// For reads.
    #[inline]
    pub(crate) fn in_memory(&self) -> &twindex::Table {
        &self.memory
    }

    /// For writes. Fails for a snapshot's table.
    #[inline]
    pub(crate) fn live(&self) -> durable::Result<&durable::Table> {
        let refused = || twindex::Error::ReadOnly { table: self.memory.name().into() }.into();
        self.live.as_ref().ok_or_else(refused)
    }
}

/// A table whose pairs expire, of a store or as a snapshot has it.
pub(crate) struct Expiring {
    reads: ExpiringReads,
    /// What writes go to; a snapshot's table has none.
    live: Option<ExpiringTable>,
}

impl From<ExpiringTable> for Expiring {
    fn from(table: ExpiringTable) -> Self {
        Self { reads: table.in_memory().clone(), live: Some(table) }
    }
}

impl From<ExpiringReads> for Expiring {
    fn from(reads: ExpiringReads) -> Self {
        Self { reads, live: None }
    }
}

impl Expiring {
    /// For reads.
    #[inline]
    pub(crate) fn in_memory(&self) -> &ExpiringReads {
        &self.reads
    }

    /// For writes. Fails for a snapshot's table.
    #[inline]
    pub(crate) fn live(&self) -> durable::Result<&ExpiringTable> {
        let refused = || twindex::Error::ReadOnly { table: self.reads.name().into() }.into();
        self.live.as_ref().ok_or_else(refused)
    }
}
