//! Tables whose pairs expire: each verb, over values that are stored behind their deadlines.
//!
//! One call runs at a time, so a verb may read a pair and then write it.

use std::time::Duration;

use twindex::{Write, check_key, incremented};
use twindex_format::{FOREVER, with_deadline};

use crate::answer::Output;
use crate::block::{self, Items, Shape};
use crate::cached::Show;
use crate::expiry::{Expiry, Removal, deadline};
use crate::failure::Failed;
use crate::journal::Log;
use crate::stored::{OF_TRANSACTION, Stored, lacks};
use crate::{reserve, time};

/// Shows a deadline and a value.
type ShowPair<'s> = &'s mut dyn FnMut(u64, &[u8]) -> Result<(), Failed>;

/// One of so many writes removes expired pairs, at most as many.
const WRITES_PER_STEP: u32 = 128;

/// A table whose pairs expire, of a store or in a transaction.
#[derive(Clone, Copy)]
pub(crate) struct Expiring<'h> {
    pub(crate) stored: Stored<'h>,
    pub(crate) expiry: &'h Expiry,
}

impl Expiring<'_> {
    /// Shows the deadline and the value of a key; whether the key is present.
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
        self.stored.read(key, show_stored)?;
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
        if write != Write::Upsert {
            let mut old = None;
            self.find(key, &mut |deadline, _| {
                old = Some(deadline);
                Ok(())
            })?;
            if !write.takes_effect(old.is_some()) {
                return self.nothing(log, key);
            }
            self.renew(key, old);
        }
        self.put(log, key, deadline(self.expiry.ttl.get())?, value)
    }

    /// To be called before a pair gets a new deadline in place of this one.
    fn renew(self, key: &[u8], old: Option<u64>) {
        if let (Stored::Part(table, transaction), Some(old)) = (self.stored, old) {
            transaction.renew(table, key, old);
        }
    }

    fn put(self, log: &mut Log, key: &[u8], deadline: u64, value: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        reserve::ensure(2 * value.len())?; // for a copy of its own
        let stored = with_deadline(deadline, value);
        if let Stored::Part(_, transaction) = self.stored {
            transaction.lend(&self.expiry.removal, deadline)?;
            return self.stored.write(log, Write::Upsert, key, &stored);
        }
        self.stored.write(log, Write::Upsert, key, &stored)?;
        let Removal { due, writes, .. } = &*self.expiry.removal;
        due.note(deadline);
        writes.set((writes.get() + 1) % WRITES_PER_STEP);
        if writes.get() == 0 && due.is_due(time::now()) {
            // The write is done. What could not be removed is still hidden.
            let _ = self.step(log, WRITES_PER_STEP as usize);
        }
        Ok(true)
    }

    /// Fails as a write of the key would: false.
    fn nothing(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        check_key(key)?;
        self.stored.check_writable(log).map(|()| false)
    }

    pub(crate) fn delete(self, log: &mut Log, key: &[u8]) -> Result<bool, Failed> {
        self.expiry.exists();
        let is_there = self.has(key)?;
        Ok(self.stored.delete(log, key)? && is_there)
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
            None if own.is_some() => self.stored.delete(log, key),
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
        // In a transaction a pair is there that has expired meanwhile.
        let is_part = matches!(self.stored, Stored::Part(..));
        let now = self.expiry.moment.filter(|_| !is_part).unwrap_or_else(time::now);
        self.find(key, &mut |deadline, _| {
            left = Some(if deadline == FOREVER {
                -1
            } else {
                deadline.saturating_sub(now).max(1).cast_signed()
            });
            Ok(())
        })?;
        Ok(left)
    }

    pub(crate) fn touch(self, log: &mut Log, key: &[u8], ttl: Option<Duration>) -> Result<bool, Failed> {
        let (deadline, mut old, mut value) = (deadline(ttl)?, None, Output::new());
        self.find(key, &mut |deadline, found| {
            old = Some(deadline);
            value.push(found)
        })?;
        if old.is_none() {
            return self.nothing(log, key);
        }
        self.renew(key, old);
        self.put(log, key, deadline, value.bytes())
    }

    /// Removes up to so many expired pairs. If there were fewer, there are no more.
    pub(crate) fn remove_expired(self, log: &mut Log, most: usize) -> Result<usize, Failed> {
        if let Stored::Part(..) = self.stored {
            return lacks(OF_TRANSACTION);
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
            self.stored.delete(log, item.key)?;
            removed += 1;
        }
        if removed == 0 {
            outcome?;
        }
        let is_last = outcome.is_ok() && removed == found && pass.borrow_mut().go_on(behind, due);
        Ok((removed, is_last))
    }
}
