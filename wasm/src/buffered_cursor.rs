//! A cursor that is asked for one pair after the other.
//!
//! Pairs are packed ahead, twice as many each time, and a step answers with one of them where it lies, as long as the engine says
//! that their leaf has not changed: so a step still sees every write that was finished before it.

use twindex::{Cursor, Table};

use crate::answer::{self, Output};
use crate::block;
use crate::direction::Direction;
use crate::expiry::{Expiry, shown};
use crate::failure::Failed;
use crate::read::read;

/// More do not fit into the room that an answer starts with.
const MOST: usize = 64;

pub(crate) struct BufferedCursor {
    table: Table,
    cursor: Cursor,
    expiry: Option<Expiry>,
    /// Pairs of one leaf, packed. The cursor is on the last of them.
    pairs: Output,
    /// Where the pair that was shown last begins.
    last: usize,
    /// Where it ends.
    shown: usize,
    /// How many are packed next.
    ahead: usize,
}

impl BufferedCursor {
    pub(crate) fn new(table: &Table, cursor: Cursor, expiry: Option<Expiry>) -> Self {
        Self { table: table.clone(), cursor, expiry, pairs: Output::new(), last: 0, shown: 0, ahead: 1 }
    }

    /// Moves to the next pair and answers with it; whether there was one.
    pub(crate) fn next(&mut self, direction: Direction, output: &mut Output) -> Result<bool, Failed> {
        if self.shown < self.pairs.len() && self.cursor.is_unchanged(direction.is_down()) {
            self.show();
            return Ok(true);
        }
        self.pack(direction, output)
    }

    /// Makes the next of the packed pairs the answer.
    #[inline]
    fn show(&mut self) {
        let left = &self.pairs.bytes()[self.shown..];
        if let Some((_, length)) = block::first_pair(left) {
            answer::set_bytes(&left[..length], 1);
            self.last = self.shown;
            self.shown += length;
        }
    }

    /// As `next`, where no packed pair is left to be shown.
    #[cold]
    fn pack(&mut self, direction: Direction, output: &mut Output) -> Result<bool, Failed> {
        if let Some(expiry) = &self.expiry {
            // A pair packed ahead might expire before it is returned.
            expiry.exists();
            let is_there = self.push_block(direction, output, (1, usize::MAX))? > 0;
            output.finish(1);
            return Ok(is_there);
        }
        self.cursor();
        let pairs = self.pairs.with_room();
        if self.cursor.pack(direction.is_down(), self.ahead, usize::MAX, pairs) > 0 {
            self.ahead = (self.ahead * 2).min(MOST);
            self.show();
            return Ok(true);
        }
        // There is none, or it is a large one.
        let is_there = direction.push_one(&mut self.cursor, output.start())?;
        if is_there {
            output.finish(1);
        }
        Ok(is_there)
    }

    /// Moves over a block of pairs and answers with it: how many they are.
    pub(crate) fn push_block(
        &mut self,
        direction: Direction,
        output: &mut Output,
        most: (usize, usize),
    ) -> Result<usize, Failed> {
        self.cursor();
        let pairs = direction.push_block(&mut self.cursor, output.start(), most, self.expiry.as_ref())?;
        output.finish(pairs);
        Ok(pairs)
    }

    /// Pushes the key of the pair that was shown last, and its value if it still has one; whether there is such a pair.
    pub(crate) fn push_pair(&mut self, output: &mut Output) -> Result<bool, Failed> {
        self.cursor();
        let Some(key) = self.cursor.key() else { return Ok(false) };
        let start = output.len();
        read(&self.table, key, |stored| match shown(self.expiry.as_ref(), stored) {
            Some(value) => block::push_pair(output, key, value),
            None => Ok(()),
        })?;
        if output.len() == start {
            block::push_item(output, key, None)?;
        }
        Ok(true)
    }

    /// The cursor, on the pair that was shown last.
    pub(crate) fn cursor(&mut self) -> &mut Cursor {
        if self.shown < self.pairs.len() {
            if let Some((key, _)) = block::first_pair(&self.pairs.bytes()[self.last..]) {
                self.cursor.go_back(&self.pairs.bytes()[self.last + block::PAIR_HEAD..][..key]);
            }
            self.ahead = 1;
        }
        self.pairs.start();
        self.shown = 0;
        &mut self.cursor
    }
}
