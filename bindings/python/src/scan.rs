//! The iterators over tables.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use twindex::Index;

use crate::arena::Arena;
use crate::codec::{KeyCodec, ValueCodec};
use crate::error::{self, Result};
use crate::store::Shared;

/// A sorted table is read in blocks of this many pairs at first, then twice as many, up to the last.
const FIRST_BLOCK: usize = 16;
const LAST_BLOCK: usize = 256;

/// What comes of each pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yields {
    Keys,
    Values,
    Pairs,
}

/// An iterator over a table, or over a range of a sorted one.
///
/// >>> words = Store().table("words", index="sorted", keys="str", values="int")
/// >>> words.update(a=1, b=2)
/// >>> scan = words.scan()
/// >>> next(scan), list(scan)
/// (('a', 1), [('b', 2)])
#[pyclass(frozen, weakref, generic, module = "twindex")]
pub(crate) struct Scan {
    store: Arc<Shared>,
    keys: KeyCodec,
    values: ValueCodec,
    yields: Yields,
    /// Held over nothing that runs Python code or waits for the interpreter.
    state: Mutex<State>,
}

enum State {
    Sorted(Box<Blocks>),
    Hash(twindex::Iter),
}

/// Pairs of a sorted table that were read ahead.
struct Blocks {
    cursor: twindex::Cursor,
    reverse: bool,
    /// Keys and values by turns; the value of a pair is empty where only keys are asked for.
    block: Arena,
    /// The position of the next pair's key in the block.
    next: usize,
    /// The size of the next block.
    size: usize,
    /// How many pairs may still be read.
    left: usize,
}

impl Scan {
    pub(crate) fn over_range(
        store: Arc<Shared>,
        cursor: twindex::Cursor,
        (keys, values): (KeyCodec, ValueCodec),
        yields: Yields,
        reverse: bool,
        limit: usize,
    ) -> Self {
        let blocks =
            Blocks { cursor, reverse, block: Arena::default(), next: 0, size: FIRST_BLOCK, left: limit };
        Self { store, keys, values, yields, state: Mutex::new(State::Sorted(Box::new(blocks))) }
    }

    pub(crate) fn over_table(
        store: Arc<Shared>,
        table: &twindex::Table,
        codecs: (KeyCodec, ValueCodec),
        yields: Yields,
    ) -> Self {
        if table.index() == Index::Sorted {
            return Self::over_range(store, table.cursor(..), codecs, yields, false, usize::MAX);
        }
        let (keys, values) = codecs;
        Self { store, keys, values, yields, state: Mutex::new(State::Hash(table.iter())) }
    }

    /// The object of a pair, without what runs Python code.
    #[inline]
    fn make<'py>(&self, py: Python<'py>, key: &[u8], value: &[u8]) -> Result<Made<'py>> {
        Ok(match self.yields {
            Yields::Keys => Made::Key(self.keys.make(py, key)?),
            Yields::Values => Made::Value(self.values.make(py, value)?),
            Yields::Pairs => Made::Pair(self.keys.make(py, key)?, self.values.make(py, value)?),
        })
    }
}

enum Made<'py> {
    Key(Bound<'py, PyAny>),
    Value(Bound<'py, PyAny>),
    Pair(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

impl Blocks {
    #[inline]
    fn next(&mut self) -> Option<(&[u8], &[u8])> {
        if self.next >= self.block.len() {
            self.read_ahead();
        }
        let pair = (self.block.get(self.next)?, self.block.get(self.next + 1)?);
        self.next += 2;
        Some(pair)
    }

    #[cold]
    fn read_ahead(&mut self) {
        let size = self.size.min(self.left);
        self.block.clear();
        self.next = 0;
        let read = |key: &[u8], value: &[u8]| {
            self.block.push(key);
            self.block.push(value);
        };
        let pairs = if self.reverse {
            self.cursor.scan_desc_next_many(size, read)
        } else {
            self.cursor.scan_asc_next_many(size, read)
        };
        // At the end of the range the iterator is exhausted for good, as Python wants it.
        self.left = if pairs < size { 0 } else { self.left - pairs };
        self.size = (self.size * 2).min(LAST_BLOCK);
    }
}

#[pymethods]
impl Scan {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        self.store.check_open()?;
        let made = {
            let mut state = self.state.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
            match &mut *state {
                State::Sorted(blocks) => blocks.next().map(|(key, value)| self.make(py, key, value)),
                State::Hash(pairs) => pairs.next().map(|(key, value)| self.make(py, &key, &value)),
            }
        };
        match made.transpose()? {
            None => Ok(None),
            Some(Made::Key(key)) => Ok(Some(key)),
            Some(Made::Value(value)) => self.values.finish(value).map(Some),
            Some(Made::Pair(key, value)) => {
                Ok(Some((key, self.values.finish(value)?).into_bound_py_any(py)?))
            }
        }
    }

    fn __reduce__(_slf: &Bound<'_, Self>) -> Result<()> {
        Err(error::misuse("a Scan cannot be pickled or copied; list(scan) keeps what comes of it"))
    }
}
