//! YCSB's workloads over records of 1,000 bytes: throughput by threads, and latency by percentile.
//!
//! | workload | operations | keys |
//! |---|---|---|
//! | A, B, C | 50 %, 5 %, no updates; the others read | zipfian |
//! | D | 5 % inserts, the others read | the newest most often: a thread's own inserts, then what was loaded |
//! | E | 5 % inserts, the others scan up to 100 records | zipfian |
//! | F | half read, half read and then update what they read | zipfian |
//!
//! A process loads the records once and runs the workloads in the order A, B, C, F, D; E, which needs an order of the
//! keys, has processes of its own. An update writes the value that the key has, so that a read is checked whatever the
//! other threads do.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::SeedableRng as _;
use rand::rngs::SmallRng;
use rand_distr::{Distribution as _, Zipf};
use twindex_benches::{KeyList, Record, fill_value, is_value_start, number_of_value, random_hex};

use super::sizes::Sizes;
use super::test::{Job, System, per_second, record, rng, system};
use crate::clock::Clock;
use crate::peer::{Peer, Session, SortedSession, time};
use crate::peers::{self, redis};
use crate::work::steps::{begin, check};

/// Ten fields of a hundred bytes.
const VALUE_BYTES: usize = 1_000;
const KEY_BYTES: u16 = 16;
/// YCSB's own.
const SKEW: f64 = 0.99;
const LONGEST: usize = 100;
/// Of a hundred operations of D and E, so many insert.
const INSERTS: u8 = 5;
/// Pairs of one call while the records are loaded.
const BATCH: usize = 100;
/// The latencies that are told.
const PERCENTILES: [(&str, f64); 5] =
    [("50", 0.5), ("95", 0.95), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999)];

pub(super) const POINT: &[System] = &[
    point_of::<peers::TwindexHash>(),
    point_of::<peers::Hashbrown>(),
    point_of::<peers::Sharded>(),
    point_of::<peers::Papaya>(),
    point_of::<peers::Scc>(),
    point_of::<peers::Dashmap>(),
    point_of::<peers::Redis<redis::Strings>>(),
];

pub(super) const SCANS: &[System] = &[
    scans_of::<peers::TwindexSorted>(),
    scans_of::<peers::BTree>(),
    scans_of::<peers::BTreeRwLock>(),
    scans_of::<peers::TreeIndex>(),
    scans_of::<peers::Masstree>(),
    scans_of::<peers::Skiplist>(),
    scans_of::<peers::Lmdb>(),
    scans_of::<peers::Redis<redis::Records>>(),
];

const fn point_of<P: Peer>() -> System {
    system::<P>(point::<P>)
}

const fn scans_of<P: Peer>() -> System
where
    for<'p> P::Session<'p>: SortedSession,
{
    system::<P>(scans::<P>)
}

/// One operation of a workload.
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
}

/// What one thread does in one run, drawn beforehand: operations, and the records that they are for.
struct Requests {
    kinds: Vec<Kind>,
    keys: KeyList,
}

/// When the operations of a run begin.
#[derive(Clone, Copy)]
enum Pace {
    /// Each when the one before it has ended.
    Unlimited,
    /// So many in a second, by all threads together.
    Rate(u32),
}

/// The records, which ones have been inserted, and which are spare.
struct Data {
    loaded: KeyList,
    spare: KeyList,
    /// How many of the spare ones are used up.
    used: usize,
}

impl Data {
    fn new(records: u32, spare: usize) -> Self {
        let all = random_hex(records + spare as u32, KEY_BYTES, &mut rng()).expect("there are so many keys");
        let part = |range: std::ops::Range<u32>| all.in_order(&range.collect::<Vec<_>>());
        Self { loaded: part(0..records), spare: part(records..all.len() as u32), used: 0 }
    }

    /// The spare keys that a run of so many inserts may use.
    fn take(&mut self, count: usize) -> Vec<u32> {
        let positions = self.used..self.used + count;
        assert!(positions.end <= self.spare.len(), "there are too few spare keys");
        self.used = positions.end;
        positions.map(|position| position as u32).collect()
    }

    /// Operations for each thread, of which `choose` draws each one's kind.
    fn requests(
        &mut self,
        count: usize,
        threads: usize,
        newest: bool,
        mut choose: impl FnMut(&mut fastrand::Rng) -> Kind,
    ) -> Vec<Requests> {
        let mut rng = rng();
        let mut draw = SmallRng::seed_from_u64(64);
        let zipf = Zipf::new(self.loaded.len() as f64, SKEW).expect("there is a record");
        (0..threads)
            .map(|thread| {
                let count = count * (thread + 1) / threads - count * thread / threads;
                let kinds: Vec<Kind> = (0..count).map(|_| choose(&mut rng)).collect();
                let inserts = kinds.iter().filter(|&&kind| kind == Kind::Insert).count();
                let mut fresh = self.take(inserts).into_iter();
                let mut own = Vec::new();
                let mut all = Vec::with_capacity(count);
                for &kind in &kinds {
                    let rank = zipf.sample(&mut draw) as usize - 1;
                    if kind == Kind::Insert {
                        own.extend(fresh.next());
                        all.push((true, own[own.len() - 1]));
                    } else if newest && rank < own.len() {
                        all.push((true, own[own.len() - 1 - rank]));
                    } else if newest {
                        all.push((false, (self.loaded.len() - 1 - (rank - own.len())) as u32));
                    } else {
                        // The list is in random order, so the popular ones are anywhere.
                        all.push((false, rank as u32));
                    }
                }
                Requests { kinds, keys: self.keys(&all) }
            })
            .collect()
    }

    /// The keys at these positions of the loaded or of the spare ones.
    fn keys(&self, positions: &[(bool, u32)]) -> KeyList {
        let mut list = KeyList::default();
        for &(is_spare, position) in positions {
            let from = if is_spare { &self.spare } else { &self.loaded };
            list.push(from.number(position as usize), from.key(position as usize));
        }
        list
    }
}

/// Workloads A, B, C, F and D.
fn point<P: Peer>(job: &Job) -> Vec<Record> {
    let sizes = job.sizes;
    let requests = Sizes::of(sizes.requests, P::REACH) as usize;
    let runs = workers::<P>(sizes).len() + 2;
    let mut data = Data::new(Sizes::of(sizes.records, P::REACH), spare(requests, runs));
    let mut peer = loaded::<P>(&data.loaded);
    let mut records = Vec::new();
    for (workload, newest, other, percent) in [
        ("A", false, Kind::Update, 50),
        ("B", false, Kind::Update, 5),
        ("C", false, Kind::Read, 0),
        ("F", false, Kind::ReadModifyWrite, 50),
        ("D", true, Kind::Insert, INSERTS),
    ] {
        let choose = |rng: &mut fastrand::Rng| if rng.u8(..100) < percent { other } else { Kind::Read };
        let mut bench = Bench { peer: &mut peer, data: &mut data, sizes, workload, requests };
        records.extend(bench.all(newest, choose, |session, kind, number, key, value| {
            carry_out(session, kind, number, key, value);
        }));
    }
    records
}

/// Workload E, with a tenth of the operations, each of which reads fifty records.
fn scans<P: Peer>(job: &Job) -> Vec<Record>
where
    for<'p> P::Session<'p>: SortedSession,
{
    let sizes = job.sizes;
    let requests = Sizes::of(sizes.requests, P::REACH) as usize / 10;
    let runs = workers::<P>(sizes).len() + 2;
    let mut data = Data::new(Sizes::of(sizes.records, P::REACH), spare(requests, runs));
    let last = data.loaded.sorted().key(data.loaded.len().saturating_sub(LONGEST)).to_vec();
    let mut peer = loaded::<P>(&data.loaded);
    let choose = |rng: &mut fastrand::Rng| {
        if rng.u8(..100) < INSERTS { Kind::Insert } else { Kind::Scan(rng.u8(1..=LONGEST as u8)) }
    };
    let mut bench = Bench { peer: &mut peer, data: &mut data, sizes, workload: "E", requests };
    bench.all(false, choose, |session, kind, number, key, value| match kind {
        Kind::Scan(length) => {
            let count = session.scan_many(key, length.into(), |_, value| {
                let right = value.len() == VALUE_BYTES && number_of_value(value).is_some();
                check(Some(right), key);
            });
            assert!(count == usize::from(length) || key > last.as_slice(), "the scan ended early");
        }
        _ => carry_out(session, kind, number, key, value),
    })
}

/// Enough spare keys for so many runs with inserts.
fn spare(requests: usize, runs: usize) -> usize {
    // A run draws its inserts by chance: an eighth more and some are never too few.
    (requests * usize::from(INSERTS) / 100 * 9 / 8 + 100) * runs
}

fn workers<P: Peer>(sizes: &Sizes) -> Vec<u16> {
    if P::THREADS { sizes.workers.clone() } else { vec![1] }
}

fn loaded<P: Peer>(keys: &KeyList) -> P {
    let mut peer: P = begin(keys, VALUE_BYTES);
    let mut values = vec![0; BATCH * VALUE_BYTES];
    peer.each_thread(1, |_, session| {
        for start in (0..keys.len()).step_by(BATCH) {
            let positions = start..keys.len().min(start + BATCH);
            let mut values = values.clone();
            for (value, (number, _)) in values.chunks_mut(VALUE_BYTES).zip(keys.pairs(positions.clone())) {
                fill_value(number, value);
            }
            let pairs: Vec<(&[u8], &[u8])> =
                keys.pairs(positions).zip(values.chunks(VALUE_BYTES)).map(|((_, key), v)| (key, v)).collect();
            assert_eq!(session.insert_many(&pairs), pairs.len(), "a key was there before");
        }
    });
    values.clear();
    peer
}

/// Any operation but a scan.
fn carry_out(session: &mut impl Session, kind: Kind, number: u32, key: &[u8], value: &mut [u8]) {
    if matches!(kind, Kind::Read | Kind::ReadModifyWrite) {
        check(session.select(key, |value| is_value_start(number, VALUE_BYTES, value)), key);
    }
    if kind != Kind::Read {
        fill_value(number, value);
        let took_effect =
            if kind == Kind::Insert { session.insert(key, value) } else { session.replace(key, value) };
        assert!(took_effect, "{} of {} took no effect", kind.name(), key.escape_ascii());
    }
}

/// One workload over a loaded system.
struct Bench<'b, P> {
    peer: &'b mut P,
    data: &'b mut Data,
    sizes: &'b Sizes,
    workload: &'static str,
    requests: usize,
}

impl<P: Peer> Bench<'_, P> {
    /// Its throughput with every number of threads, and its latencies: as fast as it goes, and at a rate.
    fn all(
        &mut self,
        newest: bool,
        choose: impl Fn(&mut fastrand::Rng) -> Kind + Copy,
        carry_out: impl Fn(&mut P::Session<'_>, Kind, u32, &[u8], &mut [u8]) + Sync + Copy,
    ) -> Vec<Record> {
        let mut records = Vec::new();
        for threads in workers::<P>(self.sizes) {
            let requests = self.data.requests(self.requests, threads.into(), newest, choose);
            let elapsed = time(Clock::Wall, self.peer, threads.into(), |thread, session| {
                let mut value = vec![0; VALUE_BYTES];
                let Requests { kinds, keys } = &requests[thread];
                for ((number, key), &kind) in keys.pairs(0..keys.len()).zip(kinds) {
                    carry_out(session, kind, number, key, &mut value);
                }
            });
            records.push(
                record::<P>("ycsb", self.requests)
                    .with("workload", self.workload)
                    .with("threads", threads)
                    .figure("operations_per_second", per_second(self.requests, elapsed)),
            );
        }
        let most = if P::THREADS { self.sizes.latency_workers } else { 1 };
        let rate = Sizes::of(self.sizes.rate, P::REACH);
        // So many threads as there are processors: more would wait for each other while they wait for their moment.
        let processors = thread::available_parallelism().map_or(1, |count| count.get() as u16);
        for (pace, threads) in [(Pace::Unlimited, most), (Pace::Rate(rate), most.min(processors))] {
            let count = match pace {
                Pace::Unlimited => self.requests,
                Pace::Rate(rate) => self.requests.min((f64::from(rate) * self.sizes.rate_seconds) as usize),
            };
            let requests = self.data.requests(count, threads.into(), newest, choose);
            let histograms = latencies(self.peer, &requests, pace, carry_out);
            records.extend(histograms.iter().flat_map(|(kind, histogram)| {
                let name = match pace {
                    Pace::Unlimited => "as fast as they go".to_owned(),
                    Pace::Rate(rate) => format!("{rate} a second"),
                };
                let record = record::<P>("ycsb_latency", histogram.len() as usize)
                    .with("workload", self.workload)
                    .with("operation", *kind)
                    .with("threads", threads)
                    .with("rate", name);
                figures(histogram).map(move |(percentile, nanoseconds)| {
                    record.clone().with("percentile", percentile).figure("microseconds", nanoseconds / 1e3)
                })
            }));
        }
        records
    }
}

/// Nanoseconds by percentile, the mean first and the longest last.
fn figures(histogram: &Histogram<u64>) -> impl Iterator<Item = (&'static str, f64)> + '_ {
    let percentiles =
        PERCENTILES.iter().map(|(name, quantile)| (*name, histogram.value_at_quantile(*quantile) as f64));
    std::iter::once(("average", histogram.mean()))
        .chain(percentiles)
        .chain([("worst", histogram.max() as f64)])
}

/// How long the operations of each kind took.
///
/// At a rate an operation counts from the moment at which it should have begun: one that kept others waiting makes
/// theirs longer too. As fast as they go there is no such moment, and what waited behind a slow one is not seen.
fn latencies<P: Peer>(
    peer: &mut P,
    requests: &[Requests],
    pace: Pace,
    carry_out: impl Fn(&mut P::Session<'_>, Kind, u32, &[u8], &mut [u8]) + Sync,
) -> Vec<(&'static str, Histogram<u64>)> {
    let all: Mutex<Vec<(&'static str, Histogram<u64>)>> = Mutex::default();
    time(Clock::Wall, peer, requests.len(), |thread, session| {
        let mut value = vec![0; VALUE_BYTES];
        let mut own: Vec<(&'static str, Histogram<u64>)> = Vec::new();
        let Requests { kinds, keys } = &requests[thread];
        let (began, mut free) = (Instant::now(), Instant::now());
        for (position, ((number, key), &kind)) in keys.pairs(0..keys.len()).zip(kinds).enumerate() {
            let due = match pace {
                Pace::Unlimited => free,
                Pace::Rate(rate) => {
                    // The threads' moments lie between each other's.
                    let turn = position * requests.len() + thread;
                    let due = began + Duration::from_secs_f64(turn as f64 / f64::from(rate));
                    wait_until(due);
                    due
                }
            };
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

fn histogram_of<'h>(
    name: &'static str,
    all: &'h mut Vec<(&'static str, Histogram<u64>)>,
) -> &'h mut Histogram<u64> {
    let position = all.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        all.push((name, Histogram::new(3).expect("three digits are allowed")));
        all.len() - 1
    });
    &mut all[position].1
}

/// Sleeps where there is much time, and then watches the clock: the system wakes nobody to the microsecond.
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
    use super::*;

    #[test]
    fn a_thread_reads_its_newest_records_most_and_none_that_is_not_there() {
        let mut data = Data::new(1_000, 500);
        let requests = data
            .requests(4_000, 2, true, |rng| if rng.u8(..100) < INSERTS { Kind::Insert } else { Kind::Read });
        for Requests { kinds, keys } in &requests {
            let mut there: std::collections::HashSet<&[u8]> =
                data.loaded.pairs(0..data.loaded.len()).map(|(_, key)| key).collect();
            let mut of_own = 0;
            for ((_, key), kind) in keys.pairs(0..keys.len()).zip(kinds) {
                if *kind == Kind::Insert {
                    assert!(there.insert(key), "inserted twice");
                } else {
                    assert!(there.contains(key), "read before it was there");
                    of_own += usize::from(data.loaded.pairs(0..1_000).all(|(_, loaded)| loaded != key));
                }
            }
            assert!(of_own > kinds.len() / 4, "{of_own} of {} reads are for new records", kinds.len());
        }
    }

    /// A system whose first call takes a tenth of a second.
    struct Slow;
    struct Call(bool);

    impl Peer for Slow {
        const NAME: &'static str = "slow";
        const THREADS: bool = false;
        type Session<'p> = Call;

        fn new() -> Self {
            Self
        }

        fn each_thread<R: Send>(
            &mut self,
            threads: usize,
            work: impl Fn(usize, &mut Call) -> R + Sync,
        ) -> Vec<R> {
            crate::peer::alone(threads, Call(true), work)
        }
    }

    impl Session for Call {
        fn insert(&mut self, _: &[u8], _: &[u8]) -> bool {
            true
        }

        fn replace(&mut self, _: &[u8], _: &[u8]) -> bool {
            true
        }

        fn delete(&mut self, _: &[u8]) -> bool {
            true
        }

        fn select<R>(&mut self, _: &[u8], _: impl FnOnce(&[u8]) -> R) -> Option<R> {
            None
        }
    }

    /// What waits behind a slow operation is slow at a rate, and is not seen without one.
    #[test]
    fn at_a_rate_waiting_counts() {
        const PAUSE: Duration = Duration::from_millis(100);
        let slow_ones = |pace| {
            let mut data = Data::new(10, 0);
            let requests = data.requests(1_000, 1, false, |_| Kind::Update);
            let all = latencies(&mut Slow, &requests, pace, |session: &mut Call, _, _, _, _| {
                if std::mem::take(&mut session.0) {
                    thread::sleep(PAUSE);
                }
            });
            let [(name, histogram)] = &all[..] else { panic!("one kind of operation") };
            assert_eq!((*name, histogram.len()), ("update", 1_000));
            histogram.count_between(PAUSE.as_nanos() as u64 / 2, u64::MAX)
        };
        // A machine that does something else for long makes more slow ones, never fewer.
        assert!(slow_ones(Pace::Rate(10_000)) >= 490);
        assert!(slow_ones(Pace::Unlimited) < 100);
    }
}
