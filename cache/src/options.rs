//! The limits, errors, options and counts of a cache.

use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

pub use twindex::{MAX_KEY_BYTES, MAX_VALUE_BYTES};

use super::tuned;

/// The smallest capacity, in bytes.
pub const MIN_CAPACITY: usize = tuned(64 << 10, 32 << 10);
/// The longest label of a cache, in bytes: [`CacheOptions::label`].
pub const MAX_LABEL_BYTES: usize = 65_535;
/// The longest time to live: a thousand years.
pub const MAX_TTL: Duration = Duration::from_hours(1000 * 365 * 24);

/// Any error of a cache. An operation that returns an error has changed nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// A key of more than [`MAX_KEY_BYTES`].
    KeyTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// A value of more than [`MAX_VALUE_BYTES`].
    ValueTooLarge {
        /// Its length in bytes.
        len: u64,
    },
    /// A label of more than [`MAX_LABEL_BYTES`].
    LabelTooLong {
        /// Its length in bytes.
        len: usize,
    },
    /// The options name no limit, or one that cannot hold a pair.
    Capacity {
        /// The capacity in bytes that was given, if one was.
        bytes: Option<usize>,
        /// The number of entries that was given, if one was.
        entries: Option<usize>,
    },
    /// A time of zero, or of more than [`MAX_TTL`].
    Ttl {
        /// The time as given.
        given: Duration,
    },
    /// A pair is to expire, and the host gave no clock: [`CacheOptions::clock`].
    NoClock,
    /// [`Cache::increment`](crate::Cache::increment) met a value that is not a decimal integer of 64 bits.
    NotAnInteger,
    /// [`Cache::increment`](crate::Cache::increment) would leave the range of a 64-bit integer.
    Overflow {
        /// The value as it is.
        value: i64,
        /// The increment that did not fit.
        by: i64,
    },
    /// A change of a pair does not fit into the cache. The pair is as it was.
    NoRoom {
        /// The bytes that the pair would take.
        needed: usize,
    },
    /// The computation of a value asks for a value whose computation waits for this thread.
    Circle,
    /// The bytes are not a whole saved cache.
    Corrupt {
        /// Where, in bytes from the start.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
    /// Reading or writing failed underneath.
    Io(io::Error),
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_KEY_TOO_LONG`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::KeyTooLong { .. } => "TWINDEX_KEY_TOO_LONG",
            Self::ValueTooLarge { .. } => "TWINDEX_VALUE_TOO_LARGE",
            Self::LabelTooLong { .. } => "TWINDEX_LABEL_TOO_LONG",
            Self::Capacity { .. } => "TWINDEX_CAPACITY",
            Self::Ttl { .. } => "TWINDEX_TTL",
            Self::NoClock => "TWINDEX_NO_CLOCK",
            Self::NotAnInteger => "TWINDEX_NOT_AN_INTEGER",
            Self::Overflow { .. } => "TWINDEX_OVERFLOW",
            Self::NoRoom { .. } => "TWINDEX_NO_ROOM",
            Self::Circle => "TWINDEX_CIRCLE",
            Self::Corrupt { .. } => "TWINDEX_CORRUPT",
            Self::Io(_) => "TWINDEX_IO",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyTooLong { len } => {
                write!(f, "a key of {len} bytes is too long, the limit is {MAX_KEY_BYTES}")
            }
            Self::ValueTooLarge { len } => {
                write!(f, "a value of {len} bytes is too large, the limit is {MAX_VALUE_BYTES}")
            }
            Self::LabelTooLong { len } => {
                write!(f, "a label of {len} bytes is too long, the limit is {MAX_LABEL_BYTES}")
            }
            Self::Capacity { bytes: Some(bytes), .. } => {
                write!(f, "a capacity of {bytes} bytes is too small, the minimum is {MIN_CAPACITY}")
            }
            Self::Capacity { entries: Some(entries), .. } => {
                write!(f, "a cache of {entries} entries holds nothing, the minimum is 1")
            }
            Self::Capacity { .. } => f.write_str("a cache needs a capacity in bytes or a number of entries"),
            Self::Ttl { given } => write!(
                f,
                "a time to live or to idle must be above zero and at most {MAX_TTL:?}, not {given:?}"
            ),
            Self::NoClock => f.write_str("a pair has a time to live, but the cache has no clock"),
            Self::NotAnInteger => f.write_str("the value is not a decimal integer of 64 bits"),
            Self::Overflow { value, by } => {
                write!(f, "{value} incremented by {by} does not fit into 64 bits")
            }
            Self::NoRoom { needed } => write!(f, "the cache has no room for a pair of {needed} bytes"),
            Self::Circle => f.write_str("a computation waits for itself: it needs its own value"),
            Self::Corrupt { offset, what } => write!(f, "corrupt at byte {offset}: {what}"),
            // Where there is no system the texts of all its errors would be a part of every module.
            Self::Io(_) if cfg!(all(target_family = "wasm", target_os = "unknown")) => {
                f.write_str("reading or writing failed")
            }
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Whole milliseconds of a time to live, rounded up.
pub(super) fn millis(time: Duration) -> Result<u64> {
    if time.is_zero() || time > MAX_TTL {
        return Err(Error::Ttl { given: time });
    }
    Ok(time.as_secs() * 1000 + u64::from(time.subsec_nanos().div_ceil(1_000_000)))
}

/// A copy, if there is memory for one.
pub(super) fn copy(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).ok()?;
    copy.extend_from_slice(bytes);
    Some(copy)
}

pub(super) fn check(key: &[u8], value: &[u8]) -> Result<()> {
    if key.len() > MAX_KEY_BYTES {
        return Err(Error::KeyTooLong { len: key.len() });
    }
    if value.len() as u64 > MAX_VALUE_BYTES {
        return Err(Error::ValueTooLarge { len: value.len() as u64 });
    }
    Ok(())
}

pub(super) type Listener = dyn Fn(&[u8], &[u8], Cause) + Send + Sync;
pub(super) type Time = dyn Fn() -> u64 + Send + Sync;

/// The options of a new cache. It needs a capacity or a number of entries.
#[derive(Clone, Default)]
#[must_use]
pub struct CacheOptions {
    pub(super) bytes: Option<usize>,
    pub(super) entries: Option<usize>,
    pub(super) ttl: Option<Duration>,
    pub(super) idle: Option<Duration>,
    pub(super) stale: Option<Duration>,
    pub(super) listener: Option<Arc<Listener>>,
    pub(super) clock: Option<Arc<Time>>,
    pub(super) label: Arc<[u8]>,
}

impl CacheOptions {
    /// The most bytes of memory, the cache's own structures included.
    pub fn capacity(bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..Self::default() }
    }

    /// The most pairs. A cache holds at most 4,095 values above 2 MiB.
    pub fn max_entries(entries: usize) -> Self {
        Self { entries: Some(entries), ..Self::default() }
    }

    /// Limits the memory of a cache that has a number of entries, too.
    pub fn and_capacity(self, bytes: usize) -> Self {
        Self { bytes: Some(bytes), ..self }
    }

    /// Limits the number of pairs of a cache that has a capacity in bytes.
    pub fn and_max_entries(self, entries: usize) -> Self {
        Self { entries: Some(entries), ..self }
    }

    /// How long a pair lives after its last write, unless that write says otherwise. Without this, or with [`Duration::MAX`], for
    /// ever.
    pub fn ttl(self, ttl: Duration) -> Self {
        Self { ttl: Some(ttl), ..self }
    }

    /// How long a pair lives after it was last written or read. It may go up to a sixty-fourth of this time early.
    pub fn time_to_idle(self, idle: Duration) -> Self {
        Self { idle: Some(idle), ..self }
    }

    /// For how long after its expiry [`Cache::get_or_compute`](crate::Cache::get_or_compute) still returns a value, while one
    /// caller computes the new one.
    pub fn stale_for(self, stale: Duration) -> Self {
        Self { stale: Some(stale), ..self }
    }

    /// Calls `listener` for each pair that was evicted or has expired, with its key, its value and the cause.
    ///
    /// It runs after the operation that removed the pair, which may be a look-up, in the same thread, while no lock is held. It
    /// may use the cache. It misses a pair that there is no memory to copy. If it panics, the operation has taken effect, and
    /// the panic goes on to its caller, unless that is already unwinding.
    pub fn eviction_listener(self, listener: impl Fn(&[u8], &[u8], Cause) + Send + Sync + 'static) -> Self {
        Self { listener: Some(Arc::new(listener)), ..self }
    }

    /// Gives the cache a clock: milliseconds since any time. Only WebAssembly without a system needs one. If the clock goes
    /// back, the cache's time stands still, and then goes on. Times from 2^62 on and panics are taken for faults and left out.
    pub fn clock(self, now: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        Self { clock: Some(Arc::new(now)), ..self }
    }

    /// Bytes that mean something only to the host, such as the names of codecs. They are saved with the cache.
    pub fn label(self, label: impl Into<Arc<[u8]>>) -> Self {
        Self { label: label.into(), ..self }
    }
}

impl fmt::Debug for CacheOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, entries, ttl, idle, stale, .. } = self;
        f.debug_struct("CacheOptions")
            .field("capacity", bytes)
            .field("max_entries", entries)
            .field("ttl", ttl)
            .field("time_to_idle", idle)
            .field("stale_for", stale)
            .finish_non_exhaustive()
    }
}

/// Why a pair was removed that nobody deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Cause {
    /// It was evicted, because there was no room for all pairs.
    Size,
    /// Its time was over.
    Expired,
}

impl Cause {
    /// `size` or `expired`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Size => "size",
            Self::Expired => "expired",
        }
    }
}

/// The size of a cache, and its counts since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Look-ups that found a pair. `peek`, `contains` and `ttl` do not count.
    pub hits: u64,
    /// Look-ups that found none.
    pub misses: u64,
    /// Pairs written.
    pub writes: u64,
    /// Pairs that were evicted because the cache was full.
    pub evictions: u64,
    /// Pairs that were removed because their time was over.
    pub expirations: u64,
    /// Writes that were rejected: the pair was too large, or a reader held all memory.
    pub rejected: u64,
    /// The pairs it holds. Expired ones count until they are removed.
    pub entries: usize,
    /// The bytes of memory it takes.
    pub memory: usize,
}
