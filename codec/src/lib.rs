//! What keys and values are stored as in a Twindex table.
//!
//! A table holds bytes. A codec says what the bytes stand for, the same in every language:
//!
//! | codec | as a key | as a value |
//! |---|---|---|
//! | `bytes` | itself | itself |
//! | `str` | UTF-8 | UTF-8 |
//! | `int` | eight bytes in the order of the numbers: [`int`] | decimal text: [`decimal`] |
//! | `tuple` | bytes in the order of the tuples: [`mod@tuple`] | |
//! | `json`, `msgpack` | | a type that `serde` knows: `Json`, `Msgpack`, by the features of these names |
//!
//! ```
//! use twindex_codec::{decimal, int, tuple};
//!
//! let key = tuple::pack(&("ada", 1815, 12.5))?;
//! let (name, year, day): (String, i64, f64) = tuple::unpack(&key)?;
//! assert_eq!((name.as_str(), year, day), ("ada", 1815, 12.5));
//! assert!(tuple::pack(&("ada", 2))? < tuple::pack(&("ada", 11))?);
//!
//! assert_eq!(int::decode(&int::encode(-7))?, -7);
//! assert_eq!(decimal::encode(-7).as_bytes(), b"-7");
//! # Ok::<(), twindex_codec::Error>(())
//! ```
//!
//! Nothing is converted with loss. Bytes that no writer produces are refused, so a key that was read can always be
//! written back and found.
//!
//! [`Key`] and [`Value`] give a type its codec. `twindex-durable` has tables and caches of such types.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

/// Calls a macro for the items of each tuple that has some, up to twelve.
macro_rules! each_tuple {
    ($each:ident) => { crate::each_tuple! { all $each A B C D E F G H I J K L } };
    (all $each:ident) => {};
    (all $each:ident $first:ident $($item:ident)*) => {
        $each! { $first $($item)* }
        crate::each_tuple! { all $each $($item)* }
    };
}
use each_tuple;

pub mod decimal;
mod error;
pub mod int;
pub mod tuple;
mod typed;

pub use error::{Error, Excerpt, Result};
#[cfg(feature = "json")]
pub use typed::Json;
#[cfg(feature = "msgpack")]
pub use typed::Msgpack;
pub use typed::{Item, Key, Prefix, Value};
