//! The vectors of caches, with a clock that stands where they put it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use twindex::{Cache, Change, Result, Store};
use twindex_conformance::{
    Answer, CacheHost, CacheOptions, CacheVerb, Capacity, Failure, Fallible, cache_cases,
};

#[test]
fn every_vector_of_caches_holds() {
    for case in cache_cases() {
        case.run(&mut InMemory::new(case.options));
    }
}

struct InMemory {
    cache: Cache,
    now: Arc<AtomicU64>,
}

impl InMemory {
    fn new(options: CacheOptions) -> Self {
        let (store, now) = (Store::new(), Arc::new(AtomicU64::new(1_000_000)));
        let read = Arc::clone(&now);
        assert!(store.set_clock(move || read.load(SeqCst)));
        let with = match options.capacity {
            Capacity::Pairs(pairs) => twindex::CacheOptions::pairs(pairs),
            Capacity::Bytes(bytes) => twindex::CacheOptions::bytes(bytes),
        };
        let with = options.ttl.map_or(with.clone(), |ttl| with.ttl(ttl));
        let cache = store.cache("c", with).expect("a cache");
        Self { cache, now }
    }

    fn run(&mut self, verb: CacheVerb) -> Result<Answer> {
        let Self { cache, now } = self;
        Ok(match verb {
            CacheVerb::Insert(key, value) => cache.insert(key, value)?.into(),
            CacheVerb::Replace(key, value) => cache.replace(key, value)?.into(),
            CacheVerb::Upsert(key, value, None) => cache.upsert(key, value)?.into(),
            CacheVerb::Upsert(key, value, Some(ttl)) => cache.upsert_for(key, value, ttl)?.into(),
            CacheVerb::Select(key) => cache.select(key).into(),
            CacheVerb::Peek(key) => cache.peek(key).into(),
            CacheVerb::Contains(key) => cache.contains(key).into(),
            CacheVerb::Delete(key) => cache.delete(key)?.into(),
            CacheVerb::Increment(key, by) => cache.increment(key, by)?.into(),
            CacheVerb::CompareAndSwap(key, expected, new) => {
                let mut is_expected = false;
                cache.alter(key, |old| {
                    is_expected = old == expected.as_deref();
                    match new {
                        Some(new) if is_expected => Change::Set(new),
                        None if is_expected => Change::Delete,
                        _ => Change::Keep,
                    }
                })?;
                is_expected.into()
            }
            CacheVerb::Touch(key, ttl) => {
                let ttl = ttl.or(cache.default_ttl()).unwrap_or(Duration::MAX);
                cache.touch(key, Some(ttl))?.into()
            }
            CacheVerb::Ttl(key) => match cache.ttl(key) {
                None => Answer::Nothing,
                Some(None) => "ever".to_owned().into(),
                Some(Some(left)) => (left.as_millis() as usize).into(),
            },
            CacheVerb::Len => cache.len().into(),
            CacheVerb::Iter => cache.iter().collect::<Vec<_>>().into(),
            CacheVerb::Stats => {
                let stats = cache.stats();
                let counts = [stats.hits, stats.misses, stats.writes, stats.evictions, stats.expirations];
                counts.map(|count| count as usize).to_vec().into()
            }
            CacheVerb::Clear => cache.clear()?.into(),
            CacheVerb::Advance(time) => {
                now.fetch_add(time.as_millis() as u64, SeqCst);
                Answer::Nothing
            }
        })
    }
}

impl CacheHost for InMemory {
    fn run(&mut self, verb: CacheVerb) -> Fallible<Answer> {
        self.run(verb).map_err(|error| Failure::new(error.code(), &error))
    }
}
