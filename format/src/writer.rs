//! Writing a dump.

use std::io::{self, Write};

use twindex::parts::{common, head4};
use twindex::{Error, IndexKind, Result, Table};

use crate::entry::TableEntry;
use crate::history::History;
use crate::progress::Progress;
use crate::record::{HEAD_BYTES, HEADER_BYTES, Header, Kind, seal};
use crate::step::{AGAIN, SAME_KEY, SAME_VALUE, SHARED, STEPS, Step, Steps, TIMES};
use crate::varint::push_varint;

/// A record of pairs is closed once it has this many bytes.
const RECORD_BYTES: usize = 64 * 1024;
/// Once closed records have this many bytes, they are written, even while a table is being read.
const MOST_WAITING: usize = 1 << 20;
/// Whether the writer refers to earlier pairs. A WebAssembly module does not, to be smaller.
const REFERS: bool = cfg!(not(target_family = "wasm"));
/// More than a table's record takes: its name, two codecs, and numbers.
const TABLE_BYTES: usize = 1024;
/// More than a pair takes besides its key and value: a token, three lengths, and the head of a record.
const AROUND: usize = 64;

/// Writes a header and the dump of these tables. Their ids must differ. Returns how much it wrote.
///
/// If they do not belong to a snapshot, the dump may miss pairs that other threads write meanwhile. `progress` is called after every write.
pub fn write_tables<W: Write + ?Sized>(
    tables: &[(u32, Table)],
    salt: u64,
    writer: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<Progress> {
    write_tables_after(None, tables, salt, writer, progress)
}

/// As [`write_tables`]; the dump has the last changes of `history`.
pub fn write_tables_after<W: Write + ?Sized>(
    history: Option<&History<'_>>,
    tables: &[(u32, Table)],
    salt: u64,
    writer: &mut W,
    progress: &mut dyn FnMut(Progress),
) -> Result<Progress> {
    let mut file = Writer {
        out: writer,
        salt,
        progress,
        done: Progress::default(),
        bytes: Header::encode(salt),
        start: HEADER_BYTES,
        before: Vec::new(),
        steps: Steps::default(),
        prints: [0; STEPS],
        open: None,
        result: Ok(()),
    };
    for (id, table) in tables {
        file.reserve(TABLE_BYTES)?;
        file.begin();
        push_varint(&mut file.bytes, (*id).into());
        push_varint(&mut file.bytes, table.len() as u64);
        file.bytes.extend(TableEntry::of(table).encode());
        file.close(Kind::Table);
        file.pairs(*id, table)?;
    }
    if let Some(history) = history {
        let most = file.at().clamp(*history.bytes.start(), *history.bytes.end());
        history.records(most, &mut |payload| {
            file.reserve(payload.len())?;
            file.begin();
            file.bytes.extend_from_slice(payload);
            file.close(Kind::Kept);
            if file.start >= MOST_WAITING { file.write() } else { Ok(()) }
        })?;
    }
    file.end()
}

struct Writer<'w, W: ?Sized> {
    out: &'w mut W,
    salt: u64,
    progress: &'w mut dyn FnMut(Progress),
    done: Progress,
    /// Closed records, and behind them the open one.
    bytes: Vec<u8>,
    start: usize,
    before: Vec<u8>,
    steps: Steps,
    /// A hash of each step, so that `find` compares all at once. 0 means that there is no step.
    prints: [u32; STEPS],
    /// Where in the record the last token is, if it may also count the next pair.
    open: Option<usize>,
    result: Result<()>,
}

impl<W: Write + ?Sized> Writer<'_, W> {
    /// Makes room for a record of so many bytes, and for the head of the next.
    fn reserve(&mut self, bytes: usize) -> Result<()> {
        Ok(self.bytes.try_reserve(bytes + AROUND).map_err(io::Error::from)?)
    }

    /// Writes the end of the dump. Returns how much was written in all.
    fn end(mut self) -> Result<Progress> {
        self.begin();
        self.bytes.extend(self.done.pairs.to_le_bytes());
        self.close(Kind::End);
        self.write()?;
        Ok(self.done)
    }

    /// Where in the file the next record starts.
    fn at(&self) -> u64 {
        self.done.bytes + self.bytes.len() as u64
    }

    fn begin(&mut self) {
        self.bytes.extend([0; HEAD_BYTES]);
        self.before.clear();
        (self.steps, self.prints, self.open) = Default::default();
    }

    fn close(&mut self, kind: Kind) {
        seal(kind, self.salt, self.done.bytes + self.start as u64, &mut self.bytes[self.start..]);
        self.start = self.bytes.len();
    }

    fn write(&mut self) -> Result<()> {
        std::mem::replace(&mut self.result, Ok(()))?;
        if self.start > 0 {
            self.out.write_all(&self.bytes[..self.start])?;
            self.done.bytes += self.start as u64;
            self.bytes.drain(..self.start);
            self.start = 0;
            (self.progress)(self.done);
        }
        Ok(())
    }

    fn pairs(&mut self, id: u32, table: &Table) -> Result<()> {
        /// How many pairs to read before we write. Reading pins the thread, and nothing that others delete is freed
        /// until it unpins. So we do not wait for a disk while pinned.
        const AT_ONCE: usize = 1024;
        match table.index() {
            IndexKind::Sorted => {
                // A thread that appends to a live table would move its end for ever. So we stop at the last key of now.
                let mut end = table.cursor(..)?;
                let Some(last) = end.scan_desc_next().map(|(key, _)| key.to_vec()) else { return Ok(()) };
                let mut cursor = table.cursor(..=last.as_slice())?;
                let mut shown = AT_ONCE;
                while shown == AT_ONCE {
                    shown = cursor.scan_asc_next_many(AT_ONCE, |key, value| self.push(id, key, value));
                    self.write()?;
                }
            }
            IndexKind::Hash => {
                let mut next = Some(0);
                while let Some(from) = next {
                    next = table.walk(from, |key, value| self.push(id, key, value));
                    self.write()?;
                }
            }
        }
        if self.bytes.len() > self.start {
            self.close(Kind::Pairs);
        }
        self.write()
    }

    // --- a pair

    /// Adds a pair to the open record.
    fn push(&mut self, id: u32, key: &[u8], value: &[u8]) {
        if self.result.is_err() {
            return;
        }
        // If memory is limited, there may be too little for a large pair.
        if self.bytes.try_reserve(key.len() + value.len() + AROUND).is_err() {
            self.result = Err(Error::Io(std::io::ErrorKind::OutOfMemory.into()));
            return;
        }
        if self.bytes.len() == self.start {
            self.begin();
            push_varint(&mut self.bytes, id.into());
        }
        let shared = common(&self.before, key);
        let (cut, rest) = (self.before.len() - shared, &key[shared..]);
        let mut step = Step { cut, rest_len: rest.len(), rest: 0, value: value.len() };
        let print = 1 | (head4(rest) ^ (cut as u32) << 8 ^ rest.len() as u32).wrapping_mul(0x9e37_79b1);
        if let Some((distance, old)) = self.find(print, step, rest) {
            step.rest = old.rest;
            self.push_again(distance, old.value == step.value, step.value);
        } else {
            self.push_new(shared, step);
            step.rest = self.bytes.len() - self.start;
            self.bytes.extend_from_slice(rest);
        }
        self.bytes.extend_from_slice(value);
        self.prints[self.steps.count % STEPS] = print;
        self.steps.add(step);
        self.before.truncate(shared);
        self.before.extend_from_slice(rest);
        self.done.pairs += 1;
        if self.bytes.len() - self.start >= RECORD_BYTES {
            self.close(Kind::Pairs);
            if self.start >= MOST_WAITING {
                self.result = self.write();
            }
        }
    }

    /// The latest step that cuts off as much and appends the same rest, and how many pairs ago it was.
    fn find(&self, print: u32, step: Step, rest: &[u8]) -> Option<(usize, Step)> {
        if !REFERS || self.prints.iter().fold(0, |same, &one| same | u8::from(one == print)) == 0 {
            return None;
        }
        let bytes = &self.bytes[self.start..];
        self.steps.find(|old| {
            (old.cut, old.rest_len) == (step.cut, step.rest_len) && bytes[old.rest..][..old.rest_len] == *rest
        })
    }

    /// Writes what precedes the value of a pair that repeats an earlier step.
    fn push_again(&mut self, distance: usize, same_value: bool, value: usize) {
        let same = if same_value { SAME_VALUE } else { 0 };
        let token = AGAIN | same | (distance as u8 - 1) << 3;
        match self.open.map(|at| &mut self.bytes[self.start + at]) {
            Some(open) if *open & !TIMES == token && *open & TIMES < TIMES => *open += 1,
            _ => {
                self.open = Some(self.bytes.len() - self.start);
                self.bytes.push(token | 1);
            }
        }
        if !same_value {
            push_varint(&mut self.bytes, value as u64);
        }
    }

    /// Writes what precedes the rest of a key whose step repeats no earlier one.
    fn push_new(&mut self, shared: usize, step: Step) {
        self.open = None;
        let is_far = shared >= SHARED.into();
        let (as_long, value_as_long) =
            (step.cut == step.rest_len, step.value == self.steps.back(1).map_or(0, |last| last.value));
        // If an earlier step has the same lengths, we refer to it instead of writing them.
        if REFERS
            && (!as_long || is_far)
            && let Some((distance, _)) = self.steps.find(|old| Step { rest: 0, ..old } == step)
        {
            self.bytes.push(AGAIN | SAME_VALUE | (distance as u8 - 1) << 3);
            return;
        }
        let same = if as_long { SAME_KEY } else { 0 } | if value_as_long { SAME_VALUE } else { 0 };
        self.bytes.push(same | shared.min(SHARED.into()) as u8);
        if is_far {
            push_varint(&mut self.bytes, (shared - usize::from(SHARED)) as u64);
        }
        if !as_long {
            push_varint(&mut self.bytes, step.rest_len as u64);
        }
        if !value_as_long {
            push_varint(&mut self.bytes, step.value as u64);
        }
    }
}
