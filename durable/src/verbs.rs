//! Verbs that several kinds of tables have, each said once.
//!
//! A receiver is given with its `self`, since a macro does not see one of its caller.

/// `insert`, `replace` and `upsert`, by the `write` of the type.
macro_rules! write_verbs {
    (($($receiver:tt)+) $this:ident, ($($argument:ident: $of:ty),+) -> $took:ty, $whether:literal) => {
        #[doc = concat!("Adds the pair where the key is absent", $whether)]
        #[inline]
        pub fn insert($($receiver)+, $($argument: $of),+) -> Result<$took> {
            $this.write(twindex::Write::Insert, $($argument),+)
        }

        #[doc = concat!("Replaces the value where the key is present", $whether)]
        #[inline]
        pub fn replace($($receiver)+, $($argument: $of),+) -> Result<$took> {
            $this.write(twindex::Write::Replace, $($argument),+)
        }

        /// Gives the key this value, present or not.
        #[inline]
        pub fn upsert($($receiver)+, $($argument: $of),+) -> Result<()> {
            $this.write(twindex::Write::Upsert, $($argument),+).map(drop)
        }
    };
}

/// The same for many pairs, by `write_many`.
macro_rules! write_many_verbs {
    ([$($generic:tt)+] $pairs:ty $(, $ttl:ident: $of:ty)?) => {
        /// [`insert`](Self::insert) for each pair. Returns whether each took effect.
        pub fn insert_many<$($generic)+>(&self, pairs: $pairs $(, $ttl: $of)?) -> Result<Vec<bool>> {
            self.write_many(twindex::Write::Insert, pairs $(, $ttl)?)
        }

        /// [`replace`](Self::replace) for each pair. Returns whether each took effect.
        pub fn replace_many<$($generic)+>(&self, pairs: $pairs $(, $ttl: $of)?) -> Result<Vec<bool>> {
            self.write_many(twindex::Write::Replace, pairs $(, $ttl)?)
        }

        /// [`upsert`](Self::upsert) for each pair.
        pub fn upsert_many<$($generic)+>(&self, pairs: $pairs $(, $ttl: $of)?) -> Result<()> {
            self.write_many(twindex::Write::Upsert, pairs $(, $ttl)?).map(drop)
        }
    };
}

/// The reads of a table of a store, by those of its `open`, which checks that the store is open.
macro_rules! read_verbs {
    ($cursor:ty, $scan:ty, $iter:ty) => {
        /// A copy of the key's value, or `None` if the key is absent.
        pub fn select(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
            Ok(self.open()?.select(key))
        }

        /// Calls `read` with the key's value, without a copy, and returns its result, or `None` if the key is absent.
        pub fn select_with<T>(
            &self,
            key: impl AsRef<[u8]>,
            read: impl FnOnce(&[u8]) -> T,
        ) -> Result<Option<T>> {
            Ok(self.open()?.select_with(key, read))
        }

        /// Whether the key is present.
        pub fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
            Ok(self.open()?.contains(key))
        }

        /// Shows `read` every key's position in `keys` and its value, or `None` if it is absent.
        pub fn select_many<K: AsRef<[u8]>>(
            &self,
            keys: &[K],
            read: impl FnMut(usize, Option<&[u8]>),
        ) -> Result<()> {
            self.open()?.select_many(keys, read);
            Ok(())
        }

        /// Whether each key is present.
        pub fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
            Ok(self.open()?.contains_many(keys))
        }

        /// A cursor over the keys in `range`, before its first pair and after its last at once.
        ///
        /// Fails on a hash table. A cursor from before the store was closed goes on.
        pub fn cursor(&self, range: impl twindex::KeyRange) -> Result<$cursor> {
            Ok(self.open()?.cursor(range)?)
        }

        /// The pairs with keys in `range`, in order; `.rev()` for the other way. As [`cursor`](Self::cursor) fails.
        pub fn scan(&self, range: impl twindex::KeyRange) -> Result<$scan> {
            Ok(self.open()?.scan(range)?)
        }

        /// The pairs whose keys start with `prefix`, as [`scan`](Self::scan).
        pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<$scan> {
            Ok(self.open()?.prefix(prefix)?)
        }

        /// Every pair: in the order of the keys in a sorted table, in no particular order in a hash table.
        #[expect(
            clippy::iter_not_returning_iterator,
            reason = "the name that the engine has, for a store that may be closed"
        )]
        pub fn iter(&self) -> Result<$iter> {
            Ok(self.open()?.iter())
        }

        /// The pair of a sorted table with the least key.
        pub fn first(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
            Ok(self.open()?.first()?)
        }

        /// The pair of a sorted table with the greatest key.
        pub fn last(&self) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
            Ok(self.open()?.last()?)
        }
    };
}

/// `increment` and `compare_and_swap` of pairs that expire, by the `alter` of the type.
macro_rules! alter_verbs {
    (($($receiver:tt)+) $this:ident) => {
        /// Adds `by` to the value, a decimal integer in ASCII such as `-42`, and returns the sum. An absent key
        /// counts as 0.
        pub fn increment(
            $($receiver)+,
            key: impl AsRef<[u8]>,
            by: i64,
            ttl: impl Into<Option<Duration>>,
        ) -> Result<i64> {
            let mut sum = Ok(by);
            $this.alter(key, ttl, |old| {
                sum = $crate::expiring::incremented(old, by);
                sum.as_ref().map_or(Change::Keep, |sum| Change::Set(sum.to_string().into_bytes()))
            })?;
            Ok(sum?)
        }

        /// Gives the key the value `new`, or removes it for `None`, if its value is `expected`, `None` standing
        /// for absent. Returns whether it was.
        pub fn compare_and_swap(
            $($receiver)+,
            key: impl AsRef<[u8]>,
            expected: Option<&[u8]>,
            new: Option<&[u8]>,
            ttl: impl Into<Option<Duration>>,
        ) -> Result<bool> {
            let mut matched = false;
            $this.alter(key, ttl, |old| {
                matched = old == expected;
                if matched { $crate::expiring::set(new) } else { Change::Keep }
            })?;
            Ok(matched)
        }
    };
}

pub(crate) use {alter_verbs, read_verbs, write_many_verbs, write_verbs};
