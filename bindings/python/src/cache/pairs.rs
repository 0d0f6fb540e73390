//! The pairs of a cache, also in a child of `fork`.

use std::sync::OnceLock;

use twindex::Write;
use twindex_cache::{Cache, CacheOptions, Error, Result};

use crate::prelude::*;
use crate::verbs::Engine;

/// A cache. In a child of `fork`, if nobody may use that of the parent, it is a new and empty one.
pub(super) struct Pairs {
    cache: Inherited<Cache>,
    /// What it was made with.
    options: CacheOptions,
    in_child: OnceLock<Box<Self>>,
}

impl Pairs {
    pub(super) fn new(cache: Cache, options: CacheOptions) -> Self {
        Self { cache: Inherited::new(cache), options, in_child: OnceLock::new() }
    }

    /// The cache of this process.
    #[inline]
    pub(super) fn here(&self) -> Result<&Cache> {
        if self.cache.is_foreign() { self.in_child() } else { Ok(&self.cache) }
    }

    #[cold]
    fn in_child(&self) -> Result<&Cache> {
        if self.in_child.get().is_none() {
            let own = Self::new(Cache::new(self.options.clone())?, self.options.clone());
            self.in_child.get_or_init(|| Box::new(own));
        }
        // It is there now.
        self.in_child.get().map_or(Ok(&*self.cache), |own| own.here())
    }
}

/// That a pair was kept.
fn kept(is_kept: bool, key: &[u8], value: &[u8]) -> Result<()> {
    if is_kept { Ok(()) } else { Err(Error::NoRoom { needed: key.len() + value.len() }) }
}

impl Engine for Cache {
    type Error = Error;

    const TURN: (usize, usize) = (AT_ONCE, 16 << 20);
    // A running computation for it is then not cached.
    const REMOVES_ABSENT: bool = true;

    fn write(&self, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Result<bool> {
        match (write, ttl) {
            (Write::Insert, ttl) => self.insert(key, value, ttl),
            (Write::Replace, ttl) => self.replace(key, value, ttl),
            (Write::Upsert, None) => self.upsert(key, value),
            (Write::Upsert, Some(ttl)) => self.upsert_for(key, value, ttl),
        }
    }

    #[inline]
    fn set(&self, key: &[u8], value: &[u8]) -> Result<()> {
        kept(self.upsert(key, value)?, key, value)
    }

    #[inline]
    fn delete(&self, key: &[u8]) -> Result<bool> {
        Ok(self.remove(key))
    }

    fn leave(&self, _: &[u8]) -> Result<bool> {
        Ok(false)
    }

    #[inline]
    fn increment(&self, key: &[u8], by: i64, _ttl: Option<Duration>) -> Result<i64> {
        self.increment(key, by)
    }

    fn compare_and_swap(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool> {
        self.compare_and_swap(key, expected, new)
    }

    fn set_many(&self, pairs: &[(Encoded<'_>, Encoded<'_>)]) -> Result<Vec<bool>> {
        let are_kept = self.upsert_many(pairs, None)?;
        for ((key, value), &is_kept) in pairs.iter().zip(&are_kept) {
            kept(is_kept, key.as_ref(), value.as_ref())?;
        }
        Ok(are_kept)
    }

    fn delete_many(&self, keys: &[Encoded<'_>]) -> Result<Vec<bool>> {
        Ok(self.remove_many(keys))
    }
}
