//! The verbs on the pairs of a table or a cache.

use twindex::{Table, Write};

use crate::answer::Output;
use crate::block::{self, Items, Shape};
use crate::cached::Cached;
use crate::direction::Direction;
use crate::expiring::Expiring;
use crate::failure::Failed;
use crate::journal::Log;
use crate::range::{Range, as_slices};
use crate::reserve;
use crate::stored::{Stored, lacks};

/// So many pairs are deleted at once.
const GROUP: usize = 64;

/// What has pairs.
#[derive(Clone, Copy)]
pub(crate) enum Pairs<'h> {
    /// A table whose pairs stay.
    Plain(Stored<'h>),
    /// A table whose pairs expire.
    Expiring(Expiring<'h>),
    Cache(&'h Cached),
}

impl<'h> Pairs<'h> {
    pub(crate) fn stored(self) -> Result<Stored<'h>, Failed> {
        match self {
            Self::Plain(stored) | Self::Expiring(Expiring { stored, .. }) => Ok(stored),
            Self::Cache(_) => lacks("cache"),
        }
    }

    /// The table that it is.
    pub(crate) fn table(self) -> Result<&'h Table, Failed> {
        Ok(self.stored()?.table())
    }

    pub(crate) fn expiring(self) -> Result<Expiring<'h>, Failed> {
        if let Self::Expiring(table) = self { Ok(table) } else { lacks("table whose pairs do not expire") }
    }

    /// Shows `show` the value of a key; whether the key is present.
    #[inline]
    pub(crate) fn read(
        self,
        key: &[u8],
        mut show: impl FnMut(&[u8]) -> Result<(), Failed>,
    ) -> Result<bool, Failed> {
        match self {
            Self::Plain(stored) => stored.read(key, show),
            Self::Expiring(table) => table.read(key, &mut show),
            Self::Cache(cache) => cache.read(key, &mut show),
        }
    }

    #[inline]
    pub(crate) fn contains(self, key: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Plain(stored) => stored.read(key, |_| Ok(())),
            Self::Expiring(table) => table.read(key, &mut |_| Ok(())),
            Self::Cache(cache) => Ok(cache.contains(key)),
        }
    }

    /// Does one of the three verbs that give a key a value; whether it took effect. A pair of a cache lives as long as the cache says.
    #[inline]
    pub(crate) fn write(self, log: &mut Log, write: Write, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Plain(stored) => stored.write(log, write, key, value),
            Self::Expiring(table) => table.write(log, write, key, value),
            Self::Cache(cache) => cache.write(write, key, value, None),
        }
    }

    #[inline]
    pub(crate) fn delete(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Plain(stored) => stored.delete(log, key),
            Self::Expiring(table) => table.delete(log, key),
            Self::Cache(cache) => Ok(cache.delete(key)),
        }
    }

    #[inline]
    pub(crate) fn increment(self, log: &mut Log, key: &[u8], by: i64) -> Result<i64, Failed> {
        match self {
            Self::Plain(stored) => stored.increment(log, key, by),
            Self::Expiring(table) => table.increment(log, key, by),
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
        reserve::ensure(key.len() + new.map_or(0, <[u8]>::len))?;
        match self {
            Self::Plain(stored) => stored.compare_and_swap(log, key, expected, new),
            Self::Expiring(table) => table.compare_and_swap(log, key, expected, new),
            Self::Cache(cache) => cache.compare_and_swap(key, expected, new),
        }
    }

    pub(crate) fn clear(self, log: &mut Log) -> Result<(), Failed> {
        if let Self::Cache(cache) = self {
            cache.clear();
            return Ok(());
        }
        self.stored()?.clear(log)
    }

    pub(crate) fn len(self) -> Result<usize, Failed> {
        if let Self::Cache(cache) = self { Ok(cache.len()) } else { Ok(self.stored()?.of_store()?.0.len()) }
    }

    pub(crate) fn memory(self) -> Result<usize, Failed> {
        if let Self::Cache(cache) = self {
            Ok(cache.memory())
        } else {
            Ok(self.stored()?.of_store()?.0.memory())
        }
    }

    /// Pushes up to `count` pairs of a range, or until they are `bytes` long: how many there were.
    pub(crate) fn scan(
        self,
        range: Range,
        direction: Direction,
        output: &mut Output,
        limits: (usize, usize),
    ) -> Result<usize, Failed> {
        let expiry = if let Self::Expiring(table) = self { Some(table.expiry) } else { None };
        self.stored()?.scan(range, direction, output, limits, expiry)
    }

    /// Removes the pairs of a range of a table: how many there were.
    pub(crate) fn delete_range(
        self,
        log: &mut Log,
        range: &Range,
        output: &mut Output,
    ) -> Result<usize, Failed> {
        let stored = self.stored()?;
        let mut cursor = stored.of_store()?.0.cursor(as_slices(range))?;
        stored.check_writable(log)?;
        let mut deleted = 0;
        loop {
            let (keys, mut outcome) = (output.start(), Ok(()));
            let push: &mut dyn FnMut(&[u8], &[u8]) -> bool = &mut |key, _| {
                outcome = block::push_key(keys, key);
                outcome.is_ok()
            };
            cursor.steps(true, GROUP, push);
            if keys.len() == 0 {
                outcome?;
                return Ok(deleted);
            }
            let mut items = Items::new(keys.bytes(), Shape::Key);
            while let Some(item) = items.next()? {
                deleted += usize::from(self.delete(log, item.key)?);
            }
        }
    }

    #[inline]
    pub(crate) fn prefetch(self, keys: &[&[u8]]) {
        if let Self::Plain(Stored::Table(table, _)) = self {
            table.prefetch(keys);
        }
    }
}
