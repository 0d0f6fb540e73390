//! Keys and values of caches that may be any object.
//!
//! Frequent objects have a short form. Everything else is pickled, and a pickle begins with a byte that no short form does.

use pyo3::types::PyByteArray;
use twindex_codec::tuple::{Short, Writer};

use super::content::Content;
use super::encoded::Encoded;
use super::foreign::Format;
use super::tuple;
use crate::prelude::*;

/// What a cache may have for keys and values besides: any object.
pub(super) const OBJECT: &str = "object";

/// The first byte of a pickle.
const PICKLE: u8 = 0x80;
/// The first bytes of values that need no pickle.
const NONE: u8 = b'n';
const FALSE: u8 = b'f';
const TRUE: u8 = b't';
const INT: u8 = b'i';
const FLOAT: u8 = b'd';
const TEXT: u8 = b's';
const BYTES: u8 = b'b';

/// A key is the one item of a tuple key, or the pickle of what cannot be one. Equal keys have equal bytes.
#[inline]
pub(super) fn encode_key<'a>(content: Content, key: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    static ONE_FORM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    static PICKLE_KEY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    if let Ok(text) = key.cast_exact::<PyString>() {
        if let Some(short) = text.to_str().ok().and_then(Short::text) {
            return Ok(Encoded::Short(short));
        }
    } else if let Ok(number) = key.cast_exact::<PyInt>()
        && let Ok(number) = number.extract()
    {
        return Ok(Encoded::Short(Short::int(number)));
    }
    if let Some(encoded) = encode_plain(content, key)? {
        return Ok(encoded);
    }
    let (py, format) = (key.py(), Format::pickle(key.py())?);
    let one_form = ONE_FORM.import(py, "twindex._pickles", "one_form")?;
    let form = one_form.call1((key,)).map_err(|cause| format.refuse("key", key, cause))?;
    if let Some(encoded) = encode_plain(content, &form)? {
        return Ok(encoded);
    }
    let pickle = PICKLE_KEY.import(py, "twindex._pickles", "pickle_key")?;
    let pickled = pickle.call1((form,)).map_err(|cause| format.refuse("key", key, cause))?;
    copied(pickled.cast::<PyBytes>().map_err(PyErr::from)?.as_bytes(), None)
}

/// `None` for what is to be brought to one form first.
fn encode_plain<'a>(content: Content, key: &Bound<'_, PyAny>) -> Result<Option<Encoded<'a>>> {
    let mut writer = Writer::new();
    if !write_plain(&mut writer, key)? {
        return Ok(None);
    }
    let bytes = if content == Content::Key { writer.finish() } else { writer.finish_sought() };
    Ok(Some(Encoded::Copied(bytes?.into())))
}

/// Writes what tuples hold, equal numbers as the same integer. False where the key, or a part of it, is something else.
fn write_plain(to: &mut Writer, key: &Bound<'_, PyAny>) -> Result<bool> {
    if let Ok(text) = key.cast_exact::<PyString>() {
        // Half a character has no form in UTF-8.
        let Ok(text) = text.to_str() else { return Ok(false) };
        to.text(text)?;
    } else if let Ok(number) = key.cast_exact::<PyInt>() {
        let Ok(number) = number.extract() else { return Ok(false) };
        to.int(number)?;
    } else if let Ok(flag) = key.cast_exact::<PyBool>() {
        to.int(flag.is_true().into())?;
    } else if let Ok(number) = key.cast_exact::<PyFloat>() {
        return write_float(to, number.value());
    } else if let Ok(items) = key.cast::<PyTuple>()
        && compares_as_tuple(key)?
    {
        to.begin()?;
        for item in items.iter_borrowed() {
            if !write_plain(to, &item)? {
                return Ok(false);
            }
        }
        to.end()?;
    } else if key.is_none() {
        to.null()?;
    } else if let Ok(bytes) = key.cast_exact::<PyBytes>() {
        to.bytes(objects::content(bytes))?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// A named tuple does, and so do the keys that cachetools makes of arguments.
fn compares_as_tuple(key: &Bound<'_, PyAny>) -> PyResult<bool> {
    let (py, kind) = (key.py(), key.get_type());
    let tuple = py.get_type::<PyTuple>();
    if kind.is(&tuple) {
        return Ok(true);
    }
    let name = pyo3::intern!(py, "__eq__");
    Ok(kind.getattr(name)?.is(&tuple.getattr(name)?))
}

fn write_float(to: &mut Writer, number: f64) -> Result<bool> {
    const END_OF_INTEGERS: f64 = 9_223_372_036_854_775_808.0;
    if number.fract() != 0.0 || number.is_infinite() || number.is_nan() {
        to.float(number)?;
        return Ok(true);
    }
    let fits = (-END_OF_INTEGERS..END_OF_INTEGERS).contains(&number);
    if fits {
        to.int(number as i64)?;
    }
    Ok(fits)
}

pub(super) fn decode_key<'py>(key: &Bound<'py, PyBytes>) -> Result<Bound<'py, PyAny>> {
    if key.as_bytes().first() == Some(&PICKLE) {
        return Format::pickle(key.py())?.decode(key.as_any());
    }
    let items = tuple::decode(key.py(), key.as_bytes())?;
    match items.cast::<PyTuple>().ok().filter(|items| items.len() == 1) {
        Some(items) => Ok(items.get_item(0)?),
        None => Err(unreadable("key", key.as_bytes())),
    }
}

pub(super) fn encode_value<'a>(value: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    if let Ok(text) = value.cast_exact::<PyString>() {
        if let Ok(text) = text.to_str() {
            return copied(text.as_bytes(), Some(TEXT));
        }
    } else if let Ok(bytes) = value.cast_exact::<PyBytes>() {
        return copied(objects::content(bytes), Some(BYTES));
    } else if let Ok(number) = value.cast_exact::<PyInt>() {
        if let Ok(number) = number.extract::<i64>() {
            return copied(&number.to_le_bytes(), Some(INT));
        }
    } else if let Ok(number) = value.cast_exact::<PyFloat>() {
        return copied(&number.value().to_le_bytes(), Some(FLOAT));
    } else if let Ok(flag) = value.cast_exact::<PyBool>() {
        return copied(&[], Some(if flag.is_true() { TRUE } else { FALSE }));
    } else if value.is_none() {
        return copied(&[], Some(NONE));
    }
    Format::pickle(value.py())?.encode(value)
}

/// The value, or its pickle as a `bytearray`, which no value is. Runs no Python code.
pub(super) fn make_value<'py>(py: Python<'py>, value: &[u8]) -> Result<Bound<'py, PyAny>> {
    let Some((kind, content)) = value.split_first() else { return Err(unreadable("value", value)) };
    let number = || <[u8; 8]>::try_from(content).map_err(|_| unreadable("value", value));
    Ok(match *kind {
        NONE => py.None().into_bound(py),
        FALSE | TRUE => PyBool::new(py, *kind == TRUE).to_owned().into_any(),
        INT => objects::integer(py, i64::from_le_bytes(number()?))?,
        FLOAT => objects::float(py, f64::from_le_bytes(number()?))?,
        TEXT => objects::text(py, objects::utf8(content).map_err(|_| unreadable("value", value))?)?,
        BYTES => objects::bytes(py, content)?,
        PICKLE => objects::bytearray(py, value)?,
        _ => return Err(unreadable("value", value)),
    })
}

pub(super) fn finish_value(made: Bound<'_, PyAny>) -> Result<Bound<'_, PyAny>> {
    if made.cast_exact::<PyByteArray>().is_ok() {
        return Format::pickle(made.py())?.decode(&made);
    }
    Ok(made)
}

fn copied<'a>(content: &[u8], kind: Option<u8>) -> Result<Encoded<'a>> {
    let mut copy = with_room(content.len() + usize::from(kind.is_some()))?;
    copy.extend(kind);
    copy.extend_from_slice(content);
    Ok(Encoded::Copied(copy.into()))
}

#[cold]
fn unreadable(what: &str, bytes: &[u8]) -> error::Failure {
    error::encoding(format!("the {what} is not an object's: \"{}\"", twindex_codec::Excerpt(bytes)))
}
