//! The class `Cursor`.

use std::sync::MutexGuard;

use crate::arena::Arena;
use crate::prelude::*;

/// The cursor, unless its snapshot has ended.
#[inline]
fn open(cursor: &mut Option<Inherited<Engine>>) -> Result<&mut Engine> {
    cursor.as_deref_mut().ok_or_else(error::snapshot_ended)
}

/// `_many` forms read so many bytes at a time.
const READ_BYTES: usize = 4 << 20;

/// The engine's cursor. That of a table whose pairs expire passes over expired ones.
pub(crate) enum Engine {
    Plain(twindex::Cursor),
    Expiring(twindex_durable::ExpiringCursor),
}

macro_rules! of_either {
    ($engine:expr, $cursor:ident => $does:expr) => {
        match $engine {
            Engine::Plain($cursor) => $does,
            Engine::Expiring($cursor) => $does,
        }
    };
}

impl From<twindex::Cursor> for Engine {
    fn from(cursor: twindex::Cursor) -> Self {
        Self::Plain(cursor)
    }
}

impl From<twindex_durable::ExpiringCursor> for Engine {
    fn from(cursor: twindex_durable::ExpiringCursor) -> Self {
        Self::Expiring(cursor)
    }
}

impl Engine {
    #[inline]
    pub(crate) fn steps(
        &mut self,
        down: bool,
        limit: usize,
        read: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> usize {
        of_either!(self, cursor => cursor.steps(down, limit, read))
    }

    #[inline]
    pub(crate) fn scan_asc_next(&mut self) -> Option<(&[u8], &[u8])> {
        of_either!(self, cursor => cursor.scan_asc_next())
    }

    #[inline]
    pub(crate) fn scan_desc_next(&mut self) -> Option<(&[u8], &[u8])> {
        of_either!(self, cursor => cursor.scan_desc_next())
    }
}

/// A position in a sorted table, on the pair that it returned last.
///
/// It stays valid under any write, and each call sees all earlier writes. At an end of its range it stays, so the next call finds
/// pairs that were appended since.
///
/// >>> words = Store().table("words", index="sorted", values="int")
/// >>> words.update(a=1, b=2)
/// >>> cursor = words.cursor()
/// >>> cursor.scan_asc_next_many(10), cursor.scan_asc_next()
/// ([('a', 1), ('b', 2)], None)
/// >>> words["c"] = 3
/// >>> cursor.scan_asc_next(), cursor.scan_desc_next()
/// (('c', 3), ('b', 2))
#[pyclass(frozen, weakref, generic, module = "twindex")]
pub(crate) struct Cursor {
    store: Arc<Shared>,
    table: String,
    /// None once the snapshot has ended that it reads. Held over nothing that runs Python code or waits for the interpreter.
    engine: Mutex<Option<Inherited<Engine>>>,
    codecs: Codecs,
}

impl Cursor {
    pub(crate) fn new(store: Arc<Shared>, table: &str, engine: impl Into<Engine>, codecs: Codecs) -> Self {
        Self { store, table: table.into(), engine: Mutex::new(Some(Inherited::new(engine.into()))), codecs }
    }

    fn lock(&self, py: Python<'_>) -> Result<MutexGuard<'_, Option<Inherited<Engine>>>> {
        self.store.check_open()?;
        let engine = self.engine.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner);
        // It may have been closed while this waited.
        self.store.check_open()?;
        Ok(engine)
    }

    /// Ends it with its snapshot.
    pub(crate) fn end(&self, py: Python<'_>) {
        let engine = self.engine.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take();
        drop(engine);
    }

    /// The next pair that `step` moves to.
    #[inline]
    fn next<'py>(
        &self,
        py: Python<'py>,
        step: impl FnOnce(&mut Engine) -> Option<(&[u8], &[u8])>,
    ) -> Result<Option<Pair<'py>>> {
        let Codecs { keys, values } = &self.codecs;
        let (key, value) = {
            let mut cursor = self.lock(py)?;
            let Some((key, value)) = step(open(&mut cursor)?) else { return Ok(None) };
            (keys.make(py, key), values.make(py, value))
        };
        Ok(Some(Pair(keys.finish(key?)?, values.finish(value?)?)))
    }

    /// The next pairs in a direction, up to so many.
    fn next_many<'py>(&self, py: Python<'py>, down: bool, most: usize) -> Result<Bound<'py, PyList>> {
        self.store.check_open()?;
        let Codecs { keys, values } = &self.codecs;
        let mut arena = Arena::default();
        let mut pairs = Vec::new();
        while pairs.len() < most {
            let wanted = (most - pairs.len()).min(AT_ONCE);
            arena.clear();
            let done = py.detach(|| {
                let mut cursor = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
                let read = |key: &[u8], value: &[u8]| {
                    arena.push(Some(key));
                    arena.push(Some(value));
                    arena.bytes() < READ_BYTES
                };
                Ok::<_, Failure>(open(&mut cursor)?.steps(down, wanted, read))
            })?;
            self.store.check_open()?;
            arena.check()?;
            pairs.try_reserve(done)?;
            let mut bytes = arena.iter().flatten();
            while let (Some(key), Some(value)) = (bytes.next(), bytes.next()) {
                pairs.push(objects::pair(keys.decode(py, key)?, values.decode(py, value)?)?);
            }
            if done < wanted && arena.bytes() < READ_BYTES {
                break;
            }
            py.check_signals()?;
        }
        Ok(objects::list(py, pairs)?)
    }
}

#[pymethods]
impl Cursor {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.codecs.visit(&visit)
    }

    /// Moves to the next pair upwards and returns it, or None at the end. A new cursor moves to the first
    /// pair of its range.
    fn scan_asc_next<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
        self.next(py, Engine::scan_asc_next)
    }

    /// Moves to the next pair downwards and returns it, or None at the end. A new cursor moves to the last
    /// pair of its range.
    fn scan_desc_next<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
        self.next(py, Engine::scan_desc_next)
    }

    /// `scan_asc_next` up to `limit` times. Returns the pairs.
    #[pyo3(signature = (limit, /))]
    fn scan_asc_next_many<'py>(&self, py: Python<'py>, limit: Count) -> Result<Bound<'py, PyList>> {
        self.next_many(py, false, limit.0)
    }

    /// `scan_desc_next` up to `limit` times. Returns the pairs.
    #[pyo3(signature = (limit, /))]
    fn scan_desc_next_many<'py>(&self, py: Python<'py>, limit: Count) -> Result<Bound<'py, PyList>> {
        self.next_many(py, true, limit.0)
    }

    /// Moves just before the first pair of the cursor's range at or after `key`: the next step upwards goes to that pair, the next step
    /// downwards to the one before it.
    ///
    /// >>> words = Store().table("words", index="sorted")
    /// >>> words.update(a="1", b="2", c="3")
    /// >>> cursor = words.cursor()
    /// >>> cursor.seek("b")
    /// >>> cursor.scan_asc_next(), cursor.key, cursor.value
    /// (('b', '2'), 'b', '2')
    #[pyo3(signature = (key, /))]
    fn seek(&self, key: &Bound<'_, PyAny>) -> Result<()> {
        let encoded = self.codecs.keys.encode_sought(key)?;
        of_either!(open(&mut *self.lock(key.py())?)?, cursor => cursor.seek(&encoded));
        Ok(())
    }

    /// The key of the pair that it is on, or None before the first step and after `seek`.
    #[getter]
    fn key<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let make = |key: &[u8]| self.codecs.keys.make(py, key);
        let key = of_either!(open(&mut *self.lock(py)?)?, cursor => cursor.key().map(make));
        key.map(|key| self.codecs.keys.finish(key?)).transpose()
    }

    /// The current value of this key, or None if the pair was deleted.
    #[getter]
    fn value<'py>(&self, py: Python<'py>) -> Result<Option<Bound<'py, PyAny>>> {
        let value = of_either!(open(&mut *self.lock(py)?)?, cursor => cursor.value());
        value.map(|value| self.codecs.values.decode(py, &value)).transpose()
    }

    fn __repr__(&self) -> String {
        format!("<twindex.Cursor of {:?}>", self.table)
    }
}

not_copied!(Cursor, "a Cursor cannot be pickled or copied; Table.cursor makes another");
