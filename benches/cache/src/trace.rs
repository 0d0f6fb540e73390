//! The requests that are replayed: made ones, and those of files.

use crate::peers::Cache;
use rand::distr::Distribution;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rand_distr::Zipf;
use std::fs;
use std::io::{self, Error};
use std::path::Path;

/// A workload: the keys in the order in which they are asked for, and the capacities to try, in pairs.
pub struct Trace {
    pub name: String,
    pub keys: Vec<u64>,
    pub capacities: Vec<usize>,
    /// How many requests at the beginning only fill the cache: a fifth of those that are made here.
    pub warm_up: usize,
}

const REQUESTS: u64 = 2_500_000;
const KEYS: u64 = 1_000_000;
const SIZES: [usize; 3] = [1_000, 10_000, 100_000];

/// How large the made traces are.
#[derive(Clone, Copy)]
pub struct Made {
    /// By how much requests, keys and capacities are divided, so that a trace takes less time. 1 is the whole.
    pub divisor: u64,
}

impl Made {
    fn trace(self, name: &str, capacities: &[usize], mut next: impl FnMut(&mut StdRng, u64) -> u64) -> Trace {
        let mut random = StdRng::seed_from_u64(26);
        let requests = REQUESTS / self.divisor;
        let keys = (0..requests).map(|at| next(&mut random, at)).collect();
        let capacities = capacities.iter().map(|capacity| capacity / self.divisor as usize).collect();
        Trace { name: name.into(), keys, capacities, warm_up: requests as usize / 5 }
    }

    fn keys(self) -> u64 {
        KEYS / self.divisor
    }

    fn zipf_of(self, exponent: f64) -> Zipf<f64> {
        Zipf::new(self.keys() as f64, exponent).expect("a valid exponent")
    }

    /// Independent requests: the key of rank r comes in proportion to 1 / r^exponent.
    fn zipf(self, exponent: f64) -> Trace {
        let zipf = self.zipf_of(exponent);
        self.trace(&format!("zipf {exponent:.1}"), &SIZES, |random, _| zipf.sample(random) as u64)
    }

    /// Every second request is for a key that comes once.
    fn one_timers(self) -> Trace {
        let zipf = self.zipf_of(0.9);
        self.trace("zipf 0.9, half one-timers", &SIZES[1..], |random, at| {
            if random.random::<bool>() { self.keys() * 2 + at } else { zipf.sample(random) as u64 }
        })
    }

    /// The favourites move: each key loses its rank to the next one, one step in `STEP` requests.
    fn drifting(self) -> Trace {
        const STEP: u64 = 20;
        let zipf = self.zipf_of(1.0);
        self.trace("zipf 1.0, drifting", &SIZES[1..], |random, at| {
            (zipf.sample(random) as u64 + at / STEP) % self.keys()
        })
    }

    /// The same keys in the same order, again and again: more than there is room for.
    fn looping(self, times: f64) -> Trace {
        let length = (SIZES[1] as f64 * times) as u64 / self.divisor;
        self.trace(&format!("loop {times:.1}x"), &SIZES[1..2], |_, at| at % length)
    }

    /// All that are made here.
    pub fn all(self) -> Vec<Trace> {
        let zipf = [0.7, 0.9, 1.0].map(|exponent| self.zipf(exponent));
        let others = [self.one_timers(), self.drifting(), self.looping(1.1), self.looping(2.0)];
        zipf.into_iter().chain(others).collect()
    }
}

impl Trace {
    /// The hits of a cache in percent: on a miss the pair is inserted.
    pub fn hits(&self, cache: &mut dyn Cache) -> f64 {
        let mut hits = 0_usize;
        for (at, &key) in self.keys.iter().enumerate() {
            let hit = cache.request(key);
            hits += usize::from(hit && at >= self.warm_up);
        }
        100.0 * hits as f64 / (self.keys.len() - self.warm_up) as f64
    }

    /// A file in one of libCacheSim's formats, known by the end of its name: `.oracleGeneral.bin` (or `.oracleGeneral`),
    /// `.csv` (the second column is the key, or the only one), `.txt` (a key a line), and `.lis` of the ARC traces.
    /// Capacities are 1 % and 10 % of its keys.
    pub fn read(path: &Path) -> io::Result<Self> {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let bytes = fs::read(path)?;
        let keys: Option<Vec<u64>> = if name.contains("oracleGeneral") {
            // Time u32, key u64, size u32, next access i64, little-endian and packed.
            Some(
                bytes
                    .chunks_exact(24)
                    .map(|record| u64::from_le_bytes(record[4..12].try_into().unwrap()))
                    .collect(),
            )
        } else {
            let text = String::from_utf8(bytes).map_err(|_| Error::other(format!("{name} is no text")))?;
            lines(&name, &text)
        };
        let keys = keys.filter(|keys| !keys.is_empty());
        let keys = keys.ok_or_else(|| Error::other(format!("{name} is in no known format")))?;
        let different = keys.iter().collect::<std::collections::HashSet<_>>().len();
        let capacities = [100, 10].map(|part| (different / part).max(1)).to_vec();
        Ok(Self { name, keys, capacities, warm_up: 0 })
    }
}

fn lines(name: &str, text: &str) -> Option<Vec<u64>> {
    let mut keys = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let field = |separator, number| line.split(separator).nth(number).map(str::trim);
        match name.rsplit('.').next()? {
            "lis" => {
                let number = |at| field(' ', at).and_then(|number| number.parse::<u64>().ok());
                let (first, count) = (number(0)?, number(1)?);
                keys.extend(first..first + count);
            }
            "csv" => {
                let key = field(',', 1).or_else(|| field(',', 0))?;
                match key.parse() {
                    Ok(key) => keys.push(key),
                    Err(_) if at == 0 => {}
                    Err(_) => keys.push(text_key(key)),
                }
            }
            "txt" => keys.push(line.trim().parse().unwrap_or_else(|_| text_key(line.trim()))),
            _ => return None,
        }
    }
    Some(keys)
}

fn text_key(key: &str) -> u64 {
    use std::hash::BuildHasher;
    foldhash::fast::FixedState::default().hash_one(key)
}
