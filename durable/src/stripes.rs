//! Locks that keep the order of the log, for each key, the order of memory.

use std::hash::BuildHasher;
use std::sync::OnceLock;
use std::sync::atomic::{
    AtomicBool, AtomicUsize,
    Ordering::{Relaxed, SeqCst},
};
use std::thread;

use parking_lot::{Mutex, MutexGuard};

/// A writer holds the lock of its key from before the change in memory until the change is in the log.
///
/// Locks are always taken in ascending order, so no two writers wait for each other.
#[derive(Debug)]
pub(crate) struct Stripes {
    locks: Box<[Mutex<()>]>,
    hasher: foldhash::fast::RandomState,
}

/// Two writers with 64 keys each meet in 12 of 100 cases. That is worth 32 KiB, a byte for each: a writer that is put
/// to sleep while it holds its locks stops whoever needs one of them.
const COUNT: usize = 1 << 15;

type Held<'s> = MutexGuard<'s, ()>;

impl Stripes {
    pub(crate) fn new() -> Self {
        let locks = (0..COUNT).map(|_| Mutex::new(())).collect();
        Self { locks, hasher: foldhash::fast::RandomState::default() }
    }

    /// Which lock is that of a key. Tables share them, and so do keys that differ in the last byte alone: the keys of a batch
    /// often follow each other, and 256 locks take as long as a third of what is done under them.
    #[inline]
    pub(crate) fn of(&self, table: u32, key: &[u8]) -> usize {
        let start = &key[..key.len().saturating_sub(1)];
        let hash =
            self.hasher.hash_one(start).wrapping_add(u64::from(table).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (hash >> (64 - COUNT.trailing_zeros())) as usize
    }

    #[inline]
    pub(crate) fn hold(&self, stripe: usize) -> Held<'_> {
        self.locks[stripe].lock()
    }

    /// Holds each of them, which may be named more than once.
    pub(crate) fn hold_many(&self, mut stripes: Vec<usize>) -> Vec<Held<'_>> {
        stripes.dedup();
        stripes.sort_unstable();
        stripes.dedup();
        stripes.into_iter().map(|stripe| self.hold(stripe)).collect()
    }

    /// Keeps every writer out.
    pub(crate) fn hold_all(&self) -> Vec<Held<'_>> {
        (0..COUNT).map(|stripe| self.hold(stripe)).collect()
    }
}

/// Lets writers of a store without a log come without a lock until its first batch, and takes the locks of their keys
/// from then on: many stores never see a batch.
#[derive(Debug, Default)]
pub(crate) struct Gate {
    closed: AtomicBool,
    stripes: OnceLock<Stripes>,
    /// Writers at work that have no lock.
    free: [Slot; SLOTS],
}

/// So many threads count in lines of their own.
const SLOTS: usize = 16;

#[derive(Debug, Default)]
#[repr(align(64))]
struct Slot(AtomicUsize);

/// That a writer may write.
pub(crate) enum Pass<'g> {
    Free(&'g AtomicUsize),
    Held { _keys: Vec<Held<'g>> },
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        if let Self::Free(count) = self {
            count.fetch_sub(1, SeqCst);
        }
    }
}

impl Gate {
    /// Without a lock, unless there was a batch.
    #[inline]
    pub(crate) fn pass(&self) -> Option<Pass<'_>> {
        if self.closed.load(Relaxed) {
            return None;
        }
        let count = &self.free[slot()].0;
        count.fetch_add(1, SeqCst);
        let pass = Pass::Free(count);
        // Either this sees that the gate is closed, or whoever closes it sees this writer.
        (!self.closed.load(SeqCst)).then_some(pass)
    }

    /// The same for a key. Waits for a batch that has it.
    #[inline]
    pub(crate) fn pass_with(&self, table: u32, key: &[u8]) -> Pass<'_> {
        self.pass().unwrap_or_else(|| self.hold([(table, key)].into_iter()))
    }

    /// With the locks of these keys.
    #[cold]
    pub(crate) fn hold<'k>(&self, keys: impl Iterator<Item = (u32, &'k [u8])>) -> Pass<'_> {
        let stripes = self.stripes.get_or_init(Stripes::new);
        Pass::Held { _keys: stripes.hold_many(keys.map(|(table, key)| stripes.of(table, key)).collect()) }
    }

    /// With all locks.
    pub(crate) fn pass_with_all(&self) -> Pass<'_> {
        self.pass().unwrap_or_else(|| Pass::Held { _keys: self.stripes.get_or_init(Stripes::new).hold_all() })
    }

    /// Returns once all writers take the locks of their keys.
    pub(crate) fn close(&self) -> &Stripes {
        let stripes = self.stripes.get_or_init(Stripes::new);
        self.closed.store(true, SeqCst);
        while self.free.iter().any(|slot| slot.0.load(SeqCst) > 0) {
            thread::yield_now();
        }
        stripes
    }
}

/// Where this thread counts.
#[inline]
fn slot() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: usize = NEXT.fetch_add(1, Relaxed) % SLOTS;
    }
    // A thread that is about to end has none any more.
    OWN.try_with(|own| *own).unwrap_or(0)
}
