//! The codecs of keys.

use std::ops::Bound as End;

use twindex::MAX_KEY_BYTES;
use twindex_codec::int;

use super::content::{Content, encode_bytes, encode_text, integer, make_text};
use super::encoded::Encoded;
use super::kind::codec;
use super::{object, tuple};
use crate::prelude::*;

/// Where a range of encoded keys begins and ends.
type Bounds = (End<Vec<u8>>, End<Vec<u8>>);

codec! {
    /// The encoding of keys: "int" is eight bytes in the order of the numbers, "tuple" bytes in that of the tuples.
    KeyCodec of "keys",
    named by any table: Bytes "bytes", Str "str", Int "int", Tuple "tuple";
    by a program alone:;
    known: r#"it is "bytes", "str", "int", "tuple" or a twindex.Codec"#
}

impl KeyCodec {
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
        let encoded = self.prefix(prefix)?;
        match self {
            Self::Tuple => Ok(twindex_codec::tuple::prefix_range(encoded.as_ref())?),
            _ => Ok(twindex::prefix_range(encoded.as_ref())),
        }
    }

    /// What the keys begin with that start with this one.
    pub(crate) fn prefix<'a>(&self, prefix: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        match self {
            Self::Bytes | Self::Str | Self::Tuple => self.encode_sought(prefix),
            Self::Int | Self::Object | Self::Custom(_) => {
                Err(error::option(format!("{} keys have no prefix (prefix={})", self.name(), shown(prefix))))
            }
        }
    }
}

fn of_bytes<'a, 'py>(made: &'a Bound<'py, PyAny>) -> Result<&'a Bound<'py, PyBytes>> {
    Ok(made.cast::<PyBytes>().map_err(PyErr::from)?)
}
