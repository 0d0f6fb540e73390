//! Expiring tables in transactions.

use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

use twindex::{Change, KeyRange, Write};
use twindex_cache::Ttl;
use twindex_format::{FOREVER, has_expired, split_deadline, with_deadline};

use super::ExpiringTable;
use crate::error::Result;
use crate::transaction::{Lent, Transaction};
use crate::verbs::{alter_verbs, write_verbs};

/// An [`ExpiringTable`] in a transaction: [`Transaction::expiring`]. Whether a pair has expired is decided
/// by one moment of the transaction: its first use of such a table.
#[derive(Debug)]
pub struct ExpiringPart<'t> {
    transaction: &'t mut Transaction,
    table: &'t ExpiringTable,
    moment: u64,
}

/// The deadline and the value of a stored one, unless it had expired at `moment`.
fn shown(stored: &[u8], moment: u64) -> Option<(u64, &[u8])> {
    Some(split_deadline(stored)).filter(|(deadline, _)| !has_expired(*deadline, moment))
}

impl Transaction {
    /// The verbs of a table whose pairs expire.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use twindex_durable::{Error, Store, twindex::IndexKind};
    /// # let store = Store::new();
    /// let sessions = store.expiring_table("sessions", IndexKind::Hash)?;
    /// store.transaction(|tx| tx.expiring(&sessions).insert("4f1a", "ada", Duration::from_mins(30)))?;
    /// assert!(sessions.contains("4f1a")?);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn expiring<'t>(&'t mut self, table: &'t ExpiringTable) -> ExpiringPart<'t> {
        let moment = *self.moment.get_or_insert_with(|| table.clock.now());
        ExpiringPart { transaction: self, table, moment }
    }
}

impl ExpiringPart<'_> {
    fn find(&mut self, key: &[u8]) -> Result<Option<(u64, Vec<u8>)>> {
        let Some(stored) = self.transaction.select(&self.table.table, key)? else { return Ok(None) };
        Ok(shown(&stored, self.moment).map(|(deadline, value)| (deadline, value.to_vec())))
    }

    /// Whether the transaction itself gave the key's pair its deadline.
    fn is_own(&self, key: &[u8]) -> bool {
        let lent = &self.transaction.lent;
        !lent.is_empty() && lent.get(&(self.table.table.id, key.to_vec())).is_some_and(|lent| lent.is_own)
    }

    /// To be called before a pair that was there gets a new deadline. One that the transaction wrote itself may expire within it.
    fn renew(&mut self, key: &[u8], old: u64) {
        if old != FOREVER && !self.is_own(key) {
            self.transaction.renewed = self.transaction.renewed.min(old);
        }
    }

    fn put(&mut self, key: &[u8], deadline: u64, value: &[u8], is_own: bool) -> Result<()> {
        self.transaction.upsert(&self.table.table, key, with_deadline(deadline, value))?;
        let lent = Lent { removal: Arc::clone(&self.table.removal), deadline, is_own };
        self.transaction.lent.insert((self.table.table.id, key.to_vec()), lent);
        Ok(())
    }

    /// A copy of the key's value, or `None` if the key is absent.
    pub fn select(&mut self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        Ok(self.find(key.as_ref())?.map(|(_, value)| value))
    }

    /// Whether the key is present.
    pub fn contains(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        Ok(self.find(key.as_ref())?.is_some())
    }

    /// How long a pair still lives.
    pub fn ttl(&mut self, key: impl AsRef<[u8]>) -> Result<Ttl> {
        let now = self.table.clock.now();
        Ok(match self.find(key.as_ref())? {
            None => Ttl::Absent,
            Some((FOREVER, _)) => Ttl::Forever,
            Some((deadline, _)) => Ttl::Left(Duration::from_millis(deadline.saturating_sub(now).max(1))),
        })
    }

    #[expect(clippy::needless_pass_by_value, reason = "a range is passed as `Transaction::range` takes it")]
    /// Up to `limit` pairs of a sorted table with keys in `range`, the first ones, or the last ones from the end if `down`.
    pub fn range(
        &mut self,
        range: impl KeyRange,
        limit: usize,
        down: bool,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let (lower, upper) = range.key_bounds();
        let (mut lower, mut upper) = (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec));
        let mut pairs = Vec::new();
        loop {
            let ends = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
            let wanted = limit - pairs.len();
            let found = self.transaction.range(&self.table.table, ends, wanted, down)?;
            let (is_end, last) = (found.len() < wanted, found.last().map(|(key, _)| key.clone()));
            for (key, stored) in found {
                if let Some((_, value)) = shown(&stored, self.moment) {
                    pairs.push((key, value.to_vec()));
                }
            }
            let Some(last) = last.filter(|_| !is_end && pairs.len() < limit) else { return Ok(pairs) };
            *(if down { &mut upper } else { &mut lower }) = Bound::Excluded(last);
        }
    }

    /// Does the verb that `write` names. Returns whether it takes effect.
    pub fn write(
        &mut self,
        write: Write,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
        ttl: impl Into<Option<Duration>>,
    ) -> Result<bool> {
        let (key, deadline) = (key.as_ref(), self.table.deadline(ttl.into())?);
        if write != Write::Upsert {
            let old = self.find(key)?;
            if !write.takes_effect(old.is_some()) {
                return Ok(false);
            }
            if let Some((old, _)) = old {
                self.renew(key, old);
            }
        }
        self.put(key, deadline, value.as_ref(), true).map(|()| true)
    }

    write_verbs!(
        (&mut self) self,
        (key: impl AsRef<[u8]>, value: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) -> bool,
        "; whether it was."
    );

    /// Gives a pair a new time to live. Returns whether the key was present.
    pub fn touch(&mut self, key: impl AsRef<[u8]>, ttl: impl Into<Option<Duration>>) -> Result<bool> {
        let (key, deadline) = (key.as_ref(), self.table.deadline(ttl.into())?);
        let Some((old, value)) = self.find(key)? else { return Ok(false) };
        self.renew(key, old);
        self.put(key, deadline, &value, true).map(|()| true)
    }

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&mut self, key: impl AsRef<[u8]>) -> Result<bool> {
        let is_there = self.contains(key.as_ref())?;
        self.transaction.delete(&self.table.table, key)?;
        Ok(is_there)
    }

    /// Shows `change` the key's value, or `None` if it is absent, and does what it returns. Returns whether a pair was written or removed.
    /// `ttl` is for a pair that this adds.
    pub fn alter(
        &mut self,
        key: impl AsRef<[u8]>,
        ttl: impl Into<Option<Duration>>,
        change: impl FnOnce(Option<&[u8]>) -> Change,
    ) -> Result<bool> {
        let (key, deadline) = (key.as_ref(), self.table.deadline(ttl.into())?);
        let old = self.find(key)?;
        match change(old.as_ref().map(|(_, value)| value.as_slice())) {
            Change::Keep => Ok(false),
            Change::Delete => self.delete(key),
            Change::Set(value) => {
                let is_own = old.is_none() || self.is_own(key);
                self.put(key, old.map_or(deadline, |(old, _)| old), &value, is_own).map(|()| true)
            }
        }
    }

    alter_verbs!((&mut self) self);
}
