//! Deletion of ranges.

/// Gives the class of a table the deletion of ranges.
macro_rules! deletes {
    ($class:ident) => {
        impl $class {
            /// Removes the pairs of a range, and looks for signals in between.
            fn delete_all(&self, py: Python<'_>, range: &Range<'_, '_>) -> Result<usize> {
                let (mut cursor, mut removed) = (range.cursor(self.reader()?, &self.codecs.keys)?, 0);
                self.refuse(py)?;
                while let Some(more) = self.write(py, usize::MAX, |table| table.delete_before(&mut cursor))? {
                    removed += more;
                    py.check_signals()?;
                }
                Ok(removed)
            }
        }

        #[pymethods]
        impl $class {
            /// Removes the pairs of a range of a sorted table, as `scan` takes it, some thousand at a time: how many. Pairs that other
            /// threads write meanwhile may stay.
            ///
            /// >>> log = Store().table("log", index="sorted", keys="int")
            /// >>> log.update([(10, "a"), (20, "b"), (30, "c")])
            /// >>> log.delete_range(lt=30), list(log)
            /// (2, [30])
            #[pyo3(signature = (*, gt=None, gte=None, lt=None, lte=None, prefix=None))]
            fn delete_range(
                &self,
                py: Python<'_>,
                gt: Option<&Bound<'_, PyAny>>,
                gte: Option<&Bound<'_, PyAny>>,
                lt: Option<&Bound<'_, PyAny>>,
                lte: Option<&Bound<'_, PyAny>>,
                prefix: Option<&Bound<'_, PyAny>>,
            ) -> Result<usize> {
                self.delete_all(py, &Range { gt, gte, lt, lte, prefix })
            }

            /// Removes the pairs of a sorted table whose keys start with `prefix`: how many.
            ///
            /// >>> log = Store().table("log", index="sorted")
            /// >>> log.update({"2026-11-01": "a", "2026-11-02": "b", "2027-01-01": "c"})
            /// >>> log.delete_prefix("2026-"), list(log)
            /// (2, ['2027-01-01'])
            #[pyo3(signature = (prefix, /))]
            fn delete_prefix(&self, prefix: &Bound<'_, PyAny>) -> Result<usize> {
                self.delete_all(prefix.py(), &Range { prefix: Some(prefix), ..Range::default() })
            }
        }
    };
}

pub(crate) use deletes;
