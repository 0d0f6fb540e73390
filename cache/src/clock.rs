//! Milliseconds.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::CacheOptions;
use super::options::Time;
use super::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Milliseconds since some time. They never go back.
pub(super) enum Clock {
    System,
    Host { now: Arc<Time>, last: AtomicU64, ahead: AtomicU64 },
}

impl Clock {
    /// The coarse clock is behind by up to so many milliseconds.
    const COARSE: u64 = 20;
    /// A host's clock that goes back by less is one that two threads read at nearly the same time.
    const JITTER: u64 = 1000;
    /// A host's clock that shows a later time has failed.
    const LAST: u64 = 1 << 62;

    pub(super) fn new(options: &CacheOptions) -> Self {
        options.clock.clone().map_or(Self::System, |now| Self::Host {
            now,
            last: AtomicU64::new(0),
            ahead: AtomicU64::new(0),
        })
    }

    pub(super) fn is_there(&self) -> bool {
        matches!(self, Self::Host { .. }) || !cfg!(all(target_family = "wasm", target_os = "unknown"))
    }

    /// The time, to the millisecond.
    pub(super) fn now(&self) -> u64 {
        match self {
            Self::System => Self::system(false),
            Self::Host { now, last, ahead } => {
                let before = last.load(Relaxed);
                // It may run amid a change, so its panics end here.
                let time = catch_unwind(AssertUnwindSafe(|| now())).unwrap_or(before);
                if time > Self::LAST {
                    return before;
                }
                let time = time.saturating_add(ahead.load(Relaxed)).min(Self::LAST);
                if before > time + Self::JITTER {
                    // The clock was set back. From now on we add what is missing.
                    ahead.fetch_add(before - time, Relaxed);
                    return before;
                }
                if time > before {
                    last.store(time, Relaxed);
                }
                time.max(before)
            }
        }
    }

    /// The system's time. The coarse one costs a quarter, and is behind by up to `COARSE`.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn system(is_coarse: bool) -> u64 {
        let clock = if is_coarse { libc::CLOCK_MONOTONIC_COARSE } else { libc::CLOCK_MONOTONIC };
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the system writes one `timespec`.
        unsafe { libc::clock_gettime(clock, &raw mut time) };
        time.tv_sec.cast_unsigned() * 1000 + time.tv_nsec.cast_unsigned() / 1_000_000
    }

    #[cfg(not(any(
        all(target_os = "linux", not(miri)),
        all(target_family = "wasm", target_os = "unknown")
    )))]
    fn system(_is_coarse: bool) -> u64 {
        static BEGUN: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        BEGUN.get_or_init(std::time::Instant::now).elapsed().as_millis() as u64
    }

    /// Here the host has the clock, and nothing expires without it.
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    fn system(_is_coarse: bool) -> u64 {
        0
    }

    /// Whether a deadline has come.
    pub(super) fn is_past(&self, deadline: u64) -> bool {
        if matches!(self, Self::System) {
            let coarse = Self::system(true);
            if coarse >= deadline || coarse + Self::COARSE < deadline {
                return coarse >= deadline;
            }
        }
        self.now() >= deadline
    }
}
