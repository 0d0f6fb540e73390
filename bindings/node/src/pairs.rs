//! What tables and caches have in common, for the functions that JavaScript sees.

use std::time::Duration;

use twindex::Write;

use crate::cached::Cached;
use crate::fault::Fault;
use crate::memory::collected;
use crate::results::Results;
use crate::staged::Staged;
use crate::state::Thing;
use crate::table::Table;

/// The verbs that write a pair, as parameters of the functions that JavaScript sees.
pub(crate) const INSERT: u8 = 0;
pub(crate) const REPLACE: u8 = 1;
pub(crate) const UPSERT: u8 = 2;
pub(crate) const DELETE: u8 = 3;

/// The same as the engine names them.
pub(crate) const fn write_of(verb: u8) -> Write {
    match verb {
        INSERT => Write::Insert,
        REPLACE => Write::Replace,
        _ => Write::Upsert,
    }
}

/// How long a pair lives: `None` is the cache's time to live, [`Duration::MAX`] for ever.
pub(crate) type Ttl = Option<Duration>;
type Done<'c, T = bool> = Result<T, Fault<'c>>;

/// What tables and caches have in common.
pub(crate) trait Pairs: Thing {
    /// Whether a write may say how long its pair lives.
    const EXPIRES: bool;

    fn len(&self) -> usize;
    fn clear<'c>(&self) -> Done<'c, ()>;
    fn contains(&self, key: &[u8]) -> bool;
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()>;
    fn increment<'c>(&self, key: &[u8], by: i64) -> Done<'c, i64>;
    /// Does one of the verbs; `DELETE` takes no value.
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c>;
    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c>;
    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> Done<'c, Vec<bool>>;
    /// Calls `read` with the value of each key.
    fn select_each(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>));

    /// Adds the value of each key to the results.
    fn select_many(&self, keys: &[&[u8]], results: &mut Results) {
        self.select_each(keys, |_, value| match value {
            Some(value) => results.push(value),
            None => results.push_absent(),
        });
    }
}

impl Pairs for Table {
    const EXPIRES: bool = false;

    fn len(&self) -> usize {
        self.in_memory().len()
    }

    fn clear<'c>(&self) -> Done<'c, ()> {
        Ok(self.live()?.clear()?)
    }

    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.in_memory().contains(key)
    }

    #[inline]
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()> {
        self.in_memory().select_with(key, read)
    }

    fn increment<'c>(&self, key: &[u8], by: i64) -> Done<'c, i64> {
        Ok(self.live()?.increment(key, by)?)
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], _: Ttl) -> Done<'c> {
        let table = self.live()?;
        Ok(if VERB == DELETE { table.delete(key) } else { table.write(write_of(VERB), key, value) }?)
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.live()?.compare_and_swap(key, expected, value)?)
    }

    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, _: Ttl) -> Done<'c, Vec<bool>> {
        let table = self.live()?;
        if VERB == DELETE {
            return Ok(table.delete_many(&staged.keys()?)?);
        }
        Ok(table.write_many(write_of(VERB), &staged.pairs()?)?)
    }

    fn select_each(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        self.in_memory().select_many(keys, read);
    }
}

impl Pairs for Cached {
    const EXPIRES: bool = true;

    fn len(&self) -> usize {
        self.cache.len()
    }

    fn clear<'c>(&self) -> Done<'c, ()> {
        self.cache.clear();
        Ok(())
    }

    #[inline]
    fn contains(&self, key: &[u8]) -> bool {
        self.cache.contains(key)
    }

    #[inline]
    fn select_with(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Option<()> {
        self.cache.get_with(key, read)
    }

    fn increment<'c>(&self, key: &[u8], by: i64) -> Done<'c, i64> {
        Ok(self.cache.increment(key, by)?)
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c> {
        Ok(match (VERB, ttl) {
            (INSERT, _) => self.cache.insert_if_absent(key, value, ttl)?,
            (REPLACE, _) => self.cache.replace(key, value, ttl)?,
            (UPSERT, None) => self.cache.insert(key, value)?,
            (UPSERT, Some(ttl)) => self.cache.insert_for(key, value, ttl)?,
            _ => self.cache.remove(key),
        })
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.cache.compare_and_swap(key, expected, value)?)
    }

    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> Done<'c, Vec<bool>> {
        match VERB {
            UPSERT => Ok(self.cache.insert_many(&staged.pairs()?, ttl)?),
            DELETE => Ok(self.cache.remove_many(&staged.keys()?)),
            _ => {
                let done =
                    staged.pairs()?.into_iter().map(|(key, value)| self.write::<VERB>(key, value, ttl));
                collected(done)?.into_iter().collect()
            }
        }
    }

    fn select_each(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        self.cache.get_many(keys, read);
    }
}
