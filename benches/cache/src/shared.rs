//! Caches of byte strings that threads share: their throughput and their memory. That of schnellru is behind a mutex.

use crate::peers::NAMES;
use quick_cache::Weighter;
use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use std::hint::black_box;
use std::sync::Mutex;
use std::time::Instant;
use std::{env, fs, io, process, thread};

pub type Bytes = Box<[u8]>;

/// A cache that threads share.
pub trait Shared: Sync {
    /// The first byte of a value. It is read in place by the libraries that let it, and from a copy of the value by the others.
    fn get(&self, key: &[u8]) -> Option<u8>;
    /// Puts a pair in. Returns false if it was refused, which ours alone says.
    fn put(&self, key: &[u8], value: &[u8]) -> bool;
}

impl Shared for twindex::Cache {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.select_with(key, |value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.upsert(key, value).is_ok()
    }
}

impl<W: Weighter<Bytes, Bytes> + Clone + Send + Sync> Shared for quick_cache::sync::Cache<Bytes, Bytes, W> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(key).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.insert(key.into(), value.into());
        true
    }
}

impl Shared for moka::sync::Cache<Bytes, Bytes> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(key).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.insert(key.into(), value.into());
        true
    }
}

impl Shared for mini_moka::sync::Cache<Bytes, Bytes> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(&Bytes::from(key)).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.insert(key.into(), value.into());
        true
    }
}

impl Shared for Mutex<schnellru::LruMap<Bytes, Bytes>> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.lock().expect("no thread panics").get(&Bytes::from(key)).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.lock().expect("no thread panics").insert(Bytes::from(key), value.into())
    }
}

fn make(name: &str, capacity: usize) -> Box<dyn Shared> {
    match name {
        "twindex" => {
            let cache = twindex::Store::new().cache("cache", twindex::CacheOptions::pairs(capacity));
            Box::new(cache.expect("a new cache"))
        }
        "quick_cache" => Box::new(quick_cache::sync::Cache::<Bytes, Bytes>::new(capacity)),
        "moka" => Box::new(moka::sync::Cache::<Bytes, Bytes>::new(capacity as u64)),
        "mini-moka" => Box::new(mini_moka::sync::Cache::<Bytes, Bytes>::new(capacity as u64)),
        _ => Box::new(Mutex::new(schnellru::LruMap::<Bytes, Bytes>::new(schnellru::ByLength::new(
            capacity as u32,
        )))),
    }
}

pub fn bytes(number: u64) -> [u8; 16] {
    (u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).to_le_bytes()
}

/// What threads do with a cache of 100,000 pairs.
#[derive(Clone, Copy)]
pub enum Work {
    /// Keys that are present. There is room for half as many pairs more, so none is evicted.
    Hits,
    /// The favourites of a million keys, of which those that are absent are inserted.
    Mixed,
}

const CAPACITY: usize = 100_000;
const OPERATIONS: usize = 300_000;

impl Work {
    pub const ALL: [Self; 2] = [Self::Hits, Self::Mixed];

    fn title(self) -> &'static str {
        match self {
            Self::Hits => "hits",
            Self::Mixed => "zipf 1.0, hits and misses",
        }
    }

    /// Keys for each of so many threads. All numbers are divided by `divisor`.
    fn keys(self, threads: usize, divisor: usize) -> Vec<Vec<u64>> {
        let zipf = Zipf::new((1_000_000 / divisor) as f64, 1.0).expect("a valid exponent");
        let present = (CAPACITY / divisor) as u64 * 2 / 3;
        let of_thread = |thread| {
            let mut random = StdRng::seed_from_u64(thread as u64);
            let next = || match self {
                Self::Hits => random.random_range(0..present),
                Self::Mixed => zipf.sample(&mut random) as u64,
            };
            std::iter::repeat_with(next).take(OPERATIONS / divisor).collect()
        };
        (0..threads).map(of_thread).collect()
    }
}

/// Operations a second of all threads together. Where a key is absent its pair is inserted.
fn throughput(cache: &dyn Shared, keys: &[Vec<u64>]) -> f64 {
    let begin = Instant::now();
    thread::scope(|scope| {
        for keys in keys {
            scope.spawn(move || {
                for &key in keys {
                    let key = bytes(key);
                    if black_box(cache.get(&key)).is_none() {
                        assert!(cache.put(&key, &key), "there is room");
                    }
                }
            });
        }
    });
    keys.iter().map(Vec::len).sum::<usize>() as f64 / begin.elapsed().as_secs_f64()
}

/// Operations a second of one library, once its cache is full; and how many there were.
pub fn throughput_of(name: &str, work: Work, threads: usize, divisor: usize) -> (f64, usize) {
    let (cache, keys) = (make(name, CAPACITY / divisor), work.keys(threads, divisor));
    throughput(&*cache, &keys);
    (throughput(&*cache, &keys), threads * OPERATIONS / divisor)
}

/// Prints a table of throughputs: the best of three rounds in which the caches take turns.
pub fn print_throughput() {
    println!("| work | threads | {} |\n|---|---{}", NAMES.join(" | "), "|---".repeat(NAMES.len()) + "|");
    for work in Work::ALL {
        for threads in [1, 2, 8] {
            let keys = work.keys(threads, 1);
            let mut best = [0.0_f64; NAMES.len()];
            let caches = NAMES.map(|name| make(name, CAPACITY));
            for round in 0..4 {
                for (best, cache) in best.iter_mut().zip(&caches) {
                    let speed = throughput(&**cache, &keys) / 1e6;
                    // The first round fills it.
                    *best = if round == 0 { 0.0 } else { best.max(speed) };
                }
            }
            let row = best.map(|speed| format!("{speed:.1}")).join(" | ");
            println!("| {} | {threads} | {row} |", work.title());
        }
    }
}

/// Prints the bytes that a full cache of a million pairs of 16 + 16 bytes takes above their 32, each in a process of its own.
pub fn print_memory() -> io::Result<()> {
    println!("| bytes an entry above key and value | {} |", NAMES.join(" | "));
    println!("|---|{}", "---|".repeat(NAMES.len()));
    let mut row = Vec::new();
    for name in NAMES {
        let output = process::Command::new(env::current_exe()?).args(["--memory-of", name]).output()?;
        row.push(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    println!("| resident, 16 + 16 bytes, half of all keys evicted | {} |", row.join(" | "));
    Ok(())
}

/// Fills one cache twice over: the bytes by which this process grew for each pair, above those of key and value.
pub fn memory_of(name: &str, divisor: u64) -> io::Result<f64> {
    let (pairs, before) = (1_000_000 / divisor, resident()?);
    let cache = make(name, pairs as usize);
    for number in 0..2 * pairs {
        assert!(cache.put(&bytes(number), &bytes(number)), "there is room");
    }
    let kept = (0..2 * pairs).filter(|&number| cache.get(&bytes(number)).is_some()).count();
    Ok((resident()?.saturating_sub(before)) as f64 / kept as f64 - 32.0)
}

/// The resident bytes of this process, on Linux.
pub fn resident() -> io::Result<usize> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.map(|pages| pages * 4096).ok_or_else(|| io::Error::other("statm has no second number"))
}
