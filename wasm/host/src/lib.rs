//! Key-value stores for WebAssembly components in [wasmtime]: all guests of a host share one [Twindex](twindex) store, in
//! memory or in a file, which outlives them.
//!
//! A component imports `wasi:keyvalue` or `twindex:engine`. Its buckets are tables of the store: those that the host names.
//!
//! ```
//! use twindex_wasmtime::{Guest, KeyValue, durable};
//! use wasmtime::component::{Component, Linker};
//!
//! # fn main() -> wasmtime::Result<()> {
//! let store = durable::Store::new(); // or durable::open("app.twx")?
//! let keys = KeyValue::new(store).bucket("default", "sessions").read_only("config");
//!
//! let engine = wasmtime::Engine::default();
//! let mut linker = Linker::<Guest>::new(&engine);
//! keys.add_to_linker(&mut linker, |guest| guest)?;
//!
//! let component = Component::new(&engine, "(component)")?; // yours
//! let mut instance = wasmtime::Store::new(&engine, keys.guest());
//! linker.instantiate(&mut instance, &component)?;
//! # Ok(())
//! # }
//! ```
//!
//! # Interfaces
//!
//! | interface | supported |
//! |---|---|
//! | `wasi:keyvalue/{store,atomics,batch}@0.2.0-draft` | as in the crate `wasmtime-wasi-keyvalue`: cursors and `increment` are `u64` |
//! | `wasi:keyvalue/{store,atomics,batch}@0.2.0-draft2` | all; [`GetMany`] chooses one of the two forms of `get-many` |
//! | `twindex:engine/stores` | `store.buckets`, `table`, `table-with`, `tables`; tables without cursors, iterators and `memory`. No stores of a guest's own, dumps, snapshots or transactions |
//!
//! Not supported: `watcher` of `wasi:keyvalue`. Instantiating a component that imports a missing function fails, and the error names
//! the function.
//!
//! # What a guest can and cannot do
//!
//! Errors belong to the interface: `no-such-store` for a bucket that the host did not name, `access-denied` for a write to a
//! [read-only](KeyValue::read_only) bucket, and otherwise `other`, whose text begins with a stable code such as
//! `TWINDEX_MEMORY_LIMIT`. Nothing traps, with one exception: `select`, `contains`, `select-many` and `contains-many` of
//! `twindex:engine` have no error, so a closed store or too large an answer ends the guest.
//!
//! An instance's [handles](KeyValue::max_handles) and the bytes of one [answer](KeyValue::max_answer) are limited. `list-keys`
//! returns about 1,000 keys or 1 MiB at a time. wasmtime limits the bytes that a guest passes in one call
//! ([`set_hostcall_fuel`](wasmtime::Store::set_hostcall_fuel), 128 MiB), and traps beyond them. The stored bytes are limited by the [memory limit](durable::Store::set_memory_limit) of the store and the quotas of the bucket
//! ([`max_pairs`](KeyValue::max_pairs), [`max_bytes`](KeyValue::max_bytes)). You may interrupt or drop a guest at
//! any time: each of its calls is done or not begun.
//!
//! A bucket's table may have either index; a new one is a hash table. A sorted table lists its keys in order. Keys that are not
//! UTF-8, which other programs may write, are not listed.

mod bucket;
mod engine;
mod guest;
mod keyvalue;
mod linking;
mod refused;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};

use twindex::{IndexKind, TableOptions};
pub use twindex_durable as durable;
use wasmtime::component::types::{ComponentItem, Type};
use wasmtime::component::{Component, Linker};
use wasmtime::{Result, format_err};

use bucket::{Bucket, Quota};
pub use guest::Guest;
use guest::Limits;
use linking::Linking;

/// The buckets of guests: tables of one store.
///
/// Clones have the same store and quotas, so a clone with other buckets serves other guests. Any of them may add to the linker.
#[derive(Clone)]
pub struct KeyValue {
    store: durable::Store,
    /// Of each table by its name. All clones count in them.
    quotas: Arc<Mutex<HashMap<String, Arc<Quota>>>>,
    buckets: Arc<HashMap<String, Arc<Bucket>>>,
    limits: Limits,
    get_many: GetMany,
    /// What the first call was that failed.
    failed: Option<String>,
}

/// The result of `get-many` of `wasi:keyvalue/batch@0.2.0-draft2`, which differs between two drafts of this name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GetMany {
    /// `list<tuple<string, option<list<u8>>>>`: Spin, and the repository of `wasi:keyvalue` since August 2026.
    #[default]
    Tuples,
    /// `list<option<tuple<string, list<u8>>>>`: that repository before.
    Options,
}

impl GetMany {
    /// The form that a component imports. The default, if it imports none.
    pub fn of(component: &Component) -> Self {
        let engine = component.engine();
        let options = || {
            let ComponentItem::ComponentInstance(batch) =
                component.component_type().get_import(engine, &keyvalue::name("batch", keyvalue::DRAFT2))?.ty
            else {
                return None;
            };
            let ComponentItem::ComponentFunc(get_many) = batch.get_export(engine, "get-many")?.ty else {
                return None;
            };
            let Type::Result(result) = get_many.results().next()? else { return None };
            let Type::List(list) = result.ok()? else { return None };
            Some(matches!(list.ty(), Type::Option(_)))
        };
        if options() == Some(true) { Self::Options } else { Self::Tuples }
    }
}

impl KeyValue {
    /// Over a store: one of this crate's [`durable`], which may be in a file, or a [`twindex::Store`] in memory.
    pub fn new(store: impl Into<durable::Store>) -> Self {
        Self {
            store: store.into(),
            quotas: Arc::default(),
            buckets: Arc::default(),
            limits: Limits::default(),
            get_many: GetMany::default(),
            failed: None,
        }
    }

    /// Adds the bucket `name`: the table of that name in the store, which is created as a hash table if it is missing.
    ///
    /// A table that cannot be opened is an error of [`add_to_linker`](Self::add_to_linker).
    #[must_use]
    pub fn bucket(mut self, name: &str, table: &str) -> Self {
        match self.open(table) {
            Ok(bucket) => {
                Arc::make_mut(&mut self.buckets).insert(name.into(), Arc::new(bucket));
                self
            }
            Err(error) => self.fail(&format!("bucket(\"{name}\", \"{table}\"): {error}")),
        }
    }

    /// Makes a bucket read-only: writes to it are `access-denied`. Adds it as the table of the same name if it is new.
    #[must_use]
    pub fn read_only(self, name: &str) -> Self {
        let mut given = if self.buckets.contains_key(name) { self } else { self.bucket(name, name) };
        if let Some(bucket) = Arc::make_mut(&mut given.buckets).get_mut(name) {
            Arc::make_mut(bucket).read_only = true;
        }
        given
    }

    /// The most pairs of a bucket's table. Writes that would pass it fail with `TWINDEX_QUOTA`.
    ///
    /// It counts the table's current pairs and the writes of guests of this `KeyValue` and its clones, not the host's own writes.
    #[must_use]
    pub fn max_pairs(self, bucket: &str, pairs: u64) -> Self {
        self.limit("max_pairs", bucket, |quota| quota.limit(Some(pairs), None))
    }

    /// The most bytes of keys and values in a bucket's table, as [`max_pairs`](Self::max_pairs). The index does not count; the
    /// store's memory limit counts everything.
    #[must_use]
    pub fn max_bytes(self, bucket: &str, bytes: u64) -> Self {
        self.limit("max_bytes", bucket, |quota| quota.limit(None, Some(bytes)))
    }

    /// The most handles of buckets, tables and swaps of one instance: 1,024 by default. One more is
    /// `TWINDEX_TOO_MANY_HANDLES`.
    #[must_use]
    pub fn max_handles(mut self, handles: usize) -> Self {
        self.limits.handles = handles;
        self
    }

    /// The most bytes of one answer about several pairs, and of a guest's open swaps: 64 MiB by default. More is
    /// `TWINDEX_ANSWER_TOO_LARGE`.
    #[must_use]
    pub fn max_answer(mut self, bytes: usize) -> Self {
        self.limits.answer = bytes;
        self
    }

    /// The form of `get-many` that [`add_to_linker`](Self::add_to_linker) adds. A linker can have one of them.
    #[must_use]
    pub fn get_many(mut self, form: GetMany) -> Self {
        self.get_many = form;
        self
    }

    /// The buckets and handles of one instance. Put it into the data of a [`wasmtime::Store`].
    pub fn guest(&self) -> Guest {
        Guest::new(Arc::clone(&self.buckets), self.limits)
    }

    /// The store that guests share.
    pub fn store(&self) -> &durable::Store {
        &self.store
    }

    /// Adds all interfaces. `guest` finds an instance's [`Guest`] in its data.
    ///
    /// Calls run on the thread that runs the instance, also in an asynchronous one: see
    /// [`add_to_linker_async`](Self::add_to_linker_async). Fails if a table could not be opened or a bucket was never added.
    pub fn add_to_linker<T: Send + 'static>(
        &self,
        linker: &mut Linker<T>,
        guest: fn(&mut T) -> &mut Guest,
    ) -> Result<()> {
        self.add(&mut Linking { linker, guest, leaves: false })
    }

    /// Adds all interfaces for instances that run asynchronously. Writes that may wait for a disk leave the thread for tokio's
    /// pool of blocking threads, if there is a tokio runtime.
    pub fn add_to_linker_async<T: Send + 'static>(
        &self,
        linker: &mut Linker<T>,
        guest: fn(&mut T) -> &mut Guest,
    ) -> Result<()> {
        self.add(&mut Linking { linker, guest, leaves: true })
    }

    fn add<T: Send + 'static>(&self, linking: &mut Linking<'_, T>) -> Result<()> {
        if let Some(failed) = &self.failed {
            return Err(format_err!("{failed}"));
        }
        keyvalue::add(linking, self.get_many)?;
        engine::add(linking)
    }

    fn open(&self, name: &str) -> durable::Result<Bucket> {
        let table = match self.store.find_table(name)? {
            Some(table) => table,
            None => self.store.table_with(name, TableOptions::new(IndexKind::Hash))?,
        };
        let mut quotas = bucket::lock(&self.quotas);
        let quota = Arc::clone(quotas.entry(name.into()).or_default());
        let waits = self.store.durability() == durable::Durability::Always;
        Ok(Bucket { table, read_only: false, waits, quota })
    }

    fn limit(self, what: &str, bucket: &str, limit: impl FnOnce(&mut bucket::Used)) -> Self {
        let Some(found) = self.buckets.get(bucket) else {
            return self.fail(&format!("{what}: there is no bucket \"{bucket}\""));
        };
        match found.limit(limit) {
            Ok(()) => self,
            Err(error) => self.fail(&format!("{what} of \"{bucket}\": {error}")),
        }
    }

    fn fail(mut self, what: &str) -> Self {
        self.failed.get_or_insert_with(|| what.into());
        self
    }
}

impl fmt::Debug for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyValue")
            .field("store", &self.store)
            .field("buckets", &self.buckets.keys())
            .finish_non_exhaustive()
    }
}
