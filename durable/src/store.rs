//! A store and its file.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

use twindex::{IndexKind, TableOptions};
use twindex_format::{Progress, Torn};

use crate::compact;
use crate::core::{Core, Logged};
use crate::error::{Error, Result};
use crate::expiring::kind::{check_expires, check_plain};
use crate::feed::{Changes, FeedFile};
use crate::follow_thread;
use crate::handle::Handle;
use crate::mutex::lock;
use crate::options::{Durability, Options};
use crate::paths::resolve;
use crate::position::Position;
use crate::sync_thread;
use crate::table::Table;
use crate::whole::save_to;

/// A store in one file, or only in memory.
///
/// A handle: clones are the same store. With `everysec` and `always` the file is closed with the last handle
/// of it and of its tables; [`close`](Self::close) does so at once and returns errors.
#[derive(Clone)]
pub struct Store {
    pub(crate) handle: Arc<Handle>,
}

/// Figures of a store, as [`Store::stats`] returns them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stats {
    /// The file, or `None` for a store in memory.
    pub path: Option<PathBuf>,
    /// When a change reaches the disk; `None` for a store in memory.
    pub durability: Durability,
    /// The number of tables.
    pub tables: usize,
    /// The number of pairs in all of them.
    pub pairs: u64,
    /// The bytes in memory.
    pub memory: usize,
    /// Of these, the bytes that only open snapshots need.
    pub kept_bytes: usize,
    /// The open snapshots, a compaction's included.
    pub snapshots: usize,
    /// The transactions that have begun and not ended.
    pub transactions: usize,
    /// The bytes of the file's dump.
    pub dump_bytes: u64,
    /// The bytes of the log after it.
    pub log_bytes: u64,
    /// Of these, the bytes that are not yet on disk.
    pub unsynced_bytes: u64,
    /// How long ago the first of these was written.
    pub unsynced_for: Option<Duration>,
    /// How often the log was put on disk since the store was opened.
    pub syncs: u64,
    /// When it was last.
    pub last_sync: Option<SystemTime>,
    /// How often the file was compacted since the store was opened.
    pub compactions: u64,
    /// Whether it is being compacted.
    pub compacting: bool,
    /// Why the last compaction in the background came to nothing, if it did.
    pub compaction_error: Option<String>,
    /// Where the last change is in the store's history, if the file has a log.
    pub position: Option<Position>,
    /// In a read-only store: the bytes of the file not read yet. During a refresh, those from before it.
    pub behind_bytes: u64,
    /// When all that there was in the file had been read.
    pub refreshed: Option<SystemTime>,
    /// Why the last [`refresh`](Store::refresh), by hand or by [`follow`](Store::follow), failed, if it did.
    pub follow_error: Option<String>,
    /// Why nothing can be written, for good or while there is no room for the log, if so.
    pub log_error: Option<String>,
}

impl Store {
    /// An empty store in memory.
    pub fn new() -> Self {
        Self::from(twindex::Store::new())
    }

    /// Opens the store in the file at `path`, or makes one, with durability
    /// [`EverySec`](Durability::EverySec). See [`Options`] for more.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Options::new().open(path)
    }

    fn core(&self) -> &Arc<Core> {
        &self.handle.0
    }

    fn wrap(&self, (id, engine): (u32, twindex::Table)) -> Table {
        Table::new(Arc::clone(&self.handle), id, engine)
    }

    // --- tables

    /// Opens the table called `name`, or creates it with this index.
    pub fn table(&self, name: &str, index: IndexKind) -> Result<Table> {
        self.table_with(name, TableOptions::new(index))
    }

    /// As [`table`](Self::table), with the codecs of its keys and values, and only an existing table if the options say so: see
    /// [`twindex::Store::table_with`].
    pub fn table_with(&self, name: &str, options: TableOptions<'_>) -> Result<Table> {
        check_plain(name, &options)?;
        self.check_found(name, false)?;
        let (id, table) = self.handle.table(name, options)?;
        check_expires(&table, false)?;
        Ok(self.wrap((id, table)))
    }

    /// Checks that the table called `name`, if there is one, has pairs that expire or not.
    pub(crate) fn check_found(&self, name: &str, expires: bool) -> Result<()> {
        self.in_memory().find_table(name).map_or(Ok(()), |found| check_expires(&found, expires))
    }

    /// As [`table_with`](Self::table_with), also for a table whose pairs expire, as it is stored: for tools that copy tables.
    #[doc(hidden)]
    pub fn stored_table_with(&self, name: &str, options: TableOptions<'_>) -> Result<Table> {
        Ok(self.wrap(self.handle.table(name, options)?))
    }

    /// The table called `name`, if there is one. Fails with [`Error::WrongExpiry`] if its pairs expire.
    pub fn find_table(&self, name: &str) -> Result<Option<Table>> {
        self.core().check_open()?;
        let Some((id, table)) = self.core().find_table(name) else { return Ok(None) };
        check_expires(&table, false)?;
        Ok(Some(self.wrap((id, table))))
    }

    /// All tables, by name. Those whose pairs [expire](Store::expiring_table) are as they are stored: a codec of values that begins with
    /// `expires:`, and a deadline in front of each value.
    pub fn tables(&self) -> Result<Vec<Table>> {
        self.core().check_open()?;
        Ok(self.core().tables().into_iter().map(|table| self.wrap(table)).collect())
    }

    /// Removes a table and its pairs. Returns whether there was one.
    ///
    /// Handles of it find nothing from then on, and their writes fail.
    pub fn drop_table(&self, name: &str) -> Result<bool> {
        self.handle.drop_table(name)
    }

    // --- memory

    /// The store in memory, for reads and for dumps. Writes to it are not in the log.
    pub fn in_memory(&self) -> &twindex::Store {
        &self.core().engine
    }

    /// The bytes that the store holds in memory.
    pub fn memory(&self) -> usize {
        self.core().engine.memory()
    }

    /// The most bytes that it may hold, or `None` if there is no limit.
    pub fn memory_limit(&self) -> Option<usize> {
        self.core().memory_limit()
    }

    /// Sets the memory limit. A store that already holds more keeps its pairs, and refuses to grow. One that was opened read-only
    /// may take half the limit and 1 MiB more, so that it can always follow a writer with the same limit.
    pub fn set_memory_limit(&self, limit: Option<usize>) {
        self.core().set_memory_limit(limit);
    }

    // --- the file

    /// The file, or `None` for a store in memory.
    pub fn path(&self) -> Option<&Path> {
        self.core().home.as_ref().map(|home| &*home.path)
    }

    /// When a change reaches the disk.
    pub fn durability(&self) -> Durability {
        self.core().home.as_ref().map_or(Durability::None, |home| home.durability)
    }

    /// Whether it was opened read-only.
    pub fn is_read_only(&self) -> bool {
        self.core().home.as_ref().is_some_and(|home| home.read_only)
    }

    /// The incomplete end that a power cut had left in the log when the file was opened, and was cut off:
    /// changes that no call had promised yet.
    pub fn torn(&self) -> Option<Torn> {
        self.core().home.as_ref()?.torn
    }

    /// Returns once every change that was made before the call is on disk. With `none` that is what
    /// [`save`](Self::save) is for, and this does nothing.
    pub fn flush(&self) -> Result<()> {
        self.core().check_flushable()?;
        match self.core().logged() {
            Some(Logged { log, .. }) => log.flush(),
            None => Ok(()),
        }
    }

    /// Writes the whole store to its file, which is replaced in one step. With a log this is what
    /// [`compact`](Self::compact) does.
    ///
    /// Fails with [`Error::NoFile`](crate::Error::NoFile) if the store is only in memory; for that there is
    /// [`save_as`](Self::save_as).
    pub fn save(&self) -> Result<()> {
        self.compact()
    }

    /// Writes the whole store to another file, as [`save`](crate::save) does; to its own one, as
    /// [`save`](Self::save) does. It is of one moment: a [`snapshot`](Self::snapshot).
    pub fn save_as(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = &resolve(path.as_ref());
        if self.path().is_some_and(|own| is_same_file(own, path)) {
            return self.save();
        }
        save_to(&self.core().engine, path)
    }

    /// Writes the whole store as bytes, which [`load`](crate::load) reads from a file. They are of one moment.
    pub fn dump<W: Write + ?Sized>(&self, writer: &mut W) -> twindex::Result<()> {
        twindex_format::Dump::dump(&self.core().engine, writer)
    }

    /// Rewrites the file without overwritten and deleted pairs, while reads and writes go on. The store also compacts on its own once
    /// the log has outgrown the dump, unless [`Options::compact_by_hand`] is set.
    pub fn compact(&self) -> Result<()> {
        self.compact_and_tell(None)
    }

    /// As [`compact`](Self::compact), and calls `progress` with its progress.
    ///
    /// It may read and write, but what waits for this to end would wait for itself: [`save`](Self::save), `compact` and
    /// [`close`](Self::close), and with `none` the commit of a [`Batch`](crate::Batch).
    pub fn compact_with(&self, mut progress: impl FnMut(Progress)) -> Result<()> {
        self.compact_and_tell(Some(&mut progress))
    }

    fn compact_and_tell(&self, progress: Option<&mut dyn FnMut(Progress)>) -> Result<()> {
        let home = self.core().home()?;
        home.check_writable()?;
        let compacted = compact::compact(self.core(), home, &home.compaction.begin(), progress);
        match compacted {
            // Closing the store ended it, and no fault of the disk.
            Err(Error::Io { .. }) if home.compaction.is_stopped() => {
                Err(Error::Closed { path: home.path.clone() })
            }
            compacted => compacted,
        }
    }

    /// Writes everything to the disk and closes the file. Later reads and writes fail. A second call does nothing. For a store in memory
    /// only the watches end; its tables go on.
    ///
    /// If it fails, the store stays open: save it to another file by [`save_as`](Self::save_as), or close it again. The last
    /// handle of a store that was never closed closes the file.
    ///
    /// Writes of other threads at the same time are either in the file or fail; with `none` they may be lost.
    pub fn close(&self) -> Result<()> {
        self.core().close()
    }

    // --- following and the feed

    /// In a [read-only](Options::read_only) store: reads the changes that another process has written since. Returns the
    /// number of batches, which is 0 in a store that is open for writing.
    ///
    /// When it returns, every batch is whole. While it runs, readers may see a part of one, as readers in the writer's
    /// process may. Handles of tables go on working. A change may be seen before it is on disk.
    ///
    /// A compaction costs nothing, since the new file's log is read from the same place on. If the file was replaced by
    /// another store's, was recovered, or is saved with durability `none`, all of it is read and compared: that takes as long as
    /// opening it twice, and memory for a second copy meanwhile.
    pub fn refresh(&self) -> Result<u64> {
        self.core().refresh(false)
    }

    /// Starts a thread that refreshes the store, every millisecond while changes come, else every 32 ms. It ends with the
    /// store. Its errors are in [`Stats::follow_error`], and it tries again.
    ///
    /// A child of fork has no such thread: call this in the child.
    pub fn follow(&self) -> Result<()> {
        follow_thread::start(self.core())
    }

    /// The position of the last change that this store has, for [`changes`](Self::changes).
    pub fn position(&self) -> Result<Position> {
        self.core().position()
    }

    /// The changes after a position, and those to come.
    ///
    /// Fails with [`Error::PositionGone`](crate::Error::PositionGone) if the file does not have them any more.
    /// [`Changes::open`] does the same without loading the store.
    pub fn changes(&self, from: Position) -> Result<Changes> {
        Changes::of_handle(&self.handle, Some(from))
    }

    /// The changes from now on.
    pub fn changes_from_now(&self) -> Result<Changes> {
        Changes::of_handle(&self.handle, None)
    }

    /// The file of [`changes`](Self::changes), whose position is still to be found. Without one: of
    /// [`changes_from_now`](Self::changes_from_now).
    #[doc(hidden)]
    pub fn feed_file(&self, from: impl Into<Option<Position>>) -> Result<FeedFile> {
        FeedFile::of_handle(&self.handle, from.into())
    }

    /// Figures of the store and its file.
    pub fn stats(&self) -> Stats {
        let core = self.core();
        let tables = core.tables();
        let log = core.logged().map(|logged| logged.log.stats()).unwrap_or_default();
        let home = core.home.as_ref();
        let seen = core.seen();
        let snapshots = core.engine.snapshot_stats();
        Stats {
            position: core.position().ok(),
            behind_bytes: seen.behind,
            refreshed: seen.refreshed,
            follow_error: home.and_then(|home| lock(&home.following.error).clone()),
            path: self.path().map(Path::to_owned),
            durability: self.durability(),
            tables: tables.len(),
            pairs: tables.iter().map(|(_, table)| table.len() as u64).sum(),
            memory: self.memory(),
            kept_bytes: snapshots.kept_bytes,
            snapshots: snapshots.snapshots,
            transactions: snapshots.transactions,
            dump_bytes: log.dump_bytes,
            log_bytes: log.log_bytes,
            unsynced_bytes: log.unsynced_bytes,
            unsynced_for: log.unsynced_for,
            syncs: log.syncs,
            last_sync: log.last_sync,
            compactions: home.map_or(0, |home| home.compaction.count.load(Relaxed)),
            compacting: home.is_some_and(|home| home.compaction.is_running()),
            compaction_error: home
                .and_then(|home| lock(&home.compaction.error).as_ref().map(ToString::to_string)),
            log_error: log.failed.map(|reason| reason.to_string()),
        }
    }
}

fn is_same_file(one: &Path, two: &Path) -> bool {
    matches!((one.canonicalize(), two.canonicalize()), (Ok(one), Ok(two)) if one == two)
}

impl Options {
    /// Opens the store in the file at `path`.
    ///
    /// Fails with [`Error::InUse`](crate::Error::InUse) if it is open for writing already, with
    /// [`Error::Damaged`](crate::Error::Damaged) if it holds
    /// anything but what was written, and with [`Error::Io`](crate::Error::Io). An incomplete end that a power cut left is not damage:
    /// see [`Store::torn`].
    pub fn open(self, path: impl AsRef<Path>) -> Result<Store> {
        let handle = Handle(Core::open(path.as_ref(), self)?);
        sync_thread::start(&handle.0)?;
        Ok(Store { handle: Arc::new(handle) })
    }
}

impl Default for Store {
    fn default() -> Self {
        Self::new()
    }
}

impl From<twindex::Store> for Store {
    /// The same store in memory. Writes through either handle are seen by both.
    fn from(engine: twindex::Store) -> Self {
        Self { handle: Arc::new(Handle(Arc::new(Core::in_memory(engine)))) }
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("path", &self.path())
            .field("durability", &self.durability())
            .field("tables", &self.tables())
            .finish_non_exhaustive()
    }
}
