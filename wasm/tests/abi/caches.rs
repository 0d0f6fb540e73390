//! Caches: what only this border has. The vectors of caches run through the npm package.

use std::time::Duration;

use twindex_conformance::{Answer, CacheVerb};

use crate::guest::{self, ALL_MEMORY, AbiError, Guest, call, take_length, take_pair, yes};

/// What stands for no time, for the time to live of the cache, and for no capacity.
const OWN: f64 = -1.0;
const NONE: u64 = u64::MAX;

/// The time of day goes on between the two.
#[test]
fn saved_cache_has_its_pairs_their_times_its_options_and_its_label() {
    let mut host = InModule::in_guest(Guest::with_memory(ALL_MEMORY), (1 << 20, NONE));
    for (key, ttl) in [("short", 100.0), ("long", 1_000.0), ("ever", f64::INFINITY)] {
        assert_eq!(host.upsert_for(key.as_bytes(), ttl), Ok(1));
    }
    call!(host.guest, cache_save, host.cache).unwrap();
    let saved = host.guest.answer_bytes().to_vec();
    host.advance(100.0);
    assert_eq!(host.load(&saved[1..], NONE).unwrap_err().code, "TWINDEX_CORRUPT");
    for (capacity, kept) in [(NONE, 1 << 20), (2 << 20, 2 << 20)] {
        host.cache = host.load(&saved, capacity).unwrap();
        call!(host.guest, cache_label, host.cache).unwrap();
        assert_eq!(host.guest.answer_bytes(), b"label");
        assert_eq!(host.figures()[2], kept);
        let mut left = |key: &[u8]| host.run(CacheVerb::Ttl(key.to_vec())).unwrap();
        assert_eq!([left(b"short"), left(b"long")], [Answer::Nothing, Answer::Int(900)]);
        assert_eq!(left(b"ever"), Answer::from(&b"ever"[..]));
    }
    call!(host.guest, cache_shrink, host.cache, 1 << 16).unwrap();
    assert!(host.figures()[1] <= 1 << 16);
    assert_eq!(call!(host.guest, cache_shrink, host.cache, 1).unwrap_err().code, "TWINDEX_CAPACITY");
}

#[test]
fn options_that_hold_nothing_and_times_that_are_none_are_errors() {
    let mut host = InModule::of_pairs();
    let is = |outcome: Result<i32, AbiError>, code: &str, mentions: &str| {
        let error = outcome.expect_err("no such figure");
        assert_eq!(error.code, format!("TWINDEX_{code}"), "{error}");
        assert!(error.text.contains(mentions), "{error}");
    };
    for (capacity, entries, mentions) in [(NONE, NONE, "needs"), (100, NONE, "65536"), (NONE, 0, "0 entries")]
    {
        let made = call!(host.guest, cache_new, capacity, entries, OWN, OWN, OWN, 0, 0, 0);
        is(made, "CAPACITY", mentions);
    }
    let times = [(f64::NAN, "RANGE", "NaN"), (-2.0, "RANGE", "-2"), (0.0, "TTL", "0"), (1e15, "TTL", "1000")];
    for (time, code, mentions) in times {
        for (ttl, idle, stale) in [(time, OWN, OWN), (OWN, time, OWN), (OWN, OWN, time)] {
            let made = call!(host.guest, cache_new, NONE, 10, ttl, idle, stale, 0, 0, 0);
            is(made, code, mentions);
        }
        is(host.upsert_for(b"key", time), code, mentions);
        assert_eq!(host.upsert_for(b"key", OWN), Ok(1));
        let [(key, k)] = host.guest.put([b"key"]);
        is(call!(host.guest, touch, host.cache, key, k, time), code, mentions);
    }
    is(call!(host.guest, set_time, -1.0), "RANGE", "-1");
    let [(key, k)] = host.guest.put([b"key"]);
    is(call!(host.guest, cache_write, host.cache, 3, key, k, key, k, OWN), "RANGE", "verb 3");
    let mut early = Guest::new();
    is(call!(early, cache_new, NONE, 10, 1000.0, OWN, OWN, 0, 0, 0), "NO_CLOCK", "twindex_set_time");
}

#[test]
fn host_hears_of_each_evicted_pair_once_and_why_it_went() {
    let mut host = InModule::of_pairs();
    host.cache = call!(host.guest, cache_new, NONE, 3, OWN, OWN, OWN, 0, 0, 1).unwrap().cast_unsigned();
    for key in 0..10_u8 {
        host.write(2, &[key], b"v", None).unwrap();
    }
    let evicted = host.evicted();
    assert!(evicted.iter().all(|(cause, _, value)| *cause == 0 && value == b"v"));
    assert_eq!((evicted.len(), host.evicted()), (7, vec![]));
    host.run(CacheVerb::Clear).unwrap();
    host.upsert_for(b"short", 10.0).unwrap();
    host.advance(1_000.0);
    host.write(2, b"short", b"again", None).unwrap();
    assert_eq!(host.evicted(), [(1, b"short".to_vec(), b"1".to_vec())]);
}

#[test]
fn stale_value_is_shown_to_the_host_that_asks_for_it() {
    let mut host = InModule::of_pairs();
    host.cache = call!(host.guest, cache_new, NONE, 3, 10.0, OWN, 100.0, 0, 0, 0).unwrap().cast_unsigned();
    host.write(2, b"k", b"old", None).unwrap();
    host.advance(20.0);
    for (stale, shown) in [(0, 0), (1, 1)] {
        let [(key, k)] = host.guest.put([b"k"]);
        assert_eq!(call!(host.guest, cache_peek, host.cache, key, k, stale), Ok(shown));
    }
    assert_eq!(host.guest.answer_bytes(), b"old");
}

#[test]
fn closed_cache_closes_its_iterators_and_nothing_else() {
    let mut host = InModule::of_pairs();
    host.write(2, b"k", b"v", None).unwrap();
    let (other, iterator) = (host.cache, host.guest.open_iter(host.cache).unwrap());
    host.cache = InModule::open(&mut host.guest, (NONE, 1), OWN).unwrap();
    host.guest.close(other).unwrap();
    assert_eq!(host.guest.iter_next_many(iterator, 1).unwrap_err().code, "TWINDEX_CLOSED");
    assert_eq!(host.guest.select(other, b"k").unwrap_err().code, "TWINDEX_CLOSED");
    assert_eq!(host.write(2, b"k", b"v", None), Ok(true));
    assert_eq!(host.guest.table(host.cache, b"t", "hash").unwrap_err().code, "TWINDEX_TYPE");
}

/// A cache that may become larger than the host lets it be.
#[test]
fn memory_that_is_refused_is_an_error_or_evicts_and_never_a_trap() {
    const MIB: usize = 1 << 20;
    for value_bytes in [8, 1000, 100_000, 500_000] {
        let mut host = InModule::in_guest(Guest::with_memory(10 * MIB), (1 << 30, NONE));
        let value = vec![b'v'; value_bytes];
        host.guest.put([&value, &value, &value]); // makes room for arguments
        let writes = (14 * MIB / (value_bytes + 40)).max(10) as u32;
        let mut last = None;
        for number in 0..writes {
            match host.write(2, &number.to_be_bytes(), &value, None) {
                Ok(is_kept) => last = is_kept.then_some(number.to_be_bytes()).or(last),
                Err(error) => assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}"),
            }
        }
        let key = last.expect("one is kept").to_vec();
        let new = vec![b'w'; value_bytes];
        for verb in [
            CacheVerb::Touch(key.clone(), Some(Duration::from_secs(1))),
            CacheVerb::Peek(key.clone()),
            CacheVerb::Iter,
            CacheVerb::CompareAndSwap(key, Some(value), Some(new)),
            CacheVerb::Increment(b"n".to_vec(), 1),
        ] {
            is_short_of_memory(host.run(verb));
        }
        is_short_of_memory(call!(host.guest, cache_save, host.cache));
        is_short_of_memory(host.guest.store_new(None));
        is_short_of_memory(InModule::open(&mut host.guest, (NONE, 5), OWN));
        host.run(CacheVerb::Clear).unwrap();
        assert_eq!(host.write(2, b"again", b"v", None), Ok(true), "{value_bytes}: {:?}", host.figures());
        assert_eq!(host.guest.select(host.cache, b"again").unwrap().unwrap(), b"v");
    }
}

/// It may also have been done.
fn is_short_of_memory<T>(outcome: guest::Fallible<T>) {
    if let Err(error) = outcome {
        assert!(["TWINDEX_MEMORY_LIMIT", "TWINDEX_NO_ROOM"].contains(&error.code.as_str()), "{error}");
    }
}

/// A cache in an instance.
struct InModule {
    guest: Guest,
    cache: u32,
    now: f64,
}

impl InModule {
    fn in_guest(guest: Guest, bounds: (u64, u64)) -> Self {
        let mut host = Self { guest, cache: 0, now: 1_000_000.0 };
        host.advance(0.0);
        host.cache = Self::open(&mut host.guest, bounds, OWN).expect("a cache");
        host
    }

    fn of_pairs() -> Self {
        Self::in_guest(Guest::with_memory(ALL_MEMORY), (NONE, 100))
    }

    fn open(guest: &mut Guest, (capacity, entries): (u64, u64), ttl: f64) -> guest::Fallible<u32> {
        let [(label, l)] = guest.put([b"label"]);
        call!(guest, cache_new, capacity, entries, ttl, OWN, OWN, label, l, 0).map(i32::cast_unsigned)
    }

    fn load(&mut self, saved: &[u8], capacity: u64) -> guest::Fallible<u32> {
        let [(saved, s)] = self.guest.put([saved]);
        call!(self.guest, cache_load, saved, s, capacity, NONE, OWN, OWN, OWN, 0).map(i32::cast_unsigned)
    }

    fn advance(&mut self, millis: f64) {
        self.now += millis;
        assert_eq!(call!(self.guest, set_time, self.now), Ok(0));
    }

    fn upsert_for(&mut self, key: &[u8], ttl: f64) -> guest::Fallible<i32> {
        let [(key, k), (value, v)] = self.guest.put([key, b"1"]);
        call!(self.guest, cache_write, self.cache, 2, key, k, value, v, ttl)
    }

    fn figures(&mut self) -> Vec<i64> {
        call!(self.guest, cache_stats, self.cache).expect("the cache is open");
        self.guest
            .answer_bytes()
            .as_chunks::<8>()
            .0
            .iter()
            .map(|figure| i64::from_le_bytes(*figure))
            .collect()
    }

    /// What was evicted: causes, keys and values.
    fn evicted(&mut self) -> Vec<(u32, Vec<u8>, Vec<u8>)> {
        call!(self.guest, cache_evicted, self.cache).expect("the cache is open");
        let (mut rest, mut evicted) = (self.guest.answer_bytes(), Vec::new());
        while !rest.is_empty() {
            let cause = take_length(&mut rest);
            let (key, value) = take_pair(&mut rest);
            evicted.push((cause, key.to_vec(), value.to_vec()));
        }
        evicted
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
            CacheVerb::Peek(key) => {
                let [(key, k)] = guest.put([&key]);
                let is_there = yes(call!(guest, cache_peek, cache, key, k, 0)?);
                is_there.then(|| guest.answer_bytes()).into()
            }
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
                yes(call!(guest, touch, cache, key, k, figure(ttl))?).into()
            }
            CacheVerb::Ttl(key) => {
                let [(key, k)] = guest.put([&key]);
                match call!(guest, ttl, cache, key, k)? {
                    0 => Answer::Nothing,
                    _ if guest.answer_number() < 0 => Answer::from(&b"ever"[..]),
                    _ => guest.answer_number().into(),
                }
            }
            CacheVerb::Iter => guest.iterate(cache, 2)?.into(),
            CacheVerb::Clear => call!(guest, clear, cache).map(|_| Answer::Nothing)?,
            other => unreachable!("{other:?} is a verb of the vectors alone"),
        })
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
