//! The changes of a file in order: those of earlier logs that its dump keeps, then those of its log.
//!
//! A record is written in place, so a reader beside the writer may find only a part of one. Then its checksum does not match. It is
//! *not yet* there, and the reader comes back later.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::Arc;

use twindex::Error::Corrupt;
use twindex::{IndexKind, Result};

use crate::entry::TableEntry;
use crate::expiring::{expiring_codec, values_that_expire};
use crate::log::LogReader;
use crate::operation::{Operation, Operations, Position};
use crate::record::{HEAD_BYTES, HEADER_BYTES, Head, Kind, OUT_OF_PLACE, corrupt, synced_by};
use crate::source::ReadAt;

/// A table, as the log describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableInfo {
    /// Its name.
    pub name: String,
    /// Its index.
    pub index: IndexKind,
    /// The codec of its keys.
    pub keys: String,
    /// The codec of its values.
    pub values: String,
    /// Whether its pairs expire. Each stored value then begins with a deadline.
    pub expires: bool,
}

impl TableInfo {
    /// The content of an entry.
    pub fn of(table: &TableEntry<'_>) -> Arc<Self> {
        let TableEntry { name, index, keys, values } = *table;
        let (values, expires) = values_that_expire(values).map_or((values, false), |values| (values, true));
        Arc::new(Self { name: name.into(), index, keys: keys.into(), values: values.into(), expires })
    }

    /// Shows `write` its entry.
    fn with_entry<T>(&self, write: impl FnOnce(TableEntry<'_>) -> T) -> T {
        let expiring = self.expires.then(|| expiring_codec(&self.values));
        let values = expiring.as_deref().unwrap_or(&self.values);
        write(TableEntry { name: &self.name, index: self.index, keys: &self.keys, values })
    }
}

/// The tables at some moment, by their ids.
pub type TableInfos = BTreeMap<u32, Arc<TableInfo>>;

/// How far the changes of a file were read. The methods get the file, or the file that has its name now.
#[derive(Clone, Debug)]
pub struct LogCursor {
    salt: u64,
    /// Where the next record starts.
    at: u64,
    /// It is a record that the dump keeps, or the end of the dump.
    in_dump: bool,
    position: Position,
    /// Where the last record that was read is, and its head. If they are gone, the file was cut and written again.
    last: Option<(u64, [u8; HEAD_BYTES])>,
}

/// The place of a position in a file.
#[derive(Debug)]
pub enum Place {
    /// Here. These are the tables at that time.
    Here(LogCursor, TableInfos),
    /// Not in the file. This is the oldest position in it.
    Gone(Position),
}

/// Gets the operations of a record, and the position after it. Says whether to go on.
pub type Each<'e> = dyn FnMut(&[u8], Position) -> Result<ControlFlow<()>> + 'e;

/// The state after the records that [`LogCursor::read`] read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The caller stopped it, so there may be more records.
    Records,
    /// The end of the file.
    End,
    /// Reserved space.
    Zeros,
    /// Bytes that are no valid record, or not yet.
    Bytes,
}

impl LogCursor {
    /// Behind the last record of a log, which is at `last`.
    pub fn behind_log(file: &dyn ReadAt, salt: u64, at: u64, position: Position, last: Option<u64>) -> Self {
        // Where it cannot be read, the next look tells.
        let last = last.and_then(|last| Some((last, head_at(file, last).ok()??)));
        Self { salt, at, in_dump: false, position, last }
    }

    /// Finds the wanted position among the changes of a file, or the oldest one if none is wanted.
    pub fn find(file: &dyn ReadAt, salt: u64, wanted: Option<Position>) -> Result<Place> {
        let (mut cursor, mut tables) = Self::oldest(file, salt)?;
        let oldest = cursor.position;
        let mut reader = LogReader::of_file(file, salt, file.len()?, cursor.at);
        let mut last = None;
        while wanted.is_some_and(|wanted| cursor.position != wanted) {
            let at = cursor.at;
            let is_before = wanted.is_some_and(|wanted| cursor.position.sequence <= wanted.sequence);
            let Some(payload) = (if is_before { cursor.next(&mut reader)? } else { None }) else {
                return Ok(Place::Gone(oldest));
            };
            note_tables(&mut tables, payload);
            last = Some(at);
        }
        if let Some(last) = last {
            cursor.last = head_at(file, last)?.map(|head| (last, head));
        }
        Ok(Place::Here(cursor, tables))
    }

    /// The oldest position in a file, and the tables at that time.
    fn oldest(file: &dyn ReadAt, salt: u64) -> Result<(Self, TableInfos)> {
        let len = file.len()?;
        let (mut tables, mut at) = (TableInfos::new(), HEADER_BYTES as u64);
        let mut reader = LogReader::of_file(file, salt, len, at);
        loop {
            let damaged = Corrupt { offset: at, what: "a record's head is damaged" };
            let Some(head) = head_at(file, at)?.and_then(|head| Head::decode(salt, at, &head)) else {
                return Err(damaged);
            };
            let start = at + HEAD_BYTES as u64;
            if head.kind.is_logged() || head.length > len.saturating_sub(start) {
                return Err(damaged);
            }
            // Skips all records but those of tables, and the first that the dump keeps.
            match head.kind {
                Kind::Table => {
                    // A name and two codecs have at most 255 bytes each.
                    let mut payload = vec![0; head.length.min(1024) as usize];
                    let read = file.read_at(start, &mut payload)?;
                    let found = TableEntry::of_record(&payload[..read]).filter(|_| head.matches(&payload));
                    let Some((id, _, table)) = found else { return Err(damaged) };
                    tables.insert(id, TableInfo::of(&table));
                }
                Kind::Kept => {
                    reader.go_to(at);
                    let Some((_, mut payload, end)) = reader.record_and_end()? else { return Err(damaged) };
                    let Some((0, Operation::Position(position))) = Operation::take(&mut payload) else {
                        return corrupt(at, "the changes that a dump keeps do not begin with a position");
                    };
                    tables.clear();
                    note_tables(&mut tables, payload);
                    let last = head_at(file, at)?.map(|head| (at, head));
                    return Ok((Self { salt, at: end, in_dump: true, position, last }, tables));
                }
                Kind::End => break,
                _ => {}
            }
            at = start + head.length;
        }
        let (mut last, mut position) = (at, Position::start(salt));
        at += HEAD_BYTES as u64 + 8;
        reader.go_to(at);
        // The log of a compacted file begins with a record that holds only a position.
        if let Some((Kind::Log, mut payload, end)) = reader.record_and_end()?
            && let Some((_, Operation::Position(first))) = Operation::take(&mut payload)
            && payload.is_empty()
        {
            (last, at, position) = (at, end, first);
        }
        let last = head_at(file, last)?.map(|head| (last, head));
        Ok((Self { salt, at, in_dump: false, position, last }, tables))
    }

    /// Where the next record starts.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// The position after the last record that was read.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The salt of the file.
    pub fn salt(&self) -> u64 {
        self.salt
    }

    /// Whether the last record that was read is in this file, at its place.
    pub fn is_in(&self, file: &dyn ReadAt) -> Result<bool> {
        match self.last {
            Some((at, head)) => Ok(head_at(file, at)? == Some(head)),
            None => Ok(file.len()? >= self.at),
        }
    }

    /// Reads the next record, which `reader` is at. Its payload, if it holds operations, is empty otherwise.
    fn next<'r>(&mut self, reader: &'r mut LogReader<'_>) -> Result<Option<&'r [u8]>> {
        let Some((kind, payload, end)) = reader.record_and_end()? else { return Ok(None) };
        let operations = match (kind, self.in_dump) {
            (Kind::Kept, true) | (Kind::Log, false) => payload,
            (Kind::End, true) => &[],
            (Kind::Synced, false) => {
                synced_by(self.at, payload)?;
                &[]
            }
            _ => return corrupt(self.at, OUT_OF_PLACE),
        };
        self.in_dump &= kind != Kind::End;
        if !operations.is_empty() {
            self.position = self.position.after(operations);
        }
        self.at = end;
        Ok(Some(operations))
    }

    /// Reads the records that were not read yet. `each` gets the operations of one, and the position after it.
    pub fn read(&mut self, file: &dyn ReadAt, each: &mut Each<'_>) -> Result<Rest> {
        let rest = |head: Option<[u8; HEAD_BYTES]>| match head {
            None => Rest::End,
            Some(head) if head == [0; HEAD_BYTES] => Rest::Zeros,
            Some(_) => Rest::Bytes,
        };
        // No record begins with a zero byte, and there is no need to read the space that is reserved.
        match head_at(file, self.at)? {
            Some(head) if head[0] != 0 => {}
            head => return Ok(rest(head)),
        }
        let mut reader = LogReader::of_file(file, self.salt, file.len()?, self.at);
        let mut last = None;
        let mut is_stopped = false;
        loop {
            let (at, in_dump, position) = (self.at, self.in_dump, self.position);
            let Some(payload) = self.next(&mut reader)? else { break };
            if !is_position(payload) {
                let flow = each(payload, self.position).inspect_err(|_| {
                    (self.at, self.in_dump, self.position) = (at, in_dump, position);
                })?;
                is_stopped = flow.is_break();
            }
            last = Some(at);
            if is_stopped {
                break;
            }
        }
        if let Some(last) = last {
            self.last = head_at(file, last)?.map(|head| (last, head));
        }
        if is_stopped { Ok(Rest::Records) } else { Ok(rest(head_at(file, self.at)?)) }
    }

    /// Fails if the bytes that follow are damaged, so that they never become a record.
    pub fn check_rest(&self, file: &dyn ReadAt, has_writer: &dyn Fn() -> bool) -> Result<()> {
        LogReader::of_file(file, self.salt, file.len()?, self.at).torn(has_writer).map(drop)
    }

    /// How many bytes of records were not read yet. Checks their heads and lengths, but not their payloads.
    pub fn behind(&self, file: &dyn ReadAt) -> Result<u64> {
        let (mut at, len) = (self.at, file.len()?);
        while let Some(head) = head_at(file, at)?
            && let Some(head) = Head::decode(self.salt, at, &head)
            && head.length <= len.saturating_sub(at + HEAD_BYTES as u64)
        {
            at += HEAD_BYTES as u64 + head.length;
        }
        Ok(at - self.at)
    }
}

/// A file whose last changes another file takes over, so that a feed continues there.
#[expect(missing_debug_implementations, reason = "a file has none")]
pub struct History<'f> {
    /// The file.
    pub file: &'f dyn ReadAt,
    /// Its salt.
    pub salt: u64,
    /// The end of the changes: an end of a record of its log.
    pub up_to: u64,
    /// The bytes of them that are copied: as many as the pairs take in the other file, within these bounds.
    pub bytes: RangeInclusive<u64>,
    /// Ends of records of its log with the positions there, in order. Since the first of them no table came or went. They spare
    /// reading the log from its start.
    pub marks: Vec<(u64, Position)>,
    /// The tables where the changes end.
    pub tables: TableInfos,
}

impl History<'_> {
    /// The changes of the last `most` bytes: where they begin, and the payload of the record that says so.
    fn find(&self, most: u64) -> Result<Option<(LogCursor, Operations)>> {
        let mark = self.marks.iter().rfind(|(at, _)| self.up_to.saturating_sub(*at) >= most);
        let (mut cursor, mut tables) = match mark {
            Some(&(at, position)) => {
                let salt = self.salt;
                (LogCursor { salt, at, in_dump: false, position, last: None }, self.tables.clone())
            }
            None => LogCursor::oldest(self.file, self.salt)?,
        };
        let mut reader = self.reader(&cursor);
        let mut found = None;
        while cursor.at < self.up_to {
            if found.is_none() && self.up_to - cursor.at <= most {
                let mut first = Operations::default();
                first.push(0, Operation::Position(cursor.position));
                for (&id, table) in &tables {
                    table.with_entry(|entry| first.push(id, Operation::Create(entry)));
                }
                found = Some((cursor.clone(), first));
            }
            let Some(payload) = cursor.next(&mut reader)? else { return Ok(None) };
            if found.is_none() {
                note_tables(&mut tables, payload);
            }
        }
        Ok(found)
    }

    fn reader(&self, cursor: &LogCursor) -> LogReader<'_> {
        LogReader::of_file(self.file, self.salt, self.up_to, cursor.at)
    }

    /// Calls `each` with the payloads of the records that keep the changes of the last `most` bytes. A file that is damaged keeps
    /// none.
    pub(crate) fn records(&self, most: u64, each: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let found = match self.find(most) {
            Err(Corrupt { .. }) => None,
            found => found?,
        };
        let Some((mut cursor, first)) = found else { return Ok(()) };
        each(first.payload())?;
        let mut reader = self.reader(&cursor);
        while cursor.at < self.up_to {
            let offset = cursor.at;
            let Some(payload) = cursor.next(&mut reader)? else {
                return corrupt(offset, "a record that was whole before is damaged");
            };
            if !payload.is_empty() {
                each(payload)?;
            }
        }
        Ok(())
    }
}

/// Whether there is no change in a record.
fn is_position(mut payload: &[u8]) -> bool {
    let first = Operation::take(&mut payload);
    payload.is_empty() && matches!(first, None | Some((_, Operation::Position(_))))
}

/// Applies to `tables` the creates and drops of a record of operations.
fn note_tables(tables: &mut TableInfos, mut payload: &[u8]) {
    while let Some((id, operation)) = Operation::take(&mut payload) {
        match operation {
            Operation::Create(table) => drop(tables.insert(id, TableInfo::of(&table))),
            Operation::Drop => drop(tables.remove(&id)),
            _ => {}
        }
    }
}

fn head_at(file: &dyn ReadAt, at: u64) -> Result<Option<[u8; HEAD_BYTES]>> {
    let mut head = [0; HEAD_BYTES];
    match file.read_at(at, &mut head) {
        Ok(read) => Ok((read == HEAD_BYTES).then_some(head)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error.into()),
    }
}
