//! What all handles of a store share.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::{Duration, Instant, SystemTime};

use twindex_format::{Progress, Torn, limit_while_loading};

use crate::disk::Disk;
use crate::disk::real::RealDisk;
use crate::error::{Error, Result};
use crate::expiring::due::Expiry;
use crate::follower::Follower;
use crate::load;
use crate::lock::{Lock, Make, pid};
use crate::log::{End, Log};
use crate::mutex::lock;
use crate::notice::tell;
use crate::options::{Durability, Options};
use crate::paths::resolve;
use crate::position::Position;
use crate::registry;
use crate::rewrite::{Compaction, is_in_place, moved, remove_left, write_anew};
use crate::stripes::Stripes;
use crate::watch::{Teller, Watches};

/// A store: the engine's, and a file where it has one.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) engine: twindex::Store,
    /// The numbers of tables in the file. Its lock is held to create and drop tables.
    pub(crate) ids: Mutex<BTreeMap<String, u32>>,
    pub(crate) next_id: AtomicU32,
    pub(crate) home: Option<Home>,
    pub(crate) transactions: OpenTransactions,
    pub(crate) watches: Arc<Watches>,
    /// What keeps the order of a store without a log while it has a watch.
    unlogged: OnceLock<Stripes>,
    pub(crate) expiry: Expiry,
    /// Held to change the memory limit. A follower's, whose engine has [`limit_while_loading`]: the file never has more
    /// than its writer's limit, but other pairs are loaded together.
    pub(crate) limit: Mutex<Option<usize>>,
}

#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) durability: Durability,
    pub(crate) read_only: bool,
    pub(crate) compact_by_hand: bool,
    pub(crate) torn: Option<Torn>,
    /// With `everysec` and `always`.
    pub(crate) logged: Option<Logged>,
    /// With `read_only`.
    pub(crate) follower: Option<Mutex<Follower>>,
    pub(crate) following: Following,
    pub(crate) compaction: Compaction,
    closed: AtomicBool,
    /// Tells whether this process is a child of fork, which leaves the file to its parent.
    forks: u32,
    /// Somebody was told that the log failed when they closed the store.
    close_failed: AtomicBool,
    /// Taken before the log's own locks are, or while they are held: it is held for a few calls of the system alone.
    pub(crate) lock: Mutex<Option<Lock>>,
}

/// The thread that keeps up with the file, and what is known without waiting for a refresh, which may take seconds.
#[derive(Debug, Default)]
pub(crate) struct Following {
    /// The process that started it, or 0.
    pub(crate) process: AtomicU32,
    pub(crate) error: Mutex<Option<String>>,
    seen: Mutex<Seen>,
}

/// How far a follower was when somebody last looked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) position: Option<twindex_format::Position>,
    /// The bytes of the file that were not read.
    pub(crate) behind: u64,
    /// When all that there was in the file had been read.
    pub(crate) refreshed: Option<SystemTime>,
}

impl Seen {
    fn of(follower: &Follower, behind: u64) -> Self {
        Self { position: follower.position(), behind, refreshed: Some(follower.refreshed()) }
    }
}

/// A transaction is old that began so long ago.
const OLD: Duration = Duration::from_mins(1);

/// How many transactions are open, in two counts: those that began in the present minute or so, and the older ones.
#[derive(Debug, Default)]
pub(crate) struct OpenTransactions {
    counts: [AtomicUsize; 2],
    /// Which of the counts is the present one, and since when.
    present: AtomicUsize,
    since: Mutex<Option<Instant>>,
}

impl OpenTransactions {
    /// Counts one that begins. Returns which count has it.
    pub(crate) fn begin(&self) -> usize {
        let present = self.present.load(Relaxed);
        self.counts[present].fetch_add(1, Relaxed);
        present
    }

    pub(crate) fn end(&self, count: usize) {
        self.counts[count].fetch_sub(1, Relaxed);
    }

    /// Returns how many transactions are old, once for each of them. To be called now and then.
    pub(crate) fn look(&self, now: Instant) -> Option<usize> {
        let mut since = lock(&self.since);
        if now.saturating_duration_since(*since.get_or_insert(now)) < OLD {
            return None;
        }
        *since = Some(now);
        let present = self.present.load(Relaxed);
        match self.counts[1 - present].load(Relaxed) {
            0 => {
                self.present.store(1 - present, Relaxed);
                None
            }
            old => Some(old),
        }
    }
}

/// A log, and what keeps its order.
#[derive(Debug)]
pub(crate) struct Logged {
    pub(crate) log: Arc<Log>,
    pub(crate) stripes: Stripes,
}

/// A file in which more tables have ever been is written anew when it is opened, so that ids never run out.
const MOST_IDS: u32 = 1 << 31;

impl Core {
    pub(crate) fn in_memory(engine: twindex::Store) -> Self {
        let names = engine.tables();
        let ids = (0..).zip(&names).map(|(id, table)| (table.name().into(), id)).collect();
        Self::new(engine, ids, names.len() as u32, None)
    }

    fn new(engine: twindex::Store, ids: BTreeMap<String, u32>, next_id: u32, home: Option<Home>) -> Self {
        Self {
            engine,
            ids: Mutex::new(ids),
            next_id: AtomicU32::new(next_id),
            home,
            transactions: OpenTransactions::default(),
            watches: Arc::default(),
            unlogged: OnceLock::new(),
            expiry: Expiry::default(),
            limit: Mutex::default(),
        }
    }

    pub(crate) fn open(path: &Path, options: Options) -> Result<Arc<Self>> {
        Self::open_on(Arc::new(RealDisk), &resolve(path), options)
    }

    pub(crate) fn open_on(disk: Arc<dyn Disk>, path: &Path, options: Options) -> Result<Arc<Self>> {
        let Options { durability, read_only, existing, memory_limit, compact_by_hand, progress } = options;
        let mut progress = progress.unwrap_or_else(|| Box::new(|_| {}));
        let make = if existing { Make::Never } else { Make::IfAbsent };
        let mut lock = if read_only { None } else { disk.lock(path, make)? };
        let failed = |error| Error::io(path, error);
        if !read_only {
            // It is in nobody's way where it cannot be removed.
            let _ = remove_left(&*disk, path);
        }
        let with_log = durability != Durability::None && !read_only;
        if let Some(lock) = lock.as_ref().filter(|_| with_log) {
            lock.check_writable().map_err(failed)?;
        }
        // With the lock this is the only writer.
        let has_writer = || read_only && disk.has_writer(path);
        let mut stamp = None;
        let found = match disk.open(path, lock.as_ref()) {
            // An empty file is a new store, and so is that of a store that was not saved yet.
            Ok(file) if file.len().map_err(failed)? == 0 => None,
            Ok(file) => {
                stamp = Some(file.stamp().map_err(failed)?);
                let mut load = || {
                    let found = load::load(&file, &has_writer, memory_limit, &mut *progress);
                    found.map_err(|error| Error::of_file(path, error))
                };
                let found = load()?;
                let is_there = match &found.end {
                    Some(end) if with_log => is_on_disk(end).map_err(failed)?,
                    _ => true,
                };
                Some(if is_there { found } else { load()? })
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !existing && !read_only => None,
            Err(error) => return Err(failed(error)),
        };
        let torn = found.as_ref().and_then(|found| found.torn);
        if let (Some(Torn { offset, bytes }), false) = (torn, read_only) {
            let what =
                format_args!("an incomplete last write of {bytes} bytes was discarded at offset {offset}");
            tell(path, "log_torn", what);
        }
        let engine = found.as_ref().map_or_else(twindex::Store::new, |found| found.loader.store().clone());
        let (mut ids, mut next_id, mut end) = (BTreeMap::new(), 0, None);
        if let Some(found) = found {
            next_id = found.loader.next_id();
            ids = found.loader.tables().map(|(id, table)| (table.name().to_owned(), id)).collect();
            end = found.end;
        }
        let follower = read_only.then(|| {
            let source = stamp.map(|stamp| (stamp, end.take()));
            Follower::new(engine.clone(), &tables_of(&engine, &ids), source)
        });
        let following = Following {
            seen: Mutex::new(follower.as_ref().map_or_else(Seen::default, |follower| Seen::of(follower, 0))),
            ..Following::default()
        };
        if next_id > MOST_IDS {
            (0..).zip(ids.values_mut()).for_each(|(number, id)| *id = number);
            (next_id, end) = (ids.len() as u32, None);
        }
        let logged = if with_log {
            let is_new = end.is_none();
            let end = match end {
                Some(end) => make_ready(&*disk, path, end, torn).map_err(failed)?,
                // A file that is new, or cannot have a log.
                None => write_anew(&*disk, path, &mut lock, &tables_of(&engine, &ids), &mut |_| {})?,
            };
            let log = Arc::new(Log::new(path, durability, end));
            if !is_new {
                log.begin_session();
            }
            Some(Logged { log, stripes: Stripes::new() })
        } else {
            None
        };
        let home = Home {
            path: path.into(),
            disk,
            durability,
            read_only,
            compact_by_hand,
            torn,
            logged,
            follower: follower.map(Mutex::new),
            following,
            compaction: Compaction::default(),
            closed: AtomicBool::new(false),
            forks: registry::forks(),
            close_failed: AtomicBool::new(false),
            lock: Mutex::new(lock),
        };
        let core = Self::new(engine, ids, next_id, Some(home));
        core.set_memory_limit(memory_limit);
        Ok(Arc::new(core))
    }

    fn is_follower(&self) -> bool {
        self.home.as_ref().is_some_and(|home| home.follower.is_some())
    }

    pub(crate) fn memory_limit(&self) -> Option<usize> {
        let limit = lock(&self.limit);
        if self.is_follower() { *limit } else { self.engine.memory_limit() }
    }

    pub(crate) fn set_memory_limit(&self, limit: Option<usize>) {
        let mut own = lock(&self.limit);
        *own = limit;
        self.engine.set_memory_limit(if self.is_follower() { limit.map(limit_while_loading) } else { limit });
    }

    // --- tables

    pub(crate) fn find_table(&self, name: &str) -> Option<(u32, twindex::Table)> {
        let ids = lock(&self.ids);
        Some((*ids.get(name)?, self.engine.find_table(name)?))
    }

    pub(crate) fn tables(&self) -> Vec<(u32, twindex::Table)> {
        tables_of(&self.engine, &lock(&self.ids))
    }

    /// All tables of a snapshot and their ids, with what `then` returns at its moment, when no write is on its way from memory to
    /// the log. Where the memory limit may have no room for a snapshot, which can keep as much as the store holds, they are the live
    /// tables, if those will do.
    pub(crate) fn moment<T>(
        &self,
        live_will_do: bool,
        then: impl FnOnce() -> T,
    ) -> Result<(T, Vec<(u32, twindex::Table)>)> {
        let ids = lock(&self.ids);
        let is_tight = |limit: usize| self.engine.memory() > limit / 5 * 2;
        if live_will_do && self.engine.memory_limit().is_some_and(is_tight) {
            return Ok((self.engine.alone(then)?, tables_of(&self.engine, &ids)));
        }
        let (snapshot, told) = self.engine.snapshot_with(then)?;
        let table = |(name, id): (&String, &u32)| Some((*id, snapshot.find_table(name)?.as_table().clone()));
        Ok((told, ids.iter().filter_map(table).collect()))
    }

    // --- the file

    /// That the file is not for reading alone, and its log did not fail.
    pub(crate) fn check_flushable(&self) -> Result<()> {
        match self.check_writable() {
            Err(Error::Closed { .. }) => Ok(()),
            checked => checked,
        }
    }

    #[inline]
    pub(crate) fn logged(&self) -> Option<&Logged> {
        self.home.as_ref()?.logged.as_ref()
    }

    /// What keeps the order in which a key's changes are told.
    #[inline]
    pub(crate) fn stripes(&self) -> &Stripes {
        match self.logged() {
            Some(logged) => &logged.stripes,
            None => self.unlogged.get_or_init(Stripes::new),
        }
    }

    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        self.home.as_ref().map_or(Ok(()), Home::check_open)
    }

    /// That writes are allowed, and will be kept if any are.
    #[inline]
    pub(crate) fn check_writable(&self) -> Result<()> {
        match &self.home {
            None => Ok(()),
            Some(home) => home.check_writable(),
        }
    }

    /// Reads what another process wrote to the file since: how many batches of changes that were. If it `tells`, a new failure is
    /// a notice too.
    pub(crate) fn refresh(&self, tells: bool) -> Result<u64> {
        let home = self.home()?;
        home.check_open()?;
        let Some(follower) = &home.follower else { return Ok(0) };
        let process = home.following.process.load(Relaxed);
        if process != 0 && process != pid() {
            // The thread is the parent's, and may have had the lock when the child was made.
            return Err(home.is_parents());
        }
        let teller = Teller::new(&self.watches);
        let mut follower = lock(follower);
        let batches = follower.refresh(&*home.disk, &home.path, &self.limit, &teller);
        let mut ids = lock(&self.ids);
        let is_known = |(id, table): (u32, &twindex::Table)| ids.get(table.name()) == Some(&id);
        if follower.tables().count() != ids.len() || !follower.tables().all(is_known) {
            *ids = follower.tables().map(|(id, table)| (table.name().to_owned(), id)).collect();
        }
        drop(ids);
        let behind = if batches.is_ok() { 0 } else { lock(&home.following.seen).behind };
        *lock(&home.following.seen) = Seen::of(&follower, behind);
        drop(follower);
        let batches = batches.map_err(|error| {
            Error::of_file(&home.path, twindex_format::name_limit(error, self.memory_limit()))
        });
        let error = batches.as_ref().err().map(Error::to_string);
        let mut last = lock(&home.following.error);
        if tells && let Some(error) = error.as_deref().filter(|error| last.as_deref() != Some(error)) {
            tell(&home.path, "follow_failed", format_args!("it does not keep up: {error}"));
        }
        *last = error;
        batches
    }

    /// Runs `then` with the position of the last change that a follower has, while it reads no more.
    pub(crate) fn between_refreshes<T>(&self, then: impl FnOnce(Option<twindex_format::Position>) -> T) -> T {
        let follower = self.home.as_ref().and_then(|home| home.follower.as_ref()).map(lock);
        then(follower.as_ref().and_then(|follower| follower.position()))
    }

    /// How far a follower is; while it is being refreshed, how far it was before.
    pub(crate) fn seen(&self) -> Seen {
        let follower = self.home.as_ref().and_then(|home| Some((home, home.follower.as_ref()?)));
        let Some((home, follower)) = follower else { return Seen::default() };
        let mut follower = match follower.try_lock() {
            Ok(follower) => follower,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return *lock(&home.following.seen),
        };
        let behind = follower.behind(&*home.disk, &home.path).unwrap_or_default();
        let seen = Seen::of(&follower, behind);
        *lock(&home.following.seen) = seen;
        seen
    }

    /// Where the last change is, as far as memory has it, in the history of the store.
    pub(crate) fn position(&self) -> Result<Position> {
        let home = self.home()?;
        home.check_open()?;
        let position = match (&home.logged, &home.follower) {
            (Some(Logged { log, .. }), _) => Some(log.end()?.position),
            (None, Some(_)) => lock(&home.following.seen).position,
            (None, None) => None,
        };
        position.map(Position).ok_or_else(|| Error::NoLog { path: home.path.clone() })
    }

    pub(crate) fn home(&self) -> Result<&Home> {
        self.home.as_ref().ok_or(Error::NoFile)
    }

    /// Writes the store of a file without a log.
    pub(crate) fn save(&self, home: &Home, progress: &mut dyn FnMut(Progress)) -> Result<()> {
        let ((), tables) = self.moment(false, || ())?;
        let mut held = lock(&home.lock);
        if !is_in_place(held.as_ref(), &home.path)? {
            // Nothing of this store is in a file that was moved or removed since. It is written where it belongs.
            *held = home.disk.lock(&home.path, Make::IfAbsent)?;
        }
        write_anew(&*home.disk, &home.path, &mut held, &tables, progress)?;
        home.compaction.count.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Ends the use of the file; whatever the durability, all that is in memory is on disk then. If that fails, the
    /// store stays open, so that it can be saved to another file, and closed again.
    pub(crate) fn close(&self) -> Result<()> {
        let Some(home) = &self.home else {
            self.watches.end();
            return Ok(());
        };
        // In a child of fork the file is still the parent's, which may have written to it since.
        if lock(&home.lock).as_ref().is_some_and(|lock| !lock.is_own()) {
            home.closed.store(true, Relaxed);
        }
        if home.closed.load(Relaxed) {
            return Ok(());
        }
        let set_closing = |closing| {
            if let Some(lock) = &*lock(&home.lock) {
                lock.set_closing(closing);
            }
        };
        set_closing(true);
        let _alone = home.compaction.stop();
        if home.closed.load(Relaxed) {
            return Ok(());
        }
        set_closing(true);
        let closed = match &home.logged {
            // A writer checks whether the log is closed while it counts as one, before it changes anything. So what it changed
            // is in the log before this syncs.
            Some(Logged { log, .. }) => match self.engine.alone(|| log.set_closed()) {
                Ok(true) => log.close(),
                closed => closed.map(drop).map_err(Error::from),
            },
            None if home.read_only => Ok(()),
            None => self.save(home, &mut |_| {}),
        };
        if let Err(error) = closed {
            // A log that failed never comes to an end. A second `close` after that error gives it up.
            let is_told = matches!(error, Error::LogFailed { .. }) && home.close_failed.swap(true, Relaxed);
            if !is_told {
                set_closing(false);
                home.compaction.go_on();
                return Err(error);
            }
        }
        home.release();
        self.watches.end();
        Ok(())
    }

    /// Ends the use of the file because the last handle is gone, with nobody left to hear of an error.
    pub(crate) fn abandon(&self) {
        self.watches.end();
        let Some(home) = &self.home else { return };
        if home.logged.is_some() {
            // What could not be synced now was told to its writer then, or is in the promised second.
            let _ = self.close();
        }
        home.release();
    }
}

impl Home {
    /// The lock on the file, which is where the path says.
    pub(crate) fn lock_in_place(&self) -> Result<MutexGuard<'_, Option<Lock>>> {
        let held = lock(&self.lock);
        if is_in_place(held.as_ref(), &self.path)? { Ok(held) } else { Err(moved(&self.path)) }
    }

    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Relaxed) {
            return Err(Error::Closed { path: self.path.clone() });
        }
        Ok(())
    }

    /// Closes the file, and lets go of its lock.
    fn release(&self) {
        self.closed.store(true, Relaxed);
        if let Some(Logged { log, .. }) = &self.logged {
            log.release();
        }
        if let Some(follower) = &self.follower {
            lock(follower).release();
        }
        drop(lock(&self.lock).take());
    }

    #[cold]
    fn is_parents(&self) -> Error {
        let what = "it was opened before the fork: open the store again in this process";
        Error::io(&self.path, std::io::Error::other(what))
    }

    pub(crate) fn check_writable(&self) -> Result<()> {
        self.check_open()?;
        if self.read_only {
            return Err(Error::ReadOnly { path: self.path.clone() });
        }
        if self.forks != registry::forks() {
            return Err(self.is_parents());
        }
        match &self.logged {
            Some(logged) => logged.log.check_open(),
            None => Ok(()),
        }
    }
}

fn tables_of(engine: &twindex::Store, ids: &BTreeMap<String, u32>) -> Vec<(u32, twindex::Table)> {
    ids.iter().filter_map(|(name, id)| Some((*id, engine.find_table(name)?))).collect()
}

/// Makes a file ready for more records: cuts off a torn end, and puts the rest on disk, its name included, since a
/// killed process may have left both to the system's memory.
fn make_ready(disk: &dyn Disk, path: &Path, end: End, torn: Option<Torn>) -> std::io::Result<End> {
    if torn.is_some() || end.file.len()? > end.at {
        end.file.set_len(end.at)?;
    }
    end.file.sync()?;
    disk.folder(path)?.sync()?;
    Ok(End { synced: end.at, ..end })
}

/// Puts the records behind the last synced one on disk. Returns whether they are there.
///
/// They are not if the last sync of another process failed: the system then takes for written what it keeps in memory,
/// so another sync does nothing and succeeds. So they are read once more, from the disk itself.
fn is_on_disk(end: &End) -> std::io::Result<bool> {
    const PIECE: u64 = 1 << 20;
    let state = RandomState::new();
    let mut piece = Vec::new();
    let mut hash = |again: bool| {
        let mut hasher = state.build_hasher();
        for start in (end.synced..end.at).step_by(PIECE as usize) {
            piece.resize(PIECE.min(end.at - start) as usize, 0);
            let read = end.file.read_at(start, &mut piece)?;
            hasher.write(&piece[..read]);
            if again {
                end.file.write_at(start, &piece[..read])?;
            }
        }
        Ok::<_, std::io::Error>(hasher.finish())
    };
    end.file.sync()?;
    let seen = hash(false)?;
    // Where the system cannot be told to read the disk, they are written again.
    let is_same = if end.file.forget(end.synced)? { hash(false)? == seen } else { hash(true)? == seen };
    Ok(is_same)
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::Store;

    #[test]
    fn an_open_waits_for_a_close_in_this_process() -> Result<()> {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("app.twx");
        for durability in [Durability::None, Durability::EverySec] {
            let open = || Options::new().durability(durability).open(&path);
            let store = open()?;
            assert!(matches!(open(), Err(Error::InUse { .. })));
            store.table("t", twindex::IndexKind::Hash)?.upsert("a", "1")?;
            lock(&store.handle.0.home()?.lock).as_ref().expect("it is locked").set_closing(true);
            thread::scope(|scope| {
                let opening = scope.spawn(open);
                thread::sleep(Duration::from_millis(5));
                assert!(!opening.is_finished());
                store.close()?;
                let again: Store = opening.join().expect("no panic")?;
                assert!(again.find_table("t")?.is_some_and(|table| table.len() == 1));
                Ok::<_, Error>(())
            })?;
        }
        Ok(())
    }
}
