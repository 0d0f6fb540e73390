//! Types that keys and values are, by the codec that says so.

use alloc::string::String;
use alloc::vec::Vec;

use crate::decimal::{self, Decimal};
use crate::error::excerpt;
use crate::tuple::{self, Null, Pack, PackItems, Range, Unpack};
use crate::{Error, Result, int};

/// A type of keys: integers, text, bytes and tuples of them. Implement it for your own codec.
pub trait Key {
    /// The name of the codec, which a table remembers.
    const CODEC: &'static str;
    /// What a read gives.
    type Owned;
    /// What a call takes: `&str` for text, the number itself for integers.
    type Borrowed<'a>: Copy;
    /// The stored bytes.
    type Bytes<'a>: AsRef<[u8]>;

    /// What a read gave, to be passed to a call.
    fn borrow(owned: &Self::Owned) -> Self::Borrowed<'_>;
    /// The bytes of a key.
    fn encode(key: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>>;
    /// The key that these bytes stand for.
    fn decode(key: &[u8]) -> Result<Self::Owned>;
}

/// A type of values: integers, text, bytes, and with the features `json` and `msgpack` all types that `serde` serializes. Implement it
/// for your own codec.
pub trait Value {
    /// The name of the codec, which a table remembers.
    const CODEC: &'static str;
    /// What a read gives.
    type Owned;
    /// What a call takes: `&str` for text, the number itself for integers, `&T` for `Json<T>`.
    type Borrowed<'a>: Copy;
    /// The stored bytes.
    type Bytes<'a>: AsRef<[u8]>;

    /// What a read gave, to be passed to a call.
    fn borrow(owned: &Self::Owned) -> Self::Borrowed<'_>;
    /// The bytes of a value.
    fn encode(value: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>>;
    /// The value that these bytes stand for.
    fn decode(value: &[u8]) -> Result<Self::Owned>;
}

/// A prefix of keys of the type `K`: text or bytes, or for tuples their first items.
pub trait Prefix<K> {
    /// Where these keys begin and end. `plain` says so for keys that are bytes.
    fn range(self, plain: fn(&[u8]) -> Range) -> Result<Range>;
}

/// An item of a tuple that is a key.
pub trait Item: for<'k> Unpack<'k> + 'static {
    /// What a call takes in its place: `&str` for `String`.
    type Borrowed<'a>: Pack + Copy
    where
        Self: 'a;
    /// An item of a key that was read, for a call.
    fn borrow(&self) -> Self::Borrowed<'_>;
}

/// Text and bytes are stored as they are, as keys and as values.
macro_rules! plain {
    ($($trait:ident $type:ty, $codec:literal, $borrowed:ty, $decode:expr;)*) => {$(
        impl $trait for $type {
            const CODEC: &'static str = $codec;
            type Owned = Self;
            type Borrowed<'a> = &'a $borrowed;
            type Bytes<'a> = &'a [u8];

            #[inline]
            fn borrow(owned: &Self) -> &$borrowed {
                owned
            }

            #[inline]
            fn encode(plain: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>> {
                Ok(plain.as_ref())
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self> {
                $decode(bytes)
            }
        }
    )*};
}

plain! {
    Key String, "str", str, |bytes| text("key", bytes);
    Value String, "str", str, |bytes| text("value", bytes);
    Key Vec<u8>, "bytes", [u8], |bytes: &[u8]| Ok(bytes.to_vec());
    Value Vec<u8>, "bytes", [u8], |bytes: &[u8]| Ok(bytes.to_vec());
}

fn text(of: &'static str, bytes: &[u8]) -> Result<String> {
    let text = core::str::from_utf8(bytes).map_err(|_| Error::NotText { of, start: excerpt(bytes) })?;
    Ok(text.into())
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        integers!(Key $type, [u8; 8], int);
        integers!(Value $type, Decimal, decimal);
        itself!($type);
    )*};
    ($trait:ident $type:ty, $bytes:ty, $codec:ident) => {
        impl $trait for $type {
            const CODEC: &'static str = "int";
            type Owned = Self;
            type Borrowed<'a> = Self;
            type Bytes<'a> = $bytes;

            #[inline]
            fn borrow(owned: &Self) -> Self {
                *owned
            }

            #[inline]
            fn encode(number: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>> {
                Ok($codec::encode(i64::try_from(number).map_err(|_| Error::OutOfRange)?))
            }

            #[inline]
            fn decode(bytes: &[u8]) -> Result<Self> {
                let number = $codec::decode(bytes)?;
                Self::try_from(number).map_err(|_| Error::OtherInteger { number, expected: stringify!($type) })
            }
        }
    };
}

macro_rules! itself {
    ($type:ty) => {
        impl Item for $type {
            type Borrowed<'a> = Self;

            #[inline]
            fn borrow(&self) -> Self {
                *self
            }
        }
    };
}

integers! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize }
itself!(f64);
itself!(Null);

macro_rules! lent {
    ($($type:ty, $borrowed:ty;)*) => {$(
        impl Item for $type {
            type Borrowed<'a> = &'a $borrowed;

            fn borrow(&self) -> &$borrowed {
                self
            }
        }

        impl Prefix<$type> for &$borrowed {
            fn range(self, plain: fn(&[u8]) -> Range) -> Result<Range> {
                Ok(plain(self.as_ref()))
            }
        }
    )*};
}

lent! {
    String, str;
    Vec<u8>, [u8];
}

impl<T: Item> Item for Option<T> {
    type Borrowed<'a> = Option<T::Borrowed<'a>>;

    fn borrow(&self) -> Self::Borrowed<'_> {
        self.as_ref().map(T::borrow)
    }
}

macro_rules! tuples {
    ($($item:ident)*) => {
        #[allow(non_snake_case, clippy::unused_unit)]
        impl<$($item: Item),*> Key for ($($item,)*) {
            const CODEC: &'static str = "tuple";
            type Owned = Self;
            type Borrowed<'a> = ($($item::Borrowed<'a>,)*);
            type Bytes<'a> = Vec<u8>;

            fn borrow(owned: &Self) -> Self::Borrowed<'_> {
                let ($($item,)*) = owned;
                ($($item.borrow(),)*)
            }

            fn encode(key: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>> {
                tuple::pack(&key)
            }

            fn decode(key: &[u8]) -> Result<Self> {
                tuple::unpack(key)
            }
        }

        impl<$($item: Item),*> Item for ($($item,)*) {
            type Borrowed<'a> = ($($item::Borrowed<'a>,)*);

            fn borrow(&self) -> Self::Borrowed<'_> {
                <Self as Key>::borrow(self)
            }
        }

        impl<P: PackItems, $($item),*> Prefix<($($item,)*)> for P {
            fn range(self, _: fn(&[u8]) -> Range) -> Result<Range> {
                tuple::prefix_range(&tuple::pack(&self)?)
            }
        }
    };
}

crate::each_tuple! { tuples }

/// A value of a type that `serde` knows, as JSON. A float that is infinite or no number becomes `null`, as JSON has neither.
#[cfg(feature = "json")]
#[derive(Debug)]
pub struct Json<T>(core::marker::PhantomData<T>);

/// A value of a type that `serde` knows, as `MessagePack`. A structure becomes a map by the names of its fields, as in every language.
#[cfg(feature = "msgpack")]
#[derive(Debug)]
pub struct Msgpack<T>(core::marker::PhantomData<T>);

#[cfg(any(feature = "json", feature = "msgpack"))]
macro_rules! serialized {
    ($type:ident, $codec:literal, $encode:expr, $decode:expr) => {
        impl<T: serde::Serialize + serde::de::DeserializeOwned + 'static> Value for $type<T> {
            const CODEC: &'static str = $codec;
            type Owned = T;
            type Borrowed<'a> = &'a T;
            type Bytes<'a> = Vec<u8>;

            fn borrow(owned: &T) -> &T {
                owned
            }

            fn encode(value: Self::Borrowed<'_>) -> Result<Self::Bytes<'_>> {
                $encode(value)
                    .map_err(|error| Error::NotWritten { codec: $codec, reason: alloc::format!("{error}") })
            }

            fn decode(value: &[u8]) -> Result<T> {
                $decode(value)
                    .map_err(|error| Error::NotRead { codec: $codec, reason: alloc::format!("{error}") })
            }
        }
    };
}

#[cfg(feature = "json")]
serialized!(Json, "json", serde_json::to_vec, serde_json::from_slice);

#[cfg(feature = "msgpack")]
serialized!(Msgpack, "msgpack", rmp_serde::to_vec_named, from_msgpack);

/// As `rmp_serde::from_slice`, which reads over what comes after the value.
#[cfg(feature = "msgpack")]
fn from_msgpack<T: serde::de::DeserializeOwned>(
    mut value: &[u8],
) -> core::result::Result<T, rmp_serde::decode::Error> {
    let read = T::deserialize(&mut rmp_serde::Deserializer::new(&mut value))?;
    if value.is_empty() {
        return Ok(read);
    }
    Err(serde::de::Error::custom(alloc::format!("{} bytes follow it", value.len())))
}
