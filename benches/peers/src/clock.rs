//! What time is.

use std::time::Duration;

use clap::ValueEnum;
use rustix::time::{ClockId, clock_gettime};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Clock {
    /// The time that passes for everybody
    Wall,
    /// The time that the processor spent on the calling thread, in the system's kernel too
    Processor,
}

impl Clock {
    /// The time since some moment that stays the same, for the processor's time within a thread.
    pub(crate) fn now(self) -> Duration {
        let time = clock_gettime(match self {
            Self::Wall => ClockId::Monotonic,
            Self::Processor => ClockId::ThreadCPUTime,
        });
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }

    /// The time since `start`, which this clock gave.
    pub(crate) fn since(self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }
}
