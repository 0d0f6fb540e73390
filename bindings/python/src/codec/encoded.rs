//! A key or value as the bytes that the engine takes.

/// Bytes that are borrowed from a Python object where that is possible.
///
/// No Python object is in it, so a batch of them can leave the interpreter.
pub(crate) enum Encoded<'a> {
    /// The memory of an immutable `bytes` or `str`.
    Borrowed(&'a [u8]),
    /// An integer.
    Inline(Inline),
    /// A copy of what Python code could change, or of what nothing else holds.
    Copied(Box<[u8]>),
}

/// The longest is the text of the least integer of 64 bits.
const INLINE_BYTES: usize = "-9223372036854775808".len();

/// A few bytes without an allocation.
pub(crate) struct Inline {
    len: u8,
    bytes: [u8; INLINE_BYTES],
}

const _: () = assert!(size_of::<Encoded<'_>>() == 24);

impl Inline {
    fn new(short: &[u8]) -> Self {
        let mut bytes = [0; INLINE_BYTES];
        bytes[..short.len()].copy_from_slice(short);
        Self { len: short.len() as u8, bytes }
    }
}

impl Encoded<'_> {
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// As a key: eight bytes whose order is that of the numbers.
    pub(crate) fn ordered_integer(number: i64) -> Self {
        Self::Inline(Inline::new(&(number ^ i64::MIN).to_be_bytes()))
    }

    /// As a value: decimal text, which the engine's `increment` reads.
    pub(crate) fn decimal_integer(number: i64) -> Self {
        Self::Inline(Inline::new(itoa::Buffer::new().format(number).as_bytes()))
    }
}

impl AsRef<[u8]> for Encoded<'_> {
    #[inline]
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Inline(Inline { len, bytes }) => &bytes[..usize::from(*len)],
            Self::Copied(bytes) => bytes,
        }
    }
}
