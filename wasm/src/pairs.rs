//! The verbs on the pairs of a table or a cache.

use twindex::{Table, Write};
use twindex_format::Operation;

use crate::answer::Output;
use crate::block::{self, Items, Shape};
use crate::cached::Cached;
use crate::direction::Direction;
use crate::expiring::{Expiring, Stored};
use crate::failure::{Failed, Failure};
use crate::journal::{Log, Logged};
use crate::range::{Range, as_slices};
use crate::read::read;
use crate::reserve;
use crate::transaction::Open;

/// So many pairs are deleted at once.
const GROUP: usize = 64;

/// What has pairs.
#[derive(Clone, Copy)]
pub(crate) enum Pairs<'h> {
    /// A table, and its place in the file of its store where that is kept.
    Table(&'h Table, Option<&'h Logged>),
    /// A table whose pairs expire.
    Expiring(Expiring<'h>),
    /// A table in a transaction.
    Part(&'h Table, &'h Open),
    Cache(&'h Cached),
}

impl<'h> Pairs<'h> {
    /// The table that it is.
    pub(crate) fn table(self) -> Result<&'h Table, Failed> {
        match self {
            Self::Table(table, _) | Self::Part(table, _) => Ok(table),
            Self::Expiring(Expiring { stored, .. }) => Ok(stored.table()),
            Self::Cache(_) => lacks("cache"),
        }
    }

    pub(crate) fn expiring(self) -> Result<Expiring<'h>, Failed> {
        if let Self::Expiring(table) = self { Ok(table) } else { lacks("table whose pairs do not expire") }
    }

    /// Shows `show` the value of a key; whether the key is there.
    #[inline]
    pub(crate) fn read(
        self,
        key: &[u8],
        mut show: impl FnMut(&[u8]) -> Result<(), Failed>,
    ) -> Result<bool, Failed> {
        match self {
            Self::Table(table, _) => read(table, key, show),
            Self::Part(table, transaction) => match transaction.select(table, key)? {
                Some(value) => show(&value).map(|()| true),
                None => Ok(false),
            },
            Self::Expiring(table) => table.read(key, &mut show),
            Self::Cache(cache) => cache.read(key, &mut show),
        }
    }

    #[inline]
    pub(crate) fn contains(self, key: &[u8]) -> Result<bool, Failed> {
        match self {
            Self::Table(table, _) => read(table, key, |_| Ok(())),
            Self::Part(table, transaction) => Ok(transaction.select(table, key)?.is_some()),
            Self::Expiring(table) => table.read(key, &mut |_| Ok(())),
            Self::Cache(cache) => Ok(cache.contains(key)),
        }
    }

    /// Does one of the three verbs that give a key a value; whether it took effect. A pair of a cache lives as long as the cache says.
    #[inline]
    pub(crate) fn write(self, log: &mut Log, write: Write, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Part(table, transaction) => return transaction.write(write, table, key, value),
            Self::Expiring(table) => return table.write(log, write, key, value),
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
            Self::Part(table, transaction) => transaction.delete(table, key),
            Self::Expiring(table) => table.delete(log, key),
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
            Self::Part(table, transaction) => transaction.increment(table, key, by),
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
        let bytes = key.len() + new.map_or(0, <[u8]>::len);
        reserve::ensure(bytes)?;
        match self {
            Self::Table(table, logged) => {
                log.expect(logged, bytes)?;
                let done = table.compare_and_swap(key, expected, new)?;
                if done && expected.or(new).is_some() {
                    log.add(logged, new.map_or(Operation::Delete(key), |new| Operation::Put(key, new)));
                }
                Ok(done)
            }
            Self::Part(table, transaction) => transaction.compare_and_swap(table, key, expected, new),
            Self::Expiring(table) => table.compare_and_swap(log, key, expected, new),
            Self::Cache(cache) => cache.compare_and_swap(key, expected, new),
        }
    }

    pub(crate) fn clear(self, log: &mut Log) -> Result<(), Failed> {
        match self {
            Self::Expiring(Expiring { stored, .. }) => stored.pairs().clear(log),
            Self::Table(table, logged) => {
                log.expect(logged, 0)?;
                table.clear()?;
                // Nothing of a dropped table is in the file any more.
                log.add(logged.filter(|_| !table.is_dropped()), Operation::Clear);
                Ok(())
            }
            Self::Part(..) => lacks("table of a transaction"),
            Self::Cache(cache) => {
                cache.clear();
                Ok(())
            }
        }
    }

    pub(crate) fn len(self) -> Result<usize, Failed> {
        match self {
            Self::Table(table, _) => Ok(table.len()),
            Self::Expiring(Expiring { stored, .. }) => stored.pairs().len(),
            Self::Part(..) => lacks("table of a transaction"),
            Self::Cache(cache) => Ok(cache.len()),
        }
    }

    pub(crate) fn memory(self) -> Result<usize, Failed> {
        match self {
            Self::Table(table, _) => Ok(table.memory()),
            Self::Expiring(Expiring { stored, .. }) => stored.pairs().memory(),
            Self::Part(..) => lacks("table of a transaction"),
            Self::Cache(cache) => Ok(cache.memory()),
        }
    }

    /// Pushes up to `count` pairs of a range, or until they are `bytes` long: how many there were.
    pub(crate) fn scan(
        self,
        range: Range,
        direction: Direction,
        output: &mut Output,
        (count, bytes): (usize, usize),
    ) -> Result<usize, Failed> {
        match self {
            Self::Table(table, _) => {
                let mut cursor = table.cursor(as_slices(&range))?;
                direction.push_block(&mut cursor, output, (count, bytes), None)
            }
            Self::Expiring(Expiring { stored: Stored::Table(table, _), expiry }) => {
                let mut cursor = table.cursor(as_slices(&range))?;
                direction.push_block(&mut cursor, output, (count, bytes), Some(expiry))
            }
            Self::Expiring(Expiring { stored: Stored::Part(table, transaction), expiry }) => {
                transaction.scan(table, range, direction, output, (count, bytes), Some(expiry))
            }
            Self::Part(table, transaction) => {
                transaction.scan(table, range, direction, output, (count, bytes), None)
            }
            Self::Cache(_) => lacks("cache"),
        }
    }

    /// Fails where a verb that changes nothing would: the table was dropped, or is a snapshot's.
    pub(crate) fn check_writable(self, log: &mut Log) -> Result<(), Failed> {
        self.compare_and_swap(log, &[], None, None).map(drop)
    }

    /// Removes the pairs of a range of a table: how many there were.
    pub(crate) fn delete_range(
        self,
        log: &mut Log,
        range: &Range,
        output: &mut Output,
    ) -> Result<usize, Failed> {
        let table = match self {
            Self::Table(table, _) | Self::Expiring(Expiring { stored: Stored::Table(table, _), .. }) => table,
            Self::Part(..) | Self::Expiring(..) => return lacks("table of a transaction"),
            Self::Cache(_) => return lacks("cache"),
        };
        let mut cursor = table.cursor(as_slices(range))?;
        self.check_writable(log)?;
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
        if let Self::Table(table, _) = self {
            table.prefetch(keys);
        }
    }
}

#[cold]
#[inline(never)]
pub(crate) fn lacks<T>(of: &'static str) -> Result<T, Failed> {
    Err(Failure::Lacks { of }.into())
}
