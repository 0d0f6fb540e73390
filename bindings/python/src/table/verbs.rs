//! The verbs for one key.

use twindex::{Swap, Write};
use twindex_durable::Result as Done;

use super::Table;
use crate::arguments::Given;
use crate::prelude::*;
use crate::verbs::{Engine, encode_amounts, encode_pairs, increments, puts, shared_verbs, ttl_of, updates};

/// Both kinds of tables do the verbs alike, but that one takes times to live: those of calls, and `None` where pairs keep theirs.
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

/// Gives a class the writes that tables have beyond these, the same where pairs expire. It has `pop_end`.
macro_rules! table_changes {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// `compare_and_swap` for each key, expected and new value: whether each took effect.
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

            /// Removes the key and returns its value, or None where it is absent. Of several threads, one gets it.
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

            /// Removes the pair with the least key of a sorted table and returns it, or None where there is no pair. Of several
            /// threads, each gets another pair.
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

pub(crate) use table_changes;
