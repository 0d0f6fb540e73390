//! The arguments of the `_many` verbs.
//!
//! They are collected first: Python code that runs while they are read cannot change them afterwards, and
//! a reference to each keeps its memory while the batch is outside the interpreter.

use std::cell::RefCell;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::error::{self, Result};

/// Keys with what belongs to each, `N` objects a group, one group after another.
#[derive(Default)]
pub(crate) struct Groups<'py, const N: usize>(Vec<Bound<'py, PyAny>>);

impl<'py, const N: usize> Groups<'py, N> {
    /// From a sequence of groups.
    pub(crate) fn new(what: &str, sequence: &Bound<'py, PyAny>) -> Result<Self> {
        let groups = items(what, sequence)?;
        let mut flat = Vec::with_capacity(N * groups.len());
        for group in &groups {
            extend_by_group::<N>(&mut flat, what, group)?;
        }
        Ok(Self(flat))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Bound<'py, PyAny>; N]> {
        self.0.as_chunks().0.iter()
    }
}

impl<'py> Groups<'py, 2> {
    /// From a mapping, or from a sequence of pairs, as `dict.update` does.
    pub(crate) fn pairs(what: &str, source: &Bound<'py, PyAny>) -> Result<Self> {
        if let Ok(dict) = source.cast_exact::<PyDict>() {
            let mut pairs = Self(Vec::with_capacity(2 * dict.len()));
            pairs.extend_by_dict(dict)?;
            return Ok(pairs);
        }
        if !source.hasattr("keys")? {
            return Self::new(what, source);
        }
        let mut flat = Vec::new();
        for key in source.call_method0("keys")?.try_iter()? {
            let key = key?;
            let value = source.get_item(&key)?;
            flat.extend([key, value]);
        }
        Ok(Self(flat))
    }

    pub(crate) fn extend_by_dict(&mut self, dict: &Bound<'py, PyDict>) -> Result<()> {
        let flat = RefCell::new(&mut self.0);
        dict.locked_for_each(|key, value| {
            flat.borrow_mut().extend([key, value]);
            Ok(())
        })?;
        Ok(())
    }
}

/// The items of a list, a tuple or anything else to iterate over.
pub(crate) fn items<'py>(what: &str, sequence: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = sequence.cast::<PyList>() {
        return Ok(list.iter().collect());
    }
    if let Ok(tuple) = sequence.cast::<PyTuple>() {
        return Ok(tuple.iter().collect());
    }
    // One string or byte string is iterable too, but it is a key, not keys.
    if sequence.is_instance_of::<PyString>() || sequence.is_instance_of::<PyBytes>() {
        return Err(error::wrong_type(what, "iterable", sequence));
    }
    match sequence.try_iter() {
        Ok(iterator) => Ok(iterator.collect::<PyResult<_>>()?),
        Err(cause) if cause.is_instance_of::<PyTypeError>(sequence.py()) => {
            Err(error::wrong_type(what, "iterable", sequence).caused_by(sequence.py(), cause))
        }
        Err(error) => Err(error.into()),
    }
}

#[inline]
fn extend_by_group<'py, const N: usize>(
    flat: &mut Vec<Bound<'py, PyAny>>,
    what: &str,
    group: &Bound<'py, PyAny>,
) -> Result<()> {
    let before = flat.len();
    match group.cast::<PyTuple>() {
        Ok(tuple) => flat.extend(tuple.iter()),
        Err(_) => flat.extend(items(what, group)?),
    }
    let found = flat.len() - before;
    if found == N { Ok(()) } else { Err(error::wrong_length(what, N, found, group)) }
}
