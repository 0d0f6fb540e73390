//! Iterators over every pair of a table or a cache.

use twindex::{Cursor, IndexKind, Table};

use crate::answer::Output;
use crate::block;
use crate::cached::{Cached, Show};
use crate::direction::Direction;
use crate::expiry::{Expiry, shown};
use crate::failure::Failed;
use crate::read::read;

/// From here on a value is not copied with its part of the table.
const LARGE_BYTES: usize = 4096;

/// From here on no value is copied with a part. While it grows, this and twice as much fit where only the reserve is left.
const PART_BYTES: usize = 256 * 1024;

pub(crate) enum Iterator {
    Sorted(Cursor, Option<Expiry>),
    Hash(Walk),
}

enum Hash {
    Table(Table, Option<Expiry>),
    Cache(Cached),
}

impl Hash {
    /// Shows a part of the pairs: where the next one begins, if there is one.
    fn walk(&self, from: u64, show: &mut dyn FnMut(&[u8], &[u8])) -> Option<u64> {
        match self {
            Self::Table(table, None) => table.walk(from, show),
            Self::Table(table, expiry) => {
                let show_left: &mut dyn FnMut(&[u8], &[u8]) = &mut |key, stored| {
                    if let Some(value) = shown(expiry.as_ref(), stored) {
                        show(key, value);
                    }
                };
                table.walk(from, show_left)
            }
            Self::Cache(cache) => cache.walk(from, show),
        }
    }

    /// Shows the value of a key, which is no use of its pair; whether it is there.
    fn read(&self, key: &[u8], show: Show<'_>) -> Result<bool, Failed> {
        match self {
            Self::Table(table, expiry) => {
                let mut is_there = false;
                read(table, key, |stored| {
                    let value = shown(expiry.as_ref(), stored);
                    is_there = value.is_some();
                    value.map_or(Ok(()), &mut *show)
                })?;
                Ok(is_there)
            }
            Self::Cache(cache) => cache.peek(key, show),
        }
    }
}

/// A way through a hash table or a cache, a part of it at a time.
pub(crate) struct Walk {
    hash: Hash,
    /// Where the next part begins, unless this was the last.
    next: Option<u64>,
    /// The pairs of this part, packed. A value that was not copied is absent, to be looked up when its turn comes.
    part: Output,
    /// How many bytes of it were shown.
    shown: usize,
}

impl Iterator {
    pub(crate) fn new(table: &Table, expiry: Option<Expiry>) -> Result<Self, Failed> {
        Ok(match table.index() {
            IndexKind::Sorted => Self::Sorted(table.cursor(..)?, expiry),
            IndexKind::Hash => Self::Hash(Walk::new(Hash::Table(table.clone(), expiry))),
        })
    }

    #[cfg_attr(not(feature = "caches"), expect(unreachable_code, reason = "there is none"))]
    pub(crate) fn of_cache(cache: &Cached) -> Self {
        Self::Hash(Walk::new(Hash::Cache(cache.clone())))
    }

    /// Pushes the next pairs, up to `count` or until they are `bytes` long: how many there were.
    pub(crate) fn push_block(
        &mut self,
        output: &mut Output,
        count: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        match self {
            Self::Sorted(cursor, expiry) => {
                Direction::Up.push_block(cursor, output, (count, bytes), expiry.as_ref())
            }
            Self::Hash(walk) => walk.push_block(output, count, bytes),
        }
    }
}

impl Walk {
    fn new(hash: Hash) -> Self {
        Self { hash, next: Some(0), part: Output::new(), shown: 0 }
    }

    fn push_block(&mut self, output: &mut Output, count: usize, bytes: usize) -> Result<usize, Failed> {
        let mut pairs = 0;
        while pairs < count && output.len() < bytes {
            if self.shown == self.part.len() {
                let Some(from) = self.next else { break };
                self.take_part(from)?;
                continue;
            }
            let left = &self.part.bytes()[self.shown..];
            let (copied, length) = block::copied(left, count - pairs, bytes - output.len());
            let pushed = if copied > 0 {
                output.push(&left[..length]).map(|()| (copied, length))
            } else {
                let Some((key, length)) = block::first_key(left) else { break };
                let push = &mut |value: &[u8]| block::push_pair(output, key, value);
                self.hash.read(key, push).map(|is_there| (is_there.into(), length))
            };
            if pushed.is_err() && pairs > 0 {
                break; // these come first in the next block
            }
            let (more, length) = pushed?;
            pairs += more;
            self.shown += length;
        }
        Ok(pairs)
    }

    /// Copies the part that begins at `from`.
    fn take_part(&mut self, from: u64) -> Result<(), Failed> {
        self.shown = 0;
        let part = self.part.start();
        let mut outcome = Ok(());
        let next = self.hash.walk(from, &mut |key, value| {
            if outcome.is_ok() {
                let is_copied = value.len() < LARGE_BYTES && part.len() < PART_BYTES;
                outcome = block::push_item(part, key, is_copied.then_some(value));
            }
        });
        if outcome.is_err() {
            part.start(); // there it begins again
        }
        outcome?;
        self.next = next;
        Ok(())
    }
}
