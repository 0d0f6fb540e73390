//! The class `Table`.

mod many;
mod mapping;
mod order;
mod verbs;

use std::sync::Arc;

use pyo3::prelude::*;

use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::store::Shared;

/// A named set of pairs under one index: a mapping, with the verbs of Twindex on top.
///
/// `Store.table` opens one.
///
/// >>> store = Store()
/// >>> users = store.table("users", keys="str", values="json")
/// >>> users["ada"] = {"born": 1815}
/// >>> users["ada"], "bob" in users, len(users)
/// ({'born': 1815}, False, 1)
/// >>> users.update({"ada": 1, "bob": 2})      # as dict.update
/// >>> users.update("carol", 3)                # the verb: only where the key is present
/// False
/// >>> del users["bob"]
/// >>> dict(users)
/// {'ada': 1}
///
/// Reading and writing while other code iterates is fine: a pair that is there all the while comes exactly
/// once, one that is written meanwhile may come or not.
#[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
pub(crate) struct Table {
    store: Arc<Shared>,
    engine: Inherited<twindex::Table>,
    keys: KeyCodec,
    values: ValueCodec,
}

type KeyAndValue<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

impl Table {
    pub(crate) fn new(
        store: Arc<Shared>,
        engine: twindex::Table,
        keys: KeyCodec,
        values: ValueCodec,
    ) -> Self {
        Self { store, engine: Inherited::new(engine), keys, values }
    }

    #[inline]
    fn open(&self) -> Result<&twindex::Table> {
        self.store.check_open()?;
        Ok(&self.engine)
    }

    fn codecs(&self) -> (KeyCodec, ValueCodec) {
        (self.keys, self.values)
    }

    #[inline]
    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let table = self.open()?;
        let key = self.keys.encode(key)?;
        match table.select_with(&key, |value| self.values.make(py, value)) {
            Some(made) => self.values.finish(made?).map(Some),
            None => Ok(None),
        }
    }
}

#[pymethods]
impl Table {
    /// The name it has in its store.
    #[getter]
    fn name(&self) -> &str {
        self.engine.name()
    }

    /// The index it was created with, "hash" or "sorted".
    #[getter]
    fn index(&self) -> &'static str {
        self.engine.index().name()
    }

    /// The bytes that this table holds.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.open()?.memory())
    }

    fn __repr__(&self) -> String {
        let (name, index) = (self.name(), self.index());
        let kind = format!("{index}, {} keys, {} values", self.keys.name(), self.values.name());
        match self.open() {
            Ok(table) => format!("<twindex.Table {name:?}: {kind}, {} pairs>", table.len()),
            Err(_) => format!("<twindex.Table {name:?}: {kind}, closed>"),
        }
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        Err(error::misuse(
            "a Table cannot be pickled or copied; Store.load(store.dump()) is a copy of its store",
        ))
    }
}
