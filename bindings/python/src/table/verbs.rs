//! The verbs of tables.

use twindex::{Swap, Write};
use twindex_durable::Result as Done;

use super::Table;
use crate::arguments::Given;
use crate::prelude::*;
use crate::verbs::{Engine, encode_amounts, encode_pairs, increments, puts, shared_verbs, ttl_of, updates};

/// Both kinds of tables do the verbs alike, but that one takes times to live: those of calls, and `None` if pairs keep theirs.
macro_rules! engine {
    ($table:ty, $ttl:ident $(, $given:ident, $kept:expr)?) => {
        impl Engine for $table {
            type Error = twindex_durable::Error;

            // Each of these turns is a record on disk where writes wait for it, so that they are not to be many.
            const TURN: (usize, usize) = (4 * AT_ONCE, 16 << 20);

            #[inline]
            fn write(&self, write: Write, key: &[u8], value: &[u8], $ttl: Option<Duration>) -> Done<bool> {
                self.write(write, key, value$(, $given)?)
            }

            fn write_many(&self, write: Write, pairs: &[(Encoded<'_>, Encoded<'_>)], $ttl: Option<Duration>) -> Done<Vec<bool>> {
                self.write_many(write, pairs$(, $given)?)
            }

            #[inline]
            fn delete(&self, key: &[u8]) -> Done<bool> {
                self.delete(key)
            }

            fn leave(&self, key: &[u8]) -> Done<bool> {
                self.alter(key, $($kept,)? |_| twindex::Change::Keep)
            }

            #[inline]
            fn increment(&self, key: &[u8], by: i64, $ttl: Option<Duration>) -> Done<i64> {
                self.increment(key, by$(, $given)?)
            }

            fn compare_and_swap(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Done<bool> {
                self.compare_and_swap(key, expected, new$(, $kept)?)
            }

            fn compare_and_swap_many(&self, swaps: &[Swap<'_, &Encoded<'_>>]) -> Done<Vec<bool>> {
                self.compare_and_swap_many(swaps$(, $kept)?)
            }

            fn delete_many(&self, keys: &[Encoded<'_>]) -> Done<Vec<bool>> {
                self.delete_many(keys)
            }

            fn increment_many(&self, amounts: &[(Encoded<'_>, i64)], $ttl: Option<Duration>) -> Done<Vec<i64>> {
                self.increment_many(amounts$(, $given)?)
            }
        }
    };
}

engine!(twindex_durable::Table, _ttl);
engine!(twindex_durable::ExpiringTable, ttl, ttl, None);

shared_verbs!(Table, twindex_durable::Table);
puts!(Table);
increments!(Table);
table_changes!(Table);

/// Gives a class the writes that tables have beyond these, the same if pairs expire. It has `pop_end`.
macro_rules! table_changes {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// `compare_and_swap` for each key, expected and new value. Returns whether each took effect.
            #[pyo3(signature = (swaps, /))]
            fn compare_and_swap_many(&self, swaps: &Bound<'_, PyAny>) -> Result<Flags> {
                let py = swaps.py();
                let swaps = Groups::<3>::new("swaps", swaps)?;
                let mut encoded = with_room(swaps.len())?;
                let mut interrupts = Interrupts::default();
                for [key, expected, new] in swaps.iter() {
                    let key = self.codecs.keys.encode(key)?;
                    let (expected, new) = (
                        self.codecs.values.encode_present(expected)?,
                        self.codecs.values.encode_present(new)?,
                    );
                    let bytes = |value: &Option<Encoded<'_>>| value.as_ref().map_or(0, Encoded::len);
                    interrupts.item_of(py, key.len() + bytes(&expected) + bytes(&new))?;
                    encoded.push((key, expected, new));
                }
                let slices = encoded.iter().map(|(key, expected, new)| {
                    Ok((key, expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref)))
                });
                let swaps: Vec<twindex::Swap<'_, &Encoded<'_>>> = gather(py, slices)?;
                let bytes =
                    |(key, _, new): &twindex::Swap<'_, &Encoded<'_>>| key.len() + new.map_or(0, <[u8]>::len);
                self.in_turns(py, &swaps, bytes, |table, swaps| Engine::compare_and_swap_many(table, swaps))
                    .map(Flags)
            }

            /// Removes the key and returns its value, or None if it is absent. Only one thread gets it.
            ///
            /// >>> users = Store().table("users")
            /// >>> users["ada"] = "1815"
            /// >>> users.take("ada"), users.take("ada")
            /// ('1815', None)
            #[pyo3(signature = (key, /))]
            fn take<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
                let (py, key) = (key.py(), self.codecs.keys.encode(key)?);
                loop {
                    if let Some(value) = self.remove(py, key.as_ref())? {
                        return Ok(Some(value));
                    }
                    // This refuses what any write refuses.
                    if self.swap(py, key.as_ref(), None, None)? {
                        return Ok(None);
                    }
                }
            }

            /// Removes the pair with the least key of a sorted table and returns it, or None if it is empty. Two threads never
            /// get the same pair.
            ///
            /// >>> tasks = Store().table("tasks", index="sorted", keys="int")
            /// >>> tasks.update([(10, "a"), (20, "b"), (30, "c")])
            /// >>> tasks.pop_first(), tasks.pop_last(), len(tasks)
            /// ((10, 'a'), (30, 'c'), 1)
            fn pop_first<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
                self.pop_end(py, false)
            }

            /// Removes the pair with the greatest key of a sorted table and returns it, as `pop_first` does.
            fn pop_last<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
                self.pop_end(py, true)
            }
        }
    };
}

/// Gives the class of a table the deletion of ranges.
macro_rules! deletes {
    ($class:ident) => {
        impl $class {
            /// Removes the pairs of a range, and looks for signals in between.
            fn delete_all(&self, py: Python<'_>, range: &Range<'_, '_>) -> Result<usize> {
                let (mut cursor, mut removed) = (range.cursor(self.reader()?, &self.codecs.keys)?, 0);
                self.refuse(py)?;
                while let Some(more) = self.write(py, usize::MAX, |table| table.delete_before(&mut cursor))? {
                    removed += more;
                    py.check_signals()?;
                }
                Ok(removed)
            }
        }

        #[pymethods]
        impl $class {
            /// Removes the pairs of a range of a sorted table, as for `scan`, some thousand at a time. Returns their number. Pairs that
            /// other threads write meanwhile may stay.
            ///
            /// >>> log = Store().table("log", index="sorted", keys="int")
            /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
            /// >>> log.delete_range(lt=30), list(log)
            /// (2, [30])
            #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None))]
            fn delete_range(
                &self,
                py: Python<'_>,
                gt: Option<&Bound<'_, PyAny>>,
                gte: Option<&Bound<'_, PyAny>>,
                lt: Option<&Bound<'_, PyAny>>,
                lte: Option<&Bound<'_, PyAny>>,
                prefix: Option<&Bound<'_, PyAny>>,
            ) -> Result<usize> {
                self.delete_all(py, &Range { gt, gte, lt, lte, prefix })
            }

            /// Removes the pairs of a sorted table whose keys start with `prefix`. Returns their number.
            ///
            /// >>> log = Store().table("log", index="sorted")
            /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
            /// >>> log.delete_prefix("2026-"), list(log)
            /// (2, ['2027-01-01'])
            #[pyo3(signature = (prefix, /))]
            fn delete_prefix(&self, prefix: &Bound<'_, PyAny>) -> Result<usize> {
                self.delete_all(prefix.py(), &Range { prefix: Some(prefix), ..Range::default() })
            }
        }
    };
}

/// Gives the class of a table what removes pairs from it as from a mapping. A table whose pairs expire may have pairs and show none.
macro_rules! pops {
    ($class:ident, $expires:literal) => {
        const _: () = {
            use pyo3::IntoPyObjectExt;
            use twindex::IndexKind;

            use crate::arguments::Position;

            impl $class {
                /// Removes the pair at an end and returns it.
                pub(super) fn pop_end<'py>(&self, py: Python<'py>, down: bool) -> Result<Option<Pair<'py>>> {
                    let mut cursor = self.reader()?.cursor(..)?;
                    loop {
                        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
                        let Some((key, _)) = pair else {
                            self.refuse(py)?;
                            return Ok(None);
                        };
                        let (object, key) = (self.codecs.keys.decode(py, key)?, key.to_vec());
                        // If another thread was quicker, the next pair is tried.
                        if let Some(value) = self.remove(py, &key)? {
                            return Ok(Some(Pair(object, value)));
                        }
                        py.check_signals()?;
                    }
                }

                /// The key of some pair of a hash table, if there is one.
                fn any_key(&self, py: Python<'_>) -> Option<Vec<u8>> {
                    let table = self.engine.in_memory();
                    let walk = |from: u64, keys: &mut Vec<Vec<u8>>| {
                        table.walk(from, |key, _| keys.push(key.to_vec()))
                    };
                    self.popping.with(py, |popping| popping.any_key(walk))
                }
            }

            #[pymethods]
            impl $class {
                /// Removes a pair and returns it. Raises `KeyError` if the table is empty.
                ///
                /// In a sorted table it is the pair at a position, as for `peekitem`: by default the last one. In a hash table it is
                /// any pair, and an index is an error.
                ///
                /// >>> log = Store().table("log", index="sorted", keys="int")
                /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
                /// >>> log.popitem(), log.popitem(index=0)
                /// ((30, 'c'), (10, 'a'))
                #[pyo3(signature = (*, index=None))]
                fn popitem<'py>(&self, py: Python<'py>, index: Option<Position>) -> Result<Pair<'py>> {
                    loop {
                        let table = self.open()?;
                        let key = match (table.index(), index) {
                            (IndexKind::Hash, None) => self.any_key(py),
                            (_, index) => {
                                match self.at(py, index.unwrap_or(Position::LAST), |key, _| key.to_vec()) {
                                    Err(_) if table.is_empty() || ($expires && index.is_none()) => None,
                                    found => Some(found?),
                                }
                            }
                        };
                        if key.is_none() && (table.is_empty() || $expires) {
                            self.open()?;
                            return Err(error::missing(&"the table is empty".into_bound_py_any(py)?));
                        }
                        if let Some(key) = key {
                            let object = self.codecs.keys.decode(py, &key)?;
                            if let Some(value) = self.remove(py, &key)? {
                                return Ok(Pair(object, value));
                            }
                        }
                        py.check_signals()?;
                    }
                }
            }
        };
    };
}

pub(crate) use {deletes, pops, table_changes};
