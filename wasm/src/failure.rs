//! What can go wrong at this border, as numbers, codes and texts.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::io;

use twindex::Error;

pub(crate) const TYPE: &str = "TWINDEX_TYPE";
pub(crate) const CLOSED: &str = "TWINDEX_CLOSED";
pub(crate) const RANGE: &str = "TWINDEX_RANGE";
pub(crate) const ENCODING: &str = "TWINDEX_ENCODING";
pub(crate) const READ_ONLY: &str = "TWINDEX_READ_ONLY";
pub(crate) const LOG_FAILED: &str = "TWINDEX_LOG_FAILED";
pub(crate) const NOT_AN_INTEGER: &str = "TWINDEX_NOT_AN_INTEGER";
pub(crate) const CAPACITY: &str = "TWINDEX_CAPACITY";
pub(crate) const TTL: &str = "TWINDEX_TTL";
pub(crate) const NO_ROOM: &str = "TWINDEX_NO_ROOM";
pub(crate) const NO_CLOCK: &str = "TWINDEX_NO_CLOCK";
pub(crate) const MEMORY_LIMIT: &str = "TWINDEX_MEMORY_LIMIT";
pub(crate) const ENDED: &str = "TWINDEX_ENDED";
const NOT_SUPPORTED: &str = "TWINDEX_NOT_SUPPORTED";
const WRONG_EXPIRY: &str = "TWINDEX_WRONG_EXPIRY";

/// The code of error number `n` stands at position `n - 1`. New ones are added at the end, none is moved.
const CODES: [&str; 28] = [
    "TWINDEX_KEY_TOO_LONG",
    "TWINDEX_VALUE_TOO_LARGE",
    "TWINDEX_TABLE_NAME",
    "TWINDEX_WRONG_INDEX",
    "TWINDEX_UNKNOWN_INDEX",
    "TWINDEX_TABLE_DROPPED",
    MEMORY_LIMIT,
    NOT_AN_INTEGER,
    "TWINDEX_OVERFLOW",
    "TWINDEX_CORRUPT",
    "TWINDEX_IO",
    TYPE,
    CLOSED,
    RANGE,
    ENCODING,
    "TWINDEX_WRONG_CODEC",
    "TWINDEX_CODEC_NAME",
    "TWINDEX_NO_TABLE",
    CAPACITY,
    NO_CLOCK,
    READ_ONLY,
    LOG_FAILED,
    TTL,
    NO_ROOM,
    "TWINDEX_CONFLICT",
    ENDED,
    NOT_SUPPORTED,
    WRONG_EXPIRY,
];

/// The number of any code that the engine has and this list has not.
const UNNUMBERED: i32 = 99;

/// The number of a code.
pub(crate) fn number(code: &str) -> i32 {
    CODES.iter().zip(1..).find(|(known, _)| **known == code).map_or(UNNUMBERED, |(_, number)| number)
}

/// Why a call failed.
pub(crate) enum Failure {
    /// The engine refused.
    Engine(Error),
    /// A handle that is closed, or was never given.
    Closed { handle: u32 },
    /// A transaction that was committed.
    Ended,
    /// A table whose pairs expire, in the module that has none.
    Expires,
    /// The pairs of the table expire, and it was opened as if they did not, or the other way round.
    Expiry { table: String, expires: bool },
    /// A time to live out of range.
    Time,
    /// The host has given no time.
    NoClock,
    /// A verb that a cache or a transaction does not have.
    Lacks { of: &'static str },
    /// A handle of another kind than the call takes.
    Kind { handle: u32, is: &'static str, needs: &'static str },
    /// A range of addresses that is not within one buffer of the host.
    Outside { address: usize, length: usize },
    /// An address that is no buffer's.
    NoBuffer { address: usize },
    /// A packed block that does not end with its last item.
    Block { item: usize },
    /// A number that names no kind of bound.
    Bound { kind: u32 },
    /// A name that is not UTF-8.
    Encoding,
    /// The host refused to give the module more memory.
    NoMemory { bytes: usize },
    /// Every handle has been given.
    NoHandle,
    /// A number that is no time.
    Figure { what: &'static str, figure: f64 },
    /// A cache refused.
    Cache(Refused),
    /// A number that names no choice.
    Choice { what: &'static str, given: u32 },
    /// What a store that is kept in a file, or is not, does not do.
    Refused(Refusal),
}

impl Failure {
    fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Closed { .. } => CLOSED,
            Self::Kind { .. } | Self::Lacks { .. } => TYPE,
            Self::Ended => ENDED,
            Self::Expires => NOT_SUPPORTED,
            Self::Expiry { .. } => WRONG_EXPIRY,
            Self::Time => TTL,
            Self::NoClock => NO_CLOCK,
            Self::Outside { .. }
            | Self::NoBuffer { .. }
            | Self::Block { .. }
            | Self::Bound { .. }
            | Self::Figure { .. }
            | Self::Choice { .. } => RANGE,
            Self::Cache(refused) => refused.code(),
            Self::Encoding => ENCODING,
            Self::NoMemory { .. } | Self::NoHandle => MEMORY_LIMIT,
            Self::Refused(refusal) => refusal.code(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Closed { handle } => write!(f, "handle {handle} is closed, or was never open"),
            Self::Expires => f.write_str("this module has no tables whose pairs expire"),
            Self::Expiry { table, expires } => {
                let not = if *expires { "" } else { "do not " };
                write!(f, "the pairs of table \"{table}\" {not}expire")
            }
            Self::Time => {
                f.write_str("a time to live or to idle is more than 0 milliseconds and at most 1000 years")
            }
            Self::NoClock => f.write_str("pairs are to expire, and twindex_set_time was not called before"),
            Self::Ended => f.write_str("the transaction has ended"),
            Self::Lacks { of } => write!(f, "a {of} has no such verb"),
            Self::Kind { handle, is, needs } => write!(f, "handle {handle} is a {is}, this needs a {needs}"),
            Self::Outside { address, length } => {
                write!(
                    f,
                    "the {length} bytes at address {address} are not within one buffer of twindex_alloc"
                )
            }
            Self::NoBuffer { address } => write!(f, "address {address} is not the start of a buffer"),
            Self::Block { item } => write!(f, "the packed block ends within its item {item}"),
            Self::Bound { kind } => write!(f, "there is no bound of kind {kind}"),
            Self::Encoding => f.write_str("a name is not UTF-8"),
            Self::NoMemory { bytes } => write!(f, "the module got no memory for {bytes} bytes more"),
            Self::NoHandle => f.write_str("every handle has been given"),
            Self::Figure { what, figure } if figure.is_nan() => write!(f, "{what} is NaN"),
            // Writing a fraction would take ten kilobytes of code.
            Self::Figure { what, figure } => write!(f, "{what} is out of range: about {}", *figure as i64),
            Self::Cache(refused) => refused.fmt(f),
            Self::Choice { what, given } => write!(f, "there is no {what} {given}"),
            Self::Refused(refusal) => f.write_str(refusal.text()),
        }
    }
}

/// Why a cache refused. The texts of the crate would take kilobytes of code, for times.
#[cfg(feature = "caches")]
pub(crate) enum Refused {
    /// It is to hold nothing, or has no bound.
    Capacity {
        bytes: Option<usize>,
        entries: Option<usize>,
    },
    NotAnInteger,
    /// A changed pair does not fit.
    NoRoom {
        bytes: usize,
    },
}

#[cfg(feature = "caches")]
impl Refused {
    pub(crate) fn code(&self) -> &'static str {
        match self {
            Self::Capacity { .. } => CAPACITY,
            Self::NotAnInteger => NOT_AN_INTEGER,
            Self::NoRoom { .. } => NO_ROOM,
        }
    }
}

#[cfg(feature = "caches")]
impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capacity { bytes: Some(bytes), .. } => {
                return write!(
                    f,
                    "a capacity of {bytes} bytes is too small, the minimum is {}",
                    twindex_cache::MIN_CAPACITY
                );
            }
            Self::NoRoom { bytes } => return write!(f, "the cache has no room for a pair of {bytes} bytes"),
            Self::Capacity { entries: Some(_), .. } => "a cache of 0 entries holds nothing, the minimum is 1",
            Self::Capacity { .. } => "a cache needs a capacity in bytes or a number of entries",
            Self::NotAnInteger => "the value is not a decimal integer of 64 bits",
        })
    }
}

/// In the module without caches it has no values.
#[cfg(not(feature = "caches"))]
pub(crate) enum Refused {}

#[cfg(not(feature = "caches"))]
impl Refused {
    pub(crate) fn code(&self) -> &'static str {
        match *self {}
    }
}

#[cfg(not(feature = "caches"))]
impl fmt::Display for Refused {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

/// Why writes are refused.
#[derive(Clone, Copy)]
pub(crate) enum Refusal {
    ReadOnly,
    LogFailed,
    /// The store has no file, where one is needed.
    NoFile,
}

impl Refusal {
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::ReadOnly => READ_ONLY,
            Self::LogFailed => LOG_FAILED,
            Self::NoFile => TYPE,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::ReadOnly => "the store was opened for reading alone",
            Self::NoFile => "this store is kept in no file",
            Self::LogFailed => "writing to the store's file failed before: open it again",
        }
    }
}

/// A failure that has become the last error: as small as a call of the hot path can return.
#[derive(Clone, Copy)]
pub(crate) struct Failed(i32);

impl Failed {
    /// Fails, off the way of calls that do not.
    #[cold]
    #[inline(never)]
    pub(crate) fn with(failure: impl FnOnce() -> Failure) -> Self {
        failure().into()
    }

    /// The last one once more.
    #[cold]
    pub(crate) fn again() -> Self {
        Self(LAST_ERROR.with_borrow(|last| number(last.code)))
    }

    /// What the call returns to the host.
    pub(crate) fn status(self) -> i32 {
        -self.0
    }
}

impl From<Failure> for Failed {
    #[cold]
    #[inline(never)] // one copy, not one in every export
    fn from(failure: Failure) -> Self {
        LAST_ERROR.with_borrow_mut(|last| last.set(&failure))
    }
}

impl From<Error> for Failed {
    #[cold]
    #[inline(never)]
    fn from(error: Error) -> Self {
        let failure = match error {
            Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => Failure::NoMemory { bytes: 0 },
            error => Failure::Engine(error),
        };
        failure.into()
    }
}

/// The error of the last call that failed.
#[derive(Default)]
pub(crate) struct LastError {
    /// Empty where none has failed yet.
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

thread_local! {
    static LAST_ERROR: RefCell<LastError> = const { RefCell::new(LastError { code: "", text: String::new() }) };
}

impl LastError {
    /// Takes it away, so that an answer about it that fails is the last error.
    pub(crate) fn take() -> Self {
        LAST_ERROR.take()
    }

    /// Puts it back.
    pub(crate) fn keep(self) {
        LAST_ERROR.set(self);
    }

    fn set(&mut self, failure: &Failure) -> Failed {
        self.code = failure.code();
        self.text.clear();
        // A string takes whatever is written to it; an error could only come from the value's own text.
        let _ = write!(self.text, "{failure}");
        Failed(number(self.code))
    }
}
