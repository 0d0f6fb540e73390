//! YCSB's workloads: throughput, and latency by percentile of each kind of operation.
//!
//! | workload | operations | keys |
//! |---|---|---|
//! | A, B, C | 50 %, 5 %, no updates; the others read | zipfian |
//! | D | 5 % inserts, the others read | the newest most often: a thread's own inserts, then what was loaded |
//! | E | 5 % inserts, the others scan up to 100 records | zipfian |
//! | F | half read, half read and then update what they read | zipfian |
//!
//! An update writes the value that the key has, so that a read is checked whatever the other threads do.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use fastrand::Rng;
use hdrhistogram::Histogram;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand_distr::{Distribution as _, Zipf};

use crate::fill::{begin, check, insert};
use crate::job::Job;
use crate::keys::{KeyList, rng};
use crate::options::{Clock, Fallible};
use crate::peer::{Peer, Session, SortedSession, time};
use crate::record::{Record, Unit};
use crate::values::{fill_value, is_value_start, number_of_value};

/// YCSB's own.
const SKEW: f64 = 0.99;
const LONGEST: u8 = 100;
/// Of a hundred operations of D and E, so many insert.
const INSERTS: u8 = 5;
/// How long a run at a rate takes.
const RATE_SECONDS: u32 = 1;
const PERCENTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999), ("p99.99", 0.9999)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Read,
    Update,
    ReadModifyWrite,
    Insert,
    /// Of so many records.
    Scan(u8),
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Update => "update",
            Self::ReadModifyWrite => "read-modify-write",
            Self::Insert => "insert",
            Self::Scan(_) => "scan",
        }
    }

    /// One operation of a workload.
    fn draw(workload: &str, rng: &mut Rng) -> Self {
        let (other, percent) = match workload {
            "A" => (Self::Update, 50),
            "B" => (Self::Update, 5),
            "C" => (Self::Read, 0),
            "F" => (Self::ReadModifyWrite, 50),
            _ => (Self::Insert, INSERTS),
        };
        match (rng.u8(..100) < percent, workload) {
            (true, _) => other,
            (_, "E") => Self::Scan(rng.u8(1..=LONGEST)),
            _ => Self::Read,
        }
    }
}

/// What one thread does in one run, drawn beforehand: operations, and the records that they are for.
struct Requests {
    kinds: Vec<Kind>,
    keys: KeyList,
}

/// The records: those loaded first, then spare ones, of which so many have been handed out.
struct Data {
    keys: KeyList,
    loaded: usize,
    used: usize,
}

impl Data {
    /// Draws `count` operations for each of some threads.
    fn draw(&mut self, count: usize, threads: usize, workload: &str) -> Vec<Requests> {
        let zipf = Zipf::new(self.loaded as f64, SKEW).expect("there is a record");
        let mut rng = rng();
        (0..threads)
            .map(|thread| {
                let mut ranks = SmallRng::seed_from_u64((self.used + thread) as u64);
                let mut own: Vec<usize> = Vec::new();
                let (mut kinds, mut keys) = (Vec::new(), KeyList::default());
                for _ in 0..count / threads {
                    let rank = zipf.sample(&mut ranks) as usize - 1;
                    let kind = Kind::draw(workload, &mut rng);
                    let position = if kind == Kind::Insert {
                        own.push(self.loaded + self.used);
                        self.used += 1;
                        own[own.len() - 1]
                    } else if workload == "D" {
                        // The newest first: its own inserts, then what was loaded last.
                        own.iter()
                            .rev()
                            .copied()
                            .nth(rank)
                            .unwrap_or_else(|| self.loaded + own.len() - 1 - rank)
                    } else {
                        // The list is in random order, so the popular ones are anywhere.
                        rank
                    };
                    kinds.push(kind);
                    keys.push(self.keys.number(position), self.keys.key(position));
                }
                Requests { kinds, keys }
            })
            .collect()
    }
}

/// Workloads A, B, C, D and F.
pub(crate) fn point<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    run::<P>(job, |_, _, _, _| panic!("a hash table has no scan"))
}

/// Workload E, with a tenth of the operations.
pub(crate) fn scans<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>>
where
    for<'p> P::Session<'p>: SortedSession,
{
    run::<P>(job, |session, key, limit, value_bytes| {
        session.scan_many(key, limit, |_, value| {
            check(Some(value.len() == value_bytes && number_of_value(value).is_some()), key);
        })
    })
}

/// Figures operations; and average, percentiles and worst of each kind of operation, as fast as they go or at a rate.
fn run<P: Peer>(
    job: &Job<'_>,
    scan: impl Fn(&mut P::Session<'_>, &[u8], usize, usize) -> usize + Sync,
) -> Fallible<Vec<Record>> {
    let (workload, threads, value_bytes) = (job.options.workload.as_str(), job.threads(), job.value_bytes());
    if (workload == "E") != (job.options.index == crate::options::Index::Sorted) {
        return Err(
            format!("workload E is for sorted tables, the others for hash tables, not {workload}").into()
        );
    }
    let loaded = job.options.pairs as usize;
    let count = if workload == "E" { loaded.div_ceil(10) } else { loaded }.max(threads);
    let timed = job.options.rate.map_or(count, |rate| count.min((rate * RATE_SECONDS) as usize)).max(threads);
    // A run draws its inserts by chance: an eighth more and some are never too few.
    let spare = (count + timed) as u32 * u32::from(INSERTS) / 100 * 9 / 8 + 300;
    let mut data = Data { keys: job.keys(spare)?, loaded, used: 0 };
    let last = data.keys.in_order(&(0..loaded as u32).collect::<Vec<_>>()).sorted();
    let last = last.key(loaded.saturating_sub(LONGEST.into())).to_vec();
    let carry_out = |session: &mut P::Session<'_>, kind: Kind, number: u32, key: &[u8], value: &mut [u8]| {
        if let Kind::Scan(limit) = kind {
            let found = scan(session, key, limit.into(), value_bytes);
            assert!(found == usize::from(limit) || key > last.as_slice(), "the scan ended early");
            return;
        }
        if matches!(kind, Kind::Read | Kind::ReadModifyWrite) {
            check(session.select(key, |value| is_value_start(number, value_bytes, value)), key);
        }
        if kind != Kind::Read {
            fill_value(number, value);
            let took_effect =
                if kind == Kind::Insert { session.insert(key, value) } else { session.replace(key, value) };
            assert!(took_effect, "{} of {} took no effect", kind.name(), key.escape_ascii());
        }
    };
    let mut peer: P = begin(job, &data.keys, value_bytes);
    peer.each_thread(1, |_, session| insert(session, &data.keys, 0..loaded, value_bytes));
    let requests = data.draw(count, threads, workload);
    let elapsed = time(job.options.clock, &mut peer, threads, |thread, session| {
        let mut value = vec![0; value_bytes];
        let Requests { kinds, keys } = &requests[thread];
        for ((number, key), &kind) in keys.pairs(0..keys.len()).zip(kinds) {
            carry_out(session, kind, number, key, &mut value);
        }
    });
    let mut records = vec![job.rate("operations", count / threads * threads, elapsed)];
    let requests = data.draw(timed, threads, workload);
    for (kind, histogram) in latencies(&mut peer, &requests, job.options.rate, value_bytes, carry_out) {
        let percentiles =
            PERCENTILES.map(|(name, quantile)| (name, histogram.value_at_quantile(quantile) as f64));
        let all = [("average", histogram.mean())].into_iter().chain(percentiles);
        for (name, nanoseconds) in all.chain([("worst", histogram.max() as f64)]) {
            records.push(job.record(format!("{kind} {name}"), Unit::Nanoseconds, nanoseconds));
        }
    }
    Ok(records)
}

type Histograms = Vec<(&'static str, Histogram<u64>)>;

/// How long the operations of each kind took.
///
/// At a rate an operation counts from the moment at which it should have begun: one that kept others waiting makes theirs
/// longer too. As fast as they go there is no such moment, and what waited behind a slow one is not seen.
fn latencies<P: Peer>(
    peer: &mut P,
    requests: &[Requests],
    rate: Option<u32>,
    value_bytes: usize,
    carry_out: impl Fn(&mut P::Session<'_>, Kind, u32, &[u8], &mut [u8]) + Sync,
) -> Histograms {
    let all: Mutex<Histograms> = Mutex::default();
    time(Clock::Wall, peer, requests.len(), |thread, session| {
        let mut value = vec![0; value_bytes];
        let mut own = Histograms::new();
        let Requests { kinds, keys } = &requests[thread];
        let (began, mut free) = (Instant::now(), Instant::now());
        for (position, ((number, key), &kind)) in keys.pairs(0..keys.len()).zip(kinds).enumerate() {
            let due = rate.map_or(free, |rate| {
                // The threads' moments lie between each other's.
                let turn = position * requests.len() + thread;
                let due = began + Duration::from_secs_f64(turn as f64 / f64::from(rate));
                wait_until(due);
                due
            });
            carry_out(session, kind, number, key, &mut value);
            free = Instant::now();
            let taken = free.saturating_duration_since(due).as_nanos() as u64;
            histogram_of(kind.name(), &mut own).record(taken).expect("the histogram grows");
        }
        let mut all = all.lock().expect("no thread panicked");
        for (name, histogram) in own {
            histogram_of(name, &mut all).add(histogram).expect("the histogram grows");
        }
    });
    all.into_inner().expect("no thread panicked")
}

fn histogram_of<'h>(name: &'static str, all: &'h mut Histograms) -> &'h mut Histogram<u64> {
    let position = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        all.push((name, Histogram::new(3).expect("three digits are allowed")));
        all.len() - 1
    });
    &mut all[position].1
}

/// Sleeps where there is much time, then watches the clock: the system wakes nobody to the microsecond.
fn wait_until(due: Instant) {
    const LATE: Duration = Duration::from_micros(200);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > LATE {
            thread::sleep(left.saturating_sub(LATE));
        } else {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::keys::random_hex;

    fn data(loaded: usize, spare: u32) -> Data {
        Data { keys: random_hex(loaded as u32 + spare, 16, &mut rng()).unwrap(), loaded, used: 0 }
    }

    #[test]
    fn a_thread_of_d_reads_its_newest_records_most_and_none_before_its_insert() {
        let mut data = data(1_000, 500);
        for Requests { kinds, keys } in data.draw(4_000, 2, "D") {
            let mut there: HashSet<u32> = (0..1_000).collect();
            let mut of_own = 0;
            for ((number, _), kind) in keys.pairs(0..keys.len()).zip(&kinds) {
                if *kind == Kind::Insert {
                    assert!(there.insert(number), "inserted twice");
                } else {
                    assert!(there.contains(&number), "read before it was there");
                    of_own += usize::from(number >= 1_000);
                }
            }
            assert!(of_own > kinds.len() / 4, "{of_own} of {} reads are for new records", kinds.len());
        }
    }

    /// What waits behind a slow operation is slow at a rate, and is not seen without one.
    #[test]
    fn waiting_counts_at_a_rate() {
        const PAUSE: Duration = Duration::from_millis(100);
        let slow_ones = |rate| {
            let requests = data(10, 0).draw(1_000, 1, "C");
            let is_first = Mutex::new(true);
            let mut peer = <crate::usual::Hashbrown as Peer>::open(&clap::Parser::parse_from(["p", "ycsb"]));
            let all = latencies(&mut peer, &requests, rate, 8, |_, _, _, _, _| {
                if std::mem::take(&mut *is_first.lock().unwrap()) {
                    thread::sleep(PAUSE);
                }
            });
            let [("read", histogram)] = &all[..] else { panic!("one kind of operation") };
            assert_eq!(histogram.len(), 1_000);
            histogram.count_between(PAUSE.as_nanos() as u64 / 2, u64::MAX)
        };
        // A machine that does something else for long makes more slow ones, never fewer.
        assert!(slow_ones(Some(10_000)) >= 490);
        assert!(slow_ones(None) < 100);
    }
}
