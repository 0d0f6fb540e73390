//! The iterators over tables.

use std::collections::VecDeque;
use std::ops::Bound as End;

use twindex_durable::{ExpiringCursor, ExpiringReads, Unexpired};

use crate::cursor::Engine;
use crate::interrupts::Work;
use crate::prelude::*;

/// A table is read in blocks of this many pairs at first, then twice as many, up to the last.
const FIRST_BLOCK: usize = 16;
const LAST_BLOCK: usize = 256;

/// A block ends once it has so many bytes.
const BLOCK_BYTES: usize = 1 << 20;

/// What comes of each pair.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Yields {
    Keys,
    Values,
    Pairs,
}

/// An iterator over a table, or over a range of a sorted one.
///
/// >>> words = Store().table("words", index="sorted", values="int")
/// >>> words.update(a=1, b=2)
/// >>> scan = words.scan()
/// >>> next(scan), list(scan)
/// (('a', 1), [('b', 2)])
#[pyclass(frozen, weakref, generic, module = "twindex")]
pub(crate) struct Scan {
    /// None if it is over a cache.
    store: Option<Arc<Shared>>,
    codecs: Codecs,
    yields: Yields,
    state: Attached<State>,
}

struct State {
    ahead: Ahead,
    source: Inherited<Source>,
    /// The size of the next block.
    size: usize,
    /// How many pairs may still be read.
    left: usize,
    /// What was read since other threads had a turn. A loop in C, as that of `dict(table)`, gives them none.
    work: Work,
}

pub(crate) enum Source {
    /// `true` is downwards.
    Ordered(Box<Engine>, bool),
    Unordered(twindex::Iter),
    /// Of tables whose pairs expire.
    Unexpired(Unexpired<twindex::Iter>),
    Cache(twindex_cache::Iter),
    /// The snapshot has ended that it read.
    Ended,
}

/// What scans are over.
pub(crate) trait Read {
    type Cursor: Into<Engine>;

    fn over(&self, range: (End<&[u8]>, End<&[u8]>)) -> twindex::Result<Self::Cursor>;
    fn unordered(&self) -> Source;
}

impl Read for twindex::Table {
    type Cursor = twindex::Cursor;

    fn over(&self, range: (End<&[u8]>, End<&[u8]>)) -> twindex::Result<twindex::Cursor> {
        self.cursor(range)
    }

    fn unordered(&self) -> Source {
        Source::Unordered(self.iter())
    }
}

impl Read for ExpiringReads {
    type Cursor = ExpiringCursor;

    fn over(&self, range: (End<&[u8]>, End<&[u8]>)) -> twindex::Result<ExpiringCursor> {
        self.cursor(range)
    }

    fn unordered(&self) -> Source {
        Source::Unexpired(self.iter())
    }
}

/// Pairs that were read ahead, as objects: to make many in a row takes less time than to make each when it is due.
struct Ahead {
    made: VecDeque<Result<Made>>,
    bytes: usize,
}

/// A key, a value or both, without what it takes Python code to make of a value.
struct Made(Py<PyAny>, Option<Py<PyAny>>);

const _: () = assert!(size_of::<Result<Made>>() == 2 * size_of::<usize>());

impl Ahead {
    /// Whether there is room for more. Runs no Python code.
    ///
    /// A pair that cannot be made ends the block: Python has few errors for when there is no memory, and ends the process once
    /// all of them are held.
    #[inline]
    fn push(&mut self, scan: &Scan, py: Python<'_>, key: &[u8], value: &[u8]) -> bool {
        self.bytes += match scan.yields {
            Yields::Keys => key.len(),
            Yields::Values => value.len(),
            Yields::Pairs => key.len() + value.len(),
        };
        let made = scan.make(py, key, value);
        if made.is_err() {
            self.bytes = BLOCK_BYTES;
        }
        self.made.push_back(made);
        !self.is_full()
    }

    fn is_full(&self) -> bool {
        self.bytes >= BLOCK_BYTES
    }
}

impl State {
    #[inline]
    fn next(&mut self) -> Option<Result<Made>> {
        self.ahead.made.pop_front()
    }

    #[cold]
    fn read_ahead(&mut self, scan: &Scan, py: Python<'_>) {
        let Self { ahead, source, .. } = self;
        let size = self.size.min(self.left);
        ahead.bytes = 0;
        let pairs = source.read(size, |key, value| ahead.push(scan, py, key, value));
        // At the end of the range the iterator is exhausted for good, as Python wants it.
        self.left = if pairs < size && !ahead.is_full() { 0 } else { self.left - pairs };
        self.work.count(pairs, ahead.bytes);
        self.size = (self.size * 2).min(LAST_BLOCK);
    }
}

impl Source {
    /// Reads so many pairs, or fewer at the end or where `read` wants no more. Returns how many.
    fn read(&mut self, size: usize, read: impl FnMut(&[u8], &[u8]) -> bool) -> usize {
        match self {
            Self::Ordered(cursor, down) => cursor.steps(*down, size, read),
            Self::Unordered(all) => read_each(size, || all.next_shared(), read),
            Self::Unexpired(all) => read_each(size, || all.next(), read),
            Self::Cache(all) => read_each(size, || all.next(), read),
            Self::Ended => 0,
        }
    }
}

/// Reads so many pairs, or fewer if there is no room for more. Returns how many.
fn read_each<K: AsRef<[u8]>, V: AsRef<[u8]>>(
    size: usize,
    mut next: impl FnMut() -> Option<(K, V)>,
    mut read: impl FnMut(&[u8], &[u8]) -> bool,
) -> usize {
    let mut pairs = 0;
    while pairs < size
        && let Some((key, value)) = next()
    {
        pairs += 1;
        if !read(key.as_ref(), value.as_ref()) {
            break;
        }
    }
    pairs
}

impl Scan {
    pub(crate) fn over_range(
        store: Arc<Shared>,
        cursor: impl Into<Engine>,
        codecs: Codecs,
        yields: Yields,
        reverse: bool,
        limit: Option<usize>,
    ) -> Self {
        Self::new(Some(store), Source::Ordered(Box::new(cursor.into()), reverse), codecs, yields, limit)
    }

    pub(crate) fn over_table(store: Arc<Shared>, table: &impl Read, codecs: Codecs, yields: Yields) -> Self {
        if let Ok(cursor) = table.over((End::Unbounded, End::Unbounded)) {
            return Self::over_range(store, cursor, codecs, yields, false, None);
        }
        Self::new(Some(store), table.unordered(), codecs, yields, None)
    }

    pub(crate) fn over_cache(cache: &twindex_cache::Cache, codecs: Codecs, yields: Yields) -> Self {
        Self::new(None, Source::Cache(cache.iter()), codecs, yields, None)
    }

    fn new(
        store: Option<Arc<Shared>>,
        source: Source,
        codecs: Codecs,
        yields: Yields,
        limit: Option<usize>,
    ) -> Self {
        // With a limit the caller wants that many pairs; without one perhaps only a few.
        let size = limit.map_or(FIRST_BLOCK, |limit| limit.min(LAST_BLOCK));
        let ahead = Ahead { made: VecDeque::with_capacity(size), bytes: 0 };
        let state = State {
            ahead,
            source: Inherited::new(source),
            size,
            left: limit.unwrap_or(usize::MAX),
            work: Work::default(),
        };
        Self { store, codecs, yields, state: Attached::new(state) }
    }
}

impl Scan {
    /// Ends it with its snapshot.
    pub(crate) fn end(&self, py: Python<'_>) {
        let ended = self.state.with(py, |state| {
            state.left = usize::MAX;
            let source = std::mem::replace(&mut state.source, Inherited::new(Source::Ended));
            (source, std::mem::take(&mut state.ahead.made))
        });
        drop(ended);
    }

    pub(crate) fn codecs(&self) -> &Codecs {
        &self.codecs
    }

    /// Reads so many pairs that were not read ahead, or fewer at the end or where `read` wants no more. Returns how many. `read` runs no
    /// Python code.
    pub(crate) fn read(
        &self,
        py: Python<'_>,
        most: usize,
        read: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<usize> {
        py.detach(|| ());
        self.check_source(py)?;
        Ok(self.state.with(py, |state| {
            let pairs = state.source.read(most.min(state.left), read);
            state.left -= pairs;
            pairs
        }))
    }

    /// The first pair of another block, unless a signal has come.
    #[cold]
    fn next_block(&self, py: Python<'_>) -> Result<Option<Made>> {
        if self.state.with(py, |state| state.work.is_due()) {
            // Lets other threads have a turn.
            py.detach(|| ());
        }
        self.check_source(py)?;
        let read_ahead = |state: &mut State| {
            // The signal's handler may have done so.
            if state.ahead.made.is_empty() {
                state.read_ahead(self, py);
            }
            state.next()
        };
        self.state.with(py, read_ahead).transpose()
    }

    /// Fails if a signal has come, or the source has ended. It is there until another thread runs.
    fn check_source(&self, py: Python<'_>) -> Result<()> {
        py.check_signals()?;
        if let Some(store) = &self.store {
            store.check_open()?;
        }
        // A cache's is that of the parent in a child of fork. A store's is refused before.
        if self.state.with(py, |state| state.source.is_foreign()) {
            return Err(error::forked());
        }
        if self.state.with(py, |state| matches!(*state.source, Source::Ended)) {
            return Err(error::snapshot_ended());
        }
        Ok(())
    }

    #[inline]
    fn make(&self, py: Python<'_>, key: &[u8], value: &[u8]) -> Result<Made> {
        let Codecs { keys, values } = &self.codecs;
        Ok(match self.yields {
            Yields::Keys => Made(keys.make(py, key)?.unbind(), None),
            Yields::Values => Made(values.make(py, value)?.unbind(), None),
            Yields::Pairs => Made(keys.make(py, key)?.unbind(), Some(values.make(py, value)?.unbind())),
        })
    }

    #[inline]
    fn finish<'py>(&self, py: Python<'py>, Made(one, other): Made) -> Result<Bound<'py, PyAny>> {
        let Codecs { keys, values } = &self.codecs;
        let one = one.into_bound(py);
        match other {
            Some(value) => Ok(objects::pair(keys.finish(one)?, values.finish(value.into_bound(py))?)?),
            None if self.yields == Yields::Values => values.finish(one),
            None => keys.finish(one),
        }
    }
}

#[pymethods]
impl Scan {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.codecs.visit(&visit)
    }

    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        if let Some(store) = &self.store {
            store.check_open()?;
        }
        let made = match self.state.with(py, State::next) {
            Some(made) => Some(made?),
            None => self.next_block(py)?,
        };
        made.map(|made| self.finish(py, made)).transpose()
    }

    fn __repr__(&self) -> &'static str {
        match self.yields {
            Yields::Keys => "<twindex.Scan of keys>",
            Yields::Values => "<twindex.Scan of values>",
            Yields::Pairs => "<twindex.Scan of pairs>",
        }
    }
}

not_copied!(Scan, "a Scan cannot be pickled or copied; list(scan) copies its pairs");
