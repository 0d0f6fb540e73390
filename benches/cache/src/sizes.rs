//! Hits of caches that are limited by bytes, whose values differ in size. Two of the others are told each pair's bytes, and take
//! more than these; what a cache really takes only we know.

use crate::shared::{Bytes, bytes};
use rand::SeedableRng;
use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand_distr::Zipf;
use std::sync::Arc;
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

/// Whether a value is there.
type Get = Box<dyn Fn(&[u8]) -> bool>;
/// Puts a pair in; false where it is refused.
type Put = Box<dyn Fn(&[u8], &[u8]) -> bool>;

/// What a cache is asked.
struct Asked {
    get: Get,
    put: Put,
}

#[derive(Clone)]
struct Weigh;

impl quick_cache::Weighter<Bytes, Bytes> for Weigh {
    fn weight(&self, key: &Bytes, value: &Bytes) -> u64 {
        (key.len() + value.len()) as u64
    }
}

fn make(name: &str, capacity: usize) -> Asked {
    match name {
        "twindex" => {
            let cache = twindex::Store::new().cache("cache", twindex::CacheOptions::bytes(capacity));
            let cache = cache.expect("a new cache");
            let other = cache.clone();
            Asked {
                get: Box::new(move |key| cache.select_with(key, |value| value[0]).is_some()),
                put: Box::new(move |key, value| other.upsert(key, value).is_ok()),
            }
        }
        "quick_cache" => {
            let cache =
                quick_cache::sync::Cache::<Bytes, Bytes, _>::with_weighter(100_000, capacity as u64, Weigh);
            let cache = Arc::new(cache);
            let other = Arc::clone(&cache);
            Asked {
                get: Box::new(move |key| cache.get(key).is_some()),
                put: Box::new(move |key, value| {
                    other.insert(key.into(), value.into());
                    true
                }),
            }
        }
        _ => {
            let weigh = |key: &Bytes, value: &Bytes| (key.len() + value.len()) as u32;
            let cache = moka::sync::Cache::builder().weigher(weigh).max_capacity(capacity as u64).build();
            let other: moka::sync::Cache<Bytes, Bytes> = cache.clone();
            Asked {
                get: Box::new(move |key| cache.get(key).is_some()),
                put: Box::new(move |key, value| {
                    other.insert(key.into(), value.into());
                    true
                }),
            }
        }
    }
}

/// Percent of the requests and of the bytes that were hits, million requests a second, and how many pairs were refused.
fn run(work: &Work, cache: &Asked) -> [f64; 4] {
    let (mut random, zipf) =
        (StdRng::seed_from_u64(26), Zipf::new(KEYS as f64, 0.9).expect("a valid exponent"));
    let values = vec![1; 70_000];
    for number in 0..work.before {
        (cache.put)(&bytes(KEYS * 2 + number), &values[..100]);
    }
    let (mut hits, mut hit, mut asked, mut refused) = (0, 0, 0, 0);
    let begun = Instant::now();
    for request in 0..REQUESTS {
        let key = bytes(zipf.sample(&mut random) as u64);
        let size = (work.size)(u64::from_le_bytes(*key.first_chunk().expect("16 bytes")));
        let is_hit = (cache.get)(&key);
        if !is_hit && !(cache.put)(&key, &values[..size]) {
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
            let [hits, hit, speed, refused] = run(work, &make(name, work.capacity));
            println!("| {} | {name} | {hits:.1} | {hit:.1} | {speed:.2} | {refused} |", work.name);
        }
    }
}
