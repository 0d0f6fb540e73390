//! How the keys and values of a table are encoded: `twindex-codec` driven from Python objects.
//!
//! `encode` may run Python code and comes before the engine is called. `make` runs none, so it may be
//! called by the engine; what is left to do then is `finish`'s.

mod content;
mod custom;
mod encoded;
mod foreign;
mod keys;
mod tuple;
mod values;

pub(crate) use self::content::integer;
pub(crate) use self::encoded::Encoded;
pub(crate) use self::keys::KeyCodec;
pub(crate) use self::values::ValueCodec;

/// The codecs of a table.
#[derive(Clone)]
pub(crate) struct Codecs {
    pub(crate) keys: KeyCodec,
    pub(crate) values: ValueCodec,
}
