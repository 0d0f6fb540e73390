//! Caches of byte strings that threads share: their throughput and their memory.

use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

type Bytes = Box<[u8]>;

/// A cache that threads share.
trait Shared: Sync {
    /// The first byte of a value. It is read in place by the libraries that let it, and from a copy of the value by the others.
    fn get(&self, key: &[u8]) -> Option<u8>;
    fn put(&self, key: &[u8], value: &[u8]);
}

impl Shared for twindex::Cache {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.select_with(key, |value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.upsert(key, value).expect("there is room");
    }
}

impl Shared for quick_cache::sync::Cache<Bytes, Bytes> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(key).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.insert(key.into(), value.into());
    }
}

impl Shared for moka::sync::Cache<Bytes, Bytes> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(key).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.insert(key.into(), value.into());
    }
}

impl Shared for mini_moka::sync::Cache<Bytes, Bytes> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get(&Bytes::from(key)).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.insert(key.into(), value.into());
    }
}

impl Shared for Mutex<schnellru::LruMap<Bytes, Bytes>> {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.lock().expect("no thread panics").get(&Bytes::from(key)).map(|value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) {
        self.lock().expect("no thread panics").insert(Bytes::from(key), value.into());
    }
}

const NAMES: [&str; 5] = ["Twindex", "quick_cache", "moka", "mini-moka", "schnellru, mutex"];

fn make(name: &str, capacity: usize) -> Box<dyn Shared> {
    match name {
        "Twindex" => {
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

fn bytes(number: u64) -> [u8; 16] {
    (u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).to_le_bytes()
}

const CAPACITY: usize = 100_000;
const OPERATIONS: usize = 300_000;

/// Million operations a second of all threads together. Where a key is absent its pair is inserted.
fn throughput(cache: &dyn Shared, keys: &[Vec<u64>]) -> f64 {
    let begin = Instant::now();
    thread::scope(|scope| {
        for keys in keys {
            scope.spawn(move || {
                for &key in keys {
                    let key = bytes(key);
                    if black_box(cache.get(&key)).is_none() {
                        cache.put(&key, &key);
                    }
                }
            });
        }
    });
    keys.len() as f64 * OPERATIONS as f64 / begin.elapsed().as_secs_f64() / 1e6
}

/// Keys of each of so many threads.
fn keys(threads: usize, next: &dyn Fn(&mut StdRng) -> u64) -> Vec<Vec<u64>> {
    let of_thread = |thread| {
        let mut random = StdRng::seed_from_u64(thread as u64);
        (0..OPERATIONS).map(|_| next(&mut random)).collect()
    };
    (0..threads).map(of_thread).collect()
}

/// Prints a table of throughputs: the best of three rounds in which the caches take turns.
pub fn print_throughput() {
    let zipf = Zipf::new(1_000_000.0, 1.0).expect("a valid exponent");
    let favourites = |random: &mut StdRng| zipf.sample(random) as u64;
    // Each cache has room for half of the pairs more, so none is evicted.
    let present = |random: &mut StdRng| random.random_range(0..CAPACITY as u64 * 2 / 3);
    println!("| work | threads | {} |\n|---|---|{}", NAMES.join(" | "), "---|".repeat(NAMES.len()));
    let works: [(&str, &dyn Fn(&mut StdRng) -> u64); 2] =
        [("hits", &present), ("zipf 1.0, hits and misses", &favourites)];
    for (work, next) in works {
        for threads in [1, 2, 8] {
            let keys = keys(threads, next);
            let mut best = [0.0_f64; NAMES.len()];
            let caches = NAMES.map(|name| make(name, CAPACITY));
            for round in 0..4 {
                for (best, cache) in best.iter_mut().zip(&caches) {
                    let speed = throughput(&**cache, &keys);
                    // The first round fills it.
                    *best = if round == 0 { 0.0 } else { best.max(speed) };
                }
            }
            let row = best.map(|speed| format!("{speed:.1}")).join(" | ");
            println!("| {work} | {threads} | {row} |");
        }
    }
}

const PAIRS: u64 = 1_000_000;

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

/// Fills one cache twice over and prints what the process grew by.
pub fn print_memory_of(name: &str) -> io::Result<()> {
    let before = resident()?;
    let cache = make(name, PAIRS as usize);
    for number in 0..2 * PAIRS {
        cache.put(&bytes(number), &bytes(number));
    }
    let kept = (0..2 * PAIRS).filter(|&number| cache.get(&bytes(number)).is_some()).count();
    println!("{:.0}", (resident()? - before) as f64 / kept as f64 - 32.0);
    Ok(())
}

/// The resident bytes of this process, on Linux.
fn resident() -> io::Result<usize> {
    let statm = fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.map(|pages| pages * 4096).ok_or_else(|| io::Error::other("statm has no second number"))
}

/// Prints how long writes take that evict, and writes beside which ten million expired pairs go.
pub fn print_pauses() -> twindex::Result<()> {
    println!("| writes | number | median | 99.99 % | longest | |\n|---|---|---|---|---|---|");
    let cache = twindex::Store::new().cache("cache", twindex::CacheOptions::bytes(64 << 20))?;
    for number in 0..PAIRS {
        cache.upsert(bytes(number), [0; 64])?;
    }
    let mut times = Vec::new();
    for number in PAIRS..3 * PAIRS {
        let begin = Instant::now();
        cache.upsert(bytes(number), [0; 64])?;
        times.push(begin.elapsed());
    }
    print_times("each evicts", times, &format!("{} of {} bytes held", cache.memory(), 64 << 20));

    let (store, now) = (twindex::Store::new(), Arc::new(AtomicU64::new(1)));
    let clock = Arc::clone(&now);
    let _ = store.set_clock(move || clock.load(Relaxed));
    let cache = store.cache("cache", twindex::CacheOptions::bytes(2 << 30))?;
    for number in 0..10 * PAIRS {
        cache.upsert_for(bytes(number), [0; 16], Duration::from_millis(1000))?;
    }
    now.store(2000, Relaxed);
    let (held, all) = (cache.memory(), Instant::now());
    let mut times = Vec::new();
    while cache.stats().expirations < 10 * PAIRS && times.len() < 10_000_000 {
        for _ in 0..10_000 {
            let key = bytes(times.len() as u64 % 100_000 + 100 * PAIRS);
            let begin = Instant::now();
            cache.upsert_for(key, [0; 16], Duration::from_millis(1000))?;
            times.push(begin.elapsed());
        }
    }
    let (took, left) = (all.elapsed().as_secs_f64(), cache.memory());
    let what = format!("all gone after {took:.1} s; {} of {} MB still held", left >> 20, held >> 20);
    print_times("beside 10 M expired pairs", times, &what);
    Ok(())
}

fn print_times(what: &str, mut times: Vec<Duration>, note: &str) {
    times.sort_unstable();
    let at = |part: f64| times[(times.len() as f64 * part) as usize].as_nanos() as f64 / 1e3;
    let longest = times[times.len() - 1].as_nanos() as f64 / 1e3;
    println!(
        "| {what} | {} | {:.1} us | {:.1} us | {longest:.0} us | {note} |",
        times.len(),
        at(0.5),
        at(0.9999)
    );
}
