//! Tuples as keys.

use std::fmt;

use pyo3::types::{PyByteArray, PyMemoryView};
use twindex_codec::tuple::{Reader, Token, Writer};

use super::content::{Content, copy_bytes, utf8};
use super::encoded::Encoded;
use crate::prelude::*;

const EXPECTED: &str = "None, bytes, bytearray, memoryview of bytes, str, int, float or tuple";

/// Where an item is in the tuple and in those around it.
struct Path<'a> {
    outer: Option<&'a Path<'a>>,
    at: usize,
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.outer {
            Some(outer) => outer.fmt(f)?,
            None => f.write_str("key")?,
        }
        write!(f, "[{}]", self.at)
    }
}

pub(super) fn encode<'a>(content: Content, key: &Bound<'_, PyAny>) -> Result<Encoded<'a>> {
    let Ok(items) = key.cast::<PyTuple>() else { return Err(error::wrong_type("key", "tuple", key)) };
    let mut writer = Writer::new();
    write_items(&mut writer, content, items, None)?;
    let bytes = if content == Content::Key { writer.finish() } else { writer.finish_sought() };
    Ok(Encoded::Copied(bytes?.into()))
}

fn write_items(
    to: &mut Writer,
    content: Content,
    items: &Bound<'_, PyTuple>,
    outer: Option<&Path<'_>>,
) -> Result<()> {
    items.iter().enumerate().try_for_each(|(at, item)| write(to, content, &item, &Path { outer, at }))
}

fn write(to: &mut Writer, content: Content, item: &Bound<'_, PyAny>, path: &Path<'_>) -> Result<()> {
    if let Ok(text) = item.cast::<PyString>() {
        to.text(utf8("key", text)?)?;
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        to.bytes(bytes.as_bytes())?;
    } else if item.is_instance_of::<PyInt>() && !item.is_instance_of::<PyBool>() {
        to.int(item.extract().map_err(|_| error::overflow(&path.to_string(), item))?)?;
    } else if let Ok(number) = item.cast::<PyFloat>() {
        to.float(number.value())?;
    } else if item.is_none() {
        to.null()?;
    } else if let Ok(tuple) = item.cast::<PyTuple>() {
        to.begin()?;
        write_items(to, content, tuple, Some(path))?;
        to.end()?;
    } else {
        // Numbers and arrays have memory too, and would come back as its bytes.
        let may_be_bytes = item.is_instance_of::<PyByteArray>() || item.is_instance_of::<PyMemoryView>();
        match if may_be_bytes { copy_bytes(content, item)? } else { None } {
            Some(copy) => to.bytes(&copy)?,
            None => return Err(error::wrong_type(&path.to_string(), EXPECTED, item)),
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
