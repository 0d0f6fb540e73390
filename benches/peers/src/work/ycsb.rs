//! YCSB's workloads: zipfian requests over long values.
//!
//! Each runs twice, first for its throughput and then, with a clock around every operation, for its
//! latency. Requests are drawn beforehand. An update writes the value that the key has, so that a read
//! is checked whatever the other threads do.

use std::sync::Mutex;
use std::time::Duration;

use hdrhistogram::Histogram;
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Zipf};
use twindex_benches::{KeyList, fill_value, is_value_start, number_of_value};

use super::steps::{begin, check, figure, insert, mops};
use crate::clock::Clock;
use crate::keys::rng;
use crate::peer::{Peer, Session, SortedSession, time};
use crate::task::{Figure, Task};

/// YCSB's own.
const SKEW: f64 = 0.99;
/// The longest scan of workload E.
const LONGEST: u16 = 100;
/// Of a hundred operations of workload E, so many insert.
const INSERTS: u8 = 5;

/// Workloads A, B and C: `updates` of a hundred operations update, the others select.
pub(crate) fn point<P: Peer>(task: &Task, updates: u8) -> Vec<Figure> {
    let (value_bytes, threads) = (task.one.data.ycsb_value_bytes as usize, task.threads());
    let requests = zipfian(&task.keys, task.keys.len());
    let mut rng = rng();
    let is_update: Vec<bool> = (0..requests.len()).map(|_| rng.u8(..100) < updates).collect();
    let mut peer = loaded::<P>(&task.keys, value_bytes);
    measure(&mut peer, task, requests.len(), |thread, session, laps| {
        let mut value = vec![0; value_bytes];
        let group = requests.group(thread, threads);
        for ((number, key), &is_update) in requests.pairs(group.clone()).zip(&is_update[group]) {
            if is_update {
                fill_value(number, &mut value);
                assert!(session.replace(key, &value), "{} is not there", key.escape_ascii());
            } else {
                check(session.select(key, |value| is_value_start(number, value_bytes, value)), key);
            }
            laps.lap();
        }
    })
}

/// Workload E: scans from a zipfian key on, and a few inserts. The keys that are inserted are the spare
/// ones at the end of the list: the first half of them in the first run, the others in the second.
pub(crate) fn scans<P: Peer>(task: &Task) -> Vec<Figure>
where
    for<'p> P::Session<'p>: SortedSession,
{
    let (value_bytes, threads) = (task.one.data.ycsb_value_bytes as usize, task.threads());
    let loaded_keys = task.keys.len() * 10 / 11;
    let loaded_list = task.keys.in_order(&(0..loaded_keys as u32).collect::<Vec<_>>());
    let spare = task.keys.in_order(&(loaded_keys as u32..task.keys.len() as u32).collect::<Vec<_>>());
    let requests = zipfian(&loaded_list, task.keys.len() / 10);
    let mut rng = rng();
    let lengths: Vec<u16> =
        (0..requests.len()).map(|_| if rng.u8(..100) < INSERTS { 0 } else { rng.u16(1..=LONGEST) }).collect();
    let last = loaded_list.sorted().key(loaded_keys.saturating_sub(usize::from(LONGEST))).to_vec();
    let mut peer = loaded::<P>(&loaded_list, value_bytes);
    let used: Vec<Mutex<usize>> =
        (0..threads).map(|thread| Mutex::new(spare.group(thread, threads).start)).collect();
    measure(&mut peer, task, requests.len(), |thread, session, laps| {
        let mut value = vec![0; value_bytes];
        let mut next = used[thread].lock().expect("no thread panicked");
        let group = requests.group(thread, threads);
        for ((_, key), &length) in requests.pairs(group.clone()).zip(&lengths[group]) {
            if length == 0 {
                fill_value(spare.number(*next), &mut value);
                assert!(session.insert(spare.key(*next), &value), "a spare key was there before");
                *next += 1;
            } else {
                let count = session.scan_many(key, length.into(), |_, value| {
                    let right = value.len() == value_bytes && number_of_value(value).is_some();
                    check(Some(right), key);
                });
                assert!(count == usize::from(length) || key > last.as_slice(), "the scan ended early");
            }
            laps.lap();
        }
    })
}

/// Requests for keys of the list, the ones at its start most often. The list is in random order, so
/// neither their hashes nor their places in the order tell the popular ones.
fn zipfian(keys: &KeyList, count: usize) -> KeyList {
    let zipf = Zipf::new(keys.len() as f64, SKEW).expect("there is a key");
    let mut rng = SmallRng::seed_from_u64(64);
    let positions: Vec<u32> = (0..count).map(|_| zipf.sample(&mut rng) as u32 - 1).collect();
    keys.in_order(&positions)
}

fn loaded<P: Peer>(keys: &KeyList, value_bytes: usize) -> P {
    let mut peer: P = begin(keys, value_bytes);
    peer.each_thread(1, |_, session| insert(session, keys, 0..keys.len(), value_bytes));
    peer
}

/// A clock around every operation, where one is wanted.
struct Laps(Option<(Histogram<u64>, Clock, Duration)>);

impl Laps {
    fn started(clock: Clock) -> Self {
        Self(Some((Histogram::new(3).expect("three digits are allowed"), clock, clock.now())))
    }

    /// Ends the operation that began when the one before it ended.
    fn lap(&mut self) {
        if let Some((histogram, clock, start)) = &mut self.0 {
            let end = clock.now();
            histogram.record(end.saturating_sub(*start).as_nanos() as u64).expect("the histogram grows");
            *start = end;
        }
    }
}

/// Runs `work`, which ends a lap after each operation, for its throughput and then for its latency.
fn measure<P: Peer>(
    peer: &mut P,
    task: &Task,
    operations: usize,
    work: impl Fn(usize, &mut P::Session<'_>, &mut Laps) + Sync,
) -> Vec<Figure> {
    let job = &task.one.job;
    let elapsed =
        time(task.clock(), peer, task.threads(), |thread, session| work(thread, session, &mut Laps(None)));
    let mut figures = vec![mops(job.as_str(), operations, elapsed)];
    let histograms = peer.each_thread(task.threads(), |thread, session| {
        let mut laps = Laps::started(task.clock());
        work(thread, session, &mut laps);
        laps.0.map(|(histogram, ..)| histogram)
    });
    let mut all = Histogram::<u64>::new(3).expect("three digits are allowed");
    for histogram in histograms.into_iter().flatten() {
        all.add(histogram).expect("the histogram grows");
    }
    for (name, quantile) in [("p50", 0.5), ("p99", 0.99)] {
        figures.push(figure(format!("{job}_{name}"), all.value_at_quantile(quantile) as f64));
    }
    figures
}
