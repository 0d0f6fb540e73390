//! Writes of columns.

use twindex::Write;

use super::Table;
use crate::columns::{Kind, copies, items, kinds};
use crate::prelude::*;

#[pymethods]
impl Table {
    /// Writes so many pairs, whose keys and values are in these buffers, as `_columns` gives them.
    #[pyo3(signature = (rows, keys, values, /))]
    fn _write_columns(
        &self,
        py: Python<'_>,
        rows: usize,
        keys: Vec<Bound<'_, PyAny>>,
        values: Vec<Bound<'_, PyAny>>,
    ) -> Result<()> {
        let (of_keys, of_values) = kinds(self.seen_as())?;
        let (keys, values) = (copies(&keys)?, copies(&values)?);
        let keys = items("key", of_keys, rows, &keys)?;
        let values = items("value", of_values, rows, &values)?;
        if of_values == Kind::Json {
            let mut interrupts = Interrupts::default();
            for value in &values {
                self.seen_as().values.decode(py, value.as_ref())?;
                interrupts.item_of(py, value.len())?;
            }
        }
        let mut pairs = with_room(rows)?;
        pairs.extend(keys.into_iter().zip(values));
        let bytes = |(key, value): &(Encoded<'_>, Encoded<'_>)| key.len() + value.len();
        self.in_turns(py, &pairs, bytes, |table, pairs| table.write_many(Write::Upsert, pairs)).map(drop)
    }

    /// Writes the pairs of record batches, as `upsert_many` does, batch by batch. Returns their number.
    ///
    /// `data` is a table, a reader or a record batch of pyarrow, a data frame of polars or pandas, or any object with Arrow's C
    /// interface. Its columns are "key" and "value", or just two, in this order. Strings go to the codecs "str" and "json" (each
    /// "json" value is read to check it), bytes to "bytes", integers to "int". Needs the package pyarrow.
    #[pyo3(signature = (data, /))]
    fn from_arrow<'py>(slf: &Bound<'py, Self>, data: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        Ok(slf.py().import("twindex._arrow")?.getattr("from_arrow")?.call1((slf, data))?)
    }
}
