//! Why a call failed, which each interface says in its own words.

use std::fmt;

use twindex_durable as durable;

/// A call that failed.
pub(crate) enum Refused {
    NoSuchStore(String),
    ReadOnly,
    /// A quota: what it counts, and how many there may be.
    Quota(&'static str, u64),
    Handles(usize),
    Answer(usize),
    /// A cursor of `list-keys` that this bucket did not give, or not lately.
    Cursor,
    /// A value that is not a decimal integer of this many bits.
    NotAnInteger,
    Overflow,
    Store(durable::Error),
}

pub(crate) type Result<T> = std::result::Result<T, Refused>;

impl Refused {
    /// A stable name of the kind of error.
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::NoSuchStore(_) => "TWINDEX_NO_TABLE",
            Self::ReadOnly => "TWINDEX_READ_ONLY",
            Self::Quota(..) => "TWINDEX_QUOTA",
            Self::Handles(_) => "TWINDEX_TOO_MANY_HANDLES",
            Self::Answer(_) => "TWINDEX_ANSWER_TOO_LARGE",
            Self::Cursor => "TWINDEX_NOT_A_POSITION",
            Self::NotAnInteger => "TWINDEX_NOT_AN_INTEGER",
            Self::Overflow => "TWINDEX_OVERFLOW",
            Self::Store(error) => error.code(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSuchStore(name) => {
                write!(f, "this guest has no bucket \"{}\"", name.escape_debug())
            }
            Self::ReadOnly => write!(f, "the host made this bucket read-only"),
            Self::Quota(what, limit) => {
                write!(f, "the bucket may have at most {limit} {what}, which this write would pass")
            }
            Self::Handles(limit) => write!(f, "{limit} handles are open, and no more are allowed: drop some"),
            Self::Answer(limit) => {
                write!(f, "the answer would have more than {limit} bytes: read fewer pairs")
            }
            Self::Cursor => {
                write!(f, "this cursor is not from this bucket, or is too old: list the keys from the start")
            }
            Self::NotAnInteger => {
                write!(f, "the value is not a decimal integer in the range of this increment")
            }
            Self::Overflow => write!(f, "the sum would leave the range of this increment"),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl<E: Into<durable::Error>> From<E> for Refused {
    fn from(error: E) -> Self {
        Self::Store(error.into())
    }
}

impl From<Refused> for wasmtime::Error {
    fn from(refused: Refused) -> Self {
        Self::msg(format!("{}: {refused}", refused.code()))
    }
}
