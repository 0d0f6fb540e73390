//! Tuples as keys.

use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyFloat, PyInt, PyString, PyTuple};
use twindex_codec::tuple::{Reader, Token, Writer};

use super::content::{Content, copy_buffer, integer, utf8};
use super::encoded::Encoded;
use crate::error::{self, Result};
use crate::objects;

const EXPECTED: &str = "None, bytes, str, int, float or tuple";

pub(super) fn encode<'a>(content: Content, key: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    let Ok(items) = key.cast::<PyTuple>() else { return Err(error::wrong_type("key", "tuple", key)) };
    let mut writer = Writer::new();
    items.iter().try_for_each(|item| write(&mut writer, content, &item))?;
    let bytes = if content == Content::Key { writer.finish() } else { writer.finish_sought() };
    Ok(Encoded::Copied(bytes?.into()))
}

pub(super) fn write(to: &mut Writer, content: Content, item: &Bound<'_, PyAny>) -> Result<()> {
    if let Ok(text) = item.cast::<PyString>() {
        to.text(utf8("key", text)?)?;
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        to.bytes(bytes.as_bytes())?;
    } else if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
        to.int(integer("an item of a key", item)?)?;
    } else if let Ok(number) = item.cast::<PyFloat>() {
        to.float(number.value())?;
    } else if item.is_none() {
        to.null()?;
    } else if let Ok(tuple) = item.cast::<PyTuple>() {
        to.begin()?;
        tuple.iter().try_for_each(|item| write(to, content, &item))?;
        to.end()?;
    } else {
        match copy_buffer(content, item)? {
            Some(copy) => to.bytes(&copy)?,
            None => return Err(error::wrong_type("an item of a key", EXPECTED, item)),
        }
    }
    Ok(())
}

/// The tuple that these bytes stand for.
pub(super) fn decode<'py>(py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
    let mut items = Vec::new();
    // The items of the tuples around the one that is being read.
    let mut around = Vec::new();
    for token in Reader::new(key) {
        let item = match token? {
            Token::Null => py.None().into_bound(py),
            Token::Bytes(bytes) => objects::bytes(py, &bytes)?,
            Token::Text(text) => objects::text(py, &text)?,
            Token::Int(number) => objects::integer(py, number)?,
            Token::Float(number) => objects::float(py, number)?,
            Token::Begin => {
                around.push(std::mem::take(&mut items));
                continue;
            }
            Token::End => {
                let outer = around.pop().unwrap_or_default();
                objects::tuple(py, std::mem::replace(&mut items, outer))?
            }
        };
        items.try_reserve(1)?;
        items.push(item);
    }
    Ok(objects::tuple(py, items)?)
}
