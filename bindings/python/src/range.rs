//! The ranges of cursors and scans.

use std::ops::Bound as End;

use crate::prelude::*;
use crate::scan::Read;

type Key<'a, 'py> = Option<&'a Bound<'py, PyAny>>;

/// Where a range begins and ends, as a caller names it.
#[derive(Default)]
pub(crate) struct Range<'a, 'py> {
    pub(crate) gt: Key<'a, 'py>,
    pub(crate) gte: Key<'a, 'py>,
    pub(crate) lt: Key<'a, 'py>,
    pub(crate) lte: Key<'a, 'py>,
    pub(crate) prefix: Key<'a, 'py>,
}

impl Range<'_, '_> {
    /// A cursor over this range of the table.
    pub(crate) fn cursor<T: Read>(&self, table: &T, keys: &KeyCodec) -> Result<T::Cursor> {
        check_memory()?;
        Ok(self.ends(keys, |lower, upper| table.over((lower, upper)))??)
    }

    /// What `make` makes of both ends.
    pub(crate) fn ends<T>(
        &self,
        keys: &KeyCodec,
        make: impl FnOnce(End<&[u8]>, End<&[u8]>) -> T,
    ) -> Result<T> {
        let Some(prefix) = self.prefix else {
            let lower = end(keys, ("gt", self.gt), ("gte", self.gte))?;
            let upper = end(keys, ("lt", self.lt), ("lte", self.lte))?;
            return Ok(make(as_slice(&lower), as_slice(&upper)));
        };
        for (name, bound) in [("gt", self.gt), ("gte", self.gte), ("lt", self.lt), ("lte", self.lte)] {
            if let Some(bound) = bound {
                return Err(conflict(("prefix", prefix), (name, bound)));
            }
        }
        let (lower, upper) = keys.prefix_range(prefix)?;
        Ok(make(as_slice(&lower), as_slice(&upper)))
    }
}

/// One end of a range, by the option that excludes the key or by the one that includes it.
fn end<'a>(
    keys: &KeyCodec,
    (excluded_name, excluded): (&str, Key<'a, '_>),
    (included_name, included): (&str, Key<'a, '_>),
) -> Result<End<Encoded<'a>>> {
    match (excluded, included) {
        (None, None) => Ok(End::Unbounded),
        (Some(key), None) => keys.encode_sought(key).map(End::Excluded),
        (None, Some(key)) => keys.encode_sought(key).map(End::Included),
        (Some(one), Some(other)) => Err(conflict((excluded_name, one), (included_name, other))),
    }
}

fn as_slice<B: AsRef<[u8]>>(end: &End<B>) -> End<&[u8]> {
    end.as_ref().map(AsRef::as_ref)
}

#[cold]
fn conflict(one: (&str, &Bound<'_, PyAny>), other: (&str, &Bound<'_, PyAny>)) -> error::Failure {
    error::option(format!("{}={} and {}={} exclude each other", one.0, shown(one.1), other.0, shown(other.1)))
}
