//! How long to wait before looking at a file again.

use std::thread;
use std::time::Duration;

/// At first, after changes came, and when none do. A look that finds nothing takes 5 us.
const PAUSE: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(32));

/// Waits longer each time.
#[derive(Debug)]
pub(crate) struct Pause(Duration);

impl Pause {
    pub(crate) fn new() -> Self {
        Self(PAUSE.0)
    }

    /// Waits, `most` at most.
    pub(crate) fn wait(&mut self, most: Option<Duration>) {
        thread::sleep(most.map_or(self.0, |most| most.min(self.0)));
        self.0 = (2 * self.0).min(PAUSE.1);
    }
}
