//! How the keys and values of a table are encoded: `twindex-codec` driven from Python objects.
//!
//! `encode` may run Python code and comes before the engine is called. `make` runs none, so it may be
//! called by the engine; what is left to do then is `finish`'s.

mod content;
mod custom;
mod encoded;
mod foreign;
mod keys;
mod kind;
mod nesting;
mod object;
mod tuple;
mod values;

pub(crate) use self::content::integer;
pub(crate) use self::encoded::Encoded;
pub(crate) use self::keys::KeyCodec;
pub(crate) use self::values::ValueCodec;

use crate::prelude::*;

/// The codec of keys and values of a new table, by default.
pub(crate) const DEFAULT_CODEC: &str = "str";

/// How a table is seen.
pub(crate) struct Codecs {
    pub(crate) keys: KeyCodec,
    pub(crate) values: ValueCodec,
}

impl Codecs {
    pub(crate) fn clone_ref(&self, py: Python<'_>) -> Self {
        Self { keys: self.keys.clone_ref(py), values: self.values.clone_ref(py) }
    }

    /// Shows the garbage collector what is held.
    pub(crate) fn visit(&self, visit: &PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.keys.visit(visit)?;
        self.values.visit(visit)
    }

    /// The codecs that a caller named, or those that the table remembers.
    pub(crate) fn of_table(
        py: Python<'_>,
        table: &str,
        (key_name, value_name): (&str, &str),
        keys: Option<KeyCodec>,
        values: Option<ValueCodec>,
    ) -> Result<Self> {
        let unknown = |of: &str, name: &str| error::unknown_codec(table, of, name);
        let keys = keys.or_else(|| KeyCodec::named(key_name)).ok_or_else(|| unknown("keys", key_name))?;
        let values =
            values.or_else(|| ValueCodec::named(value_name)).ok_or_else(|| unknown("values", value_name))?;
        values.check_package(py)?;
        Ok(Self { keys, values })
    }
}
