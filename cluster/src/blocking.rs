//! The same verbs for programs without an asynchronous runtime: each call returns when it is done.
//!
//! ```no_run
//! use twindex_cluster::{IndexKind, blocking::connect};
//!
//! let store = connect("redis://localhost:7000")?;
//! let users = store.table("users", IndexKind::Hash)?;
//! users.insert("ada", "1815")?;
//! for pair in store.table("log", IndexKind::Sorted)?.prefix("2026-")? {
//!     let (key, value) = pair?;
//! }
//! # Ok::<(), twindex_cluster::Error>(())
//! ```
//!
//! All stores of a process share two threads that speak to the servers. A process that was forked has threads of its own,
//! and connects again. A call from within an asynchronous runtime panics, as tokio's `block_on` does.

use std::convert::identity;
use std::ops::RangeBounds;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use twindex::{Change, IndexKind, TableOptions, Write};
use twindex_cache::Ttl;

use crate::error::{Error, Result};
use crate::near::NearStats;
use crate::options::Options;
use crate::pairs::{Pair, Pairs, Swap};

/// So many times a process that uses this may be forked by one that was forked.
const FORKS: usize = 32;

/// The threads of this process that speak to the servers. A forked process has none of its parent's.
///
/// # Errors
/// [`Error::Unavailable`] if the system gives no threads.
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

fn wait<T, U: From<T>>(future: impl Future<Output = Result<T>>) -> Result<U> {
    at_once(runtime()?.block_on(future))
}

fn at_once<T, U: From<T>>(done: Result<T>) -> Result<U> {
    done.map(U::from)
}

/// [`connect`](crate::connect) for programs without a runtime.
pub fn connect(url: &str) -> Result<Store> {
    Options::new().connect_blocking(url)
}

impl Options {
    /// [`connect`](Self::connect) for programs without a runtime.
    pub fn connect_blocking(self, url: &str) -> Result<Store> {
        wait(self.connect(url))
    }
}

/// Makes types that stand for the asynchronous ones of the same names.
macro_rules! types {
    ($($(#[$attribute:meta])* $name:ident;)*) => {
        $(
        #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($name), ") for programs without a runtime.")]
        $(#[$attribute])*
        pub struct $name(crate::$name);

        impl From<crate::$name> for $name {
            fn from(inner: crate::$name) -> Self {
                Self(inner)
            }
        }
        )*
    };
}

types! {
    #[derive(Clone, Debug)]
    Store;
    #[derive(Clone, Debug)]
    Table;
    #[derive(Debug)]
    #[must_use = "a batch does nothing until it is committed"]
    Batch;
    #[derive(Debug)]
    Cursor;
    #[derive(Debug)]
    #[must_use = "a scan reads nothing until it is iterated"]
    Scan;
    #[derive(Debug)]
    #[must_use = "a walk reads nothing until it is iterated"]
    Walk;
}

/// Makes methods of the asynchronous ones of the same names, whose results go through a function.
macro_rules! methods {
    ($of:ident, $self:ident: $by:ty;
     $($through:ident $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        impl $of {
            $(
            #[doc = concat!("See [`", stringify!($of), "::", stringify!($name), "`](crate::", stringify!($of), "::", stringify!($name), ").")]
            pub fn $name($self: $by, $($argument: $type),*) -> $result {
                $through($self.0.$name($($argument),*))
            }
            )*
        }
    };
}

methods! { Store, self: &Self;
    wait table(name: &str, index: IndexKind) -> Result<Table>;
    wait table_with(name: &str, options: TableOptions<'_>) -> Result<Table>;
    wait drop_table(name: &str) -> Result<bool>;
    Batch batch() -> Batch;
    identity near_stats() -> Option<NearStats>;
    identity servers() -> Vec<String>;
    identity close() -> ();
}

impl Store {
    /// See [`Store::find_table`](crate::Store::find_table).
    pub fn find_table(&self, name: &str) -> Result<Option<Table>> {
        wait(self.0.find_table(name)).map(|table: Option<_>| table.map(Table))
    }

    /// See [`Store::tables`](crate::Store::tables).
    pub fn tables(&self) -> Result<Vec<Table>> {
        wait(self.0.tables()).map(|tables: Vec<_>| tables.into_iter().map(Table).collect())
    }
}

methods! { Table, self: &Self;
    identity name() -> &str;
    identity index() -> IndexKind;
    identity codecs() -> (&str, &str);
    at_once with_ttl(ttl: Duration) -> Result<Self>;
    wait insert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool>;
    wait replace(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool>;
    wait upsert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()>;
    wait write(write: Write, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool>;
    wait delete(key: impl AsRef<[u8]>) -> Result<bool>;
    wait select(key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>>;
    wait contains(key: impl AsRef<[u8]>) -> Result<bool>;
    wait increment(key: impl AsRef<[u8]>, by: i64) -> Result<i64>;
    wait compare_and_swap(key: impl AsRef<[u8]>, expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool>;
    wait alter(key: impl AsRef<[u8]>, change: impl FnMut(Option<&[u8]>) -> Change) -> Result<bool>;
    wait insert_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Result<Vec<bool>>;
    wait replace_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Result<Vec<bool>>;
    wait upsert_many(pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Result<()>;
    wait write_many(write: Write, pairs: &[(impl AsRef<[u8]>, impl AsRef<[u8]>)]) -> Result<Vec<bool>>;
    wait delete_many(keys: &[impl AsRef<[u8]>]) -> Result<Vec<bool>>;
    wait select_many(keys: &[impl AsRef<[u8]>]) -> Result<Vec<Option<Vec<u8>>>>;
    wait contains_many(keys: &[impl AsRef<[u8]>]) -> Result<Vec<bool>>;
    wait increment_many(amounts: &[(impl AsRef<[u8]>, i64)]) -> Result<Vec<i64>>;
    wait compare_and_swap_many(swaps: &[Swap<'_>]) -> Result<Vec<bool>>;
    wait len() -> Result<u64>;
    wait is_empty() -> Result<bool>;
    wait clear() -> Result<()>;
    wait ttl(key: impl AsRef<[u8]>) -> Result<Ttl>;
    wait touch(key: impl AsRef<[u8]>, ttl: Option<Duration>) -> Result<bool>;
    at_once prefix(prefix: impl AsRef<[u8]>) -> Result<Scan>;
}

impl Table {
    /// See [`Table::iter`](crate::Table::iter).
    pub fn iter(&self) -> Walk {
        Walk(self.0.iter())
    }

    /// See [`Table::cursor`](crate::Table::cursor).
    pub fn cursor<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Cursor> {
        at_once(self.0.cursor(range))
    }

    /// See [`Table::scan`](crate::Table::scan).
    pub fn scan<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Scan> {
        at_once(self.0.scan(range))
    }
}

impl IntoIterator for &Table {
    type Item = Result<Pair>;
    type IntoIter = Walk;

    fn into_iter(self) -> Walk {
        self.iter()
    }
}

/// Makes methods that add to a batch.
macro_rules! adding {
    ($($name:ident($($argument:ident: $type:ty),*);)*) => {
        impl Batch {
            $(
            #[doc = concat!("See [`Batch::", stringify!($name), "`](crate::Batch::", stringify!($name), ").")]
            pub fn $name(&mut self, table: &Table, $($argument: $type),*) -> Result<()> {
                self.0.$name(&table.0, $($argument),*)
            }
            )*
        }
    };
}

adding! {
    insert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
    replace(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
    upsert(key: impl AsRef<[u8]>, value: impl AsRef<[u8]>);
    delete(key: impl AsRef<[u8]>);
    increment(key: impl AsRef<[u8]>, by: i64);
    expect(key: impl AsRef<[u8]>, value: Option<&[u8]>);
}

methods! { Batch, self: &Self;
    identity len() -> usize;
    identity is_empty() -> bool;
}

methods! { Batch, self: Self;
    wait commit() -> Result<Vec<bool>>;
}

methods! { Cursor, self: &mut Self;
    wait scan_asc_next() -> Result<Option<Pair>>;
    wait scan_desc_next() -> Result<Option<Pair>>;
    wait scan_asc_next_many(limit: usize) -> Result<Pairs>;
    wait scan_desc_next_many(limit: usize) -> Result<Pairs>;
}

methods! { Scan, self: Self;
    Scan rev() -> Self;
    Scan limit(limit: usize) -> Self;
}

macro_rules! iterators {
    ($($name:ident)*) => {
        $(
        impl Iterator for $name {
            type Item = Result<Pair>;

            fn next(&mut self) -> Option<Self::Item> {
                wait(self.0.next()).transpose()
            }
        }
        )*
    };
}

iterators!(Scan Walk);
