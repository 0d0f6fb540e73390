//! Tables whose pairs expire: each verb, over values that are stored behind their deadlines.
//!
//! One call runs at a time, so a verb may read a pair and then write it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use twindex::{Table, Write, check_key, incremented};
use twindex_format::{
    Due, FOREVER, Pass, deadline_of, has_expired, split_deadline, values_that_expire, with_deadline,
};

use crate::answer::Output;
use crate::block::{self, Items, PAIR_HEAD, Shape};
use crate::cached::Show;
use crate::failure::{Failed, Failure};
use crate::journal::{Log, Logged};
use crate::pairs::{Pairs, lacks};
use crate::transaction::Open;
use crate::{reserve, time};

/// Shows a deadline and a value.
type ShowPair<'s> = &'s mut dyn FnMut(u64, &[u8]) -> Result<(), Failed>;

/// One of so many writes removes expired pairs, at most as many.
const WRITES_PER_STEP: u32 = 128;

/// What the handle of such a table has beside the table.
#[derive(Clone)]
pub(crate) struct Expiry {
    /// The time of its snapshot, if it is of one.
    moment: Option<u64>,
    /// That of the pairs that it writes.
    ttl: Cell<Option<Duration>>,
    pub(crate) removal: Rc<Removal>,
    /// The module without such tables has none: see `exists`.
    #[cfg(not(feature = "expiring"))]
    none: std::convert::Infallible,
}

/// How far the removal of a table's expired pairs has come.
#[derive(Default)]
pub(crate) struct Removal {
    due: Due,
    pass: RefCell<Pass>,
    writes: Cell<u32>,
}

pub(crate) fn expires(table: &Table) -> bool {
    values_that_expire(table.codecs().1).is_some()
}

fn deadline(ttl: Option<Duration>) -> Result<u64, Failed> {
    Ok(deadline_of(ttl, time::now).ok_or(Failure::Time)?)
}

impl Expiry {
    /// None in the module without such tables.
    #[cfg_attr(feature = "expiring", expect(clippy::unnecessary_wraps, reason = "another module has none"))]
    pub(crate) fn new(moment: Option<u64>, removal: Rc<Removal>) -> Option<Self> {
        #[cfg(feature = "expiring")]
        return Some(Self { moment, ttl: Cell::new(None), removal });
        #[cfg(not(feature = "expiring"))]
        return (moment, removal).0.and(None);
    }

    pub(crate) fn set_ttl(&self, ttl: Option<Duration>) -> Result<(), Failed> {
        deadline(ttl)?;
        self.ttl.set(ttl);
        Ok(())
    }

    /// Has the compiler leave out what the module without such tables never does.
    #[inline]
    #[cfg_attr(feature = "expiring", expect(clippy::unused_self, reason = "another module has none"))]
    pub(crate) fn exists(&self) {
        #[cfg(not(feature = "expiring"))]
        match self.none {}
    }

    /// The deadline and the value of a stored one, unless it has expired.
    fn show<'s>(&self, stored: &'s [u8]) -> Option<(u64, &'s [u8])> {
        self.exists();
        let (deadline, value) = split_deadline(stored);
        let now = self.moment.unwrap_or_else(time::now);
        (!has_expired(deadline, now)).then_some((deadline, value))
    }

    /// Leaves those of the packed pairs from `start` on that have not expired, without their deadlines: how many, and where the last
    /// of them is.
    pub(crate) fn retain(&self, pairs: &mut Vec<u8>, start: usize) -> (usize, Option<usize>) {
        self.exists();
        let (mut from, mut to, mut kept, mut last) = (start, start, 0, None);
        while let Some((key, length)) = block::first_pair(&pairs[from..]) {
            let end = from + length;
            let stored = &pairs[from + PAIR_HEAD + key..end];
            let value = self.show(stored).map(|(_, value)| value.len());
            if let Some(value) = value {
                pairs.copy_within(from..from + PAIR_HEAD + key, to);
                pairs.copy_within(end - value..end, to + PAIR_HEAD + key);
                pairs[to + PAIR_HEAD / 2..to + PAIR_HEAD].copy_from_slice(&(value as u32).to_le_bytes());
                last = Some(to);
                kept += 1;
                to += PAIR_HEAD + key + value;
            }
            from = end;
        }
        pairs.truncate(to);
        (kept, last)
    }
}

/// The value of a stored one: without its deadline if it has one, and `None` if it has expired.
#[inline]
pub(crate) fn shown<'s>(expiry: Option<&Expiry>, stored: &'s [u8]) -> Option<&'s [u8]> {
    match expiry {
        None => Some(stored),
        Some(expiry) => expiry.show(stored).map(|(_, value)| value),
    }
}

/// A table whose pairs expire, of a store or in a transaction.
#[derive(Clone, Copy)]
pub(crate) struct Expiring<'h> {
    pub(crate) stored: Stored<'h>,
    pub(crate) expiry: &'h Expiry,
}

/// The same table, with the values as they are stored.
#[derive(Clone, Copy)]
pub(crate) enum Stored<'h> {
    Table(&'h Table, Option<&'h Logged>),
    Part(&'h Table, &'h Open),
}

impl<'h> Stored<'h> {
    pub(crate) fn table(self) -> &'h Table {
        let (Self::Table(table, _) | Self::Part(table, _)) = self;
        table
    }

    pub(crate) fn pairs(self) -> Pairs<'h> {
        match self {
            Self::Table(table, logged) => Pairs::Table(table, logged),
            Self::Part(table, transaction) => Pairs::Part(table, transaction),
        }
    }
}

impl Expiring<'_> {
    /// Shows the deadline and the value of a key; whether the key is there.
    fn find(self, key: &[u8], show: ShowPair<'_>) -> Result<bool, Failed> {
        self.expiry.exists();
        let mut is_there = false;
        let show_stored: Show<'_> = &mut |stored| match self.expiry.show(stored) {
            None => Ok(()),
            Some((deadline, value)) => {
                is_there = true;
                show(deadline, value)
            }
        };
        self.stored.pairs().read(key, show_stored)?;
        Ok(is_there)
    }

    pub(crate) fn read(self, key: &[u8], show: Show<'_>) -> Result<bool, Failed> {
        self.find(key, &mut |_, value| show(value))
    }

    fn has(self, key: &[u8]) -> Result<bool, Failed> {
        self.find(key, &mut |_, _| Ok(()))
    }

    pub(crate) fn write(self, log: &mut Log, write: Write, key: &[u8], value: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        if write != Write::Upsert && !write.takes_effect(self.has(key)?) {
            return self.nothing(log, key);
        }
        self.put(log, key, deadline(self.expiry.ttl.get())?, value)
    }

    fn put(self, log: &mut Log, key: &[u8], deadline: u64, value: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        reserve::ensure(2 * value.len())?; // for a copy of its own
        self.stored.pairs().write(log, Write::Upsert, key, &with_deadline(deadline, value))?;
        let Removal { due, writes, .. } = &*self.expiry.removal;
        due.note(deadline);
        writes.set((writes.get() + 1) % WRITES_PER_STEP);
        let is_table = matches!(self.stored, Stored::Table(..));
        if is_table && writes.get() == 0 && due.is_due(time::now()) {
            // The write is done. What could not be removed is still hidden.
            let _ = self.step(log, WRITES_PER_STEP as usize);
        }
        Ok(true)
    }

    /// Fails as a write of the key would: false.
    fn nothing(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        check_key(key)?;
        self.stored.pairs().check_writable(log).map(|()| false)
    }

    pub(crate) fn delete(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        let is_there = self.has(key)?;
        Ok(self.stored.pairs().delete(log, key)? && is_there)
    }

    pub(crate) fn increment(self, log: &mut Log, key: &[u8], by: i64) -> Result<i64, Failed> {
        self.expiry.exists();
        let (mut own, mut sum) = (None, by);
        self.find(key, &mut |deadline, value| {
            own = Some(deadline);
            sum = incremented(value, by).map_err(|error| *error)?;
            Ok(())
        })?;
        let deadline = own.map_or_else(|| deadline(self.expiry.ttl.get()), Ok)?;
        self.put(log, key, deadline, sum.to_string().as_bytes())?;
        Ok(sum)
    }

    pub(crate) fn compare_and_swap(
        self,
        log: &mut Log,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool, Failed> {
        self.expiry.exists();
        let (mut own, mut is_same) = (None, expected.is_none());
        self.find(key, &mut |deadline, value| {
            (own, is_same) = (Some(deadline), expected == Some(value));
            Ok(())
        })?;
        match new {
            _ if !is_same => self.nothing(log, key),
            None if own.is_some() => self.stored.pairs().delete(log, key),
            None => self.nothing(log, key).map(|_| true),
            Some(new) => {
                let deadline = own.map_or_else(|| deadline(self.expiry.ttl.get()), Ok)?;
                self.put(log, key, deadline, new)
            }
        }
    }

    /// The milliseconds that a pair still lives, -1 for ever.
    pub(crate) fn ttl(self, key: &[u8]) -> Result<Option<i64>, Failed> {
        let mut left = None;
        let now = self.expiry.moment.unwrap_or_else(time::now);
        self.find(key, &mut |deadline, _| {
            left = Some(if deadline == FOREVER { -1 } else { (deadline - now).cast_signed() });
            Ok(())
        })?;
        Ok(left)
    }

    pub(crate) fn touch(self, log: &mut Log, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let (deadline, mut value) = (deadline(ttl)?, Output::new());
        if self.find(key, &mut |_, found| value.push(found))? {
            self.put(log, key, deadline, value.bytes())
        } else {
            self.nothing(log, key)
        }
    }

    /// Removes up to so many expired pairs. If there were fewer, there are no more.
    pub(crate) fn remove_expired(self, log: &mut Log, most: usize) -> Result<usize, Failed> {
        if let Stored::Part(..) = self.stored {
            return lacks("table of a transaction");
        }
        self.nothing(log, &[])?;
        let Removal { due, pass, .. } = &*self.expiry.removal;
        // It may begin amid a pass. The next one then goes through all.
        let mut passes = if pass.borrow().is_new() { 1 } else { 2 };
        let mut removed = 0;
        while passes > 0 && removed < most && due.is_due(time::now()) {
            let (more, is_last) = self.step(log, most - removed)?;
            removed += more;
            passes -= u32::from(is_last);
        }
        Ok(removed)
    }

    /// Passes some pairs and removes up to so many: how many those were, and whether the pass has ended.
    fn step(self, log: &mut Log, most: usize) -> Result<(usize, bool), Failed> {
        reserve::ensure_object()?;
        let Removal { due, pass, .. } = &*self.expiry.removal;
        let (mut keys, mut found, mut outcome) = (Output::new(), 0, Ok(()));
        let behind = pass.borrow().step(due, self.stored.table(), time::now(), &mut |key| {
            if outcome.is_ok() {
                outcome = block::push_key(&mut keys, key);
                found += usize::from(outcome.is_ok());
            }
        })?;
        let (mut items, mut removed) = (Items::new(keys.bytes(), Shape::Key), 0);
        while removed < most
            && let Some(item) = items.next()?
        {
            self.stored.pairs().delete(log, item.key)?;
            removed += 1;
        }
        if removed == 0 {
            outcome?;
        }
        let is_last = outcome.is_ok() && removed == found && pass.borrow_mut().go_on(behind, due);
        Ok((removed, is_last))
    }
}
