//! The class `Table`.

use std::ops::Bound;
use std::time::Duration;

use pyo3::prelude::*;
use twindex_cluster::{Error, Ttl, Write};

use crate::answer::{Home, Mode, Then, answer, now};
use crate::cursor::{Cursor, Pairs};

/// A copy: a call ends without the interpreter's lock, and to drop an object of Python then takes a lock of all threads, which a
/// fork would find locked.
pub(crate) type Bytes = Vec<u8>;

/// A bound of a range: the key, and whether it is in the range.
pub(crate) type End = Option<(Vec<u8>, bool)>;

/// A table of bytes.
#[pyclass(frozen, module = "twindex_cluster")]
pub(crate) struct Table(Home<twindex_cluster::Table>);

impl Table {
    pub(crate) fn new(inner: twindex_cluster::Table, mode: Mode) -> Self {
        Self(Home::new(inner, mode))
    }

    pub(crate) fn inner(&self, py: Python<'_>) -> PyResult<&twindex_cluster::Table> {
        self.0.get(py)
    }

    /// Begins a call with a handle of its own.
    fn answer<T, F>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(twindex_cluster::Table) -> F,
    ) -> PyResult<Py<PyAny>>
    where
        T: for<'py> IntoPyObject<'py> + Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        answer(py, self.0.mode, None, call(self.inner(py)?.clone()))
    }

    /// The table, or the handle of it whose pairs expire.
    fn writing(&self, py: Python<'_>, ttl: Option<Duration>) -> PyResult<twindex_cluster::Table> {
        let table = self.inner(py)?;
        match ttl {
            Some(ttl) => now(py, || table.with_ttl(ttl)),
            None => Ok(table.clone()),
        }
    }
}

/// The three verbs that give keys values, one by one and together.
macro_rules! puts {
    ($($verb:ident $many:ident $write:ident),*) => {
        #[pymethods]
        impl Table {
            $(
            fn $verb(&self, py: Python<'_>, key: Bytes, value: Bytes, ttl: Option<Duration>) -> PyResult<Py<PyAny>> {
                let table = self.writing(py, ttl)?;
                answer(py, self.0.mode, None, async move { table.write(Write::$write, key, value).await })
            }

            fn $many(
                &self,
                py: Python<'_>,
                pairs: Vec<(Bytes, Bytes)>,
                ttl: Option<Duration>,
            ) -> PyResult<Py<PyAny>> {
                let table = self.writing(py, ttl)?;
                answer(py, self.0.mode, None, async move { table.write_many(Write::$write, &pairs).await })
            }
            )*
        }
    };
}

puts!(insert insert_many Insert, replace replace_many Replace, upsert upsert_many Upsert);

/// Verbs of a key or of several, whose results need no decoding.
macro_rules! verbs {
    ($($verb:ident($of:ident: $kind:ty $(, $more:ident: $kind_of_more:ty)?)),*) => {
        #[pymethods]
        impl Table {
            $(fn $verb(&self, py: Python<'_>, $of: $kind $(, $more: $kind_of_more)?) -> PyResult<Py<PyAny>> {
                self.answer(py, |table| async move { table.$verb(&$of $(, $more)?).await })
            })*
        }
    };
}

verbs!(
    delete(key: Bytes),
    delete_many(keys: Vec<Bytes>),
    contains(key: Bytes),
    contains_many(keys: Vec<Bytes>),
    increment(key: Bytes, by: i64),
    increment_many(amounts: Vec<(Bytes, i64)>),
    touch(key: Bytes, ttl: Option<Duration>)
);

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> Option<&str> {
        Some(self.0.constants()?.name())
    }

    #[getter]
    fn index(&self) -> Option<&'static str> {
        Some(self.0.constants()?.index().name())
    }

    #[getter]
    fn codecs(&self) -> Option<(&str, &str)> {
        Some(self.0.constants()?.codecs())
    }

    /// Raises as a write of this key would before it is sent.
    fn check(&self, py: Python<'_>, key: Bytes) -> PyResult<()> {
        let table = self.inner(py)?;
        now(py, || table.check(key))
    }

    fn select(&self, py: Python<'_>, key: Bytes, then: Then) -> PyResult<Py<PyAny>> {
        let table = self.inner(py)?.clone();
        answer(py, self.0.mode, then, async move { table.select(key).await })
    }

    fn select_many(&self, py: Python<'_>, keys: Vec<Bytes>, then: Then) -> PyResult<Py<PyAny>> {
        let table = self.inner(py)?.clone();
        answer(py, self.0.mode, then, async move { table.select_many(&keys).await })
    }

    fn compare_and_swap_many(
        &self,
        py: Python<'_>,
        swaps: Vec<(Bytes, Option<Bytes>, Option<Bytes>)>,
        then: Then,
    ) -> PyResult<Py<PyAny>> {
        let table = self.inner(py)?.clone();
        answer(py, self.0.mode, then, async move {
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (&key[..], old.as_deref(), new.as_deref())).collect();
            table.compare_and_swap_many(&swaps).await
        })
    }

    fn len(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.answer(py, |table| async move { table.len().await })
    }

    fn clear(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        // An empty tuple is what nothing would become.
        self.answer(py, |table| async move { table.clear().await.map(|()| None::<bool>) })
    }

    /// The time after which a pair expires; False where it does not, None where there is no pair.
    fn ttl(&self, py: Python<'_>, key: Bytes, then: Then) -> PyResult<Py<PyAny>> {
        let table = self.inner(py)?.clone();
        answer(py, self.0.mode, then, async move {
            Ok(match table.ttl(key).await? {
                Ttl::Absent => None,
                Ttl::Forever => Some(-1.0),
                Ttl::Left(left) => Some(left.as_secs_f64()),
            })
        })
    }

    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn cursor(&self, py: Python<'_>, lower: End, upper: End) -> PyResult<Cursor> {
        let range = (bound(lower.as_ref()), bound(upper.as_ref()));
        let table = self.inner(py)?;
        Ok(Cursor::new(now(py, || table.cursor(range))?, self.0.mode))
    }

    #[allow(clippy::needless_pass_by_value, reason = "arguments are extracted by value")]
    fn scan(
        &self,
        py: Python<'_>,
        lower: End,
        upper: End,
        reverse: bool,
        limit: Option<usize>,
    ) -> PyResult<Pairs> {
        let range = (bound(lower.as_ref()), bound(upper.as_ref()));
        let table = self.inner(py)?;
        let scan = now(py, || table.scan(range))?;
        let scan = if reverse { scan.rev() } else { scan };
        Ok(Pairs::new(scan.limit(limit.unwrap_or(usize::MAX)), self.0.mode))
    }

    fn walk(&self, py: Python<'_>) -> PyResult<Pairs> {
        Ok(Pairs::new(self.inner(py)?.iter(), self.0.mode))
    }
}

fn bound(end: Option<&(Vec<u8>, bool)>) -> Bound<&[u8]> {
    match end {
        None => Bound::Unbounded,
        Some((key, true)) => Bound::Included(key),
        Some((key, false)) => Bound::Excluded(key),
    }
}
