//! Times to live, with a clock that the test sets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use twindex_cache::{Begun, Cache, CacheOptions, Cause, Change, Error, Leader, MAX_TTL, MIN_CAPACITY, Ttl};

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
    cache.upsert("ten", "").unwrap();
    cache.upsert_for("two", "", seconds(2)).unwrap();
    cache.upsert("ever", "").unwrap();
    assert!(cache.touch("ever", Some(Duration::MAX)).unwrap());
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
    for wrong in [Duration::ZERO, MAX_TTL + Duration::from_nanos(1)] {
        assert!(matches!(cache.upsert_for("k", "v", wrong), Err(Error::Ttl { given }) if given == wrong));
        assert!(matches!(cache.upsert_many(&[("k", "v")], Some(wrong)), Err(Error::Ttl { .. })));
        assert!(matches!(cache.touch("k", Some(wrong)), Err(Error::Ttl { .. })));
        let options = CacheOptions::capacity(1 << 20);
        for options in
            [options.clone().ttl(wrong), options.clone().time_to_idle(wrong), options.stale_for(wrong)]
        {
            assert!(matches!(Cache::new(options), Err(Error::Ttl { .. })));
        }
    }
    assert!(cache.upsert_for("k", "v", Duration::from_nanos(1)).unwrap());
    assert!(cache.upsert_for("k", "v", MAX_TTL).unwrap() && cache.contains("k"));
}

#[test]
fn each_write_takes_the_cache_s_time_to_live_another_one_or_none() {
    type Write = fn(&Cache, Option<Duration>);
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20).ttl(seconds(10)));
    let writes: [Write; 6] = [
        |cache, ttl| _ = cache.upsert_many(&[("k", "v")], ttl).unwrap(),
        |cache, ttl| assert!(cache.replace("k", "v", ttl).unwrap()),
        |cache, ttl| assert!(cache.touch("k", ttl).unwrap()),
        |cache, ttl| assert!(cache.alter("k", |_| Change::SetFor(b"v".to_vec(), ttl)).unwrap()),
        |cache, ttl| {
            assert_eq!(cache.take("k"), Some(b"v".to_vec()));
            assert!(cache.insert("k", "v", ttl).unwrap());
        },
        |cache, ttl| {
            cache.remove("k");
            let Begun::Lead(lead) = cache.begin("k", Leader::Task).unwrap() else { panic!("it is absent") };
            assert!(lead.end("v", ttl).unwrap());
        },
    ];
    for write in writes {
        let lives = [None, Some(Duration::MAX), Some(seconds(3))];
        for (ttl, expected) in lives.into_iter().zip([10, u64::MAX, 3]) {
            write(&cache, ttl);
            pass(1);
            let left = match cache.ttl("k") {
                Ttl::Absent => 0,
                Ttl::Forever => u64::MAX,
                Ttl::Left(left) => left.as_millis() as u64 / 1000 + 1,
            };
            assert_eq!(left, expected, "{ttl:?}");
        }
    }
}

#[test]
fn insert_and_replace_leave_what_they_do_not_write() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20));
    assert!(!cache.replace("k", "none", None).unwrap() && cache.take("k").is_none());
    assert!(cache.insert("k", "first", Some(seconds(5))).unwrap());
    assert!(!cache.insert("k", "second", None).unwrap());
    assert_eq!((cache.get("k"), cache.ttl("k")), (Some(b"first".to_vec()), Ttl::Left(seconds(5))));
    assert!(cache.replace("k", "third", Some(seconds(6))).unwrap());
    assert!(cache.replace("k", vec![0; 2 << 20], None).unwrap_err().code() == "TWINDEX_NO_ROOM");
    assert_eq!(cache.get("k"), Some(b"third".to_vec()), "a write that fails changes nothing");
    pass(6000);
    assert!(!cache.replace("k", "fourth", None).unwrap() && cache.take("k").is_none());
    assert!(cache.insert("k", "fifth", None).unwrap());
    assert_eq!((cache.take("k"), cache.len()), (Some(b"fifth".to_vec()), 0));
}

#[test]
fn expired_pair_stays_away_and_new_ones_expire_when_the_clock_jumps() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20));
    for jump in [2000, 3 * YEAR, 50 * YEAR] {
        cache.upsert_for("k", "v", seconds(1)).unwrap();
        pass(jump);
        assert!(!cache.contains("k"));
        pass(-jump);
        assert!(!cache.contains("k"), "it came back when the clock went back");
        cache.upsert_for("new", "v", seconds(5)).unwrap();
        assert!(cache.contains("new"));
        pass(6000);
        assert!(!cache.contains("new"), "time stands still after the clock went back");
    }
}

#[test]
fn memory_of_expired_pairs_returns_within_two_seconds_in_small_steps() {
    let (cache, pass) = with_clock(CacheOptions::capacity(64 << 20));
    for number in 0..100_000_u32 {
        cache.upsert_for(number.to_le_bytes(), [0; 100], seconds(60)).unwrap();
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
    assert!(largest <= 1000, "one operation removed {largest} pairs");
    // The index shrinks by a few pages with each operation, of which tiny constants make many small ones.
    if cfg!(twindex_tiny) {
        for _ in 0..1600 {
            cache.remove("absent");
            pass(5);
        }
    }
    let stats = cache.stats();
    // When a tiny block is rebuilt, a pair may find no slot.
    let all = pairs as u64 - if cfg!(twindex_tiny) { 10 } else { 0 };
    assert!(stats.memory < 5 << 20 && (all..=pairs as u64).contains(&stats.expirations), "{stats:?}");
}

#[test]
fn idle_pair_expires_and_a_used_one_does_not() {
    let (cache, pass) =
        with_clock(CacheOptions::capacity(1 << 20).time_to_idle(seconds(60)).ttl(seconds(600)));
    cache.upsert("used", "").unwrap();
    cache.upsert("idle", "").unwrap();
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
fn stale_value_is_returned_while_one_caller_computes() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20).ttl(seconds(10)).stale_for(seconds(20)));
    cache.upsert("k", "old").unwrap();
    pass(11_000);
    assert!(cache.get("k").is_none() && !cache.contains("k"));
    assert_eq!(cache.peek_with("k", <[u8]>::len), None);
    assert_eq!(cache.peek_stale_with("k", <[u8]>::to_vec).unwrap(), b"old");
    let computed = cache.get_or_compute("k", || {
        let stale = cache.get_or_compute("k", || -> Result<&str, ()> { unreachable!("one is enough") });
        assert_eq!(stale.unwrap(), b"old");
        Ok::<_, ()>("new")
    });
    assert_eq!(computed.unwrap(), b"new");
    assert_eq!(cache.get("k").unwrap(), b"new");
    assert_eq!(cache.peek_with("k", <[u8]>::len), Some(3));
    pass(31_000);
    assert_eq!(cache.peek_stale_with("k", <[u8]>::len), None);
    assert_eq!(cache.get_or_compute("k", || Ok::<_, ()>("newer")).unwrap(), b"newer");
}

#[test]
fn system_clock_needs_no_setting() {
    let cache = Cache::new(CacheOptions::capacity(1 << 20)).unwrap();
    cache.upsert_for("k", "v", Duration::from_millis(20)).unwrap();
    cache.upsert_for("long", "v", seconds(100)).unwrap();
    std::thread::sleep(Duration::from_millis(20));
    assert!(!cache.contains("k") && cache.contains("long"));
}

#[test]
fn idle_pair_stays_away_for_ever() {
    let (cache, pass) = with_clock(CacheOptions::capacity(1 << 20).time_to_idle(Duration::from_millis(100)));
    for jump in [200, (1 << 31) - 100, 1 << 31, 1 << 32, (1 << 32) - 50, 9 << 32] {
        cache.upsert("k", "v").unwrap();
        pass(jump);
        assert!(cache.get("k").is_none(), "it is there after {jump} ms");
    }
}

#[test]
fn idle_pairs_are_removed_and_the_listener_hears_of_them() {
    let told = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&told);
    let options = CacheOptions::capacity(16 << 20).time_to_idle(seconds(1));
    let (cache, pass) = with_clock(options.eviction_listener(move |_, _, cause| {
        // A tiny bucket now and then has no slot for a pair.
        assert!(cause == Cause::Expired || cfg!(twindex_tiny), "{cause:?}");
        count.fetch_add((cause == Cause::Expired).into(), SeqCst);
    }));
    for number in 0..20_000_u32 {
        cache.upsert(number.to_le_bytes(), [0; 50]).unwrap();
    }
    let pairs = cache.len() as u64;
    for _ in 0..400 {
        pass(10);
        cache.upsert("used", "").unwrap();
    }
    let stats = cache.stats();
    assert_eq!((stats.entries, stats.expirations, told.load(SeqCst)), (1, pairs, pairs));
    assert!(stats.memory < 1 << 20, "{stats:?}");
}

#[test]
fn memory_of_expired_pairs_returns_while_the_cache_is_only_read() {
    let (cache, pass) = with_clock(CacheOptions::capacity(16 << 20));
    for number in 0..20_000_u32 {
        cache.upsert_for(number.to_le_bytes(), [0; 50], seconds(1)).unwrap();
    }
    pass(2000);
    for _ in 0..200 {
        (0..64).for_each(|_| _ = cache.get("absent"));
        pass(10);
    }
    assert_eq!(cache.len(), 0);
}

/// Such as sessions, names and pages that live for minutes to a year.
#[test]
fn mixed_times_to_live_hold_as_many_pairs_as_one_and_expire_in_time() {
    let fill = |mixed: bool| {
        let (cache, pass) = with_clock(CacheOptions::capacity(4 << 20));
        let mut random = fastrand::Rng::with_seed(1);
        for number in 0..100_000_u32 {
            let time = if mixed { 2_f64.powf(7.0 + 18.0 * random.f64()) } else { 3600.0 };
            assert!(cache.upsert_for(number.to_le_bytes(), [7; 32], Duration::from_secs_f64(time)).unwrap());
        }
        (cache, pass)
    };
    let (one, (mixed, pass)) = (fill(false).0.stats(), fill(true));
    let stats = mixed.stats();
    // Tiny buckets that have no slot for a pair are not as many each time.
    let tenths = if cfg!(twindex_tiny) { 8 } else { 9 };
    assert!(stats.entries * 10 > one.entries * tenths, "{} pairs beside {}", stats.entries, one.entries);
    let mut expired = stats.expirations;
    for hours in [1, 24, 24 * 30, 24 * 366] {
        pass(hours * 3_600_000);
        let fresh = mixed.iter().count();
        for _ in 0..1500 {
            mixed.remove("absent");
            pass(1);
        }
        let stats = mixed.stats();
        assert!(stats.expirations > expired && stats.entries < 2 * fresh + 2000, "{fresh} of {stats:?}");
        expired = stats.expirations;
    }
    assert!(mixed.is_empty() && mixed.stats().memory < 1 << 20, "{:?}", mixed.stats());
}

#[test]
fn pair_that_expired_is_told_and_counted_however_it_goes() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&told);
    let (cache, pass) =
        with_clock(CacheOptions::capacity(1 << 20).eviction_listener(move |key, value, cause| {
            assert_eq!((value, cause), (&b"old"[..], Cause::Expired));
            log.lock().unwrap().push(String::from_utf8_lossy(key).into_owned());
        }));
    cache.upsert("first", "so that looking for expired pairs is not due below").unwrap();
    for key in ["written", "removed", "computed"] {
        cache.upsert_for(key, "old", seconds(1)).unwrap();
    }
    cache.upsert_for("new", "new", seconds(1)).unwrap();
    pass(900);
    cache.remove("absent");
    pass(101);
    cache.upsert("written", "new").unwrap();
    assert!(!cache.remove("removed"));
    cache.get_or_compute("computed", || Ok::<_, ()>("new")).unwrap();
    let mut told = told.lock().unwrap().clone();
    told.sort_unstable();
    assert_eq!((told.join(" "), cache.stats().expirations), ("computed removed written".into(), 3));
}

#[test]
fn clear_removes_stale_pairs_also_without_free_memory() {
    let options = CacheOptions::capacity(MIN_CAPACITY).stale_for(seconds(100));
    let (cache, pass) = with_clock(options);
    cache.upsert("held", "x").unwrap();
    cache.get_with("held", |_| {
        for number in 0..2000_u32 {
            cache.upsert_for(number.to_le_bytes(), [1; 300], seconds(1)).unwrap();
        }
        pass(2000);
        cache.clear();
        assert_eq!(cache.len(), 0);
    });
}

#[test]
fn listener_that_panics_beside_a_computation_that_panics_does_not_end_the_process() {
    let options = CacheOptions::max_entries(10).ttl(seconds(1));
    let (cache, pass) = with_clock(options.eviction_listener(|_, _, _| panic!("a listener that panics")));
    cache.upsert("old", "").unwrap();
    let compute = std::panic::AssertUnwindSafe(|| {
        cache.get_or_compute("k", || -> Result<&str, ()> {
            // The end of the computation finds the old pair.
            pass(2000);
            panic!("a computation that panics")
        })
    });
    assert!(std::panic::catch_unwind(compute).is_err());
    assert!(cache.is_empty(), "the listener was called");
}

#[test]
fn clock_that_fails_once_changes_no_time_to_live() {
    let now = Arc::new(AtomicU64::new(1 << 40));
    let clock = Arc::clone(&now);
    let cache = Cache::new(CacheOptions::capacity(1 << 20).clock(move || clock.load(SeqCst))).unwrap();
    cache.upsert_for("k", "", seconds(3600)).unwrap();
    now.store(u64::MAX, SeqCst);
    assert!(cache.contains("k"));
    cache.upsert_for("meanwhile", "", seconds(3600)).unwrap();
    now.store(1 << 40, SeqCst);
    cache.upsert_for("later", "", seconds(3600)).unwrap();
    for key in ["k", "meanwhile", "later"] {
        assert_eq!(cache.ttl(key), Ttl::Left(seconds(3600)), "{key}");
    }
}
