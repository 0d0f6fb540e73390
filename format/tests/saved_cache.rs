//! What a cache keeps in a dump, and what the reader makes of bytes that are none.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::dump_writer::{Record, end, entry, file_of_version, lengths, pair, pairs, table, varint};
use twindex::{Cache, CacheOptions, Error, Index, Result, Store};
use twindex_format::{Dump, SavedCache, write_cache};

const SMALL: bool = cfg!(any(miri, twindex_tiny));
/// The time of day at which the tests save.
const SAVED: u64 = 1_795_000_000_000;

/// A store whose clock stands where the test puts it, at first `from`.
fn clocked(from: u64) -> (Store, Arc<AtomicU64>) {
    let (store, now) = (Store::new(), Arc::new(AtomicU64::new(from)));
    let read = Arc::clone(&now);
    assert!(store.set_clock(move || read.load(SeqCst)));
    (store, now)
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn at(millis: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(millis)
}

fn saved(cache: &Cache) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_cache(cache, at(SAVED), &mut bytes, &mut |_| {}).expect("memory takes any dump");
    bytes
}

/// Loads it with what it was made with, so many milliseconds after it was saved.
fn load_after(store: &Store, bytes: &[u8], elapsed: u64) -> Result<Cache> {
    let saved = SavedCache::read(bytes)?;
    let options = saved.options();
    saved.load(store, "loaded", options, at(SAVED + elapsed))
}

fn load(bytes: &[u8]) -> Result<Cache> {
    load_after(&clocked(5).0, bytes, 0)
}

fn content(cache: &Cache) -> BTreeMap<Vec<u8>, (Vec<u8>, Option<Duration>)> {
    let (mut content, mut next) = (BTreeMap::new(), Some(0));
    while let Some(from) = next {
        next = cache.walk(from, |key, value, left| {
            assert!(content.insert(key.to_vec(), (value.to_vec(), left)).is_none());
        });
    }
    content
}

#[track_caller]
fn assert_corrupt(bytes: &[u8], offset: u64, what: &str) {
    let (store, _) = clocked(5);
    match load_after(&store, bytes, 0) {
        Err(Error::Corrupt { offset: found, what: why }) => {
            assert!(found == offset && why.contains(what), "{found}: {why}");
        }
        other => panic!("{other:?}"),
    }
    assert!(store.caches().is_empty() && store.tables().is_empty());
}

#[test]
fn a_cache_comes_back_with_all_that_it_had() {
    let (store, _) = clocked(1_000_000);
    let options = CacheOptions::bytes(8 << 20).ttl(millis(5_000)).codecs("str", "json");
    let cache = store.cache("pages", options).unwrap();
    cache.upsert("default", "1").unwrap();
    cache.upsert_for("ever", "", Duration::MAX).unwrap();
    cache.upsert_for("", "the empty key", millis(1)).unwrap();
    cache.upsert_for("large", vec![7; 200_000], millis(70)).unwrap();
    for number in 0..if SMALL { 300 } else { 20_000_u32 } {
        let key = format!("page/{number}/title");
        cache.upsert_for(key, vec![b'v'; number as usize % 40], millis(10 + u64::from(number))).unwrap();
    }
    let bytes = saved(&cache);
    let read = SavedCache::read(bytes.as_slice()).unwrap();
    assert_eq!(
        (read.name(), read.codecs(), read.default_ttl()),
        ("pages", ("str", "json"), Some(millis(5_000)))
    );
    let checked = read.check().unwrap();
    assert_eq!((checked.pairs, checked.bytes), (cache.len() as u64, bytes.len() as u64));
    let loaded = load(&bytes).unwrap();
    assert_eq!(content(&loaded), content(&cache));
    assert_eq!((loaded.name(), loaded.codecs()), ("loaded", ("str", "json")));
    assert_eq!((loaded.capacity_bytes(), loaded.capacity_pairs()), (Some(8 << 20), None));
    assert_eq!(loaded.default_ttl(), Some(millis(5_000)));
    assert_eq!(loaded.ttl("default"), Some(Some(millis(5_000))));
    assert_eq!(loaded.ttl("ever"), Some(None));
    assert!(loaded.select_shared("large").unwrap().is_shared());

    let few = store.cache("few", CacheOptions::pairs(7)).unwrap();
    let loaded = load(&saved(&few)).unwrap();
    assert_eq!((loaded.capacity_bytes(), loaded.capacity_pairs()), (None, Some(7)));
    assert!(loaded.default_ttl().is_none() && loaded.is_empty());
    let ever = store.cache("ever", CacheOptions::bytes(1 << 20).ttl(Duration::MAX)).unwrap();
    assert_eq!(load(&saved(&ever)).unwrap().default_ttl(), None);
}

#[test]
fn time_goes_by_between_the_two() {
    let (store, now) = clocked(1_000_000);
    let cache = store.cache("c", CacheOptions::pairs(1_000)).unwrap();
    cache.upsert_for("gone before", "0", millis(5)).unwrap();
    cache.upsert_for("short", "1", millis(100)).unwrap();
    cache.upsert_for("long", "2", millis(1_000)).unwrap();
    cache.upsert_for("large", vec![1; 10_000], millis(100)).unwrap();
    cache.upsert("ever", "3").unwrap();
    now.fetch_add(10, SeqCst);
    let bytes = saved(&cache);
    let keys = |cache: &Cache| content(cache).into_keys().collect::<Vec<_>>();
    // Whatever the other clock counts from.
    for start in [0, 7, 5_000_000, u64::MAX - 10_000] {
        let (store, now) = clocked(start);
        let loaded = load_after(&store, &bytes, 89).unwrap();
        assert_eq!(loaded.ttl("short"), Some(Some(millis(1))));
        assert_eq!(loaded.ttl("long"), Some(Some(millis(901))));
        assert!(!loaded.contains("gone before"));
        now.fetch_add(1, SeqCst);
        assert!(!loaded.contains("short") && !loaded.contains("large") && loaded.contains("long"));
        now.fetch_add(900, SeqCst);
        assert_eq!(keys(&loaded), [b"ever"]);
    }
    let after = |elapsed| keys(&load_after(&clocked(5).0, &bytes, elapsed).unwrap()).len();
    assert_eq!([0, 89, 90, 989, 990, u64::MAX / 1_000_000].map(after), [4, 4, 2, 2, 1, 1]);
    // Removed or not, what expired meanwhile takes no memory.
    assert_eq!(load_after(&clocked(5).0, &bytes, 90).unwrap().len(), 2);
}

#[test]
fn a_clock_that_was_set_back_lets_nothing_live_longer() {
    let (store, _) = clocked(1_000_000);
    let cache = store.cache("c", CacheOptions::pairs(10)).unwrap();
    cache.upsert_for("a", "1", millis(100)).unwrap();
    let saved = SavedCache::read(std::io::Cursor::new(saved(&cache))).unwrap();
    let options = saved.options();
    let loaded = saved.load(&store, "loaded", options, at(SAVED - 1_000_000)).unwrap();
    assert_eq!(loaded.ttl("a"), Some(Some(millis(100))));
}

/// A cache in which the keys below `hot` were asked for often, and written before all others.
/// A pair lived as long from the moment at which it was read, so one at the end of a file that takes a minute was shown for a minute
/// too long.
#[test]
fn a_slow_load_lets_nothing_live_longer() {
    struct Slow<'b>(&'b [u8], Arc<AtomicU64>);

    impl std::io::Read for Slow<'_> {
        fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
            self.1.fetch_add(1, SeqCst);
            let most = bytes.len().min(64);
            self.0.read(&mut bytes[..most])
        }
    }

    let cache = clocked(5).0.cache("c", CacheOptions::pairs(1000)).unwrap();
    for (key, ttl) in [("short", millis(2)), ("long", millis(1000)), ("ever", Duration::MAX)] {
        cache.upsert_for(key, "1".repeat(300), ttl).unwrap();
    }
    let (store, now) = clocked(700);
    let bytes = saved(&cache);
    let slow = SavedCache::read(Slow(&bytes, Arc::clone(&now))).unwrap();
    let options = slow.options();
    let begun = now.load(SeqCst);
    let loaded = slow.load(&store, "loaded", options, at(SAVED)).unwrap();
    let elapsed = now.load(SeqCst) - begun;
    assert!(elapsed > 2);
    assert!(!loaded.contains("short") && loaded.ttl("ever") == Some(None));
    assert_eq!(loaded.ttl("long"), Some(Some(millis(1000 - elapsed))));
}

fn with_favourites(store: &Store, options: CacheOptions, hot: u32, all: u32) -> Cache {
    let cache = store.cache("c", options).unwrap();
    for key in 0..all {
        cache.upsert(key.to_be_bytes(), [1; 32]).unwrap();
    }
    for key in (0..hot).cycle().take(3 * hot as usize) {
        assert!(cache.select(key.to_be_bytes()).is_some());
    }
    cache
}

#[test]
fn a_smaller_cache_keeps_what_was_hit_and_its_limit() {
    let (hot, all) = if SMALL { (60, 600) } else { (5_000, 50_000) };
    let (store, _) = clocked(5);
    let cache = with_favourites(&store, CacheOptions::pairs(100_000), hot, all);
    let bytes = saved(&cache);
    let kept = |cache: &Cache| (0..hot).filter(|key| cache.contains(key.to_be_bytes())).count();
    let load = |options, store: &Store| {
        SavedCache::read(bytes.as_slice())?.load(store, "loaded", options, at(SAVED))
    };
    for share in [2, 4] {
        let loaded = load(CacheOptions::pairs(all as usize / share), &Store::new()).unwrap();
        assert!(loaded.len() <= all as usize / share && loaded.len() > all as usize / share / 10 * 8);
        assert!(kept(&loaded) > hot as usize / 100 * 95, "{} of {hot}", kept(&loaded));
    }
    if SMALL {
        return;
    }
    let limit = cache.memory() / 3;
    let loaded = load(CacheOptions::bytes(limit), &Store::new()).unwrap();
    assert!(loaded.memory() <= limit && loaded.memory() > limit / 10 * 8, "{} of {limit}", loaded.memory());
    assert!(kept(&loaded) > hot as usize / 100 * 95, "{} of {hot}", kept(&loaded));
    // Which are those that stay when the next pairs come.
    for key in all..2 * all {
        loaded.upsert(key.to_be_bytes(), [1; 32]).unwrap();
    }
    assert!(kept(&loaded) > hot as usize / 100 * 80, "{} of {hot}", kept(&loaded));
    // The store's limit counts too.
    let small = Store::with_memory_limit(limit);
    let loaded = load(CacheOptions::pairs(all as usize), &small).unwrap();
    assert!(small.memory() <= limit && loaded.len() > all as usize / 10);
    // Beside other tests what was evicted is freed later, and more is evicted meanwhile.
    assert!(kept(&loaded) > hot as usize / 100 * 90, "{} of {hot}", kept(&loaded));
    // With room for all it keeps their ranks too, though it grew while it was loaded.
    let loaded = load(CacheOptions::pairs(all as usize), &Store::new()).unwrap();
    assert!(loaded.len() > all as usize / 10 * 9);
    for key in all..2 * all {
        loaded.upsert(key.to_be_bytes(), [1; 32]).unwrap();
    }
    assert!(kept(&loaded) > hot as usize / 100 * 95, "{} of {hot}", kept(&loaded));
    let refused = load(CacheOptions::pairs(10), &Store::with_memory_limit(1_000));
    assert!(matches!(refused, Err(Error::MemoryLimit { .. })), "{refused:?}");
}

#[test]
fn pairs_too_large_for_a_smaller_cache_are_left_out() {
    let (store, _) = clocked(5);
    let cache = store.cache("c", CacheOptions::bytes(4 << 20)).unwrap();
    cache.upsert("large", vec![1; 1 << 20]).unwrap();
    cache.upsert("small", "1").unwrap();
    let bytes = saved(&cache);
    let saved = SavedCache::read(bytes.as_slice()).unwrap();
    let loaded = saved.load(&store, "loaded", CacheOptions::bytes(256 << 10), at(SAVED)).unwrap();
    assert!(loaded.memory() <= 256 << 10);
    assert_eq!(content(&loaded).into_keys().collect::<Vec<_>>(), [b"small"]);
}

#[test]
fn the_listener_hears_nothing_of_what_is_not_loaded() {
    let (store, now) = clocked(5);
    let cache = store.cache("c", CacheOptions::pairs(1_000)).unwrap();
    for key in 0..500_u32 {
        cache.upsert_for(key.to_be_bytes(), "1", millis(10 + u64::from(key % 2) * 1_000)).unwrap();
    }
    let told = Arc::new(Mutex::new(0));
    let tell = Arc::clone(&told);
    let bytes = saved(&cache);
    let options = CacheOptions::pairs(100).eviction_listener(move |_, _, _| *tell.lock().unwrap() += 1);
    let loaded =
        SavedCache::read(bytes.as_slice()).unwrap().load(&store, "loaded", options, at(SAVED)).unwrap();
    assert_eq!(*told.lock().unwrap(), 0);
    let stats = loaded.stats();
    assert_eq!((stats.hits, stats.misses, stats.writes), (0, 0, 500));
    assert_eq!(stats.evictions as usize + loaded.len(), 500);
    now.fetch_add(10, SeqCst);
    for key in 500..1_500_u32 {
        loaded.upsert(key.to_be_bytes(), "1").unwrap();
    }
    assert!(*told.lock().unwrap() > 900);
}

#[test]
fn what_cannot_be_loaded_leaves_the_store_as_it_was() {
    let (store, _) = clocked(5);
    let cache = store.cache("c", CacheOptions::pairs(10).codecs("str", "json")).unwrap();
    cache.upsert_for("a", "1", millis(100)).unwrap();
    store.table("t", Index::Hash).unwrap();
    let bytes = saved(&cache);
    let load = |store: &Store, name: &str, codecs: (&str, &str)| {
        let options = CacheOptions::pairs(10).codecs(codecs.0, codecs.1);
        SavedCache::read(bytes.as_slice()).unwrap().load(store, name, options, at(SAVED))
    };
    let own = ("str", "json");
    assert!(matches!(load(&store, "t", own), Err(Error::NameInUse { by: "table", .. })));
    assert!(matches!(load(&store, "c", own), Err(Error::NameInUse { by: "cache", .. })));
    assert!(matches!(load(&store, "", own), Err(Error::TableName { .. })));
    let refused = load(&store, "d", ("str", "msgpack")).unwrap_err();
    assert!(matches!(&refused, Error::WrongCodec { has, needs, .. } if has == "json" && needs == "msgpack"));
    assert!(matches!(load(&Store::new(), "d", own), Err(Error::NoClock)));
    assert_eq!(store.caches().len(), 1);
    let memory = store.memory();
    for codecs in [own, ("bytes", "bytes")] {
        assert_eq!(load(&store, "d", codecs).unwrap().codecs(), own);
        assert!(store.memory() > memory && store.drop_cache("d"));
    }
}

// --- what is not a cache

#[test]
fn a_store_is_no_cache_and_a_cache_no_store() {
    let (store, _) = clocked(5);
    store.table("t", Index::Hash).unwrap().upsert("a", "1").unwrap();
    let cache = store.cache("c", CacheOptions::pairs(10)).unwrap();
    cache.upsert("a", "1").unwrap();
    let mut dump = Vec::new();
    store.dump(&mut dump).unwrap();
    assert_corrupt(&dump, 8, "a store, not a cache");
    let refused = Store::load(&mut saved(&cache).as_slice());
    assert!(
        matches!(refused, Err(Error::Corrupt { offset: 8, what: "it holds a cache, not a store" })),
        "{refused:?}"
    );
    assert_corrupt(&file_of_version(3, 0, &[]), 8, "a version that this release does not know");
    assert_corrupt(b"", 0, "it ends within the header");
    assert_corrupt(&[b'x'; 100], 0, "does not begin as a Twindex file");
}

#[test]
fn no_byte_may_be_missing_or_other() {
    let (store, _) = clocked(5);
    let cache = store.cache("c", CacheOptions::pairs(10).ttl(millis(100))).unwrap();
    for key in ["key1", "key1/name", "key1/size", "key2", "key2/name", "key2/size"] {
        cache.upsert(key, "value").unwrap();
    }
    cache.upsert_for("ever", "value", Duration::MAX).unwrap();
    let bytes = saved(&cache);
    let is_corrupt = |bytes: &[u8]| {
        let refused =
            |error: Error| matches!(error, Error::Corrupt { offset, .. } if offset <= bytes.len() as u64);
        load(bytes).is_err_and(refused)
            && SavedCache::read(bytes).and_then(SavedCache::check).is_err_and(refused)
    };
    for length in 0..bytes.len() {
        assert!(is_corrupt(&bytes[..length]), "the first {length} bytes");
    }
    for place in 0..bytes.len() {
        for bit in [1, 0x80] {
            let mut damaged = bytes.clone();
            damaged[place] ^= bit;
            assert!(is_corrupt(&damaged), "byte {place} with other bits {bit:#x}");
        }
    }
    // As with a dump, what follows is not looked at.
    assert_eq!(load(&[&bytes, b"more".as_slice()].concat()).unwrap().len(), 7);
}

/// The record of a cache.
fn head(id: u64, sizes: [u64; 2], ttl: u64) -> Record {
    let numbers = [sizes[0], sizes[1], ttl, SAVED].map(u64::to_le_bytes);
    let entry = entry(0, b"str", b"bytes", b"c");
    (1, [varint(id), varint(7), numbers.concat(), entry].concat())
}

fn ever(rank: u8) -> Vec<u8> {
    vec![b'v', rank]
}

#[test]
fn files_made_by_hand_are_read_or_refused() {
    const NONE: u64 = u64::MAX;
    let own = || head(0, [NONE, 10], NONE);
    let file = |records: &[Record]| file_of_version(2, 0, records);
    let start = file(&[own()]).len() as u64;
    let pair = |key: &[u8], value: &[u8]| pair(0, key, value);

    let until = [b"v".as_slice(), &(SAVED + 9).to_le_bytes(), &[4 | 3]].concat();
    let good = file(&[
        own(),
        pairs(&[pair(b"a", &ever(0)), pair(b"b", &until)]),
        pairs(&[pair(b"c", &ever(3)), pair(b"b", &ever(1))]),
        end(4),
    ]);
    // Of a key that comes twice the last value counts.
    let loaded = load(&good).unwrap();
    assert_eq!(loaded.len(), 3);
    assert_eq!((loaded.ttl("b"), loaded.peek("c").as_deref()), (Some(None), Some(&b"v"[..])));

    // Also where that one has expired, or where there is no room for it.
    let over = [b"v".as_slice(), &SAVED.to_le_bytes(), &[4]].concat();
    let large = [vec![b'v'; 1 << 20], vec![0]].concat();
    for last in [over, large] {
        let twice = file(&[
            head(0, [256 << 10, NONE], NONE),
            pairs(&[pair(b"a", &ever(0)), pair(b"b", &ever(0))]),
            pairs(&[pair(b"b", &last)]),
            end(3),
        ]);
        assert_eq!(content(&load(&twice).unwrap()).into_keys().collect::<Vec<_>>(), [b"a"]);
    }

    let bad = "a cached pair's rank or time is not valid";
    for value in [&b""[..], &[8], &[b'v', 0x80], &[4], &[1, 2, 3, 4, 5, 6, 7, 4]] {
        assert_corrupt(&file(&[own(), pairs(&[pair(b"a", value)]), end(1)]), start, bad);
    }
    assert_corrupt(&file(&[own(), pairs(&[lengths(9, 0, 0)]), end(1)]), start, "runs over its limits");
    assert_corrupt(&file(&[own(), end(1)]), start, "the number of pairs");
    assert_corrupt(&file(&[own(), own(), end(0)]), start, "out of place");
    assert_corrupt(&file(&[own(), (4, vec![]), end(0)]), start, "out of place");
    assert_corrupt(&file(&[own(), (2, vec![1]), end(0)]), start, "out of place");
    assert_corrupt(&file(&[own(), (2, vec![]), end(0)]), start, "out of place");
    let describes = "the record that describes the cache";
    for first in [end(0), head(1, [NONE, 10], NONE), table(0, b"c"), (1, vec![0]), pairs(&[])] {
        assert_corrupt(&file(&[first, end(0)]), 24, describes);
    }
    assert_corrupt(&file(&[]), 24, describes);
    // A capacity that nothing can fill claims nothing.
    for sizes in [[NONE, NONE], [NONE - 1, NONE], [NONE, NONE - 1], [NONE, 0], [1 << 30, 1 << 30]] {
        let loaded =
            load(&file(&[head(0, sizes, NONE - 1), pairs(&[pair(b"a", &ever(0))]), end(1)])).unwrap();
        assert!(loaded.len() == 1 && loaded.memory() < 1 << 20);
    }
    let refused = load(&file(&[head(0, [1_000, NONE], NONE), end(0)]));
    assert!(matches!(refused, Err(Error::MemoryLimit { .. })), "{refused:?}");
}

/// Drops the cache once something was written.
struct Dropping<'s>(&'s Store);

impl std::io::Write for Dropping<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.drop_cache("c");
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A dropped cache was dumped as an empty one, which then took the place of a good file.
#[test]
fn a_dropped_cache_is_not_dumped() {
    let (store, _) = clocked(5);
    let cache = store.cache("c", CacheOptions::pairs(100_000)).unwrap();
    for key in 0..20_000_u32 {
        cache.upsert(key.to_be_bytes(), [1; 100]).unwrap();
    }
    for _ in ["meanwhile", "before"] {
        let refused = write_cache(&cache, at(SAVED), &mut Dropping(&store), &mut |_| {});
        assert!(matches!(&refused, Err(Error::TableDropped { table }) if table == "c"), "{refused:?}");
    }
}

#[test]
fn it_is_saved_while_it_is_used() {
    let (store, _) = clocked(5);
    let rounds = if SMALL { 2 } else { 20 };
    let stays = if SMALL { 50 } else { 5_000_u32 };
    let cache = store.cache("c", CacheOptions::pairs(1_000_000)).unwrap();
    for key in 0..stays {
        cache.upsert(key.to_be_bytes(), key.to_be_bytes()).unwrap();
    }
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let write = |first: u32| {
            let mut key = first;
            while !done.load(SeqCst) {
                cache.upsert(key.to_be_bytes(), key.to_be_bytes()).unwrap();
                cache.delete((key - 100).to_be_bytes()).unwrap();
                cache.select((key % stays).to_be_bytes());
                key += 1;
            }
        };
        scope.spawn(move || write(1 << 30));
        scope.spawn(move || write(1 << 31));
        for _ in 0..rounds {
            let loaded = load(&saved(&cache)).unwrap();
            assert!((0..stays).all(|key| loaded.contains(key.to_be_bytes())));
            assert!(loaded.iter().all(|(key, value)| key == value));
        }
        done.store(true, SeqCst);
    });
}
