//! Hits of caches that are limited by bytes, whose values differ in size.
//!
//! `quick_cache` and `moka` are told the bytes of each key and value. They take more memory than that, as they cannot know their own.

use crate::shared::{Bytes, Shared, bytes};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand_distr::Zipf;
use std::time::Instant;

const KEYS: u64 = 1_000_000;
const REQUESTS: u32 = 1_000_000;
/// Each size of a value, from a number that its key gives.
type Size = fn(u64) -> usize;

/// Asks for keys by zipf 0.9 and puts in what is absent. Before that so many pairs of 100 bytes are put in, which nobody asks for.
struct Work {
    name: &'static str,
    capacity: usize,
    before: u64,
    size: Size,
}

/// Seven of ten have up to 450 bytes, two of ten 2 to 10 KB, one of ten 10 to 70 KB.
fn mixed(number: u64) -> usize {
    let more = (number >> 8) as usize;
    match number % 10 {
        0..=6 => 50 + more % 400,
        7 | 8 => 2_000 + more % 8_000,
        _ => 10_000 + more % 60_000,
    }
}

const WORK: [Work; 5] = [
    Work { name: "mixed, 64 MiB", capacity: 64 << 20, before: 0, size: mixed },
    Work { name: "mixed, 64 MiB, full of small ones", capacity: 64 << 20, before: KEYS, size: mixed },
    Work { name: "mixed, 1 MiB", capacity: 1 << 20, before: 0, size: mixed },
    Work {
        name: "50 to 200 bytes, 32 MiB",
        capacity: 32 << 20,
        before: 0,
        size: |number| 50 + number as usize % 150,
    },
    Work { name: "6,000 bytes, 64 MiB", capacity: 64 << 20, before: 0, size: |_| 6_000 },
];

const NAMES: [&str; 3] = ["twindex", "quick_cache", "moka"];

#[derive(Clone)]
struct Weigh;

impl quick_cache::Weighter<Bytes, Bytes> for Weigh {
    fn weight(&self, key: &Bytes, value: &Bytes) -> u64 {
        (key.len() + value.len()) as u64
    }
}

fn make(name: &str, capacity: usize) -> Box<dyn Shared> {
    match name {
        "twindex" => {
            let cache = twindex::Store::new().cache("cache", twindex::CacheOptions::bytes(capacity));
            Box::new(cache.expect("a new cache"))
        }
        "quick_cache" => {
            let weight = capacity as u64;
            Box::new(quick_cache::sync::Cache::<Bytes, Bytes, _>::with_weighter(100_000, weight, Weigh))
        }
        _ => {
            let weigh = |key: &Bytes, value: &Bytes| (key.len() + value.len()) as u32;
            Box::new(moka::sync::Cache::builder().weigher(weigh).max_capacity(capacity as u64).build())
        }
    }
}

/// Percent of the requests and of the bytes that were hits, million requests a second, and how many pairs were refused.
fn run(work: &Work, cache: &dyn Shared) -> [f64; 4] {
    let (mut random, zipf) =
        (StdRng::seed_from_u64(26), Zipf::new(KEYS as f64, 0.9).expect("a valid exponent"));
    let values = vec![1; 70_000];
    for number in 0..work.before {
        cache.put(&bytes(KEYS * 2 + number), &values[..100]);
    }
    let (mut hits, mut hit, mut asked, mut refused) = (0, 0, 0, 0);
    let begun = Instant::now();
    for request in 0..REQUESTS {
        let key = bytes(zipf.sample(&mut random) as u64);
        let size = (work.size)(u64::from_le_bytes(*key.first_chunk().expect("16 bytes")));
        let is_hit = cache.get(&key).is_some();
        if !is_hit && !cache.put(&key, &values[..size]) {
            refused += 1;
        }
        // The first fifth fills the cache.
        if request >= REQUESTS / 5 {
            (hits, hit, asked) =
                (hits + u32::from(is_hit), hit + if is_hit { size } else { 0 }, asked + size);
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    let counted = f64::from(REQUESTS / 5 * 4);
    let percent = [f64::from(hits) / counted, hit as f64 / asked as f64].map(|part| 100.0 * part);
    [percent[0], percent[1], f64::from(REQUESTS) / seconds / 1e6, f64::from(refused)]
}

/// Prints a table.
pub fn print() {
    println!(
        "| values and capacity | cache | hits, % | bytes hit, % | million requests a second | refused |"
    );
    println!("|---|---|---|---|---|---|");
    for work in &WORK {
        for name in NAMES {
            let [hits, hit, speed, refused] = run(work, &*make(name, work.capacity));
            println!("| {} | {name} | {hits:.1} | {hit:.1} | {speed:.2} | {refused} |", work.name);
        }
    }
}
