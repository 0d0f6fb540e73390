//! The verbs on the pairs of a table or a cache.

use twindex::{Table, Write};
use twindex_format::Operation;

use crate::cached::Cached;
use crate::failure::Failed;
use crate::journal::{Log, Logged};
use crate::read::read;
use crate::reserve;

/// What has pairs.
#[derive(Clone, Copy)]
pub(crate) enum Pairs<'h> {
    /// A table, and its place in the file of its store where that is kept.
    Table(&'h Table, Option<&'h Logged>),
    Cache(&'h Cached),
}

impl Pairs<'_> {
    /// Shows `show` the value of a key; whether the key is there.
    #[inline]
    pub(crate) fn read(
        self,
        key: &[u8],
        mut show: impl FnMut(&[u8]) -> Result<(), Failed>,
    ) -> Result<bool, Failed> {
        match self {
            Self::Table(table, _) => read(table, key, show),
            Self::Cache(cache) => cache.read(key, &mut show),
        }
    }

    #[inline]
    pub(crate) fn contains(self, key: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Table(table, _) => read(table, key, |_| Ok(())),
            Self::Cache(cache) => Ok(cache.contains(key)),
        }
    }

    /// Does one of the three verbs that give a key a value; whether it took effect. A pair of a cache lives as long as the cache says.
    #[inline]
    pub(crate) fn write(self, log: &mut Log, write: Write, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Cache(cache) => return cache.write(write, key, value, None),
        };
        reserve::ensure(key.len() + value.len())?;
        log.expect(logged, key.len() + value.len())?;
        let done = table.write(write, key, value)?;
        if done {
            log.add(logged, Operation::Put(key, value));
        }
        Ok(done)
    }

    #[inline]
    pub(crate) fn delete(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Table(table, logged) => {
                log.expect(logged, key.len())?;
                let done = table.delete(key)?;
                if done {
                    log.add(logged, Operation::Delete(key));
                }
                Ok(done)
            }
            Self::Cache(cache) => Ok(cache.delete(key)),
        }
    }

    #[inline]
    pub(crate) fn increment(self, log: &mut Log, key: &[u8], by: i64) -> Result<i64, Failed> {
        match self {
            Self::Table(table, logged) => {
                log.expect(logged, key.len())?;
                let sum = table.increment(key, by)?;
                if logged.is_some() {
                    log.add(logged, Operation::Put(key, sum.to_string().as_bytes()));
                }
                Ok(sum)
            }
            Self::Cache(cache) => cache.increment(key, by),
        }
    }

    pub(crate) fn compare_and_swap(
        self,
        log: &mut Log,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        let bytes = key.len() + new.map_or(0, <[u8]>::len);
        reserve::ensure(bytes)?;
        match self {
            Self::Table(table, logged) => {
                log.expect(logged, bytes)?;
                let done = table.compare_and_swap(key, expected, new)?;
                if done {
                    log.add(logged, new.map_or(Operation::Delete(key), |new| Operation::Put(key, new)));
                }
                Ok(done)
            }
            Self::Cache(cache) => cache.compare_and_swap(key, expected, new),
        }
    }

    pub(crate) fn clear(self, log: &mut Log) -> Result<(), Failed> {
        match self {
            Self::Table(table, logged) => {
                log.expect(logged, 0)?;
                table.clear()?;
                // Nothing of a dropped table is in the file any more.
                log.add(logged.filter(|_| !table.is_dropped()), Operation::Clear);
                Ok(())
            }
            Self::Cache(cache) => {
                cache.clear();
                Ok(())
            }
        }
    }

    pub(crate) fn len(self) -> usize {
        match self {
            Self::Table(table, _) => table.len(),
            Self::Cache(cache) => cache.len(),
        }
    }

    pub(crate) fn memory(self) -> usize {
        match self {
            Self::Table(table, _) => table.memory(),
            Self::Cache(cache) => cache.memory(),
        }
    }

    #[inline]
    pub(crate) fn prefetch(self, keys: &[&[u8]]) {
        if let Self::Table(table, _) = self {
            table.prefetch(keys);
        }
    }
}
