//! The values of tables whose pairs expire.
//!
//! A stored value is its pair's deadline, then the value. The table's codec of values says so: it begins with `expires:`.

use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use twindex::{BYTES, Error, IndexKind, Result, Table, TableOptions};

/// The deadline of a pair that does not expire. Others are milliseconds since 1970 in UTC.
pub const FOREVER: u64 = 0;

/// The longest time to live: a thousand years, as for caches.
pub const MAX_TTL: Duration = Duration::from_hours(1000 * 365 * 24);

const PREFIX: &str = "expires:";

/// A step of a [`Pass`] goes over so many pairs of a sorted table, or over a segment of a hash table, some 450.
const STEP_PAIRS: usize = 256;

/// The codec that a table of expiring pairs has for values of this one.
pub fn expiring_codec(values: &str) -> String {
    [PREFIX, values].concat()
}

/// The codec of the values after their deadlines, if the pairs of a table with this codec expire.
pub fn values_that_expire(codec: &str) -> Option<&str> {
    codec.strip_prefix(PREFIX)
}

/// The deadline and the value of a stored one. One without a deadline, which is damage, does not expire.
#[inline]
pub fn split_deadline(stored: &[u8]) -> (u64, &[u8]) {
    stored.split_first_chunk().map_or((FOREVER, stored), |(time, value)| (u64::from_le_bytes(*time), value))
}

/// The stored bytes of a value.
#[inline]
pub fn with_deadline(deadline: u64, value: &[u8]) -> Vec<u8> {
    [&deadline.to_le_bytes(), value].concat()
}

/// Whether a pair with this deadline has expired by `now`.
#[inline]
pub fn has_expired(deadline: u64, now: u64) -> bool {
    deadline != FOREVER && deadline <= now
}

/// The deadline of a pair that lives this long from `now` on, or for ever. `None` for a time of zero or of more than [`MAX_TTL`].
pub fn deadline_of(ttl: Option<Duration>, now: impl FnOnce() -> u64) -> Option<u64> {
    match ttl {
        None | Some(Duration::MAX) => Some(FOREVER),
        Some(ttl) if ttl.is_zero() || ttl > MAX_TTL => None,
        Some(ttl) => {
            let millis = ttl.as_secs() * 1000 + u64::from(ttl.subsec_nanos().div_ceil(1_000_000));
            Some(now().saturating_add(millis))
        }
    }
}

/// What `act` does with these options as a table has them whose pairs expire.
pub fn with_expiring_codec<T>(options: TableOptions<'_>, act: impl FnOnce(TableOptions<'_>) -> T) -> T {
    let values = options.codecs().1;
    let stored = expiring_codec(values);
    // `bytes` opens any table.
    let is_any = values == BYTES || options == options.values_if_new(values);
    act(if is_any { options.values_if_new(&stored) } else { options.values(&stored) })
}

/// An error that names only the codecs of the values.
pub fn without_expiring_codec(error: Error) -> Error {
    let bare = |codec: String| values_that_expire(&codec).map(str::to_owned).unwrap_or(codec);
    match error {
        Error::WrongCodec { table, of, has, needs } => {
            Error::WrongCodec { table, of, has: bare(has), needs: bare(needs) }
        }
        other => other,
    }
}

/// When the next pairs of a table expire.
#[derive(Debug)]
pub struct Due {
    /// Nothing that the last pass left behind expires before.
    left: AtomicU64,
    /// Nor does anything that was written since the present one began.
    written: AtomicU64,
}

impl Default for Due {
    /// At once, since nothing is known of the table.
    fn default() -> Self {
        Self { left: AtomicU64::new(0), written: AtomicU64::new(u64::MAX) }
    }
}

impl Due {
    /// To be called once a pair with this deadline is in memory.
    #[inline]
    pub fn note(&self, deadline: u64) {
        if deadline != FOREVER && deadline < self.written.load(Relaxed) {
            self.written.fetch_min(deadline, Relaxed);
        }
    }

    /// Whether something may have expired by `now`.
    pub fn is_due(&self, now: u64) -> bool {
        now >= self.left.load(Relaxed).min(self.written.load(Relaxed))
    }
}

/// A way through all pairs of a table, in search of those that have expired, in bounded steps.
#[derive(Debug)]
pub struct Pass {
    at: At,
    /// The first deadline among the pairs that stay.
    due: u64,
}

#[derive(Debug)]
enum At {
    Start,
    Segment(u64),
    Behind(Vec<u8>),
    End,
}

impl Default for Pass {
    fn default() -> Self {
        Self { at: At::Start, due: u64::MAX }
    }
}

impl Pass {
    /// Whether it is at the start.
    pub fn is_new(&self) -> bool {
        matches!(self.at, At::Start)
    }

    /// Shows `expired` the keys of the next pairs that have expired by `now`. Returns the pass after them.
    pub fn step(&self, due: &Due, table: &Table, now: u64, expired: &mut dyn FnMut(&[u8])) -> Result<Self> {
        if self.is_new() {
            // A writer tells of its pair once that is in memory. So a pair is passed now, or told of later.
            due.written.store(u64::MAX, Relaxed);
        }
        let mut next = self.due;
        let mut passed = 0;
        // One type of closure, so that the WebAssembly module has one copy of how the indexes are read.
        let see: &mut dyn FnMut(&[u8], &[u8]) -> bool = &mut |key, stored| {
            passed += 1;
            match split_deadline(stored).0 {
                FOREVER => {}
                deadline if deadline <= now => expired(key),
                deadline => next = next.min(deadline),
            }
            true
        };
        let at = match table.index() {
            IndexKind::Hash => {
                let from = if let At::Segment(from) = self.at { from } else { 0 };
                let walk: &mut dyn FnMut(&[u8], &[u8]) = &mut |key, stored| _ = see(key, stored);
                table.walk(from, walk).map_or(At::End, At::Segment)
            }
            IndexKind::Sorted => {
                let last =
                    if let At::Behind(key) = &self.at { Bound::Excluded(&key[..]) } else { Bound::Unbounded };
                let mut cursor = table.cursor((last, Bound::Unbounded))?;
                cursor.steps(false, STEP_PAIRS, see);
                let last = cursor.key().filter(|_| passed == STEP_PAIRS);
                last.map_or(At::End, |key| At::Behind(key.to_vec()))
            }
        };
        Ok(Self { at, due: next })
    }

    /// Goes on after a step, once all its pairs are removed. Returns whether the pass has ended: the next one begins.
    pub fn go_on(&mut self, behind: Self, due: &Due) -> bool {
        let is_over = matches!(behind.at, At::End);
        if is_over {
            due.left.store(behind.due, Relaxed);
        }
        *self = if is_over { Self::default() } else { behind };
        is_over
    }
}
