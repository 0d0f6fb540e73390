//! Iterators over every pair of a table or a cache.

use twindex::{Cache, Cursor, Index, Iter, Table, Value};

use crate::answer::Output;
use crate::block::{self, Items, Shape};
use crate::failure::Failed;
use crate::read::read;
use crate::way::Way;

/// From here on a value is not copied with its part of the table.
const LARGE_BYTES: usize = 4096;

/// From here on no value is copied with a part. While it grows, this and twice as much fit where only the reserve is left.
const PART_BYTES: usize = 256 * 1024;

pub(crate) enum Iterator {
    Sorted(Cursor),
    Hash(Walk),
    /// A cache, and a pair that did not fit into the last block.
    Cache(Iter, Option<(Vec<u8>, Value)>),
}

/// A way through a hash table, a part of it at a time.
pub(crate) struct Walk {
    table: Table,
    /// Where the next part begins, unless this was the last.
    next: Option<u64>,
    /// The pairs of this part, packed. A value that was not copied is absent, to be looked up when its turn comes.
    part: Output,
    /// How many bytes of it were shown.
    shown: usize,
}

impl Iterator {
    pub(crate) fn new(table: &Table) -> Result<Self, Failed> {
        Ok(match table.index() {
            Index::Sorted => Self::Sorted(table.try_cursor(..)?),
            Index::Hash => {
                Self::Hash(Walk { table: table.clone(), next: Some(0), part: Output::new(), shown: 0 })
            }
        })
    }

    pub(crate) fn of_cache(cache: &Cache) -> Self {
        Self::Cache(cache.iter(), None)
    }

    /// Pushes the next pairs, up to `count` or until they are `bytes` long: how many there were.
    pub(crate) fn push_block(
        &mut self,
        output: &mut Output,
        count: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        match self {
            Self::Sorted(cursor) => Way::Up.push_block(cursor, output, count, bytes),
            Self::Hash(walk) => walk.push_block(output, count, bytes),
            Self::Cache(all, left) => {
                let mut pairs = 0;
                while pairs < count
                    && output.len() < bytes
                    && let Some((key, value)) = left.take().or_else(|| all.next_shared())
                {
                    if let Err(error) = block::push_pair(output, &key, &value) {
                        *left = Some((key, value));
                        // It comes first in the next block.
                        return if pairs > 0 { Ok(pairs) } else { Err(error) };
                    }
                    pairs += 1;
                }
                Ok(pairs)
            }
        }
    }
}

impl Walk {
    fn push_block(&mut self, output: &mut Output, count: usize, bytes: usize) -> Result<usize, Failed> {
        let mut pairs = 0;
        while pairs < count && output.len() < bytes {
            if self.shown == self.part.len() {
                let Some(from) = self.next else { break };
                self.take_part(from)?;
                continue;
            }
            let mut items = Items::new(&self.part.bytes()[self.shown..], Shape::PairOrKey);
            let Some(item) = items.next()? else { break };
            let mut push = |value: &[u8]| block::push_pair(output, item.key, value);
            let is_there = match item.value {
                Some(value) => push(value).map(|()| true),
                None => read(&self.table, item.key, &mut push),
            };
            if is_there.is_err() && pairs > 0 {
                break; // it comes first in the next block
            }
            pairs += usize::from(is_there?);
            self.shown = self.part.len() - items.left();
        }
        Ok(pairs)
    }

    /// Copies the part that begins at `from`.
    fn take_part(&mut self, from: u64) -> Result<(), Failed> {
        self.shown = 0;
        let part = self.part.start();
        let mut outcome = Ok(());
        let next = self.table.walk(from, |key, value| {
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
