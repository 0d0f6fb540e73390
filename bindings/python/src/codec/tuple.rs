//! Tuples as bytes that order as the tuples do.
//!
//! Each item is a byte that tells its type, then its content, so that a tuple's bytes start with those of every tuple
//! that it starts with:
//!
//! ```text
//! 01                      None
//! 02 content 00           bytes, every 00 in it followed by ff
//! 03 content 00           str in UTF-8, likewise
//! 05 items 00             a tuple
//! 14 - n, or 14 + n       an int of n bytes: those of a negative one inverted
//! 21 and 8 bytes          a float: all bits of a negative one inverted, of others the first
//! ```

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyTuple};

use super::excerpt;
use crate::error::{self, Result, shown};
use crate::objects;

const NONE: u8 = 0x01;
const BYTES: u8 = 0x02;
const TEXT: u8 = 0x03;
const TUPLE: u8 = 0x05;
const ZERO: u8 = 0x14;
const FLOAT: u8 = 0x21;
const END: u8 = 0x00;
const NOT_THE_END: u8 = 0xff;

/// Tuples in tuples, so deep and no deeper: neither reading nor writing may use up the stack.
const DEPTH: usize = 64;

/// Appends the bytes of a tuple's items.
pub(super) fn encode(into: &mut Vec<u8>, tuple: &Bound<'_, PyTuple>, depth: usize) -> Result<()> {
    if depth > DEPTH {
        return Err(error::encoding(format!(
            "tuples in a key are at most {DEPTH} deep: {}",
            shown(tuple.as_any())
        )));
    }
    tuple.iter().try_for_each(|item| encode_item(into, &item, depth))
}

fn encode_item(into: &mut Vec<u8>, item: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
    if let Ok(text) = item.cast::<PyString>() {
        escape(into, TEXT, super::utf8("key", text)?.as_bytes());
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        escape(into, BYTES, bytes.as_bytes());
    } else if item.is_instance_of::<PyInt>() {
        encode_integer(into, super::integer("key", item)?);
    } else if let Ok(number) = item.cast::<PyFloat>() {
        encode_float(into, number)?;
    } else if item.is_none() {
        into.push(NONE);
    } else if let Ok(tuple) = item.cast::<PyTuple>() {
        into.push(TUPLE);
        encode(into, tuple, depth + 1)?;
        into.push(END);
    } else {
        return Err(error::wrong_type("an item of a key", "None, bytes, str, int, float or tuple", item));
    }
    Ok(())
}

fn escape(into: &mut Vec<u8>, kind: u8, content: &[u8]) {
    into.push(kind);
    for &byte in content {
        into.push(byte);
        if byte == END {
            into.push(NOT_THE_END);
        }
    }
    into.push(END);
}

fn encode_integer(into: &mut Vec<u8>, number: i64) {
    let size = size_of::<u64>() - number.unsigned_abs().leading_zeros() as usize / 8;
    let inverted = if number < 0 { !number.unsigned_abs() } else { number.unsigned_abs() };
    into.push(if number < 0 { ZERO - size as u8 } else { ZERO + size as u8 });
    into.extend_from_slice(&inverted.to_be_bytes()[size_of::<u64>() - size..]);
}

fn encode_float(into: &mut Vec<u8>, number: &Bound<'_, PyFloat>) -> Result<()> {
    let value = number.value();
    if value.is_nan() {
        return Err(error::encoding("nan in a key has no place in an order"));
    }
    // Adding 0 makes -0.0 the 0.0 that it equals.
    let bits = (value + 0.0).to_bits();
    let inverted = if bits >> 63 == 1 { !bits } else { bits ^ (1 << 63) };
    into.push(FLOAT);
    into.extend_from_slice(&inverted.to_be_bytes());
    Ok(())
}

/// The tuple that these bytes stand for.
pub(super) fn decode<'py>(py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
    let mut rest = key;
    let mut items = Vec::new();
    while !rest.is_empty() {
        items.push(decode_item(py, key, &mut rest, 0)?);
    }
    Ok(PyTuple::new(py, items)?.into_any())
}

fn decode_item<'py>(
    py: Python<'py>,
    key: &[u8],
    rest: &mut &[u8],
    depth: usize,
) -> Result<Bound<'py, PyAny>> {
    let damaged = || error::encoding(format!("the key is not a tuple: {}", excerpt(key)));
    let kind = *rest.split_off_first().ok_or_else(damaged)?;
    Ok(match kind {
        NONE => py.None().into_bound(py),
        BYTES => objects::bytes(py, &unescape(rest).ok_or_else(damaged)?)?,
        TEXT => {
            let content = unescape(rest).ok_or_else(damaged)?;
            objects::text(py, std::str::from_utf8(&content).map_err(|_| damaged())?)?
        }
        TUPLE if depth < DEPTH => {
            let mut items = Vec::new();
            while *rest.first().ok_or_else(damaged)? != END {
                items.push(decode_item(py, key, rest, depth + 1)?);
            }
            *rest = &rest[1..];
            PyTuple::new(py, items)?.into_any()
        }
        FLOAT => {
            let (bits, behind) = rest.split_first_chunk().ok_or_else(damaged)?;
            *rest = behind;
            let bits = u64::from_be_bytes(*bits);
            let bits = if bits >> 63 == 1 { bits ^ (1 << 63) } else { !bits };
            PyFloat::new(py, f64::from_bits(bits)).into_any()
        }
        _ => {
            let size = usize::from(kind.abs_diff(ZERO));
            let number = decode_integer(rest.split_off(..size).ok_or_else(damaged)?, kind < ZERO);
            objects::integer(py, number.ok_or_else(damaged)?)?
        }
    })
}

/// The content up to its end, which is taken off.
fn unescape(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let (&byte, behind) = rest.split_first()?;
        *rest = behind;
        if byte == END {
            match rest.strip_prefix(&[NOT_THE_END]) {
                Some(behind) => *rest = behind,
                None => return Some(content),
            }
        }
        content.push(byte);
    }
}

fn decode_integer(bytes: &[u8], negative: bool) -> Option<i64> {
    let mut whole = [if negative { 0xff } else { 0 }; size_of::<u64>()];
    let start = whole.len().checked_sub(bytes.len())?;
    whole[start..].copy_from_slice(bytes);
    let number = u64::from_be_bytes(whole);
    if negative { 0_i64.checked_sub_unsigned(!number) } else { i64::try_from(number).ok() }
}
