//! What JSON and `MessagePack` can give back as it was.

use pyo3::ffi;
use pyo3::types::{PyByteArray, PyMemoryView};

use crate::dict::each_pair;
use crate::prelude::*;

/// Values in values. Readers recurse, and may have half of Python's 1,000 calls behind them. JavaScript has the same limit.
const MAX_DEPTH: usize = 512;

/// A format, as far as its limits go.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nesting {
    Json,
    Msgpack,
}

impl Nesting {
    /// The value of builtin types alone, `None` where it is: so it is equal when it is read. Subclasses count by what they
    /// hold, whatever their methods say. What has no form at all is left to the writer.
    pub(super) fn builtin<'py>(self, value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        self.builtin_within(MAX_DEPTH, value)
    }

    fn builtin_within<'py>(
        self,
        depth: usize,
        value: &Bound<'py, PyAny>,
    ) -> Result<Option<Bound<'py, PyAny>>> {
        let is_atom = value.cast_exact::<PyString>().is_ok()
            || value.cast_exact::<PyInt>().is_ok()
            || value.cast_exact::<PyFloat>().is_ok();
        if is_atom {
            return Ok(None);
        }
        if let Ok(list) = value.cast::<PyList>() {
            return self.list(deeper(depth)?, list);
        }
        if let Ok(dict) = value.cast::<PyDict>() {
            return self.dict(deeper(depth)?, dict);
        }
        if value.is_instance_of::<PyTuple>() && !self.is_extension(value)? {
            let message = "a tuple would come back as a list: pass a list";
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
        builtin_atom(value)
    }

    fn list<'py>(self, depth: usize, list: &Bound<'py, PyList>) -> Result<Option<Bound<'py, PyAny>>> {
        let mut copy = if list.is_exact_instance_of::<PyList>() { None } else { Some(Vec::new()) };
        for (at, item) in list.iter().enumerate() {
            let builtin = self.builtin_within(depth, &item)?;
            if builtin.is_some() && copy.is_none() {
                copy = Some(gather(list.py(), list.iter().take(at).map(Ok))?);
            }
            if let Some(copy) = &mut copy {
                copy.try_reserve(1)?;
                copy.push(builtin.unwrap_or(item));
            }
        }
        Ok(copy.map(|items| objects::list(list.py(), items)).transpose()?.map(Bound::into_any))
    }

    fn dict<'py>(self, depth: usize, dict: &Bound<'py, PyDict>) -> Result<Option<Bound<'py, PyAny>>> {
        static ORDERED: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let (py, mut copy, mut passed) = (dict.py(), None, 0);
        let mut source = dict.clone();
        if !dict.is_exact_instance_of::<PyDict>() {
            copy = Some(objects::dict(py)?);
            // This one has an order of its own.
            if dict.get_type().is(ORDERED.import(py, "collections", "OrderedDict")?) {
                let pairs = dict.call_method0("items")?;
                source = py.get_type::<PyDict>().call1((pairs,))?.cast_into().map_err(PyErr::from)?;
            }
        }
        each_pair(&source, |key, value| {
            if self == Self::Json && !key.is_instance_of::<PyString>() {
                let message = "in JSON the keys of a dict must be str, since others would come back as str";
                return Err(error::misuse(format!("{message}: {}", shown(&key))));
            }
            if key.is_instance_of::<PyList>() || key.is_instance_of::<PyDict>() {
                let message = "a key would come back as a list or dict, which cannot be a key";
                return Err(error::misuse(format!("{message}: {}", shown(&key))));
            }
            let builtin = (self.builtin_within(depth, &key)?, self.builtin_within(depth, &value)?);
            let copy = match &mut copy {
                Some(copy) => copy,
                None if matches!(builtin, (None, None)) => {
                    passed += 1;
                    return Ok(());
                }
                none => none.insert(first_pairs(&source, passed)?),
            };
            let before = copy.len();
            copy.set_item(builtin.0.as_ref().unwrap_or(&key), builtin.1.unwrap_or(value))?;
            if copy.len() == before {
                let message = "two keys of a dict would come back as one";
                return Err(error::misuse(format!("{message}: {}", shown(&key))));
            }
            Ok(())
        })?;
        Ok(copy.map(Bound::into_any))
    }

    /// Whether it is a `msgpack.ExtType`, which is a named tuple.
    fn is_extension(self, value: &Bound<'_, PyAny>) -> Result<bool> {
        static EXTENSION: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        Ok(self == Self::Msgpack
            && value.get_type().is(EXTENSION.import(value.py(), "msgpack", "ExtType")?))
    }
}

/// A dict of the first pairs of another.
fn first_pairs<'py>(dict: &Bound<'py, PyDict>, count: usize) -> Result<Bound<'py, PyDict>> {
    let (first, mut left) = (objects::dict(dict.py())?, count);
    each_pair(dict, |key, value| {
        if left > 0 {
            left -= 1;
            first.set_item(key, value)?;
        }
        Ok(())
    })?;
    Ok(first)
}

/// What an instance of a subclass of `str`, `int`, `float`, `bytes` or `bytearray` holds, `None` of anything else.
fn builtin_atom<'py>(value: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if let Ok(text) = value.cast::<PyString>() {
        // SAFETY: of a subclass of `str` this makes a new `str`, or is null with an exception set.
        return Ok(Some(unsafe {
            Bound::from_owned_ptr_or_err(py, ffi::PyUnicode_FromObject(text.as_ptr()))?
        }));
    }
    if value.is_instance_of::<PyInt>() {
        let is_bool = value.is_instance_of::<PyBool>();
        // The method of `int` itself returns an `int`.
        let plus = || py.get_type::<PyInt>().call_method1("__pos__", (value,));
        return Ok(if is_bool { None } else { Some(plus()?) });
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Some(objects::float(py, number.value())?));
    }
    if let Ok(bytes) = value.cast::<PyBytes>() {
        let is_exact = bytes.is_exact_instance_of::<PyBytes>();
        return Ok(if is_exact { None } else { Some(objects::bytes(py, objects::content(bytes))?) });
    }
    match value.cast::<PyByteArray>() {
        Ok(bytes) if !bytes.is_exact_instance_of::<PyByteArray>() => {
            Ok(Some(objects::bytes(py, &bytes.to_vec())?))
        }
        _ => Ok(None),
    }
}

fn deeper(depth: usize) -> Result<usize> {
    depth.checked_sub(1).ok_or_else(|| error::encoding(format!("a value is at most {MAX_DEPTH} deep")))
}
