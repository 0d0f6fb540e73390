//! How much one write does, counted in records that it reads for others.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions};

/// Writes once read 1,700 where the index grew, and a whole segment where times to live differ. Now one may sweep 256, expire 320
/// and move the 777 of a block that has few pairs.
const MOST: usize = 1400;

fn check(cache: &Cache) {
    let longest = cache.longest_write();
    assert!(longest <= MOST, "a write read {longest} records of others");
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()
}

#[test]
fn write_reads_few_records_where_the_index_grows_and_where_it_shrinks() {
    let cache = Cache::new(CacheOptions::capacity(1 << 30)).unwrap();
    for number in 0..30_000 {
        cache.upsert(key(number), [0; 8]).unwrap();
    }
    check(&cache);
    (0..30_000).for_each(|number| assert!(cache.remove(key(number))));
    check(&cache);
}

#[test]
fn write_that_evicts_reads_few_records() {
    for (capacity, length) in [(1 << 20, 8), (4 << 20, 300)] {
        let cache = Cache::new(CacheOptions::capacity(capacity)).unwrap();
        for number in 0..4 * capacity as u64 / length as u64 {
            assert!(cache.upsert(key(number), vec![0; length]).unwrap());
            cache.get(key(number / 2));
        }
        check(&cache);
    }
}

#[test]
fn write_that_needs_a_segment_for_its_time_reads_few_records() {
    let now = Arc::new(AtomicU64::new(1 << 40));
    let clock = Arc::clone(&now);
    let options = CacheOptions::capacity(32 << 20).clock(move || clock.load(SeqCst));
    let cache = Cache::new(options).unwrap();
    for number in 0..if cfg!(twindex_tiny) { 100_000 } else { 1_500_000 } {
        let random = u64::from_le_bytes(key(number)) >> 32;
        now.fetch_add(u64::from(number % 16 == 0), SeqCst);
        cache.upsert_for(key(number), [], Duration::from_secs(1 << (random % 23))).unwrap();
        cache.get(key(number - random % (number / 2 + 1)));
    }
    check(&cache);
    now.fetch_add(1 << 22, SeqCst);
    (0..10_000).for_each(|number| assert!(cache.upsert(key(number), []).unwrap()));
    check(&cache);
}
