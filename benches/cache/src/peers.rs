//! The libraries that are compared.

/// The libraries, ours first.
pub const NAMES: [&str; 5] = ["twindex", "quick_cache", "moka", "mini-moka", "schnellru"];

/// A cache of the library of this name, which is one of [`NAMES`].
pub fn make(name: &str, capacity: usize) -> Box<dyn Cache> {
    match name {
        "twindex" => Box::new(Twindex::new(capacity)),
        "quick_cache" => Box::new(QuickCache::new(capacity)),
        "moka" => Box::new(Moka::new(capacity)),
        "mini-moka" => Box::new(MiniMoka::new(capacity)),
        _ => Box::new(Lru::new(capacity)),
    }
}

/// A cache under test.
pub trait Cache {
    /// Asks for a key, and puts it in where it is absent; whether it was there.
    fn request(&mut self, key: u64) -> bool;
}

struct Lru(schnellru::LruMap<u64, u64>);

impl Lru {
    fn new(capacity: usize) -> Self {
        Self(schnellru::LruMap::new(schnellru::ByLength::new(capacity as u32)))
    }
}

impl Cache for Lru {
    fn request(&mut self, key: u64) -> bool {
        let hit = self.0.get(&key).is_some();
        if !hit {
            self.0.insert(key, key);
        }
        hit
    }
}

struct QuickCache(quick_cache::unsync::Cache<u64, u64>);

impl QuickCache {
    fn new(capacity: usize) -> Self {
        Self(quick_cache::unsync::Cache::new(capacity))
    }
}

impl Cache for QuickCache {
    fn request(&mut self, key: u64) -> bool {
        let hit = self.0.get(&key).is_some();
        if !hit {
            self.0.insert(key, key);
        }
        hit
    }
}

struct Moka(moka::sync::Cache<u64, u64>);

impl Moka {
    fn new(capacity: usize) -> Self {
        Self(moka::sync::Cache::new(capacity as u64))
    }
}

impl Cache for Moka {
    fn request(&mut self, key: u64) -> bool {
        let hit = self.0.get(&key).is_some();
        if !hit {
            self.0.insert(key, key);
        }
        hit
    }
}

struct MiniMoka(mini_moka::unsync::Cache<u64, u64>);

impl MiniMoka {
    fn new(capacity: usize) -> Self {
        Self(mini_moka::unsync::Cache::new(capacity as u64))
    }
}

impl Cache for MiniMoka {
    fn request(&mut self, key: u64) -> bool {
        let hit = self.0.get(&key).is_some();
        if !hit {
            self.0.insert(key, key);
        }
        hit
    }
}

struct Twindex(twindex::Cache);

impl Twindex {
    fn new(capacity: usize) -> Self {
        let cache = twindex::Store::new().cache("cache", twindex::CacheOptions::pairs(capacity));
        Self(cache.expect("a new cache"))
    }
}

impl Cache for Twindex {
    fn request(&mut self, key: u64) -> bool {
        let hit = self.0.select_with(key.to_le_bytes(), <[u8]>::len).is_some();
        if !hit {
            self.0.upsert(key.to_le_bytes(), key.to_le_bytes()).expect("there is room");
        }
        hit
    }
}
