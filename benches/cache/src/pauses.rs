//! How long single writes take: writes that evict, and writes beside which ten million expired pairs go.
//!
//! Other programs take the processor away, from this one too. So each write is timed by two clocks: that of the wall, and that
//! of the processor, which counts only while this thread runs. And the thread does nothing for as long as it writes, in turns
//! of a millisecond: what it sees then is no write's doing.

use crate::shared::{bytes, resident};
use hdrhistogram::Histogram;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use twindex::{Cache, CacheOptions, Store};

/// How long the thread writes, and then does nothing.
const TURN: Duration = Duration::from_millis(1);
const MILLION: u64 = 1_000_000;

/// Times of one kind of work, in nanoseconds.
pub struct Times {
    pub wall: Histogram<u64>,
    pub processor: Histogram<u64>,
}

impl Times {
    fn new() -> Self {
        let empty =
            || Histogram::new_with_max(60_000_000_000, 3).expect("a minute is more than the least time");
        Self { wall: empty(), processor: empty() }
    }

    fn time(&mut self, work: impl FnOnce() -> twindex::Result<bool>) -> twindex::Result<()> {
        let (begun, wall) = (processor(), Instant::now());
        work()?;
        let wall = wall.elapsed();
        self.processor.saturating_record(processor().saturating_sub(begun).as_nanos() as u64);
        self.wall.saturating_record(wall.as_nanos() as u64);
        Ok(())
    }
}

/// The time that the processor spent on this thread.
#[cfg(unix)]
fn processor() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// There is no such clock.
#[cfg(not(unix))]
fn processor() -> Duration {
    Duration::ZERO
}

/// Writes, and the control: nothing done for as long.
pub struct Measured {
    pub writes: Times,
    pub nothing: Times,
}

impl Measured {
    /// `write` does one write; `None` once there is nothing left to measure.
    fn of(mut write: impl FnMut() -> Option<twindex::Result<bool>>) -> twindex::Result<Self> {
        let mut measured = Self { writes: Times::new(), nothing: Times::new() };
        loop {
            let turn = Instant::now();
            while turn.elapsed() < TURN {
                let mut ended = false;
                measured.writes.time(|| {
                    write().unwrap_or_else(|| {
                        ended = true;
                        Ok(false)
                    })
                })?;
                if ended {
                    return Ok(measured);
                }
            }
            // Nothing, in pieces as long as a write.
            let piece = Duration::from_nanos(measured.writes.wall.value_at_quantile(0.5));
            let turn = Instant::now();
            while turn.elapsed() < TURN {
                measured.nothing.time(|| {
                    let begun = Instant::now();
                    while begun.elapsed() < piece {}
                    Ok(true)
                })?;
            }
        }
    }
}

/// Two million writes that each evict a pair, into a cache of 64 MiB. Both are divided by `divisor`.
pub fn evicting(divisor: u64) -> twindex::Result<(Measured, Cache)> {
    let cache = Store::new().cache("cache", CacheOptions::bytes((64 << 20) / divisor as usize))?;
    let full = MILLION / divisor;
    for number in 0..full {
        cache.upsert(bytes(number), [0; 64])?;
    }
    let mut numbers = full..3 * full;
    let measured = Measured::of(|| numbers.next().map(|number| cache.upsert(bytes(number), [0; 64])))?;
    Ok((measured, cache))
}

/// What happened while expired pairs went.
pub struct Expired {
    measured: Measured,
    seconds: f64,
    /// Bytes that the cache held, and bytes of this process: before the pairs expired and once all were gone.
    held: [usize; 2],
    resident: [usize; 2],
}

/// Writes beside which so many expired pairs go.
fn expired(pairs: u64) -> io::Result<Expired> {
    let (store, now) = (Store::new(), Arc::new(AtomicU64::new(1)));
    let clock = Arc::clone(&now);
    let _ = store.set_clock(move || clock.load(Relaxed));
    let cache = store.cache("cache", CacheOptions::bytes(2 << 30)).map_err(io::Error::other)?;
    let ttl = Duration::from_secs(1);
    for number in 0..pairs {
        cache.upsert_for(bytes(number), [0; 16], ttl).map_err(io::Error::other)?;
    }
    now.store(2000, Relaxed);
    let (held, grown, begun) = (cache.memory(), resident()?, Instant::now());
    let mut written = 0;
    let measured = Measured::of(|| {
        // Counting takes a lock of each shard, so it is done now and then.
        let is_done = written % 10_000 == 0 && cache.stats().expirations >= pairs;
        written += 1;
        let key = bytes(written % 100_000 + 100 * MILLION);
        (!is_done && written < 10 * MILLION).then(|| cache.upsert_for(key, [0; 16], ttl))
    });
    let measured = measured.map_err(io::Error::other)?;
    // The control takes as long as the writes.
    let seconds = begun.elapsed().as_secs_f64() / 2.0;
    if cache.stats().expirations < pairs {
        return Err(io::Error::other(format!("{} of {pairs} expired pairs went", cache.stats().expirations)));
    }
    Ok(Expired { measured, seconds, held: [held, cache.memory()], resident: [grown, resident()?] })
}

/// Prints a table of both.
pub fn print() -> io::Result<()> {
    println!("| microseconds | clock | number | 50 % | 99 % | 99.9 % | 99.99 % | longest |");
    println!("|---|---|---|---|---|---|---|---|");
    let (measured, cache) = evicting(1).map_err(io::Error::other)?;
    print_measured("writes that each evict", &measured);
    let held = cache.memory();
    drop(cache);
    let Expired { measured, seconds, held: [before, after], resident: [grown, left] } =
        expired(10 * MILLION)?;
    print_measured("writes beside 10 M expired pairs", &measured);
    println!("\nWith eviction: {held} of {} bytes held.", 64 << 20);
    let [before, after, grown, left] = [before, after, grown, left].map(|bytes| bytes >> 20);
    println!("All expired pairs were gone after {seconds:.1} s of writes.");
    println!("The cache then held {after} of {before} MiB, the process {left} of {grown} MiB.");
    Ok(())
}

fn print_measured(what: &str, Measured { writes, nothing }: &Measured) {
    for (what, times) in [(what, writes), ("doing nothing for as long", nothing)] {
        for (clock, times) in [("wall", &times.wall), ("processor", &times.processor)] {
            let at = [0.5, 0.99, 0.999, 0.9999, 1.0].map(|part| times.value_at_quantile(part) as f64 / 1e3);
            let row = at.map(|micros| format!("{micros:.1}")).join(" | ");
            println!("| {what} | {clock} | {} | {row} |", times.len());
        }
    }
}
