//! The verbs for one key.

use pyo3::prelude::*;
use pyo3::types::PyMemoryView;
use twindex::Write;

use super::Table;
use crate::arguments::{Amount, Given};
use crate::codec::{Codecs, Encoded};
use crate::error::{self, Result};
use crate::groups::{Groups, Keys};
use crate::objects::{Flags, Sums};
use crate::value;
use crate::verbs::{Engine, encode_amounts, encode_pairs, shared_verbs, updates};

impl Engine for twindex_durable::Table {
    type Error = twindex_durable::Error;

    #[inline]
    fn set(&self, key: &[u8], value: &[u8]) -> twindex_durable::Result<()> {
        self.upsert(key, value)
    }

    #[inline]
    fn insert(&self, key: &[u8], value: &[u8]) -> twindex_durable::Result<bool> {
        self.insert(key, value)
    }

    #[inline]
    fn delete(&self, key: &[u8]) -> twindex_durable::Result<bool> {
        self.delete(key)
    }

    fn leave(&self, key: &[u8]) -> twindex_durable::Result<bool> {
        self.alter(key, |_| twindex::Change::Keep)
    }

    #[inline]
    fn increment(&self, key: &[u8], by: i64) -> twindex_durable::Result<i64> {
        self.increment(key, by)
    }

    fn set_many(&self, pairs: &[(Encoded<'_>, Encoded<'_>)]) -> twindex_durable::Result<Vec<bool>> {
        self.write_many(Write::Upsert, pairs)
    }

    fn delete_many(&self, keys: &[Encoded<'_>]) -> twindex_durable::Result<Vec<bool>> {
        self.delete_many(keys)
    }

    fn contains_many(&self, keys: &[Encoded<'_>]) -> twindex_durable::Result<Vec<bool>> {
        Ok(self.in_memory().contains_many(keys))
    }

    fn increment_many(&self, amounts: &[(Encoded<'_>, i64)]) -> twindex_durable::Result<Vec<i64>> {
        self.increment_many(amounts)
    }
}

shared_verbs!(Table, twindex_durable::Table);

/// The verbs that give keys values, one by one and together.
macro_rules! puts {
    ($($(#[$doc:meta])* $verb:ident: $write:ident, $(#[$doc_of_many:meta])* $many:ident;)*) => {
        #[pymethods]
        impl Table {
            $($(#[$doc])*
            #[pyo3(signature = (key, value, /))]
            fn $verb(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
                let (py, Codecs { keys, values }) = (key.py(), &self.codecs);
                let (key, value) = (keys.encode(key)?, values.encode(value)?);
                self.write(py, value.len(), |table| table.write(Write::$write, &key, &value))
            }

            $(#[$doc_of_many])*
            #[pyo3(signature = (pairs, /))]
            fn $many(&self, pairs: &Bound<'_, PyAny>) -> Result<Flags> {
                let groups = Groups::pairs("pairs", pairs)?;
                self.write_many(pairs.py(), &groups, |table, pairs| table.write_many(Write::$write, pairs))
            })*
        }
    };
}

puts! {
    /// Adds the pair where the key is absent; whether it was.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert("ada", "1815"), users.insert("ada", "1852")
    /// (True, False)
    insert: Insert,
    /// `insert` for each pair of a mapping or an iterable: whether each took effect.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert_many([("ada", "1815"), ("bob", "1900"), ("ada", "1852")])
    /// [True, True, False]
    insert_many;

    /// Gives the key another value where it is present; whether it was.
    ///
    /// >>> users = Store().table("users", values="int")
    /// >>> users.replace("ada", 1815)
    /// False
    replace: Replace,
    /// `replace` for each pair of a mapping or an iterable: whether each took effect.
    replace_many;

    /// Gives the key this value, present or not. Always takes effect, so always True.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.upsert("ada", "1815"), users.upsert("ada", "1852")
    /// (True, True)
    upsert: Upsert,
    /// `upsert` for each pair of a mapping or an iterable: whether each took effect.
    upsert_many;
}

#[pymethods]
impl Table {
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

    /// The bytes of the key's value as a read-only `memoryview`, or None where the key is absent.
    ///
    /// A large value is not copied: one of more than some 4 KiB. The view shows it as it was, whatever is written or
    /// deleted, and keeps its memory in use for as long as the view is there.
    #[pyo3(signature = (key, /))]
    fn view<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyMemoryView>>> {
        let value = self.stored(&self.codecs.keys.encode_sought(key)?)?;
        value.map(|value| value::view(key.py(), value)).transpose()
    }
}
