//! Snapshots of a store, and where they are in its history.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use twindex::SnapshotTable;
use twindex_format::tables_of;

use crate::core::Logged;
use crate::error::{Error, Result};
use crate::expiring::kind::check_expires;
use crate::handle::Handle;
use crate::lock::Make;
use crate::paths::resolve;
use crate::position::Position;
use crate::store::Store;
use crate::whole::save_snapshot;

/// All tables of a store as they were at one moment between writes: never half a [`Batch`](crate::Batch) or
/// [`Transaction`](crate::Transaction).
///
/// A handle: clones are the same snapshot. Its tables, and cursors of them, go on when the store is closed. Until the last of them is
/// dropped the store keeps the values that writes replace.
///
/// ```
/// # use twindex_durable::{Store, twindex::IndexKind};
/// # let folder = tempfile::tempdir()?;
/// let store = Store::open(folder.path().join("app.twx"))?;
/// let orders = store.table("orders", IndexKind::Sorted)?;
/// orders.insert("1", "apples")?;
/// let report = store.snapshot()?;
/// orders.insert("2", "pears")?;
/// assert_eq!(report.table("orders")?.len(), 1);
///
/// let changes = store.changes(report.position()?)?; // exactly what came after
/// # drop(changes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    handle: Arc<Handle>,
    engine: twindex::Snapshot,
    position: Option<Position>,
    /// By which its pairs have expired.
    pub(crate) time: u64,
}

impl Store {
    /// A snapshot of all tables. It copies nothing: the first write to each part of an index copies that part later.
    ///
    /// Fails with [`Error::InWrite`](twindex::Error::InWrite) in a closure of a write, such as the one of [`alter`](crate::Table::alter).
    pub fn snapshot(&self) -> Result<Snapshot> {
        let core = &self.handle.0;
        core.check_open()?;
        let (engine, position) = core.snapshot()?;
        let time = core.expiry.clock().now();
        Ok(Snapshot { handle: Arc::clone(&self.handle), engine, position, time })
    }
}

impl crate::core::Core {
    /// A snapshot, and the position of the last change in it if the store has any.
    fn snapshot(&self) -> Result<(twindex::Snapshot, Option<Position>)> {
        if let Some(Logged { log, .. }) = self.logged() {
            let (snapshot, position) = self.engine.snapshot_with(|| log.place().1)?;
            // So that a feed from there finds the position in the file.
            log.end()?;
            return Ok((snapshot, Some(Position(position))));
        }
        self.between_refreshes(|position| Ok((self.engine.snapshot()?, position.map(Position))))
    }
}

impl Snapshot {
    /// The table called `name`, as it was.
    pub fn table(&self, name: &str) -> Result<SnapshotTable> {
        let table = self.raw_table(name)?;
        check_expires(table.as_table(), false)?;
        Ok(table)
    }

    pub(crate) fn raw_table(&self, name: &str) -> Result<SnapshotTable> {
        self.handle.0.check_open()?;
        Ok(self.engine.table(name)?)
    }

    /// The same, if there was one.
    pub fn find_table(&self, name: &str) -> Result<Option<SnapshotTable>> {
        match self.table(name) {
            Ok(table) => Ok(Some(table)),
            Err(Error::Engine(twindex::Error::NoTable { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// All tables that there were, by name. Those whose pairs expire are as they are stored, as in [`Store::tables`].
    pub fn tables(&self) -> Result<Vec<SnapshotTable>> {
        self.handle.0.check_open()?;
        Ok(self.engine.tables())
    }

    /// Where the snapshot is in the store's history: [`changes`](Store::changes) from there have everything that came after it, and
    /// nothing that is in it.
    ///
    /// Fails with [`Error::NoFile`] or [`Error::NoLog`] if the store has no history.
    pub fn position(&self) -> Result<Position> {
        let home = self.handle.0.home()?;
        self.position.ok_or_else(|| Error::NoLog { path: home.path.clone() })
    }

    /// Writes it as bytes, which [`load`](crate::load) reads from a file.
    pub fn dump<W: Write + ?Sized>(&self, writer: &mut W) -> twindex::Result<()> {
        twindex_format::write_tables(&tables_of(&self.engine), 0, writer, &mut |_| {}).map(drop)
    }

    /// Writes it to another file than the store's, as [`save`](crate::save) does.
    pub fn save_as(&self, path: impl AsRef<Path>) -> Result<()> {
        save_snapshot(&self.engine, &resolve(path.as_ref()), Make::IfAbsent)
    }
}
