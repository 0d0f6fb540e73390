//! A cache beside a map: what it returns is what was last written, and what it takes stays within its limits.

use std::collections::HashMap;

use twindex_cache::{Cache, CacheOptions, Change, MIN_CAPACITY, Ttl};

fn key(number: usize) -> Vec<u8> {
    format!("key/{number}").into_bytes()
}

/// A value that shows its key, its version and whether it is whole.
fn value(number: usize, version: u32, length: usize) -> Vec<u8> {
    let mut value = [number.to_le_bytes().as_slice(), &version.to_le_bytes()].concat();
    value.resize(12 + length, version as u8);
    value
}

/// The bounds of a run.
struct Run {
    bytes: Option<usize>,
    entries: Option<usize>,
    keys: usize,
    longest: usize,
    steps: usize,
    seed: u64,
}

/// Any operations of any sizes. The cache may forget a pair, but never shows an older value or one of another key.
fn run(Run { bytes, entries, keys, longest, steps, seed }: Run) {
    let options = match (bytes, entries) {
        (Some(bytes), Some(entries)) => CacheOptions::capacity(bytes).and_max_entries(entries),
        (Some(bytes), None) => CacheOptions::capacity(bytes),
        (None, entries) => CacheOptions::max_entries(entries.unwrap()),
    };
    let cache = Cache::new(options).unwrap();
    let mut model: HashMap<usize, Vec<u8>> = HashMap::new();
    let mut random = fastrand::Rng::with_seed(seed);
    for step in 0..steps {
        let number = random.usize(..keys);
        let key = key(number);
        let length = if random.u8(..) < 230 { random.usize(..100) } else { random.usize(..longest) };
        let next = value(number, step as u32, length);
        let old = cache.peek(&key);
        assert!(old.is_none() || old.as_ref() == model.get(&number), "an old value came back");
        match random.u8(..12) {
            0..=4 => {
                if cache.upsert(&key, &next).unwrap() {
                    assert_eq!(
                        cache.peek(&key).as_ref(),
                        Some(&next),
                        "a pair that was just written is there"
                    );
                    model.insert(number, next);
                } else {
                    assert!(cache.peek(&key) == old, "a write that is refused changes nothing");
                }
            }
            5..=7 => assert!(cache.get(&key) == old),
            8 => {
                assert_eq!(cache.remove(&key), old.is_some());
                assert!(!cache.contains(&key));
                model.remove(&number);
            }
            9 => {
                let deletes = step % 3 == 0;
                let done = cache.alter(&key, |now| {
                    assert!(now == old.as_deref());
                    if deletes { Change::Delete } else { Change::Set(next.clone()) }
                });
                match done {
                    Ok(done) => {
                        assert_eq!(done, !deletes || old.is_some());
                        if deletes {
                            model.remove(&number)
                        } else {
                            model.insert(number, next)
                        };
                    }
                    Err(_) => assert!(cache.peek(&key) == old, "a change that fails changes nothing"),
                }
            }
            10 => {
                assert!(!cache.compare_and_swap(&key, Some(b"never"), Some(b"x")).unwrap());
                if cache.compare_and_swap(&key, old.as_deref(), Some(&next)).is_ok_and(|done| done) {
                    model.insert(number, next);
                }
            }
            _ => {
                assert!(matches!(cache.ttl(&key), Ttl::Absent | Ttl::Forever));
                if step % 2000 == 7 {
                    cache.clear();
                    assert_eq!(cache.len(), 0);
                    model.clear();
                }
            }
        }
        let stats = cache.stats();
        assert_eq!(stats.entries, cache.len());
        assert!(entries.is_none_or(|most| stats.entries <= most), "{stats:?}");
        assert!(bytes.is_none_or(|most| stats.memory <= most), "{stats:?}");
    }
    let mut seen = 0;
    for (key, found) in &cache {
        let number = usize::from_le_bytes(*found.first_chunk().unwrap());
        assert_eq!(key, self::key(number));
        assert!(Some(&found) == model.get(&number));
        seen += 1;
    }
    assert_eq!(seen, cache.len());
}

const STEPS: usize = if cfg!(miri) { 300 } else { 20_000 };

#[test]
fn small_capacity_of_mixed_sizes_shows_only_what_was_written_last() {
    for (seed, keys, longest) in [(1, 3000, 2000), (2, 300, 40_000), (3, 20, 30_000), (4, 5000, 100)] {
        run(Run { bytes: Some(MIN_CAPACITY), entries: None, keys, longest, steps: STEPS, seed });
    }
}

#[test]
fn larger_capacity_of_mixed_sizes_shows_only_what_was_written_last() {
    for (seed, keys, longest) in [(1, 30_000, 2000), (2, 3000, 300_000)] {
        run(Run { bytes: Some(1 << 20), entries: None, keys, longest, steps: STEPS, seed });
    }
}

#[test]
fn few_entries_show_only_what_was_written_last() {
    let all = [(1, 1), (2, 2), (3, 7), (4, 100), (5, 1000)];
    for &(seed, entries) in &all[..if cfg!(miri) { 3 } else { 5 }] {
        let (bytes, keys) = (None, 3 * entries + 5);
        run(Run { bytes, entries: Some(entries), keys, longest: 3000, steps: STEPS / 2, seed });
    }
    let bytes = Some(256 << 10);
    run(Run { bytes, entries: Some(500), keys: 2000, longest: 3000, steps: STEPS / 2, seed: 9 });
}

#[test]
#[cfg_attr(miri, ignore)]
fn limit_of_entries_holds_where_most_records_are_dead() {
    for most in [2, 10, 1000] {
        let cache = Cache::new(CacheOptions::max_entries(most)).unwrap();
        // Each write after the first leaves a dead record.
        (0..8000).for_each(|_| assert!(cache.upsert(key(0), [0; 2]).unwrap()));
        for number in 1..most + 50 {
            assert!(cache.upsert(key(number), [0; 2]).unwrap());
            assert!(cache.len() <= most && cache.contains(key(number)));
        }
    }
}

/// The index once wanted so much memory to grow that nearly all pairs were evicted for it, again and again.
#[test]
#[cfg_attr(miri, ignore)]
fn small_cache_holds_many_pairs_while_its_index_has_no_room_to_grow() {
    let least = if cfg!(twindex_tiny) { 120 } else { 500 };
    for length in [0, 4, 8, 16, 24] {
        let cache = Cache::new(CacheOptions::capacity(MIN_CAPACITY)).unwrap();
        for number in 0..40_000_u64 {
            assert!(cache.upsert(number.to_le_bytes(), vec![0; length]).unwrap());
            let pairs = cache.len();
            assert!(number < 10_000 || pairs > least, "{pairs} pairs with values of {length} bytes");
        }
    }
}
