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
use twindex::MAX_KEY_BYTES;

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

/// The bytes of a key in the making. Where they are too many, those after the first that is are only counted.
#[derive(Default)]
struct Key {
    bytes: Vec<u8>,
    len: usize,
}

impl Key {
    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    fn extend(&mut self, bytes: &[u8]) {
        let left = MAX_KEY_BYTES + 1 - self.bytes.len();
        self.bytes.extend_from_slice(&bytes[..bytes.len().min(left)]);
        self.len += bytes.len();
    }

    /// Appends content and its end.
    fn escape(&mut self, kind: u8, content: &[u8]) {
        self.push(kind);
        for piece in content.split_inclusive(|&byte| byte == END) {
            self.extend(piece);
            if piece.ends_with(&[END]) {
                self.push(NOT_THE_END);
            }
        }
        self.push(END);
    }
}

/// The bytes of a tuple, and how many there are: where these are too many for a key, the first that are.
pub(super) fn encode(tuple: &Bound<'_, PyTuple>) -> Result<(Vec<u8>, usize)> {
    let mut key = Key::default();
    encode_items(&mut key, tuple, 0)?;
    Ok((key.bytes, key.len))
}

fn encode_items(into: &mut Key, tuple: &Bound<'_, PyTuple>, depth: usize) -> Result<()> {
    if depth > DEPTH {
        return Err(error::encoding(format!(
            "tuples in a key are at most {DEPTH} deep: {}",
            shown(tuple.as_any())
        )));
    }
    tuple.iter().try_for_each(|item| encode_item(into, &item, depth))
}

fn encode_item(into: &mut Key, item: &Bound<'_, PyAny>, depth: usize) -> Result<()> {
    if let Ok(text) = item.cast::<PyString>() {
        into.escape(TEXT, super::utf8("key", text)?.as_bytes());
    } else if let Ok(bytes) = item.cast::<PyBytes>() {
        into.escape(BYTES, bytes.as_bytes());
    } else if item.is_instance_of::<PyInt>() {
        encode_integer(into, super::integer("key", item)?);
    } else if let Ok(number) = item.cast::<PyFloat>() {
        if number.value().is_nan() {
            return Err(error::encoding("nan in a key has no place in an order"));
        }
        encode_float(into, number.value());
    } else if item.is_none() {
        into.push(NONE);
    } else if let Ok(tuple) = item.cast::<PyTuple>() {
        into.push(TUPLE);
        encode_items(into, tuple, depth + 1)?;
        into.push(END);
    } else {
        return Err(error::wrong_type("an item of a key", "None, bytes, str, int, float or tuple", item));
    }
    Ok(())
}

/// How many bytes an integer takes.
fn size_of_integer(number: i64) -> usize {
    size_of::<u64>() - number.unsigned_abs().leading_zeros() as usize / 8
}

fn encode_integer(into: &mut Key, number: i64) {
    let size = size_of_integer(number);
    let inverted = if number < 0 { !number.unsigned_abs() } else { number.unsigned_abs() };
    into.push(if number < 0 { ZERO - size as u8 } else { ZERO + size as u8 });
    into.extend(&inverted.to_be_bytes()[size_of::<u64>() - size..]);
}

/// Appends a float that is not NaN.
fn encode_float(into: &mut Key, value: f64) {
    let floor = value.floor();
    if floor >= END_OF_INTEGERS {
        into.push(GREATEST_FLOATS);
        return into.extend(&value.to_bits().to_be_bytes());
    }
    if floor < -END_OF_INTEGERS {
        into.push(LEAST_FLOATS);
        return into.extend(&(!value.to_bits()).to_be_bytes());
    }
    encode_integer(into, floor as i64);
    if floor == value {
        return into.push(WHOLE);
    }
    // No float has a fraction and so many digits before it that a difference here would not be exact.
    let bits = if floor < 0.0 { !(floor + 1.0 - value).to_bits() } else { (value - floor).to_bits() };
    into.push(BETWEEN);
    into.extend(&bits.to_be_bytes());
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

/// The tuple that these bytes stand for. Bytes that are not just what [`encode`] makes of it are refused: the pair could
/// not be found by such a key.
pub(super) fn decode<'py>(py: Python<'py>, key: &[u8]) -> Result<Bound<'py, PyAny>> {
    let mut rest = key;
    let mut items = Vec::new();
    while !rest.is_empty() {
        items.push(decode_item(py, key, &mut rest, 0)?);
    }
    Ok(objects::tuple(py, items)?)
}

fn decode_item<'py>(
    py: Python<'py>,
    key: &[u8],
    rest: &mut &[u8],
    depth: usize,
) -> Result<Bound<'py, PyAny>> {
    let damaged = || error::encoding(format!("the key is not a tuple: {}", excerpt(key)));
    let from = *rest;
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
            objects::tuple(py, items)?
        }
        _ => match decode_number(kind, rest).ok_or_else(damaged)? {
            Number::Integer(number) => objects::integer(py, number)?,
            Number::Float(number) => {
                let mut again = Key::default();
                encode_float(&mut again, number);
                if again.bytes != from[..from.len() - rest.len()] {
                    return Err(damaged());
                }
                objects::float(py, number)?
            }
        },
    })
}

enum Number {
    Integer(i64),
    Float(f64),
}

fn decode_number(kind: u8, rest: &mut &[u8]) -> Option<Number> {
    if kind == LEAST_FLOATS {
        return Some(Number::Float(f64::from_bits(!take_bits(rest)?))).filter(is_a_number);
    }
    if kind == GREATEST_FLOATS {
        return Some(Number::Float(f64::from_bits(take_bits(rest)?))).filter(is_a_number);
    }
    let size = usize::from(kind.abs_diff(ZERO));
    let number = decode_integer(rest.split_off(..size)?, kind < ZERO)?;
    if size_of_integer(number) != size {
        return None;
    }
    match rest.first() {
        Some(&(WHOLE | BETWEEN)) => decode_float(rest, number).map(Number::Float).filter(is_a_number),
        _ => Some(Number::Integer(number)),
    }
}

fn is_a_number(number: &Number) -> bool {
    !matches!(number, Number::Float(float) if float.is_nan())
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
