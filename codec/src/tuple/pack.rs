//! Rust's own tuples.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Reader, Token, Writer};
use crate::{Error, Result};

/// An item that a tuple can hold: `Option` of one, integers, floats, text, bytes, and tuples of these.
pub trait Pack {
    /// Appends itself.
    fn pack(&self, to: &mut Writer) -> Result<()>;
}

/// A type that can be read from a tuple.
pub trait Unpack<'k>: Sized {
    /// Takes the next item, or one that begins with `token`, which was already taken.
    fn unpack(token: Token<'k>, from: &mut Reader<'k>) -> Result<Self>;
}

/// The items of a tuple, one after the other: Rust's tuples of up to twelve.
pub trait Items<'k>: Sized {
    /// Takes all of them.
    fn items(from: &mut Reader<'k>) -> Result<Self>;
}

/// Appends the items of a tuple, without a tuple around them.
pub trait PackItems {
    /// Appends them.
    fn pack_items(&self, to: &mut Writer) -> Result<()>;
}

/// The bytes of a tuple, as a key.
///
/// ```
/// let key = twindex_codec::tuple::pack(&("ada", 1815, Some(b"x".as_slice())))?;
/// # Ok::<(), twindex_codec::Error>(())
/// ```
pub fn pack(tuple: &impl PackItems) -> Result<Vec<u8>> {
    let mut writer = Writer::new();
    tuple.pack_items(&mut writer)?;
    writer.finish()
}

/// The tuple that these bytes stand for.
///
/// # Errors
/// [`Error::NotATuple`] if they are not a tuple, [`Error::OtherItems`] if they are another one.
pub fn unpack<'k, T: Items<'k>>(key: &'k [u8]) -> Result<T> {
    let mut reader = Reader::new(key);
    let items = T::items(&mut reader)?;
    match reader.next() {
        None => Ok(items),
        Some(token) => {
            token?;
            Err(Error::OtherItems { expected: "end", offset: reader.offset() })
        }
    }
}

/// The item that is null, in every language's form of nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Null;

fn next<'k>(from: &mut Reader<'k>, expected: &'static str) -> Result<Token<'k>> {
    let offset = from.offset();
    from.next().unwrap_or(Err(Error::OtherItems { expected, offset }))
}

fn other<T>(expected: &'static str, from: &Reader<'_>) -> Result<T> {
    Err(Error::OtherItems { expected, offset: from.offset() })
}

impl<T: Pack + ?Sized> Pack for &T {
    fn pack(&self, to: &mut Writer) -> Result<()> {
        (**self).pack(to)
    }
}

impl<T: Pack> Pack for Option<T> {
    fn pack(&self, to: &mut Writer) -> Result<()> {
        match self {
            Some(item) => item.pack(to),
            None => to.null(),
        }
    }
}

impl<'k, T: Unpack<'k>> Unpack<'k> for Option<T> {
    fn unpack(token: Token<'k>, from: &mut Reader<'k>) -> Result<Self> {
        if token == Token::Null { Ok(None) } else { T::unpack(token, from).map(Some) }
    }
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Pack for $type {
            fn pack(&self, to: &mut Writer) -> Result<()> {
                to.int(i64::try_from(*self).map_err(|_| Error::OutOfRange)?)
            }
        }

        impl<'k> Unpack<'k> for $type {
            fn unpack(token: Token<'k>, from: &mut Reader<'k>) -> Result<Self> {
                let Token::Int(number) = token else { return other("integer", from) };
                Self::try_from(number).map_err(|_| Error::OtherItems {
                    expected: concat!("integer of the type ", stringify!($type)),
                    offset: from.offset(),
                })
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }

macro_rules! written {
    ($($type:ty, |$item:pat, $to:ident| $write:expr;)*) => {$(
        impl Pack for $type {
            fn pack(&self, $to: &mut Writer) -> Result<()> {
                let $item = self;
                $write
            }
        }
    )*};
}

written! {
    Null, |_, to| to.null();
    f64, |number, to| to.float(*number);
    f32, |number, to| to.float((*number).into());
    str, |text, to| to.text(text);
    String, |text, to| to.text(text);
    Cow<'_, str>, |text, to| to.text(text);
    [u8], |bytes, to| to.bytes(bytes);
    Vec<u8>, |bytes, to| to.bytes(bytes);
    Cow<'_, [u8]>, |bytes, to| to.bytes(bytes);
}

impl<const N: usize> Pack for [u8; N] {
    fn pack(&self, to: &mut Writer) -> Result<()> {
        to.bytes(self)
    }
}

macro_rules! read {
    ($($type:ty, $name:literal, $token:pat => $item:expr;)*) => {$(
        impl<'k> Unpack<'k> for $type {
            fn unpack(token: Token<'k>, from: &mut Reader<'k>) -> Result<Self> {
                if let $token = token { Ok($item) } else { other($name, from) }
            }
        }
    )*};
}

read! {
    Null, "null", Token::Null => Self;
    f64, "float", Token::Float(number) => number;
    Cow<'k, str>, "text", Token::Text(text) => text;
    String, "text", Token::Text(text) => text.into_owned();
    Cow<'k, [u8]>, "bytes", Token::Bytes(bytes) => bytes;
    Vec<u8>, "bytes", Token::Bytes(bytes) => bytes.into_owned();
}

macro_rules! tuples {
    ($($item:ident)*) => {
        #[allow(non_snake_case, unused_variables, clippy::unused_unit)]
        impl<$($item: Pack),*> PackItems for ($($item,)*) {
            fn pack_items(&self, to: &mut Writer) -> Result<()> {
                let ($($item,)*) = self;
                $($item.pack(to)?;)*
                Ok(())
            }
        }

        #[allow(unused_variables, clippy::unused_unit)]
        impl<'k, $($item: Unpack<'k>),*> Items<'k> for ($($item,)*) {
            fn items(from: &mut Reader<'k>) -> Result<Self> {
                Ok(($($item::unpack(next(from, "further item")?, from)?,)*))
            }
        }

        impl<$($item: Pack),*> Pack for ($($item,)*) {
            fn pack(&self, to: &mut Writer) -> Result<()> {
                to.begin()?;
                self.pack_items(to)?;
                to.end()
            }
        }

        impl<'k, $($item: Unpack<'k>),*> Unpack<'k> for ($($item,)*) {
            fn unpack(token: Token<'k>, from: &mut Reader<'k>) -> Result<Self> {
                if token != Token::Begin {
                    return other("tuple", from);
                }
                let items = Self::items(from)?;
                if next(from, "end of a tuple")? == Token::End { Ok(items) } else { other("end of a tuple", from) }
            }
        }
    };
}

crate::each_tuple! { tuples }
tuples! {}
