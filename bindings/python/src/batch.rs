//! The class `Batch`.

use crate::arguments;
use crate::prelude::*;
use crate::table::Table;

/// Writes that are all done or none. `Store.batch` makes one.
///
/// `commit` does them, or the end of a `with` block without an exception. After a crash the file has all of them or none. If one
/// fails, as at the memory limit, none is done.
///
/// >>> store = Store()
/// >>> accounts = store.table("accounts", values="int")
/// >>> with store.batch() as batch:
/// ...     batch.upsert(accounts, "ada", 90)
/// ...     batch.upsert(accounts, "bob", 10)
/// >>> sorted(accounts.items())
/// [('ada', 90), ('bob', 10)]
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Batch {
    store: Arc<Shared>,
    /// None once it has ended. Held over nothing that runs Python code or waits for the interpreter.
    writes: Mutex<Option<Inherited<twindex_durable::Batch>>>,
}

impl Batch {
    pub(crate) fn new(store: Arc<Shared>, writes: twindex_durable::Batch) -> Self {
        Self { store, writes: Mutex::new(Some(Inherited::new(writes))) }
    }

    fn with<T>(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut twindex_durable::Batch) -> twindex_durable::Result<T>,
    ) -> Result<T> {
        self.store.check_open()?;
        let mut writes = self.writes.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        let writes = writes.as_mut().ok_or_else(error::ended)?;
        Ok(body(writes)?)
    }

    /// Adds a write, if there is memory for one.
    fn add(
        &self,
        py: Python<'_>,
        body: impl FnOnce(&mut twindex_durable::Batch) -> twindex_durable::Result<()>,
    ) -> Result<()> {
        check_memory()?;
        self.with(py, body)
    }

    fn end(&self, py: Python<'_>) -> Option<Inherited<twindex_durable::Batch>> {
        self.writes.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The verbs that take a pair.
macro_rules! puts {
    ($($(#[$doc:meta])* $verb:ident;)*) => {
        #[pymethods]
        impl Batch {
            $($(#[$doc])*
            #[pyo3(signature = (table, key, value, /))]
            fn $verb(&self, table: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
                let (py, table) = (table.py(), Table::of(table)?);
                let Codecs { keys, values } = table.seen_as();
                let (key, value) = (keys.encode(key)?, values.encode(value)?);
                self.add(py, |batch| batch.$verb(table.engine(), key, value))
            })*
        }
    };
}

puts! {
    /// Writes the pair if the key is absent.
    insert;
    /// Replaces the value if the key is present.
    replace;
    /// Writes the pair, whether the key is present or not.
    upsert;
}

#[pymethods]
impl Batch {
    /// Removes the pair.
    #[pyo3(signature = (table, key, /))]
    fn delete(&self, table: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> Result<()> {
        let (py, table) = (table.py(), Table::of(table)?);
        let key = table.seen_as().keys.encode(key)?;
        self.add(py, |batch| batch.delete(table.engine(), key))
    }

    /// Adds `by` to the value, a decimal number. An absent key counts as 0.
    #[pyo3(signature = (table, key, /, by=1))]
    fn increment(
        &self,
        table: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        #[pyo3(from_py_with = arguments::amount)] by: i64,
    ) -> Result<()> {
        let (py, table) = (table.py(), Table::of(table)?);
        table.seen_as().values.check_decimal()?;
        let key = table.seen_as().keys.encode(key)?;
        self.add(py, |batch| batch.increment(table.engine(), key, by))
    }

    /// Makes `commit` raise `UnexpectedError`, and write nothing, unless the key has this value then, or is absent for None. Writes
    /// of the batch itself do not count.
    ///
    /// >>> store = Store()
    /// >>> accounts = store.table("accounts", values="int")
    /// >>> with store.batch() as batch:
    /// ...     batch.expect(accounts, "ada", None)
    /// ...     batch.insert(accounts, "ada", 90)
    #[pyo3(signature = (table, key, value, /))]
    fn expect(
        &self,
        table: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let (py, table) = (table.py(), Table::of(table)?);
        let Codecs { keys, values } = table.seen_as();
        let (key, value) = (keys.encode(key)?, values.encode_present(value)?);
        self.add(py, |batch| batch.expect(table.engine(), key, value.as_ref().map(AsRef::as_ref)))
    }

    /// Does all writes. Returns whether each took effect. The batch ends, even if this raises.
    fn commit(&self, py: Python<'_>) -> Result<Flags> {
        self.store.check_open()?;
        let writes = self.end(py).ok_or_else(error::ended)?;
        check_memory()?;
        Ok(Flags(py.detach(|| writes.into_inner().commit())?))
    }

    /// The number of writes in it.
    fn __len__(&self, py: Python<'_>) -> Result<usize> {
        self.with(py, |batch| Ok(batch.len()))
    }

    fn __enter__(slf: PyRef<'_, Self>) -> Result<PyRef<'_, Self>> {
        slf.with(slf.py(), |_| Ok(()))?;
        Ok(slf)
    }

    #[pyo3(signature = (kind, error, traceback, /))]
    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let _ = (error, traceback);
        if kind.is_none() {
            return self.commit(py).map(drop);
        }
        drop(self.end(py));
        Ok(())
    }

    fn __repr__(&self, py: Python<'_>) -> String {
        match self.with(py, |batch| Ok(batch.len())) {
            Ok(writes) => format!("<twindex.Batch: {writes} writes>"),
            Err(_) => "<twindex.Batch: ended>".into(),
        }
    }
}

not_copied!(Batch, "a Batch cannot be pickled or copied");
