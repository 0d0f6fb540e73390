//! Times to live, with a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Cause, Error, MAX_TTL, Ttl};

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn with_clock(options: CacheOptions) -> (Cache, impl Fn(i64)) {
    let now = Arc::new(AtomicU64::new(1 << 40));
    let clock = Arc::clone(&now);
    let cache = Cache::new(options.clock(move || clock.load(SeqCst))).unwrap();
    (cache, move |by: i64| now.store(now.load(SeqCst).wrapping_add_signed(by), SeqCst))
}

const YEAR: i64 = 365 * 24 * 3600 * 1000;

#[test]
fn pair_lives_for_the_time_that_its_write_names_or_the_cache_or_for_ever() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20).ttl(seconds(10)));
    cache.insert("ten", "").unwrap();
    cache.insert_for("two", "", seconds(2)).unwrap();
    cache.insert("ever", "").unwrap();
    assert!(cache.touch("ever", None).unwrap());
    assert!(!cache.touch("absent", None).unwrap());
    assert_eq!(cache.ttl("ten"), Ttl::Left(seconds(10)));
    assert_eq!((cache.ttl("ever"), cache.ttl("absent")), (Ttl::Forever, Ttl::Absent));
    pass(1999);
    assert!(cache.contains("two"));
    pass(1);
    assert!(!cache.contains("two") && cache.get("two").is_none() && cache.ttl("two") == Ttl::Absent);
    assert!(!cache.touch("two", Some(seconds(9))).unwrap(), "what has expired is not touched back to life");
    assert_eq!(cache.increment("n", 5).unwrap(), 5);
    pass(5000);
    assert_eq!(cache.increment("n", 1).unwrap(), 6);
    assert_eq!(cache.ttl("n"), Ttl::Left(seconds(5)), "a change keeps the deadline");
    pass(3 * YEAR);
    assert_eq!(cache.iter().map(|(key, _)| key).collect::<Vec<_>>(), [b"ever"]);
}

#[test]
fn time_to_live_out_of_range_is_an_error() {
    let (cache, _) = with_clock(CacheOptions::capacity(1 << 20));
    for wrong in [Duration::ZERO, MAX_TTL + Duration::from_nanos(1), Duration::MAX] {
        assert!(matches!(cache.insert_for("k", "v", wrong), Err(Error::Ttl { given }) if given == wrong));
        assert!(matches!(cache.insert_many_for(&[("k", "v")], wrong), Err(Error::Ttl { .. })));
        assert!(matches!(cache.touch("k", Some(wrong)), Err(Error::Ttl { .. })));
        let options = CacheOptions::capacity(1 << 20);
        for options in
            [options.clone().ttl(wrong), options.clone().time_to_idle(wrong), options.stale_for(wrong)]
        {
            assert!(matches!(Cache::new(options), Err(Error::Ttl { .. })));
        }
    }
    assert!(cache.insert_for("k", "v", Duration::from_nanos(1)).unwrap());
    assert!(cache.insert_for("k", "v", MAX_TTL).unwrap() && cache.contains("k"));
}

#[test]
fn expired_pair_stays_away_and_new_ones_expire_when_the_clock_jumps() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20));
    for jump in [2000, 3 * YEAR, 50 * YEAR] {
        cache.insert_for("k", "v", seconds(1)).unwrap();
        pass(jump);
        assert!(!cache.contains("k"));
        pass(-jump);
        assert!(!cache.contains("k"), "it came back when the clock went back");
        cache.insert_for("new", "v", seconds(5)).unwrap();
        assert!(cache.contains("new"));
        pass(6000);
        assert!(!cache.contains("new"), "time stands still after the clock went back");
    }
}

#[test]
fn memory_of_expired_pairs_returns_within_two_seconds_in_small_steps() {
    let (cache, pass) = with_clock(CacheOptions::capacity(64 << 20));
    for number in 0..100_000_u32 {
        cache.insert_for(number.to_le_bytes(), [0; 100], seconds(60)).unwrap();
    }
    // A tiny bucket now and then has no slot for a pair.
    let pairs = cache.len();
    assert!(pairs == 100_000 || cfg!(twindex_tiny) && pairs > 99_000);
    pass(61_000);
    // A miss is enough to begin with. Each of 200 operations removes some.
    let mut largest = 0;
    for _ in 0..400 {
        let before = cache.len();
        cache.remove("absent");
        largest = largest.max(before - cache.len());
        pass(5);
    }
    assert_eq!(cache.len(), 0);
    assert!(largest <= 2000, "one operation removed {largest} pairs");
    let stats = cache.stats();
    assert!(stats.memory < 5 << 20 && stats.expirations == pairs as u64, "{stats:?}");
}

#[test]
fn idle_pair_expires_and_a_used_one_does_not() {
    let (cache, pass) =
        with_clock(CacheOptions::capacity(1 << 20).time_to_idle(seconds(60)).ttl(seconds(600)));
    cache.insert("used", "").unwrap();
    cache.insert("idle", "").unwrap();
    for _ in 0..3 {
        pass(40_000);
        assert!(cache.get("used").is_some());
        cache.peek("idle");
    }
    assert!(!cache.contains("idle") && cache.contains("used"));
    pass(500_000);
    assert!(!cache.contains("used"));
}

#[test]
fn listener_is_told_why_a_pair_is_gone() {
    let (expired, evicted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (one, other) = (Arc::clone(&expired), Arc::clone(&evicted));
    let (cache, pass) = with_clock(CacheOptions::max_entries(100).eviction_listener(move |_, _, cause| {
        let count = if cause == Cause::Expired { &one } else { &other };
        count.fetch_add(1, SeqCst);
    }));
    for number in 0..150_u8 {
        cache.insert_for([number], "", seconds(1)).unwrap();
    }
    let gone = evicted.load(SeqCst);
    assert_eq!(gone, 150 - cache.len() as u64);
    pass(3000);
    (0..100).for_each(|_| _ = cache.remove("absent"));
    assert_eq!((cache.len(), evicted.load(SeqCst), expired.load(SeqCst)), (0, gone, 150 - gone));
}

#[test]
fn stale_value_is_returned_while_one_caller_computes() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20).ttl(seconds(10)).stale_for(seconds(20)));
    cache.insert("k", "old").unwrap();
    pass(11_000);
    assert!(cache.get("k").is_none() && !cache.contains("k"));
    let computed = cache.get_or_compute("k", || {
        let stale = cache.get_or_compute("k", || -> Result<&str, ()> { unreachable!("one is enough") });
        assert_eq!(stale.unwrap(), b"old");
        Ok::<_, ()>("new")
    });
    assert_eq!(computed.unwrap(), b"new");
    assert_eq!(cache.get("k").unwrap(), b"new");
    pass(31_000);
    assert_eq!(cache.get_or_compute("k", || Ok::<_, ()>("newer")).unwrap(), b"newer");
}

#[test]
fn system_clock_needs_no_setting() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    cache.insert_for("k", "v", Duration::from_millis(20)).unwrap();
    cache.insert_for("long", "v", seconds(100)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!cache.contains("k") && cache.contains("long"));
}
