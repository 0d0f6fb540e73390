//! The class `_Coder`: the codecs of a table, for packages that keep their bytes elsewhere.

use std::ops::Bound as End;

use crate::prelude::*;

/// A key, and whether it is in the range that it ends.
type RangeEnd<'py> = Option<(Bound<'py, PyAny>, bool)>;

/// Encodes and decodes as a table with these codecs does.
#[pyclass(frozen, name = "_Coder", module = "twindex._twindex")]
pub(crate) struct Coder(Codecs);

#[pymethods]
impl Coder {
    /// The codecs that are named, or else those that the table remembers.
    #[new]
    #[pyo3(signature = (table, remembered, keys, values))]
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

    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.0.visit(&visit)
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

    /// Both ends of a range: each a key and whether it is in the range, or None.
    fn range<'py>(
        &self,
        py: Python<'py>,
        gt: Option<&Bound<'py, PyAny>>,
        gte: Option<&Bound<'py, PyAny>>,
        lt: Option<&Bound<'py, PyAny>>,
        lte: Option<&Bound<'py, PyAny>>,
        prefix: Option<&Bound<'py, PyAny>>,
    ) -> Result<(RangeEnd<'py>, RangeEnd<'py>)> {
        let end = |end: End<&[u8]>| -> PyResult<RangeEnd<'py>> {
            Ok(match end {
                End::Included(key) => Some((objects::bytes(py, key)?, true)),
                End::Excluded(key) => Some((objects::bytes(py, key)?, false)),
                End::Unbounded => None,
            })
        };
        let range = Range { gt, gte, lt, lte, prefix };
        Ok(range.ends(&self.0.keys, |lower, upper| PyResult::Ok((end(lower)?, end(upper)?)))??)
    }

    /// An amount of 64 bits.
    #[allow(clippy::unused_self, reason = "for packages that have no more than this class")]
    fn amount(&self, #[pyo3(from_py_with = arguments::amount)] by: i64) -> i64 {
        by
    }

    /// A number of pairs.
    #[allow(clippy::unused_self, reason = "for packages that have no more than this class")]
    fn count(&self, limit: Count) -> usize {
        limit.0
    }

    /// A flag of this name.
    #[staticmethod]
    fn flag(name: &str, value: &Bound<'_, PyAny>) -> Result<bool> {
        arguments::flag(name, value)
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
