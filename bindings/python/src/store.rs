//! The class `Store`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyString, PyTuple};

use crate::arguments::{Count, Text};
use crate::codec::{KeyCodec, ValueCodec, copy_buffer};
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::objects;
use crate::table::Table;

/// What a store and the handles of its tables share.
pub(crate) struct Shared {
    engine: Inherited<twindex::Store>,
    closed: AtomicBool,
}

impl Shared {
    fn new(engine: twindex::Store) -> Arc<Self> {
        Arc::new(Self { engine: Inherited::new(engine), closed: AtomicBool::new(false) })
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
}

/// A set of named tables in memory.
///
/// Threads share a store and its tables freely.
///
/// >>> store = Store()
/// >>> users = store.table("users")
/// >>> users.insert(b"ada", b"1815")
/// True
/// >>> store.tables()
/// [('users', 'hash')]
///
/// With `memory_limit`, a write that would take the store past so many bytes raises `MemoryLimitError` and
/// changes nothing. As a context manager a store closes itself:
///
/// >>> with Store(memory_limit=1_000_000) as store:
/// ...     store.memory_limit
/// 1000000
/// >>> store.closed
/// True
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Store(Arc<Shared>);

impl Store {
    fn open(&self) -> Result<&twindex::Store> {
        self.0.check_open()?;
        Ok(&self.0.engine)
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (memory_limit=None))]
    fn new(memory_limit: Option<Count>) -> Self {
        let engine = twindex::Store::new();
        engine.set_memory_limit(memory_limit.map(|Count(bytes)| bytes));
        Self(Shared::new(engine))
    }

    /// Opens the table of this name, or creates it.
    ///
    /// The index is "hash", which finds single keys, or "sorted", which also scans keys in order. A table
    /// has one for good: asking for the other raises `WrongIndexError`.
    ///
    /// Keys are "bytes", "str", "int" or "tuple", values "bytes", "str", "int", "json", "msgpack" or "pickle". That is
    /// not stored: it is how this handle encodes. Integers have 64 bits. Keys that are `int` order as numbers, and
    /// tuples of None, bytes, str, int, float and tuples as tuples do.
    ///
    /// "msgpack" needs the package msgpack. Reading "pickle" runs what the value says: never read values that
    /// somebody else may have written.
    ///
    /// >>> ages = Store().table("ages", index="sorted", keys="str", values="int")
    /// >>> ages["ada"] = 36
    /// >>> ages.increment("ada")
    /// 37
    /// >>> visits = Store().table("visits", index="sorted", keys="tuple", values="int")
    /// >>> visits.update({("ada", 2026, 11): 3, ("ada", 2026, 2): 5, ("bob", 2025, 7): 1})
    /// >>> list(visits.scan(prefix=("ada", 2026)))
    /// [(('ada', 2026, 2), 5), (('ada', 2026, 11), 3)]
    #[pyo3(
        signature = (name, index=Text::from("hash"), *, keys=Text::from("bytes"), values=Text::from("bytes")),
        text_signature = "($self, name, index='hash', *, keys='bytes', values='bytes')"
    )]
    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn table(&self, py: Python<'_>, name: Text, index: Text, keys: Text, values: Text) -> Result<Table> {
        let store = self.open()?;
        let (keys, values) = (KeyCodec::parse(&keys.0)?, ValueCodec::parse(py, &values.0)?);
        let index = index.0.parse()?;
        let table = py.detach(|| store.table(&name.0, index))?;
        Ok(Table::new(Arc::clone(&self.0), table, keys, values))
    }

    /// The name and index of every table, by name.
    ///
    /// >>> store = Store()
    /// >>> _ = store.table("words", index="sorted"), store.table("users")
    /// >>> store.tables()
    /// [('users', 'hash'), ('words', 'sorted')]
    fn tables<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let tables = self.open()?.tables();
        Ok(PyList::new(py, tables.iter().map(|table| (table.name(), table.index().name())))?)
    }

    /// Removes a table and its pairs; whether it was there.
    ///
    /// Handles of it find nothing from then on, and their writes raise `TableDroppedError`.
    ///
    /// >>> store = Store()
    /// >>> users = store.table("users")
    /// >>> store.drop_table("users"), store.drop_table("users")
    /// (True, False)
    #[pyo3(signature = (name))]
    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn drop_table(&self, py: Python<'_>, name: Text) -> Result<bool> {
        let store = self.open()?;
        Ok(py.detach(|| store.drop_table(&name.0)))
    }

    /// The bytes that the store holds: pairs, indexes and free space kept for reuse.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.open()?.memory())
    }

    /// The most bytes that the store may hold, or None where there is no limit.
    ///
    /// A store that already holds more keeps its pairs, and refuses to grow.
    ///
    /// >>> store = Store()
    /// >>> store.memory_limit is None
    /// True
    /// >>> store.memory_limit = 64 * 1024 * 1024
    #[getter]
    fn memory_limit(&self) -> Result<Option<usize>> {
        Ok(self.open()?.memory_limit())
    }

    #[setter]
    fn set_memory_limit(&self, limit: Option<Count>) -> Result<()> {
        self.open()?.set_memory_limit(limit.map(|Count(bytes)| bytes));
        Ok(())
    }

    /// The whole store as bytes, which `Store.load` reads on any platform and in any language.
    ///
    /// >>> store = Store()
    /// >>> store.table("users")[b"ada"] = b"1815"
    /// >>> Store.load(store.dump()).table("users")[b"ada"]
    /// b'1815'
    fn dump<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let store = self.open()?;
        let dump = py.detach(|| {
            let mut bytes = Vec::new();
            store.dump(&mut bytes).map(|()| bytes)
        })?;
        Ok(objects::bytes(py, &dump)?)
    }

    /// Writes the whole store to a file, which is replaced in one step once the new one is on disk.
    ///
    /// >>> from tempfile import TemporaryDirectory
    /// >>> from pathlib import Path
    /// >>> store = Store()
    /// >>> store.table("users")[b"ada"] = b"1815"
    /// >>> with TemporaryDirectory() as folder:
    /// ...     store.save(Path(folder) / "app.twx")
    /// ...     Store.load(Path(folder) / "app.twx").table("users")[b"ada"]
    /// b'1815'
    #[pyo3(signature = (path))]
    fn save(&self, path: &Bound<'_, PyAny>) -> Result<()> {
        let store = self.open()?;
        let Some(target) = path_of(path)? else {
            return Err(error::wrong_type("path", "str or os.PathLike", path));
        };
        Ok(path.py().detach(|| twindex_durable::save(store, &target))?)
    }

    /// A store from the bytes of `dump`, or from the path of a file that `save` wrote.
    ///
    /// Raises `CorruptError` on anything but a whole, undamaged dump.
    ///
    /// >>> Store.load(Store().dump()).tables()
    /// []
    #[staticmethod]
    #[pyo3(signature = (source, /))]
    fn load(source: &Bound<'_, PyAny>) -> Result<Self> {
        let py = source.py();
        let engine = if let Ok(bytes) = source.cast::<PyBytes>() {
            let bytes = bytes.as_bytes();
            py.detach(|| twindex::Store::load(&mut &bytes[..]))
        } else if let Some(path) = path_of(source)? {
            py.detach(|| twindex_durable::load(&path))
        } else if let Some(bytes) = copy_buffer(source) {
            py.detach(|| twindex::Store::load(&mut &bytes[..]))
        } else {
            return Err(error::wrong_type("source", "bytes, bytearray, memoryview or a path", source));
        };
        Ok(Self(Shared::new(engine?)))
    }

    /// Closes the store and frees its memory. Every other use of it, of its tables and of their cursors
    /// raises `ClosedError` from then on; closing again does nothing.
    fn close(&self, py: Python<'_>) {
        if !self.0.closed.swap(true, Ordering::AcqRel) && !self.0.engine.is_foreign() {
            py.detach(|| {
                for table in self.0.engine.tables() {
                    self.0.engine.drop_table(table.name());
                }
            });
        }
    }

    /// Whether the store was closed.
    #[getter]
    fn closed(&self) -> bool {
        self.0.is_closed()
    }

    fn __enter__(slf: PyRef<'_, Self>) -> Result<PyRef<'_, Self>> {
        slf.0.check_open()?;
        Ok(slf)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) {
        self.close(py);
    }

    fn __repr__(&self) -> String {
        match self.open() {
            Ok(store) => {
                format!("<twindex.Store: {} tables, {} bytes>", store.tables().len(), store.memory())
            }
            Err(_) => "<twindex.Store: closed>".into(),
        }
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        Err(error::misuse("a Store cannot be pickled or copied; Store.load(store.dump()) is a copy of one"))
    }
}

/// The path that a `str` or an `os.PathLike` stands for, `None` for anything else.
fn path_of(object: &Bound<'_, PyAny>) -> Result<Option<PathBuf>> {
    if object.is_instance_of::<PyString>() || object.hasattr("__fspath__")? {
        return Ok(Some(object.extract()?));
    }
    Ok(None)
}
