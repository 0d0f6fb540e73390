//! What mappings have in common: their views, and when two are equal.

use crate::dict::each_pair;
use crate::groups::items;
use crate::prelude::*;

/// Views of mappings, by classes of Python's.
macro_rules! views {
    ($($name:ident $class:literal)*) => {
        $(pub(crate) fn $name<'py, T>(mapping: &Bound<'py, T>) -> Result<Bound<'py, PyAny>> {
            static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            Ok(VIEW.import(mapping.py(), "twindex._views", $class)?.call1((mapping.as_any(),))?)
        })*
    };
}

views!(keys_view "KeysView" values_view "ValuesView" items_view "ItemsView");

/// Whether another mapping has these pairs and no others.
pub(crate) fn is_equal<'py>(items: &Bound<'py, PyAny>, other: &Bound<'py, PyAny>) -> Result<bool> {
    are_equal(&dict_of(items)?, &dict_of(&other.call_method0("items")?)?)
}

/// A dict of these pairs.
fn dict_of<'py>(pairs: &Bound<'py, PyAny>) -> Result<Bound<'py, PyDict>> {
    let py = pairs.py();
    let dict = objects::dict(py)?;
    let mut interrupts = Interrupts::default();
    for pair in pairs.try_iter()? {
        let pair = pair?;
        let items = items("pairs", &pair)?;
        let [key, value] = items.as_slice() else {
            return Err(error::wrong_length("pairs", 2, items.len(), &pair));
        };
        dict.set_item(key, value)?;
        interrupts.item(py)?;
    }
    Ok(dict)
}

/// As two dicts compare, but for signals.
fn are_equal(one: &Bound<'_, PyDict>, other: &Bound<'_, PyDict>) -> Result<bool> {
    let mut equal = one.len() == other.len();
    if equal {
        each_pair(one, |key, value| {
            equal = equal
                && match other.get_item(key)? {
                    Some(found) => found.is(&value) || found.eq(value)?,
                    None => false,
                };
            Ok(())
        })?;
    }
    Ok(equal)
}
