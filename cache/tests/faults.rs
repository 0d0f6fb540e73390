//! Faults that caches of other designs had, ours among them.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, mpsc};
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Cause, Change, Error, MAX_KEY_BYTES, MIN_CAPACITY, Ttl};

const MIB: usize = 1 << 20;
const TINY: bool = cfg!(twindex_tiny);
/// Tests wait no longer for other threads.
const LIMIT: Duration = Duration::from_mins(1);

fn megabyte() -> Cache {
    Cache::new(CacheOptions::capacity(MIB)).unwrap()
}

#[test]
fn value_larger_than_the_cache_evicts_nothing_and_is_counted() {
    let cache = megabyte();
    for number in 0..5000 {
        assert!(cache.upsert(format!("{number}"), [7; 16]).unwrap());
    }
    let before = cache.stats();
    assert_eq!(before.entries, 5000);
    for number in 0..200 {
        assert!(!cache.upsert(format!("large {number}"), vec![0; 2 * MIB]).unwrap());
        let large = cache.get_or_compute("large", || Ok::<_, ()>(vec![1; MIB])).unwrap();
        assert_eq!(large.len(), MIB, "what is computed is returned");
    }
    let after = cache.stats();
    assert_eq!((after.entries, after.evictions, after.rejected), (5000, 0, 400));
}

#[test]
fn large_values_leave_most_small_ones() {
    let cache = megabyte();
    let hot = || (0..4000).filter(|number| cache.get(format!("{number}")).is_some()).count();
    for number in 0..4000 {
        cache.upsert(format!("{number}"), [7; 16]).unwrap();
    }
    (0..3).for_each(|_| _ = hot());
    for number in 0..200 {
        assert!(cache.upsert(format!("large {number}"), vec![0; 100_000]).unwrap());
    }
    assert!(hot() > 3000, "{} of the hot pairs are left", hot());
    assert_eq!(cache.stats().rejected, 0);
}

#[test]
fn change_that_no_cache_of_this_size_holds_leaves_the_pair() {
    let cache = megabyte();
    assert!(cache.upsert("k", vec![1; 600_000]).unwrap());
    let refused = cache.alter("k", |_| Change::Set(vec![2; MIB]));
    assert!(matches!(refused, Err(Error::NoRoom { needed: 1_048_577 })), "{refused:?}");
    assert!(!cache.upsert("k", vec![3; MIB]).unwrap());
    assert_eq!(cache.get("k"), Some(vec![1; 600_000]));
}

#[test]
fn changed_large_value_is_never_absent_in_a_full_cache() {
    let cache = megabyte();
    cache.upsert("k", vec![0; 60_000]).unwrap();
    std::thread::scope(|scope| {
        let cache = &cache;
        let writer = scope.spawn(move || {
            for round in 0..2000_u32 {
                cache.upsert(format!("other {}", round % 100), vec![0; 30_000]).unwrap();
                let length = 60_000 + round as usize % 7 * 500;
                assert!(cache.alter("k", |_| Change::Set(vec![round as u8; length])).unwrap());
            }
        });
        while !writer.is_finished() {
            let value = cache.peek("k").expect("the value is there at any time");
            assert!(value.iter().all(|&byte| byte == value[0]), "a value is whole");
            // So that it is worth keeping.
            cache.get("k");
        }
    });
}

#[test]
fn contended_alter_of_large_values_loses_no_change_and_never_fails() {
    const ROUNDS: usize = 3000;
    let cache = Cache::new(CacheOptions::capacity(256 << 10)).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..ROUNDS {
                    let done = cache.alter("k", |old| {
                        let old = old.map_or(0, |old| u64::from_le_bytes(*old.first_chunk().unwrap()));
                        let mut new = vec![0; 5000 + old as usize % 3000];
                        new[..8].copy_from_slice(&(old + 1).to_le_bytes());
                        Change::Set(new)
                    });
                    assert!(done.expect("a lost race is no error"));
                    cache.increment("count", 1).unwrap();
                }
            });
        }
    });
    let value = cache.get("k").unwrap();
    assert_eq!(u64::from_le_bytes(*value.first_chunk().unwrap()), 2 * ROUNDS as u64);
    assert_eq!(cache.get("count").unwrap(), (2 * ROUNDS).to_string().into_bytes());
}

#[test]
fn sleeping_reader_neither_grows_the_cache_nor_empties_it() {
    let cache = megabyte();
    for number in 0..5000 {
        cache.upsert(format!("{number}"), [1; 100]).unwrap();
    }
    cache.upsert("held", [9; 50]).unwrap();
    let (asleep, wake) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let reader = {
        let (cache, asleep, wake) = (cache.clone(), Arc::clone(&asleep), Arc::clone(&wake));
        std::thread::spawn(move || {
            cache.get_with("held", |value| {
                asleep.wait();
                wake.wait();
                value.to_vec()
            })
        })
    };
    asleep.wait();
    let mut refused = 0;
    for number in 0..20_000 {
        refused += usize::from(!cache.upsert(format!("more {number}"), [2; 100]).unwrap());
        assert!(cache.stats().memory <= MIB);
    }
    assert!(refused > 0, "what a reader holds cannot be reused");
    assert!(cache.len() > 2000, "it evicted in vain: {} pairs are left", cache.len());
    wake.wait();
    assert_eq!(reader.join().unwrap(), Some(vec![9; 50]));
    for number in 0..100 {
        assert!(cache.upsert(format!("again {number}"), [2; 100]).unwrap());
    }
}

#[test]
fn capacity_that_holds_no_pair_is_refused_with_the_minimum() {
    for bytes in [0, 1, 6400, 16_000, MIN_CAPACITY - 1] {
        let refused = Cache::new(CacheOptions::capacity(bytes)).map(|_| ()).unwrap_err();
        assert!(refused.to_string().contains(&MIN_CAPACITY.to_string()), "{refused}");
    }
    assert!(matches!(
        Cache::new(CacheOptions::max_entries(0)),
        Err(Error::Capacity { entries: Some(0), .. })
    ));
    assert!(matches!(Cache::new(CacheOptions::default()), Err(Error::Capacity { .. })));
    let cache = Cache::new(CacheOptions::capacity(usize::MAX / 2)).expect("memory is taken as it is needed");
    assert!(cache.upsert("k", "v").unwrap());
    for bytes in MIN_CAPACITY..MIN_CAPACITY + 50 {
        let cache = Cache::new(CacheOptions::capacity(bytes)).unwrap();
        for number in 0..500 {
            assert!(cache.upsert(format!("{number}"), [0; 20]).unwrap());
        }
        assert!(cache.len() > 100, "{} pairs in {bytes} bytes", cache.len());
    }
}

#[test]
fn dropped_handle_does_not_lose_what_is_computed() {
    let (begun, goes_on) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let cache = megabyte();
    let thread = {
        let (cache, begun, goes_on) = (cache.clone(), Arc::clone(&begun), Arc::clone(&goes_on));
        std::thread::spawn(move || {
            cache.get_or_compute("k", || {
                begun.wait();
                goes_on.wait();
                Ok::<_, ()>("computed")
            })
        })
    };
    begun.wait();
    cache.clear();
    drop(cache);
    goes_on.wait();
    assert_eq!(thread.join().unwrap().unwrap(), b"computed");
}

#[test]
fn keys_of_all_lengths_are_kept_and_longer_ones_refused() {
    let cache = megabyte();
    for length in [0, 1, MAX_KEY_BYTES] {
        let key = vec![5; length];
        assert!(cache.upsert(&key, &key).unwrap());
        assert_eq!(cache.get(&key), Some(key));
    }
    let long = vec![5; MAX_KEY_BYTES + 1];
    assert!(matches!(cache.upsert(&long, ""), Err(Error::KeyTooLong { .. })));
    assert!(matches!(cache.increment(&long, 1), Err(Error::KeyTooLong { .. })));
    assert!(matches!(cache.alter(&long, |_| Change::Set(vec![])), Err(Error::KeyTooLong { .. })));
    assert_eq!(
        cache.upsert_many(&[(&b"x"[..], ""), (&long, "")], None).unwrap_err().code(),
        "TWINDEX_KEY_TOO_LONG"
    );
    assert!(!cache.contains("x"), "lengths are checked before anything is written");
    assert_eq!((cache.get(&long), cache.ttl(&long), cache.remove(&long)), (None, Ttl::Absent, false));
}

#[test]
fn listener_hears_of_each_pair_once_and_may_write_wait_and_panic() {
    let told = Arc::new(AtomicUsize::new(0));
    let (send, heard) = mpsc::sync_channel(1);
    let listener = {
        let told = Arc::clone(&told);
        move |_: &[u8], value: &[u8], cause| {
            assert_eq!((value, cause), (&[1; 100][..], Cause::Size));
            assert!(told.fetch_add(1, SeqCst) != 5, "a listener that panics");
            let _ = send.try_send(());
        }
    };
    let cache = Cache::new(CacheOptions::max_entries(100).eviction_listener(listener)).unwrap();
    let mut panics = 0;
    for number in 0..1000 {
        let write = std::panic::AssertUnwindSafe(|| cache.upsert(format!("{number}"), [1; 100]).unwrap());
        panics += usize::from(std::panic::catch_unwind(write).is_err());
        assert!(cache.contains(format!("{number}")), "the write has taken effect");
    }
    heard.recv_timeout(LIMIT).expect("the listener was called");
    assert_eq!((panics, told.load(SeqCst)), (1, 1000 - cache.len()));

    // One that writes.
    let cell = Arc::new(std::sync::Mutex::new(None::<Cache>));
    let inner = Arc::clone(&cell);
    let cache = Cache::new(CacheOptions::max_entries(100).eviction_listener(move |_, _, _| {
        let cache = inner.lock().unwrap().clone().unwrap();
        assert!(cache.upsert("last", "evicted").unwrap());
        assert!(cache.get_or_compute("x", || Ok::<_, ()>("y")).is_ok());
    }))
    .unwrap();
    *cell.lock().unwrap() = Some(cache.clone());
    for number in 0..300 {
        cache.upsert(format!("{number}"), "").unwrap();
    }
    assert!(cache.len() <= 100);
    *cell.lock().unwrap() = None;
}

#[test]
fn capacity_holds_after_any_change_of_sizes_in_both_orders() {
    for bytes in [MIB, 8 * MIB] {
        for first in [20, 20_000] {
            let cache = Cache::new(CacheOptions::capacity(bytes)).unwrap();
            for (phase, size) in [first, 20_020 - first, 300, first].into_iter().enumerate() {
                let value = vec![phase as u8; size];
                let mut written = 0;
                while written < 3 * bytes {
                    let key = format!("{phase}/{written}");
                    assert!(cache.upsert(&key, &value).unwrap(), "no write is refused");
                    cache.get(&key);
                    written += size + 30;
                }
                let stats = cache.stats();
                assert!(
                    stats.memory <= bytes && stats.memory > bytes * (if TINY { 40 } else { 85 }) / 100,
                    "{phase}: {stats:?}"
                );
                let payload = stats.entries * size;
                assert!(TINY || size < 300 || payload > bytes * 75 / 100, "{phase}: {payload} of {bytes}");
            }
        }
    }
}

#[test]
fn pair_that_is_written_over_and_over_takes_no_more_memory() {
    let cache = Cache::new(CacheOptions::max_entries(1000)).unwrap();
    for number in 0..500 {
        cache.upsert(format!("{number}"), [0; 100]).unwrap();
    }
    for round in 0..200_000 {
        assert!(cache.upsert("counter", format!("{round:0100}")).unwrap());
    }
    assert_eq!(cache.len(), 501);
    assert!(cache.stats().memory < MIB, "{:?}", cache.stats());
}

#[test]
fn shrinking_evicts_down_to_the_new_capacity_and_growing_uses_it() {
    let cache = Cache::new(CacheOptions::capacity(8 * MIB)).unwrap();
    let fill = |from: usize| {
        for number in from..from + 90_000 {
            cache.upsert(format!("{number}"), [1; 100]).unwrap();
        }
    };
    fill(0);
    assert!(TINY || cache.stats().memory > 7 * MIB);
    cache.shrink_to(MIB).unwrap();
    assert!(cache.stats().memory <= MIB, "{:?}", cache.stats());
    assert!(cache.len() > if TINY { 500 } else { 3000 }, "{} pairs are left", cache.len());
    cache.shrink_to(4 * MIB).unwrap();
    fill(100_000);
    let memory = cache.stats().memory;
    assert!(memory <= 4 * MIB && (TINY || memory > 3 * MIB), "{memory}");
    assert!(matches!(cache.shrink_to(10), Err(Error::Capacity { .. })));
}

#[test]
fn value_that_an_empty_cache_takes_is_taken_by_a_full_one_again_and_again() {
    for bytes in [MIN_CAPACITY, 100_000, 256 << 10, MIB] {
        let empty =
            |size| Cache::new(CacheOptions::capacity(bytes)).unwrap().upsert("k", vec![0; size]).unwrap();
        let most = (0..bytes / 500).rev().map(|step| step * 500).find(|&size| empty(size)).unwrap();
        assert!(most > bytes * 9 / 20, "{most} of {bytes}");
        for size in [most, most * 4 / 5, most / 2, most / 3, most / 6] {
            let cache = Cache::new(CacheOptions::capacity(bytes)).unwrap();
            for number in 0..bytes as u32 / 8 {
                assert!(cache.upsert(number.to_le_bytes(), b"").unwrap());
            }
            for round in 0..4 {
                assert!(cache.upsert("k", vec![round; size]).unwrap(), "{size} of {bytes}, round {round}");
                assert!(cache.alter("k", |_| Change::Set(vec![round + 1; size])).unwrap());
                assert_eq!(cache.get("k"), Some(vec![round + 1; size]));
                assert!(cache.upsert([round], b"small").unwrap());
            }
            assert!(cache.stats().memory <= bytes);
        }
    }
}

#[test]
fn shrinking_to_a_small_part_keeps_the_limit_and_takes_writes_afterwards() {
    for bytes in [MIN_CAPACITY, 256 << 10] {
        let cache = Cache::new(CacheOptions::capacity(32 * MIB)).unwrap();
        for number in 0..if TINY { 100_000 } else { 300_000_u32 } {
            cache.upsert(number.to_le_bytes(), b"12345678").unwrap();
        }
        cache.shrink_to(bytes).unwrap();
        assert!(cache.stats().memory <= bytes, "{:?}", cache.stats());
        for number in 0..2000_u32 {
            assert!(cache.upsert(number.to_be_bytes(), [1; 50]).unwrap());
        }
        assert!(cache.len() > 100 && cache.stats().memory <= bytes, "{:?}", cache.stats());
    }
}

#[test]
fn number_of_pairs_is_reached_whatever_their_size() {
    for (entries, size) in if TINY { [(400, 2000), (300, 600)] } else { [(4500, 20_000), (5000, 9000)] } {
        let cache = Cache::new(CacheOptions::max_entries(entries)).unwrap();
        for number in 0..entries {
            assert!(cache.upsert(number.to_le_bytes(), vec![0; size]).unwrap());
        }
        let stats = cache.stats();
        assert!(TINY || (stats.entries, stats.evictions) == (entries, 0), "{stats:?}");
        assert!(stats.entries > entries * 9 / 10, "{stats:?}");
    }
}

#[test]
fn pair_that_is_there_all_the_time_comes_once_also_while_the_index_shrinks() {
    let cache = Cache::new(CacheOptions::max_entries(100_000)).unwrap();
    for number in 0..20_000_u32 {
        cache.upsert(number.to_le_bytes(), b"").unwrap();
    }
    let mut pairs = cache.iter();
    let mut seen: Vec<_> = pairs.by_ref().take(10_000).collect();
    for number in (0..20_000_u32).filter(|number| number % 100 != 0) {
        cache.remove(number.to_le_bytes());
    }
    seen.extend(pairs);
    for number in (0..20_000_u32).step_by(100) {
        let times = seen.iter().filter(|(key, _)| *key == number.to_le_bytes()).count();
        // A tiny index has no slot for some.
        assert!(times == 1 || TINY && times == 0, "{number} came {times} times");
    }
}

#[test]
fn iterator_copies_large_value_when_its_turn_comes() {
    let cache = Cache::new(CacheOptions::max_entries(100)).unwrap();
    for number in 0..20_u32 {
        cache.upsert(number.to_le_bytes(), vec![1; 8000]).unwrap();
    }
    let mut pairs = cache.iter();
    let (first, _) = pairs.next().unwrap();
    for number in (0..20_u32).filter(|number| number.to_le_bytes() != *first) {
        if number % 2 == 0 {
            cache.remove(number.to_le_bytes());
        } else {
            cache.upsert(number.to_le_bytes(), vec![2; 8000]).unwrap();
        }
    }
    let rest: Vec<_> = pairs.collect();
    assert!((9..=10).contains(&rest.len()), "{} pairs", rest.len());
    assert!(rest.iter().all(|(_, value)| *value == vec![2; 8000]), "the values of now");
}

#[test]
fn small_pair_is_never_refused_beside_large_ones_that_are_read() {
    let bytes = if TINY { MIB } else { 4 * MIB };
    for part in [4, 8, 16] {
        let cache = Cache::new(CacheOptions::capacity(bytes)).unwrap();
        for number in 0..if TINY { 5000 } else { 30_000_usize } {
            if number % 30 == 0 {
                let large = format!("large {}", number / 30 % (2 * part));
                assert!(cache.upsert(&large, vec![0; bytes / part]).unwrap());
                (0..3).for_each(|_| _ = cache.get(&large));
            }
            assert!(
                cache.upsert(number.to_le_bytes(), vec![0; number * 7 % 500]).unwrap(),
                "{number}, {part}"
            );
        }
    }
}

#[test]
fn cache_can_be_used_within_catch_unwind() {
    let cache = megabyte();
    assert!(std::panic::catch_unwind(|| cache.upsert("k", "v")).unwrap().unwrap());
}
