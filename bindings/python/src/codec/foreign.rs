//! Values by way of Python packages: JSON and pickles by the standard library, `MessagePack` by `msgpack`.

use pyo3::exceptions::{
    PyAttributeError, PyBufferError, PyEOFError, PyImportError, PyLookupError, PyOverflowError,
    PyRecursionError, PyTypeError, PyValueError,
};
use pyo3::types::IntoPyDict;

use super::encoded::Encoded;
use super::nesting::Nesting;
use crate::prelude::*;

/// A format and the functions that read and write it.
pub(super) struct Format {
    name: &'static str,
    encode: Py<PyAny>,
    decode: Py<PyAny>,
    /// What else than `ValueError` the two raise of a value or of bytes that are not right.
    refusal: Option<Py<PyAny>>,
    nesting: Option<Nesting>,
}

impl Format {
    pub(super) fn json(py: Python<'_>) -> Result<&Self> {
        static FORMAT: PyOnceLock<Format> = PyOnceLock::new();
        FORMAT.get_or_try_init(py, || {
            let json = py.import("json")?;
            let options = [("allow_nan", false), ("ensure_ascii", false)].into_py_dict(py)?;
            options.set_item("separators", (",", ":"))?;
            let encoder = json.getattr("JSONEncoder")?.call((), Some(&options))?;
            // `NaN` and the infinities are no JSON: `int` cannot read them, and says so.
            let options = [("parse_constant", py.get_type::<PyInt>())].into_py_dict(py)?;
            let decoder = json.getattr("JSONDecoder")?.call((), Some(&options))?;
            Ok(Self {
                name: "JSON",
                encode: encoder.getattr("encode")?.unbind(),
                decode: decoder.getattr("decode")?.unbind(),
                refusal: None,
                nesting: Some(Nesting::Json),
            })
        })
    }

    /// Keys of maps may be anything, as those of a `dict` may.
    pub(super) fn msgpack(py: Python<'_>) -> Result<&Self> {
        static FORMAT: PyOnceLock<Format> = PyOnceLock::new();
        FORMAT.get_or_try_init(py, || {
            let msgpack = py.import("msgpack").map_err(|cause| {
                let message = "the codec \"msgpack\" needs the package msgpack: pip install msgpack";
                Failure::from(PyImportError::new_err(message)).caused_by(py, cause)
            })?;
            let options = [("strict_map_key", false)].into_py_dict(py)?;
            Ok(Self {
                name: "MessagePack",
                encode: msgpack.getattr("packb")?.unbind(),
                decode: partial(py, &msgpack.getattr("unpackb")?, &options)?,
                // A key that no `dict` can have, such as a list.
                refusal: Some(py.get_type::<PyTypeError>().into_any().unbind()),
                nesting: Some(Nesting::Msgpack),
            })
        })
    }

    pub(super) fn pickle(py: Python<'_>) -> Result<&Self> {
        static FORMAT: PyOnceLock<Format> = PyOnceLock::new();
        FORMAT.get_or_try_init(py, || {
            let pickle = py.import("pickle")?;
            let options = [("protocol", 5)].into_py_dict(py)?;
            Ok(Self {
                name: "a pickle",
                encode: partial(py, &pickle.getattr("dumps")?, &options)?,
                decode: pickle.getattr("loads")?.unbind(),
                refusal: Some(
                    (pickle.getattr("PickleError")?, py.get_type::<PyAttributeError>())
                        .into_pyobject(py)?
                        .into_any()
                        .unbind(),
                ),
                nesting: None,
            })
        })
    }

    pub(super) fn encode<'a>(&self, object: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        let py = object.py();
        let builtin = match self.nesting {
            Some(nesting) => nesting.builtin(object)?,
            None => None,
        };
        let given = builtin.as_ref().unwrap_or(object);
        let encoded =
            self.encode.bind(py).call1((given,)).map_err(|cause| self.refuse("value", object, cause))?;
        if let Ok(bytes) = encoded.cast::<PyBytes>() {
            return copied(bytes.as_bytes());
        }
        let text = encoded.cast::<PyString>().map_err(PyErr::from)?;
        let text = text.to_str().map_err(|cause| self.refuse("value", object, cause))?;
        copied(text.as_bytes())
    }

    /// The object that these bytes or this text stands for.
    pub(super) fn decode<'py>(&self, stored: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let py = stored.py();
        self.decode.bind(py).call1((stored,)).map_err(|cause| {
            // Cut off, or arrays in arrays, deeper than Python goes.
            let is_bad =
                cause.is_instance_of::<PyEOFError>(py) || cause.is_instance_of::<PyRecursionError>(py);
            // A class that is gone, or that no longer takes what it once was.
            let is_of_class = self.nesting.is_none()
                && (cause.is_instance_of::<PyImportError>(py)
                    || cause.is_instance_of::<PyLookupError>(py)
                    || cause.is_instance_of::<PyTypeError>(py));
            if self.is_refusal(py, &cause) || is_bad || is_of_class {
                return self.unreadable(stored).caused_by(py, cause);
            }
            cause.into()
        })
    }

    /// [`decode`](Self::decode) of JSON. It can escape half of a character, which text has none of, and name numbers past all
    /// floats, which become infinite: they could not be written back.
    pub(super) fn decode_text<'py>(&self, stored: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        let decoded = self.decode(stored)?;
        if may_not_go_back(stored.cast::<PyString>().map_err(PyErr::from)?.to_str()?) {
            self.encode(&decoded)
                .map_err(|cause| self.unreadable(stored).caused_by(stored.py(), cause.into()))?;
        }
        Ok(decoded)
    }

    #[cold]
    fn unreadable(&self, stored: &Bound<'_, PyAny>) -> Failure {
        error::encoding(format!("the value cannot be read as {}: {}", self.name, shown(stored)))
    }

    /// What the encoder says of an object; an exception of the object's own methods passes as it is.
    pub(super) fn refuse(&self, what: &str, object: &Bound<'_, PyAny>, cause: PyErr) -> Failure {
        let py = object.py();
        if cause.is_instance_of::<PyTypeError>(py) || cause.is_instance_of::<PyBufferError>(py) {
            let expected = format!("what {} can hold", self.name);
            return error::wrong_type(what, &expected, object).caused_by(py, cause);
        }
        let is_deep = cause.is_instance_of::<PyRecursionError>(py);
        if self.is_refusal(py, &cause) || is_deep || cause.is_instance_of::<PyOverflowError>(py) {
            let message = format!("the {what} has no form in {}: {}", self.name, shown(object));
            return error::encoding(message).caused_by(py, cause);
        }
        cause.into()
    }

    fn is_refusal(&self, py: Python<'_>, cause: &PyErr) -> bool {
        cause.is_instance_of::<PyValueError>(py)
            || self.refusal.as_ref().is_some_and(|kind| cause.is_instance(py, kind.bind(py)))
    }
}

/// Whether JSON may say what it cannot say again once it was read. Without an escape of half a character, an exponent or as
/// many digits as the greatest float has it does not.
fn may_not_go_back(text: &str) -> bool {
    const DIGITS: usize = 309;
    let (mut digits, text) = (0, text.as_bytes());
    text.iter().enumerate().any(|(at, byte)| {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'e' | b'E' if digits > 0 => return true,
            b'\\' if matches!(text.get(at + 1..), Some([b'u', b'd' | b'D', ..])) => return true,
            _ => digits = 0,
        }
        digits == DIGITS
    })
}

fn copied<'a>(content: &[u8]) -> Result<Encoded<'a>> {
    let mut copy = with_room(content.len())?;
    copy.extend_from_slice(content);
    Ok(Encoded::Copied(copy.into()))
}

/// The function with these options.
fn partial(py: Python<'_>, function: &Bound<'_, PyAny>, options: &Bound<'_, PyDict>) -> Result<Py<PyAny>> {
    Ok(py.import("functools")?.getattr("partial")?.call((function,), Some(options))?.unbind())
}
