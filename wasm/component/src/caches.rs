//! `twindex:engine/caches`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use twindex_cache::{Cache as Engine, Saved, Ttl};

use crate::Component;
use crate::bindings::exports::twindex::engine::caches::{self, CacheOptions, CacheStats, Guest, GuestCache};
use crate::bindings::exports::twindex::engine::stores::{Bytes, Error};

/// The time that the host gave last, in milliseconds, or 0.
static NOW: AtomicU64 = AtomicU64::new(0);

type Result<T> = std::result::Result<T, Error>;

impl From<twindex_cache::Error> for Error {
    fn from(error: twindex_cache::Error) -> Self {
        Self { code: error.code().into(), message: error.to_string() }
    }
}

impl Guest for Component {
    type Cache = Cache;

    fn set_time(milliseconds: u64) {
        NOW.store(milliseconds, Relaxed);
    }
}

fn with_clock(options: twindex_cache::CacheOptions) -> twindex_cache::CacheOptions {
    if NOW.load(Relaxed) > 0 { options.clock(|| NOW.load(Relaxed)) } else { options }
}

/// More than addresses reach, and less than what could stand for none.
fn size(size: u64) -> usize {
    usize::try_from(size).unwrap_or(usize::MAX / 2)
}

fn now() -> Duration {
    Duration::from_millis(NOW.load(Relaxed))
}

pub(crate) struct Cache(Engine);

impl GuestCache for Cache {
    fn open(given: CacheOptions) -> Result<caches::Cache> {
        let mut options = twindex_cache::CacheOptions::default();
        if let Some(capacity) = given.capacity {
            options = options.and_capacity(size(capacity));
        }
        if let Some(entries) = given.max_entries {
            options = options.and_max_entries(size(entries));
        }
        if let Some(ttl) = given.ttl {
            options = options.ttl(Duration::from_millis(ttl));
        }
        Ok(caches::Cache::new(Self(Engine::new(with_clock(options))?)))
    }

    fn load(saved: Bytes) -> Result<caches::Cache> {
        let mut bytes = saved.as_slice();
        let saved = Saved::read(&mut bytes)?;
        let options = with_clock(saved.options());
        Ok(caches::Cache::new(Self(saved.load_at(options, now())?)))
    }

    fn save(&self) -> Result<Bytes> {
        let mut saved = Vec::new();
        self.0.save_at(&mut saved, now())?;
        Ok(saved)
    }

    fn get(&self, key: Bytes) -> Option<Bytes> {
        self.0.get_with(&key, <[u8]>::to_vec)
    }

    fn peek(&self, key: Bytes) -> Option<Bytes> {
        self.0.peek_with(&key, <[u8]>::to_vec)
    }

    fn contains(&self, key: Bytes) -> bool {
        self.0.contains(&key)
    }

    fn insert(&self, key: Bytes, value: Bytes, ttl: Option<u64>) -> Result<bool> {
        Ok(self.0.insert(&key, &value, ttl.map(Duration::from_millis))?)
    }

    fn replace(&self, key: Bytes, value: Bytes, ttl: Option<u64>) -> Result<bool> {
        Ok(self.0.replace(&key, &value, ttl.map(Duration::from_millis))?)
    }

    fn upsert(&self, key: Bytes, value: Bytes, ttl: Option<u64>) -> Result<bool> {
        Ok(match ttl {
            Some(ttl) => self.0.upsert_for(&key, &value, Duration::from_millis(ttl))?,
            None => self.0.upsert(&key, &value)?,
        })
    }

    fn delete(&self, key: Bytes) -> bool {
        self.0.remove(&key)
    }

    fn increment(&self, key: Bytes, by: i64) -> Result<i64> {
        Ok(self.0.increment(&key, by)?)
    }

    fn compare_and_swap(&self, key: Bytes, expected: Option<Bytes>, new: Option<Bytes>) -> Result<bool> {
        Ok(self.0.compare_and_swap(&key, expected.as_deref(), new.as_deref())?)
    }

    fn ttl(&self, key: Bytes) -> Option<u64> {
        match self.0.ttl(&key) {
            Ttl::Left(left) => u64::try_from(left.as_millis()).ok(),
            Ttl::Absent | Ttl::Forever => None,
        }
    }

    fn clear(&self) {
        self.0.clear();
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn memory(&self) -> u64 {
        self.0.memory() as u64
    }

    fn stats(&self) -> CacheStats {
        let counts = self.0.stats();
        CacheStats {
            hits: counts.hits,
            misses: counts.misses,
            writes: counts.writes,
            evictions: counts.evictions,
            expirations: counts.expirations,
            rejected: counts.rejected,
        }
    }
}
