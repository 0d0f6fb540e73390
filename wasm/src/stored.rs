//! The verbs on the pairs of a table, of a store or in a transaction, as they are stored.

use twindex::{Table, Write};
use twindex_format::Operation;

use crate::answer::Output;
use crate::direction::Direction;
use crate::expiry::Expiry;
use crate::failure::{Failed, Failure};
use crate::journal::{Log, Logged};
use crate::range::{Range, as_slices};
use crate::read::read;
use crate::reserve;
use crate::transaction::Open;

pub(crate) const OF_TRANSACTION: &str = "table of a transaction";

#[derive(Clone, Copy)]
pub(crate) enum Stored<'h> {
    /// A table, and its place in the file of its store where that is kept.
    Table(&'h Table, Option<&'h Logged>),
    /// A table in a transaction.
    Part(&'h Table, &'h Open),
}

impl<'h> Stored<'h> {
    pub(crate) fn table(self) -> &'h Table {
        let (Self::Table(table, _) | Self::Part(table, _)) = self;
        table
    }

    /// The table of a store.
    pub(crate) fn of_store(self) -> Result<(&'h Table, Option<&'h Logged>), Failed> {
        match self {
            Self::Table(table, logged) => Ok((table, logged)),
            Self::Part(..) => lacks(OF_TRANSACTION),
        }
    }

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
        }
    }

    #[inline]
    pub(crate) fn write(self, log: &mut Log, write: Write, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Part(table, transaction) => return transaction.write(write, table, key, value),
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
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Part(table, transaction) => return transaction.delete(table, key),
        };
        log.expect(logged, key.len())?;
        let done = table.delete(key)?;
        if done {
            log.add(logged, Operation::Delete(key));
        }
        Ok(done)
    }

    #[inline]
    pub(crate) fn increment(self, log: &mut Log, key: &[u8], by: i64) -> Result<i64, Failed> {
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Part(table, transaction) => return transaction.increment(table, key, by),
        };
        log.expect(logged, key.len())?;
        let sum = table.increment(key, by)?;
        if logged.is_some() {
            log.add(logged, Operation::Put(key, sum.to_string().as_bytes()));
        }
        Ok(sum)
    }

    pub(crate) fn compare_and_swap(
        self,
        log: &mut Log,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        let (table, logged) = match self {
            Self::Table(table, logged) => (table, logged),
            Self::Part(table, transaction) => {
                return transaction.compare_and_swap(table, key, expected, new);
            }
        };
        log.expect(logged, key.len() + new.map_or(0, <[u8]>::len))?;
        let done = table.compare_and_swap(key, expected, new)?;
        if done && expected.or(new).is_some() {
            log.add(logged, new.map_or(Operation::Delete(key), |new| Operation::Put(key, new)));
        }
        Ok(done)
    }

    pub(crate) fn clear(self, log: &mut Log) -> Result<(), Failed> {
        let (table, logged) = self.of_store()?;
        log.expect(logged, 0)?;
        table.clear()?;
        // Nothing of a dropped table is in the file any more.
        log.add(logged.filter(|_| !table.is_dropped()), Operation::Clear);
        Ok(())
    }

    /// Pushes up to `count` pairs of a range, or until they are `bytes` long: how many there were.
    pub(crate) fn scan(
        self,
        range: Range,
        direction: Direction,
        output: &mut Output,
        limits: (usize, usize),
        expiry: Option<&Expiry>,
    ) -> Result<usize, Failed> {
        match self {
            Self::Table(table, _) => {
                let mut cursor = table.cursor(as_slices(&range))?;
                direction.push_block(&mut cursor, output, limits, expiry)
            }
            Self::Part(table, transaction) => {
                transaction.scan(table, range, direction, output, limits, expiry)
            }
        }
    }

    /// Fails where a verb that changes nothing would: the table was dropped, or is a snapshot's.
    pub(crate) fn check_writable(self, log: &mut Log) -> Result<(), Failed> {
        self.compare_and_swap(log, &[], None, None).map(drop)
    }
}

#[cold]
#[inline(never)]
pub(crate) fn lacks<T>(of: &'static str) -> Result<T, Failed> {
    Err(Failure::Lacks { of }.into())
}
