//! The libraries that are compared.

/// A cache under test.
pub trait Cache {
    /// Asks for a key, and puts it in where it is absent; whether it was there.
    fn request(&mut self, key: u64) -> bool;
}

pub struct Lru(schnellru::LruMap<u64, u64>);

impl Lru {
    pub fn new(capacity: usize) -> Self {
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

pub struct QuickCache(quick_cache::unsync::Cache<u64, u64>);

impl QuickCache {
    pub fn new(capacity: usize) -> Self {
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

pub struct Moka(moka::sync::Cache<u64, u64>);

impl Moka {
    pub fn new(capacity: usize) -> Self {
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

pub struct MiniMoka(mini_moka::unsync::Cache<u64, u64>);

impl MiniMoka {
    pub fn new(capacity: usize) -> Self {
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

pub struct Twindex(twindex::Cache);

impl Twindex {
    pub fn new(capacity: usize) -> Self {
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
