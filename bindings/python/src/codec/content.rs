//! Bytes, text and integers.

use pyo3::exceptions::PyMemoryError;
use twindex::{MAX_KEY_BYTES, MAX_VALUE_BYTES};
use twindex_codec::Excerpt;

use super::encoded::Encoded;
use crate::buffer::Buffer;
use crate::prelude::*;

/// What bytes are for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// A key to be written.
    Key,
    /// A key to look for.
    Sought,
    Value,
}

impl Content {
    pub(super) fn name(self) -> &'static str {
        if self == Self::Value { "value" } else { "key" }
    }
}

#[inline]
pub(super) fn encode_bytes<'a>(content: Content, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    match object.cast_exact::<PyBytes>() {
        Ok(bytes) => Ok(Encoded::Borrowed(objects::content(bytes))),
        Err(_) => encode_buffer(content, object),
    }
}

#[cold]
fn encode_buffer<'a>(content: Content, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(Encoded::Borrowed(objects::content(bytes)));
    }
    match copy_buffer(content, object)? {
        Some(copy) => Ok(Encoded::Copied(copy.into())),
        None => Err(error::wrong_type(content.name(), "bytes, bytearray or memoryview", object)),
    }
}

/// A copy of the memory that this object shows, `None` if it shows none. Looks at the length before it copies: an
/// object may show more bytes than there is memory.
pub(super) fn copy_buffer(content: Content, object: &Bound<'_, PyAny>) -> Result<Option<Vec<u8>>> {
    Buffer::of(content.name(), object)?.map(|buffer| copy(content, &buffer)).transpose()
}

/// The same, `None` also where what it shows are not bytes in a row.
pub(super) fn copy_bytes(content: Content, object: &Bound<'_, PyAny>) -> Result<Option<Vec<u8>>> {
    let buffer = Buffer::of(content.name(), object)?.filter(Buffer::is_of_bytes);
    buffer.map(|buffer| copy(content, &buffer)).transpose()
}

fn copy(content: Content, buffer: &Buffer<'_>) -> Result<Vec<u8>> {
    let len = buffer.len();
    match content {
        Content::Key if len > MAX_KEY_BYTES => return Err(error::key_too_long(len, &buffer.copy(64)?)),
        Content::Value if len as u64 > MAX_VALUE_BYTES => {
            return Err(twindex::Error::ValueTooLarge { len: len as u64 }.into());
        }
        _ => {}
    }
    buffer.copy(if content == Content::Value { len } else { MAX_KEY_BYTES + 1 })
}

#[inline]
pub(super) fn encode_text<'a>(content: Content, object: &'a Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    let Ok(text) = object.cast::<PyString>() else {
        let expected = match content {
            Content::Value => r#"str unless values="int" or "json" was named"#,
            Content::Key | Content::Sought => "str",
        };
        return Err(error::wrong_type(content.name(), expected, object));
    };
    utf8(content.name(), text).map(|text| Encoded::Borrowed(text.as_bytes()))
}

#[inline]
pub(super) fn utf8<'a>(what: &str, text: &'a Bound<'_, PyString>) -> Result<&'a str> {
    text.to_str().map_err(|cause| {
        if cause.is_instance_of::<PyMemoryError>(text.py()) {
            return cause.into();
        }
        let message = format!("the {what} has no form in UTF-8: {}", shown(text));
        error::encoding(message).caused_by(text.py(), cause)
    })
}

/// An integer of 64 bits. A truth value is none, as it would come back as 0 or 1.
#[inline]
pub(crate) fn integer(what: &str, object: &Bound<'_, PyAny>) -> Result<i64> {
    match object.cast::<PyInt>() {
        Ok(number) if !object.is_instance_of::<PyBool>() => {
            number.extract().map_err(|_| error::overflow(what, object))
        }
        _ => Err(error::wrong_type(what, "int", object)),
    }
}

#[inline]
pub(super) fn make_text<'py>(content: Content, py: Python<'py>, bytes: &[u8]) -> Result<Bound<'py, PyAny>> {
    match objects::utf8(bytes) {
        Ok(text) => Ok(objects::text(py, text)?),
        Err(_) => {
            Err(error::encoding(format!("the {} is not UTF-8: \"{}\"", content.name(), Excerpt(bytes))))
        }
    }
}
