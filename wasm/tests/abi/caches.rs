//! Caches: what only this border has. The vectors of caches run through the npm package.

use crate::guest::{AbiError, Fallible, Guest, call, take_length, take_pair};

/// What stands for no time, for the time to live of the cache, and for no capacity.
const OWN: f64 = -1.0;
const NONE: u64 = u64::MAX;

/// The time of day goes on between the two.
#[test]
fn saved_cache_has_its_pairs_their_times_its_options_and_its_label() {
    let mut host = InModule::in_guest(Guest::new(), (1 << 20, NONE));
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
        for (key, left) in [("short", None), ("long", Some(900)), ("ever", Some(-1))] {
            let is_there = call!(host.guest, ttl, host.cache, key).unwrap() == 1;
            assert_eq!(is_there.then(|| host.guest.answer_number()), left, "{key}");
        }
    }
    call!(host.guest, cache_shrink, host.cache, 1_u64 << 16).unwrap();
    assert!(host.figures()[1] <= 1 << 16);
    assert_eq!(call!(host.guest, cache_shrink, host.cache, 1_u64).unwrap_err().code, "TWINDEX_CAPACITY");
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
        let made = call!(host.guest, cache_new, capacity, entries, OWN, OWN, OWN, b"", 0);
        is(made, "CAPACITY", mentions);
    }
    let times = [(f64::NAN, "RANGE", "NaN"), (-2.0, "RANGE", "-2"), (0.0, "TTL", "0"), (1e15, "TTL", "1000")];
    for (time, code, mentions) in times {
        for (ttl, idle, stale) in [(time, OWN, OWN), (OWN, time, OWN), (OWN, OWN, time)] {
            let made = call!(host.guest, cache_new, NONE, 10_u64, ttl, idle, stale, b"", 0);
            is(made, code, mentions);
        }
        is(host.upsert_for(b"key", time), code, mentions);
        assert_eq!(host.upsert_for(b"key", OWN), Ok(1));
        is(call!(host.guest, touch, host.cache, b"key", time), code, mentions);
    }
    is(call!(host.guest, set_time, -1.0), "RANGE", "-1");
    is(call!(host.guest, cache_write, host.cache, 3, b"key", b"key", OWN), "RANGE", "verb 3");
    let mut early = Guest::new();
    is(call!(early, cache_new, NONE, 10_u64, 1000.0, OWN, OWN, b"", 0), "NO_CLOCK", "twindex_set_time");
}

#[test]
fn host_hears_of_each_evicted_pair_once_and_why_it_went() {
    let mut host = InModule::of_pairs();
    host.cache = call!(host.guest, cache_new, NONE, 3_u64, OWN, OWN, OWN, b"", 1).unwrap().cast_unsigned();
    for key in 0..10_u8 {
        host.upsert(&[key], b"v").unwrap();
    }
    let evicted = host.evicted();
    assert!(evicted.iter().all(|(cause, _, value)| *cause == 0 && value == b"v"));
    assert_eq!((evicted.len(), host.evicted()), (7, vec![]));
    call!(host.guest, clear, host.cache).unwrap();
    host.upsert_for(b"short", 10.0).unwrap();
    host.advance(1_000.0);
    host.upsert(b"short", b"again").unwrap();
    assert_eq!(host.evicted(), [(1, b"short".to_vec(), b"1".to_vec())]);
}

#[test]
fn stale_value_is_shown_to_the_host_that_asks_for_it() {
    let mut host = InModule::of_pairs();
    host.cache = call!(host.guest, cache_new, NONE, 3_u64, 10.0, OWN, 100.0, b"", 0).unwrap().cast_unsigned();
    host.upsert(b"k", b"old").unwrap();
    host.advance(20.0);
    for (stale, shown) in [(0, 0), (1, 1)] {
        assert_eq!(call!(host.guest, cache_peek, host.cache, b"k", stale), Ok(shown));
    }
    assert_eq!(host.guest.answer_bytes(), b"old");
}

#[test]
fn closed_cache_closes_its_iterators_and_nothing_else() {
    let mut host = InModule::of_pairs();
    host.upsert(b"k", b"v").unwrap();
    let (other, iterator) = (host.cache, host.guest.open_iter(host.cache).unwrap());
    host.cache = InModule::open(&mut host.guest, (NONE, 1), OWN).unwrap();
    host.guest.close(other).unwrap();
    assert_eq!(host.guest.iter_next_many(iterator, 1).unwrap_err().code, "TWINDEX_CLOSED");
    assert_eq!(host.guest.select(other, b"k").unwrap_err().code, "TWINDEX_CLOSED");
    assert_eq!(host.upsert(b"k", b"v"), Ok(1));
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
            match host.upsert(&number.to_be_bytes(), &value) {
                Ok(kept) => last = (kept == 1).then_some(number.to_be_bytes()).or(last),
                Err(error) => assert_eq!(error.code, "TWINDEX_MEMORY_LIMIT", "{error}"),
            }
        }
        let key = &last.expect("one is kept");
        let (expected, new) = (Some(&value[..]), vec![b'w'; value_bytes]);
        is_short_of_memory(call!(host.guest, touch, host.cache, key, 1000.0));
        is_short_of_memory(call!(host.guest, cache_peek, host.cache, key, 0));
        is_short_of_memory(host.guest.iterate(host.cache, 2));
        is_short_of_memory(call!(host.guest, compare_and_swap, host.cache, key, expected, &new));
        is_short_of_memory(call!(host.guest, increment, host.cache, b"n", 1_i64));
        is_short_of_memory(call!(host.guest, cache_save, host.cache));
        is_short_of_memory(host.guest.store_new(None));
        is_short_of_memory(InModule::open(&mut host.guest, (NONE, 5), OWN));
        call!(host.guest, clear, host.cache).unwrap();
        assert_eq!(host.upsert(b"again", b"v"), Ok(1), "{value_bytes}: {:?}", host.figures());
        assert_eq!(host.guest.select(host.cache, b"again").unwrap().unwrap(), b"v");
    }
}

/// It may also have been done.
fn is_short_of_memory<T>(outcome: Fallible<T>) {
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
        Self::in_guest(Guest::new(), (NONE, 100))
    }

    fn open(guest: &mut Guest, (capacity, entries): (u64, u64), ttl: f64) -> Fallible<u32> {
        call!(guest, cache_new, capacity, entries, ttl, OWN, OWN, b"label", 0).map(i32::cast_unsigned)
    }

    fn load(&mut self, saved: &[u8], capacity: u64) -> Fallible<u32> {
        call!(self.guest, cache_load, saved, capacity, NONE, OWN, OWN, OWN, 0).map(i32::cast_unsigned)
    }

    fn advance(&mut self, millis: f64) {
        self.now += millis;
        assert_eq!(call!(self.guest, set_time, self.now), Ok(0));
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Fallible<i32> {
        call!(self.guest, upsert, self.cache, key, value)
    }

    fn upsert_for(&mut self, key: &[u8], ttl: f64) -> Fallible<i32> {
        call!(self.guest, cache_write, self.cache, 2, key, b"1", ttl)
    }

    fn figures(&mut self) -> Vec<i64> {
        call!(self.guest, cache_stats, self.cache).expect("the cache is open");
        self.guest.answered_figures()
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
}
