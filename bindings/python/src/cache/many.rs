//! The verbs for many keys, which work outside the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Cache;
use super::listener::raise_failure;
use crate::allocation::gather;
use crate::error::{self, Result};
use crate::groups::Keys;
use crate::interrupts::AT_ONCE;
use crate::objects;
use crate::verbs::in_turns;

/// Signals are looked for whenever so many bytes were written, or so many items.
const BYTES_AT_ONCE: usize = 16 << 20;

impl Cache {
    /// Does `work` with all items outside the interpreter, some at a time.
    pub(super) fn in_turns<T: Sync, R: Send>(
        &self,
        py: Python<'_>,
        items: &[T],
        bytes: impl Fn(&T) -> usize,
        work: impl Sync + Fn(&twindex::Cache, &[T]) -> twindex::Result<Vec<R>>,
    ) -> Result<Vec<R>> {
        in_turns(py, items, (AT_ONCE, BYTES_AT_ONCE), bytes, |part| {
            let cache = self.open()?;
            let done = py.detach(|| work(cache, part));
            raise_failure()?;
            done.map_err(error::of_cache)
        })
    }
}

#[pymethods]
impl Cache {
    /// The value of each key, None for those that are absent.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.select_many(["ada", "bob"])
    /// [1815, None]
    #[pyo3(signature = (keys, /))]
    fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
        let py = keys.py();
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let keys = keys.encode_all(|key| self.codecs.keys.encode_sought(key))?;
        let values = &self.codecs.values;
        let cache = self.open()?;
        let found = gather(
            py,
            keys.iter().map(|key| match cache.select_with(key, |value| values.make(py, value)) {
                Some(made) => values.finish(made?),
                None => Ok(py.None().into_bound(py)),
            }),
        )?;
        self.store.check_open()?;
        Ok(objects::list(py, found)?)
    }
}
