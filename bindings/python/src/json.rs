//! JSON by the standard library's own encoder and decoder.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{IntoPyDict, PyString};

use crate::encoded::Encoded;
use crate::error::{self, Result, shown};

/// The object as compact JSON.
pub(crate) fn encode<'a>(object: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    static ENCODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let encode = ENCODE.get_or_try_init(py, || {
        let options = [("allow_nan", false), ("ensure_ascii", false)].into_py_dict(py)?;
        options.set_item("separators", (",", ":"))?;
        let encoder = py.import("json")?.getattr("JSONEncoder")?.call((), Some(&options))?;
        PyResult::Ok(encoder.getattr("encode")?.unbind())
    })?;
    let text = encode.bind(py).call1((object,)).map_err(|cause| refuse(object, cause))?;
    let text = text.cast::<PyString>().map_err(PyErr::from)?;
    let text = text.to_str().map_err(|cause| refuse(object, cause))?;
    Ok(Encoded::Copied(text.as_bytes().into()))
}

/// The object that this JSON, a `str`, stands for.
pub(crate) fn decode<'py>(text: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
    static DECODE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = text.py();
    let decode = DECODE.get_or_try_init(py, || {
        let decoder = py.import("json")?.getattr("JSONDecoder")?.call0()?;
        PyResult::Ok(decoder.getattr("decode")?.unbind())
    })?;
    decode.bind(py).call1((text,)).map_err(|cause| {
        if cause.is_instance_of::<PyValueError>(py) {
            return error::encoding(format!("the value is not JSON: {}", shown(text))).caused_by(py, cause);
        }
        cause.into()
    })
}

/// What the encoder says of an object; an exception of the object's own methods passes as it is.
fn refuse(object: &Bound<'_, PyAny>, cause: PyErr) -> error::Failure {
    let py = object.py();
    if cause.is_instance_of::<PyTypeError>(py) {
        return error::wrong_type("value", "what JSON can hold", object).caused_by(py, cause);
    }
    if cause.is_instance_of::<PyValueError>(py) {
        let message = format!("the value has no form in JSON: {}", shown(object));
        return error::encoding(message).caused_by(py, cause);
    }
    cause.into()
}
