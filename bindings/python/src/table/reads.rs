//! What reads a table: one of a store, or one of a snapshot.

use crate::cursor::Engine;
use crate::prelude::*;

/// So many values at a time are read outside the interpreter: enough to make leaving it cheap, few enough
/// to stay in the processor's cache until they are objects.
pub(crate) const READ_AT_ONCE: usize = 1024;
/// As many as come to so many bytes, if the rest are as long as those before; of the first, so many.
pub(crate) const READ_BYTES: usize = 4 << 20;
pub(crate) const READ_FIRST: usize = 64;

/// Moves the cursor over so many pairs, or to the end of its range: over how many.
pub(crate) fn pass(py: Python<'_>, cursor: &mut Engine, down: bool, pairs: usize) -> Result<usize> {
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

/// Gives a class the reads of a table. It has `reader`, which is the engine's table unless it was
/// closed, `made`, `store`, `name` and `codecs`.
macro_rules! table_reads {
    ($class:ident) => {
        const _: () = {
            use std::ops::Bound as End;

            use pyo3::types::PyMemoryView;

            use crate::arena::Arena;
            use crate::arguments::{Inclusive, Position};
            use crate::cursor::{Cursor, Engine};
            use crate::table::reads::{READ_AT_ONCE, READ_BYTES, READ_FIRST, pass, range_reads};
            use crate::value;
            use crate::verbs::{in_turns, key_reads, mapping_reads};

            key_reads!($class);
            mapping_reads!($class);
            range_reads!($class, Scan);

            impl $class {
                fn len(&self) -> Result<usize> {
                    Ok(self.reader()?.len())
                }

                /// The value of an encoded key.
                fn stored(&self, key: &[u8]) -> Result<Option<twindex::Value>> {
                    Ok(self.reader()?.select_shared(key))
                }

                #[inline]
                fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
                    let py = key.py();
                    let key = self.codecs.keys.encode_sought(key)?;
                    match self.reader()?.select_with(&key, |value| self.codecs.values.make(py, value)) {
                        Some(made) => self.codecs.values.finish(made?).map(Some),
                        None => Ok(None),
                    }
                }

                fn has_many(&self, py: Python<'_>, keys: &[Encoded<'_>]) -> Result<Vec<bool>> {
                    let found = in_turns(py, keys, (4 * AT_ONCE, 4 * READ_BYTES), Encoded::len, |keys| {
                        let table = self.reader()?;
                        Ok(py.detach(|| table.contains_many(keys)))
                    });
                    self.reader()?;
                    found
                }

                fn iterate<'py>(&self, py: Python<'py>, yields: Yields) -> Result<Bound<'py, Scan>> {
                    check_memory()?;
                    let (store, codecs) = (Arc::clone(&self.store), self.codecs.clone_ref(py));
                    self.made(py, Scan::over_table(store, &*self.reader()?, codecs, yields))
                }

                fn scan_range<'py>(
                    &self,
                    py: Python<'py>,
                    range: &Range<'_, '_>,
                    yields: Yields,
                    reverse: bool,
                    limit: Option<Count>,
                ) -> Result<Bound<'py, Scan>> {
                    let cursor = range.cursor(&*self.reader()?, &self.codecs.keys)?;
                    let (codecs, limit) = (self.codecs.clone_ref(py), limit.map(|Count(pairs)| pairs));
                    let store = Arc::clone(&self.store);
                    self.made(py, Scan::over_range(store, cursor, codecs, yields, reverse, limit))
                }

                fn iterate_back<'py>(&self, py: Python<'py>, yields: Yields) -> Result<Bound<'py, Scan>> {
                    self.scan_range(py, &Range::default(), yields, true, None)
                }

                /// How many keys are less than this one, or equal to it.
                fn rank(&self, key: &Bound<'_, PyAny>, or_equal: bool) -> Result<usize> {
                    let encoded = self.codecs.keys.encode_sought(key)?;
                    let bytes = encoded.as_ref();
                    let end = if or_equal { End::Included(bytes) } else { End::Excluded(bytes) };
                    let mut cursor = Engine::from(self.reader()?.cursor((End::Unbounded, end))?);
                    let count = pass(key.py(), &mut cursor, false, usize::MAX)?;
                    self.reader()?;
                    Ok(count)
                }

                /// What `read` makes of the encoded pair at this position, counted from the end if it is negative.
                fn at<T>(
                    &self,
                    py: Python<'_>,
                    Position(index): Position,
                    read: impl FnOnce(&[u8], &[u8]) -> T,
                ) -> Result<T> {
                    let mut cursor = Engine::from(self.reader()?.cursor(..)?);
                    let (skipped, down) = if index < 0 { (!index, true) } else { (index, false) };
                    let skipped = skipped.cast_unsigned();
                    let passed = pass(py, &mut cursor, down, skipped)?;
                    self.reader()?;
                    let pair = match down {
                        _ if passed < skipped => None,
                        true => cursor.scan_desc_next(),
                        false => cursor.scan_asc_next(),
                    };
                    pair.map(|(key, value)| read(key, value)).ok_or_else(|| error::position(index))
                }

                /// The pair at an end.
                fn at_end<'py>(&self, py: Python<'py>, down: bool) -> Result<Option<Pair<'py>>> {
                    let mut cursor = Engine::from(self.reader()?.cursor(..)?);
                    let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
                    let Some((key, value)) = pair else { return Ok(None) };
                    let (key, value) = (self.codecs.keys.make(py, key)?, self.codecs.values.make(py, value)?);
                    Ok(Some(Pair(self.codecs.keys.finish(key)?, self.codecs.values.finish(value)?)))
                }
            }

            #[pymethods]
            impl $class {
                fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
                    self.find(key)?.ok_or_else(|| error::missing(key))
                }

                fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, Scan>> {
                    self.iterate(py, Yields::Keys)
                }

                fn __reversed__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, Scan>> {
                    self.iterate_back(py, Yields::Keys)
                }

                /// The pairs, without the key look-ups of `collections.abc.ItemsView`.
                #[pyo3(signature = (*, reverse=false))]
                fn _iterate_items<'py>(&self, py: Python<'py>, #[pyo3(from_py_with = arguments::reverse)] reverse: bool) -> Result<Bound<'py, Scan>> {
                    if reverse { self.iterate_back(py, Yields::Pairs) } else { self.iterate(py, Yields::Pairs) }
                }

                /// The values, without the key look-ups of `collections.abc.ValuesView`.
                #[pyo3(signature = (*, reverse=false))]
                fn _iterate_values<'py>(&self, py: Python<'py>, #[pyo3(from_py_with = arguments::reverse)] reverse: bool) -> Result<Bound<'py, Scan>> {
                    if reverse { self.iterate_back(py, Yields::Values) } else { self.iterate(py, Yields::Values) }
                }

                /// Whether the key is present.
                #[pyo3(signature = (key, /))]
                fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
                    let key = self.codecs.keys.encode_sought(key)?;
                    Ok(self.reader()?.contains(key))
                }

                /// A read-only `memoryview` of the value's bytes, or None if the key is absent.
                ///
                /// A value of more than about 4 KiB is not copied. Later writes and deletes do not change the view; it holds the
                /// value's memory.
                #[pyo3(signature = (key, /))]
                fn view<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyMemoryView>>> {
                    let value = self.stored(self.codecs.keys.encode_sought(key)?.as_ref())?;
                    value.map(|value| value::view(key.py(), value)).transpose()
                }

                /// The value of each key, None for those that are absent.
                ///
                /// >>> users = Store().table("users")
                /// >>> users["ada"] = "1815"
                /// >>> users.select_many(["ada", "bob"])
                /// ['1815', None]
                #[pyo3(signature = (keys, /))]
                fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
                    let py = keys.py();
                    let keys = Keys::new(keys, &self.codecs.keys)?;
                    let mut values = with_room(keys.len())?;
                    let mut arena = Arena::with_room(keys.len().min(READ_AT_ONCE))?;
                    while values.len() < keys.len() {
                        let fit = (READ_BYTES * arena.len()).checked_div(arena.bytes()).unwrap_or(READ_AT_ONCE);
                        let most = if values.is_empty() { READ_FIRST } else { fit.clamp(1, READ_AT_ONCE) };
                        let keys = keys.encode(values.len(), most, |key| self.codecs.keys.encode_sought(key))?;
                        let table = self.reader()?;
                        arena.clear();
                        py.detach(|| table.select_many(&keys, |_, value| arena.push(value)));
                        arena.check()?;
                        for value in arena.iter() {
                            values.push(match value {
                                Some(value) => self.codecs.values.decode(py, value)?,
                                None => py.None().into_bound(py),
                            });
                        }
                        py.check_signals()?;
                    }
                    self.reader()?;
                    Ok(objects::list(py, values)?)
                }

                /// A cursor over a range of a sorted table: after `gt` or from `gte`, before `lt` or up to `lte`, or the keys that
                /// start with `prefix`.
                ///
                /// >>> log = Store().table("log", index="sorted")
                /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
                /// >>> cursor = log.cursor(lt="2027")
                /// >>> cursor.scan_asc_next(), cursor.scan_asc_next(), cursor.scan_asc_next()
                /// (('2026-11-01', 'a'), ('2026-11-02', 'b'), None)
                #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None))]
                fn cursor<'py>(
                    &self,
                    py: Python<'py>,
                    gt: Option<&Bound<'_, PyAny>>,
                    gte: Option<&Bound<'_, PyAny>>,
                    lt: Option<&Bound<'_, PyAny>>,
                    lte: Option<&Bound<'_, PyAny>>,
                    prefix: Option<&Bound<'_, PyAny>>,
                ) -> Result<Bound<'py, Cursor>> {
                    let cursor = Range { gt, gte, lt, lte, prefix }.cursor(&*self.reader()?, &self.codecs.keys)?;
                    self.made(py, Cursor::new(Arc::clone(&self.store), self.name(), cursor, self.codecs.clone_ref(py)))
                }

                /// The names of the types of Arrow that its keys and values have.
                fn _arrow_types(&self) -> Result<(&'static str, &'static str)> {
                    crate::columns::types(&self.codecs)
                }

                /// The pairs in record batches: a `pyarrow.RecordBatchReader` with the columns "key" and "value", which reads batch
                /// by batch, without a Python object for each pair. Needs the package pyarrow.
                ///
                /// Takes the options of `scan` for a range of a sorted table. "str" and "json" are strings, "bytes" binary, "int"
                /// integers; open tables with other codecs as "bytes". To read one moment use a snapshot's table.
                #[pyo3(
                    signature = (*, batch_size=None, **range),
                    text_signature = "($self, *, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=False, limit=None, batch_size=65536)"
                )]
                fn to_arrow<'py>(
                    slf: &Bound<'py, Self>,
                    batch_size: Option<&Bound<'py, PyAny>>,
                    range: Option<&Bound<'py, pyo3::types::PyDict>>,
                ) -> Result<Bound<'py, PyAny>> {
                    let (py, types) = (slf.py(), slf.get()._arrow_types()?);
                    let rows = crate::arguments::positive("batch_size", batch_size)?.unwrap_or(65_536);
                    let scan = match range {
                        Some(_) => slf.call_method("scan", (), range)?,
                        None => slf.get().iterate(py, Yields::Pairs)?.into_any(),
                    };
                    let arrow = py.import("twindex._arrow")?;
                    Ok(arrow.getattr("to_arrow")?.call1((scan, types, rows))?)
                }

                /// The keys from `minimum` to `maximum`, each of which may be None. `inclusive` says whether the two themselves
                /// belong to it.
                ///
                /// >>> log = Store().table("log", index="sorted", keys="int")
                /// >>> log.update([(1, "a"), (2, "b"), (3, "c")])
                /// >>> list(log.irange(2)), list(log.irange(1, 3, (True, False), reverse=True))
                /// ([2, 3], [2, 1])
                #[pyo3(
                    signature = (minimum=None, maximum=None, inclusive=Inclusive::BOTH, reverse=false),
                    text_signature = "($self, minimum=None, maximum=None, inclusive=(True, True), reverse=False)"
                )]
                fn irange<'py>(
                    &self,
                    py: Python<'py>,
                    minimum: Option<&Bound<'_, PyAny>>,
                    maximum: Option<&Bound<'_, PyAny>>,
                    inclusive: Inclusive,
                    #[pyo3(from_py_with = arguments::reverse)] reverse: bool,
                ) -> Result<Bound<'py, Scan>> {
                    let Inclusive(lower, upper) = inclusive;
                    let (gte, gt) = if lower { (minimum, None) } else { (None, minimum) };
                    let (lte, lt) = if upper { (maximum, None) } else { (None, maximum) };
                    self.scan_range(py, &Range { gt, gte, lt, lte, prefix: None }, Yields::Keys, reverse, None)
                }

                /// The number of keys less than this one: the position where it is, or would be.
                ///
                /// It counts them, so it is slow in the middle of a large table.
                ///
                /// >>> log = Store().table("log", index="sorted", keys="int")
                /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
                /// >>> log.bisect_left(20), log.bisect_right(20), log.bisect_left(99)
                /// (1, 2, 3)
                #[pyo3(signature = (key, /))]
                fn bisect_left(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
                    self.rank(key, false)
                }

                /// The number of keys up to this one. It counts them, as `bisect_left` does.
                #[pyo3(signature = (key, /))]
                fn bisect_right(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
                    self.rank(key, true)
                }

                /// The same as `bisect_right`.
                #[pyo3(signature = (key, /))]
                fn bisect(&self, key: &Bound<'_, PyAny>) -> Result<usize> {
                    self.rank(key, true)
                }

                /// The pair at a position, from the end if it is negative; by default the last one. Raises `IndexError` if there
                /// are fewer pairs.
                ///
                /// It goes through all pairs between that end and the position.
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
        };
    };
}

/// Gives the class of a table what tells about it. It has `about`, its name, its index and the names of the codecs that it
/// remembers, and `state`.
macro_rules! described {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// The table's name.
            #[getter]
            pub(crate) fn name(&self) -> &str {
                self.about().0
            }

            /// The table's index, "hash" or "sorted".
            #[getter]
            fn index(&self) -> &'static str {
                self.about().1.name()
            }

            /// The names of the table's codecs, of keys and values.
            ///
            /// >>> store = Store()
            /// >>> store.table("ages", values="int").codecs
            /// ('str', 'int')
            #[getter]
            fn codecs(&self) -> (&str, &str) {
                self.about().2
            }

            fn __repr__(&self) -> String {
                let (class, name, index) = (stringify!($class), self.name(), self.index());
                let (keys, values) = (self.codecs.keys.name(), self.codecs.values.name());
                format!("<twindex.{class} {name:?}: {index}, {keys} keys, {values} values, {}>", self.state())
            }
        }
    };
}

/// Gives a class the reads of ranges. It has `scan_range`, whose result is `made`, and `at_end`.
macro_rules! range_reads {
    ($class:ident, $made:ty) => {
        #[pymethods]
        impl $class {
            /// An iterator over the pairs of a range of a sorted table, as for `Table.cursor`, in order or in reverse, at most
            /// `limit` of them. It reads up to 256 pairs ahead. In a transaction it reads the whole range at once, and any write to
            /// it by others is a conflict: read no more than you need.
            ///
            /// >>> log = Store().table("log", index="sorted", keys="int")
            /// >>> log.update([(3, "c"), (-1, "a"), (2, "b")])
            /// >>> list(log.scan(gte=0)), list(log.scan(reverse=True, limit=1))
            /// ([(2, 'b'), (3, 'c')], [(3, 'c')])
            #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None, reverse=false, limit=None))]
            fn scan<'py>(
                &self,
                py: Python<'py>,
                gt: Option<&Bound<'_, PyAny>>,
                gte: Option<&Bound<'_, PyAny>>,
                lt: Option<&Bound<'_, PyAny>>,
                lte: Option<&Bound<'_, PyAny>>,
                prefix: Option<&Bound<'_, PyAny>>,
                #[pyo3(from_py_with = arguments::reverse)] reverse: bool,
                limit: Option<Count>,
            ) -> Result<Bound<'py, $made>> {
                self.scan_range(py, &Range { gt, gte, lt, lte, prefix }, Yields::Pairs, reverse, limit)
            }

            /// The pairs whose keys start with `prefix`: `scan(prefix=prefix)`.
            ///
            /// >>> log = Store().table("log", index="sorted")
            /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
            /// >>> list(log.prefix("2026", reverse=True))
            /// [('2026-11-02', 'b'), ('2026-11-01', 'a')]
            #[pyo3(signature = (prefix, /, *, reverse=false, limit=None))]
            fn prefix<'py>(
                &self,
                prefix: &Bound<'py, PyAny>,
                #[pyo3(from_py_with = arguments::reverse)] reverse: bool,
                limit: Option<Count>,
            ) -> Result<Bound<'py, $made>> {
                let range = Range { prefix: Some(prefix), ..Range::default() };
                self.scan_range(prefix.py(), &range, Yields::Pairs, reverse, limit)
            }

            /// The pair with the least key of a sorted table, or None if it is empty.
            ///
            /// >>> log = Store().table("log", index="sorted", keys="int")
            /// >>> log.update([(10, "a"), (20, "b")])
            /// >>> log.first(), log.last()
            /// ((10, 'a'), (20, 'b'))
            fn first<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
                self.at_end(py, false)
            }

            /// The pair with the greatest key of a sorted table, or None if it is empty.
            fn last<'py>(&self, py: Python<'py>) -> Result<Option<Pair<'py>>> {
                self.at_end(py, true)
            }
        }
    };
}

pub(crate) use {described, range_reads, table_reads};
