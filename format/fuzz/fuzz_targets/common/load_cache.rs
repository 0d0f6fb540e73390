//! What a target asks of a reader of caches.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use twindex::{Cache, CacheOptions, Error, Store};
use twindex_format::{SavedCache, write_cache};

/// Loads the bytes as a cache, or has them refused. What is loaded can be dumped and loaded again, and a smaller cache keeps its
/// limit.
pub fn load_cache(bytes: &[u8]) {
    let loaded = load_with(bytes, |options| options);
    let checked = SavedCache::read(bytes).and_then(SavedCache::check);
    if !matches!(loaded, Err(Error::MemoryLimit { .. })) {
        assert_eq!(checked.is_ok(), loaded.is_ok());
    }
    let Ok(cache) = loaded else { return };
    let mut again = Vec::new();
    write_cache(&cache, UNIX_EPOCH + Duration::from_millis(NOW), &mut again, &mut |_| {})
        .expect("memory takes any dump");
    let copy = load_with(&again, |options| options).expect("a dump loads");
    let all = pairs(&cache);
    assert!(pairs(&copy).iter().all(|(key, pair)| all.get(key) == Some(pair)));
    let (keys, values) = cache.codecs();
    let few = load_with(&again, |_| CacheOptions::pairs(3).codecs(keys, values));
    assert!(few.expect("what does not fit is dropped").len() <= 3);
}

/// The time of day, and that of the store's clock.
const NOW: u64 = 1_000;

fn load_with(bytes: &[u8], options: impl FnOnce(CacheOptions) -> CacheOptions) -> twindex::Result<Cache> {
    let store = Store::with_memory_limit(64 << 20);
    store.set_clock(|| NOW);
    let saved = SavedCache::read(bytes)?;
    let options = options(saved.options());
    let loaded = saved.load(&store, "c", options, UNIX_EPOCH + Duration::from_millis(NOW));
    match &loaded {
        Err(Error::Corrupt { offset, .. }) => assert!(*offset <= bytes.len() as u64),
        Ok(_) | Err(Error::MemoryLimit { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    loaded
}

fn pairs(cache: &Cache) -> BTreeMap<Vec<u8>, (Vec<u8>, Option<Duration>)> {
    let (mut pairs, mut next) = (BTreeMap::new(), Some(0));
    while let Some(from) = next {
        next = cache.walk(from, |key, value, left| drop(pairs.insert(key.to_vec(), (value.to_vec(), left))));
    }
    pairs
}
