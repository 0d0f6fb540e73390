//! The same verbs for programs without an asynchronous runtime: each call returns when it is done.
//!
//! ```no_run
//! use twindex_cluster::{Index, blocking::connect};
//!
//! let store = connect("redis://localhost:7000")?;
//! let users = store.table("users", Index::Hash)?;
//! users.insert("ada", "1815")?;
//! for pair in store.table("log", Index::Sorted)?.scan_prefix("2026-")? {
//!     let (key, value) = pair?;
//! }
//! # Ok::<(), twindex_cluster::Error>(())
//! ```
//!
//! All stores of a process share two threads that speak to the servers. A process that was forked has threads of its own,
//! and connects anew. A call from within an asynchronous runtime panics, as tokio's `block_on` does.

use std::ops::RangeBounds;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use twindex::{Change, Index, TableOptions};

use crate::error::{Error, Result};
use crate::near::NearStats;
use crate::options::Options;
use crate::pairs::{Pair, Pairs, Swap};
use crate::table::Expiry;

/// So many times a process that uses this may be forked by one that was forked.
const FORKS: usize = 32;

/// The threads that speak to the servers, those of this process: a process that was forked has none of its parent's.
///
/// # Errors
/// [`Error::Unavailable`] where the system gives no threads.
pub fn runtime() -> Result<&'static Runtime> {
    // No lock, since another thread might hold it at the moment of a fork. A parent's runtime is never dropped.
    static RUNTIMES: [OnceLock<(u32, Runtime)>; FORKS] = [const { OnceLock::new() }; FORKS];
    let process = std::process::id();
    for place in &RUNTIMES {
        if place.get().is_none() {
            let mut builder = Builder::new_multi_thread();
            let made = builder.worker_threads(2).thread_name("twindex-cluster").enable_all().build();
            let made = made.map_err(|error| Error::Unavailable { reason: format!("no threads: {error}") })?;
            // Another thread may have been first.
            let _ = place.set((process, made));
        }
        if let Some((_, runtime)) = place.get().filter(|(owner, _)| *owner == process) {
            return Ok(runtime);
        }
    }
    Err(Error::Unavailable { reason: format!("the process was forked more than {FORKS} times in a row") })
}

fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    runtime()?.block_on(future)
}

/// [`connect`](crate::connect) for programs without a runtime.
pub fn connect(url: &str) -> Result<Store> {
    Options::new().connect_blocking(url)
}

impl Options {
    /// [`connect`](Self::connect) for programs without a runtime.
    pub fn connect_blocking(self, url: &str) -> Result<Store> {
        wait(self.connect(url)).map(Store)
    }
}

/// Makes methods that wait for the asynchronous ones of the same names.
macro_rules! waiting {
    ($of:ident: $($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(
        #[doc = concat!("See [`", stringify!($of), "::", stringify!($name), "`](crate::", stringify!($of), "::", stringify!($name), ").")]
        pub fn $name(&self, $($argument: $type),*) -> Result<$result> {
            wait(self.0.$name($($argument),*))
        }
        )*
    };
}

/// [`Store`](crate::Store) for programs without a runtime.
#[derive(Clone, Debug)]
pub struct Store(crate::Store);

impl Store {
    /// See [`Store::table`](crate::Store::table).
    pub fn table(&self, name: &str, index: Index) -> Result<Table> {
        wait(self.0.table(name, index)).map(Table)
    }

    /// See [`Store::table_with`](crate::Store::table_with).
    pub fn table_with(&self, name: &str, options: TableOptions<'_>) -> Result<Table> {
        wait(self.0.table_with(name, options)).map(Table)
    }

    /// See [`Store::find_table`](crate::Store::find_table).
    pub fn find_table(&self, name: &str) -> Result<Option<Table>> {
        wait(self.0.find_table(name)).map(|table| table.map(Table))
    }

    /// See [`Store::tables`](crate::Store::tables).
    pub fn tables(&self) -> Result<Vec<Table>> {
        wait(self.0.tables()).map(|tables| tables.into_iter().map(Table).collect())
    }

    /// See [`Store::batch`](crate::Store::batch).
    pub fn batch(&self) -> Batch {
        Batch(self.0.batch())
    }

    /// See [`Store::near_stats`](crate::Store::near_stats).
    pub fn near_stats(&self) -> Option<NearStats> {
        self.0.near_stats()
    }

    /// See [`Store::servers`](crate::Store::servers).
    pub fn servers(&self) -> Vec<String> {
        self.0.servers()
    }

    /// See [`Store::close`](crate::Store::close).
    pub fn close(&self) {
        self.0.close();
    }

    waiting! { Store:
        drop_table(name: &str) -> bool;
    }
}

/// [`Table`](crate::Table) for programs without a runtime.
#[derive(Clone, Debug)]
pub struct Table(crate::Table);

impl Table {
    /// The table's name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The table's index.
    pub fn index(&self) -> Index {
        self.0.index()
    }

    /// See [`Table::codecs`](crate::Table::codecs).
    pub fn codecs(&self) -> (&str, &str) {
        self.0.codecs()
    }

    /// See [`Table::with_ttl`](crate::Table::with_ttl).
    pub fn with_ttl(&self, ttl: Duration) -> Result<Self> {
        self.0.with_ttl(ttl).map(Self)
    }

    waiting! { Table:
        insert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool;
        replace(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool;
        upsert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool;
        delete(key: impl AsRef<[u8]>) -> bool;
        select(key: impl AsRef<[u8]>) -> Option<Vec<u8>>;
        contains(key: impl AsRef<[u8]>) -> bool;
        increment(key: impl AsRef<[u8]>, by: i64) -> i64;
        compare_and_swap(key: impl AsRef<[u8]>, expected: Option<&[u8]>, new: Option<&[u8]>) -> bool;
        alter(key: impl AsRef<[u8]>, change: impl FnMut(Option<&[u8]>) -> Change) -> bool;
        insert_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Vec<bool>;
        replace_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Vec<bool>;
        upsert_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Vec<bool>;
        delete_many(keys: &[impl AsRef<[u8]>]) -> Vec<bool>;
        select_many(keys: &[impl AsRef<[u8]>]) -> Vec<Option<Vec<u8>>>;
        contains_many(keys: &[impl AsRef<[u8]>]) -> Vec<bool>;
        increment_many(amounts: &[(impl AsRef<[u8]>, i64)]) -> Vec<i64>;
        compare_and_swap_many(swaps: &[Swap<'_>]) -> Vec<bool>;
        len() -> u64;
        is_empty() -> bool;
        clear() -> ();
        ttl(key: impl AsRef<[u8]>) -> Expiry;
        expire(key: impl AsRef<[u8]>, ttl: Option<Duration>) -> bool;
    }

    /// See [`Table::walk`](crate::Table::walk).
    pub fn iter(&self) -> Walk {
        Walk(self.0.walk())
    }

    /// See [`Table::cursor`](crate::Table::cursor).
    pub fn cursor<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Cursor> {
        self.0.cursor(range).map(Cursor)
    }

    /// See [`Table::scan`](crate::Table::scan).
    pub fn scan<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Scan> {
        self.0.scan(range).map(Scan)
    }

    /// See [`Table::scan_prefix`](crate::Table::scan_prefix).
    pub fn scan_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        self.0.scan_prefix(prefix).map(Scan)
    }
}

impl IntoIterator for &Table {
    type Item = Result<Pair>;
    type IntoIter = Walk;

    fn into_iter(self) -> Walk {
        self.iter()
    }
}

/// Makes a method that adds to a batch.
macro_rules! adding {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        $(
        #[doc = concat!("See [`Batch::", stringify!($name), "`](crate::Batch::", stringify!($name), ").")]
        pub fn $name(&mut self, table: &Table, $($argument: $type),*) -> Result<()> {
            self.0.$name(&table.0, $($argument),*)
        }
        )*
    };
}

/// [`Batch`](crate::Batch) for programs without a runtime.
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch(crate::Batch);

impl Batch {
    adding! {
        insert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
        replace(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
        upsert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
        delete(key: impl AsRef<[u8]>);
        increment(key: impl AsRef<[u8]>, by: i64);
        expect(key: impl AsRef<[u8]>, value: Option<&[u8]>);
    }

    /// The number of writes in it.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// See [`Batch::commit`](crate::Batch::commit).
    pub fn commit(self) -> Result<Vec<bool>> {
        wait(self.0.commit())
    }
}

/// [`Cursor`](crate::Cursor) for programs without a runtime.
#[derive(Debug)]
pub struct Cursor(crate::Cursor);

impl Cursor {
    /// See [`Cursor::scan_asc_next`](crate::Cursor::scan_asc_next).
    pub fn scan_asc_next(&mut self) -> Result<Option<Pair>> {
        wait(self.0.scan_asc_next())
    }

    /// See [`Cursor::scan_desc_next`](crate::Cursor::scan_desc_next).
    pub fn scan_desc_next(&mut self) -> Result<Option<Pair>> {
        wait(self.0.scan_desc_next())
    }

    /// See [`Cursor::scan_asc_next_many`](crate::Cursor::scan_asc_next_many).
    pub fn scan_asc_next_many(&mut self, limit: usize) -> Result<Pairs> {
        wait(self.0.scan_asc_next_many(limit))
    }

    /// See [`Cursor::scan_desc_next_many`](crate::Cursor::scan_desc_next_many).
    pub fn scan_desc_next_many(&mut self, limit: usize) -> Result<Pairs> {
        wait(self.0.scan_desc_next_many(limit))
    }
}

/// [`Scan`](crate::Scan) for programs without a runtime.
#[derive(Debug)]
pub struct Scan(crate::Scan);

impl Scan {
    /// See [`Scan::rev`](crate::Scan::rev).
    #[must_use]
    pub fn rev(self) -> Self {
        Self(self.0.rev())
    }

    /// See [`Scan::limit`](crate::Scan::limit).
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self(self.0.limit(limit))
    }
}

impl Iterator for Scan {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        wait(self.0.next()).transpose()
    }
}

/// [`Walk`](crate::Walk) for programs without a runtime.
#[derive(Debug)]
pub struct Walk(crate::Walk);

impl Iterator for Walk {
    type Item = Result<Pair>;

    fn next(&mut self) -> Option<Self::Item> {
        wait(self.0.next()).transpose()
    }
}
