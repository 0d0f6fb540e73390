//! The class `Table`.

mod columns;
pub(crate) mod expiring;
pub(crate) mod reads;
pub(crate) mod verbs;

use pyo3::{PyClass, PyClassInitializer};
use twindex_durable::AnyTable;

use crate::popitem::Popping;
use crate::prelude::*;
use crate::table::expiring::ExpiringTable;

/// A named set of pairs under one index: a mapping with more verbs. `Store.table` opens one.
///
/// >>> store = Store()
/// >>> users = store.table("users", values="json")
/// >>> users["ada"] = {"born": 1815}
/// >>> users["ada"], "bob" in users, len(users)
/// ({'born': 1815}, False, 1)
/// >>> users.update({"ada": 1, "bob": 2})      # as dict.update
/// >>> users.replace("carol", 3)                # the verb: only if the key is present
/// False
/// >>> del users["bob"]
/// >>> dict(users)
/// {'ada': 1}
///
/// You may write while you iterate: a pair that is present throughout comes exactly once, one that is written
/// meanwhile may come or not.
#[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
pub(crate) struct Table {
    store: Arc<Shared>,
    /// The table's `Store`.
    owner: Py<PyAny>,
    engine: Inherited<twindex_durable::Table>,
    codecs: Codecs,
    popping: Attached<Popping>,
}

/// A table as a caller names it.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) engine: Option<AnyTable>,
    keys: Option<KeyCodec>,
    values: Option<ValueCodec>,
}

impl Named {
    /// The codecs to see it by, where it remembers these.
    pub(crate) fn codecs(self, py: Python<'_>, (keys, values): (&str, &str)) -> Result<Codecs> {
        let check = |of: &'static str, has: &str, needs: Option<&str>| match needs {
            Some(needs) if needs != has && needs != twindex::BYTES => Err(twindex::Error::WrongCodec {
                table: self.name.clone(),
                of,
                has: has.into(),
                needs: needs.into(),
            }),
            _ => Ok(()),
        };
        check("keys", keys, self.keys.as_ref().map(KeyCodec::name))?;
        check("values", values, self.values.as_ref().map(ValueCodec::name))?;
        Codecs::of_table(py, &self.name, (keys, values), self.keys, self.values)
    }
}

/// To copy so many bytes takes several times as long as to leave the interpreter and come back.
const WORTH_LEAVING: usize = 64 << 10;

impl Table {
    /// The table that this object is.
    pub(crate) fn of<'a>(object: &'a Bound<'_, PyAny>) -> Result<&'a Self> {
        object.cast::<Self>().map(Bound::get).map_err(|_| match object.cast::<ExpiringTable>() {
            Ok(_) => expiring::not_supported(),
            Err(_) => error::wrong_type("table", "twindex.Table", object),
        })
    }

    /// The table of this store that an argument names, or is, and the codecs to see it by.
    pub(crate) fn named(
        store: &Arc<Shared>,
        object: &Bound<'_, PyAny>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> Result<Named> {
        let py = object.py();
        let (mut keys, mut values) =
            (keys.map(KeyCodec::of).transpose()?, values.map(|codec| ValueCodec::of(codec)).transpose()?);
        let (name, engine) = if let Ok(table) = object.cast::<Self>() {
            let name = table.get().seen(py, store, &mut keys, &mut values)?;
            (name, Some(AnyTable::Plain((*table.get().engine).clone())))
        } else if let Ok(table) = object.cast::<ExpiringTable>() {
            let name = table.get().seen(py, store, &mut keys, &mut values)?;
            (name, Some(AnyTable::Expiring((*table.get().engine).clone())))
        } else if object.cast::<PyString>().is_ok() {
            (object.extract::<Text>()?.0, None)
        } else {
            return Err(error::wrong_type("table", "str or twindex.Table", object));
        };
        Ok(Named { name, engine, keys, values })
    }

    pub(crate) fn engine(&self) -> &twindex_durable::Table {
        &self.engine
    }
}

/// Gives the class of a table its body. It is written by `$engine` and read by `$reads`.
macro_rules! table {
    ($class:ident, $engine:ty, $reads:ty, $expires:literal) => {
        impl $class {
            pub(crate) fn new(
                store: Arc<Shared>,
                owner: Py<PyAny>,
                engine: $engine,
                codecs: Codecs,
            ) -> Self {
                Self { store, owner, engine: Inherited::new(engine), codecs, popping: Attached::default() }
            }

            /// Its name, where it is of this store. Codecs that are not named are its own.
            pub(super) fn seen(
                &self,
                py: Python<'_>,
                store: &Arc<Shared>,
                keys: &mut Option<KeyCodec>,
                values: &mut Option<ValueCodec>,
            ) -> Result<String> {
                if !Arc::ptr_eq(&self.store, store) {
                    return Err(twindex_durable::Error::ForeignTable { table: self.name().into() }.into());
                }
                keys.get_or_insert_with(|| self.codecs.keys.clone_ref(py));
                values.get_or_insert_with(|| self.codecs.values.clone_ref(py));
                Ok(self.name().into())
            }

            pub(crate) fn seen_as(&self) -> &Codecs {
                &self.codecs
            }

            #[inline]
            pub(crate) fn open(&self) -> Result<&$engine> {
                self.store.check_open()?;
                Ok(&self.engine)
            }

            /// Makes a change of so many bytes: outside the interpreter where that takes longer than leaving it, or may wait for
            /// the disk.
            #[inline]
            fn change<T: Send>(
                &self,
                py: Python<'_>,
                bytes: usize,
                write: impl Send + FnOnce(&$engine) -> twindex_durable::Result<T>,
            ) -> Result<T> {
                let table = self.open()?;
                let may_wait = table.may_wait();
                if may_wait {
                    check_not_telling()?;
                }
                if may_wait || bytes > WORTH_LEAVING || self.store.waits_for_disk() {
                    return Ok(py.detach(|| write(table))?);
                }
                Ok(write(table)?)
            }

            /// Fails where every write does: of a table that was dropped, or that may not be written to.
            fn refuse(&self, py: Python<'_>) -> Result<()> {
                self.swap(py, b"", None, None).map(drop)
            }

            fn about(&self) -> (&str, twindex::IndexKind, (&str, &str)) {
                (self.engine.name(), self.engine.index(), self.engine.codecs())
            }

            fn state(&self) -> String {
                let ended = |_| "closed".into();
                self.open().map_or_else(ended, |table| format!("{} pairs", table.len()))
            }

            /// The table for reads.
            #[inline]
            fn reader(&self) -> Result<&$reads> {
                Ok(self.open()?.in_memory())
            }

            /// An object that reads it later.
            fn made<'py, T: PyClass>(
                &self,
                py: Python<'py>,
                object: impl Into<PyClassInitializer<T>>,
            ) -> Result<Bound<'py, T>> {
                Ok(Bound::new(py, object)?)
            }
        }

        crate::table::reads::table_reads!($class);
        crate::table::reads::described!($class);
        crate::table::verbs::deletes!($class);
        crate::table::verbs::pops!($class, $expires);

        #[pymethods]
        impl $class {
            fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
                visit.call(&self.owner)?;
                self.codecs.visit(&visit)
            }

            /// The table's bytes in memory.
            #[getter]
            fn memory(&self) -> Result<usize> {
                Ok(self.open()?.memory())
            }

            /// Removes all pairs. Pairs that other threads write meanwhile may stay.
            fn clear(&self, py: Python<'_>) -> Result<()> {
                let table = self.open()?;
                Ok(py.detach(|| table.clear())?)
            }

            fn __reduce__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
                let (py, table) = (slf.py(), slf.get());
                if table.store.path().is_none() {
                    return Err(error::misuse(
                        "a Table in memory cannot be pickled or copied; Store.load(store.dump()) is a copy of its store",
                    ));
                }
                let reopen = py.import("twindex._files")?.getattr("reopen_table")?;
                let (keys, values) = (table.codecs.keys.object(py)?, table.codecs.values.object(py)?);
                let arguments = (&table.owner, table.name(), table.index(), keys, values);
                Ok((reopen, arguments).into_pyobject(py)?.into_any())
            }
        }
    };
}

pub(crate) use table;

table!(Table, twindex_durable::Table, twindex::Table, false);
