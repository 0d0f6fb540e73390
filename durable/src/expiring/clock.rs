//! The time by which pairs expire.

use std::fmt;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use twindex_format::{FOREVER, deadline_of};

use crate::error::{Error, Result};

/// Wall time in milliseconds since 1970, as the steady clock of the system and what that is behind. It never goes back: when the
/// wall clock is set back, the steady one goes on alone.
pub(crate) struct Clock {
    given: Option<Box<Given>>,
    /// What to add to the steady time.
    ahead: AtomicU64,
    /// The steady time at which that was last made sure of.
    seen: AtomicU64,
}

/// A test's steady time and wall time.
type Given = dyn Fn() -> (u64, u64) + Send + Sync;

/// The system's, one for all stores.
static SYSTEM: LazyLock<Arc<Clock>> = LazyLock::new(|| Arc::new(Clock::new(None)));

/// The coarse clock is behind by up to so many milliseconds. It costs a quarter of the exact one.
const COARSE: u64 = 20;

impl Clock {
    pub(crate) fn new(given: Option<Box<Given>>) -> Self {
        Self { given, ahead: AtomicU64::new(0), seen: AtomicU64::new(u64::MAX) }
    }

    pub(crate) fn system() -> Arc<Self> {
        Arc::clone(&SYSTEM)
    }

    pub(crate) fn now(&self) -> u64 {
        self.at(self.steady(false))
    }

    #[inline]
    pub(crate) fn is_past(&self, deadline: u64) -> bool {
        if deadline == FOREVER {
            return false;
        }
        let coarse = self.at(self.steady(true));
        coarse >= deadline || (coarse + COARSE >= deadline && self.now() >= deadline)
    }

    /// The deadline of a pair that is to live so long from now on.
    pub(crate) fn deadline(&self, ttl: Option<Duration>) -> Result<u64> {
        deadline_of(ttl, || self.now()).ok_or_else(|| Error::Ttl { given: ttl.unwrap_or_default() })
    }

    /// The wall time at a steady one.
    #[inline]
    fn at(&self, steady: u64) -> u64 {
        if self.seen.load(Acquire) != steady {
            let wall = self.wall();
            self.ahead.fetch_max(wall.saturating_sub(self.steady(false)), Relaxed);
            self.seen.store(steady, Release);
        }
        steady.saturating_add(self.ahead.load(Relaxed))
    }

    fn wall(&self) -> u64 {
        match &self.given {
            Some(given) => given().1,
            None => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
        }
    }

    #[inline]
    fn steady(&self, is_coarse: bool) -> u64 {
        self.given.as_ref().map_or_else(|| steady(is_coarse), |given| given().0)
    }
}

#[cfg(all(target_os = "linux", not(miri)))]
fn steady(is_coarse: bool) -> u64 {
    let clock = if is_coarse { libc::CLOCK_MONOTONIC_COARSE } else { libc::CLOCK_MONOTONIC };
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the system writes one `timespec`.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec.cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000
}

#[cfg(not(all(target_os = "linux", not(miri))))]
fn steady(_is_coarse: bool) -> u64 {
    static BEGUN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);
    BEGUN.elapsed().as_millis() as u64
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clock").field("now", &self.now()).finish_non_exhaustive()
    }
}
