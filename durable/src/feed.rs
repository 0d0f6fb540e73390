//! The changes of a store in the order of its log.

use std::collections::VecDeque;
use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use twindex::Error::Corrupt;
use twindex_format::{Header, Operation, TableInfo, TableInfos};

use crate::change::{ChangeSet, Effect, TableChange, shown};
use crate::disk::real::RealDisk;
use crate::disk::{Disk, File};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::paths::resolve;
use crate::pause::Pause;
use crate::position::Position;
use crate::tail::{self, Look, Tail};

/// So many bytes of changes are read ahead.
const AHEAD: usize = 1 << 20;

/// The changes of a store from a position on, in the order of its log: the existing ones, then the new ones.
///
/// It reads the file, so it works in any process, and needs none of the store's memory. As an iterator it ends where the
/// log does now, and goes on when there is more; [`wait`](Self::wait) waits for more.
///
/// It continues when the file is compacted: the new file has the last changes, as many bytes of log as the pairs take in it, at least
/// 1 MiB and at most 16 MiB. A position that is further behind at a compaction is [gone](Error::PositionGone). An open feed still
/// reads the file that it has open to its end, so it loses its place only
/// if another compaction finds it so far behind.
///
/// A change may be read before it is on disk. If a power cut then takes it away, the position is
/// [gone](Error::PositionGone).
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("app.twx");
/// use twindex_durable::{Effect, Options, Store, twindex::IndexKind};
///
/// let store = Store::open(&path)?;
/// let users = store.table("users", IndexKind::Hash)?;
/// let position = store.position()?;
/// users.insert("ada", "1815")?;
/// for batch in store.changes(position)? {
///     let batch = batch?;
///     for change in &batch.changes {
///         if let Effect::Put { key, value } = &change.effect {
///             assert_eq!((&*change.table.name, key.as_slice(), value.as_slice()), ("users", &b"ada"[..], &b"1815"[..]));
///         }
///     }
///     // Save it with the result of the changes.
///     let _ = batch.position.to_string();
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Changes {
    handle: Option<Arc<Handle>>,
    disk: Arc<dyn Disk>,
    path: PathBuf,
    tail: Tail,
    tables: TableInfos,
    read: VecDeque<ChangeSet>,
    position: Position,
}

/// The file of a feed, open, while the position in it is still to be found: no compaction takes changes away from it any
/// more. To open it is quick, and to find the position is not, since that reads the log: a thread that must not block does the
/// one, another thread the other.
#[doc(hidden)]
pub struct FeedFile {
    handle: Option<Arc<Handle>>,
    disk: Arc<dyn Disk>,
    path: PathBuf,
    opened: (Arc<dyn File>, Header),
    from: Option<Position>,
}

impl FeedFile {
    /// The file at `path`, for [`Changes::open`].
    pub fn open(path: impl AsRef<Path>, from: impl Into<Option<Position>>) -> Result<Self> {
        Self::open_on(Arc::new(RealDisk), resolve(path.as_ref()), from.into())
    }

    /// The file of a store. Without a position, the feed begins where the store is now.
    pub(crate) fn of_handle(handle: &Arc<Handle>, from: Option<Position>) -> Result<Self> {
        let core = &handle.0;
        let home = core.home()?;
        home.check_open()?;
        let salt = || core.logged().map(|logged| logged.log.salt());
        loop {
            let before = salt();
            let from = from.map_or_else(|| core.position(), Ok)?;
            let file = Self::open_on(Arc::clone(&home.disk), home.path.clone(), Some(from))?;
            // If a compaction came in between, the new file may keep less than what was logged meanwhile.
            if before == salt() {
                return Ok(Self { handle: Some(Arc::clone(handle)), ..file });
            }
        }
    }

    fn open_on(disk: Arc<dyn Disk>, path: PathBuf, from: Option<Position>) -> Result<Self> {
        let opened = open_log(&*disk, &path)?;
        Ok(Self { handle: None, disk, path, opened, from })
    }

    /// The changes after the position.
    pub fn find(self) -> Result<Changes> {
        let Self { handle, disk, path, opened, from } = self;
        let (tail, tables) = find(&path, &opened, from)?;
        let position = Position(tail.position());
        Ok(Changes { handle, disk, path, tail, tables, read: VecDeque::new(), position })
    }
}

impl Changes {
    /// The changes after a position in the store's file at `path`, without loading the store. Without a position it begins
    /// with the oldest change that the file has.
    pub fn open(path: impl AsRef<Path>, from: impl Into<Option<Position>>) -> Result<Self> {
        Self::open_on(Arc::new(RealDisk), resolve(path.as_ref()), from.into())
    }

    pub(crate) fn of_handle(handle: &Arc<Handle>, from: Option<Position>) -> Result<Self> {
        FeedFile::of_handle(handle, from)?.find()
    }

    pub(crate) fn open_on(disk: Arc<dyn Disk>, path: PathBuf, from: Option<Position>) -> Result<Self> {
        FeedFile::open_on(disk, path, from)?.find()
    }

    /// The position after the last changes that were returned.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The next changes, or `None` if there are none yet.
    pub fn poll(&mut self) -> Result<Option<ChangeSet>> {
        if let Some(handle) = &self.handle {
            handle.0.home()?.check_open()?;
        }
        if self.read.is_empty() {
            self.read_ahead()?;
        }
        let next = self.read.pop_front();
        if let Some(next) = &next {
            self.position = next.position;
        }
        Ok(next)
    }

    /// The next changes; waits for them, for so long at most, or for ever.
    pub fn wait(&mut self, timeout: Option<Duration>) -> Result<Option<ChangeSet>> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut pause = Pause::new();
        loop {
            let next = self.poll()?;
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if next.is_some() || left == Some(Duration::ZERO) {
                return Ok(next);
            }
            pause.wait(left);
        }
    }

    fn read_ahead(&mut self) -> Result<()> {
        let failed = |error| Error::of_file(&self.path, error);
        match self.tail.look(&*self.disk, &self.path).map_err(failed)? {
            Look::Empty => Ok(()),
            Look::Same => self.read().map(drop),
            Look::Other(..) => {
                // The old file gets no more records once another has its name. If it is damaged, it stays so.
                match self.read() {
                    Ok(false) => Ok(()),
                    Ok(true) | Err(Error::Damaged { .. }) if !self.read.is_empty() => Ok(()),
                    Ok(true) | Err(Error::Damaged { .. }) => self.go_over(),
                    Err(error) => Err(error),
                }
            }
            Look::Earlier(..) => self.go_over(),
        }
    }

    fn go_over(&mut self) -> Result<()> {
        let opened = open_log(&*self.disk, &self.path)?;
        (self.tail, self.tables) = find(&self.path, &opened, Some(self.position))?;
        self.read().map(drop)
    }

    /// Reads changes; whether these were all.
    fn read(&mut self) -> Result<bool> {
        let Self { disk, path, tail, tables, read, .. } = self;
        let mut bytes = 0;
        let is_end = tail.read(&|| disk.has_writer(path), &mut |payload, position| {
            let changes = changes_in(tables, payload)?;
            if !changes.is_empty() {
                read.push_back(ChangeSet { position: Position(position), changes });
            }
            bytes += payload.len();
            Ok(if bytes < AHEAD { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })
        });
        is_end.map_err(|error| Error::of_file(path, error))
    }
}

impl Iterator for Changes {
    type Item = Result<ChangeSet>;

    fn next(&mut self) -> Option<Result<ChangeSet>> {
        self.poll().transpose()
    }
}

impl fmt::Debug for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Changes")
            .field("path", &self.path)
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Opens the file at `path`, which must have a log.
fn open_log(disk: &dyn Disk, path: &Path) -> Result<(Arc<dyn File>, Header)> {
    let opened = tail::open(disk, path).map_err(|error| Error::of_file(path, error))?;
    opened.filter(|(_, header)| header.salt != 0).ok_or_else(|| Error::NoLog { path: path.into() })
}

fn find(
    path: &Path,
    (file, header): &(Arc<dyn File>, Header),
    from: Option<Position>,
) -> Result<(Tail, TableInfos)> {
    let found = tail::find(file, *header, from.map(|from| from.0));
    found.map_err(|error| Error::of_file(path, error))?.map_err(|oldest| {
        let oldest = Position(oldest);
        Error::PositionGone { path: path.into(), position: from.unwrap_or(oldest), oldest }
    })
}

/// The changes that a record of operations stands for.
fn changes_in(tables: &mut TableInfos, mut payload: &[u8]) -> twindex::Result<Vec<TableChange>> {
    const NOT_VALID: twindex::Error = Corrupt { offset: 0, what: "an operation in the log is not valid" };
    let mut changes = Vec::new();
    while !payload.is_empty() {
        let (id, operation) = Operation::take(&mut payload).ok_or(NOT_VALID)?;
        if let Operation::Create(table) = operation {
            tables.insert(id, TableInfo::of(&table));
        }
        let mut expires = None;
        let effect = match operation {
            Operation::Position(_) => continue,
            Operation::Put(key, stored) => {
                let value;
                (value, expires) = shown(tables.get(&id).ok_or(NOT_VALID)?, stored);
                Effect::Put { key: key.into(), value: value.into() }
            }
            Operation::Delete(key) => Effect::Delete { key: key.into() },
            Operation::Create(_) => Effect::Create,
            Operation::Drop => Effect::Drop,
            Operation::Clear => Effect::Clear,
        };
        let table = Arc::clone(tables.get(&id).ok_or(NOT_VALID)?);
        if effect == Effect::Drop {
            tables.remove(&id);
        }
        changes.push(TableChange { table, effect, expires });
    }
    Ok(changes)
}
