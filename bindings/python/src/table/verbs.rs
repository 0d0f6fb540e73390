//! The verbs for one key.

use std::time::Duration;

use pyo3::prelude::*;
use twindex::{Swap, Write};

use super::Table;
use crate::arguments::{Amount, Given};
use crate::codec::Encoded;
use crate::error::{self, Result};
use crate::groups::{Groups, Keys};
use crate::interrupts::AT_ONCE;
use crate::objects::{Flags, Sums};
use crate::verbs::{Engine, encode_amounts, encode_pairs, increments, shared_verbs, updates};

impl Engine for twindex_durable::Table {
    type Error = twindex_durable::Error;

    // Each of these turns is a record on disk where writes wait for it, so that they are not to be many.
    const TURN: (usize, usize) = (4 * AT_ONCE, 16 << 20);

    #[inline]
    fn write(
        &self,
        write: Write,
        key: &[u8],
        value: &[u8],
        _ttl: Option<Duration>,
    ) -> twindex_durable::Result<bool> {
        self.write(write, key, value)
    }

    fn write_many(
        &self,
        write: Write,
        pairs: &[(Encoded<'_>, Encoded<'_>)],
        _ttl: Option<Duration>,
    ) -> twindex_durable::Result<Vec<bool>> {
        self.write_many(write, pairs)
    }

    #[inline]
    fn delete(&self, key: &[u8]) -> twindex_durable::Result<bool> {
        self.delete(key)
    }

    fn leave(&self, key: &[u8]) -> twindex_durable::Result<bool> {
        self.alter(key, |_| twindex::Change::Keep)
    }

    #[inline]
    fn increment(&self, key: &[u8], by: i64, _ttl: Option<Duration>) -> twindex_durable::Result<i64> {
        self.increment(key, by)
    }

    fn compare_and_swap(
        &self,
        key: &[u8],
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> twindex_durable::Result<bool> {
        self.compare_and_swap(key, expected, new)
    }

    fn compare_and_swap_many(&self, swaps: &[Swap<'_, &Encoded<'_>>]) -> twindex_durable::Result<Vec<bool>> {
        self.compare_and_swap_many(swaps)
    }

    fn delete_many(&self, keys: &[Encoded<'_>]) -> twindex_durable::Result<Vec<bool>> {
        self.delete_many(keys)
    }

    fn increment_many(
        &self,
        amounts: &[(Encoded<'_>, i64)],
        _ttl: Option<Duration>,
    ) -> twindex_durable::Result<Vec<i64>> {
        self.increment_many(amounts)
    }
}

/// The verbs that give keys values, one by one and together.
macro_rules! puts {
    ($class:ident: $($(#[$doc:meta])* $verb:ident: $write:ident, $(#[$doc_of_many:meta])* $many:ident;)*) => {
        #[pymethods]
        impl $class {
            $($(#[$doc])*
            #[pyo3(signature = (key, value, /))]
            fn $verb(&self, key: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> Result<bool> {
                let (py, crate::codec::Codecs { keys, values }) = (key.py(), &self.codecs);
                let (key, value) = (keys.encode(key)?, values.encode(value)?);
                self.write(py, value.len(), |table| table.write(twindex::Write::$write, &key, &value))
            }

            $(#[$doc_of_many])*
            #[pyo3(signature = (pairs, /))]
            fn $many(&self, pairs: &Bound<'_, PyAny>) -> Result<Flags> {
                let groups = Groups::pairs("pairs", pairs)?;
                self.write_many(pairs.py(), &groups, |table, pairs| table.write_many(twindex::Write::$write, pairs))
            })*
        }
    };
}

puts! {
    Table:
    /// Adds the pair where the key is absent; whether it was.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert("ada", "1815"), users.insert("ada", "1852")
    /// (True, False)
    insert: Insert,
    /// `insert` for each pair of a mapping or an iterable: whether each took effect.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.insert_many([("ada", "1815"), ("bob", "1900"), ("ada", "1852")])
    /// [True, True, False]
    insert_many;

    /// Gives the key another value where it is present; whether it was.
    ///
    /// >>> users = Store().table("users", values="int")
    /// >>> users.replace("ada", 1815)
    /// False
    replace: Replace,
    /// `replace` for each pair of a mapping or an iterable: whether each took effect.
    replace_many;

    /// Gives the key this value, present or not. Always takes effect, so always True.
    ///
    /// >>> users = Store().table("users")
    /// >>> users.upsert("ada", "1815"), users.upsert("ada", "1852")
    /// (True, True)
    upsert: Upsert,
    /// `upsert` for each pair of a mapping or an iterable: whether each took effect.
    upsert_many;
}

shared_verbs!(Table, twindex_durable::Table);
increments!(Table);
table_changes!(Table);

/// Gives a class the writes that tables have beyond these, the same where pairs expire. It has `pop_end`.
macro_rules! table_changes {
    ($class:ident) => {
        const _: () = {
            use crate::allocation::{gather, with_room};
            use crate::codec::Encoded;
            use crate::groups::Groups;
            use crate::interrupts::Interrupts;
            use crate::objects::{Flags, Pair};

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
                    let bytes = |(key, _, new): &twindex::Swap<'_, &Encoded<'_>>| {
                        key.len() + new.map_or(0, <[u8]>::len)
                    };
                    self.in_turns(py, &swaps, bytes, |table, swaps| {
                        Engine::compare_and_swap_many(table, swaps)
                    })
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
    };
}

pub(crate) use table_changes;
