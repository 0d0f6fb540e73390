//! What a store and all that was made from it share.

use std::path::Path;
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};

use twindex_durable::{Durability, Store};

use crate::prelude::*;
use crate::source::Source;

/// The engine's store, and whether it may still be used.
pub(crate) struct Shared {
    engine: Inherited<Store>,
    waits_for_disk: bool,
    closed: AtomicBool,
    /// Its feeds, which have the file open until they or the store are closed.
    feeds: Mutex<Vec<Weak<Mutex<Source>>>>,
    /// Its snapshots, which end with it.
    snapshots: Mutex<Vec<Weak<dyn Ends>>>,
}

/// What ends with the store.
pub(crate) trait Ends: Send + Sync {
    fn end(&self, py: Python<'_>);
}

impl Shared {
    pub(crate) fn new(engine: impl Into<Store>) -> Arc<Self> {
        let engine = engine.into();
        let waits_for_disk = engine.durability() == Durability::Always;
        Arc::new(Self {
            engine: Inherited::new(engine),
            waits_for_disk,
            closed: AtomicBool::new(false),
            feeds: Mutex::default(),
            snapshots: Mutex::default(),
        })
    }

    /// The store, unless it was closed.
    #[inline]
    pub(crate) fn open(&self) -> Result<&Store> {
        self.check_open()?;
        Ok(&self.engine)
    }

    /// The store in any case, for what does not change and for closing it.
    pub(crate) fn engine(&self) -> &Store {
        &self.engine
    }

    /// Nothing but this answers after `close`, or in a child of the process.
    #[inline]
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(error::closed());
        }
        if self.engine.is_foreign() { Err(error::forked()) } else { Ok(()) }
    }

    #[inline]
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends every use from now on.
    pub(crate) fn mark_closed(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Has a feed end with the store.
    pub(crate) fn add_feed(&self, feed: &Arc<Mutex<Source>>) -> Result<()> {
        let mut feeds = self.feeds.lock().unwrap_or_else(PoisonError::into_inner);
        feeds.retain(|feed| feed.strong_count() > 0);
        feeds.push(Arc::downgrade(feed));
        drop(feeds);
        // It was closed before the feed was in the list, or else ends it.
        self.check_open()
    }

    /// Has a snapshot end with the store.
    pub(crate) fn add_snapshot(&self, snapshot: Weak<dyn Ends>) -> Result<()> {
        let mut snapshots = self.snapshots.lock().unwrap_or_else(PoisonError::into_inner);
        snapshots.retain(|snapshot| snapshot.strong_count() > 0);
        snapshots.push(snapshot);
        drop(snapshots);
        self.check_open()
    }

    /// Ends every snapshot. The store is marked as closed.
    pub(crate) fn end_snapshots(&self, py: Python<'_>) {
        let snapshots = std::mem::take(&mut *self.snapshots.lock().unwrap_or_else(PoisonError::into_inner));
        snapshots.iter().filter_map(Weak::upgrade).for_each(|snapshot| snapshot.end(py));
    }

    /// Closes the file of every feed. The store is marked as closed.
    pub(crate) fn end_feeds(&self) {
        let feeds = std::mem::take(&mut *self.feeds.lock().unwrap_or_else(PoisonError::into_inner));
        feeds.iter().filter_map(Weak::upgrade).for_each(|feed| Source::end(&feed));
    }

    /// Whether it was made in a process from which this one was forked.
    pub(crate) fn is_foreign(&self) -> bool {
        self.engine.is_foreign()
    }

    /// Whether a write returns once it is on disk, and takes that long.
    #[inline]
    pub(crate) fn waits_for_disk(&self) -> bool {
        self.waits_for_disk
    }

    pub(crate) fn path(&self) -> Option<&Path> {
        self.engine.path()
    }
}

/// Has a class refuse to be pickled or copied.
macro_rules! not_copied {
    ($class:ident, $message:literal) => {
        #[pymethods]
        impl $class {
            fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
                Err(error::misuse($message))
            }
        }
    };
}

pub(crate) use not_copied;
