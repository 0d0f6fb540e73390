//! The two directions in which a cursor moves.

use twindex::Cursor;

use crate::answer::Output;
use crate::block;
use crate::expiry::Expiry;
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

    /// Pushes up to `count` pairs that have not expired, or until they are `bytes` long: how many there were. The cursor is then on the
    /// last of them. On an error it stays where it was.
    pub(crate) fn push_block(
        self,
        cursor: &mut Cursor,
        output: &mut Output,
        (count, bytes): (usize, usize),
        expiry: Option<&Expiry>,
    ) -> Result<usize, Failed> {
        let before = cursor.clone();
        let (mut pairs, mut last) = (0, None);
        while pairs < count && output.len() < bytes {
            let end = output.len();
            match self.push_some(cursor, output, count - pairs, bytes) {
                Ok(0) => break,
                Ok(more) => match expiry {
                    None => pairs += more,
                    Some(expiry) => {
                        let (kept, at) = expiry.retain(output.with_room(), end);
                        (pairs, last) = (pairs + kept, at.or(last));
                    }
                },
                Err(error) => {
                    *cursor = before;
                    return Err(error);
                }
            }
        }
        if let Some(expiry) = expiry {
            expiry.exists();
            match last.and_then(|at| block::first_pair(&output.bytes()[at..]).map(|(key, _)| (at, key))) {
                Some((at, key)) => cursor.go_back(&output.bytes()[at + block::PAIR_HEAD..][..key]),
                None => *cursor = before,
            }
        }
        Ok(pairs)
    }
}
