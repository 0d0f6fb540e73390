//! The verbs, for one key and for many, and what makes a cache a mapping.

use pyo3::{IntoPyObjectExt, intern};

use super::Cache;
use super::options::count;
use crate::arguments::Given;
use crate::prelude::*;
use crate::ttl::{Ttl, seconds_of};
use crate::verbs::{
    Engine, encode_amounts, encode_pairs, increments, key_reads, mapping_reads, puts, shared_verbs, ttl_of,
    updates,
};

key_reads!(Cache);
mapping_reads!(Cache);
shared_verbs!(Cache, twindex_cache::Cache);
puts!(Cache, ttl);
increments!(Cache);

impl Cache {
    fn len(&self) -> Result<usize> {
        Ok(self.open()?.len())
    }

    fn has_many(&self, py: Python<'_>, keys: &[Encoded<'_>]) -> Result<Vec<bool>> {
        self.in_turns(py, keys, Encoded::len, |cache, keys| {
            Ok(keys.iter().map(|key| cache.contains(key)).collect())
        })
    }
}

#[pymethods]
impl Cache {
    /// The value of each key, None for those that are absent.
    ///
    /// >>> cache = Cache(max_entries=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.select_many(["ada", "bob"])
    /// [1815, None]
    #[pyo3(signature = (keys, /))]
    fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
        let (py, values) = (keys.py(), &self.codecs.values);
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let keys = keys.encode_all(|key| self.codecs.keys.encode_sought(key))?;
        let (mut made, mut failure) = (with_room(keys.len())?, None);
        for part in keys.chunks(AT_ONCE) {
            check_memory()?;
            self.open()?.get_many(part, |_, value| {
                // After a failure nothing more is made: Python has few errors for when there is no memory.
                let value = value.filter(|_| failure.is_none()).map(|value| values.make(py, value));
                made.push(value.transpose().unwrap_or_else(|error| {
                    failure = Some(error);
                    None
                }));
            });
            self.told(())?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            py.check_signals()?;
        }
        let none = || py.None().into_bound(py);
        let finish =
            |value: Option<Bound<'py, PyAny>>| value.map_or_else(|| Ok(none()), |value| values.finish(value));
        Ok(objects::list(py, gather(py, made.into_iter().map(finish))?)?)
    }

    /// Removes all pairs, without calling `on_evict`.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        let cache = self.open()?;
        py.detach(|| cache.clear());
        self.told(())
    }

    /// Changes the capacity in bytes. Evicts the pairs that no longer fit before it returns.
    ///
    /// >>> cache = Cache(capacity=10_000_000)
    /// >>> cache.update({number: bytes(1000) for number in range(5000)})
    /// >>> cache.shrink_to(1_000_000)
    /// >>> cache.memory <= cache.capacity == 1_000_000
    /// True
    #[pyo3(signature = (capacity, /))]
    fn shrink_to(&self, py: Python<'_>, capacity: &Bound<'_, PyAny>) -> Result<()> {
        let (cache, bytes) = (self.open()?, count("capacity", capacity)?);
        let done = py.detach(|| cache.shrink_to(bytes));
        Ok(self.told(done)??)
    }

    /// The key's value, or `default`. It does not count as a use of the pair.
    ///
    /// >>> cache = Cache(max_entries=100)
    /// >>> cache.peek("ada"), cache.stats()["misses"]
    /// (None, 0)
    #[pyo3(signature = (key, default=None, /))]
    fn peek<'py>(
        &self,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        match self.stored(self.codecs.keys.encode_sought(key)?.as_ref())? {
            Some(value) => self.codecs.values.decode(key.py(), &value).map(Some),
            None => Ok(default),
        }
    }

    /// Whether the key is present. It does not count as a use of the pair.
    #[pyo3(signature = (key, /))]
    pub(super) fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.contains(self.codecs.keys.encode_sought(key)?))
    }

    /// How many seconds the pair still lives: `math.inf` if it does not expire, None if the key is absent.
    ///
    /// >>> cache = Cache(max_entries=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.ttl("ada"), cache.ttl("bob")
    /// (inf, None)
    #[pyo3(signature = (key, /))]
    fn ttl(&self, key: &Bound<'_, PyAny>) -> Result<Option<f64>> {
        Ok(seconds_of(self.open()?.ttl(self.codecs.keys.encode_sought(key)?)))
    }

    /// Gives the pair a new time to live, by default the cache's. Returns whether the key was present.
    ///
    /// >>> cache = Cache(max_entries=100)
    /// >>> cache["ada"] = 1815
    /// >>> cache.touch("ada", 60), cache.ttl("ada") <= 60, cache.touch("bob", 60)
    /// (True, True, False)
    #[pyo3(signature = (key, ttl=None, /))]
    fn touch(&self, key: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<bool> {
        let (py, key, ttl) = (key.py(), self.codecs.keys.encode(key)?, ttl.map(|Ttl(ttl)| ttl));
        self.write(py, 0, |cache| cache.touch(&key, ttl))
    }
}

impl Cache {
    fn iterate(&self, py: Python<'_>, yields: Yields) -> Result<Scan> {
        check_memory()?;
        Ok(Scan::over_cache(self.open()?, self.codecs.clone_ref(py), yields))
    }

    /// The key of some pair, if there is one: one that follows those that `popitem` has removed.
    fn any_key(&self, py: Python<'_>) -> Result<Option<Vec<u8>>> {
        let cache = self.open()?;
        Ok(self.popping.with(py, |popping| {
            let mut rest = popping.take().filter(|rest| !rest.is_foreign());
            let mut found = rest.as_mut().and_then(|rest| rest.next());
            if found.is_none() {
                let all = rest.insert(Inherited::new(cache.iter()));
                found = all.next();
            }
            *popping = rest;
            found.map(|(key, _)| key)
        }))
    }
}

/// What `cache[key]` is if the key is absent: a subclass may say, as those of `dict` do.
#[cold]
fn absent<'py>(cache: &Bound<'py, Cache>, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    match cache.get_type().getattr_opt(intern!(key.py(), "__missing__"))? {
        Some(missing) => Ok(missing.call1((cache, key))?),
        None => Err(error::missing(key)),
    }
}

#[pymethods]
impl Cache {
    fn __getitem__<'py>(slf: &Bound<'py, Self>, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        match slf.get().find(key)? {
            Some(value) => Ok(value),
            None => absent(slf, key),
        }
    }

    fn __iter__(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Keys)
    }

    #[pyo3(signature = ())]
    fn _iterate_items(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Pairs)
    }

    #[pyo3(signature = ())]
    fn _iterate_values(&self, py: Python<'_>) -> Result<Scan> {
        self.iterate(py, Yields::Values)
    }

    /// Removes any pair and returns it. Raises `KeyError` if the cache is empty.
    fn popitem<'py>(&self, py: Python<'py>) -> Result<Pair<'py>> {
        while let Some(key) = self.any_key(py)? {
            let object = self.codecs.keys.decode(py, &key)?;
            if let Some(value) = self.remove(py, &key)? {
                return Ok(Pair(object, value));
            }
            py.check_signals()?;
        }
        Err(error::missing(&"the cache is empty".into_bound_py_any(py)?).without_context(py)?)
    }
}
