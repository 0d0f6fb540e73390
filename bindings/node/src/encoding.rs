//! What JavaScript sees of the bytes of a pair.

/// The most items that cross in one call: the arguments of a call lie on the stack.
pub(crate) const BLOCK_ITEMS: usize = 256;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Text,
    Bytes,
}

/// One of the two halves of a pair, or the name or path of something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Key,
    Value,
    Name,
}

impl Column {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Key => "a key",
            Self::Value => "a value",
            Self::Name => "a name or path",
        }
    }

    /// What an argument of a wrong type should have been.
    pub(crate) const fn needs(self, encoding: Encoding) -> &'static str {
        match (self, encoding) {
            (Self::Key, Encoding::Text) => "a key is a string here (for others name a codec, as keys: 'int')",
            (Self::Value, Encoding::Text) => {
                "a value is a string here (for others name a codec, as values: 'json')"
            }
            (Self::Key, Encoding::Bytes) => "a key of this table is a Uint8Array or another view of bytes",
            (Self::Value, Encoding::Bytes) => {
                "a value of this table is a Uint8Array or another view of bytes"
            }
            (Self::Name, _) => "a name or path is a string",
        }
    }
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Encodings {
    pub(crate) keys: Encoding,
    pub(crate) values: Encoding,
}

impl Encodings {
    pub(crate) const fn of(self, column: Column) -> Encoding {
        match column {
            Column::Key => self.keys,
            Column::Value => self.values,
            Column::Name => Encoding::Text,
        }
    }
}
