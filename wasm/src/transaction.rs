//! Transactions behind handles: each verb with an error for memory that ends.
//!
//! The engine copies what a transaction reads and writes, where nothing can fail. So each verb first makes sure that there is memory
//! for its copies.

use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::rc::Rc;

use twindex::{Error, Table, Transaction, Write};
use twindex_format::{FOREVER, Operation, has_expired, split_deadline};

use crate::answer::Output;
use crate::block;
use crate::direction::Direction;
use crate::expiry::{Expiry, Removal, shown};
use crate::failure::{Failed, Failure};
use crate::journal::{Log, Shared};
use crate::range::{Range, as_slices};
use crate::{reserve, time};

/// A scan reads so many pairs at once, and no more once they have so many bytes.
const GROUP: usize = 64;
const GROUP_BYTES: usize = 64 * 1024;
/// What the engine needs for a read beside its copies, and a record for a write.
const READ_BYTES: usize = 64;
const WRITE_BYTES: usize = 96;

/// A transaction, until it ends.
pub(crate) struct Open {
    engine: RefCell<Option<Transaction>>,
    /// The longest pair that it has read or written.
    longest: Cell<usize>,
    /// The bytes of the pairs that it has written.
    written: Cell<usize>,
    /// How many writes it has, at most, and how many reads.
    writes: Cell<usize>,
    reads: Cell<usize>,
    /// The time of its first use of a table whose pairs expire, which decides what has expired until it ends.
    moment: Cell<Option<u64>>,
    /// The first deadline among the pairs that were there before and that it gave another one.
    renewed: Cell<u64>,
    /// The first deadline that it wrote to each such table.
    lent: RefCell<Vec<(Rc<Removal>, u64)>>,
    /// The module without transactions has none, so the compiler leaves out all that would use one.
    #[cfg(not(feature = "transactions"))]
    none: std::convert::Infallible,
}

impl Open {
    #[cfg(feature = "transactions")]
    pub(crate) fn new(engine: Transaction) -> Self {
        let engine = RefCell::new(Some(engine));
        let [longest, written, writes, reads] = [const { Cell::new(0) }; 4];
        let (moment, renewed, lent) = (Cell::new(None), Cell::new(u64::MAX), RefCell::default());
        Self { engine, longest, written, writes, reads, moment, renewed, lent }
    }

    pub(crate) fn moment(&self) -> u64 {
        let moment = self.moment.get().unwrap_or_else(time::now);
        self.moment.set(Some(moment));
        moment
    }

    /// To be called before a pair that is there gets a deadline in place of `old`.
    pub(crate) fn renew(&self, table: &Table, key: &[u8], old: u64) {
        // A pair that the transaction wrote itself may expire within it.
        let is_its = |stored: &[u8]| split_deadline(stored).0 == old;
        if old != FOREVER && table.select_with(key, is_its) == Some(true) {
            self.renewed.update(|renewed| renewed.min(old));
        }
    }

    /// To be called before a pair with this deadline is written.
    pub(crate) fn lend(&self, removal: &Rc<Removal>, deadline: u64) -> Result<(), Failed> {
        if deadline == FOREVER {
            return Ok(());
        }
        let mut lent = self.lent.borrow_mut();
        if let Some((_, first)) = lent.iter_mut().find(|(of, _)| Rc::ptr_eq(of, removal)) {
            *first = deadline.min(*first);
            return Ok(());
        }
        let bytes = size_of::<(Rc<Removal>, u64)>();
        lent.try_reserve(1).map_err(|_| Failure::NoMemory { bytes })?;
        lent.push((Rc::clone(removal), deadline));
        Ok(())
    }

    /// Fails where it has ended.
    fn check(&self) -> Result<(), Failed> {
        #[cfg(not(feature = "transactions"))]
        match self.none {}
        #[cfg(feature = "transactions")]
        if self.engine.borrow().is_none() { Err(Failure::Ended.into()) } else { Ok(()) }
    }

    /// Does `work`, which copies a pair of so many bytes.
    fn with<T>(
        &self,
        bytes: usize,
        work: impl FnOnce(&mut Transaction) -> twindex::Result<T>,
    ) -> Result<T, Failed> {
        let mut engine = self.engine.borrow_mut();
        let engine = engine.as_mut().ok_or(Failure::Ended)?;
        self.longest.update(|longest| longest.max(bytes));
        self.reads.update(|reads| reads + 1);
        self.ensure(0)?;
        Ok(work(engine)?)
    }

    /// Makes sure of memory for copies of the longest pair, for a check of all reads, and for `bytes` more.
    fn ensure(&self, bytes: usize) -> Result<(), Failed> {
        reserve::ensure_object()?;
        reserve::ensure(3 * self.longest.get() + READ_BYTES * self.reads.get() + bytes)
    }

    pub(crate) fn table(&self, name: &str) -> Result<Table, Failed> {
        self.check()?;
        self.with(0, |engine| engine.table(name))
    }

    /// A copy of the value of a key.
    pub(crate) fn select(&self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>, Failed> {
        self.check()?;
        self.with(bytes_of(table, key), |engine| engine.select(table, key))
    }

    pub(crate) fn write(
        &self,
        write: Write,
        table: &Table,
        key: &[u8],
        value: &[u8],
    ) -> Result<bool, Failed> {
        self.check()?;
        let bytes = key.len() + value.len();
        let done =
            self.with(bytes.max(bytes_of(table, key)), |engine| engine.write(write, table, key, value))?;
        self.count_write(if done { bytes } else { 0 });
        Ok(done)
    }

    pub(crate) fn delete(&self, table: &Table, key: &[u8]) -> Result<bool, Failed> {
        self.check()?;
        self.count_write(key.len());
        self.with(bytes_of(table, key), |engine| engine.delete(table, key))
    }

    pub(crate) fn increment(&self, table: &Table, key: &[u8], by: i64) -> Result<i64, Failed> {
        self.check()?;
        self.count_write(key.len());
        self.with(bytes_of(table, key), |engine| engine.increment(table, key, by))
    }

    pub(crate) fn compare_and_swap(
        &self,
        table: &Table,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        if self.select(table, key)?.as_deref() != expected {
            return Ok(false);
        }
        match new {
            Some(value) => self.write(Write::Upsert, table, key, value)?,
            None => self.delete(table, key)?,
        };
        Ok(true)
    }

    fn count_write(&self, bytes: usize) {
        self.written.update(|written| written + bytes);
        self.writes.update(|writes| writes + 1);
    }

    /// Pushes up to `count` pairs of a range, or until they are `bytes` long: how many there were.
    pub(crate) fn scan(
        &self,
        table: &Table,
        mut range: Range,
        direction: Direction,
        output: &mut Output,
        (count, bytes): (usize, usize),
        expiry: Option<&Expiry>,
    ) -> Result<usize, Failed> {
        self.check()?;
        let (mut pairs, writes) = (0, self.writes.get());
        self.with(0, |_| table.cursor(..).map(drop))?;
        while pairs < count && output.len() < bytes {
            let most = GROUP.min(count - pairs);
            let enough = GROUP_BYTES.min(bytes - output.len());
            // Nobody else writes, so the engine will meet the same pairs. It reads some more, in case that this deleted some.
            let (mut fit, mut seen, mut long) = (0, 0, 0);
            let mut cursor = table.cursor(as_slices(&range))?;
            let measure: &mut dyn FnMut(&[u8], &[u8]) -> bool = &mut |key, value| {
                fit += usize::from(seen < most && long < enough);
                seen += 1;
                long += key.len() + value.len() + READ_BYTES;
                seen < fit + writes || long < enough
            };
            cursor.steps(direction.is_down(), most + writes, measure);
            self.reads.update(|reads| reads + GROUP / 4);
            self.ensure(4 * long + 3 * self.written.get() + WRITE_BYTES * writes)?;
            let fit = if seen == 0 { most } else { fit };
            let found =
                self.with(0, |engine| engine.range(table, as_slices(&range), fit, direction.is_down()))?;
            for (key, stored) in &found {
                if let Some(value) = shown(expiry, stored) {
                    block::push_pair(output, key, value)?;
                    pairs += 1;
                }
            }
            let Some((key, _)) = found.into_iter().next_back() else { break };
            match direction {
                Direction::Up => range.0 = Bound::Excluded(key),
                Direction::Down => range.1 = Bound::Excluded(key),
            }
        }
        Ok(pairs)
    }

    /// Ends it, and writes what it wrote as one record if its store is kept.
    pub(crate) fn commit(&self, journal: Option<&Shared>, log: &mut Log) -> Result<(), Failed> {
        self.check()?;
        let engine = self.engine.borrow_mut().take().ok_or(Failure::Ended)?;
        if has_expired(self.renewed.get(), time::now()) {
            // To others the pair was absent already. It must not come back.
            return Err(Error::Conflict { runs: 1 }.into());
        }
        let count = engine.writes().count();
        self.ensure(count * WRITE_BYTES)?;
        if count > 0
            && let Some(journal) = journal
        {
            log.expect_in(journal, self.written.get() + WRITE_BYTES * self.writes.get())?;
        }
        let append = |engine: &Transaction| {
            let Some(journal) = journal else { return };
            for (table, key, value) in engine.writes() {
                let operation = value.map_or(Operation::Delete(key), |value| Operation::Put(key, value));
                log.add_written(journal, table, operation);
            }
        };
        engine.commit_with(false, || Ok::<_, Error>(()), append)?;
        for (removal, deadline) in self.lent.take() {
            removal.due.note(deadline);
        }
        Ok(())
    }
}

/// The bytes of the pair of a key that is in a table.
fn bytes_of(table: &Table, key: &[u8]) -> usize {
    key.len() + table.select_with(key, <[u8]>::len).unwrap_or_default()
}
