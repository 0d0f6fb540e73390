//! What tables and caches have in common, for the functions that JavaScript sees.

use std::time::Duration;

use twindex::{Cache, Change};
use twindex_durable::Table;

use crate::fault::Fault;
use crate::js::{Js, Value};
use crate::memory::collected;
use crate::results::Results;
use crate::staged::Staged;
use crate::state::Thing;

/// The verbs that write a pair, as parameters of the functions that JavaScript sees.
pub(crate) const INSERT: u8 = 0;
pub(crate) const REPLACE: u8 = 1;
pub(crate) const UPSERT: u8 = 2;
pub(crate) const DELETE: u8 = 3;

type Done<'c> = Result<bool, Fault<'c>>;
type AllDone<'c> = Result<Vec<bool>, Fault<'c>>;
type Ttl = Option<Duration>;

/// What tables and caches have in common.
pub(crate) trait Pairs: Thing {
    /// The time to live in this argument of a write, where pairs have one.
    fn lifetime<'c>(js: Js<'c>, argument: Value<'c>) -> Ttl;

    fn len(&self) -> usize;
    fn clear<'c>(&self) -> Result<(), Fault<'c>>;
    fn contains(&self, key: &[u8]) -> bool;
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()>;
    fn increment<'c>(&self, key: &[u8], by: i64) -> Result<i64, Fault<'c>>;
    /// Does one of the verbs; `DELETE` takes no value.
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c>;
    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c>;

    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> AllDone<'c>;
    /// Adds the value of each key to the results.
    fn select_many(&self, keys: &[&[u8]], results: &mut Results);
}

/// What both do by the same names.
macro_rules! alike {
    ($reads:expr) => {
        fn len(&self) -> usize {
            Self::len(self)
        }

        fn clear<'c>(&self) -> Result<(), Fault<'c>> {
            Ok(Self::clear(self)?)
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
    alike!(Table::in_memory);

    #[inline]
    fn lifetime<'c>(_: Js<'c>, _: Value<'c>) -> Ttl {
        None
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], _: Ttl) -> Done<'c> {
        Ok(match VERB {
            INSERT => self.insert(key, value),
            REPLACE => self.replace(key, value),
            UPSERT => self.upsert(key, value),
            _ => self.delete(key),
        }?)
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.compare_and_swap(key, expected, value)?)
    }

    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, _: Ttl) -> AllDone<'c> {
        Ok(match VERB {
            INSERT => self.insert_many(&staged.pairs()?),
            REPLACE => self.replace_many(&staged.pairs()?),
            UPSERT => self.upsert_many(&staged.pairs()?),
            _ => self.delete_many(&staged.keys()?),
        }?)
    }

    fn select_many(&self, keys: &[&[u8]], results: &mut Results) {
        self.in_memory().select_many(keys, |_, value| match value {
            Some(value) => results.push(value),
            None => results.push_absent(),
        });
    }
}

impl Pairs for Cache {
    alike!(std::convert::identity);

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
            (UPSERT, Some(ttl)) => self.upsert_for(key, value, ttl),
            (UPSERT, None) => self.upsert(key, value),
            _ => self.delete(key),
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
    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> AllDone<'c> {
        let nothing: &[u8] = &[];
        let pairs = if VERB == DELETE {
            collected(staged.keys()?.into_iter().map(|key| (key, nothing)))?
        } else {
            staged.pairs()?
        };
        let mut flags = collected(pairs.iter().map(|_| false))?;
        for (flag, (key, value)) in flags.iter_mut().zip(pairs) {
            *flag = Pairs::write::<VERB>(self, key, value, ttl)?;
        }
        Ok(flags)
    }

    fn select_many(&self, keys: &[&[u8]], results: &mut Results) {
        for key in keys {
            if self.select_with(key, |value| results.push(value)).is_none() {
                results.push_absent();
            }
        }
    }
}
