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

/// The verbs that write a pair, as parameters of the functions that JavaScript sees.
pub(crate) const INSERT: u8 = 0;
pub(crate) const REPLACE: u8 = 1;
pub(crate) const UPSERT: u8 = 2;

type Done<'c> = Result<bool, Fault<'c>>;
type AllDone<'c> = Result<Vec<bool>, Fault<'c>>;
type Ttl = Option<Duration>;

/// What tables and caches have in common.
pub(crate) trait Pairs: Sized {
    /// All that are open, and what a call on one of them works with.
    fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>);
    /// The time to live in this argument of a write, where pairs have one.
    fn lifetime<'c>(js: Js<'c>, argument: Value<'c>) -> Ttl;

    fn len(&self) -> usize;
    fn clear<'c>(&self) -> Result<(), Fault<'c>>;
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c>;
    fn delete<'c>(&self, key: &[u8]) -> Done<'c>;
    fn contains(&self, key: &[u8]) -> bool;
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()>;
    fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>>;
    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c>;

    fn write_many<'c, const VERB: u8>(&self, pairs: &[(&[u8], &[u8])], ttl: Ttl) -> AllDone<'c>;
    fn delete_many<'c>(&self, keys: &[&[u8]]) -> AllDone<'c>;
    /// Adds the value of each key to the results.
    fn select_many(&self, keys: &[&[u8]], results: &mut Results);
}

/// What all calls on pairs share.
pub(crate) struct Tools<'s> {
    input: &'s mut Input,
    results: &'s mut Results,
    prepared: &'s mut Option<Prepared>,
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

/// What both do by the same names: where they are in the state, and what of them reads.
macro_rules! alike {
    ($slab:ident, $reads:expr) => {
        fn all(state: &mut State) -> (&mut Slab<Of<Self>>, Tools<'_>) {
            let State { $slab, input, results, prepared, .. } = state;
            ($slab, Tools { input, results, prepared })
        }

        fn len(&self) -> usize {
            Self::len(self)
        }

        fn clear<'c>(&self) -> Result<(), Fault<'c>> {
            Ok(Self::clear(self)?)
        }

        #[inline]
        fn delete<'c>(&self, key: &[u8]) -> Done<'c> {
            Ok(Self::delete(self, key)?)
        }

        #[inline]
        fn contains(&self, key: &[u8]) -> bool {
            $reads(self).contains(key)
        }

        #[inline]
        fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()> {
            $reads(self).select_with(key, read)
        }

        fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>> {
            Ok(Self::increment(self, key, by)?)
        }
    };
}

impl Pairs for Table {
    alike!(tables, Table::in_memory);

    #[inline]
    fn lifetime<'c>(_: Js<'c>, _: Value<'c>) -> Ttl {
        None
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], _: Ttl) -> Done<'c> {
        Ok(match VERB {
            INSERT => self.insert(key, value),
            REPLACE => self.replace(key, value),
            _ => self.upsert(key, value),
        }?)
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.compare_and_swap(key, expected, value)?)
    }

    fn write_many<'c, const VERB: u8>(&self, pairs: &[(&[u8], &[u8])], _: Ttl) -> AllDone<'c> {
        Ok(match VERB {
            INSERT => self.insert_many(pairs),
            REPLACE => self.replace_many(pairs),
            _ => self.upsert_many(pairs),
        }?)
    }

    fn delete_many<'c>(&self, keys: &[&[u8]]) -> AllDone<'c> {
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
    alike!(caches, std::convert::identity);

    #[inline]
    #[allow(clippy::cast_sign_loss, reason = "lib/shared/cache.js has checked that it is not negative")]
    fn lifetime<'c>(js: Js<'c>, argument: Value<'c>) -> Ttl {
        let millis = js.get_f64(argument)?;
        Some(if millis.is_finite() { Duration::from_millis(millis.ceil() as u64) } else { Duration::MAX })
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c> {
        Ok(match (VERB, ttl) {
            (INSERT, Some(ttl)) => self.insert_for(key, value, ttl),
            (INSERT, None) => self.insert(key, value),
            (REPLACE, Some(ttl)) => self.replace_for(key, value, ttl),
            (REPLACE, None) => self.replace(key, value),
            (_, Some(ttl)) => self.upsert_for(key, value, ttl),
            (_, None) => self.upsert(key, value),
        }?)
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
    fn write_many<'c, const VERB: u8>(&self, pairs: &[(&[u8], &[u8])], ttl: Ttl) -> AllDone<'c> {
        each(pairs, |(key, value)| Pairs::write::<VERB>(self, key, value, ttl))
    }

    fn delete_many<'c>(&self, keys: &[&[u8]]) -> AllDone<'c> {
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
fn each<'c, T>(items: &[T], write: impl Fn(&T) -> Done<'c>) -> AllDone<'c> {
    let mut flags = collected(items.iter().map(|_| false))?;
    for (flag, item) in flags.iter_mut().zip(items) {
        *flag = write(item)?;
    }
    Ok(flags)
}
