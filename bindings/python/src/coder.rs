//! The class `_Coder`: the codecs of a table, for packages that keep their bytes elsewhere.

use std::ops::Bound as End;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::codec::{Codecs, KeyCodec, ValueCodec};
use crate::error::{self, Result};
use crate::objects;

/// Encodes and decodes as a table with these codecs does.
#[pyclass(frozen, name = "_Coder", module = "twindex._twindex")]
pub(crate) struct Coder(Codecs);

#[pymethods]
impl Coder {
    /// The codecs that are named, or else those that the table remembers.
    #[new]
    #[pyo3(signature = (table, remembered, keys, values))]
    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn new(
        py: Python<'_>,
        table: &str,
        remembered: (String, String),
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> Result<Self> {
        let keys = keys.map(KeyCodec::of).transpose()?;
        let values = values.map(|codec| ValueCodec::of(codec)).transpose()?;
        Codecs::of_table(py, table, (&remembered.0, &remembered.1), keys, values).map(Self)
    }

    #[pyo3(signature = (key, /))]
    fn key<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let encoded = self.0.keys.encode(key)?;
        twindex::check_key(encoded.as_ref())?;
        Ok(objects::bytes(key.py(), encoded.as_ref())?)
    }

    /// A key to look for, which may have any length.
    #[pyo3(signature = (key, /))]
    fn sought<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Ok(objects::bytes(key.py(), self.0.keys.encode_sought(key)?.as_ref())?)
    }

    #[pyo3(signature = (value, /))]
    fn value<'py>(&self, value: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Ok(objects::bytes(value.py(), self.0.values.encode(value)?.as_ref())?)
    }

    #[pyo3(signature = (key, /))]
    fn to_key<'py>(&self, key: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
        self.0.keys.decode(key.py(), key.as_bytes())
    }

    #[pyo3(signature = (value, /))]
    fn to_value<'py>(&self, value: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
        self.0.values.decode(value.py(), value.as_bytes())
    }

    /// The first key that starts with this one, and the first after all of them, if there is one.
    #[pyo3(signature = (prefix, /))]
    fn prefix<'py>(
        &self,
        prefix: &Bound<'py, PyAny>,
    ) -> Result<(Bound<'py, PyAny>, Option<Bound<'py, PyAny>>)> {
        let py = prefix.py();
        let (End::Included(lower), upper) = self.0.keys.prefix_range(prefix)? else {
            return Err(error::option("the prefix has no first key"));
        };
        let upper = match upper {
            End::Excluded(key) => Some(objects::bytes(py, &key)?),
            End::Included(_) | End::Unbounded => None,
        };
        Ok((objects::bytes(py, &lower)?, upper))
    }

    /// Whether None is a value like any other.
    #[getter]
    fn has_none(&self) -> bool {
        self.0.values.has_none()
    }

    /// Raises where values are not text, which may be a decimal number.
    fn check_decimal(&self) -> Result<()> {
        self.0.values.check_decimal()
    }
}
