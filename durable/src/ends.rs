//! Verbs that delete what they return, and ranges.

use std::ops::RangeFull;
use std::time::Duration;

use twindex::{Change, Cursor, KeyRange, prefix_range};

use crate::error::Result;
use crate::expiring::{ExpiringCursor, ExpiringTable};
use crate::table::Table;

/// A range is deleted so many pairs at a time, or as many as have keys of so many bytes. With `always` each time waits for the disk.
const GROUP: usize = 64 << 10;
const GROUP_BYTES: usize = 16 << 20;

type Pair = (Vec<u8>, Vec<u8>);

macro_rules! ends {
    ($table:ty, $cursor:ty $(, $ttl:expr)?) => {
        impl $table {
            /// Removes the pair and returns its value, or `None` if the key was absent.
            pub fn take(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
                let mut value = None;
                self.alter(key $(, $ttl)?, |old| {
                    value = old.map(<[u8]>::to_vec);
                    Change::Delete
                })?;
                Ok(value)
            }

            /// Removes the pair with the least key of a sorted table and returns it. Of several threads, each gets another pair.
            pub fn pop_first(&self) -> Result<Option<Pair>> {
                self.pop(false)
            }

            /// Removes the pair with the greatest key of a sorted table and returns it, as [`pop_first`](Self::pop_first).
            pub fn pop_last(&self) -> Result<Option<Pair>> {
                self.pop(true)
            }

            fn pop(&self, down: bool) -> Result<Option<Pair>> {
                let mut cursor = self.cursor(RangeFull)?;
                self.check_not_dropped()?;
                while cursor.steps(down, 1, |_, _| true) == 1 {
                    let key = cursor.key().unwrap_or_default();
                    // If another thread was quicker, the next pair is tried.
                    if let Some(value) = self.take(key)? {
                        return Ok(Some((key.to_vec(), value)));
                    }
                }
                Ok(None)
            }

            /// Removes the pairs of a sorted table with keys in `range`. Returns how many.
            ///
            /// It is not one step: other threads, and the file after a crash, may have some of the pairs and not the others. An error
            /// leaves the pairs that were not yet removed.
            pub fn delete_range(&self, range: impl KeyRange) -> Result<usize> {
                let (mut cursor, mut removed) = (self.cursor(range)?, 0);
                self.check_not_dropped()?;
                while let Some(more) = self.delete_before(&mut cursor)? {
                    removed += more;
                }
                Ok(removed)
            }

            /// A step of [`delete_range`](Self::delete_range): removes the thousands of pairs before the cursor of this table, and moves it
            /// before them. Returns how many, or `None` once no pair is before it.
            pub fn delete_before(&self, cursor: &mut $cursor) -> Result<Option<usize>> {
                // From the greatest key down, so that no slots of a leaf have to move.
                let (mut keys, mut bytes) = (Vec::new(), 0);
                cursor.steps(true, GROUP, |key, _| {
                    keys.push(key.to_vec());
                    bytes += key.len();
                    bytes < GROUP_BYTES
                });
                if keys.is_empty() {
                    return Ok(None);
                }
                Ok(Some(self.delete_many(&keys)?.into_iter().filter(|&done| done).count()))
            }

            /// Removes the pairs of a sorted table whose keys start with `prefix`, as [`delete_range`](Self::delete_range).
            pub fn delete_prefix(&self, prefix: impl AsRef<[u8]>) -> Result<usize> {
                self.delete_range(prefix_range(prefix.as_ref()))
            }
        }
    };
}

ends!(Table, Cursor);
ends!(ExpiringTable, ExpiringCursor, None::<Duration>);

impl Table {
    pub(crate) fn check_not_dropped(&self) -> Result<()> {
        if self.in_memory().is_dropped() {
            return Err(twindex::Error::TableDropped { table: self.name().into() }.into());
        }
        Ok(())
    }
}
