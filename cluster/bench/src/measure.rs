//! How long things take.

use std::time::{Duration, Instant};

use twindex_servers::Result;

/// The times of an operation, in order.
pub(crate) struct Times(Vec<Duration>);

impl Times {
    /// The times of `rounds` calls, after a tenth as many that do not count.
    pub(crate) async fn of(rounds: usize, mut call: impl AsyncFnMut(usize) -> Result<()>) -> Result<Self> {
        let mut times = Vec::with_capacity(rounds);
        for round in 0..rounds + rounds / 10 {
            let started = Instant::now();
            call(round).await?;
            if round >= rounds / 10 {
                times.push(started.elapsed());
            }
        }
        times.sort_unstable();
        Ok(Self(times))
    }

    pub(crate) fn from(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time within which so many percent are done, in microseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let place = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e6)
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}

/// A row of the table that is printed.
pub(crate) fn row(what: &str, ours: f64, theirs: f64, unit: &str) {
    println!("| {what} | {ours:.2} | {theirs:.2} | {:.2} | {unit} |", ours / theirs);
}
