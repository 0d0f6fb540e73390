//! Reading a file while another process writes it.
//!
//! A record that is incomplete is taken as *not yet* there. It is damage only if a later record says that it was on disk.
//!
//! A compaction replaces the file by a new one. The old file gets no more records, and a reader that has it open can
//! read it to its end. The new file keeps the last changes of the old one. So the reader continues there, and need not read
//! the dump, even if several compactions came in between.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twindex::Error::Corrupt;
use twindex::Result;
use twindex_format::{Each, HEADER_BYTES, Header, LogCursor, Place, Position, Rest, TableInfos};

use crate::disk::{Disk, File};
use crate::log::End;

/// How long until we search the bytes behind an incomplete record once more for a sign of damage: at first, and at most.
const DOUBT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// How far a log was read.
#[derive(Debug)]
pub(crate) struct Tail {
    file: Arc<dyn File>,
    cursor: LogCursor,
    doubt: Option<Doubt>,
}

/// A record that is incomplete.
#[derive(Debug)]
struct Doubt {
    at: u64,
    /// There are only zeros.
    is_nothing: bool,
    since: Instant,
    /// How long until we search for damage.
    wait: Duration,
    /// The fault, if it is damaged.
    damage: Option<twindex::Error>,
}

/// Which file is under the name now.
pub(crate) enum Look {
    /// The same log.
    Same,
    /// Another file. The old one gets no more records.
    Other(Arc<dyn File>, Header),
    /// The same file without the records that were read, or a copy of it from an earlier time.
    Earlier(Arc<dyn File>, Header),
    /// An empty file, which is about to become a store's.
    Empty,
}

/// Opens the file at `path`. `None` if it is empty.
pub(crate) fn open(disk: &dyn Disk, path: &Path) -> Result<Option<(Arc<dyn File>, Header)>> {
    let file = disk.open(path, None)?;
    let mut bytes = [0; HEADER_BYTES];
    let read = file.read_at(0, &mut bytes)?;
    if read == 0 {
        return Ok(None);
    }
    let header = Header::decode(&bytes[..read])?;
    Ok(Some((file, header)))
}

/// Finds the wanted position in a file, or the oldest one if none is wanted, and the tables at that time. If the file does not have
/// it, returns the oldest one as the inner error.
pub(crate) fn find(file: &Arc<dyn File>, header: Header, wanted: Option<Position>) -> Result<FoundTail> {
    Ok(match LogCursor::find(&**file, header.salt, wanted)? {
        Place::Here(cursor, tables) => Ok((Tail { file: Arc::clone(file), cursor, doubt: None }, tables)),
        Place::Gone(oldest) => Err(oldest),
    })
}

pub(crate) type FoundTail = std::result::Result<(Tail, TableInfos), Position>;

impl Tail {
    pub(crate) fn new(end: End) -> Self {
        let End { file, salt, at, position, last, .. } = end;
        let cursor = LogCursor::behind_log(&*file, salt, at, position, last);
        Self { file, cursor, doubt: None }
    }

    /// The position after the last record that was read.
    pub(crate) fn position(&self) -> Position {
        self.cursor.position()
    }

    /// Checks which file is under the name now.
    pub(crate) fn look(&mut self, disk: &dyn Disk, path: &Path) -> Result<Look> {
        let Some((file, header)) = open(disk, path)? else { return Ok(Look::Empty) };
        if header.salt != self.cursor.salt() {
            return Ok(Look::Other(file, header));
        }
        // A copy of the file has the same salt.
        self.file = file;
        let is_same = self.cursor.is_in(&*self.file)?;
        Ok(if is_same { Look::Same } else { Look::Earlier(Arc::clone(&self.file), header) })
    }

    /// Reads the records that were not read yet. Returns whether it read all of them.
    pub(crate) fn read(&mut self, has_writer: &dyn Fn() -> bool, each: &mut Each<'_>) -> Result<bool> {
        match self.cursor.read(&*self.file, each)? {
            rest @ (Rest::Zeros | Rest::Bytes) => self.doubt(rest == Rest::Zeros, has_writer)?,
            Rest::Records => {
                self.doubt = None;
                return Ok(false);
            }
            Rest::End => self.doubt = None,
        }
        Ok(true)
    }

    /// Checks whether the incomplete record is damaged, and so will never be complete: at once, and again now and then. Where there
    /// `is_nothing` but reserved space, most likely, the first check is due after a while too.
    fn doubt(&mut self, is_nothing: bool, has_writer: &dyn Fn() -> bool) -> Result<()> {
        let at = self.cursor.at();
        let doubt = match &mut self.doubt {
            Some(doubt) if doubt.at == at && doubt.is_nothing == is_nothing => doubt,
            other => other.insert(Doubt {
                at,
                is_nothing,
                since: Instant::now(),
                wait: if is_nothing { DOUBT.0 } else { Duration::ZERO },
                damage: None,
            }),
        };
        if doubt.since.elapsed() >= doubt.wait {
            let damage = match self.cursor.check_rest(&*self.file, has_writer) {
                Err(error @ Corrupt { .. }) => Some(error),
                checked => checked.map(|()| None)?,
            };
            doubt.wait = (2 * doubt.wait).clamp(DOUBT.0, DOUBT.1);
            (doubt.since, doubt.damage) = (Instant::now(), damage);
        }
        match &doubt.damage {
            Some(Corrupt { offset, what }) => Err(Corrupt { offset: *offset, what }),
            _ => Ok(()),
        }
    }

    /// How many bytes of records were not read yet.
    pub(crate) fn behind(&self) -> Result<u64> {
        self.cursor.behind(&*self.file)
    }
}
