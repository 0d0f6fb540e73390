//! The verbs for one key.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Table;
use crate::arguments::{Amount, Given};
use crate::error::{self, Result};
use crate::verbs::{shared_verbs, updates};

shared_verbs!(Table);

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
        let groups = updates(pairs, keywords)?;
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

    /// Removes all pairs. Those that other threads write meanwhile may stay.
    fn clear(&self, py: Python<'_>) -> Result<()> {
        let table = self.open()?;
        Ok(py.detach(|| table.clear())?)
    }

    /// Whether the key is there.
    #[pyo3(signature = (key, /))]
    pub(super) fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.open()?.in_memory().contains(self.codecs.keys.encode_sought(key)?))
    }
}
