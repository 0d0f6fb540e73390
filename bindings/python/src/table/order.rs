//! Cursors, scans and positions of sorted tables.

use std::ops::Bound as End;
use std::sync::Arc;

use pyo3::prelude::*;

use super::Table;
use crate::arguments::{self, Count, Inclusive, Position};
use crate::cursor::Cursor;
use crate::error::{self, Result};
use crate::interrupts::AT_ONCE;
use crate::objects::Pair;
use crate::range::Range;
use crate::scan::{Scan, Yields};

impl Table {
    fn scan_range(
        &self,
        py: Python<'_>,
        range: &Range<'_, '_>,
        yields: Yields,
        reverse: bool,
        limit: Option<Count>,
    ) -> Result<Scan> {
        let cursor = range.cursor(self.open()?, &self.codecs.keys)?;
        let (codecs, limit) = (self.codecs.clone_ref(py), limit.map(|Count(pairs)| pairs));
        Ok(Scan::over_range(Arc::clone(&self.store), cursor, codecs, yields, reverse, limit))
    }

    /// How many keys are less than this one, or equal to it.
    fn rank(&self, key: &Bound<'_, PyAny>, or_equal: bool) -> Result<usize> {
        let encoded = self.codecs.keys.encode_sought(key)?;
        let bytes = encoded.as_ref();
        let end = if or_equal { End::Included(bytes) } else { End::Excluded(bytes) };
        let mut cursor = self.open()?.cursor((End::Unbounded, end))?;
        let count = pass(key.py(), &mut cursor, false, usize::MAX)?;
        self.open()?;
        Ok(count)
    }

    /// What `read` makes of the encoded pair at this position, counted from the end where it is negative.
    pub(super) fn at<T>(
        &self,
        py: Python<'_>,
        Position(index): Position,
        read: impl FnOnce(&[u8], &[u8]) -> T,
    ) -> Result<T> {
        let mut cursor = self.open()?.cursor(..)?;
        let (skipped, down) = if index < 0 { (!index, true) } else { (index, false) };
        let skipped = skipped.cast_unsigned();
        let passed = pass(py, &mut cursor, down, skipped)?;
        let pair = match down {
            _ if passed < skipped => None,
            true => cursor.scan_desc_next(),
            false => cursor.scan_asc_next(),
        };
        pair.map(|(key, value)| read(key, value)).ok_or_else(|| error::position(index))
    }
}

/// Moves the cursor over so many pairs, or to the end of its range: over how many.
fn pass(py: Python<'_>, cursor: &mut twindex::Cursor, down: bool, pairs: usize) -> Result<usize> {
    let mut passed = 0;
    while passed < pairs {
        let most = (pairs - passed).min(8 * AT_ONCE);
        let done = py.detach(|| cursor.steps(down, most, |_, _| true));
        passed += done;
        if done < most {
            break;
        }
        py.check_signals()?;
    }
    Ok(passed)
}

#[pymethods]
impl Table {
    /// A cursor over the keys from `gt` (without it) or `gte` (with it) to `lt` or `lte`, or over those
    /// that start with `prefix`. Needs a sorted table.
    ///
    /// >>> log = Store().table("log", index="sorted")
    /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
    /// >>> cursor = log.cursor(lt="2027")
    /// >>> cursor.scan_asc_next(), cursor.scan_asc_next(), cursor.scan_asc_next()
    /// (('2026-11-01', 'a'), ('2026-11-02', 'b'), None)
    #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None))]
    fn cursor(
        &self,
        py: Python<'_>,
        gt: Option<&Bound<'_, PyAny>>,
        gte: Option<&Bound<'_, PyAny>>,
        lt: Option<&Bound<'_, PyAny>>,
        lte: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
    ) -> Result<Cursor> {
        let cursor = Range { gt, gte, lt, lte, prefix }.cursor(self.open()?, &self.codecs.keys)?;
        Ok(Cursor::new(Arc::clone(&self.store), self.name(), cursor, self.codecs.clone_ref(py)))
    }

    /// An iterator over the pairs of a range, as `cursor` takes it, in the order of the keys or the other
    /// way, at most `limit` of them. It reads ahead by up to 256 pairs.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int")
    /// >>> log.update([(3, "c"), (-1, "a"), (2, "b")])
    /// >>> list(log.scan(gte=0)), list(log.scan(reverse=True, limit=1))
    /// ([(2, 'b'), (3, 'c')], [(3, 'c')])
    #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=false, limit=None))]
    fn scan(
        &self,
        py: Python<'_>,
        gt: Option<&Bound<'_, PyAny>>,
        gte: Option<&Bound<'_, PyAny>>,
        lt: Option<&Bound<'_, PyAny>>,
        lte: Option<&Bound<'_, PyAny>>,
        prefix: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::reverse)] reverse: bool,
        limit: Option<Count>,
    ) -> Result<Scan> {
        self.scan_range(py, &Range { gt, gte, lt, lte, prefix }, Yields::Pairs, reverse, limit)
    }

    /// The keys from `minimum` to `maximum`, either of which may be None, in their order or the other way, with or
    /// without the two themselves.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int")
    /// >>> log.update([(1, "a"), (2, "b"), (3, "c")])
    /// >>> list(log.irange(2)), list(log.irange(1, 3, (True, False), reverse=True))
    /// ([2, 3], [2, 1])
    #[pyo3(
        signature = (minimum=None, maximum=None, inclusive=Inclusive::BOTH, reverse=false),
        text_signature = "($self, minimum=None, maximum=None, inclusive=(True, True), reverse=False)"
    )]
    fn irange(
        &self,
        py: Python<'_>,
        minimum: Option<&Bound<'_, PyAny>>,
        maximum: Option<&Bound<'_, PyAny>>,
        inclusive: Inclusive,
        #[pyo3(from_py_with = arguments::reverse)] reverse: bool,
    ) -> Result<Scan> {
        let Inclusive(lower, upper) = inclusive;
        let (gte, gt) = if lower { (minimum, None) } else { (None, minimum) };
        let (lte, lt) = if upper { (maximum, None) } else { (None, maximum) };
        self.scan_range(py, &Range { gt, gte, lt, lte, prefix: None }, Yields::Keys, reverse, None)
    }

    /// How many keys are less than this one: the position at which it is, or would be.
    ///
    /// It counts them, which takes longer the more there are.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int")
    /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
    /// >>> log.bisect_left(20), log.bisect_right(20), log.bisect_left(99)
    /// (1, 2, 3)
    #[pyo3(signature = (key, /))]
    fn bisect_left(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
        self.rank(key, false)
    }

    /// How many keys are less than this one or equal to it. It counts them, as `bisect_left` does.
    #[pyo3(signature = (key, /))]
    fn bisect_right(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
        self.rank(key, true)
    }

    /// The same as `bisect_right`.
    #[pyo3(signature = (key, /))]
    fn bisect(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
        self.rank(key, true)
    }

    /// The pair at a position, counted from the end where it is negative; the last one by default. Raises
    /// `IndexError` where there are not so many.
    ///
    /// It passes all pairs between that end and the position.
    ///
    /// >>> log = Store().table("log", index="sorted", keys="int")
    /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
    /// >>> log.peekitem(), log.peekitem(0)
    /// ((30, 'c'), (10, 'a'))
    #[pyo3(signature = (index=Position::LAST, /), text_signature = "($self, index=-1, /)")]
    fn peekitem<'py>(&self, py: Python<'py>, index: Position) -> Result<Pair<'py>> {
        let make =
            |key: &[u8], value: &[u8]| (self.codecs.keys.make(py, key), self.codecs.values.make(py, value));
        let (key, value) = self.at(py, index, make)?;
        Ok(Pair(self.codecs.keys.finish(key?)?, self.codecs.values.finish(value?)?))
    }
}
