//! Ranges of keys as a host gives them.

use std::ops::Bound;

use twindex::{MAX_KEY_BYTES, prefix_range};

use crate::buffers::Buffers;
use crate::failure::{Failed, Failure};

/// The kinds of bound.
const NONE: u32 = 0;
const INCLUDED: u32 = 1;
const EXCLUDED: u32 = 2;
/// The end, on its side, of the keys that start with these bytes.
const PREFIX: u32 = 3;

/// One end of a range as the host gives it: the kind, and where its key is.
pub(crate) type End = (u32, usize, usize);

/// A range that holds its keys.
pub(crate) type Range = (Bound<Vec<u8>>, Bound<Vec<u8>>);

/// The range between two ends.
pub(crate) fn range(buffers: &Buffers, lower: End, upper: End) -> Result<Range, Failed> {
    Ok((bound(buffers, lower, |(lower, _)| lower)?, bound(buffers, upper, |(_, upper)| upper)?))
}

fn bound(
    buffers: &Buffers,
    (kind, address, length): End,
    side: fn(Range) -> Bound<Vec<u8>>,
) -> Result<Bound<Vec<u8>>, Failed> {
    let key = || buffers.bytes((address, length)).map(cut);
    match kind {
        NONE => Ok(Bound::Unbounded),
        INCLUDED => Ok(Bound::Included(key()?.to_vec())),
        EXCLUDED => Ok(Bound::Excluded(key()?.to_vec())),
        PREFIX => Ok(side(prefix_range(key()?))),
        _ => Err(Failure::Bound { kind }.into()),
    }
}

/// Beyond this length a bound is on the same side of every key, whatever more there is.
pub(crate) fn cut(key: &[u8]) -> &[u8] {
    &key[..key.len().min(MAX_KEY_BYTES + 1)]
}

/// The range as cursors take it.
pub(crate) fn as_slices((lower, upper): &Range) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
}
