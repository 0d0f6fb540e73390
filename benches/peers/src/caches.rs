//! Caches beside others. All keep boxes of bytes; on a miss the pair is put in.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use foyer_memory::{
    CacheBuilder, CacheProperties, EvictionConfig, LfuConfig, LruConfig, S3FifoConfig, SieveConfig,
};
use hdrhistogram::Histogram;
use rand::distr::Distribution as _;
use rand::rngs::StdRng;
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::Zipf;
use twindex_benches::{Bytes, Clock, Fallible, Job, Record, Unit, growth_since, resident_bytes};
use twindex_cache::CacheOptions;

/// A cache that threads share.
trait Cache: Send + Sync {
    /// The first byte of a value, read in place by the libraries that allow it, and from a copy by the others.
    fn get(&self, key: &[u8]) -> Option<u8>;

    /// Puts a pair in. False if it was refused, which ours alone says.
    fn put(&self, key: &[u8], value: &[u8]) -> bool;
}

/// By what a cache is limited.
#[derive(Clone, Copy)]
enum Limit {
    Entries(usize),
    /// Of keys and values, as the others cannot know their own memory; ours counts all.
    Bytes(usize),
}

macro_rules! cache {
    ($type:ty, |$cache:ident, $key:ident, $value:ident| get $get:expr, put $put:expr) => {
        impl Cache for $type {
            fn get(&self, $key: &[u8]) -> Option<u8> {
                let $cache = self;
                $get.map(|value| value[0])
            }

            fn put(&self, $key: &[u8], $value: &[u8]) -> bool {
                let $cache = self;
                $put
            }
        }
    };
}

cache!(quick_cache::sync::Cache<Bytes, Bytes, Weigh>, |cache, key, value| get cache.get(key), put { cache.insert(key.into(), value.into()); true });
cache!(moka::sync::Cache<Bytes, Bytes>, |cache, key, value| get cache.get(key), put { cache.insert(key.into(), value.into()); true });
cache!(mini_moka::sync::Cache<Bytes, Bytes>, |cache, key, value| get cache.get(&Bytes::from(key)), put { cache.insert(key.into(), value.into()); true });
cache!(foyer_memory::Cache<Bytes, Bytes>, |cache, key, value| get cache.get(&Bytes::from(key)), put { cache.insert(key.into(), value.into()); true });
// Plain LRU, behind a mutex.
cache!(Mutex<schnellru::LruMap<Bytes, Bytes>>, |cache, key, value|
    get cache.lock().expect("no thread panics").get(&Bytes::from(key)),
    put cache.lock().expect("no thread panics").insert(Bytes::from(key), value.into())
);

impl Cache for twindex_cache::Cache {
    fn get(&self, key: &[u8]) -> Option<u8> {
        self.get_with(key, |value| value[0])
    }

    fn put(&self, key: &[u8], value: &[u8]) -> bool {
        self.upsert(key, value).is_ok_and(|is_kept| is_kept)
    }
}

/// One for each entry, or the bytes of key and value.
#[derive(Clone)]
struct Weigh {
    is_bytes: bool,
}

impl quick_cache::Weighter<Bytes, Bytes> for Weigh {
    fn weight(&self, key: &Bytes, value: &Bytes) -> u64 {
        if self.is_bytes { (key.len() + value.len()) as u64 } else { 1 }
    }
}

fn make(name: &str, limit: Limit) -> Box<dyn Cache> {
    let (most, is_bytes) = match limit {
        Limit::Entries(most) => (most, false),
        Limit::Bytes(most) => (most, true),
    };
    let weigh = move |key: &Bytes, value: &Bytes| if is_bytes { (key.len() + value.len()) as u32 } else { 1 };
    let weigher = move |key: &Bytes, value: &Bytes| weigh(key, value) as usize;
    let foyer = |eviction: EvictionConfig| -> Box<dyn Cache> {
        let builder = CacheBuilder::new(most).with_eviction_config(eviction).with_weighter(weigher);
        Box::new(builder.build::<CacheProperties>())
    };
    match name {
        "twindex" => Box::new(ours(match limit {
            Limit::Entries(most) => CacheOptions::max_entries(most),
            Limit::Bytes(most) => CacheOptions::capacity(most),
        })),
        "quick_cache" => {
            let entries = if is_bytes { 100_000 } else { most };
            Box::new(quick_cache::sync::Cache::with_weighter(entries, most as u64, Weigh { is_bytes }))
        }
        "moka" => Box::new(moka::sync::Cache::builder().weigher(weigh).max_capacity(most as u64).build()),
        "mini-moka" => {
            Box::new(mini_moka::sync::Cache::builder().weigher(weigh).max_capacity(most as u64).build())
        }
        "foyer-s3fifo" => foyer(S3FifoConfig::default().into()),
        "foyer-lfu" => foyer(LfuConfig::default().into()),
        "foyer-lru" => foyer(LruConfig::default().into()),
        "foyer-sieve" => foyer(SieveConfig.into()),
        _ => {
            let limit = schnellru::ByLength::new(most as u32);
            Box::new(Mutex::new(schnellru::LruMap::<Bytes, Bytes>::new(limit)))
        }
    }
}

fn ours(options: CacheOptions) -> twindex_cache::Cache {
    twindex_cache::Cache::new(options).expect("a new cache")
}

/// A key of 16 bytes.
fn bytes(number: u64) -> [u8; 16] {
    (u128::from(number) << 64 | u128::from(number.wrapping_mul(0x9e37_79b9_7f4a_7c15))).to_le_bytes()
}

fn zipf(keys: u64, exponent: f64) -> Zipf<f64> {
    Zipf::new(keys as f64, exponent).expect("a valid exponent")
}

/// Hits of all threads' keys, in percent of those after `warm_up` of each, and the time of all.
fn request(cache: &dyn Cache, keys: &[Vec<u64>], warm_up: usize) -> (f64, Duration) {
    let begun = Instant::now();
    let hits: usize = thread::scope(|scope| {
        let work = |keys: &Vec<u64>| {
            let mut hits = 0;
            for (at, &key) in keys.iter().enumerate() {
                let key = bytes(key);
                let is_hit = black_box(cache.get(&key)).is_some();
                hits += usize::from(is_hit && at >= warm_up);
                assert!(is_hit || cache.put(&key, &key), "there is room");
            }
            hits
        };
        let threads: Vec<_> = keys.iter().map(|keys| scope.spawn(move || work(keys))).collect();
        threads.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    });
    let counted: usize = keys.iter().map(|keys| keys.len() - warm_up).sum();
    (100.0 * hits as f64 / counted as f64, begun.elapsed())
}

/// A trace: keys in the order in which they are asked for, the capacities to try, and how many requests only fill the cache.
struct Trace {
    name: String,
    keys: Vec<u64>,
    capacities: Vec<usize>,
    warm_up: usize,
}

/// Made traces of 2.5 requests for each of `keys` keys. A key comes in proportion to 1 / rank^exponent.
fn made(keys: u64) -> Vec<Trace> {
    let capacities = [1_000, 100, 10].map(|part| (keys as usize / part).max(8));
    let requests = keys * 5 / 2;
    let trace = |name: String, capacities: &[usize], next: &mut dyn FnMut(&mut StdRng, u64) -> u64| {
        let mut random = StdRng::seed_from_u64(26);
        let keys = (0..requests).map(|at| next(&mut random, at)).collect();
        Trace { name, keys, capacities: capacities.to_vec(), warm_up: requests as usize / 5 }
    };
    let mut all = Vec::new();
    for exponent in [0.7, 0.9, 1.0] {
        let zipf = zipf(keys, exponent);
        all.push(trace(format!("zipf {exponent:.1}"), &capacities, &mut |random, _| {
            zipf.sample(random) as u64
        }));
    }
    let (mild, strong) = (zipf(keys, 0.9), zipf(keys, 1.0));
    all.push(trace("half one-timers".into(), &capacities[1..], &mut |random, at| {
        if random.random::<bool>() { keys * 2 + at } else { mild.sample(random) as u64 }
    }));
    // Each key loses its rank to the next one, one step in 20 requests.
    all.push(trace("drifting".into(), &capacities[1..], &mut |random, at| {
        (strong.sample(random) as u64 + at / 20) % keys
    }));
    for times in [1.1, 2.0] {
        let length = (capacities[1] as f64 * times) as u64;
        all.push(trace(format!("loop {times:.1}x"), &capacities[1..2], &mut |_, at| at % length));
    }
    all
}

/// A file in one of libCacheSim's formats, known by the end of its name: `.oracleGeneral.bin` (or `.oracleGeneral`), `.csv`
/// (the second column is the key, or the only one), `.txt` (a key a line), and `.lis` of the ARC traces. Capacities are 1 %
/// and 10 % of its keys.
fn read(path: &Path) -> Fallible<Trace> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let bytes = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let keys: Vec<u64> = if name.contains("oracleGeneral") {
        // Time u32, key u64, size u32, next access i64, little-endian and packed.
        let keys = bytes.chunks_exact(24).filter_map(|record| record[4..12].try_into().ok());
        keys.map(u64::from_le_bytes).collect()
    } else {
        lines(&name, std::str::from_utf8(&bytes)?).ok_or_else(|| format!("{name} is in no known format"))?
    };
    if keys.is_empty() {
        return Err(format!("{name} has no keys").into());
    }
    let different = keys.iter().collect::<std::collections::HashSet<_>>().len();
    let capacities = [100, 10].map(|part| (different / part).max(1)).to_vec();
    Ok(Trace { name, keys, capacities, warm_up: 0 })
}

fn lines(name: &str, text: &str) -> Option<Vec<u64>> {
    use std::hash::BuildHasher as _;
    let key_of =
        |key: &str| key.parse().unwrap_or_else(|_| foldhash::fast::FixedState::default().hash_one(key));
    let mut keys = Vec::new();
    for (at, line) in text.lines().enumerate() {
        match Path::new(name).extension()?.to_str()? {
            "lis" => {
                let mut numbers = line.split(' ').map_while(|number| number.trim().parse::<u64>().ok());
                let (first, count) = (numbers.next()?, numbers.next()?);
                keys.extend(first..first + count);
            }
            "csv" => {
                let mut fields = line.split(',').map(str::trim);
                let first = fields.next()?;
                let key = fields.next().unwrap_or(first);
                // A first line that names the columns.
                if at > 0 || key.parse::<u64>().is_ok() {
                    keys.push(key_of(key));
                }
            }
            "txt" => keys.push(key_of(line.trim())),
            _ => return None,
        }
    }
    Some(keys)
}

/// Hits in percent by trace and capacity: made traces over --pairs keys, or the trace of --file.
pub fn hits(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let traces = match &job.options.file {
        Some(path) => vec![read(path)?],
        None => made(job.options.pairs.into()),
    };
    let mut records = Vec::new();
    for Trace { name, keys, capacities, warm_up } in traces {
        let keys = [keys];
        for capacity in capacities {
            let (hits, _) = request(&*make(job.system, Limit::Entries(capacity)), &keys, warm_up);
            let record = job.record("hits", Unit::Percent, hits).with("trace", name.as_str());
            records.push(record.with("capacity", capacity));
        }
    }
    Ok(records)
}

/// Requests a second of a full cache of a tenth of --pairs entries: of keys that are there, and of zipf 1.0.
pub fn speed(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let (pairs, capacity) = (u64::from(job.options.pairs), (job.options.pairs as usize / 10).max(8));
    let zipf = zipf(pairs, 1.0);
    // Room for half as many more: none is evicted.
    let present = (capacity as u64 * 2 / 3).max(1);
    let figure = |figure: &str, next: &dyn Fn(&mut StdRng) -> u64| {
        // However many threads there are, the keys are the same, so that as many of them miss.
        let mut random = StdRng::seed_from_u64(26);
        let all: Vec<u64> = std::iter::repeat_with(|| next(&mut random)).take(6 * capacity).collect();
        let keys: Vec<_> = all.chunks(all.len().div_ceil(job.threads())).map(<[u64]>::to_vec).collect();
        let cache = make(job.system, Limit::Entries(capacity));
        request(&*cache, &keys, 0);
        let (_, time) = request(&*cache, &keys, 0);
        job.rate(figure, all.len(), time)
    };
    Ok(vec![
        figure("hits", &|random| random.random_range(0..present)),
        figure("zipf 1.0", &|random| zipf.sample(random) as u64),
    ])
}

/// By how many bytes the process grows for each entry above key and value, in a cache that was filled twice over.
pub fn memory(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let (pairs, before) = (u64::from(job.options.pairs), resident_bytes());
    let cache = make(job.system, Limit::Entries(pairs as usize));
    for number in 0..2 * pairs {
        assert!(cache.put(&bytes(number), &bytes(number)), "there is room");
    }
    let growth = growth_since(before);
    let kept = (0..2 * pairs).filter(|&number| cache.get(&bytes(number)).is_some()).count();
    let bytes = growth.map(|growth| growth as f64 / kept.max(1) as f64 - 32.0);
    Ok(bytes.map(|bytes| job.record("bytes above 32", Unit::Bytes, bytes.max(0.0))).into_iter().collect())
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

/// The name of a mix, the capacity in bytes for each key, whether the cache begins full of small pairs that nobody asks for, and
/// the size of each key's value.
type Mix = (&'static str, usize, bool, fn(u64) -> usize);

const MIXES: [Mix; 5] = [
    ("mixed, 64 bytes a key", 64, false, mixed),
    ("mixed, full of small ones", 64, true, mixed),
    ("mixed, 1 byte a key", 1, false, mixed),
    ("50 to 200 bytes, 32 a key", 32, false, |number| 50 + number as usize % 150),
    ("6,000 bytes, 64 a key", 64, false, |_| 6_000),
];

/// Caches that are limited by bytes, whose values differ in size; keys come by zipf 0.9.
pub fn sizes(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let pairs = u64::from(job.options.pairs);
    let (zipf, values) = (zipf(pairs, 0.9), vec![1; 70_000]);
    let mut records = Vec::new();
    for (name, capacity, before, size) in MIXES {
        let (capacity, resident) = ((capacity * pairs as usize).max(1 << 20), resident_bytes());
        let cache = make(job.system, Limit::Bytes(capacity));
        let mut random = StdRng::seed_from_u64(26);
        for number in 0..if before { pairs } else { 0 } {
            cache.put(&bytes(pairs * 2 + number), &values[..100]);
        }
        let (mut hits, mut hit, mut asked, mut refused) = (0, 0, 0, 0);
        let begun = Instant::now();
        for request in 0..pairs {
            let key = bytes(zipf.sample(&mut random) as u64);
            let size = size(u64::from_le_bytes(*key.first_chunk().expect("16 bytes")));
            let is_hit = cache.get(&key).is_some();
            refused += u64::from(!is_hit && !cache.put(&key, &values[..size]));
            // The first fifth fills the cache.
            if request >= pairs / 5 {
                (hits, hit, asked) =
                    (hits + u64::from(is_hit), hit + if is_hit { size } else { 0 }, asked + size);
            }
        }
        let time = begun.elapsed();
        let (hits, hit) = (hits as f64 / (pairs - pairs / 5) as f64, hit as f64 / asked as f64);
        let mut all = vec![
            job.record("hits", Unit::Percent, 100.0 * hits),
            job.record("bytes hit", Unit::Percent, 100.0 * hit),
            job.rate("requests", pairs as usize, time),
            job.record("refused of a million", Unit::Bytes, 1e6 * refused as f64 / pairs as f64),
        ];
        let growth = growth_since(resident).map(|growth| growth as f64);
        all.extend(
            growth.map(|bytes| job.record("resident for a byte", Unit::Bytes, bytes / capacity as f64)),
        );
        records.extend(all.into_iter().map(|record| record.with("mix", name)));
    }
    Ok(records)
}

/// How long single writes of ours take: writes that evict, and writes beside which as many expired pairs go.
///
/// Other programs take the processor away. So each write is timed by the wall's clock and by the processor's, and the thread
/// does nothing for as long as it writes, in turns of a millisecond: what it sees then is no write's doing.
pub fn pauses(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let pairs = u64::from(job.options.pairs);
    // No cache is smaller than 64 KiB.
    let capacity = (64 * pairs as usize).max(1 << 16);
    let evicting = ours(CacheOptions::capacity(capacity));
    for number in 0..pairs {
        evicting.upsert(bytes(number), [0; 64])?;
    }
    let mut numbers = pairs..3 * pairs;
    let mut records =
        measure(job, "evicting", || numbers.next().map(|number| evicting.upsert(bytes(number), [0; 64])))?;
    let held = evicting.memory() as f64 / capacity as f64;
    records.push(job.record("evicting: held for a byte", Unit::Bytes, held));
    drop(evicting);

    let now = Arc::new(AtomicU64::new(1));
    let clock = Arc::clone(&now);
    let cache = ours(CacheOptions::capacity(2 << 30).clock(move || clock.load(Relaxed)));
    let ttl = Duration::from_secs(1);
    for number in 0..pairs {
        cache.upsert_for(bytes(number), [0; 16], ttl)?;
    }
    now.store(2000, Relaxed);
    let mut written = 0;
    records.extend(measure(job, "expiring", || {
        // Counting takes the lock, so it is done now and then.
        let is_done = written % 10_000 == 0 && cache.stats().expirations >= pairs;
        written += 1;
        let key = bytes(written % 100_000 + 100 * pairs);
        (!is_done && written < 10 * pairs.max(1_000_000)).then(|| cache.upsert_for(key, [0; 16], ttl))
    })?);
    let left = pairs.saturating_sub(cache.stats().expirations);
    records.push(job.record("expiring: pairs left", Unit::Bytes, left as f64));
    Ok(records)
}

const CLOCKS: [Clock; 2] = [Clock::Wall, Clock::Processor];

/// Does something once, by both clocks.
fn timed<R>(histograms: &mut [Histogram<u64>; 2], work: impl FnOnce() -> R) -> R {
    let begun = CLOCKS.map(Clock::now);
    let result = work();
    for ((clock, begun), histogram) in CLOCKS.into_iter().zip(begun).zip(histograms) {
        histogram.saturating_record(clock.since(begun).as_nanos() as u64);
    }
    result
}

/// Times writes until `write` gives none.
fn measure(
    job: &Job<'_>,
    name: &str,
    mut write: impl FnMut() -> Option<twindex_cache::Result<bool>>,
) -> Fallible<Vec<Record>> {
    const TURN: Duration = Duration::from_millis(1);
    let empty = || {
        CLOCKS.map(|_| Histogram::<u64>::new_with_max(60_000_000_000, 3).expect("three digits are allowed"))
    };
    let (mut writes, mut nothing, mut is_ended) = (empty(), empty(), false);
    while !is_ended {
        let turn = Instant::now();
        while turn.elapsed() < TURN && !is_ended {
            match timed(&mut writes, &mut write) {
                Some(result) => drop(result?),
                None => is_ended = true,
            }
        }
        let piece = Duration::from_nanos(writes[0].value_at_quantile(0.5));
        let turn = Instant::now();
        while turn.elapsed() < TURN && !is_ended {
            timed(&mut nothing, || {
                let begun = Instant::now();
                while begun.elapsed() < piece {}
            });
        }
    }
    let mut records = Vec::new();
    for (what, clocks) in [("writes", &writes), ("nothing", &nothing)] {
        for (clock, histogram) in ["wall", "processor"].into_iter().zip(clocks) {
            for (figure, quantile) in [("p50", 0.5), ("p99.99", 0.9999), ("worst", 1.0)] {
                let value = histogram.value_at_quantile(quantile) as f64;
                let figure = format!("{name}: {what}, {clock}, {figure}");
                records.push(job.record(figure, Unit::Nanoseconds, value));
            }
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn traces_are_read_in_every_format() {
        let folder = tempfile::tempdir().unwrap();
        let packed: Vec<u8> =
            [7_u64, 9].iter().flat_map(|key| [&[0; 4][..], &key.to_le_bytes(), &[0; 12]].concat()).collect();
        for (name, bytes, expected) in [
            ("a.oracleGeneral.bin", packed.as_slice(), vec![7, 9]),
            ("a.csv", b"time,key\n1,7\n2,9\n", vec![7, 9]),
            ("a.txt", b"7\n9\n", vec![7, 9]),
            ("a.lis", b"7 3 0 0\n", vec![7, 8, 9]),
        ] {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(read(&path).unwrap().keys, expected, "{name}");
        }
        std::fs::write(folder.path().join("a.dat"), b"7").unwrap();
        assert!(read(&folder.path().join("a.dat")).is_err());
    }
}
