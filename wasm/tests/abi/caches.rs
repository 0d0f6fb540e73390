//! Caches: the vectors of all hosts, with a clock that stands where they put it, and what only this border has.

use std::time::Duration;

use twindex_conformance::{Answer, CacheHost, CacheOptions, CacheVerb, Capacity, Fallible, cache_cases};

use crate::guest::{self, AbiError, Guest, call, yes};

/// What stands for the time to live of the cache.
const OWN: f64 = -1.0;

#[test]
fn every_vector_of_caches_holds() {
    for case in cache_cases() {
        case.run(&mut InModule::new(case.options));
    }
}

/// The time of day goes on between the two, and the pair that it expires with is gone.
#[test]
fn a_cache_comes_back_from_its_bytes() {
    let mut host = InModule::of_pairs();
    for (key, ttl) in [("short", 100.0), ("long", 1_000.0), ("ever", f64::INFINITY)] {
        assert_eq!(host.upsert_for(key.as_bytes(), ttl), Ok(1));
    }
    call!(host.guest, cache_dump, host.cache).unwrap();
    let dump = host.guest.answer_bytes().to_vec();
    host.advance(100.0);
    assert_eq!(host.load(&dump).unwrap_err().code, "TWINDEX_NAME_IN_USE");
    host.store = host.guest.store_new(None).unwrap();
    assert_eq!(host.load(&dump[1..]).unwrap_err().code, "TWINDEX_CORRUPT");
    host.cache = host.load(&dump).unwrap();
    let mut left = |key: &[u8]| host.run(CacheVerb::Ttl(key.to_vec())).unwrap();
    assert_eq!([left(b"short"), left(b"long")], [Answer::Nothing, Answer::Int(900)]);
    assert_eq!(left(b"ever"), Answer::from(&b"ever"[..]));
}

#[test]
fn figures_that_are_no_sizes_and_no_times_are_errors() {
    let mut host = InModule::of_pairs();
    let is_range = |outcome: Result<i32, AbiError>, mentions: &str| {
        let error = outcome.expect_err("no such figure");
        assert_eq!(error.code, "TWINDEX_RANGE", "{error}");
        assert!(error.text.contains(mentions), "{error}");
    };
    for (figure, mentions) in [(f64::NAN, "NaN"), (-2.0, "-2"), (f64::NEG_INFINITY, "-9")] {
        for (pairs, bytes, ttl) in [(figure, 0.0, OWN), (0.0, figure, OWN), (1.0, 0.0, figure)] {
            is_range(host.open(pairs, bytes, ttl).map(u32::cast_signed), mentions);
        }
        is_range(host.upsert_for(b"key", figure), mentions);
        let [(key, k)] = host.guest.put([b"key"]);
        is_range(call!(host.guest, cache_touch, host.cache, key, k, figure), mentions);
        is_range(call!(host.guest, set_time, figure), mentions);
    }
    let [(key, k)] = host.guest.put([b"key"]);
    is_range(call!(host.guest, cache_write, host.cache, 3, key, k, key, k, OWN), "verb 3");
}

/// A pair that was to live for 2^64 - 1201 milliseconds answered with -1201.
#[test]
fn a_long_life_is_never_told_as_a_negative_number() {
    let mut host = InModule::of_pairs();
    for life in [9e18, 1.8e19, 1.844_674_407_370_955e19] {
        assert_eq!(host.upsert_for(b"k", life), Ok(1));
        let left = host.run(CacheVerb::Ttl(b"k".to_vec())).unwrap();
        let is_long = matches!(left, Answer::Int(left) if left > 1 << 60);
        assert!(is_long || left == Answer::from(&b"ever"[..]), "{left:?}");
    }
}

/// A cache in an instance.
struct InModule {
    guest: Guest,
    store: u32,
    cache: u32,
    now: f64,
}

impl InModule {
    fn new(options: CacheOptions) -> Self {
        let mut guest = Guest::new();
        let store = guest.store_new(None).expect("a store");
        let mut host = Self { guest, store, cache: 0, now: 1_000_000.0 };
        host.advance(0.0);
        assert_eq!(host.open(0.0, 0.0, OWN).expect("no error"), 0, "there is no cache yet");
        let (pairs, bytes) = match options.capacity {
            Capacity::Pairs(pairs) => (f64::from(pairs as u32), 0.0),
            Capacity::Bytes(bytes) => (0.0, f64::from(bytes as u32)),
        };
        host.cache = host.open(pairs, bytes, figure(options.ttl)).expect("a cache");
        let again = host.open(0.0, 0.0, OWN).expect("it is there");
        assert!(again > 0 && again != host.cache);
        host.guest.close(again).expect("a handle of its own");
        host
    }

    fn of_pairs() -> Self {
        Self::new(CacheOptions { capacity: Capacity::Pairs(100), ttl: None })
    }

    fn open(&mut self, pairs: f64, bytes: f64, ttl: f64) -> guest::Fallible<u32> {
        let [(name, n)] = self.guest.put([b"c"]);
        call!(self.guest, cache, self.store, name, n, 0, 0, 0, 0, pairs, bytes, ttl).map(i32::cast_unsigned)
    }

    fn load(&mut self, dump: &[u8]) -> guest::Fallible<u32> {
        let [(name, n), (dump, d)] = self.guest.put([b"c", dump]);
        call!(self.guest, cache_load, self.store, name, n, dump, d, 0.0, 0.0, OWN).map(i32::cast_unsigned)
    }

    fn advance(&mut self, millis: f64) {
        self.now += millis;
        assert_eq!(call!(self.guest, set_time, self.now), Ok(0));
    }

    fn upsert_for(&mut self, key: &[u8], ttl: f64) -> guest::Fallible<i32> {
        let [(key, k), (value, v)] = self.guest.put([key, b"1"]);
        call!(self.guest, cache_write, self.cache, 2, key, k, value, v, ttl)
    }

    /// One of the verbs 0 to 2, insert, replace and upsert.
    fn write(&mut self, verb: u32, key: &[u8], value: &[u8], ttl: Option<Duration>) -> guest::Fallible<bool> {
        let [(key, k), (value, v)] = self.guest.put([key, value]);
        let (guest, cache) = (&mut self.guest, self.cache);
        let status = match (verb, ttl) {
            (_, Some(_)) => call!(guest, cache_write, cache, verb, key, k, value, v, figure(ttl)),
            (0, None) => call!(guest, insert, cache, key, k, value, v),
            (1, None) => call!(guest, replace, cache, key, k, value, v),
            (_, None) => call!(guest, upsert, cache, key, k, value, v),
        };
        status.map(yes)
    }

    fn run(&mut self, verb: CacheVerb) -> guest::Fallible<Answer> {
        let cache = self.cache;
        let guest = &mut self.guest;
        Ok(match verb {
            CacheVerb::Insert(key, value) => self.write(0, &key, &value, None)?.into(),
            CacheVerb::Replace(key, value) => self.write(1, &key, &value, None)?.into(),
            CacheVerb::Upsert(key, value, ttl) => self.write(2, &key, &value, ttl)?.into(),
            CacheVerb::Select(key) => guest.select(cache, &key)?.into(),
            CacheVerb::Peek(key) => {
                let [(key, k)] = guest.put([&key]);
                let is_there = yes(call!(guest, cache_peek, cache, key, k)?);
                is_there.then(|| guest.answer_bytes()).into()
            }
            CacheVerb::Contains(key) => {
                let [(key, k)] = guest.put([&key]);
                yes(call!(guest, contains, cache, key, k)?).into()
            }
            CacheVerb::Delete(key) => guest.delete(cache, &key)?.into(),
            CacheVerb::Increment(key, by) => {
                let [(key, k)] = guest.put([&key]);
                call!(guest, increment, cache, key, k, by)?;
                guest.answer_number().into()
            }
            CacheVerb::CompareAndSwap(key, expected, new) => {
                guest.compare_and_swap(cache, &key, expected.as_deref(), new.as_deref())?.into()
            }
            CacheVerb::Touch(key, ttl) => {
                let [(key, k)] = guest.put([&key]);
                yes(call!(guest, cache_touch, cache, key, k, figure(ttl))?).into()
            }
            CacheVerb::Ttl(key) => {
                let [(key, k)] = guest.put([&key]);
                match call!(guest, cache_ttl, cache, key, k)? {
                    0 => Answer::Nothing,
                    _ if guest.answer_number() < 0 => Answer::from(&b"ever"[..]),
                    _ => guest.answer_number().into(),
                }
            }
            CacheVerb::Len => guest.len(cache)?.into(),
            CacheVerb::Iter => guest.iterate(cache, 2)?.into(),
            CacheVerb::Stats => {
                call!(guest, cache_figures, cache)?;
                let figures = guest.answer_bytes().as_chunks::<8>().0;
                figures[5..10].iter().map(|figure| i64::from_le_bytes(*figure)).collect::<Vec<_>>().into()
            }
            CacheVerb::Clear => call!(guest, clear, cache).map(|_| Answer::Nothing)?,
            CacheVerb::Advance(time) => {
                self.advance(time.as_secs_f64() * 1000.0);
                Answer::Nothing
            }
        })
    }
}

impl CacheHost for InModule {
    fn run(&mut self, verb: CacheVerb) -> Fallible<Answer> {
        Ok(self.run(verb)?)
    }
}

/// A time to live as the module takes it.
fn figure(ttl: Option<Duration>) -> f64 {
    match ttl {
        None => OWN,
        Some(Duration::MAX) => f64::INFINITY,
        Some(ttl) => ttl.as_secs_f64() * 1000.0,
    }
}
