//! The two directions in which a cursor moves.

use twindex::Cursor;

use crate::answer::Output;
use crate::block;
use crate::failure::Failed;

/// The direction in which a cursor moves.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    Up,
    Down,
}

impl Direction {
    pub(crate) fn is_down(self) -> bool {
        matches!(self, Self::Down)
    }

    /// Pushes the next pair, however large; whether there was one.
    pub(crate) fn push_one(self, cursor: &mut Cursor, output: &mut Output) -> Result<bool, Failed> {
        let next = match self {
            Self::Up => cursor.scan_asc_next(),
            Self::Down => cursor.scan_desc_next(),
        };
        let Some((key, value)) = next else { return Ok(false) };
        block::push_pair(output, key, value)?;
        Ok(true)
    }

    /// Pushes a pair, or some, but no more than `limit`, nor any once all are `bytes` long: how many there were.
    fn push_some(
        self,
        cursor: &mut Cursor,
        output: &mut Output,
        limit: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        match cursor.pack(self.is_down(), limit, bytes, output.with_room()) {
            // There is none, or it is a large one.
            0 => self.push_one(cursor, output).map(usize::from),
            packed => Ok(packed),
        }
    }

    /// Pushes up to `count` pairs or until they are `bytes` long: how many there were. On an error the cursor stays where it
    /// was.
    pub(crate) fn push_block(
        self,
        cursor: &mut Cursor,
        output: &mut Output,
        count: usize,
        bytes: usize,
    ) -> Result<usize, Failed> {
        let before = cursor.clone();
        let mut pairs = 0;
        while pairs < count && output.len() < bytes {
            match self.push_some(cursor, output, count - pairs, bytes) {
                Ok(0) => break,
                Ok(more) => pairs += more,
                Err(error) => {
                    *cursor = before;
                    return Err(error);
                }
            }
        }
        Ok(pairs)
    }
}
