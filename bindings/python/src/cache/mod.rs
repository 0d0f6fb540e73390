//! The class `Cache`.

mod files;
mod listener;
mod many;
mod mapping;
mod objects;
mod options;
mod verbs;

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{PyTraverseError, PyVisit};
use twindex::{CacheOptions, Change};

use self::listener::{listen, raise_failure};
use crate::attached::Attached;
use crate::codec::{Codecs, DEFAULT_CODEC, Encoded};
use crate::error::{self, Result};
use crate::fork::Inherited;
use crate::memory::check_memory;
use crate::popitem::Popping;
use crate::shared::Shared;

pub(crate) use self::objects::CacheObjects;
pub(crate) use self::options::{CacheArguments, Capacity, Ttl};

/// A mapping of bounded size: it drops pairs instead of refusing writes, and pairs may expire.
///
/// `Cache(...)` makes one in memory, for any objects that can be pickled. `Store.cache` makes one in a store.
///
/// >>> pages = Cache(maxsize=1000, ttl=60)
/// >>> pages["/"] = {"title": "Hello"}
/// >>> pages["/"]["title"], pages.get("/news"), len(pages)
/// ('Hello', None, 1)
/// >>> pages.upsert("/brief", "gone soon", ttl=0.5)
/// True
/// >>> pages.get_or_compute("/news", lambda: "read from the disk")
/// 'read from the disk'
///
/// `capacity` is how many bytes the cache takes at most, all that it needs for itself included; `maxsize` how many pairs.
/// Give one of them. `ttl` is how long after its last write a pair is shown, in seconds or as a `timedelta`; for ever unless
/// given. Every write can say otherwise.
///
/// `on_evict` is called with the key, the value and "size" or "expired" for each pair that had to go or has expired. It runs
/// after the write that took the pair out, in the same thread, and may use the cache. What it raises is raised by that
/// write, which has taken effect.
///
/// Keys and values have codecs as those of tables do. "object", the default here, takes any object: str, bytes, int, float,
/// None and tuples of them as keys by what they are, other keys by what they pickle to. Equal keys are one, as in a `dict`.
/// What you get of a cache is always a copy, so changing it changes nothing in the cache.
///
/// A subclass with a method `__missing__(key)` says what `cache[key]` is where the key is absent, as with `dict`.
#[pyclass(frozen, subclass, mapping, weakref, generic, module = "twindex")]
pub(crate) struct Cache {
    store: Arc<Shared>,
    engine: Inherited<twindex::Cache>,
    codecs: Codecs,
    /// What is being computed, by encoded key.
    flights: Py<PyDict>,
    objects: CacheObjects,
    popping: Attached<Popping>,
}

/// To copy so many bytes takes several times as long as to leave the interpreter and come back.
const WORTH_LEAVING: usize = 64 << 10;

impl Cache {
    /// The name of a cache in a store of its own.
    const OWN_NAME: &str = "cache";

    /// Opens or creates the cache of this name in a store.
    pub(crate) fn open_in(
        py: Python<'_>,
        store: Arc<Shared>,
        cache_objects: &CacheObjects,
        name: &str,
        arguments: CacheArguments<'_, '_>,
    ) -> Result<Self> {
        check_memory()?;
        let engine = store.open()?.in_memory();
        let found = engine.find_cache(name);
        let remembered = found.as_ref().map_or((DEFAULT_CODEC, DEFAULT_CODEC), twindex::Cache::codecs);
        let CacheArguments { sizes, keys, values, on_evict } = arguments;
        let codecs = Codecs::of_table(py, name, remembered, keys, values)?;
        let (options, listener) = match &found {
            // It stays as it is, but for its codecs, which are compared.
            Some(_) => (CacheOptions::pairs(1), None),
            None => listen(py, sizes.options()?, on_evict, &codecs)?,
        };
        let options = options.codecs(codecs.keys.name(), codecs.values.name());
        let engine = Inherited::new(py.detach(|| engine.cache(name, options))?);
        let (flights, objects) = (cache_objects.flights(py, name, listener)?, cache_objects.clone_ref(py));
        Ok(Self { store, engine, codecs, flights, objects, popping: Attached::default() })
    }

    #[inline]
    fn open(&self) -> Result<&twindex::Cache> {
        self.store.check_open()?;
        Ok(&self.engine)
    }

    /// Makes a change of so many bytes: outside the interpreter where that takes longer than leaving it.
    #[inline]
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        change: impl Send + FnOnce(&twindex::Cache) -> twindex::Result<T>,
    ) -> Result<T> {
        let cache = self.open()?;
        let done = if bytes > WORTH_LEAVING { py.detach(|| change(cache)) } else { change(cache) };
        raise_failure()?;
        // To close the store drops its caches.
        done.or_else(|error| self.open().and(Err(error::of_cache(error))))
    }

    #[inline]
    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let cache = self.open()?;
        let key = self.codecs.keys.encode_sought(key)?;
        match cache.select_with(&key, |value| self.codecs.values.make(py, value)) {
            Some(made) => self.codecs.values.finish(made?).map(Some),
            None => Ok(None),
        }
    }

    /// The value of an encoded key.
    fn shared(&self, key: &Encoded<'_>) -> Result<Option<twindex::Value>> {
        Ok(self.open()?.select_shared(key))
    }

    /// Writes `new`, or deletes for `None`, where the value is `expected`; whether it was.
    fn swap(
        &self,
        py: Python<'_>,
        key: impl Send + AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        let mut is_expected = false;
        let answer = &mut is_expected;
        self.write(py, new.map_or(0, <[u8]>::len), |cache| {
            cache.alter(key, |old| {
                *answer = old == expected;
                match new {
                    Some(new) if *answer => Change::Set(new.to_vec()),
                    None if *answer => Change::Delete,
                    _ => Change::Keep,
                }
            })
        })?;
        Ok(is_expected)
    }
}

#[pymethods]
impl Cache {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.flights)?;
        self.objects.visit(&visit)?;
        self.codecs.visit(&visit)
    }

    #[new]
    #[pyo3(
        signature = (*positional, capacity=None, maxsize=None, ttl=None, keys=None, values=None, on_evict=None),
        text_signature = "(*, capacity=None, maxsize=None, ttl=None, keys=None, values=None, on_evict=None)"
    )]
    fn new(
        py: Python<'_>,
        positional: &Bound<'_, PyTuple>,
        capacity: Option<Capacity>,
        maxsize: Option<Capacity>,
        ttl: Option<Ttl>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        on_evict: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        if let Some(loaded) = Self::take_loaded() {
            return Ok(loaded);
        }
        if let Ok(number) = positional.get_item(0) {
            return Err(error::misuse(format!(
                "name what {0} counts: Cache(capacity={0}) is in bytes, Cache(maxsize={0}) in pairs",
                error::shown(&number)
            )));
        }
        let arguments = CacheArguments::of((capacity, maxsize, ttl), keys, values, on_evict)?.or_objects();
        let store = Shared::new(twindex::Store::new());
        Self::open_in(py, store, &CacheObjects::new(py)?, Self::OWN_NAME, arguments)
    }

    /// The name it has in its store.
    #[getter]
    fn name(&self) -> &str {
        self.engine.name()
    }

    /// The names of its codecs, of its keys and of its values.
    ///
    /// >>> Cache(maxsize=10).codecs
    /// ('object', 'object')
    #[getter]
    fn codecs(&self) -> (&str, &str) {
        self.engine.codecs()
    }

    /// The most bytes that it takes, or None where only its pairs are counted.
    #[getter]
    fn capacity(&self) -> Option<usize> {
        self.engine.capacity_bytes()
    }

    /// The most pairs that it holds, or None where only its bytes are counted.
    #[getter]
    fn maxsize(&self) -> Option<usize> {
        self.engine.capacity_pairs()
    }

    /// How much of `maxsize` or of `capacity` is in use: the number of pairs, or `memory`.
    #[getter]
    fn currsize(&self) -> Result<usize> {
        let cache = self.open()?;
        Ok(if cache.capacity_pairs().is_some() { cache.len() } else { cache.memory() })
    }

    /// How many seconds a pair is shown where its write says nothing else, or None for ever.
    #[getter]
    fn default_ttl(&self) -> Option<f64> {
        self.engine.default_ttl().filter(|&ttl| ttl < Duration::MAX).map(|ttl| ttl.as_secs_f64())
    }

    /// The bytes that the cache takes, all that it needs for itself included.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.open()?.memory())
    }

    /// What happened to the cache so far, by name.
    ///
    /// >>> cache = Cache(maxsize=10)
    /// >>> cache["a"] = 1
    /// >>> cache.get("a"), cache.get("b"), cache.stats()
    /// (1, None, {'hits': 1, 'misses': 1, 'writes': 1, 'evictions': 0, 'expirations': 0})
    ///
    /// `peek`, `ttl` and `in` are not counted. `clear` sets writes, evictions and expirations to 0.
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let counts = self.open()?.stats();
        let dict = crate::objects::dict(py)?;
        macro_rules! set {
            ($($name:ident)*) => {
                $(dict.set_item(stringify!($name), counts.$name)?;)*
            };
        }
        set!(hits misses writes evictions expirations);
        Ok(dict)
    }

    fn __repr__(&self) -> String {
        let kind = format!("{} keys, {} values", self.codecs.keys.name(), self.codecs.values.name());
        match self.open() {
            Ok(cache) => format!("<twindex.Cache {:?}: {kind}, {} pairs>", self.name(), cache.len()),
            Err(_) => format!("<twindex.Cache {:?}: {kind}, closed>", self.name()),
        }
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        let instead =
            "dump() makes bytes of it, which Cache.load() reads, and dict(cache) is a copy of its pairs";
        Err(error::misuse(format!("a Cache cannot be pickled or copied: {instead}")))
    }
}
