//! Tuples as bytes that order as the tuples do.
//!
//! Each item is a byte that tells its type, then its content:
//!
//! ```text
//! 01                      None
//! 02 content 00           bytes, every 00 in it followed by ff
//! 03 content 00           str in UTF-8, likewise
//! 05 items 00             a tuple
//! 14 - n, or 14 + n       an int of n bytes: those of a negative one inverted
//! int 1e                  a float that is equal to the int
//! int 1f bits             a float between the int and the next: by how much it is more than the int, or where the
//!                         int is negative, the inverse of by how much it is less than the next
//! 0b bits, 1d bits        a float that is less, or more, than any int: those of a negative one inverted
//! ```
//!
//! So numbers order as numbers. What follows an item in a longer tuple is less than `1e`, and what belongs to the
//! item is not: so the tuples that start with a tuple are those from its bytes up to these with a `1e` behind them.

#![allow(
    clippy::cast_precision_loss,
    reason = "an integer of 53 bits or fewer, or one power of two, loses nothing"
)]
#![allow(clippy::float_cmp, reason = "a float is whole where it equals its floor, and not near it")]

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyFloat, PyInt, PyString, PyTuple};

use super::excerpt;
use crate::error::{self, Result, shown};
use crate::objects;

const NONE: u8 = 0x01;
const BYTES: u8 = 0x02;
const TEXT: u8 = 0x03;
const TUPLE: u8 = 0x05;
const LEAST_FLOATS: u8 = 0x0b;
const ZERO: u8 = 0x14;
const GREATEST_FLOATS: u8 = 0x1d;
const WHOLE: u8 = 0x1e;
const BETWEEN: u8 = 0x1f;
const END: u8 = 0x00;
const NOT_THE_END: u8 = 0xff;

/// The first float that is more than any integer of 64 bits; its opposite is the least of them.
const END_OF_INTEGERS: f64 = -(i64::MIN as f64);

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
    let floor = value.floor();
    if floor >= END_OF_INTEGERS {
        into.push(GREATEST_FLOATS);
        into.extend_from_slice(&value.to_bits().to_be_bytes());
        return Ok(());
    }
    if floor < -END_OF_INTEGERS {
        into.push(LEAST_FLOATS);
        into.extend_from_slice(&(!value.to_bits()).to_be_bytes());
        return Ok(());
    }
    encode_integer(into, floor as i64);
    // No float has a fraction and so many digits before it that a difference here would not be exact.
    let bits = if floor == value {
        into.push(WHOLE);
        return Ok(());
    } else if floor < 0.0 {
        !(floor + 1.0 - value).to_bits()
    } else {
        (value - floor).to_bits()
    };
    into.push(BETWEEN);
    into.extend_from_slice(&bits.to_be_bytes());
    Ok(())
}

/// The float behind this integer.
fn decode_float(rest: &mut &[u8], floor: i64) -> Option<f64> {
    let kind = *rest.split_off_first()?;
    if kind == WHOLE {
        return Some(floor as f64);
    }
    let bits = take_bits(rest)?;
    Some(if floor < 0 {
        (floor + 1) as f64 - f64::from_bits(!bits)
    } else {
        floor as f64 + f64::from_bits(bits)
    })
}

fn take_bits(rest: &mut &[u8]) -> Option<u64> {
    let (bits, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_be_bytes(*bits))
}

/// Where the tuples end that start with this one, as its bytes are.
pub(super) fn end_of_prefix(tuple: &[u8]) -> Vec<u8> {
    [tuple, &[WHOLE]].concat()
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
        LEAST_FLOATS => float(py, f64::from_bits(!take_bits(rest).ok_or_else(damaged)?)),
        GREATEST_FLOATS => float(py, f64::from_bits(take_bits(rest).ok_or_else(damaged)?)),
        _ => {
            let size = usize::from(kind.abs_diff(ZERO));
            let number = decode_integer(rest.split_off(..size).ok_or_else(damaged)?, kind < ZERO);
            let number = number.ok_or_else(damaged)?;
            match rest.first() {
                Some(&(WHOLE | BETWEEN)) => float(py, decode_float(rest, number).ok_or_else(damaged)?),
                _ => objects::integer(py, number)?,
            }
        }
    })
}

fn float(py: Python<'_>, number: f64) -> Bound<'_, PyAny> {
    PyFloat::new(py, number).into_any()
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
