//! The vectors of caches, with a clock that stands where they put it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Result, Ttl};
use twindex_conformance::{
    Answer, CacheHost, CacheVerb, Capacity, ExpiringVerb, Failure, Fallible, Verb, cache_cases,
};

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
            CacheVerb::Shared(ExpiringVerb::Shared(verb, ttl)) => return self.do_verb(verb, ttl),
            CacheVerb::Shared(ExpiringVerb::Touch(key, ttl)) => cache.touch(key, ttl)?.into(),
            CacheVerb::Shared(ExpiringVerb::Ttl(key)) => match cache.ttl(key) {
                Ttl::Absent => Answer::Nothing,
                Ttl::Forever => "ever".to_owned().into(),
                Ttl::Left(left) => (left.as_millis() as usize).into(),
            },
            CacheVerb::Peek(key) => cache.peek(key).into(),
            CacheVerb::Stats => {
                let stats = cache.stats();
                let counts = [stats.hits, stats.misses, stats.writes, stats.evictions, stats.expirations];
                counts.map(|count| count as usize).to_vec().into()
            }
            CacheVerb::Advance(time) => {
                self.now.fetch_add(time.as_millis() as u64, SeqCst);
                Answer::Nothing
            }
            CacheVerb::Shared(other) => unreachable!("a cache has no {other:?}"),
        })
    }

    fn do_verb(&self, verb: Verb, ttl: Option<Duration>) -> Result<Answer> {
        let cache = &self.cache;
        Ok(match verb {
            Verb::Insert(key, value) => cache.insert(key, value, ttl)?.into(),
            Verb::Replace(key, value) => cache.replace(key, value, ttl)?.into(),
            Verb::Upsert(key, value) => match ttl {
                None => cache.upsert(key, value)?.into(),
                Some(ttl) => cache.upsert_for(key, value, ttl)?.into(),
            },
            Verb::Select(key) => cache.get(key).into(),
            Verb::Contains(key) => cache.contains(key).into(),
            Verb::Delete(key) => cache.remove(key).into(),
            Verb::Increment(key, by) => cache.increment(key, by)?.into(),
            Verb::CompareAndSwap(key, expected, new) => {
                cache.compare_and_swap(key, expected.as_deref(), new.as_deref())?.into()
            }
            Verb::Len => cache.len().into(),
            Verb::Iter => cache.iter().collect::<Vec<_>>().into(),
            Verb::Clear => {
                cache.clear();
                Answer::Nothing
            }
            other => unreachable!("a cache has no {other:?}"),
        })
    }
}

impl CacheHost for Host {
    fn run(&mut self, verb: CacheVerb) -> Fallible<Answer> {
        self.do_step(verb).map_err(|error| Failure::new(error.code(), &error))
    }
}
