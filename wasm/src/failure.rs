//! What can go wrong at this border, as numbers, codes and texts.

use std::cell::RefCell;
use std::fmt::{self, Write};
use std::io;

use twindex::Error;

pub(crate) const CLOSED: &str = "TWINDEX_CLOSED";

/// The code of error number `n` stands at position `n - 1`. New ones are added at the end, none is moved.
const CODES: [&str; 28] = [
    "TWINDEX_KEY_TOO_LONG",
    "TWINDEX_VALUE_TOO_LARGE",
    "TWINDEX_TABLE_NAME",
    "TWINDEX_WRONG_INDEX",
    "TWINDEX_UNKNOWN_INDEX",
    "TWINDEX_TABLE_DROPPED",
    "TWINDEX_MEMORY_LIMIT",
    "TWINDEX_NOT_AN_INTEGER",
    "TWINDEX_OVERFLOW",
    "TWINDEX_CORRUPT",
    "TWINDEX_IO",
    "TWINDEX_TYPE",
    CLOSED,
    "TWINDEX_RANGE",
    "TWINDEX_ENCODING",
    "TWINDEX_WRONG_CODEC",
    "TWINDEX_CODEC_NAME",
    "TWINDEX_NO_TABLE",
    "TWINDEX_CAPACITY",
    "TWINDEX_NO_CLOCK",
    "TWINDEX_READ_ONLY",
    "TWINDEX_LOG_FAILED",
    "TWINDEX_TTL",
    "TWINDEX_NO_ROOM",
    "TWINDEX_CONFLICT",
    "TWINDEX_ENDED",
    "TWINDEX_NOT_SUPPORTED",
    "TWINDEX_WRONG_EXPIRY",
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
    /// A cache is to hold nothing, or has no bound.
    #[cfg(feature = "caches")]
    Capacity { bytes: Option<usize>, entries: Option<usize> },
    /// A value of a cache that is to be increased.
    #[cfg(feature = "caches")]
    NotAnInteger,
    /// A changed pair does not fit into its cache.
    #[cfg(feature = "caches")]
    NoRoom { bytes: usize },
    /// A number that names no choice.
    Choice { what: &'static str, given: u32 },
    /// What a store that is kept in a file, or is not, does not do.
    Refused(Refusal),
}

impl Failure {
    /// Writes what it says to `text`; its code.
    fn tell(&self, text: &mut String) -> &'static str {
        let mut tell = |code, words: fmt::Arguments<'_>| {
            // A string takes whatever is written to it; an error could only come from the value's own text.
            let _ = text.write_fmt(words);
            code
        };
        match self {
            Self::Engine(error) => tell(error.code(), format_args!("{error}")),
            Self::Closed { handle } => {
                tell(CLOSED, format_args!("handle {handle} is closed, or was never open"))
            }
            // The module with tables alone makes none of these, so it leaves out their texts.
            Self::Ended
            | Self::Expiry { .. }
            | Self::Time
            | Self::NoClock
            | Self::Figure { .. }
            | Self::Refused(_)
                if cfg!(not(any(feature = "expiring", feature = "transactions"))) =>
            {
                unreachable!()
            }
            Self::Ended => tell("TWINDEX_ENDED", format_args!("the transaction has ended")),
            Self::Expires => {
                tell("TWINDEX_NOT_SUPPORTED", format_args!("this module has no tables whose pairs expire"))
            }
            Self::Expiry { table, expires } => {
                let not = if *expires { "" } else { "do not " };
                tell("TWINDEX_WRONG_EXPIRY", format_args!("the pairs of table \"{table}\" {not}expire"))
            }
            Self::Time => tell(
                "TWINDEX_TTL",
                format_args!("a time to live or to idle is more than 0 milliseconds and at most 1000 years"),
            ),
            Self::NoClock => tell(
                "TWINDEX_NO_CLOCK",
                format_args!("a time to live needs a clock: call twindex_set_time first"),
            ),
            Self::Lacks { of } => tell("TWINDEX_TYPE", format_args!("a {of} has no such verb")),
            Self::Kind { handle, is, needs } => {
                tell("TWINDEX_TYPE", format_args!("handle {handle} is a {is}, this needs a {needs}"))
            }
            Self::Outside { address, length } => tell(
                "TWINDEX_RANGE",
                format_args!(
                    "the {length} bytes at address {address} are not within one buffer of twindex_alloc"
                ),
            ),
            Self::NoBuffer { address } => {
                tell("TWINDEX_RANGE", format_args!("address {address} is not the start of a buffer"))
            }
            Self::Block { item } => {
                tell("TWINDEX_RANGE", format_args!("the packed block ends within its item {item}"))
            }
            Self::Bound { kind } => tell("TWINDEX_RANGE", format_args!("there is no bound of kind {kind}")),
            Self::Encoding => tell("TWINDEX_ENCODING", format_args!("a name is not UTF-8")),
            Self::NoMemory { bytes } => {
                tell("TWINDEX_MEMORY_LIMIT", format_args!("the module got no memory for {bytes} bytes more"))
            }
            Self::NoHandle => tell("TWINDEX_MEMORY_LIMIT", format_args!("no handle is left")),
            Self::Figure { what, figure } if figure.is_nan() => {
                tell("TWINDEX_RANGE", format_args!("{what} is NaN"))
            }
            // Writing a fraction would take ten kilobytes of code.
            Self::Figure { what, figure } => {
                tell("TWINDEX_RANGE", format_args!("{what} is out of range: about {}", *figure as i64))
            }
            Self::Choice { what, given } => tell("TWINDEX_RANGE", format_args!("there is no {what} {given}")),
            // The texts of the crate would take kilobytes of code, for times.
            #[cfg(feature = "caches")]
            Self::Capacity { bytes, entries } => match (bytes, entries) {
                (Some(bytes), _) => tell(
                    "TWINDEX_CAPACITY",
                    format_args!(
                        "a capacity of {bytes} bytes is too small, the minimum is {}",
                        twindex_cache::MIN_CAPACITY
                    ),
                ),
                (None, Some(_)) => tell(
                    "TWINDEX_CAPACITY",
                    format_args!("a cache of 0 entries holds nothing, the minimum is 1"),
                ),
                (None, None) => tell(
                    "TWINDEX_CAPACITY",
                    format_args!("a cache needs a capacity in bytes or a number of entries"),
                ),
            },
            #[cfg(feature = "caches")]
            Self::NotAnInteger => {
                tell("TWINDEX_NOT_AN_INTEGER", format_args!("the value is not a decimal integer of 64 bits"))
            }
            #[cfg(feature = "caches")]
            Self::NoRoom { bytes } => {
                tell("TWINDEX_NO_ROOM", format_args!("the cache has no room for a pair of {bytes} bytes"))
            }
            Self::Refused(refusal) => {
                let (code, words) = refusal.told();
                tell(code, format_args!("{words}"))
            }
        }
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
    /// Its code and its text.
    fn told(self) -> (&'static str, &'static str) {
        match self {
            Self::ReadOnly => ("TWINDEX_READ_ONLY", "the store was opened read-only"),
            Self::LogFailed => {
                ("TWINDEX_LOG_FAILED", "writing to the store's file failed before: open it again")
            }
            Self::NoFile => ("TWINDEX_TYPE", "this store has no file"),
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
        self.text.clear();
        self.code = failure.tell(&mut self.text);
        Failed(number(self.code))
    }
}
