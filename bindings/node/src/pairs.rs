//! What tables and caches have in common, for the functions that JavaScript sees.

use std::time::Duration;

use twindex::{Cache, Change};
use twindex_durable::Table;

use crate::fault::Fault;
use crate::input::Input;
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::results::Results;
use crate::slab::Slab;
use crate::state::{Of, Parts, Prepared, State};

/// The verbs that write a pair.
#[derive(Clone, Copy)]
pub(crate) enum Write {
    Insert,
    Replace,
    Upsert,
}

type Done<'c> = Result<bool, Fault<'c>>;

/// What tables and caches have in common.
pub(crate) trait Pairs: Sized {
    /// All that are open, and what a call on one of them works with.
    fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>);
    /// The time to live in this argument of a write, where pairs have one.
    fn lifetime<'c>(js: Js<'c>, argument: Value<'c>) -> Option<Duration>;

    fn len(&self) -> usize;
    fn clear<'c>(&self) -> Result<(), Fault<'c>>;
    fn write<'c>(&self, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Done<'c>;
    fn delete<'c>(&self, key: &[u8]) -> Done<'c>;
    fn contains(&self, key: &[u8]) -> bool;
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()>;
    fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>>;
    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c>;

    fn write_many<'c>(
        &self,
        write: Write,
        pairs: &[(&[u8], &[u8])],
        ttl: Option<Duration>,
    ) -> Result<Vec<bool>, Fault<'c>>;
    fn delete_many<'c>(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Fault<'c>>;
    /// Adds the value of each key to the results.
    fn select_many(&self, keys: &[&[u8]], results: &mut Results);
}

impl State {
    /// What a call on one table or cache works with.
    #[inline]
    pub(crate) fn parts<'c, T: Pairs>(&mut self, number: u32) -> Result<Parts<'_, T>, Fault<'c>> {
        let (all, Tools { input, results, prepared }) = T::all(self);
        let table = all.get(number).ok_or_else(Fault::closed)?;
        let crossing = &mut prepared.as_mut().ok_or_else(Fault::bug)?.crossing;
        Ok(Parts { table, input, results, crossing })
    }
}

/// What all calls on pairs share.
pub(crate) struct Tools<'s> {
    pub(crate) input: &'s mut Input,
    pub(crate) results: &'s mut Results,
    pub(crate) prepared: &'s mut Option<Prepared>,
}

macro_rules! all {
    ($slab:ident) => {
        fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>) {
            let State { $slab, input, results, prepared, .. } = state;
            ($slab, Tools { input, results, prepared })
        }
    };
}

impl Pairs for Table {
    all!(tables);

    #[inline]
    fn lifetime<'c>(_: Js<'c>, _: Value<'c>) -> Option<Duration> {
        None
    }

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn clear<'c>(&self) -> Result<(), Fault<'c>> {
        Ok(Self::clear(self)?)
    }

    #[inline]
    fn write<'c>(&self, write: Write, key: &[u8], value: &[u8], _: Option<Duration>) -> Done<'c> {
        Ok(match write {
            Write::Insert => self.insert(key, value),
            Write::Replace => self.replace(key, value),
            Write::Upsert => self.upsert(key, value),
        }?)
    }

    #[inline]
    fn delete<'c>(&self, key: &[u8]) -> Done<'c> {
        Ok(Self::delete(self, key)?)
    }

    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.in_memory().contains(key)
    }

    #[inline]
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()> {
        self.in_memory().select_with(key, read)
    }

    fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>> {
        Ok(Self::increment(self, key, by)?)
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.compare_and_swap(key, expected, value)?)
    }

    fn write_many<'c>(
        &self,
        write: Write,
        pairs: &[(&[u8], &[u8])],
        _: Option<Duration>,
    ) -> Result<Vec<bool>, Fault<'c>> {
        Ok(match write {
            Write::Insert => self.insert_many(pairs),
            Write::Replace => self.replace_many(pairs),
            Write::Upsert => self.upsert_many(pairs),
        }?)
    }

    fn delete_many<'c>(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Fault<'c>> {
        Ok(Self::delete_many(self, keys)?)
    }

    fn select_many(&self, keys: &[&[u8]], results: &mut Results) {
        self.in_memory().select_many(keys, |_, value| match value {
            Some(value) => results.push(value),
            None => results.push_absent(),
        });
    }
}

impl Pairs for Cache {
    all!(caches);

    #[inline]
    #[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is not negative")]
    fn lifetime<'c>(js: Js<'c>, argument: Value<'c>) -> Option<Duration> {
        let millis = js.get_f64(argument)?;
        Some(if millis.is_finite() { Duration::from_millis(millis.ceil() as u64) } else { Duration::MAX })
    }

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn clear<'c>(&self) -> Result<(), Fault<'c>> {
        Ok(Self::clear(self)?)
    }

    #[inline]
    fn write<'c>(&self, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Done<'c> {
        Ok(match (write, ttl) {
            (Write::Insert, Some(ttl)) => self.insert_for(key, value, ttl),
            (Write::Insert, None) => self.insert(key, value),
            (Write::Replace, Some(ttl)) => self.replace_for(key, value, ttl),
            (Write::Replace, None) => self.replace(key, value),
            (Write::Upsert, Some(ttl)) => self.upsert_for(key, value, ttl),
            (Write::Upsert, None) => self.upsert(key, value),
        }?)
    }

    #[inline]
    fn delete<'c>(&self, key: &[u8]) -> Done<'c> {
        Ok(Self::delete(self, key)?)
    }

    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        Self::contains(self, key)
    }

    #[inline]
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()> {
        Self::select_with(self, key, read)
    }

    fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>> {
        Ok(Self::increment(self, key, by)?)
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        let mut is_expected = false;
        self.alter(key, |old| {
            is_expected = old == expected;
            match value {
                Some(value) if is_expected => Change::Set(value.to_vec()),
                None if is_expected => Change::Delete,
                _ => Change::Keep,
            }
        })?;
        Ok(is_expected)
    }

    /// What was written before one that fails stays written.
    fn write_many<'c>(
        &self,
        write: Write,
        pairs: &[(&[u8], &[u8])],
        ttl: Option<Duration>,
    ) -> Result<Vec<bool>, Fault<'c>> {
        each(pairs, |(key, value)| Pairs::write(self, write, key, value, ttl))
    }

    fn delete_many<'c>(&self, keys: &[&[u8]]) -> Result<Vec<bool>, Fault<'c>> {
        each(keys, |key| Pairs::delete(self, key))
    }

    fn select_many(&self, keys: &[&[u8]], results: &mut Results) {
        for key in keys {
            if self.select_with(key, |value| results.push(value)).is_none() {
                results.push_absent();
            }
        }
    }
}

/// Writes each, up to the first that fails.
fn each<'c, T>(items: &[T], write: impl Fn(&T) -> Done<'c>) -> Result<Vec<bool>, Fault<'c>> {
    let mut flags = collected(items.iter().map(|_| false))?;
    for (flag, item) in flags.iter_mut().zip(items) {
        *flag = write(item)?;
    }
    Ok(flags)
}
