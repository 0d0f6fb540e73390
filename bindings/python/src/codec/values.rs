//! The codecs of values.

use twindex_codec::decimal;

use super::content::{Content, encode_bytes, encode_text, integer, make_text};
use super::encoded::Encoded;
use super::foreign::Format;
use super::kind::codec;
use super::object;
use crate::prelude::*;

codec! {
    /// The encoding of values: "int" is decimal text.
    ValueCodec of "values",
    named by any table: Bytes "bytes", Str "str", Int "int", Json "json", Msgpack "msgpack";
    by a program alone: Pickle "pickle";
    known: r#"it is "bytes", "str", "int", "json", "msgpack", "pickle" or a twindex.Codec"#
}

impl ValueCodec {
    /// That the package is there that it needs.
    pub(crate) fn check_package(&self, py: Python<'_>) -> Result<()> {
        if matches!(self, Self::Msgpack) { Format::msgpack(py).map(drop) } else { Ok(()) }
    }

    #[inline]
    pub(crate) fn encode<'a>(&self, value: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        match self {
            Self::Bytes => encode_bytes(Content::Value, value),
            Self::Str => encode_text(Content::Value, value),
            Self::Int => Ok(Encoded::Decimal(decimal::encode(integer("value", value)?))),
            Self::Json => Format::json(value.py())?.encode(value),
            Self::Msgpack => Format::msgpack(value.py())?.encode(value),
            Self::Pickle => Format::pickle(value.py())?.encode(value),
            Self::Object => object::encode_value(value),
            Self::Custom(custom) => custom.encode(Content::Value, value),
        }
    }

    /// That values are text, which may be a decimal number.
    pub(crate) fn check_decimal(&self) -> Result<()> {
        match self {
            Self::Bytes | Self::Str | Self::Int | Self::Json => Ok(()),
            Self::Msgpack | Self::Pickle | Self::Object | Self::Custom(_) => Err(error::misuse(format!(
                "increment adds to decimal text, which {} values are not",
                self.name()
            ))),
        }
    }

    /// Whether None is a value like any other.
    pub(crate) fn has_none(&self) -> bool {
        matches!(self, Self::Json | Self::Msgpack | Self::Pickle | Self::Object | Self::Custom(_))
    }

    /// [`encode`](Self::encode), with `None` for an absent value.
    pub(crate) fn encode_present<'a>(&self, value: &'a Bound<'_, PyAny>) -> Result<Option<Encoded<'a>>> {
        if value.is_none() { Ok(None) } else { self.encode(value).map(Some) }
    }

    /// The value that the function of `alter` returned. A function without a `return` returns None.
    pub(crate) fn encode_returned<'a>(&self, value: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
        if value.is_none() && !self.has_none() {
            return Err(error::misuse(
                "the function of alter must return the new value, twindex.DELETE or twindex.KEEP, not None",
            ));
        }
        self.encode(value)
    }

    /// The value, or what [`finish`](Self::finish) makes it from. Runs no Python code.
    #[inline]
    pub(crate) fn make<'py>(&self, py: Python<'py>, value: &[u8]) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Msgpack | Self::Pickle | Self::Custom(_) => Ok(objects::bytes(py, value)?),
            Self::Str | Self::Json => make_text(Content::Value, py, value),
            Self::Int => Ok(objects::integer(py, decimal::decode(value)?)?),
            Self::Object => object::make_value(py, value),
        }
    }

    /// The value from what [`make`](Self::make) made.
    #[inline]
    pub(crate) fn finish<'py>(&self, made: Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        match self {
            Self::Bytes | Self::Str | Self::Int => Ok(made),
            Self::Json => Format::json(made.py())?.decode_text(&made),
            Self::Msgpack => Format::msgpack(made.py())?.decode(&made),
            Self::Pickle => Format::pickle(made.py())?.decode(&made),
            Self::Object => object::finish_value(made),
            Self::Custom(custom) => custom.decode(made.cast::<PyBytes>().map_err(PyErr::from)?),
        }
    }

    pub(crate) fn decode<'py>(&self, py: Python<'py>, value: &[u8]) -> Result<Bound<'py, PyAny>> {
        self.finish(self.make(py, value)?)
    }
}
