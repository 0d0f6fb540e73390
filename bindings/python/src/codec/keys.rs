//! The codecs of keys.

use std::ops::Bound as End;

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString};
use pyo3::{PyTraverseError, PyVisit};
use twindex::MAX_KEY_BYTES;
use twindex_codec::int;

use super::content::{Content, encode_bytes, encode_text, integer, make_text};
use super::custom::Custom;
use super::encoded::Encoded;
use super::object::{self, OBJECT};
use super::tuple;
use crate::error::{self, Result, shown};
use crate::objects;

/// Where a range of encoded keys begins and ends.
type Bounds = (End<Vec<u8>>, End<Vec<u8>>);

/// The encoding of keys.
pub(crate) enum KeyCodec {
    Bytes,
    Str,
    /// Eight bytes, in the order of the numbers.
    Int,
    /// Bytes in the order of the tuples.
    Tuple,
    /// Any object, of caches alone.
    Object,
    Custom(Box<Custom>),
}

impl KeyCodec {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        match self {
            Self::Bytes => Self::Bytes,
            Self::Str => Self::Str,
            Self::Int => Self::Int,
            Self::Tuple => Self::Tuple,
            Self::Object => Self::Object,
            Self::Custom(custom) => Self::Custom(Box::new(custom.clone_ref(py))),
        }
    }

    /// Shows the garbage collector what is held.
    pub(super) fn visit(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        if let Self::Custom(custom) = self { custom.visit(visit) } else { Ok(()) }
    }

    /// The codec that this object is, or is the name of.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> Result<Self> {
        if let Ok(name) = object.cast::<PyString>() {
            let name = name.to_string_lossy();
            return Self::named(&name).ok_or_else(|| {
                let known = r#"it is "bytes", "str", "int", "tuple" or a twindex.Codec"#;
                error::option(format!("unknown codec of keys {name:?}, {known}"))
            });
        }
        match Custom::of(object)? {
            Some(custom) => Ok(Self::Custom(Box::new(custom))),
            None => Err(error::wrong_type("keys", "the name of a codec or a twindex.Codec", object)),
        }
    }

    /// As [`of`](Self::of), of a cache.
    pub(crate) fn of_cache(object: &Bound<'_, PyAny>) -> Result<Self> {
        if object.cast::<PyString>().is_ok_and(|name| name.to_string_lossy() == OBJECT) {
            return Ok(Self::Object);
        }
        Self::of(object)
    }

    /// The one of this name that needs no functions.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "bytes" => Some(Self::Bytes),
            "str" => Some(Self::Str),
            "int" => Some(Self::Int),
            "tuple" => Some(Self::Tuple),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::Bytes => "bytes",
            Self::Str => "str",
            Self::Int => "int",
            Self::Tuple => "tuple",
            Self::Object => OBJECT,
            Self::Custom(custom) => &custom.name,
        }
    }

    /// What `Store.table` takes for it.
    pub(crate) fn object<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Custom(custom) => Ok(custom.codec.bind(py).clone()),
            _ => Ok(objects::text(py, self.name())?),
        }
    }

    #[inline]
    pub(crate) fn encode<'a>(&self, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        self.encode_as(Content::Key, key)
    }

    /// A key to look for, or where a range ends, which may have any length. No key that is there has more than
    /// `MAX_KEY_BYTES`, so one byte more is as good as all.
    #[inline]
    pub(crate) fn encode_sought<'a>(&self, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        Ok(match self.encode_as(Content::Sought, key)? {
            Encoded::Borrowed(bytes) => Encoded::Borrowed(&bytes[..bytes.len().min(MAX_KEY_BYTES + 1)]),
            encoded => encoded,
        })
    }

    #[inline]
    fn encode_as<'a>(&self, content: Content, key: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        match self {
            Self::Bytes => encode_bytes(content, key),
            Self::Str => encode_text(content, key),
            Self::Int => Ok(Encoded::Ordered(int::encode(integer("key", key)?))),
            Self::Tuple => tuple::encode(content, key),
            Self::Object => object::encode_key(content, key),
            Self::Custom(custom) => custom.encode(content, key),
        }
    }

    /// The key, or what [`finish`](Self::finish) makes it from. Runs no Python code.
    #[inline]
    pub(crate) fn make<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Tuple | Self::Object | Self::Custom(_) => Ok(objects::bytes(py, key)?),
            Self::Str => make_text(Content::Key, py, key),
            Self::Int => Ok(objects::integer(py, int::decode(key)?)?),
        }
    }

    /// The key from what [`make`](Self::make) made.
    #[inline]
    pub(crate) fn finish<'py>(&self, made: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Str | Self::Int => Ok(made),
            Self::Tuple => tuple::decode(made.py(), of_bytes(&made)?.as_bytes()),
            Self::Object => object::decode_key(of_bytes(&made)?),
            Self::Custom(custom) => custom.decode(of_bytes(&made)?),
        }
    }

    pub(crate) fn decode<'py>(&self, py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.finish(self.make(py, key)?)
    }

    /// Where the keys begin and end that start with this one.
    pub(crate) fn prefix_range(&self, prefix: &Bound<'_, PyAny>) -> Result<Bounds> {
        let encoded = self.encode_sought(prefix)?;
        match self {
            Self::Bytes | Self::Str => Ok(twindex::prefix_range(encoded.as_ref())),
            Self::Tuple => Ok(twindex_codec::tuple::prefix_range(encoded.as_ref())?),
            Self::Int | Self::Object | Self::Custom(_) => {
                Err(error::option(format!("{} keys have no prefix (prefix={})", self.name(), shown(prefix))))
            }
        }
    }
}

fn of_bytes<'a, 'py>(made: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, PyBytes>> {
    Ok(made.cast::<PyBytes>().map_err(PyErr::from)?)
}
