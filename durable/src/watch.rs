//! Watches: the changes that this process makes to a table, as they happen.
//!
//! A watch gets the same as the log: the record of each write, while the writer still holds its key's stripe or keeps every
//! other writer out. So the changes of a key are in the order of memory. A store without a log makes such records while it has
//! a watch. All that a write does if there is none is to read [`Watches::any`].

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};
use std::{fmt, mem};

use parking_lot::{Condvar, Mutex, RwLock};
use twindex_format::{Operation, Operations, TableInfo};

use crate::change::{Effect, TableChange, shown};
use crate::memory::copied;

/// The limits of a watch: the unread changes that it holds.
///
/// ```
/// # let store = twindex_durable::Store::new();
/// # let users = store.table("users", twindex_durable::twindex::IndexKind::Hash)?;
/// use twindex_durable::WatchOptions;
///
/// let watch = users.watch_with("user:", WatchOptions::new().max_changes(100).capacity(64 << 10))?;
/// # Ok::<(), twindex_durable::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct WatchOptions {
    changes: usize,
    bytes: usize,
}

/// A change counts as so many bytes beside its key and value.
const CHANGE_BYTES: usize = 128;

impl Default for WatchOptions {
    fn default() -> Self {
        Self::new()
    }
}

impl WatchOptions {
    /// 16,384 changes and 16 MiB.
    pub const fn new() -> Self {
        Self { changes: 16_384, bytes: 16 << 20 }
    }

    /// The most unread changes.
    pub const fn max_changes(self, changes: usize) -> Self {
        Self { changes, ..self }
    }

    /// The most bytes of unread changes: of keys and values, and 128 for each change.
    pub const fn capacity(self, bytes: usize) -> Self {
        Self { bytes, ..self }
    }
}

/// A change that a watch returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Watched {
    /// A change.
    Change(TableChange),
    /// So many changes are missing here: they found the watch full. Read anew what matters, then go on.
    Lost(u64),
}

/// The changes that this process makes to the keys of a table that begin with a prefix. See [`Table::watch`](crate::Table::watch).
///
/// As an iterator it waits for each change and ends when the store is closed, its last handle is gone, or the
/// table is dropped. Several threads may read one watch: each change goes to one of them.
///
/// In an async function use [`poll_next`](Self::poll_next), which needs no particular executor:
///
/// ```
/// use std::future::poll_fn;
/// use twindex_durable::{Store, Watch, Watched, twindex::IndexKind};
///
/// async fn follow(watch: &Watch) {
///     while let Some(item) = poll_fn(|context| watch.poll_next(context)).await {
///         match item {
///             Watched::Change(change) => println!("{change:?}"),
///             Watched::Lost(count) => println!("{count} changes are missing: read the table again"),
///         }
///     }
/// }
/// ```
pub struct Watch {
    queue: Arc<Queue>,
    watches: Arc<Watches>,
}

impl Watch {
    /// The next change, or `None` if there is none yet.
    pub fn poll(&self) -> Option<Watched> {
        self.queue.state.lock().next()
    }

    /// The next change; waits for it, for so long at most, or for ever. `None` if none came, or the watch has
    /// [ended](Self::is_ended). On WASI, with its one thread, it does not wait.
    pub fn wait(&self, timeout: Option<Duration>) -> Option<Watched> {
        let deadline = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
        let mut state = self.queue.state.lock();
        loop {
            let next = state.next();
            if next.is_some() || state.ended || cfg!(target_family = "wasm") {
                return next;
            }
            match deadline {
                None => self.queue.filled.wait(&mut state),
                Some(deadline) => {
                    if self.queue.filled.wait_until(&mut state, deadline).timed_out() {
                        return state.next();
                    }
                }
            }
        }
    }

    /// The next change, or `None` at the end. While there is neither, the task is woken later; if several poll one watch, the last.
    pub fn poll_next(&self, context: &mut Context<'_>) -> Poll<Option<Watched>> {
        // Code of the caller's runs without the lock: here, and where the waker of an earlier poll is dropped.
        let mut waker = Some(context.waker().clone());
        let mut state = self.queue.state.lock();
        let next = state.next();
        if next.is_some() || state.ended {
            return Poll::Ready(next);
        }
        mem::swap(&mut state.waker, &mut waker);
        Poll::Pending
    }

    /// Whether no change comes any more. Those that came before can still be read.
    pub fn is_ended(&self) -> bool {
        self.queue.state.lock().ended
    }

    /// The table that it is of.
    pub fn table(&self) -> &Arc<TableInfo> {
        &self.queue.table
    }

    /// Ends it, also for a waiting thread or task. Changes from before can still be read.
    pub fn close(&self) {
        self.watches.remove(&self.queue);
        self.queue.end().wake();
    }
}

impl Iterator for Watch {
    type Item = Watched;

    fn next(&mut self) -> Option<Watched> {
        self.wait(None)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.watches.remove(&self.queue);
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("table", &self.queue.table.name)
            .field("prefix", &self.queue.prefix.escape_ascii().to_string())
            .finish_non_exhaustive()
    }
}

/// What one watch was told and did not read yet.
#[derive(Debug)]
struct Queue {
    /// The table's, as in the log. A follower's changes under the lock of its refreshes.
    id: AtomicU32,
    table: Arc<TableInfo>,
    prefix: Vec<u8>,
    options: WatchOptions,
    state: Mutex<State>,
    filled: Condvar,
}

#[derive(Debug, Default)]
struct State {
    entries: VecDeque<Entry>,
    /// Of the entries, as [`size_of_change`] has it.
    bytes: usize,
    waker: Option<Waker>,
    ended: bool,
}

#[derive(Debug)]
enum Entry {
    /// Several watches share a change.
    Change(Arc<TableChange>),
    Lost(u64),
}

/// A task to be woken without locks.
#[must_use]
struct Woken(Option<Waker>);

impl Woken {
    fn wake(self) {
        if let Some(waker) = self.0 {
            waker.wake();
        }
    }
}

const fn size_of_change(effect: &Effect) -> usize {
    CHANGE_BYTES
        + match effect {
            Effect::Put { key, value } => key.len() + value.len(),
            Effect::Delete { key } => key.len(),
            _ => 0,
        }
}

impl State {
    fn next(&mut self) -> Option<Watched> {
        Some(match self.entries.pop_front()? {
            Entry::Lost(count) => Watched::Lost(count),
            Entry::Change(change) => {
                self.bytes -= size_of_change(&change.effect);
                Watched::Change(Arc::unwrap_or_clone(change))
            }
        })
    }

    fn lose(&mut self, count: u64) {
        match self.entries.back_mut() {
            Some(Entry::Lost(lost)) => *lost += count,
            _ => self.entries.push_back(Entry::Lost(count)),
        }
    }
}

/// The operations of a record and their tables.
fn operations(mut payload: &[u8]) -> impl Iterator<Item = (u32, Operation<'_>)> {
    std::iter::from_fn(move || Operation::take(&mut payload))
}

impl Queue {
    /// The bytes of a change that this watch is for.
    fn wanted(&self, id: u32, operation: &Operation<'_>) -> Option<usize> {
        let bytes = match operation {
            Operation::Put(key, value) if key.starts_with(&self.prefix) => key.len() + value.len(),
            Operation::Delete(key) if key.starts_with(&self.prefix) => key.len(),
            Operation::Clear | Operation::Drop => 0,
            _ => return None,
        };
        (id == self.id.load(Relaxed)).then_some(CHANGE_BYTES + bytes)
    }

    /// Takes what it is for of a record, all of it or nothing. Each change that is copied is kept for the next watch.
    fn take(&self, payload: &[u8], copies: &mut Vec<Option<Arc<TableChange>>>) -> Woken {
        let wanted = || {
            let numbered = operations(payload).enumerate();
            numbered.filter_map(|(at, (id, operation))| Some((at, self.wanted(id, &operation)?, operation)))
        };
        let (mut count, mut bytes, mut ends) = (0_usize, 0_usize, false);
        for (_, size, operation) in wanted() {
            count += 1;
            bytes = bytes.saturating_add(size);
            ends |= matches!(operation, Operation::Drop);
        }
        if count == 0 {
            return Woken(None);
        }
        let mut state = self.state.lock();
        if state.ended {
            return Woken(None);
        }
        let before = state.entries.len();
        let fits = before.saturating_add(count) <= self.options.changes
            && state.bytes.saturating_add(bytes) <= self.options.bytes
            && state.entries.try_reserve(count).is_ok();
        let mut copy = |at: usize, operation: &Operation<'_>| {
            if copies.len() <= at {
                copies.resize(at + 1, None);
            }
            if copies[at].is_none() {
                copies[at] = Some(Arc::new(self.change(operation)?));
            }
            copies[at].clone()
        };
        // A value of an expiring table is stored with its deadline, and shown without.
        let mut added = 0;
        let is_taken = fits
            && wanted().all(|(at, _, operation)| {
                copy(at, &operation).is_some_and(|change| {
                    added += size_of_change(&change.effect);
                    state.entries.push_back(Entry::Change(change));
                    true
                })
            });
        if is_taken {
            state.bytes += added;
        } else {
            state.entries.truncate(before);
            state.lose(count as u64);
        }
        state.ended = ends;
        self.filled(state, before == 0)
    }

    /// `None` if the system has no memory for it.
    fn change(&self, operation: &Operation<'_>) -> Option<TableChange> {
        let mut expires = None;
        let effect = match operation {
            Operation::Put(key, stored) => {
                let value;
                (value, expires) = shown(&self.table, stored);
                Effect::Put { key: copied(key).ok()?, value: copied(value).ok()? }
            }
            Operation::Delete(key) => Effect::Delete { key: copied(key).ok()? },
            Operation::Drop => Effect::Drop,
            _ => Effect::Clear,
        };
        Some(TableChange { table: Arc::clone(&self.table), effect, expires })
    }

    fn lose(&self, count: u64) -> Woken {
        let mut state = self.state.lock();
        let was_empty = state.entries.is_empty();
        if !state.ended {
            state.lose(count);
        }
        self.filled(state, was_empty)
    }

    fn end(&self) -> Woken {
        let mut state = self.state.lock();
        state.ended = true;
        self.filled(state, true)
    }

    /// Threads and tasks wait only for the first entry, or the end.
    fn filled(&self, mut state: parking_lot::MutexGuard<'_, State>, was_empty: bool) -> Woken {
        let woken = state.waker.take();
        drop(state);
        if was_empty {
            self.filled.notify_all();
        }
        Woken(woken)
    }
}

#[derive(Debug, Default)]
pub(crate) struct Watches {
    any: AtomicBool,
    queues: RwLock<Vec<Arc<Queue>>>,
}

impl Watches {
    /// Whether there is one. A write that pins after [`add`](Self::add) sees it, since that is done while none is pinned.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.any.load(Relaxed)
    }

    /// A watch of the table that has this number in the log.
    pub(crate) fn prepare(
        self: &Arc<Self>,
        id: u32,
        table: Arc<TableInfo>,
        prefix: Vec<u8>,
        options: WatchOptions,
    ) -> Watch {
        let (id, state, filled) = (AtomicU32::new(id), Mutex::default(), Condvar::new());
        let queue = Arc::new(Queue { id, table, prefix, options, state, filled });
        Watch { queue, watches: Arc::clone(self) }
    }

    /// From now on the watch is told. To be called while no thread writes.
    pub(crate) fn add(&self, watch: &Watch) {
        self.queues.write().push(Arc::clone(&watch.queue));
        self.any.store(true, Relaxed);
    }

    fn remove(&self, queue: &Arc<Queue>) {
        let mut queues = self.queues.write();
        queues.retain(|own| !Arc::ptr_eq(own, queue));
        self.any.store(!queues.is_empty(), Relaxed);
    }

    /// The store is closed.
    pub(crate) fn end(&self) {
        let queues = mem::take(&mut *self.queues.write());
        self.any.store(false, Relaxed);
        for queue in queues {
            queue.end().wake();
        }
    }
}

/// Tells watches of a write. When it goes, which is after the write's locks, it wakes tasks: that runs code of theirs.
pub(crate) struct Teller<'w> {
    watches: &'w Watches,
    woken: Cell<Vec<Waker>>,
}

impl<'w> Teller<'w> {
    pub(crate) fn new(watches: &'w Watches) -> Self {
        Self { watches, woken: Cell::default() }
    }

    #[inline]
    pub(crate) fn is_heard(&self) -> bool {
        self.watches.any()
    }

    /// Tells of a record, in the order of memory for each of its keys.
    #[inline]
    pub(crate) fn tell(&self, payload: &[u8]) {
        if self.watches.any() {
            self.tell_each(payload);
        }
    }

    #[cold]
    fn tell_each(&self, payload: &[u8]) {
        let mut copies = Vec::new();
        for queue in &*self.watches.queues.read() {
            self.wake(queue.take(payload, &mut copies));
        }
    }

    /// Tells the watches of these tables that so many changes are missing.
    #[cold]
    pub(crate) fn lose(&self, tables: impl Fn(u32) -> bool, count: u64) {
        for queue in &*self.watches.queues.read() {
            if tables(queue.id.load(Relaxed)) {
                self.wake(queue.lose(count));
            }
        }
    }

    /// A follower read its file anew: what changed is not known one by one. `id` is that of a table now, if it is still there.
    pub(crate) fn begin_anew(&self, id: impl Fn(&TableInfo) -> Option<u32>) {
        for queue in &*self.watches.queues.read() {
            if let Some(id) = id(&queue.table) {
                queue.id.store(id, Relaxed);
                self.wake(queue.lose(1));
            } else {
                let mut dropped = Operations::default();
                dropped.push(queue.id.load(Relaxed), Operation::Drop);
                self.wake(queue.take(dropped.payload(), &mut Vec::new()));
            }
        }
    }

    fn wake(&self, Woken(waker): Woken) {
        if let Some(waker) = waker {
            let mut woken = self.woken.take();
            woken.push(waker);
            self.woken.set(woken);
        }
    }
}

impl Drop for Teller<'_> {
    #[inline]
    fn drop(&mut self) {
        for waker in self.woken.take() {
            waker.wake();
        }
    }
}
