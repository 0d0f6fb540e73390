//! How the keys and values of a table are encoded.
//!
//! `encode` may run Python code and comes before the engine is called. `make` runs none, so it may be
//! called by the engine; what is left to do then is `finish`'s.

mod encoded;
mod foreign;
mod tuple;

use std::ops::Bound as End;

use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString, PyTuple};
use twindex::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

pub(crate) use self::encoded::Encoded;
use self::foreign::Format;
use crate::buffer::Buffer;
use crate::error::{self, Result, shown};
use crate::objects;

/// Where a range of encoded keys begins and ends.
type Bounds = (End<Vec<u8>>, End<Vec<u8>>);

/// The encoding of keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyCodec {
    Bytes,
    Str,
    /// Eight bytes, in the order of the numbers.
    Int,
    /// Bytes in the order of the tuples.
    Tuple,
}

/// The encoding of values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueCodec {
    Bytes,
    Str,
    /// Decimal text.
    Int,
    Json,
    Msgpack,
    Pickle,
}

impl KeyCodec {
    pub(crate) fn parse(name: &str) -> Result<Self> {
        match name {
            "bytes" => Ok(Self::Bytes),
            "str" => Ok(Self::Str),
            "int" => Ok(Self::Int),
            "tuple" => Ok(Self::Tuple),
            _ => Err(error::option(format!(
                "unknown codec of keys {name:?}, it is \"bytes\", \"str\", \"int\" or \"tuple\""
            ))),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Str => "str",
            Self::Int => "int",
            Self::Tuple => "tuple",
        }
    }

    #[inline]
    pub(crate) fn encode<'a>(self, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        self.encode_of(Content::Key, key)
    }

    /// A key to look for, or where a range ends, which may have any length. No key that is there has more than
    /// `MAX_KEY_BYTES`, so one byte more is as good as all.
    #[inline]
    pub(crate) fn encode_sought<'a>(self, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        Ok(match self.encode_of(Content::Sought, key)? {
            Encoded::Borrowed(bytes) => Encoded::Borrowed(&bytes[..bytes.len().min(MAX_KEY_BYTES + 1)]),
            encoded => encoded,
        })
    }

    #[inline]
    fn encode_of<'a>(self, content: Content, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        match self {
            Self::Bytes => encode_bytes(content, key),
            Self::Str => encode_text("key", key),
            Self::Int => integer("key", key).map(Encoded::ordered_integer),
            Self::Tuple => encode_tuple(content, key),
        }
    }

    /// The key, or what [`finish`](Self::finish) makes it from. Runs no Python code.
    #[inline]
    pub(crate) fn make<'py>(self, py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Tuple => Ok(objects::bytes(py, key)?),
            Self::Str => make_text("key", py, key),
            Self::Int => match key.try_into() {
                Ok(bytes) => Ok(objects::integer(py, i64::from_be_bytes(bytes) ^ i64::MIN)?),
                Err(_) => Err(error::encoding(format!(
                    "the key is not an integer of 8 bytes, it has {}: {}",
                    key.len(),
                    excerpt(key)
                ))),
            },
        }
    }

    /// The bounds of the keys that start with this one, as they are encoded; `None` for a codec without such.
    pub(crate) fn prefix_range(self, prefix: &[u8]) -> Option<Bounds> {
        match self {
            Self::Bytes | Self::Str => Some(twindex::prefix_range(prefix)),
            Self::Int => None,
            Self::Tuple => Some((End::Included(prefix.into()), End::Excluded(tuple::end_of_prefix(prefix)))),
        }
    }

    /// The key from what [`make`](Self::make) made.
    #[inline]
    pub(crate) fn finish(self, made: Bound<'_, PyAny>) -> Result<Bound<'_, PyAny>> {
        if self != Self::Tuple {
            return Ok(made);
        }
        let key = made.cast_into::<PyBytes>().map_err(PyErr::from)?;
        tuple::decode(key.py(), key.as_bytes())
    }

    pub(crate) fn decode<'py>(self, py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.finish(self.make(py, key)?)
    }
}

impl ValueCodec {
    /// The codec of this name, once the package that it needs is there.
    pub(crate) fn parse(py: Python<'_>, name: &str) -> Result<Self> {
        match name {
            "bytes" => Ok(Self::Bytes),
            "str" => Ok(Self::Str),
            "int" => Ok(Self::Int),
            "json" => Ok(Self::Json),
            "msgpack" => Format::msgpack(py).map(|_| Self::Msgpack),
            "pickle" => Ok(Self::Pickle),
            _ => Err(error::option(format!(
                "unknown codec of values {name:?}, \
                 it is \"bytes\", \"str\", \"int\", \"json\", \"msgpack\" or \"pickle\""
            ))),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Str => "str",
            Self::Int => "int",
            Self::Json => "json",
            Self::Msgpack => "msgpack",
            Self::Pickle => "pickle",
        }
    }

    #[inline]
    pub(crate) fn encode<'a>(self, value: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        match self {
            Self::Bytes => encode_bytes(Content::Value, value),
            Self::Str => encode_text("value", value),
            Self::Int => integer("value", value).map(Encoded::decimal_integer),
            Self::Json => Format::json(value.py())?.encode(value),
            Self::Msgpack => Format::msgpack(value.py())?.encode(value),
            Self::Pickle => Format::pickle(value.py())?.encode(value),
        }
    }

    /// That values are text, which may be a decimal number.
    pub(crate) fn check_decimal(self) -> Result<()> {
        match self {
            Self::Bytes | Self::Str | Self::Int | Self::Json => Ok(()),
            Self::Msgpack | Self::Pickle => Err(error::misuse(format!(
                "increment adds to decimal text, which {} values are not",
                self.name()
            ))),
        }
    }

    /// [`encode`](Self::encode), with `None` for an absent value.
    pub(crate) fn encode_present<'a>(self, value: &'a Bound<'_, PyAny>) -> Result<Option<Encoded<'a>>> {
        if value.is_none() { Ok(None) } else { self.encode(value).map(Some) }
    }

    /// The value, or what [`finish`](Self::finish) makes it from. Runs no Python code.
    #[inline]
    pub(crate) fn make<'py>(self, py: Python<'py>, value: &[u8]) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Msgpack | Self::Pickle => Ok(objects::bytes(py, value)?),
            Self::Str | Self::Json => make_text("value", py, value),
            Self::Int => match std::str::from_utf8(value).ok().and_then(|text| text.parse().ok()) {
                Some(number) => Ok(objects::integer(py, number)?),
                None => Err(error::not_an_integer(format!(
                    "the value is not a decimal integer of 64 bits: {}",
                    excerpt(value)
                ))),
            },
        }
    }

    /// Whether what [`make`](Self::make) makes is the value already.
    #[inline]
    fn is_made_at_once(self) -> bool {
        matches!(self, Self::Bytes | Self::Str | Self::Int)
    }

    /// The value from what [`make`](Self::make) made.
    #[inline]
    pub(crate) fn finish(self, made: Bound<'_, PyAny>) -> Result<Bound<'_, PyAny>> {
        if self.is_made_at_once() { Ok(made) } else { self.finish_foreign(made) }
    }

    fn finish_foreign(self, made: Bound<'_, PyAny>) -> Result<Bound<'_, PyAny>> {
        match self {
            Self::Bytes | Self::Str | Self::Int => Ok(made),
            Self::Json => Format::json(made.py())?.decode(&made),
            Self::Msgpack => Format::msgpack(made.py())?.decode(&made),
            Self::Pickle => Format::pickle(made.py())?.decode(&made),
        }
    }

    pub(crate) fn decode<'py>(self, py: Python<'py>, value: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.finish(self.make(py, value)?)
    }
}

/// What bytes are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    /// A key to be written.
    Key,
    /// A key to be looked for.
    Sought,
    Value,
}

#[inline]
fn encode_bytes<'a>(content: Content, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    match object.cast_exact::<PyBytes>() {
        Ok(bytes) => Ok(Encoded::Borrowed(objects::content(bytes))),
        Err(_) => encode_buffer(content, object),
    }
}

/// Looks at the length before it copies: an object may show more bytes than there is memory.
#[cold]
fn encode_buffer<'a>(content: Content, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Encoded::Borrowed(objects::content(bytes)));
    }
    let what = if content == Content::Value { "value" } else { "key" };
    let Some(buffer) = Buffer::of(what, object)? else {
        return Err(error::wrong_type(what, "bytes, bytearray or memoryview", object));
    };
    let len = buffer.len();
    match content {
        Content::Key if len > MAX_KEY_BYTES => return Err(error::key_too_long(len, &buffer.copy(EXCERPT)?)),
        Content::Value if len as u64 > MAX_VALUE_BYTES => {
            return Err(twindex::Error::ValueTooLarge { len: len as u64 }.into());
        }
        _ => {}
    }
    let most = if content == Content::Value { len } else { MAX_KEY_BYTES + 1 };
    Ok(Encoded::Copied(buffer.copy(most)?.into()))
}

#[inline]
fn encode_text<'a>(what: &str, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    let Ok(text) = object.cast::<PyString>() else { return Err(error::wrong_type(what, "str", object)) };
    utf8(what, text).map(|text| Encoded::Borrowed(text.as_bytes()))
}

#[inline]
fn utf8<'a>(what: &str, text: &'a Bound<'_, PyString>) -> Result<&'a str> {
    text.to_str().map_err(|cause| {
        if cause.is_instance_of::<PyMemoryError>(text.py()) {
            return cause.into();
        }
        let message = format!("the {what} has no form in UTF-8: {}", shown(text));
        error::encoding(message).caused_by(text.py(), cause)
    })
}

fn encode_tuple<'a>(content: Content, key: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    let Ok(items) = key.cast::<PyTuple>() else { return Err(error::wrong_type("key", "tuple", key)) };
    let (bytes, len) = tuple::encode(items)?;
    if content == Content::Key && len > MAX_KEY_BYTES {
        return Err(error::key_too_long(len, &bytes));
    }
    Ok(Encoded::Copied(bytes.into()))
}

/// An integer of 64 bits.
#[inline]
pub(crate) fn integer(what: &str, object: &Bound<'_, PyAny>) -> Result<i64> {
    let Ok(number) = object.cast::<PyInt>() else { return Err(error::wrong_type(what, "int", object)) };
    number.extract().map_err(|_| error::overflow(what, object))
}

#[inline]
fn make_text<'py>(what: &str, py: Python<'py>, bytes: &[u8]) -> Result<Bound<'py, PyAny>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(objects::text(py, text)?),
        Err(_) => Err(error::encoding(format!("the {what} is not UTF-8: {}", excerpt(bytes)))),
    }
}

/// So many bytes of a key or a value are in an error message.
pub(crate) const EXCERPT: usize = 32;

/// The start of some bytes as Python would show them.
fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(EXCERPT)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("b\"{}\"{dots}", shown.escape_ascii())
}
