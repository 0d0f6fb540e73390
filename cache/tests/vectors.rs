//! The vectors of caches, with a clock that stands where they put it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use twindex_cache::{Cache, CacheOptions, Result, Ttl};
use twindex_conformance::{Answer, CacheHost, CacheVerb, Capacity, Failure, Fallible, cache_cases};

#[test]
fn every_vector_of_caches_holds() {
    for case in cache_cases() {
        let (options, now) = (case.options, Arc::new(AtomicU64::new(1_000_000)));
        let with = match options.capacity {
            Capacity::Pairs(pairs) => CacheOptions::max_entries(pairs),
            Capacity::Bytes(bytes) => CacheOptions::capacity(bytes),
        };
        let with = options.ttl.map_or(with.clone(), |ttl| with.ttl(ttl));
        let read = Arc::clone(&now);
        let cache = Cache::new(with.clock(move || read.load(SeqCst))).unwrap();
        case.run(&mut Host { cache, now });
    }
}

struct Host {
    cache: Cache,
    now: Arc<AtomicU64>,
}

impl Host {
    fn do_step(&self, verb: CacheVerb) -> Result<Answer> {
        let cache = &self.cache;
        Ok(match verb {
            CacheVerb::Insert(key, value) => cache.insert(key, value, None)?.into(),
            CacheVerb::Replace(key, value) => cache.replace(key, value, None)?.into(),
            CacheVerb::Upsert(key, value, None) => cache.upsert(key, value)?.into(),
            CacheVerb::Upsert(key, value, Some(ttl)) => cache.upsert_for(key, value, ttl)?.into(),
            CacheVerb::Select(key) => cache.get(key).into(),
            CacheVerb::Peek(key) => cache.peek(key).into(),
            CacheVerb::Contains(key) => cache.contains(key).into(),
            CacheVerb::Delete(key) => cache.remove(key).into(),
            CacheVerb::Increment(key, by) => cache.increment(key, by)?.into(),
            CacheVerb::CompareAndSwap(key, expected, new) => {
                cache.compare_and_swap(key, expected.as_deref(), new.as_deref())?.into()
            }
            CacheVerb::Touch(key, ttl) => cache.touch(key, ttl)?.into(),
            CacheVerb::Ttl(key) => match cache.ttl(key) {
                Ttl::Absent => Answer::Nothing,
                Ttl::Forever => "ever".to_owned().into(),
                Ttl::Left(left) => (left.as_millis() as usize).into(),
            },
            CacheVerb::Len => cache.len().into(),
            CacheVerb::Iter => cache.iter().collect::<Vec<_>>().into(),
            CacheVerb::Stats => {
                let stats = cache.stats();
                let counts = [stats.hits, stats.misses, stats.writes, stats.evictions, stats.expirations];
                counts.map(|count| count as usize).to_vec().into()
            }
            CacheVerb::Clear => {
                cache.clear();
                Answer::Nothing
            }
            CacheVerb::Advance(time) => {
                self.now.fetch_add(time.as_millis() as u64, SeqCst);
                Answer::Nothing
            }
        })
    }
}

impl CacheHost for Host {
    fn run(&mut self, verb: CacheVerb) -> Fallible<Answer> {
        self.do_step(verb).map_err(|error| Failure::new(error.code(), &error))
    }
}
