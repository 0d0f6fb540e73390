//! What a store and all that was made from it share.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use twindex_durable::{Durability, Store};

use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::objects;

/// The engine's store, and whether it may still be used.
pub(crate) struct Shared {
    engine: Inherited<Store>,
    waits_for_disk: bool,
    closed: AtomicBool,
    /// What is being computed for each cache, by its name: all its handles share that.
    flights: Mutex<BTreeMap<String, Py<PyDict>>>,
}

impl Shared {
    pub(crate) fn new(engine: impl Into<Store>) -> Arc<Self> {
        let engine = engine.into();
        let waits_for_disk = engine.durability() == Durability::Always;
        let (engine, closed, flights) = (Inherited::new(engine), AtomicBool::new(false), Mutex::default());
        Arc::new(Self { engine, waits_for_disk, closed, flights })
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

    /// What is being computed for the cache of this name.
    pub(crate) fn flights(&self, py: Python<'_>, cache: &str) -> Result<Py<PyDict>> {
        let fresh = objects::dict(py)?.unbind();
        let mut flights = self.flights.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(flights.entry(cache.to_owned()).or_insert(fresh).clone_ref(py))
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
