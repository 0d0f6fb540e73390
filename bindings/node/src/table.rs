//! Tables of stores and of snapshots.

use twindex::SnapshotTable;
use twindex_durable as durable;

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
