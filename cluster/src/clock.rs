//! The time of what is read so often that reading a clock would cost more than the rest: a hit of the near cache.

/// Milliseconds since some fixed time. It may be late by up to 10: it goes on with each tick of the kernel.
pub(crate) fn millis() -> u64 {
    imp::millis()
}

#[cfg(target_os = "linux")]
mod imp {
    use rustix::time::{ClockId, clock_gettime};

    /// The time of the last tick, in 5 ns where the precise time takes 25.
    pub(super) fn millis() -> u64 {
        let now = clock_gettime(ClockId::MonotonicCoarse);
        // Both parts count from the start of the machine, so neither is below 0.
        now.tv_sec.unsigned_abs() * 1000 + u64::try_from(now.tv_nsec).unwrap_or_default() / 1_000_000
    }
}

#[cfg(not(target_os = "linux"))]
mod imp {
    use std::sync::LazyLock;
    use std::time::Instant;

    static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);

    pub(super) fn millis() -> u64 {
        u64::try_from(BEGUN.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    const LATE: u64 = 10;

    #[test]
    fn the_coarse_clock_keeps_time() {
        let (begun, precise) = (millis(), Instant::now());
        std::thread::sleep(Duration::from_millis(100));
        let passed = millis() - begun;
        assert!(passed + LATE >= 100 && passed <= precise.elapsed().as_millis() as u64 + LATE, "{passed}");
    }
}
