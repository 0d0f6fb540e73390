//! What tables and caches have in common, for the functions that JavaScript sees.

use twindex::Write;
use twindex_durable::{Watch, WatchOptions};

use crate::cached::{Cached, Ttl};
use crate::fault::Fault;
use crate::memory::collected;
use crate::staged::Staged;
use crate::state::Thing;
use crate::table::{Expiring, Table};
use crate::walk::{Cursor, Pair, Range, Way};

/// The verbs that write a pair, as parameters of the functions that JavaScript sees.
pub(crate) const INSERT: u8 = 0;
pub(crate) const REPLACE: u8 = 1;
pub(crate) const UPSERT: u8 = 2;
pub(crate) const DELETE: u8 = 3;

pub(crate) const fn write_of(verb: u8) -> Write {
    match verb {
        INSERT => Write::Insert,
        REPLACE => Write::Replace,
        _ => Write::Upsert,
    }
}

pub(crate) type Done<'c, T = bool> = Result<T, Fault<'c>>;

/// What tables, tables in transactions and caches have in common.
pub(crate) trait Verbs: Thing {
    /// Whether a write may say how long its pair lives.
    const EXPIRES: bool;
    /// Whether a sum may say how long its pair lives, where it is a new one.
    const SUMS_EXPIRE: bool;

    fn select_with<'c>(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Done<'c, Option<()>>;
    fn increment<'c>(&self, key: &[u8], by: i64, ttl: Ttl) -> Done<'c, i64>;
    /// Does one of the verbs; `DELETE` takes no value.
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c>;
    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c>;
}

/// Where pairs expire.
pub(crate) trait Timed: Verbs {
    fn ttl<'c>(&self, key: &[u8]) -> Done<'c, twindex_cache::Ttl>;
    fn touch<'c>(&self, key: &[u8], ttl: Ttl) -> Done<'c>;
}

/// What tables and caches have in common.
pub(crate) trait Pairs: Verbs {
    fn len(&self) -> usize;
    fn clear<'c>(&self) -> Done<'c, ()>;
    fn contains(&self, key: &[u8]) -> bool;
    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> Done<'c, Vec<bool>>;
    fn select_many(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>));
}

/// What tables have beyond that, whether their pairs stay or expire.
pub(crate) trait Tabular: Pairs {
    fn memory(&self) -> usize;
    fn take<'c>(&self, key: &[u8]) -> Done<'c, Option<Vec<u8>>>;
    fn contains_many(&self, keys: &[&[u8]]) -> Vec<bool>;
    fn swap_many<'c>(&self, staged: &Staged) -> Done<'c, Vec<bool>>;
    fn increment_many<'c>(&self, staged: &Staged, ttl: Ttl) -> Done<'c, Vec<i64>>;
    /// The pair at an end, which is removed if `POPS`.
    fn end<'c, const LAST: bool, const POPS: bool>(&self) -> Done<'c, Option<Pair>>;
    fn delete_range<'c>(&self, range: Range) -> Done<'c, usize>;
    fn cursor<'c>(&self, range: Range) -> Done<'c, Cursor>;
    fn walk(&self) -> Way;
    fn watch<'c>(&self, prefix: Vec<u8>, options: WatchOptions) -> Done<'c, Watch>;
}

/// The verbs of a kind of table. `$for` is what its writes take of a time to live.
macro_rules! tables {
    ($Table:ty, $expires:literal, $ttl:pat, ($($for:expr)?), ($($forever:expr)?), $cursor:path, $walk:path) => {
        impl Verbs for $Table {
            const EXPIRES: bool = $expires;
            const SUMS_EXPIRE: bool = $expires;

            #[inline]
            fn select_with<'c>(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Done<'c, Option<()>> {
                Ok(self.in_memory().select_with(key, read))
            }

            fn increment<'c>(&self, key: &[u8], by: i64, $ttl: Ttl) -> Done<'c, i64> {
                Ok(self.live()?.increment(key, by $(, $for)?)?)
            }

            #[inline]
            fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], $ttl: Ttl) -> Done<'c> {
                let table = self.live()?;
                Ok(if VERB == DELETE {
                    table.delete(key)
                } else {
                    table.write(write_of(VERB), key, value $(, $for)?)
                }?)
            }

            fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
                Ok(self.live()?.compare_and_swap(key, expected, value $(, $forever)?)?)
            }
        }

        impl Pairs for $Table {
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

            fn write_many<'c, const VERB: u8>(&self, staged: &Staged, $ttl: Ttl) -> Done<'c, Vec<bool>> {
                let table = self.live()?;
                if VERB == DELETE {
                    return Ok(table.delete_many(&staged.keys()?)?);
                }
                Ok(table.write_many(write_of(VERB), &staged.pairs()? $(, $for)?)?)
            }

            fn select_many(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
                self.in_memory().select_many(keys, read);
            }
        }

        impl Tabular for $Table {
            fn memory(&self) -> usize {
                self.in_memory().memory()
            }

            fn take<'c>(&self, key: &[u8]) -> Done<'c, Option<Vec<u8>>> {
                Ok(self.live()?.take(key)?)
            }

            fn contains_many(&self, keys: &[&[u8]]) -> Vec<bool> {
                self.in_memory().contains_many(keys)
            }

            fn swap_many<'c>(&self, staged: &Staged) -> Done<'c, Vec<bool>> {
                Ok(self.live()?.compare_and_swap_many(&staged.swaps()? $(, $forever)?)?)
            }

            fn increment_many<'c>(&self, staged: &Staged, $ttl: Ttl) -> Done<'c, Vec<i64>> {
                Ok(self.live()?.increment_many(&staged.amounts()? $(, $for)?)?)
            }

            fn end<'c, const LAST: bool, const POPS: bool>(&self) -> Done<'c, Option<Pair>> {
                Ok(match (POPS, LAST) {
                    (false, false) => self.in_memory().first()?,
                    (false, true) => self.in_memory().last()?,
                    (true, false) => self.live()?.pop_first()?,
                    (true, true) => self.live()?.pop_last()?,
                })
            }

            fn delete_range<'c>(&self, range: Range) -> Done<'c, usize> {
                Ok(self.live()?.delete_range(range)?)
            }

            fn cursor<'c>(&self, range: Range) -> Done<'c, Cursor> {
                Ok($cursor(self.in_memory().cursor(range)?))
            }

            fn walk(&self) -> Way {
                $walk(self.in_memory().iter())
            }

            fn watch<'c>(&self, prefix: Vec<u8>, options: WatchOptions) -> Done<'c, Watch> {
                Ok(self.live()?.watch_with(prefix, options)?)
            }
        }
    };
}

tables!(Table, false, _, (), (), Cursor::Plain, Way::Any);
tables!(Expiring, true, ttl, (ttl), (None), Cursor::Expiring, Way::Unexpired);

impl Timed for Expiring {
    fn ttl<'c>(&self, key: &[u8]) -> Done<'c, twindex_cache::Ttl> {
        Ok(self.in_memory().ttl(key))
    }

    fn touch<'c>(&self, key: &[u8], ttl: Ttl) -> Done<'c> {
        Ok(self.live()?.touch(key, ttl)?)
    }
}

impl Verbs for Cached {
    const EXPIRES: bool = true;
    const SUMS_EXPIRE: bool = false;

    #[inline]
    fn select_with<'c>(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Done<'c, Option<()>> {
        Ok(self.cache.get_with(key, read))
    }

    fn increment<'c>(&self, key: &[u8], by: i64, _: Ttl) -> Done<'c, i64> {
        Ok(self.cache.increment(key, by)?)
    }

    #[inline]
    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c> {
        Ok(match (VERB, ttl) {
            (INSERT, _) => self.cache.insert(key, value, ttl)?,
            (REPLACE, _) => self.cache.replace(key, value, ttl)?,
            (UPSERT, None) => self.cache.upsert(key, value)?,
            (UPSERT, Some(ttl)) => self.cache.upsert_for(key, value, ttl)?,
            _ => self.cache.remove(key),
        })
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        Ok(self.cache.compare_and_swap(key, expected, value)?)
    }
}

impl Timed for Cached {
    fn ttl<'c>(&self, key: &[u8]) -> Done<'c, twindex_cache::Ttl> {
        Ok(self.cache.ttl(key))
    }

    fn touch<'c>(&self, key: &[u8], ttl: Ttl) -> Done<'c> {
        Ok(self.cache.touch(key, ttl)?)
    }
}

impl Pairs for Cached {
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

    fn write_many<'c, const VERB: u8>(&self, staged: &Staged, ttl: Ttl) -> Done<'c, Vec<bool>> {
        match VERB {
            UPSERT => Ok(self.cache.upsert_many(&staged.pairs()?, ttl)?),
            DELETE => Ok(self.cache.remove_many(&staged.keys()?)),
            _ => {
                let done =
                    staged.pairs()?.into_iter().map(|(key, value)| self.write::<VERB>(key, value, ttl));
                collected(done)?.into_iter().collect()
            }
        }
    }

    fn select_many(&self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        self.cache.get_many(keys, read);
    }
}
