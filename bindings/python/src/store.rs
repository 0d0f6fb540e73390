//! The class `Store`.

use std::path::Path;

use twindex::{IndexKind, TableOptions};
use twindex_durable::{AnyTable, Dump, Progress};

use crate::batch::Batch;
use crate::buffer::Buffer;
use crate::changes::{Changes, View};
use crate::codec::DEFAULT_CODEC;
use crate::interrupts::{Interruptible, dumped, wait_for};
use crate::paths::path_of;
use crate::prelude::*;
use crate::progress::Telling;
use crate::snapshot::Snapshot;
use crate::table::Table;
use crate::table::expiring::ExpiringTable;
use crate::transaction::Transaction;

/// A set of named tables, in memory or, from `twindex.open`, in a file.
///
/// All threads may share a store and its tables. `Store()` is a store in memory:
///
/// >>> store = Store()
/// >>> users = store.table("users")
/// >>> users.insert("ada", "1815")
/// True
/// >>> store.tables()
/// [('users', 'hash')]
///
/// A write that would take the store past `memory_limit` bytes raises `MemoryLimitError` and changes nothing.
/// As a context manager a store closes itself:
///
/// >>> with Store(memory_limit=1_000_000) as store:
/// ...     store.memory_limit
/// 1000000
/// >>> store.closed
/// True
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Store(Arc<Shared>);

impl Store {
    pub(crate) fn new_of(engine: impl Into<twindex_durable::Store>) -> Self {
        Self(Shared::new(engine))
    }

    /// The store for work on another thread, unless it was closed.
    fn opened(&self) -> Result<Arc<Shared>> {
        self.0.check_open()?;
        Ok(Arc::clone(&self.0))
    }

    fn load_bytes(py: Python<'_>, bytes: &[u8], limit: Option<usize>, telling: &Telling) -> Result<Self> {
        let mut reader = Interruptible::new(bytes);
        let limit = limit.unwrap_or(usize::MAX);
        let loaded = py.detach(|| twindex::Store::load_within(&mut reader, limit));
        let (engine, _) = reader.result(loaded)?;
        let pairs = engine.tables().iter().map(|table| table.len() as u64).sum();
        telling.teller()(Progress { pairs, bytes: bytes.len() as u64 });
        telling.end(py, Ok::<_, Failure>(Self::new_of(engine)))
    }
}

#[pymethods]
impl Store {
    #[new]
    #[pyo3(signature = (memory_limit=None))]
    fn new(memory_limit: Option<Count>) -> Result<Self> {
        check_memory()?;
        let engine = twindex::Store::new();
        engine.set_memory_limit(memory_limit.map(|Count(bytes)| bytes));
        Ok(Self::new_of(engine))
    }

    /// Opens the table of this name, or creates it.
    ///
    /// The index of a new table is "hash" (default), which finds single keys, or "sorted", which also scans keys in order. It never
    /// changes: another index than the table's raises `WrongIndexError`.
    ///
    /// Keys are "str", "bytes", "int" or "tuple", values "str", "bytes", "int", "json", "msgpack" or "pickle". Both can
    /// also be a `Codec` of your own. The default of a new table is "str". A table remembers its codecs, in files and dumps too,
    /// so open it without naming them. "bytes" returns the stored bytes; any other codec than the table's raises
    /// `WrongCodecError`. Name "pickle" and your own codecs each time.
    ///
    /// Integers have 64 bits. Keys that are `int` order as numbers, and tuples of None, bytes, str, int, float and tuples
    /// as tuples do. "msgpack" needs the package msgpack. Reading "pickle" can run any code: never read values
    /// that somebody else may have written.
    ///
    /// With `expires=True` a new table is an `ExpiringTable`, whose pairs have times to live. A table remembers that; the opposite
    /// raises `WrongExpiryError`.
    ///
    /// With `create=False` a missing table raises `NoTableError`.
    ///
    /// >>> ages = Store().table("ages", index="sorted", values="int")
    /// >>> ages["ada"] = 36
    /// >>> ages.increment("ada")
    /// 37
    /// >>> visits = Store().table("visits", index="sorted", keys="tuple", values="int")
    /// >>> visits.update({("ada", 2026, 11): 3, ("ada", 2026, 2): 5, ("bob", 2025, 7): 1})
    /// >>> list(visits.scan(prefix=("ada", 2026)))
    /// [(('ada', 2026, 2), 5), (('ada', 2026, 11), 3)]
    #[pyo3(
        signature = (name, index=None, *, keys=None, values=None, create=true, expires=None),
        text_signature = "($self, name, index=None, *, keys=None, values=None, create=True, expires=None)"
    )]
    fn table<'py>(
        slf: &Bound<'py, Self>,
        name: Text,
        index: Option<Text>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::create)] create: bool,
        #[pyo3(from_py_with = arguments::expires)] expires: Option<bool>,
    ) -> Result<Bound<'py, PyAny>> {
        check_memory()?;
        let (py, shared) = (slf.py(), &slf.get().0);
        let store = shared.open()?;
        let (keys, values) =
            (keys.map(KeyCodec::of).transpose()?, values.map(|codec| ValueCodec::of(codec)).transpose()?);
        let index = index.map(|Text(index)| index.parse::<IndexKind>()).transpose()?;
        let options = TableOptions::new(index.unwrap_or(IndexKind::Hash));
        let options = options.any_index(index.is_none()).create(create);
        let options = match &keys {
            Some(codec) => options.keys(codec.name()),
            None => options.keys_if_new(DEFAULT_CODEC),
        };
        let options = match &values {
            Some(codec) => options.values(codec.name()),
            None => options.values_if_new(DEFAULT_CODEC),
        };
        let (shared, owner) = (Arc::clone(shared), slf.clone().into_any().unbind());
        Ok(match py.detach(|| store.any_table_with(&name.0, options, expires))? {
            AnyTable::Plain(table) => {
                let codecs = Codecs::of_table(py, table.name(), table.codecs(), keys, values)?;
                Bound::new(py, Table::new(shared, owner, table, codecs))?.into_any()
            }
            AnyTable::Expiring(table) => {
                let codecs = Codecs::of_table(py, table.name(), table.codecs(), keys, values)?;
                Bound::new(py, ExpiringTable::new(shared, owner, table, codecs))?.into_any()
            }
        })
    }

    /// The name and index of every table, by name.
    ///
    /// >>> store = Store()
    /// >>> _ = store.table("words", index="sorted"), store.table("users")
    /// >>> store.tables()
    /// [('users', 'hash'), ('words', 'sorted')]
    fn tables<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyList>> {
        let store = self.0.open()?;
        let tables = py.detach(|| store.tables())?;
        objects::tables(py, tables.iter().map(|table| (table.name(), table.index())))
    }

    /// Removes a table and its pairs. Returns whether there was one.
    ///
    /// Handles of it find nothing afterwards, and their writes raise `TableDroppedError`.
    ///
    /// >>> store = Store()
    /// >>> users = store.table("users")
    /// >>> store.drop_table("users"), store.drop_table("users")
    /// (True, False)
    #[pyo3(signature = (name))]
    fn drop_table(&self, py: Python<'_>, name: Text) -> Result<bool> {
        let store = self.opened()?;
        Ok(wait_for(py, move || store.engine().drop_table(&name.0))??)
    }

    /// The bytes in memory: pairs, indexes, and free space for reuse.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.0.open()?.memory())
    }

    /// The most bytes in memory, or None without a limit.
    ///
    /// A store that already has more keeps its pairs, and refuses to grow.
    ///
    /// >>> store = Store()
    /// >>> store.memory_limit is None
    /// True
    /// >>> store.memory_limit = 64 * 1024 * 1024
    #[getter]
    fn memory_limit(&self) -> Result<Option<usize>> {
        Ok(self.0.open()?.memory_limit())
    }

    #[setter]
    fn set_memory_limit(&self, limit: Option<Count>) -> Result<()> {
        self.0.open()?.set_memory_limit(limit.map(|Count(bytes)| bytes));
        Ok(())
    }

    /// The whole store as bytes, which `Store.load` reads on any platform and in any language.
    ///
    /// >>> store = Store()
    /// >>> store.table("users")["ada"] = "1815"
    /// >>> Store.load(store.dump()).table("users")["ada"]
    /// '1815'
    fn dump<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let store = self.0.open()?;
        Ok(objects::bytes(py, &dumped(py, |writer| store.dump(writer))?)?)
    }

    /// Writes the whole store to a file, which is replaced in one step once the new one is on disk.
    ///
    /// Without a path it rewrites the store's own file, without overwritten pairs.
    ///
    /// >>> from tempfile import TemporaryDirectory
    /// >>> from pathlib import Path
    /// >>> store = Store()
    /// >>> store.table("users")["ada"] = "1815"
    /// >>> with TemporaryDirectory() as folder:
    /// ...     store.save(Path(folder) / "app.twx")
    /// ...     Store.load(Path(folder) / "app.twx").table("users")["ada"]
    /// '1815'
    #[pyo3(signature = (path=None))]
    fn save(&self, py: Python<'_>, path: Option<&Bound<'_, PyAny>>) -> Result<()> {
        check_not_telling()?;
        let store = self.opened()?;
        let Some(path) = path else { return Ok(wait_for(py, move || store.engine().save())??) };
        let Some(target) = path_of(path)? else {
            return Err(error::wrong_type("path", "str, bytes, os.PathLike or None", path));
        };
        Ok(wait_for(py, move || store.engine().save_as(&target))??)
    }

    /// Returns when every earlier change is on disk. With durability "none" it does nothing: use `save`.
    fn flush(&self, py: Python<'_>) -> Result<()> {
        let store = self.opened()?;
        Ok(wait_for(py, move || store.engine().flush())??)
    }

    /// Rewrites the store's file without overwritten and deleted pairs, while reads and writes go on. The store also compacts on its
    /// own. `progress` is called with a `Progress` several times a second, and at the end.
    #[pyo3(signature = (*, progress=None))]
    fn compact(&self, py: Python<'_>, progress: Option<&Bound<'_, PyAny>>) -> Result<()> {
        check_not_telling()?;
        let (store, telling) = (self.opened()?, Telling::new(progress)?);
        let teller = progress.map(|_| telling.teller());
        telling.wait_for(py, move || match teller {
            Some(teller) => store.engine().compact_with(teller),
            None => store.engine().compact(),
        })
    }

    /// A `Batch`: writes that are all done or none.
    fn batch(&self) -> Result<Batch> {
        Ok(Batch::new(Arc::clone(&self.0), self.0.open()?.batch()))
    }

    /// A `Snapshot`: all tables as they are now, to read while others write.
    fn snapshot(&self, py: Python<'_>) -> Result<Snapshot> {
        self.0.check_open()?;
        Snapshot::new(py, &self.0)
    }

    /// Calls `function` with a `Transaction`, commits its writes and returns its result. If a value that it read has changed
    /// meanwhile, it is called again, up to a thousand times; then this raises `ConflictError`. If the function raises, nothing is
    /// written.
    ///
    /// Without a function it returns a `Transaction` for a `with` block, which raises `ConflictError` at its end instead of running
    /// again. `twindex.aio.transaction` takes a coroutine function.
    ///
    /// >>> store = Store()
    /// >>> accounts = store.table("accounts", values="int")
    /// >>> accounts["ada"] = 100
    /// >>> def pay(tx):
    /// ...     tx.table(accounts).increment("ada", -30)
    /// ...     return tx.table(accounts).increment("bob", 30)
    /// >>> store.transaction(pay), accounts["ada"]
    /// (30, 70)
    /// >>> with store.transaction() as tx:
    /// ...     tx.table(accounts)["carol"] = tx.table(accounts).take("bob")
    /// >>> sorted(accounts.items())
    /// [('ada', 70), ('carol', 30)]
    #[pyo3(signature = (function=None, /))]
    fn transaction<'py>(
        slf: &Bound<'py, Self>,
        function: Option<&Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        static RUN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = slf.py();
        let Some(function) = function else {
            return Ok(Bound::new(py, Transaction::new(&slf.get().0)?)?.into_any());
        };
        if !function.is_callable() {
            return Err(error::wrong_type("function", "callable or None", function));
        }
        Ok(RUN.import(py, "twindex._transactions", "run")?.call1((slf, function))?)
    }

    /// The store's file, or None for a store in memory.
    #[getter]
    fn path(&self) -> Option<&Path> {
        self.0.path()
    }

    /// When a change reaches the disk: "none", "everysec" or "always".
    #[getter]
    fn durability(&self) -> &'static str {
        self.0.engine().durability().name()
    }

    /// Whether it was opened read-only.
    #[getter]
    fn read_only(&self) -> bool {
        self.0.engine().is_read_only()
    }

    /// The `Place` of an incomplete last write that was discarded when the file was opened, or None. It was never
    /// acknowledged.
    #[getter]
    fn torn<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let Some(torn) = self.0.engine().torn() else { return Ok(None) };
        let place = py.import("twindex._reports")?.getattr("Place")?;
        Ok(Some(place.call1((torn.offset, torn.bytes))?))
    }

    /// With `read_only=True`: reads the changes that another process has written since. Returns the number of batches.
    ///
    /// Open tables go on working, also when the file is compacted or replaced. While it runs, other threads may see a part of a
    /// batch. Raises `NoFileError` for a store in memory.
    fn refresh(&self, py: Python<'_>) -> Result<u64> {
        let store = self.opened()?;
        Ok(wait_for(py, move || store.engine().refresh())??)
    }

    /// Starts a thread that calls `refresh` every 1 to 32 ms. Its errors are in `stats()["follow_error"]`. In a child of a fork open
    /// the store again, and call this in the child.
    fn follow(&self, py: Python<'_>) -> Result<()> {
        let store = self.opened()?;
        Ok(wait_for(py, move || store.engine().follow())??)
    }

    /// The position of the store's last change, as text, for `changes`. It stays valid when the file is compacted, closed and
    /// opened again.
    ///
    /// Raises `NoLogError` if the durability is "none", and `NoFileError` for a store in memory.
    #[getter]
    fn position(&self, py: Python<'_>) -> Result<String> {
        let store = self.0.open()?;
        Ok(py.detach(|| store.position())?.to_string())
    }

    /// The changes after a position, by default from now on, in the order of the log: a `Changes`, which is an iterator.
    ///
    /// `tables` limits them to these tables, and names their codecs: "pickle" and your own codecs need it. With `raw` keys and
    /// values are bytes.
    ///
    /// They are read from the file, so a store that another process has open with `read_only=True` has them too. Raises
    /// `PositionGoneError` if the file no longer has them: begin again from a snapshot and its `position`.
    #[pyo3(signature = (position=None, *, tables=None, raw=false))]
    fn changes(
        &self,
        py: Python<'_>,
        position: Option<Text>,
        tables: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::raw)] raw: bool,
    ) -> Result<Changes> {
        Changes::of_store(py, &self.0, position, View::of(tables, raw)?)
    }

    /// Statistics of the store and its file, by name.
    ///
    /// >>> store = Store()
    /// >>> store.table("users")["ada"] = "1815"
    /// >>> store.stats()["pairs"]
    /// 1
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let store = self.0.open()?;
        let stats = py.detach(|| store.stats());
        let dict = objects::dict(py)?;
        macro_rules! set {
            ($($name:ident)*) => {
                $(dict.set_item(stringify!($name), stats.$name)?;)*
            };
        }
        set!(tables pairs memory dump_bytes log_bytes unsynced_bytes unsynced_for syncs last_sync);
        set!(compactions compacting compaction_error log_error behind_bytes refreshed follow_error);
        set!(snapshots kept_bytes transactions);
        dict.set_item("position", stats.position.map(|position| position.to_string()))?;
        Ok(dict)
    }

    /// A store in memory from the bytes of `dump`, or from the path of a file.
    ///
    /// Raises `CorruptError` unless it is a whole, undamaged dump, and `MemoryLimitError` if it takes more than `memory_limit` bytes,
    /// which stays the store's limit. `progress` is called with a `Progress` several times a second, and at the end.
    ///
    /// >>> Store.load(Store().dump()).tables()
    /// []
    #[staticmethod]
    #[pyo3(signature = (source, /, *, memory_limit=None, progress=None))]
    fn load(
        source: &Bound<'_, PyAny>,
        memory_limit: Option<Count>,
        progress: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let (py, telling) = (source.py(), Telling::new(progress)?);
        let limit = memory_limit.map(|Count(bytes)| bytes);
        if let Ok(bytes) = source.cast::<PyBytes>() {
            return Self::load_bytes(py, bytes.as_bytes(), limit, &telling);
        }
        if let Some(path) = path_of(source)? {
            let teller = telling.teller();
            let load = move || twindex_durable::load_within(&path, limit, teller);
            return Ok(Self::new_of(telling.wait_for(py, load)?));
        }
        match Buffer::of("source", source)? {
            Some(buffer) => Self::load_bytes(py, &buffer.copy(usize::MAX)?, limit, &telling),
            None => Err(error::wrong_type("source", "bytes, bytearray, memoryview or a path", source)),
        }
    }

    /// Writes everything to the disk, closes the file and frees the memory. Every later use of the store, its tables and cursors
    /// raises `ClosedError`; closing again does nothing.
    ///
    /// If it fails, the store stays open, so that you can save it to another file.
    fn close(&self, py: Python<'_>) -> Result<()> {
        if self.0.is_foreign() {
            self.0.mark_closed();
            return Ok(());
        }
        if !self.0.is_closed() {
            check_not_telling()?;
            let shared = Arc::clone(&self.0);
            wait_for(py, move || {
                shared.engine().close()?;
                shared.mark_closed();
                shared.end_feeds();
                Ok::<_, twindex_durable::Error>(())
            })??;
        }
        // A read that found the store open had the interpreter until it was done. Now this thread has it.
        let engine = self.0.engine();
        py.detach(|| {
            for table in engine.in_memory().tables() {
                // Fails only where the table was dropped, and then it is empty.
                let _ = table.clear();
            }
        });
        self.0.end_snapshots(py);
        Ok(())
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
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> Result<()> {
        self.close(py)
    }

    fn __repr__(&self) -> String {
        let file = self
            .path()
            .map_or_else(String::new, |path| format!(" in \"{}\", {}", path.display(), self.durability()));
        match self.0.open() {
            Ok(store) => {
                format!(
                    "<twindex.Store{file}: {} tables, {} bytes>",
                    store.in_memory().tables().len(),
                    store.memory()
                )
            }
            Err(_) => format!("<twindex.Store{file}: closed>"),
        }
    }

    /// A pickle of a store in a file is its path, which unpickling opens.
    fn __reduce__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        let Some(path) = self.path() else {
            return Err(error::misuse(
                "a Store in memory cannot be pickled or copied; Store.load(store.dump()) is a copy of one",
            ));
        };
        let reopen = py.import("twindex._files")?.getattr("reopen")?;
        let arguments = (path, self.durability(), self.read_only(), self.memory_limit()?);
        Ok((reopen, arguments).into_pyobject(py)?.into_any())
    }
}
