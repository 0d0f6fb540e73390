//! Waiting for a server.

use std::time::{Duration, Instant};

/// What can go wrong here goes wrong with a test.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Waits until something is so.
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> Result<bool>) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < Duration::from_mins(1) {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Err(format!("{what} took more than a minute").into())
}
