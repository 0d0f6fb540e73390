//! How long things take, and the lines that say so.

use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
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
            times.push(started.elapsed());
        }
        Ok(Self::from(times.split_off(rounds / 10)))
    }

    pub(crate) fn from(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// The time within which so many percent are done, in nanoseconds.
    pub(crate) fn percentile(&self, percent: usize) -> f64 {
        let place = (self.0.len() * percent / 100).min(self.0.len().saturating_sub(1));
        self.0.get(place).map_or(f64::NAN, |time| time.as_secs_f64() * 1e9)
    }

    pub(crate) fn median(&self) -> f64 {
        self.percentile(50)
    }
}

/// 50 tasks that make so many calls each.
pub(crate) async fn fifty(each: usize, call: impl AsyncFn(usize) -> Result<()>) -> Result<()> {
    let tasks = (0..50).map(|task| {
        let call = &call;
        async move {
            for number in 0..each {
                call(task * each + number).await?;
            }
            Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
        }
    });
    try_join_all(tasks).await.map(drop)
}

/// Prints a figure of a system, as `cargo xtask bench` reads it. Of rates (`/s`) more is better.
pub(crate) fn print(system: &str, figure: &str, unit: &str, value: f64) {
    println!(
        "{{\"system\":\"{system}\",\"figure\":\"{figure}\",\"unit\":\"{unit}\",\"value\":{value},\"params\":{{}}}}"
    );
}

/// Ours, and what a programmer does by hand, measured in turn with it.
pub(crate) fn beside(figure: &str, unit: &str, ours: f64, theirs: f64) {
    print("twindex", figure, unit, ours);
    print("redis-rs", figure, unit, theirs);
}
