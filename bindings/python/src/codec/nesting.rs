//! What JSON and `MessagePack` can give back as it was.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyFloat, PyInt, PyList, PyMemoryView, PyString, PyTuple};

use crate::error::{self, Result, shown};
use crate::groups::each_pair;

/// Values in values. Readers recurse, and may have half of Python's 1,000 calls behind them. JavaScript has the same limit.
const MAX_DEPTH: usize = 512;

/// A format, as far as its limits go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    Json,
    Msgpack,
}

impl Nesting {
    /// That what can be written can be read, and is equal then. What has no form at all is left to the writer.
    pub(super) fn check(self, value: &Bound<'_, PyAny>) -> Result<()> {
        self.check_within(MAX_DEPTH, value)
    }

    fn check_within(self, depth: usize, value: &Bound<'_, PyAny>) -> Result<()> {
        let is_atom = value.cast_exact::<PyString>().is_ok()
            || value.cast_exact::<PyInt>().is_ok()
            || value.cast_exact::<PyFloat>().is_ok();
        if is_atom {
            return Ok(());
        }
        if let Ok(list) = value.cast::<PyList>() {
            let depth = deeper(depth)?;
            return list.iter().try_for_each(|item| self.check_within(depth, &item));
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            let depth = deeper(depth)?;
            return each_pair(dict, |key, value| {
                if self == Self::Json && !key.is_instance_of::<PyString>() {
                    let message = "the keys of a dict are str in JSON, where others would come back as str";
                    return Err(error::misuse(format!("{message}: {}", shown(&key))));
                }
                self.check_within(depth, &key)?;
                self.check_within(depth, &value)
            });
        }
        if value.is_instance_of::<PyTuple>() && !self.is_extension(value)? {
            let message = "a tuple would come back as a list, so make it one";
            return Err(error::misuse(format!("{message}: {}", shown(value))));
        }
        if self == Self::Msgpack
            && let Ok(view) = value.cast::<PyMemoryView>()
            && view.getattr("format")?.ne("B")?
        {
            return Err(error::misuse(format!(
                "a memoryview in MessagePack has the format 'B': {}",
                shown(value)
            )));
        }
        Ok(())
    }

    /// Whether it is a `msgpack.ExtType`, which is a named tuple.
    fn is_extension(self, value: &Bound<'_, PyAny>) -> Result<bool> {
        static EXTENSION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        Ok(self == Self::Msgpack
            && value.is_instance(EXTENSION.import(value.py(), "msgpack", "ExtType")?)?)
    }
}

fn deeper(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or_else(|| error::encoding(format!("a value is at most {MAX_DEPTH} deep")))
}
