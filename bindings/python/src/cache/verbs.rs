//! The verbs for one key.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict};

use super::{Cache, Ttl};
use crate::arguments::{Amount, Given};
use crate::codec::{Codecs, Encoded};
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::groups::{Groups, Keys};
use crate::objects::{self, Flags, Sums};
use crate::verbs::{encode_amounts, encode_pairs, shared_verbs, updates};

/// A computation. What it gives is kept unless the key is written or deleted meanwhile.
#[pyclass(frozen, name = "_Computation", module = "twindex._twindex")]
struct Computation(Inherited<twindex::Computation>);

#[pymethods]
impl Computation {
    /// Whether the key was neither written nor deleted since.
    fn stands(&self) -> bool {
        self.0.is_foreign() || self.0.stands()
    }

    /// What was not kept by now will not be.
    fn end(&self) {
        if !self.0.is_foreign() {
            self.0.end();
        }
    }
}

shared_verbs!(
    Cache,
    twindex::Cache,
    twindex::Error,
    upsert: |cache, pairs| pairs.iter().map(|(key, value)| cache.upsert(key, value)).collect(),
    delete: |cache, keys| keys.iter().map(|key| cache.delete(key)).collect(),
    contains: |cache, keys| Ok(keys.iter().map(|key| cache.contains(key)).collect()),
    increment: |cache, amounts| amounts.iter().map(|(key, by)| cache.increment(key, *by)).collect()
);

/// The verbs that give keys values, one by one and together.
macro_rules! puts {
    ($($(#[$doc:meta])* $verb:ident, $(#[$doc_of_many:meta])* $many:ident, $write_for:ident;)*) => {
        #[pymethods]
        impl Cache {
            $($(#[$doc])*
            #[pyo3(signature = (key, value, /, *, ttl=None))]
            fn $verb(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<bool> {
                let (py, Codecs { keys, values }) = (key.py(), &self.codecs);
                let (key, value) = (keys.encode(key)?, values.encode(value)?);
                self.write(py, value.len(), |cache| match ttl {
                    Some(Ttl(ttl)) => cache.$write_for(&key, &value, ttl),
                    None => cache.$verb(&key, &value),
                })
            }

            $(#[$doc_of_many])*
            #[pyo3(signature = (pairs, /, *, ttl=None))]
            fn $many(&self, pairs: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<Flags> {
                let groups = Groups::pairs("pairs", pairs)?;
                self.write_many(pairs.py(), &groups, |cache, pairs| {
                    let write = |(key, value): &(Encoded<'_>, Encoded<'_>)| match ttl {
                        Some(Ttl(ttl)) => cache.$write_for(key, value, ttl),
                        None => cache.$verb(key, value),
                    };
                    pairs.iter().map(write).collect()
                })
            })*
        }
    };
}

puts! {
    /// Adds the pair where the key is absent; whether it was. `ttl` is how many seconds it is shown.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache.insert("ada", 1815, ttl=60), cache.insert("ada", 1852)
    /// (True, False)
    insert,
    /// `insert` for each pair of a mapping or an iterable: whether each took effect.
    insert_many, insert_for;

    /// Gives the key another value where it is present; whether it was. Its time to live begins anew.
    replace,
    /// `replace` for each pair of a mapping or an iterable: whether each took effect.
    replace_many, replace_for;

    /// Gives the key this value, present or not. Always takes effect, so always True.
    ///
    /// >>> cache = Cache(maxsize=100, ttl=3600)
    /// >>> cache.upsert("ada", 1815, ttl=60), cache.ttl("ada") <= 60
    /// (True, True)
    upsert,
    /// `upsert` for each pair of a mapping or an iterable: whether each took effect.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache.upsert_many({"ada": 1815, "bob": 1900}, ttl=60)
    /// [True, True]
    upsert_many, upsert_for;
}

#[pymethods]
impl Cache {
    /// Removes all pairs. `on_evict` is not told. In `stats`, hits and misses are counted on, the others begin anew.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        let cache = self.open()?;
        Ok(py.detach(|| cache.clear())?)
    }

    /// The key's value, or `default` where the key is absent, without being counted as a use of the pair.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache.peek("ada"), cache.stats()["misses"]
    /// (None, 0)
    #[pyo3(signature = (key, default=None, /))]
    fn peek<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        let encoded = self.codecs.keys.encode_sought(key)?;
        match self.open()?.peek(&encoded) {
            Some(value) => self.codecs.values.decode(key.py(), &value).map(Some),
            None => Ok(default),
        }
    }

    /// Whether the key is there, without being counted as a use of the pair.
    #[pyo3(signature = (key, /))]
    pub(super) fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.contains(self.codecs.keys.encode_sought(key)?))
    }

    /// How many seconds the pair is still shown: `math.inf` where it does not expire, None where the key is absent.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.ttl("ada"), cache.ttl("bob")
    /// (inf, None)
    #[pyo3(signature = (key, /))]
    fn ttl(&self, key: &Bound<'_, PyAny>) -> Result<Option<f64>> {
        let left = self.open()?.ttl(self.codecs.keys.encode_sought(key)?);
        Ok(left.map(|left| left.map_or(f64::INFINITY, |left| left.as_secs_f64())))
    }

    /// Lets the pair be shown for `ttl` seconds from now on, or by default for as long as the cache's pairs are; whether
    /// the key was there.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.touch("ada", 60), cache.ttl("ada") <= 60, cache.touch("bob", 60)
    /// (True, True, False)
    #[pyo3(signature = (key, ttl=None, /))]
    fn touch(&self, key: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<bool> {
        let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
        // Without one of its own the engine would take that of the cache, even for ever.
        let ttl = ttl.map(|Ttl(ttl)| ttl).or(self.engine.default_ttl()).unwrap_or(Duration::MAX);
        self.write(py, 0, |cache| cache.touch(&key, Some(ttl)))
    }

    /// The key's value, or else the one that `compute` returns, which is written to the cache.
    ///
    /// Of all threads that ask for the same key, one calls `compute`, and the others wait for it. What `compute` raises
    /// reaches all of them, and nothing is written: the next call computes anew. Only what is no `Exception`, as
    /// `KeyboardInterrupt`, is for the one thread, and another one computes. A value too large for the cache is returned
    /// all the same, and what was written meanwhile stays in the cache. Where the key is deleted meanwhile, what is computed is
    /// returned and not kept. What it returns is always as it is stored: a copy of its
    /// own for each caller. Functions that need each other's keys get a `RuntimeError`.
    ///
    /// For a coroutine function use `twindex.aio.get_or_compute`.
    ///
    /// >>> cache = Cache(maxsize=100)
    /// >>> cache.get_or_compute("ada", lambda: 1815), cache.get_or_compute("ada", lambda: 1852)
    /// (1815, 1815)
    #[pyo3(signature = (key, compute, /, *, ttl=None))]
    fn get_or_compute<'py>(
        slf: &Bound<'py, Self>,
        key: &Bound<'py, PyAny>,
        compute: &Bound<'py, PyAny>,
        ttl: Option<Bound<'py, PyAny>>,
    ) -> Result<Bound<'py, PyAny>> {
        static COMPUTE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (py, cache) = (slf.py(), slf.get());
        if let Some(value) = cache.find(key)? {
            return Ok(value);
        }
        if !compute.is_callable() {
            return Err(error::wrong_type("compute", "callable", compute));
        }
        ttl.as_ref().map(PyAnyMethods::extract::<Ttl>).transpose()?;
        let name = cache.name_of(key)?;
        let run = COMPUTE.import(py, "twindex._flights", "get_or_compute")?;
        Ok(run.call1((slf, name, compute, ttl))?)
    }

    /// What is being computed, by encoded key.
    #[getter]
    fn _flights(&self, py: Python<'_>) -> Py<PyDict> {
        self.flights.clone_ref(py)
    }

    /// The key as the cache has it.
    #[pyo3(name = "_name")]
    fn name_of<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let encoded = self.codecs.keys.encode(key)?;
        twindex::check_key(encoded.as_ref())?;
        Ok(objects::bytes(key.py(), encoded.as_ref())?)
    }

    /// The value of an encoded key as the cache has it.
    fn _peek_stored<'py>(&self, name: &Bound<'py, PyBytes>) -> Result<Option<Bound<'py, PyAny>>> {
        let found = self.open()?.peek(name.as_bytes());
        Ok(found.map(|value| objects::bytes(name.py(), &value)).transpose()?)
    }

    /// Begins to compute the value of an encoded key.
    fn _begin(&self, name: &Bound<'_, PyBytes>) -> Result<Computation> {
        Ok(Computation(Inherited::new(self.open()?.computation(name.as_bytes(), false))))
    }

    /// Writes the value of an encoded key, where it fits and the key was neither written nor deleted meanwhile, and returns it
    /// as the cache has it.
    fn _store<'py>(
        &self,
        name: &Bound<'py, PyBytes>,
        value: &Bound<'py, PyAny>,
        ttl: Option<Ttl>,
        computation: &Bound<'py, Computation>,
    ) -> Result<Bound<'py, PyAny>> {
        let (py, value) = (name.py(), self.codecs.values.encode(value)?);
        let (key, ttl, computation) = (name.as_bytes(), ttl.map(|Ttl(ttl)| ttl), &*computation.get().0);
        let written = self.write(py, value.len(), |_| match computation.insert(key, value.as_ref(), ttl) {
            Err(twindex::Error::MemoryLimit { .. } | twindex::Error::TableDropped { .. }) => Ok(false),
            written => written,
        });
        // The caller waited for the value. It gets it although the store was closed meanwhile.
        if !self.store.is_closed() {
            written?;
        }
        Ok(objects::bytes(py, value.as_ref())?)
    }

    /// The object that a stored value stands for.
    fn _show<'py>(&self, stored: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
        self.codecs.values.decode(stored.py(), stored.as_bytes())
    }
}
