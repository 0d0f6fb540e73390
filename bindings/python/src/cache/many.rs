//! The verbs for many keys, which work outside the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Cache;
use super::listener::raise_failure;
use crate::allocation::{gather, with_room};
use crate::codec::Encoded;
use crate::error::{self, Result};
use crate::groups::{Groups, Keys};
use crate::interrupts::AT_ONCE;
use crate::memory::check_memory;
use crate::objects::{self, Flags, Sums};
use crate::verbs::{encode_amounts, encode_pairs};

/// Signals are looked for whenever so many bytes were written, or so many items.
const BYTES_AT_ONCE: usize = 16 << 20;

impl Cache {
    /// Does `work` with each item outside the interpreter, some at a time.
    fn in_turns<T: Sync, R: Send>(
        &self,
        py: Python<'_>,
        items: &[T],
        bytes: impl Sync + Fn(&T) -> usize,
        work: impl Sync + Fn(&twindex::Cache, &T) -> twindex::Result<R>,
    ) -> Result<Vec<R>> {
        let mut results = with_room(items.len())?;
        while results.len() < items.len() {
            check_memory()?;
            let cache = self.open()?;
            let rest = &items[results.len()..];
            let done = py.detach(|| {
                let mut written = 0;
                for item in rest.iter().take(AT_ONCE) {
                    results.push(work(cache, item)?);
                    written += bytes(item);
                    if written > BYTES_AT_ONCE {
                        break;
                    }
                }
                Ok::<_, twindex::Error>(())
            });
            raise_failure()?;
            done.map_err(error::of_cache)?;
            py.check_signals()?;
        }
        Ok(results)
    }

    /// Converts pairs, then writes them by `write` outside the interpreter.
    pub(super) fn write_many(
        &self,
        py: Python<'_>,
        pairs: &Groups<'_, 2>,
        write: impl Sync + Fn(&twindex::Cache, &Encoded<'_>, &Encoded<'_>) -> twindex::Result<bool>,
    ) -> Result<Flags> {
        let encoded = encode_pairs(py, &self.codecs, pairs)?;
        let bytes = |(key, value): &(Encoded<'_>, Encoded<'_>)| key.len() + value.len();
        self.in_turns(py, &encoded, bytes, |cache, (key, value)| write(cache, key, value)).map(Flags)
    }
}

#[pymethods]
impl Cache {
    /// `delete` for each key: whether each took effect.
    #[pyo3(signature = (keys, /))]
    fn delete_many(&self, keys: &Bound<'_, PyAny>) -> Result<Flags> {
        let py = keys.py();
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let keys = keys.encode_all(|key| self.codecs.keys.encode(key))?;
        self.in_turns(py, &keys, Encoded::len, |cache, key| cache.delete(key)).map(Flags)
    }

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

    /// Whether each key is there.
    #[pyo3(signature = (keys, /))]
    fn contains_many(&self, keys: &Bound<'_, PyAny>) -> Result<Flags> {
        let py = keys.py();
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let keys = keys.encode_all(|key| self.codecs.keys.encode_sought(key))?;
        self.in_turns(py, &keys, Encoded::len, |cache, key| Ok(cache.contains(key))).map(Flags)
    }

    /// `increment` for each key and amount of a mapping or an iterable: the sums. Stops at the first that fails.
    #[pyo3(signature = (amounts, /))]
    fn increment_many(&self, amounts: &Bound<'_, PyAny>) -> Result<Sums> {
        let (py, groups) = (amounts.py(), Groups::pairs("amounts", amounts)?);
        let amounts = encode_amounts(py, &self.codecs, &groups)?;
        let bytes = |(key, _): &(Encoded<'_>, i64)| key.len();
        self.in_turns(py, &amounts, bytes, |cache, (key, by)| cache.increment(key, *by)).map(Sums)
    }
}
