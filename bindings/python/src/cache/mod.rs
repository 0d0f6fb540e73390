//! The class `Cache`.

pub(crate) mod computing;
mod files;
mod listener;
mod options;
mod pairs;
pub(crate) mod verbs;

use twindex_cache::{CacheOptions, Iter};

use self::listener::{Listener, listen, raise_failure};
use self::options::Arguments;
use self::pairs::Pairs;
use crate::prelude::*;

/// A mapping with a limit, for any objects that can be pickled. It evicts pairs instead of refusing writes.
///
/// >>> pages = Cache(max_entries=1000, ttl=60)
/// >>> pages["/"] = {"title": "Hello"}
/// >>> pages["/"]["title"], pages.get("/news"), len(pages)
/// ('Hello', None, 1)
/// >>> pages.upsert("/brief", "gone soon", ttl=0.5)
/// True
/// >>> pages.get_or_compute("/news", lambda: "read from the disk")
/// 'read from the disk'
///
/// `capacity` is the most bytes of memory, the cache's own structures included; `max_entries`, also called `maxsize`, the most
/// pairs. A cache has one of them or both.
///
/// Times are in seconds or a `timedelta`; `math.inf`, the default, is for ever. `ttl` is how long a pair lives after its last
/// write; the `ttl` of a write comes first. `time_to_idle` is how long it lives after its last use. For `stale_for` after its
/// expiry `get_or_compute` still returns a value, while one caller computes the new one.
///
/// `on_evict` is called with the key, the value and "size" or "expired" for each pair that was evicted or has expired. It runs in
/// the thread of the call that removed the pair, which may be a look-up, and after it. It may use the cache. Its exception goes to
/// that caller; the call has taken effect.
///
/// `keys` and `values` name codecs, as for tables. "object", the default, takes any object. Keys of str, bytes, int, float, None
/// and tuples of these are compared by value, others by their pickles; equal keys are one key, as in a `dict`. A read returns a
/// copy, so changing it changes nothing in the cache.
///
/// A subclass with a method `__missing__(key)` returns the value of `cache[key]` for an absent key, as with `dict`.
///
/// A child of `fork` has an empty cache.
#[pyclass(frozen, subclass, mapping, weakref, generic, module = "twindex")]
pub(crate) struct Cache {
    pairs: Pairs,
    codecs: Codecs,
    listener: Option<Py<Listener>>,
    /// Where `popitem` goes on.
    popping: Attached<Option<Inherited<Iter>>>,
}

/// To copy so many bytes takes several times as long as to leave the interpreter and come back.
const WORTH_LEAVING: usize = 64 << 10;

impl Cache {
    fn of(
        cache: twindex_cache::Cache,
        options: CacheOptions,
        codecs: Codecs,
        listener: Option<Py<Listener>>,
    ) -> Self {
        Self { pairs: Pairs::new(cache, options), codecs, listener, popping: Attached::default() }
    }

    #[inline]
    fn open(&self) -> Result<&twindex_cache::Cache> {
        Ok(self.pairs.here()?)
    }

    /// What a call returns, unless `on_evict` has raised something meanwhile.
    #[inline]
    fn told<T>(&self, returned: T) -> Result<T> {
        if self.listener.is_some() {
            raise_failure()?;
        }
        Ok(returned)
    }

    /// Makes a change of so many bytes: outside the interpreter where that takes longer than leaving it.
    #[inline]
    fn change<T: Send>(
        &self,
        py: Python<'_>,
        bytes: usize,
        change: impl Send + FnOnce(&twindex_cache::Cache) -> twindex_cache::Result<T>,
    ) -> Result<T> {
        let cache = self.open()?;
        let done = if bytes > WORTH_LEAVING { py.detach(|| change(cache)) } else { change(cache) };
        Ok(self.told(done)??)
    }

    #[inline]
    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let cache = self.open()?;
        let key = self.codecs.keys.encode_sought(key)?;
        let made = cache.get_with(&key, |value| self.codecs.values.make(py, value));
        match self.told(made)? {
            Some(made) => self.codecs.values.finish(made?).map(Some),
            None => Ok(None),
        }
    }

    /// The value of an encoded key.
    fn stored(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.open()?.peek(key))
    }
}

#[pymethods]
impl Cache {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        visit.call(&self.listener)?;
        self.codecs.visit(&visit)
    }

    #[new]
    #[pyo3(
        signature = (
            *positional, capacity=None, max_entries=None, maxsize=None, ttl=None, time_to_idle=None, stale_for=None,
            keys=None, values=None, on_evict=None
        ),
        text_signature = "(*, capacity=None, max_entries=None, maxsize=None, ttl=None, time_to_idle=None, \
                          stale_for=None, keys=None, values=None, on_evict=None)"
    )]
    fn new(
        py: Python<'_>,
        positional: &Bound<'_, PyTuple>,
        capacity: Option<&Bound<'_, PyAny>>,
        max_entries: Option<&Bound<'_, PyAny>>,
        maxsize: Option<&Bound<'_, PyAny>>,
        ttl: Option<&Bound<'_, PyAny>>,
        time_to_idle: Option<&Bound<'_, PyAny>>,
        stale_for: Option<&Bound<'_, PyAny>>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
        on_evict: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        if let Some(loaded) = Self::take_loaded() {
            return Ok(loaded);
        }
        if let Ok(number) = positional.get_item(0) {
            return Err(error::misuse(format!(
                "name what {0} counts: Cache(capacity={0}) is in bytes, Cache(max_entries={0}) in pairs",
                error::shown(&number)
            )));
        }
        check_memory()?;
        let arguments =
            Arguments { capacity, max_entries, maxsize, ttl, time_to_idle, stale_for, keys, values };
        let options = arguments.change(CacheOptions::default())?;
        let codecs = arguments.codecs(py)?;
        let (options, listener) = listen(py, options.label(files::label(&codecs)), on_evict, &codecs)?;
        Ok(Self::of(twindex_cache::Cache::new(options.clone())?, options, codecs, listener))
    }

    /// The names of the codecs of its keys and values.
    ///
    /// >>> Cache(max_entries=10).codecs
    /// ('object', 'object')
    #[getter]
    fn codecs(&self) -> (&str, &str) {
        (self.codecs.keys.name(), self.codecs.values.name())
    }

    /// The most bytes of memory, or None.
    #[getter]
    fn capacity(&self) -> Result<Option<usize>> {
        Ok(self.open()?.capacity())
    }

    /// The most pairs, or None.
    #[getter]
    fn max_entries(&self) -> Result<Option<usize>> {
        Ok(self.open()?.max_entries())
    }

    /// Another name of `max_entries`.
    #[getter]
    fn maxsize(&self) -> Result<Option<usize>> {
        self.max_entries()
    }

    /// The part of `maxsize` that is in use: the number of pairs. Without `maxsize` the part of `capacity`: `memory`.
    #[getter]
    fn currsize(&self) -> Result<usize> {
        let cache = self.open()?;
        Ok(if cache.max_entries().is_some() { cache.len() } else { cache.memory() })
    }

    /// How many seconds a pair lives after a write without `ttl`, or None for ever.
    #[getter]
    fn default_ttl(&self) -> Result<Option<f64>> {
        Ok(self.open()?.default_ttl().as_ref().map(Duration::as_secs_f64))
    }

    /// How many seconds a pair lives after its last use, or None for ever.
    #[getter]
    fn time_to_idle(&self) -> Result<Option<f64>> {
        Ok(self.open()?.time_to_idle().as_ref().map(Duration::as_secs_f64))
    }

    /// For how many seconds `get_or_compute` returns an expired value while one caller computes the new one, or None.
    #[getter]
    fn stale_for(&self) -> Result<Option<f64>> {
        Ok(self.open()?.stale_for().as_ref().map(Duration::as_secs_f64))
    }

    /// The bytes of memory, the cache's own structures included.
    #[getter]
    fn memory(&self) -> Result<usize> {
        Ok(self.open()?.memory())
    }

    /// Counts since the cache was made, by name. `clear` does not reset them.
    ///
    /// >>> cache = Cache(max_entries=10)
    /// >>> cache["a"] = 1
    /// >>> cache.get("a"), cache.get("b"), cache.stats()
    /// (1, None, {'hits': 1, 'misses': 1, 'writes': 1, 'evictions': 0, 'expirations': 0, 'rejected': 0})
    ///
    /// `peek`, `ttl` and `in` are not counted. `rejected` counts writes of pairs that were too large.
    fn stats<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyDict>> {
        let counts = self.told(self.open()?.stats())?;
        let dict = objects::dict(py)?;
        macro_rules! set {
            ($($name:ident)*) => {
                $(dict.set_item(stringify!($name), counts.$name)?;)*
            };
        }
        set!(hits misses writes evictions expirations rejected);
        Ok(dict)
    }

    fn __repr__(&self) -> Result<String> {
        let (keys, values) = self.codecs();
        Ok(format!("<twindex.Cache: {keys} keys, {values} values, {} pairs>", self.open()?.len()))
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        let instead =
            "dump() makes bytes of it, which Cache.load() reads, and dict(cache) is a copy of its pairs";
        Err(error::misuse(format!("a Cache cannot be pickled or copied: {instead}")))
    }
}
