//! What has expired: deadlines in front of values, and how far the removal of expired pairs has come.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use twindex::Table;
use twindex_format::{Due, Pass, deadline_of, has_expired, split_deadline, values_that_expire};

use crate::block::{self, PAIR_HEAD};
use crate::failure::{Failed, Failure};
use crate::time;

/// What the handle of a table whose pairs expire has beside the table.
#[derive(Clone)]
pub(crate) struct Expiry {
    /// The time of its snapshot or transaction, if it is of one.
    pub(crate) moment: Option<u64>,
    /// That of the pairs that it writes.
    pub(crate) ttl: Cell<Option<Duration>>,
    pub(crate) removal: Rc<Removal>,
    /// The module without such tables has none: see `exists`.
    #[cfg(not(feature = "expiring"))]
    none: std::convert::Infallible,
}

/// How far the removal of a table's expired pairs has come.
#[derive(Default)]
pub(crate) struct Removal {
    pub(crate) due: Due,
    pub(crate) pass: RefCell<Pass>,
    pub(crate) writes: Cell<u32>,
}

pub(crate) fn expires(table: &Table) -> bool {
    values_that_expire(table.codecs().1).is_some()
}

pub(crate) fn deadline(ttl: Option<Duration>) -> Result<u64, Failed> {
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
    pub(crate) fn show<'s>(&self, stored: &'s [u8]) -> Option<(u64, &'s [u8])> {
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
