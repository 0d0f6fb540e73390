//! What clusters of 3, 30 and 300 masters would give, on paper: requests and bytes of each verb, and a simulation with the
//! costs that `twindex-cluster-bench` measured. `cargo run --package twindex-cluster --example larger`
//!
//! The model: a master is one core that serves one request after another. A request takes the network there and back, and the
//! time that was measured, which varies as an exponential does by half. Operations come at random, at half of what the
//! masters can do. Replicas and clients have cores of their own.

#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "counts here are small, and never negative"
)]

use std::fmt::Write as _;

/// Microseconds of processor time, from benches/results/2026-11-24-cluster.md. That of a write includes its replica's.
mod cost {
    /// A request with one `GET`, and with one `SET`.
    pub(super) const GET: f64 = 4.9;
    pub(super) const SET: f64 = 8.4;
    /// A key more in the same request.
    pub(super) const KEY: f64 = 0.7;
    /// A request for a page of a partition, and each pair in it.
    pub(super) const PAGE: f64 = 13.0;
    pub(super) const PAIR: f64 = 1.8;
    /// Telling one near cache of one write.
    pub(super) const TELL: f64 = 0.5;
    /// What a client's core takes for a request, and for a pair of a scan.
    pub(super) const CLIENT_REQUEST: f64 = 6.8;
    pub(super) const CLIENT_PAIR: f64 = 0.7;
    /// There and back between machines of one place. This is assumed, not measured.
    pub(super) const NETWORK: f64 = 200.0;
}

/// Random numbers that are the same in each run.
struct Random(u64);

impl Random {
    /// From 0 to 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn exponential(&mut self) -> f64 {
        -(1.0 - self.next()).ln()
    }
}

/// An operation: how many requests it makes, what each costs its master, what all cost the client.
struct Operation {
    requests: usize,
    each: f64,
    client: f64,
}

/// What a cluster gives of one kind of operation.
struct Given {
    /// Thousands a second, with all masters at work.
    most: f64,
    median: f64,
    slowest: f64,
}

/// Runs operations at half of what the masters can do.
fn simulate(masters: usize, operation: &Operation) -> Given {
    let work = operation.requests as f64 * operation.each;
    let most = masters as f64 / work;
    let mut random = Random(7);
    let mut free = vec![0.0_f64; masters];
    let (mut now, mut times) = (0.0, Vec::new());
    for _ in 0..20_000 {
        now += random.exponential() / (most / 2.0);
        let mut done: f64 = 0.0;
        // The requests of one operation go to different masters where there are enough.
        let first = (random.next() * masters as f64) as usize;
        for request in 0..operation.requests {
            let master = (first + request) % masters;
            let service = operation.each * (0.5 + 0.5 * random.exponential());
            free[master] = free[master].max(now + cost::NETWORK / 2.0) + service;
            done = done.max(free[master] + cost::NETWORK / 2.0);
        }
        times.push(done - now + operation.client);
    }
    times.sort_by(f64::total_cmp);
    Given { most: most * 1000.0, median: times[times.len() / 2], slowest: times[times.len() * 99 / 100] }
}

/// How many pairs each partition is asked for, as in `src/merge.rs`.
fn share(expected: usize, partitions: usize) -> usize {
    let mean = expected.div_ceil(partitions);
    (mean + 3 * mean.isqrt() + 2).min(expected)
}

/// How many masters have some of so many keys, on average.
fn reached(masters: usize, keys: usize) -> usize {
    let masters = masters as f64;
    (masters * (1.0 - (1.0 - 1.0 / masters).powi(keys as i32))).round() as usize
}

fn scan_of_100(partitions: usize) -> Operation {
    let pairs = share(100, partitions);
    let each = cost::PAGE + cost::PAIR * pairs as f64;
    let all = (partitions * pairs) as f64;
    let client = partitions as f64 * cost::CLIENT_REQUEST + all * cost::CLIENT_PAIR;
    Operation { requests: partitions, each, client }
}

/// The length of a command of these words, or of an answer that is a list of them, as it goes over the wire.
fn list(words: &[usize]) -> usize {
    let digits = |number: usize| number.to_string().len();
    let word = |length: &usize| 1 + digits(*length) + 2 + length + 2;
    1 + digits(words.len()) + 2 + words.iter().map(word).sum::<usize>()
}

/// The pages that docs/cluster.md shows.
pub fn print() -> String {
    let mut page = String::new();
    let mut line = |text: String| {
        let _ = writeln!(page, "{text}");
    };
    // A key in the servers: `tw:users:3:` and the pair's; a partition's two keys: `tw~log:4:{123456}:pairs` and `:order`.
    let (key, value, prefix) = (16, 16, 11);
    let partition = 23;
    let function = list(&[5, 16, 1, partition, partition, key, value]);
    let pairs = share(100, 16);
    let pages = list(&[5, 14, 1, partition, partition, key + 1, 1, 1, 2]) * 16;
    line("| verb, key and value of 16 bytes | requests | bytes there | bytes back |".into());
    line("|---|---|---|---|".into());
    line(format!("| `select`, hash | 1 | {} | {} |", list(&[3, prefix + key]), list(&[value]) - 4));
    line(format!("| `upsert`, hash | 1 | {} | 5 |", list(&[3, prefix + key, value])));
    line(format!("| `upsert`, sorted | 1 | {function} | 8 |"));
    line(format!(
        "| `compare_and_swap`, hash | 1 | {} | 4 |",
        list(&[5, 18, 1, prefix + key, 1, value, 1, value])
    ));
    let back = 16 * (4 + 2 * list(&vec![key; pairs]));
    line(format!("| a scan of 100 pairs, 16 partitions | 16 | {pages} | {back} |"));
    line(format!("| telling a near cache of a write | | 0 | {} |", list(&[10]) + list(&[prefix + key])));
    line(String::new());
    line("| masters | what | most, thousand a second | median, ms | 99 %, ms | requests each |".into());
    line("|---|---|---|---|---|---|".into());
    for masters in [3, 30, 300] {
        // 16,000 pairs a partition, and 85,000 a master: as many partitions as that takes.
        let partitions = (masters * 16 / 3).min(1024);
        let touched = reached(masters, 1000);
        let batch = Operation {
            requests: touched,
            each: cost::GET + cost::KEY * 1000.0 / touched as f64,
            client: touched as f64 * cost::CLIENT_REQUEST,
        };
        let single = |each| Operation { requests: 1, each, client: cost::CLIENT_REQUEST };
        for (what, operation) in [
            ("`select`".to_owned(), single(cost::GET)),
            ("`upsert`, hash".to_owned(), single(cost::SET)),
            ("`select_many` of 1,000".to_owned(), batch),
            ("a scan of 100 pairs, 16 partitions".to_owned(), scan_of_100(16)),
            (format!("the same, {partitions} partitions"), scan_of_100(partitions)),
        ] {
            let given = simulate(masters, &operation);
            let (median, slowest) = (given.median / 1000.0, given.slowest / 1000.0);
            line(format!(
                "| {masters} | {what} | {:.1} | {median:.2} | {slowest:.2} | {} |",
                given.most, operation.requests
            ));
        }
    }
    line(String::new());
    line("| near caches that listen | `upsert`, hash: thousand a second of each master |".into());
    line("|---|---|".into());
    for caches in [0, 10, 100, 1000] {
        let most = 1000.0 / (cost::SET + cost::TELL * f64::from(caches));
        line(format!("| {caches} | {most:.1} |"));
    }
    page
}

#[allow(dead_code, reason = "the test that includes this file does not call it")]
fn main() {
    print!("{}", print());
}
