//! Reading a tuple item by item.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::format::{
    BETWEEN, BYTES, END, GREATEST_FLOATS, LEAST_FLOATS, MAX_DEPTH, NOT_THE_END, NULL, TEXT, TUPLE, WHOLE,
    ZERO,
};
use super::writer::{float, integer};
use crate::error::excerpt;
use crate::{Error, Result};

/// An item of a tuple, or the begin or end of a tuple within it.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'k> {
    /// Null.
    Null,
    /// Bytes, borrowed from the key unless a zero is in them.
    Bytes(Cow<'k, [u8]>),
    /// Text, borrowed from the key unless a zero is in it.
    Text(Cow<'k, str>),
    /// An integer.
    Int(i64),
    /// A float.
    Float(f64),
    /// The beginning of a tuple within this one.
    Begin,
    /// Its end.
    End,
}

/// Reads a tuple item by item, as an iterator. [`unpack`](super::unpack) does so into Rust's own tuples.
///
/// It accepts what [`Writer`](super::Writer) writes and nothing else. After an error it is at its end.
#[derive(Clone, Debug)]
pub struct Reader<'k> {
    key: &'k [u8],
    at: usize,
    depth: usize,
}

impl<'k> Reader<'k> {
    /// Reads the tuple that these bytes are.
    pub const fn new(key: &'k [u8]) -> Self {
        Self { key, at: 0, depth: 0 }
    }

    /// How many bytes were read.
    pub const fn offset(&self) -> usize {
        self.at
    }

    fn token(&mut self) -> Result<Token<'k>> {
        let start = self.at;
        let damaged = || Error::NotATuple { offset: start, start: excerpt(self.key) };
        let mut rest = &self.key[start..];
        let token = match *rest.split_off_first().ok_or_else(damaged)? {
            NULL => Token::Null,
            BYTES => Token::Bytes(content(&mut rest)?.ok_or_else(damaged)?),
            TEXT => Token::Text(text(content(&mut rest)?.ok_or_else(damaged)?).ok_or_else(damaged)?),
            TUPLE if self.depth < MAX_DEPTH => {
                self.depth += 1;
                Token::Begin
            }
            END if self.depth > 0 => {
                self.depth -= 1;
                Token::End
            }
            kind => number(kind, &mut rest).ok_or_else(damaged)?,
        };
        self.at = self.key.len() - rest.len();
        if is_as_written(&token, &self.key[start..self.at]) { Ok(token) } else { Err(damaged()) }
    }
}

impl<'k> Iterator for Reader<'k> {
    type Item = Result<Token<'k>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.key.len() && self.depth == 0 {
            return None;
        }
        let token = self.token();
        if token.is_err() {
            (self.at, self.depth) = (self.key.len(), 0);
        }
        Some(token)
    }
}

/// The content up to its end, which is taken off; `None` if it has none.
fn content<'k>(rest: &mut &'k [u8]) -> Result<Option<Cow<'k, [u8]>>> {
    let whole = *rest;
    let mut copy = Vec::new();
    let mut start = 0;
    loop {
        let Some(zero) = whole[start..].iter().position(|&byte| byte == END) else { return Ok(None) };
        let piece = &whole[start..start + zero];
        start += zero + 1;
        let is_end = whole.get(start) != Some(&NOT_THE_END);
        if is_end && copy.is_empty() {
            *rest = &whole[start..];
            return Ok(Some(Cow::Borrowed(piece)));
        }
        copy.try_reserve(piece.len() + 1).map_err(|_| Error::OutOfMemory)?;
        copy.extend_from_slice(piece);
        if is_end {
            *rest = &whole[start..];
            return Ok(Some(Cow::Owned(copy)));
        }
        copy.push(END);
        start += 1;
    }
}

fn text(content: Cow<'_, [u8]>) -> Option<Cow<'_, str>> {
    match content {
        Cow::Borrowed(bytes) => core::str::from_utf8(bytes).ok().map(Cow::Borrowed),
        Cow::Owned(bytes) => alloc::string::String::from_utf8(bytes).ok().map(Cow::Owned),
    }
}

fn number(kind: u8, rest: &mut &[u8]) -> Option<Token<'static>> {
    match kind {
        LEAST_FLOATS => return Some(Token::Float(f64::from_bits(!bits(rest)?))),
        GREATEST_FLOATS => return Some(Token::Float(f64::from_bits(bits(rest)?))),
        _ => {}
    }
    let size = usize::from(kind.abs_diff(ZERO));
    let floor = decode_integer(rest.split_off(..size)?, kind < ZERO)?;
    #[expect(clippy::cast_precision_loss, reason = "what is lost is noticed by what would be written")]
    Some(match rest.first() {
        Some(&WHOLE) => {
            *rest = &rest[1..];
            Token::Float(floor as f64)
        }
        Some(&BETWEEN) => {
            *rest = &rest[1..];
            let bits = bits(rest)?;
            Token::Float(if floor < 0 {
                (floor + 1) as f64 - f64::from_bits(!bits)
            } else {
                floor as f64 + f64::from_bits(bits)
            })
        }
        _ => Token::Int(floor),
    })
}

fn bits(rest: &mut &[u8]) -> Option<u64> {
    let (bits, behind) = rest.split_first_chunk()?;
    *rest = behind;
    Some(u64::from_be_bytes(*bits))
}

fn decode_integer(bytes: &[u8], negative: bool) -> Option<i64> {
    let mut whole = [if negative { 0xff } else { 0 }; size_of::<u64>()];
    let start = whole.len().checked_sub(bytes.len())?;
    whole[start..].copy_from_slice(bytes);
    let number = u64::from_be_bytes(whole);
    if negative { 0_i64.checked_sub_unsigned(!number) } else { i64::try_from(number).ok() }
}

/// Whether a number is written as these bytes. Others, such as `13 ff` for 0, would be keys that nobody can look up.
fn is_as_written(token: &Token<'_>, bytes: &[u8]) -> bool {
    let (written, len) = match *token {
        Token::Int(number) => integer(number),
        Token::Float(number) => match float(number) {
            Ok(written) => written,
            Err(_) => return false,
        },
        _ => return true,
    };
    &written[..len] == bytes
}
