//! Caches behind handles: each verb with an error for memory that ends, and for what a cache refuses.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use twindex::{Error, Write, check_key};
use twindex_cache::{Cache, Error as CacheError, Ttl};

use crate::answer::Output;
use crate::failure::{Failed, Failure};
use crate::reserve;

/// Shows a value.
pub(crate) type Show<'s> = &'s mut dyn FnMut(&[u8]) -> Result<(), Failed>;

/// The pairs that a cache has evicted since the host asked last.
pub(crate) type Evicted = Arc<Mutex<Output>>;

#[derive(Clone)]
pub(crate) struct Cached(pub(crate) Cache, pub(crate) Evicted);

impl Cached {
    /// Shows the value of a key, which counts as a use; whether the key is present.
    pub(crate) fn read(&self, key: &[u8], show: Show<'_>) -> Result<bool, Failed> {
        Ok(self.0.get_with(key, show).transpose()?.is_some())
    }

    /// The same, which does not count as a use.
    pub(crate) fn peek(&self, key: &[u8], show: Show<'_>) -> Result<bool, Failed> {
        Ok(self.0.peek_with(key, show).transpose()?.is_some())
    }

    pub(crate) fn contains(&self, key: &[u8]) -> bool {
        self.0.contains(key)
    }

    /// Does a verb for a pair that lives this long, or as long as the cache says; whether it took effect.
    pub(crate) fn write(
        &self,
        write: Write,
        key: &[u8],
        value: &[u8],
        ttl: Option<Duration>,
    ) -> Result<bool, Failed> {
        check_key(key)?;
        reserve::ensure(key.len() + value.len())?;
        Ok(match (write, ttl) {
            (Write::Insert, ttl) => self.0.insert(key, value, ttl)?,
            (Write::Replace, ttl) => self.0.replace(key, value, ttl)?,
            (Write::Upsert, None) => self.0.upsert(key, value)?,
            (Write::Upsert, Some(ttl)) => self.0.upsert_for(key, value, ttl)?,
        })
    }

    pub(crate) fn delete(&self, key: &[u8]) -> bool {
        self.0.remove(key)
    }

    pub(crate) fn increment(&self, key: &[u8], by: i64) -> Result<i64, Failed> {
        check_key(key)?;
        Ok(self.0.increment(key, by)?)
    }

    pub(crate) fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        check_key(key)?;
        Ok(self.0.compare_and_swap(key, expected, new)?)
    }

    /// The milliseconds that a pair still lives, -1 for ever.
    pub(crate) fn ttl(&self, key: &[u8]) -> Option<i64> {
        match self.0.ttl(key) {
            Ttl::Absent => None,
            Ttl::Forever => Some(-1),
            Ttl::Left(left) => Some(millis(left)),
        }
    }

    pub(crate) fn touch(&self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        // The cache copies the value on the way.
        self.peek(key, &mut |value| reserve::ensure(value.len()))?;
        Ok(self.0.touch(key, ttl)?)
    }

    pub(crate) fn clear(&self) {
        self.0.clear();
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Shows a part of the pairs: where the next one begins, if there is one.
    pub(crate) fn walk(&self, from: u64, show: &mut dyn FnMut(&[u8], &[u8])) -> Option<u64> {
        self.0.walk(from, show)
    }
}

/// As an answer. Without the 128 bits of `as_millis`, which take a kilobyte of code.
pub(crate) fn millis(time: Duration) -> i64 {
    let whole = time.as_secs().saturating_mul(1000).saturating_add(time.subsec_millis().into());
    i64::try_from(whole).unwrap_or(i64::MAX)
}

impl From<CacheError> for Failed {
    #[cold]
    #[inline(never)]
    fn from(error: CacheError) -> Self {
        let failure = match error {
            CacheError::Capacity { bytes, entries } => Failure::Capacity { bytes, entries },
            CacheError::NotAnInteger => Failure::NotAnInteger,
            CacheError::NoRoom { needed } => Failure::NoRoom { bytes: needed },
            CacheError::Ttl { .. } => Failure::Time,
            CacheError::NoClock => Failure::NoClock,
            CacheError::ValueTooLarge { len } => Failure::Engine(Error::ValueTooLarge { len }),
            CacheError::Overflow { value, by } => Failure::Engine(Error::Overflow { value, by }),
            CacheError::Corrupt { offset, what } => Failure::Engine(Error::Corrupt { offset, what }),
            // Keys are checked before, nobody waits, and what is written is memory.
            _ => Failure::NoMemory { bytes: 0 },
        };
        failure.into()
    }
}
