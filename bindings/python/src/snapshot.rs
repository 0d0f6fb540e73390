//! The classes `Snapshot` and `SnapshotTable`.

use std::ops::Deref;
use std::sync::RwLock;

use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};
use pyo3::{PyClass, PyClassInitializer};
use twindex::IndexKind;

use crate::cursor::Cursor;
use crate::interrupts::{dumped, wait_for};
use crate::paths::path_of;
use crate::prelude::*;
use crate::shared::Ends;
use crate::table::reads::{described, table_reads};
use crate::table::{Named, Table};
use crate::ttl::seconds_of;

/// All tables of a store as they were at one moment. It never shows half of a batch or a transaction. `Store.snapshot` makes one.
///
/// Opening one takes microseconds. While it is open, the store keeps the values that writes replace. Threads may share it. It ends
/// with its `with` block, by `close`, with its store, or when it and its tables are garbage.
///
/// >>> store = Store()
/// >>> orders = store.table("orders", values="int")
/// >>> orders["apples"] = 3
/// >>> with store.snapshot() as report:
/// ...     orders["pears"] = 5
/// ...     dict(report.table("orders"))
/// {'apples': 3}
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Snapshot {
    store: Arc<Shared>,
    moment: Arc<Moment>,
}

/// What a snapshot and its tables share.
pub(crate) struct Moment {
    /// None once it has ended.
    engine: Mutex<Option<Inherited<twindex_durable::Snapshot>>>,
    /// The tables, cursors and iterators that read it.
    readers: Mutex<Vec<Py<PyWeakrefReference>>>,
}

impl Moment {
    /// Its engine, unless it has ended.
    fn open(&self, store: &Shared) -> Result<twindex_durable::Snapshot> {
        store.check_open()?;
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
        engine.as_deref().cloned().ok_or_else(error::snapshot_ended)
    }

    /// Remembers an object, to end it with the snapshot.
    fn remember<T: PyClass>(&self, store: &Shared, object: &Bound<'_, T>) -> Result<()> {
        let (py, reader) = (object.py(), PyWeakrefReference::new(object.as_any())?.unbind());
        let mut readers = self.readers.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        // Those that are found alive are let go of without the lock, as they may be by now the last references.
        let mut alive = Vec::new();
        if readers.len() == readers.capacity() {
            readers.retain(|reader| {
                let found = reader.bind(py).upgrade();
                let is_alive = found.is_some();
                alive.extend(found);
                is_alive
            });
            let more = readers.len().max(4);
            readers.try_reserve(more)?;
        }
        readers.push(reader);
        drop(readers);
        drop(alive);
        // It ended before the reader was in the list, or else ends it.
        self.open(store).map(drop)
    }
}

impl Ends for Moment {
    /// Ends the snapshot and all that reads it.
    fn end(&self, py: Python<'_>) {
        let engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner).take();
        let readers =
            std::mem::take(&mut *self.readers.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner));
        for reader in readers.iter().filter_map(|reader| reader.bind(py).upgrade()) {
            if let Ok(table) = reader.cast::<SnapshotTable>() {
                table.get().give_up();
            } else if let Ok(table) = reader.cast::<ExpiringSnapshotTable>() {
                table.get().give_up();
            } else if let Ok(cursor) = reader.cast::<Cursor>() {
                cursor.get().end(py);
            } else if let Ok(scan) = reader.cast::<Scan>() {
                scan.get().end(py);
            }
        }
        // To free what it kept may take long.
        py.detach(|| drop(engine));
    }
}

impl Snapshot {
    pub(crate) fn new(py: Python<'_>, store: &Arc<Shared>) -> Result<Self> {
        check_memory()?;
        let shared = Arc::clone(store);
        let engine = py.detach(|| shared.engine().snapshot())?;
        let moment =
            Arc::new(Moment { engine: Mutex::new(Some(Inherited::new(engine))), readers: Mutex::default() });
        let weak = Arc::downgrade(&moment);
        store.add_snapshot(weak)?;
        Ok(Self { store: Arc::clone(store), moment })
    }

    fn open(&self) -> Result<twindex_durable::Snapshot> {
        self.moment.open(&self.store)
    }

    /// An object that reads one of its tables.
    fn seen<'py, R, T: PyClass + Into<PyClassInitializer<T>>>(
        &self,
        py: Python<'py>,
        seen: Named,
        index: IndexKind,
        codecs: (&str, &str),
        reads: R,
        make: impl FnOnce(Parts, R) -> T,
    ) -> Result<Bound<'py, PyAny>> {
        let parts = Parts {
            store: Arc::clone(&self.store),
            moment: Arc::clone(&self.moment),
            name: seen.name.clone(),
            index,
            remembered: (codecs.0.to_owned(), codecs.1.to_owned()),
            codecs: seen.codecs(py, codecs)?,
        };
        let table = Bound::new(py, make(parts, reads))?;
        self.moment.remember(&self.store, &table)?;
        Ok(table.into_any())
    }
}

/// What a table of a snapshot is beside what reads it.
struct Parts {
    store: Arc<Shared>,
    moment: Arc<Moment>,
    name: String,
    index: IndexKind,
    remembered: (String, String),
    codecs: Codecs,
}

#[pymethods]
impl Snapshot {
    /// A table as it was: a `SnapshotTable`. Raises `NoTableError` if there was no such table.
    ///
    /// `table` is a name, or a `Table` of the store, whose codecs it uses. For a name `keys` and `values` are as in `Store.table`.
    ///
    /// >>> store = Store()
    /// >>> hits = store.table("hits", values="int")
    /// >>> hits["/"] = 1
    /// >>> with store.snapshot() as then:
    /// ...     then.table(hits)["/"], then.table("hits", values="bytes")["/"]
    /// (1, b'1')
    #[pyo3(signature = (table, *, keys=None, values=None))]
    fn table<'py>(
        &self,
        table: &Bound<'py, PyAny>,
        keys: Option<&Bound<'py, PyAny>>,
        values: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        let py = table.py();
        let engine = self.open()?;
        let seen = Table::named(&self.store, table, keys, values)?;
        let expires = match engine.table(&seen.name) {
            Ok(table) => {
                let codecs = table.codecs();
                return self.seen(
                    py,
                    seen,
                    table.index(),
                    codecs,
                    table.as_table().clone(),
                    SnapshotTable::new,
                );
            }
            Err(twindex_durable::Error::WrongExpiry { .. }) => engine.expiring_table(&seen.name)?,
            Err(error) => return Err(error.into()),
        };
        let table = expires.clone();
        self.seen(py, seen, table.index(), table.codecs(), expires, ExpiringSnapshotTable::new)
    }

    /// The name and index of every table, by name.
    fn tables<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let tables = self.open()?.tables()?;
        objects::tables(py, tables.iter().map(|table| (table.name(), table.index())))
    }

    /// The snapshot's place in the store's history, as text: `Store.changes(position)` has exactly the changes after it.
    ///
    /// Raises `NoLogError` with durability "none", and `NoFileError` for a store in memory.
    #[getter]
    fn position(&self) -> Result<String> {
        Ok(self.open()?.position()?.to_string())
    }

    /// The snapshot as bytes, which `Store.load` reads.
    fn dump<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let engine = self.open()?;
        Ok(objects::bytes(py, &dumped(py, |writer| engine.dump(writer))?)?)
    }

    /// Writes the snapshot to another file than the store's, as `Store.save` does.
    #[pyo3(signature = (path))]
    fn save(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> Result<()> {
        let engine = self.open()?;
        let Some(target) = path_of(path)? else {
            return Err(error::wrong_type("path", "str, bytes or os.PathLike", path));
        };
        Ok(wait_for(py, move || engine.save_as(&target))??)
    }

    /// Ends the snapshot and frees its memory. Every later use of its tables, cursors and iterators raises
    /// `EndedError`. Closing it again does nothing.
    fn close(&self, py: Python<'_>) {
        if !self.store.is_foreign() {
            self.moment.end(py);
        }
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self) -> bool {
        self.open().is_err()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> Result<PyRef<'_, Self>> {
        slf.open()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        match self.open().and_then(|engine| Ok(engine.tables()?.len())) {
            Ok(tables) => format!("<twindex.Snapshot: {tables} tables>"),
            Err(_) => "<twindex.Snapshot: ended>".into(),
        }
    }
}

not_copied!(
    Snapshot,
    "a Snapshot cannot be pickled or copied; Store.load(snapshot.dump()) is a copy of its pairs"
);

/// A table that a call reads, which keeps the snapshot for as long.
struct Lent<T>(T);

impl<T> Deref for Lent<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.0
    }
}

/// The class of a snapshot's tables, which `$reads` reads.
macro_rules! snapshot_table {
    ($(#[$doc:meta])* $class:ident, $reads:ty) => {
        $(#[$doc])*
        #[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
        pub(crate) struct $class {
            store: Arc<Shared>,
            moment: Arc<Moment>,
            name: String,
            index: IndexKind,
            remembered: (String, String),
            /// None once the snapshot has ended.
            engine: RwLock<Option<Inherited<$reads>>>,
            codecs: Codecs,
        }

        table_reads!($class);
        described!($class);

        impl $class {
            fn new(parts: Parts, reads: $reads) -> Self {
                let Parts { store, moment, name, index, remembered, codecs } = parts;
                Self { store, moment, name, index, remembered, engine: RwLock::new(Some(Inherited::new(reads))), codecs }
            }

            /// The engine's table, unless the snapshot has ended.
            #[inline]
            fn reader(&self) -> Result<Lent<$reads>> {
                self.store.check_open()?;
                let engine = self.engine.read().unwrap_or_else(PoisonError::into_inner);
                engine.as_deref().map(|table| Lent(table.clone())).ok_or_else(error::snapshot_ended)
            }

            /// An object that reads it later, and ends with the snapshot.
            fn made<'py, T: PyClass>(
                &self,
                py: Python<'py>,
                object: impl Into<PyClassInitializer<T>>,
            ) -> Result<Bound<'py, T>> {
                let object = Bound::new(py, object)?;
                self.moment.remember(&self.store, &object)?;
                Ok(object)
            }

            fn give_up(&self) {
                drop(self.engine.write().unwrap_or_else(PoisonError::into_inner).take());
            }

            fn about(&self) -> (&str, IndexKind, (&str, &str)) {
                (&self.name, self.index, (&self.remembered.0, &self.remembered.1))
            }

            fn state(&self) -> String {
                self.len().map_or_else(|_| "ended".into(), |pairs| format!("{pairs} pairs"))
            }

            fn read_only<T>(&self) -> Result<T> {
                self.reader()?;
                Err(twindex::Error::ReadOnly { table: self.name.clone() }.into())
            }
        }

        #[pymethods]
        impl $class {
            fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
                self.codecs.visit(&visit)
            }

            /// What every write does: see `twindex._snapshots`.
            #[pyo3(name = "_read_only")]
            fn refuse(&self) -> Result<()> {
                self.read_only()
            }

            fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
                let _ = (key, value);
                self.read_only()
            }

            fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Result<()> {
                let _ = key;
                self.read_only()
            }
        }

        not_copied!($class, "a SnapshotTable cannot be pickled or copied; dict(table) is a copy of its pairs");
    };
}

snapshot_table! {
    /// A table as it was at the moment of a snapshot: a mapping with a table's reads. `Snapshot.table` returns one.
    ///
    /// Writes raise `ReadOnlyError`.
    ///
    /// >>> store = Store()
    /// >>> log = store.table("log", index="sorted", keys="int")
    /// >>> log.update([(10, "a"), (20, "b")])
    /// >>> then = store.snapshot().table(log)
    /// >>> log.clear()
    /// >>> then[10], list(then.scan(gte=15)), len(then)
    /// ('a', [(20, 'b')], 2)
    SnapshotTable, twindex::Table
}

snapshot_table! {
    /// A `SnapshotTable` of a table whose pairs expire: the pairs that had not expired at that moment.
    ExpiringSnapshotTable, twindex_durable::ExpiringReads
}

#[pymethods]
impl ExpiringSnapshotTable {
    /// How many seconds the pair still had to live at the moment of the snapshot, as `ExpiringTable.ttl`.
    #[pyo3(signature = (key, /))]
    fn ttl(&self, key: &Bound<'_, PyAny>) -> Result<Option<f64>> {
        Ok(seconds_of(self.reader()?.ttl(self.codecs.keys.encode_sought(key)?)))
    }
}
