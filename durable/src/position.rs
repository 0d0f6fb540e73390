//! Places in the history of a store.

use std::fmt;

/// A place in the history of a store: after one of its batches of changes.
///
/// It stays valid when the file is compacted, closed and opened again. As text, which [`Display`](fmt::Display) and
/// [`FromStr`](std::str::FromStr) write and read, it can be saved anywhere, such as beside an index that is made from the changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Position(pub(crate) twindex_format::Position);

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let twindex_format::Position { session, sequence } = self.0;
        write!(f, "{session:016x}-{sequence}")
    }
}

impl Position {
    /// What [`Display`](fmt::Display) wrote.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (session, sequence) = text.split_once('-').filter(|(session, _)| session.len() == 16)?;
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_plain(session) || !is_plain(sequence) {
            return None;
        }
        let session = u64::from_str_radix(session, 16).ok()?;
        Some(Self(twindex_format::Position { session, sequence: sequence.parse().ok()? }))
    }
}
