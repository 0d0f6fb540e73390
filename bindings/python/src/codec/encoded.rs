//! A key or value as the bytes that the engine takes.

use twindex_codec::decimal::Decimal;
use twindex_codec::tuple::Short;

/// Bytes that are borrowed from a Python object where that is possible.
///
/// No Python object is in it, so a batch of them can leave the interpreter.
pub(crate) enum Encoded<'a> {
    /// The memory of an immutable `bytes` or `str`.
    Borrowed(&'a [u8]),
    /// An integer as a key.
    Ordered([u8; 8]),
    /// An integer as a value.
    Decimal(Decimal),
    /// A short key of a cache.
    Short(Short),
    /// A copy of what Python code could change, or of what nothing else holds.
    Copied(Box<[u8]>),
}

const _: () = assert!(size_of::<Encoded<'_>>() == 24);

impl Encoded<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.as_ref().len()
    }
}

impl AsRef<[u8]> for Encoded<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Ordered(bytes) => bytes,
            Self::Decimal(text) => text.as_bytes(),
            Self::Short(tuple) => tuple.as_ref(),
            Self::Copied(bytes) => bytes,
        }
    }
}
