//! The verbs for one key.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView};
use twindex::Change;

use super::Table;
use crate::arguments::{Amount, Given};
use crate::change::Returned;
use crate::codec::Encoded;
use crate::error::{self, Result};
use crate::groups::Groups;
use crate::value;

impl Table {
    /// One try at `alter`; `None` where another write came in between.
    fn try_alter(
        &self,
        key: &Encoded<'_>,
        change: &Bound<'_, PyAny>,
        default: Option<&Bound<'_, PyAny>>,
    ) -> Result<Option<bool>> {
        let py = change.py();
        let bytes = self.open()?.in_memory().select_shared(key);
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
        let bytes = new.map_or(0, <[u8]>::len);
        if old == new {
            return self.write(py, bytes, |table| table.alter(key, |_| Change::Keep)).map(Some);
        }
        let swapped = self.write(py, bytes, |table| table.compare_and_swap(key, old, new))?;
        Ok(swapped.then_some(true))
    }
}

#[pymethods]
impl Table {
    /// Adds the pair where the key is absent; whether it was.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert("ada", "1815"), users.insert("ada", "1852")
    /// (True, False)
    #[pyo3(signature = (key, value, /))]
    pub(super) fn insert(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let (py, key, value) = (key.py(), self.codecs.keys.encode(key)?, self.codecs.values.encode(value)?);
        self.write(py, value.len(), |table| table.insert(&key, &value))
    }

    /// Gives the key another value where it is present; whether it was.
    ///
    /// >>> users = Store().table("users", values="int")
    /// >>> users.replace("ada", 1815)
    /// False
    #[pyo3(signature = (key, value, /))]
    fn replace(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let (py, key, value) = (key.py(), self.codecs.keys.encode(key)?, self.codecs.values.encode(value)?);
        self.write(py, value.len(), |table| table.replace(&key, &value))
    }

    /// Writes the pairs of a mapping or an iterable and of the keywords, as `dict` does, all of them
    /// converted before the first is written.
    ///
    /// >>> users = Store().table("users", values="int")
    /// >>> users.update([("ada", 1815)], bob=1900)
    /// >>> sorted(users.items())
    /// [('ada', 1815), ('bob', 1900)]
    #[pyo3(
        signature = (pairs=Given::Nothing, /, **keywords),
        text_signature = "($self, pairs=(), /, **keywords)"
    )]
    fn update(
        &self,
        py: Python<'_>,
        pairs: Given<'_, '_>,
        keywords: Option<&Bound<'_, PyDict>>,
    ) -> Result<()> {
        let mut groups = match pairs {
            Given::Object(pairs) => Groups::pairs("pairs", &pairs)?,
            Given::Nothing => Groups::default(),
        };
        if let Some(keywords) = keywords {
            groups.extend_by_dict(keywords)?;
        }
        self.write_many(py, &groups, |table, pairs| table.upsert_many(pairs)).map(drop)
    }

    /// Gives the key this value, present or not. Always takes effect, so always True.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.upsert("ada", "1815"), users.upsert("ada", "1852")
    /// (True, True)
    #[pyo3(signature = (key, value, /))]
    pub(super) fn upsert(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
        let (py, key, value) = (key.py(), self.codecs.keys.encode(key)?, self.codecs.values.encode(value)?);
        self.write(py, value.len(), |table| table.upsert(&key, &value))
    }

    /// Removes the pair; whether it was there.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.delete("ada")
    /// False
    #[pyo3(signature = (key, /))]
    pub(super) fn delete(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
        self.change(py, 0, |table| table.delete(&key))
    }

    /// Removes all pairs. Those that other threads write meanwhile may stay.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        let table = self.open()?;
        Ok(py.detach(|| table.clear())?)
    }

    /// The key's value, or None where the key is absent.
    ///
    /// >>> users = Store().table("users")
    /// >>> users["ada"] = "1815"
    /// >>> users.select("ada"), users.select("bob")
    /// ('1815', None)
    #[pyo3(signature = (key, /))]
    fn select<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        self.find(key)
    }

    /// The bytes of the key's value as a read-only `memoryview`, or None where the key is absent.
    ///
    /// A large value is not copied: one of more than some 4 KiB. The view
    /// shows it as it was, whatever is written or deleted, and keeps its memory in use for as long as the view is there.
    ///
    /// >>> files = Store().table("files", values="bytes")
    /// >>> files["a"] = bytes(1_000_000) + b"end"
    /// >>> view = files.view("a")
    /// >>> del files["a"]
    /// >>> len(view), bytes(view[-3:])
    /// (1000003, b'end')
    #[pyo3(signature = (key, /))]
    fn view<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyMemoryView>>> {
        let encoded = self.codecs.keys.encode_sought(key)?;
        let value = self.open()?.in_memory().select_shared(&encoded);
        value.map(|value| value::view(key.py(), value)).transpose()
    }

    /// Whether the key is there.
    #[pyo3(signature = (key, /))]
    pub(super) fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.in_memory().contains(self.codecs.keys.encode_sought(key)?))
    }

    /// Calls `change` with the key's value, or with `default` where the key is absent, and gives the key the value that
    /// it returns; whether a pair was written or removed. Returning an equal value changes nothing.
    ///
    /// `change` can also return `twindex.DELETE`, which removes the pair, or `twindex.KEEP`, which changes nothing.
    /// Returning None is an error, except where it is a value: in tables of "json", "msgpack", "pickle" or a codec of
    /// your own.
    ///
    /// `change` may use the store. Where another write to the key came in between, it is called again.
    ///
    /// >>> lists = Store().table("lists", values="json")
    /// >>> lists.alter("primes", lambda found: found + [2], [])
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

    /// Adds `by` to the value and returns the sum. An absent key counts as 0. Values are decimal text, so their codec is
    /// any but "msgpack" and "pickle".
    ///
    /// >>> hits = Store().table("hits", values="int")
    /// >>> hits.increment("/"), hits.increment("/", 10), hits["/"]
    /// (1, 11, 11)
    #[pyo3(signature = (key, by=Amount(1), /), text_signature = "($self, key, by=1, /)")]
    fn increment(&self, key: &Bound<'_, PyAny>, by: Amount) -> Result<i64> {
        self.codecs.values.check_decimal()?;
        let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
        self.write(py, 0, |table| table.increment(&key, by.0))
    }

    /// Gives the key the value `new`, or removes it for None, where its value is `expected`, None standing
    /// for absent; whether it was.
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
        self.write(py, new.map_or(0, <[u8]>::len), |table| table.compare_and_swap(&key, expected, new))
    }
}
