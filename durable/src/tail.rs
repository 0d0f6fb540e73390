//! Reading a log while another process writes it.
//!
//! A record is written in place, so a reader may find only a part of one. Then its checksum does not match. The reader
//! takes it as *not yet* there and comes back later. It is damage only if a later record says that it was on disk.
//!
//! A compaction replaces the file by a new one. The old file gets no more records, and a reader that has it open can
//! read it to its end. The log of the new file begins with a [position](Position) that is at that end or before it. So
//! the reader continues in the new log, and need not read the dump.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use twindex::Error::Corrupt;
use twindex::{Index, Result};
use twindex_format::{
    HEAD_BYTES, HEADER_BYTES, Head, Header, Kind, LogReader, Operation, Position, TableEntry, synced_by,
};

use crate::disk::{Disk, File};
use crate::log::End;

/// How long until we search the bytes behind an incomplete record once more for a sign of damage: at first, and at most.
const DOUBT: (Duration, Duration) = (Duration::from_secs(1), Duration::from_mins(1));

/// A table, as the log describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: Index,
    /// The codec of its keys.
    pub keys: String,
    /// The codec of its values.
    pub values: String,
}

impl TableInfo {
    pub(crate) fn of(table: &TableEntry<'_>) -> Arc<Self> {
        let TableEntry { name, index, keys, values } = *table;
        Arc::new(Self { name: name.into(), index, keys: keys.into(), values: values.into() })
    }
}

/// The tables that there are, by their ids.
pub(crate) type Infos = BTreeMap<u32, Arc<TableInfo>>;

/// Gets the payload of a record of operations, and the position behind it.
pub(crate) type Each<'e> = dyn FnMut(&[u8], Position) -> Result<ControlFlow<()>> + 'e;

/// How far a log was read.
#[derive(Debug)]
pub(crate) struct Tail {
    file: Arc<dyn File>,
    salt: u64,
    at: u64,
    pub(crate) position: Position,
    /// Where the last record that was read is, and its head. If they are gone, the file was cut and written again.
    last: Option<(u64, [u8; HEAD_BYTES])>,
    doubt: Option<Doubt>,
}

/// A record that is incomplete.
#[derive(Debug)]
struct Doubt {
    at: u64,
    is_nothing: bool,
    since: Instant,
    /// How long until we search for damage.
    wait: Duration,
    /// What is wrong, if it is damaged.
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

/// Where a position is in a file.
pub(crate) enum Place {
    /// Here. These are the tables at that time.
    Here(Box<Tail>, Infos),
    /// Not in the file. This is the oldest position in it.
    Gone(Position),
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

impl Tail {
    pub(crate) fn new(end: End) -> Self {
        let End { file, salt, at, position, last, .. } = end;
        // Where it cannot be read, the next look tells.
        let last = last.and_then(|last| Some((last, head_at(&*file, last).ok()??)));
        Self { file, salt, at, position, last, doubt: None }
    }

    /// Checks which file is under the name now.
    pub(crate) fn look(&mut self, disk: &dyn Disk, path: &Path) -> Result<Look> {
        let Some((file, header)) = open(disk, path)? else { return Ok(Look::Empty) };
        if header.salt != self.salt {
            return Ok(Look::Other(file, header));
        }
        // A copy of the file has the same salt.
        self.file = file;
        if self.is_as_read()? { Ok(Look::Same) } else { Ok(Look::Earlier(Arc::clone(&self.file), header)) }
    }

    /// Whether the last record that was read is still there.
    fn is_as_read(&self) -> Result<bool> {
        match self.last {
            Some((at, head)) => Ok(head_at(&*self.file, at)? == Some(head)),
            None => Ok(self.file.len()? >= self.at),
        }
    }

    /// Reads the records that were not read yet. Returns whether it read all of them.
    pub(crate) fn read(&mut self, has_writer: &dyn Fn() -> bool, each: &mut Each<'_>) -> Result<bool> {
        let file = Arc::clone(&self.file);
        let Some(head) = head_at(&*file, self.at)? else {
            self.doubt = None;
            return Ok(true);
        };
        let mut reader = LogReader::of_file(&*file, self.salt, file.len()?, self.at);
        let (begun, mut last, mut is_end) = (self.at, self.at, true);
        // No record begins with a zero byte, and there is no need to read the space that is reserved.
        let is_begun = head[0] != 0;
        loop {
            let at = reader.at();
            let Some((kind, payload)) = (if is_begun { reader.record()? } else { None }) else { break };
            if !kind.is_logged() {
                return Err(Corrupt { offset: at, what: "a record out of place" });
            }
            if kind == Kind::Synced {
                synced_by(at, payload)?;
            }
            let mut flow = ControlFlow::Continue(());
            if kind == Kind::Log {
                let position = self.position.after(payload);
                flow = each(payload, position)?;
                self.position = position;
            }
            last = at;
            self.at = reader.at();
            if flow.is_break() {
                is_end = false;
                break;
            }
        }
        if self.at > begun {
            self.last = head_at(&*file, last)?.map(|head| (last, head));
        }
        match head_at(&*file, self.at)? {
            Some(head) if is_end => self.doubt(&mut reader, head == [0; HEAD_BYTES], has_writer)?,
            _ => self.doubt = None,
        }
        Ok(is_end)
    }

    /// Checks whether the incomplete record is damaged, and so will never be complete: at once, and again now and then. Where there
    /// `is_nothing` but reserved space, most likely, the first check is due after a while too.
    fn doubt(
        &mut self,
        reader: &mut LogReader<'_>,
        is_nothing: bool,
        has_writer: &dyn Fn() -> bool,
    ) -> Result<()> {
        let doubt = match &mut self.doubt {
            Some(doubt) if doubt.at == self.at && doubt.is_nothing == is_nothing => doubt,
            other => other.insert(Doubt::new(self.at, is_nothing)),
        };
        if doubt.since.elapsed() >= doubt.wait {
            reader.go_to(self.at);
            let damage = match reader.torn(has_writer) {
                Err(error @ Corrupt { .. }) => Some(error),
                looked => looked.map(|_| None)?,
            };
            doubt.wait = (2 * doubt.wait).clamp(DOUBT.0, DOUBT.1);
            (doubt.since, doubt.damage) = (Instant::now(), damage);
        }
        match &doubt.damage {
            Some(Corrupt { offset, what }) => Err(Corrupt { offset: *offset, what }),
            _ => Ok(()),
        }
    }

    /// How many bytes of records were not read yet. Checks their heads and lengths, but not their payloads.
    pub(crate) fn behind(&self) -> Result<u64> {
        let (mut at, len) = (self.at, self.file.len()?);
        while let Some(head) = head_at(&*self.file, at)?
            && let Some(head) = Head::decode(self.salt, at, &head)
            && head.length <= len.saturating_sub(at + HEAD_BYTES as u64)
        {
            at += HEAD_BYTES as u64 + head.length;
        }
        Ok(at - self.at)
    }
}

impl Doubt {
    fn new(at: u64, is_nothing: bool) -> Self {
        let wait = if is_nothing { DOUBT.0 } else { Duration::ZERO };
        Self { at, is_nothing, since: Instant::now(), wait, damage: None }
    }
}

/// Finds the wanted position in a file's log, or the oldest one if none is wanted.
pub(crate) fn find(file: &Arc<dyn File>, header: Header, wanted: Option<Position>) -> Result<Place> {
    let (mut infos, dump) = tables_of_dump(&**file, header.salt)?;
    let mut position = Position::start(header.salt);
    let mut reader = LogReader::of_file(&**file, header.salt, file.len()?, dump);
    let mut oldest = None;
    let mut last = None;
    loop {
        let at = reader.at();
        if oldest.is_some() && wanted.is_none_or(|wanted| position == wanted) {
            let last = match last {
                Some(last) => head_at(&**file, last)?.map(|head| (last, head)),
                None => None,
            };
            let (file, salt) = (Arc::clone(file), header.salt);
            let tail = Tail { file, salt, at, position, last, doubt: None };
            return Ok(Place::Here(Box::new(tail), infos));
        }
        let record = reader.record()?;
        if oldest.is_none() {
            // The log of a compacted file begins with a record that holds only a position.
            if let Some((Kind::Log, mut payload)) = record
                && let Some((_, Operation::Position(first))) = Operation::take(&mut payload)
                && payload.is_empty()
            {
                position = first;
                oldest = Some(first);
                last = Some(at);
                continue;
            }
            oldest = Some(position);
            if wanted.is_none_or(|wanted| position == wanted) {
                reader.go_to(at);
                continue;
            }
        }
        let Some((kind, payload)) =
            record.filter(|_| wanted.is_some_and(|wanted| position.sequence <= wanted.sequence))
        else {
            return Ok(Place::Gone(oldest.unwrap_or(position)));
        };
        if kind == Kind::Log {
            position = position.after(payload);
            take_tables(&mut infos, payload);
        }
        last = Some(at);
    }
}

/// The tables of a dump, and where it ends. Skips all records but those of tables.
fn tables_of_dump(file: &dyn File, salt: u64) -> Result<(Infos, u64)> {
    let (mut infos, len) = (Infos::new(), file.len()?);
    let mut at = HEADER_BYTES as u64;
    loop {
        let damaged = Corrupt { offset: at, what: "a record's head is damaged" };
        let Some(head) = head_at(file, at)?.and_then(|head| Head::decode(salt, at, &head)) else {
            return Err(damaged);
        };
        let start = at + HEAD_BYTES as u64;
        if head.kind.is_logged() || head.length > len.saturating_sub(start) {
            return Err(damaged);
        }
        if head.kind == Kind::Table {
            // A name and two codecs have at most 255 bytes each.
            let mut payload = vec![0; head.length.min(1024) as usize];
            let read = file.read_at(start, &mut payload)?;
            let Some((id, _, table)) =
                TableEntry::of_record(&payload[..read]).filter(|_| head.matches(&payload))
            else {
                return Err(damaged);
            };
            infos.insert(id, TableInfo::of(&table));
        }
        at = start + head.length;
        if head.kind == Kind::End {
            return Ok((infos, at));
        }
    }
}

/// Applies to `infos` the creates and drops of a record of operations.
fn take_tables(infos: &mut Infos, mut payload: &[u8]) {
    while let Some((id, operation)) = Operation::take(&mut payload) {
        match operation {
            Operation::Create(table) => drop(infos.insert(id, TableInfo::of(&table))),
            Operation::Drop => drop(infos.remove(&id)),
            _ => {}
        }
    }
}

fn head_at(file: &dyn File, at: u64) -> Result<Option<[u8; HEAD_BYTES]>> {
    let mut head = [0; HEAD_BYTES];
    match file.read_at(at, &mut head) {
        Ok(read) => Ok((read == HEAD_BYTES).then_some(head)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}
