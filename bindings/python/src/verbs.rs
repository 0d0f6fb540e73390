//! What tables and caches have in common: a mapping's methods, and the verbs for one key.

use twindex::{Swap, Write};

use crate::arguments::Given;
use crate::codec::integer;
use crate::prelude::*;

/// What does the verbs of a class outside the interpreter. Where pairs do not expire, there is no `ttl`.
pub(crate) trait Engine: Sync {
    type Error;

    /// So many items at a time are worked on, and signals looked for in between, or as many as have so many bytes.
    const TURN: (usize, usize);
    /// Whether an absent key is removed too.
    const REMOVES_ABSENT: bool = false;

    /// Does the verb that `write` names. Returns whether it took effect.
    fn write(
        &self,
        write: Write,
        key: &[u8],
        value: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, Self::Error>;

    fn write_many(
        &self,
        write: Write,
        pairs: &[(Encoded<'_>, Encoded<'_>)],
        ttl: Option<Duration>,
    ) -> Result<Vec<bool>, Self::Error> {
        pairs.iter().map(|(key, value)| self.write(write, key.as_ref(), value.as_ref(), ttl)).collect()
    }

    /// Gives the key this value, or fails.
    #[inline]
    fn set(&self, key: &[u8], value: &[u8]) -> Result<(), Self::Error> {
        self.write(Write::Upsert, key, value, None).map(drop)
    }

    fn set_many(&self, pairs: &[(Encoded<'_>, Encoded<'_>)]) -> Result<Vec<bool>, Self::Error> {
        self.write_many(Write::Upsert, pairs, None)
    }

    fn delete(&self, key: &[u8]) -> Result<bool, Self::Error>;
    fn delete_many(&self, keys: &[Encoded<'_>]) -> Result<Vec<bool>, Self::Error>;
    /// Writes nothing, where that may be written.
    fn leave(&self, key: &[u8]) -> Result<bool, Self::Error>;
    fn increment(&self, key: &[u8], by: i64, ttl: Option<Duration>) -> Result<i64, Self::Error>;

    fn increment_many(
        &self,
        amounts: &[(Encoded<'_>, i64)],
        ttl: Option<Duration>,
    ) -> Result<Vec<i64>, Self::Error> {
        amounts.iter().map(|(key, by)| self.increment(key.as_ref(), *by, ttl)).collect()
    }

    /// Writes `new`, or deletes for `None`, if the value is `expected`. Returns whether it was.
    fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Self::Error>;

    fn compare_and_swap_many(&self, swaps: &[Swap<'_, &Encoded<'_>>]) -> Result<Vec<bool>, Self::Error> {
        swaps.iter().map(|(key, old, new)| self.compare_and_swap(key.as_ref(), *old, *new)).collect()
    }
}

/// Gives a class the reads of one key. It has `find`, `contains`, `has_many` and `codecs`.
macro_rules! key_reads {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            fn __contains__(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
                self.contains(key)
            }

            /// The key's value, or `default`.
            #[pyo3(signature = (key, default=None, /))]
            fn get<'py>(
                &self,
                key: &Bound<'py, PyAny>,
                default: Option<Bound<'py, PyAny>>,
            ) -> Result<Option<Bound<'py, PyAny>>> {
                Ok(self.find(key)?.or(default))
            }

            /// The key's value, or None if the key is absent.
            #[pyo3(signature = (key, /))]
            fn select<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
                self.find(key)
            }

            /// Whether each key is present.
            #[pyo3(signature = (keys, /))]
            fn contains_many(&self, keys: &Bound<'_, PyAny>) -> Result<Flags> {
                let py = keys.py();
                let keys = Keys::new(keys, &self.codecs.keys)?;
                let keys = keys.encode_all(|key| self.codecs.keys.encode_sought(key))?;
                self.has_many(py, &keys).map(Flags)
            }
        }
    };
}

/// Gives a class the reads of a mapping. It has `len`.
macro_rules! mapping_reads {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The number of pairs. Expired pairs count until they are removed.
            fn __len__(&self) -> Result<usize> {
                self.len()
            }

            fn __eq__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                let py = slf.py();
                if other.cast::<pyo3::types::PyMapping>().is_err() {
                    return Ok(py.NotImplemented().into_bound(py));
                }
                let is_equal = crate::views::is_equal(&crate::views::items_view(slf)?, other)?;
                Ok(PyBool::new(py, is_equal).to_owned().into_any())
            }

            /// A set-like view of the keys.
            fn keys<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
                crate::views::keys_view(slf)
            }

            /// A view of the values.
            fn values<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
                crate::views::values_view(slf)
            }

            /// A set-like view of the pairs.
            fn items<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, PyAny>> {
                crate::views::items_view(slf)
            }
        }
    };
}

/// Gives a class the writes. It has `find`, `stored`, `change` and `codecs`.
macro_rules! shared_verbs {
    ($class:ident, $engine:ty) => {
        impl $class {
            /// Converts pairs, then writes them by `write` outside the interpreter.
            fn write_many(
                &self,
                py: Python<'_>,
                pairs: &Groups<'_, 2>,
                write: impl Sync + Fn(&$engine, &[(Encoded<'_>, Encoded<'_>)]) -> std::result::Result<Vec<bool>, <$engine as Engine>::Error>,
            ) -> Result<Flags> {
                let encoded = encode_pairs(py, &self.codecs, pairs)?;
                let bytes = |(key, value): &(Encoded<'_>, Encoded<'_>)| key.len() + value.len();
                self.in_turns(py, &encoded, bytes, write).map(Flags)
            }

            /// As [`change`](Self::change), if there is memory for it.
            #[inline]
            pub(super) fn write<T: Send>(
                &self,
                py: Python<'_>,
                bytes: usize,
                write: impl Send + FnOnce(&$engine) -> std::result::Result<T, <$engine as Engine>::Error>,
            ) -> Result<T> {
                check_memory()?;
                self.change(py, bytes, write)
            }

            /// Does `work` with all items outside the interpreter, some at a time.
            pub(crate) fn in_turns<T: Sync, R: Send>(
                &self,
                py: Python<'_>,
                items: &[T],
                bytes: impl Fn(&T) -> usize,
                work: impl Sync + Fn(&$engine, &[T]) -> std::result::Result<Vec<R>, <$engine as Engine>::Error>,
            ) -> Result<Vec<R>> {
                crate::verbs::in_turns(py, items, <$engine as Engine>::TURN, bytes, |items| {
                    self.change(py, usize::MAX, |pairs| work(pairs, items))
                })
            }

            /// Writes `new`, or deletes for `None`, if the value is `expected`. Returns whether it was.
            pub(super) fn swap(
                &self,
                py: Python<'_>,
                key: &[u8],
                expected: Option<&[u8]>,
                new: Option<&[u8]>,
            ) -> Result<bool> {
                let bytes = new.map_or(0, <[u8]>::len);
                self.write(py, bytes, |pairs| Engine::compare_and_swap(pairs, key, expected, new))
            }

            /// Removes the pair and returns its value. A value that cannot be read stays.
            pub(super) fn remove<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Option<Bound<'py, PyAny>>> {
                loop {
                    let bytes = self.stored(key)?;
                    if bytes.is_none() && !<$engine as Engine>::REMOVES_ABSENT {
                        return Ok(None);
                    }
                    let bytes = bytes.as_deref();
                    let value = bytes.map(|bytes| self.codecs.values.decode(py, bytes)).transpose()?;
                    if self.change(py, 0, |pairs| Engine::compare_and_swap(pairs, key, bytes, None))? {
                        return Ok(value);
                    }
                    py.check_signals()?;
                }
            }

            /// One try at `alter`; `None` if another write came in between.
            fn try_alter(
                &self,
                key: &Encoded<'_>,
                change: &Bound<'_, PyAny>,
                default: Option<&Bound<'_, PyAny>>,
            ) -> Result<Option<bool>> {

                use crate::verbs::Returned;

                let py = change.py();
                let bytes = self.stored(key.as_ref())?;
                let value = match &bytes {
                    Some(bytes) => Some(self.codecs.values.decode(py, bytes)?),
                    None => default.cloned(),
                };
                let returned = Returned::of(change.call1((value,))?)?;
                let new = match &returned {
                    Returned::Value(value) => Some(self.codecs.values.encode_returned(value)?),
                    Returned::Keep | Returned::Delete => None,
                };
                let (old, new) = (bytes.as_deref(), new.as_ref().map(AsRef::as_ref));
                let new = if matches!(returned, Returned::Keep) { old } else { new };
                if old == new {
                    let bytes = new.map_or(0, <[u8]>::len);
                    return self
                        .write(py, bytes, |pairs| Engine::leave(pairs, key.as_ref()))
                        .map(Some);
                }
                Ok(self.swap(py, key.as_ref(), old, new)?.then_some(true))
            }
        }

        #[pymethods]
        impl $class {
            fn __setitem__(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<()> {
                let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
                let value = self.codecs.values.encode(value)?;
                self.write(py, value.len(), |pairs| Engine::set(pairs, key.as_ref(), value.as_ref()))
            }

            fn __delitem__(&self, key: &Bound<'_, PyAny>) -> Result<()> {
                if self.delete(key)? { Ok(()) } else { Err(error::missing(key)) }
            }

            /// Removes the key and returns its value. For an absent key returns `default`, or raises `KeyError` without
            /// one. A cache does not call `on_evict`.
            #[pyo3(signature = (key, default=Given::Nothing, /), text_signature = "($self, key, default=..., /)")]
            fn pop<'py>(
                &self,
                key: &Bound<'py, PyAny>,
                default: Given<'_, 'py>,
            ) -> Result<Bound<'py, PyAny>> {
                match (self.remove(key.py(), self.codecs.keys.encode_sought(key)?.as_ref())?, default) {
                    (Some(value), _) => Ok(value),
                    (None, Given::Object(default)) => Ok(default.to_owned()),
                    (None, Given::Nothing) => Err(error::missing(key)),
                }
            }

            /// The key's value. Writes `default` first if the key is absent, and returns it as it was stored.
            #[pyo3(signature = (key, default=None, /))]
            fn setdefault<'py>(
                &self,
                key: &Bound<'py, PyAny>,
                default: Option<&Bound<'py, PyAny>>,
            ) -> Result<Bound<'py, PyAny>> {
                let py = key.py();
                loop {
                    if let Some(value) = self.find(key)? {
                        return Ok(value);
                    }
                    let default = default.map_or_else(|| py.None().into_bound(py), Clone::clone);
                    let (key, value) = (self.codecs.keys.encode(key)?, self.codecs.values.encode(&default)?);
                    if self.write(py, value.len(), |pairs| {
                        Engine::write(pairs, twindex::Write::Insert, key.as_ref(), value.as_ref(), None)
                    })? {
                        return self.codecs.values.decode(py, value.as_ref());
                    }
                    py.check_signals()?;
                }
            }

            /// Removes the pair. Returns whether the key was present.
            #[pyo3(signature = (key, /))]
            fn delete(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
                let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
                self.change(py, 0, |pairs| Engine::delete(pairs, key.as_ref()))
            }

            /// Calls `change` with the key's value, or `default` if the key is absent, and writes the value that it returns, unless
            /// it is equal. Returns whether a pair was written or removed. A pair keeps its time to live.
            ///
            /// `change` can also return `twindex.DELETE`, which removes the pair, or `twindex.KEEP`, which changes nothing.
            /// None is an error, except where it is a value: with "json", "msgpack", "pickle", "object" or a codec of your
            /// own.
            ///
            /// `change` may use the store. If another thread changes the value meanwhile, it is called again.
            ///
            /// >>> lists = Store().table("lists", values="json")
            /// >>> lists.alter("primes", lambda found: found + [2], default=[])
            /// True
            /// >>> lists["primes"]
            /// [2]
            /// >>> lists.alter("primes", lambda found: twindex.DELETE if found else twindex.KEEP), len(lists)
            /// (True, 0)
            #[pyo3(signature = (key, change, /, default=None))]
            fn alter(
                &self,
                key: &Bound<'_, PyAny>,
                change: &Bound<'_, PyAny>,
                default: Option<&Bound<'_, PyAny>>,
            ) -> Result<bool> {
                if !change.is_callable() {
                    return Err(error::wrong_type("change", "callable", change));
                }
                let key = self.codecs.keys.encode(key)?;
                loop {
                    if let Some(took_effect) = self.try_alter(&key, change, default)? {
                        return Ok(took_effect);
                    }
                    change.py().check_signals()?;
                }
            }

            /// Writes the pairs of a mapping or an iterable, and the keywords, as `dict` does. All are converted before
            /// the first is written.
            ///
            /// >>> users = Store().table("users", values="int")
            /// >>> users.update([("ada", 1815)], bob=1900)
            /// >>> sorted(users.items())
            /// [('ada', 1815), ('bob', 1900)]
            #[pyo3(
                signature = (pairs=Given::Nothing, value=Given::Nothing, /, **keywords),
                text_signature = "($self, pairs=(), /, **keywords)"
            )]
            fn update(
                &self,
                py: Python<'_>,
                pairs: Given<'_, '_>,
                value: Given<'_, '_>,
                keywords: Option<&Bound<'_, PyDict>>,
            ) -> Result<()> {
                if let Given::Object(_) = value {
                    return Err(error::misuse(
                        "update takes a mapping or pairs, as that of dict; the verb is replace(key, value)",
                    ));
                }
                self.write_many(py, &updates(pairs, keywords)?, Engine::set_many).map(drop)
            }

            /// `delete` for each key. Returns whether each took effect.
            #[pyo3(signature = (keys, /))]
            fn delete_many(&self, keys: &Bound<'_, PyAny>) -> Result<Flags> {
                let py = keys.py();
                let keys = Keys::new(keys, &self.codecs.keys)?;
                let keys = keys.encode_all(|key| self.codecs.keys.encode(key))?;
                self.in_turns(py, &keys, Encoded::len, Engine::delete_many).map(Flags)
            }

            /// Writes the value `new` if the key's value is `expected`. None is an absent value, so it also inserts and
            /// removes. Returns whether it took effect.
            ///
            /// >>> users = Store().table("users")
            /// >>> users.compare_and_swap("ada", None, "1"), users.compare_and_swap("ada", "2", "3")
            /// (True, False)
            #[pyo3(signature = (key, expected, new, /))]
            fn compare_and_swap(
                &self,
                key: &Bound<'_, PyAny>,
                expected: &Bound<'_, PyAny>,
                new: &Bound<'_, PyAny>,
            ) -> Result<bool> {
                let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
                let expected = self.codecs.values.encode_present(expected)?;
                let new = self.codecs.values.encode_present(new)?;
                let (expected, new) = (expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref));
                self.swap(py, key.as_ref(), expected, new)
            }
        }
    };
}

/// The time to live that a call names, where the class takes one.
macro_rules! ttl_of {
    () => {
        None
    };
    ($ttl:ident) => {
        $ttl.map(|crate::ttl::Ttl(ttl)| ttl)
    };
}

/// Gives a class `increment`, with what `shared_verbs` gives. Where new pairs expire, it takes their `ttl`.
macro_rules! increments {
    ($class:ident $(, $ttl:ident)?) => {
        #[pymethods]
        impl $class {
            /// Adds `by` to the value and returns the sum. An absent key counts as 0. Values are decimal text, so their codec
            /// is "str", "bytes", "int" or "json". In a table whose pairs expire, `ttl` is for a pair that this adds; an existing
            /// pair keeps its own. So it can count the requests of a minute.
            ///
            /// >>> hits = Store().table("hits", values="int")
            /// >>> hits.increment("/"), hits.increment("/", 10), hits["/"]
            /// (1, 11, 11)
            #[pyo3(signature = (key, /, by=1$(, *, $ttl=None)?))]
            fn increment(
                &self,
                key: &Bound<'_, PyAny>,
                #[pyo3(from_py_with = arguments::amount)] by: i64
                $(, $ttl: Option<crate::ttl::Ttl>)?
            ) -> Result<i64> {
                self.codecs.values.check_decimal()?;
                let (py, key, ttl) = (key.py(), self.codecs.keys.encode(key)?, ttl_of!($($ttl)?));
                self.write(py, 0, |pairs| Engine::increment(pairs, key.as_ref(), by, ttl))
            }

            /// `increment` for each key and amount of a mapping or an iterable. Returns the sums. Stops at the first
            /// error.
            ///
            /// >>> hits = Store().table("hits", values="int")
            /// >>> hits.increment_many([("/", 1), ("/", 10)])
            /// [1, 11]
            #[pyo3(signature = (amounts, /$(, *, $ttl=None)?))]
            fn increment_many(&self, amounts: &Bound<'_, PyAny>$(, $ttl: Option<crate::ttl::Ttl>)?) -> Result<Sums> {
                let (py, groups, ttl) = (amounts.py(), Groups::pairs("amounts", amounts)?, ttl_of!($($ttl)?));
                let amounts = encode_amounts(py, &self.codecs, &groups)?;
                let bytes = |(key, _): &(Encoded<'_>, i64)| key.len();
                self.in_turns(py, &amounts, bytes, |pairs, amounts| Engine::increment_many(pairs, amounts, ttl)).map(Sums)
            }
        }
    };
}

/// Gives a class a verb that gives keys values, one by one and together.
macro_rules! put {
    (
        $class:ident $(, $ttl:ident)?: $write:ident,
        $(#[$doc:meta])* $verb:ident,
        $(#[$doc_of_many:meta])* $many:ident
    ) => {
        #[pymethods]
        impl $class {
            $(#[$doc])*
            #[pyo3(signature = (key, value, /$(, *, $ttl=None)?))]
            fn $verb(
                &self,
                key: &Bound<'_, PyAny>,
                value: &Bound<'_, PyAny>
                $(, $ttl: Option<crate::ttl::Ttl>)?
            ) -> Result<bool> {
                let (py, Codecs { keys, values }) = (key.py(), &self.codecs);
                let (key, value, ttl) = (keys.encode(key)?, values.encode(value)?, ttl_of!($($ttl)?));
                self.write(py, value.len(), |pairs| {
                    Engine::write(pairs, twindex::Write::$write, key.as_ref(), value.as_ref(), ttl)
                })
            }

            $(#[$doc_of_many])*
            #[pyo3(signature = (pairs, /$(, *, $ttl=None)?))]
            fn $many(&self, pairs: &Bound<'_, PyAny>$(, $ttl: Option<crate::ttl::Ttl>)?) -> Result<Flags> {
                let (groups, ttl) = (Groups::pairs("pairs", pairs)?, ttl_of!($($ttl)?));
                self.write_many(pairs.py(), &groups, |own, pairs| {
                    Engine::write_many(own, twindex::Write::$write, pairs, ttl)
                })
            }
        }
    };
}

/// Gives a class the verbs that give keys values. If its pairs expire, they take a `ttl`.
macro_rules! puts {
    ($class:ident $(, $ttl:ident)?) => {
        crate::verbs::put! {
            $class $(, $ttl)?: Insert,
            /// Writes the pair if the key is absent. Returns whether it was. If pairs expire, `ttl` is how many seconds it lives.
            ///
            /// >>> users = Store().table("users")
            /// >>> users.insert("ada", "1815"), users.insert("ada", "1852")
            /// (True, False)
            insert,
            /// `insert` for each pair of a mapping or an iterable. Returns whether each took effect.
            ///
            /// >>> users = Store().table("users")
            /// >>> users.insert_many([("ada", "1815"), ("bob", "1900"), ("ada", "1852")])
            /// [True, True, False]
            insert_many
        }
        crate::verbs::put! {
            $class $(, $ttl)?: Replace,
            /// Replaces the value if the key is present. Returns whether it was. A time to live starts again.
            ///
            /// >>> users = Store().table("users", values="int")
            /// >>> users.replace("ada", 1815)
            /// False
            replace,
            /// `replace` for each pair of a mapping or an iterable. Returns whether each took effect.
            replace_many
        }
        crate::verbs::put! {
            $class $(, $ttl)?: Upsert,
            /// Writes the pair, whether the key is present or not. Returns True. Only for a pair that is too large for a cache it
            /// returns False and changes nothing; the cache's other verbs, and `cache[key] = value`, then raise `CacheLimitError`.
            ///
            /// >>> users = Store().table("users")
            /// >>> users.upsert("ada", "1815"), users.upsert("ada", "1852")
            /// (True, True)
            upsert,
            /// `upsert` for each pair of a mapping or an iterable. Returns whether each took effect.
            upsert_many
        }
    };
}

pub(crate) use {increments, key_reads, mapping_reads, put, puts, shared_verbs, ttl_of};

/// Does work with all items, some at a time: as many, or those that have so many bytes together. Signals are looked for in
/// between.
pub(crate) fn in_turns<T, R>(
    py: Python<'_>,
    items: &[T],
    (most, most_bytes): (usize, usize),
    bytes: impl Fn(&T) -> usize,
    mut turn: impl FnMut(&[T]) -> Result<Vec<R>>,
) -> Result<Vec<R>> {
    let mut results = with_room(items.len())?;
    loop {
        let mut left = most_bytes;
        let fits = |item: &&T| {
            let fits = left > 0;
            left = left.saturating_sub(bytes(item));
            fits
        };
        let rest = &items[results.len()..];
        let count = rest.iter().take(most).take_while(fits).count();
        check_memory()?;
        results.append(&mut turn(&rest[..count])?);
        if results.len() == items.len() {
            return Ok(results);
        }
        py.check_signals()?;
    }
}

/// Converts pairs. Python code that runs meanwhile cannot change them afterwards.
pub(crate) fn encode_pairs<'a>(
    py: Python<'_>,
    codecs: &Codecs,
    pairs: &'a Groups<'_, 2>,
) -> Result<Vec<(Encoded<'a>, Encoded<'a>)>> {
    let mut encoded = with_room(pairs.len())?;
    let mut interrupts = Interrupts::default();
    for [key, value] in pairs.iter() {
        let (key, value) = (codecs.keys.encode(key)?, codecs.values.encode(value)?);
        interrupts.item_of(py, key.len() + value.len())?;
        encoded.push((key, value));
    }
    Ok(encoded)
}

/// The same of keys and what to add to their values.
pub(crate) fn encode_amounts<'a>(
    py: Python<'_>,
    codecs: &Codecs,
    amounts: &'a Groups<'_, 2>,
) -> Result<Vec<(Encoded<'a>, i64)>> {
    codecs.values.check_decimal()?;
    gather(py, amounts.iter().map(|[key, by]| Ok((codecs.keys.encode(key)?, integer("amount", by)?))))
}

/// The pairs and keywords that `update` takes, as `dict.update` does.
pub(crate) fn updates<'py>(
    pairs: Given<'_, 'py>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> Result<Groups<'py, 2>> {
    let mut groups = match pairs {
        Given::Object(pairs) => Groups::pairs("pairs", &pairs)?,
        Given::Nothing => Groups::default(),
    };
    if let Some(keywords) = keywords {
        groups.extend_by_dict(keywords)?;
    }
    Ok(groups)
}

/// `twindex.KEEP`, `twindex.DELETE`, or the new value.
pub(crate) enum Returned<'py> {
    Keep,
    Delete,
    Value(Bound<'py, PyAny>),
}

impl<'py> Returned<'py> {
    pub(crate) fn of(object: Bound<'py, PyAny>) -> Result<Self> {
        static KEEP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static DELETE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = object.py();
        if object.is(KEEP.import(py, "twindex._returned", "KEEP")?) {
            return Ok(Self::Keep);
        }
        if object.is(DELETE.import(py, "twindex._returned", "DELETE")?) {
            return Ok(Self::Delete);
        }
        Ok(Self::Value(object))
    }
}
