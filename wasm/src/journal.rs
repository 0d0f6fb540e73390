//! What a kept store adds to its file.
//!
//! A store that a host keeps in a file has a journal. What a call changes in such a store is one record of the file's log. It is
//! sealed at the end of the call, and the host finds it in the answer cell. The host appends it to the file before its next call.
//! A store with watches has a journal too, maybe without a file.

use std::cell::RefCell;
use std::rc::Rc;

use twindex::{Store, Table};
use twindex_format::{
    Kind, Loader, LogEnd, Operation, Operations, Position, TableEntry, synced, write_tables,
};

use crate::answer::{self, Output};
use crate::failure::{Failed, Failure, Refusal};

/// A buffer of more bytes than this is given back on the next call.
const KEEP_BYTES: usize = 64 * 1024;
/// What an operation has beside a key and a value, at most: a table's entry is the longest.
const HEAD_BYTES: usize = 1024;
const SYNCED_BYTES: usize = twindex_format::HEAD_BYTES + size_of::<u64>();

pub(crate) type Shared = Rc<RefCell<Journal>>;

/// Where a store's file stands.
#[derive(Clone, Copy)]
struct Place {
    salt: u64,
    /// Where the next record begins.
    end: u64,
    position: Position,
    /// The next record says the position behind it: the file was written in another session until now.
    begins_session: bool,
}

/// The file of a store, and the ids that it has for the tables.
pub(crate) struct Journal {
    /// Its handle.
    pub(crate) store: u32,
    place: Place,
    /// The file before, until this one has a record that it has not.
    before: Option<Place>,
    tables: Vec<(u32, Table)>,
    next_id: u32,
    pub(crate) refusal: Option<Refusal>,
    /// Applies the records of the file's writer, in a copy.
    follower: Option<Loader>,
}

impl Journal {
    /// A journal for the file that a store was read from, which goes on in another session.
    pub(crate) fn of_file(end: LogEnd, session: u64, loader: &Loader) -> Self {
        let position = Position { session, ..end.position };
        let place = Place { salt: end.salt, end: end.at, position, begins_session: true };
        let mut tables = Vec::new();
        for (id, table) in loader.tables() {
            tables.push((id, table.clone()));
        }
        Self {
            store: 0,
            place,
            before: None,
            tables,
            next_id: loader.next_id(),
            refusal: None,
            follower: None,
        }
    }

    /// A journal for a store that is in no file yet.
    pub(crate) fn new(store: u32, engine: &Store) -> Self {
        let tables: Vec<_> = (0..).zip(engine.tables()).collect();
        let next_id = tables.len() as u32;
        let place = Place { salt: 0, end: 0, position: Position::start(0), begins_session: false };
        Self { store, place, before: None, tables, next_id, refusal: None, follower: None }
    }

    /// Whether nothing but watches needs it.
    pub(crate) fn is_idle(&self) -> bool {
        self.place.salt == 0 && self.refusal.is_none() && self.follower.is_none()
    }

    /// Begins a file of this salt in `file`: a dump of the store, behind which the log goes on.
    pub(crate) fn begin(&mut self, salt: u64, file: &mut Output) -> Result<(), Failed> {
        let before = Some(self.place).filter(|place| place.salt != 0);
        write_tables(&self.tables, salt, file, &mut |_| ())?;
        let mut position = Position::start(salt);
        if let Some(before) = before {
            // The history goes on.
            position = before.position;
            let mut operations = Operations::default();
            operations.push(0, Operation::Position(position));
            let end = file.len() as u64;
            file.push(operations.seal(salt, end))?;
        }
        self.place = Place { salt, end: file.len() as u64, position, begins_session: false };
        self.before = before;
        Ok(())
    }

    /// Applies a record that the file's writer has appended to it, in a copy of the store.
    pub(crate) fn apply(&mut self, store: &Store, record: &[u8]) -> Result<(), Failed> {
        let payload = record.get(twindex_format::HEAD_BYTES..).unwrap_or_default();
        let follower = self.follower.get_or_insert_with(|| Loader::going_on(store.clone(), &self.tables));
        follower.record(Kind::Log, 0, payload)?;
        Ok(())
    }

    /// Goes on in the file before, if that has every record; whether it has.
    pub(crate) fn go_back(&mut self) -> bool {
        let before = self.before.take();
        self.place = before.unwrap_or(self.place);
        before.is_some()
    }

    /// The record that says that the file's first `offset` bytes are on disk, if there is a file.
    pub(crate) fn synced(&mut self, offset: u64) -> Option<[u8; SYNCED_BYTES]> {
        let place = Some(&mut self.place).filter(|place| place.salt != 0)?;
        let record = synced(place.salt, place.end, offset.min(place.end));
        place.end += record.len() as u64;
        Some(record)
    }

    /// The id that the file has for a table, unless it was dropped.
    pub(crate) fn id(&self, table: &Table) -> Option<u32> {
        let is_it = |(_, known): &&(u32, Table)| known.name() == table.name();
        self.tables.iter().find(is_it).filter(|_| !table.is_dropped()).map(|(id, _)| *id)
    }
}

/// A table's place in the file of its store.
pub(crate) struct Logged {
    pub(crate) journal: Shared,
    pub(crate) id: u32,
}

/// What a call changes, until it is sealed.
pub(crate) struct Log {
    /// None before the first, so that the state of the module is a constant.
    operations: Option<Operations>,
    /// The journal of the store that the call changes.
    journal: Option<Shared>,
    is_sealed: bool,
    /// The last note that bytes are on disk, which must not lie where the answer of a call does.
    note: [u8; SYNCED_BYTES],
}

impl Log {
    pub(crate) const fn new() -> Self {
        Self { operations: None, journal: None, is_sealed: false, note: [0; SYNCED_BYTES] }
    }

    /// Makes room for an operation, before it is done. Fails where the store refuses writes.
    #[inline]
    pub(crate) fn expect(&mut self, logged: Option<&Logged>, bytes: usize) -> Result<(), Failed> {
        logged.map_or(Ok(()), |logged| self.expect_in(&logged.journal, bytes))
    }

    #[cold]
    pub(crate) fn expect_in(&mut self, journal: &Shared, bytes: usize) -> Result<(), Failed> {
        if let Some(refusal) = journal.borrow().refusal {
            return Err(Failure::Refused(refusal).into());
        }
        let bytes = bytes + HEAD_BYTES;
        let operations = self.operations.get_or_insert_default();
        Ok(operations.reserve(bytes).map_err(|_| Failure::NoMemory { bytes })?)
    }

    /// Adds an operation that was done.
    #[inline]
    pub(crate) fn add(&mut self, logged: Option<&Logged>, operation: Operation<'_>) {
        if let Some(Logged { journal, id }) = logged {
            self.add_to(journal, *id, operation);
        }
    }

    /// The same for a table that has no handle.
    pub(crate) fn add_written(&mut self, journal: &Shared, table: &Table, operation: Operation<'_>) {
        let id = journal.borrow().id(table);
        if let Some(id) = id {
            self.add_to(journal, id, operation);
        }
    }

    #[cold]
    fn add_to(&mut self, journal: &Shared, id: u32, operation: Operation<'_>) {
        self.operations.get_or_insert_default().push(id, operation);
        self.journal.get_or_insert_with(|| Rc::clone(journal));
    }

    /// The place of a table that was opened, or created.
    pub(crate) fn opened(&mut self, journal: &Shared, table: &Table) -> Logged {
        let known = journal.borrow().id(table);
        let id = known.unwrap_or_else(|| {
            let mut new = journal.borrow_mut();
            let id = new.next_id;
            new.next_id += 1;
            new.tables.push((id, table.clone()));
            id
        });
        if known.is_none() {
            self.add_to(journal, id, Operation::Create(TableEntry::of(table)));
        }
        Logged { journal: Rc::clone(journal), id }
    }

    /// Adds that a table is dropped, before it is.
    pub(crate) fn dropped(&mut self, journal: &Shared, table: &Table) {
        let id = journal.borrow().id(table);
        if let Some(id) = id {
            journal.borrow_mut().tables.retain(|(known, _)| *known != id);
            self.add_to(journal, id, Operation::Drop);
        }
    }

    /// The host finds this note in the answer cell.
    pub(crate) fn note(&mut self, store: u32, note: [u8; SYNCED_BYTES]) {
        self.note = note;
        answer::set_record(store, &self.note);
        self.is_sealed = true;
    }

    /// Forgets the record of the call before, which the host has by now.
    #[inline]
    pub(crate) fn forget(&mut self) {
        if self.is_sealed {
            if let Some(operations) = &mut self.operations {
                operations.clear(KEEP_BYTES);
            }
            answer::set_record(0, &[]);
            self.is_sealed = false;
        }
    }

    /// Makes a record of what the call has changed.
    #[inline]
    pub(crate) fn seal(&mut self) {
        if let Some(journal) = self.journal.take() {
            self.seal_for(&mut journal.borrow_mut());
        }
    }

    #[cold]
    fn seal_for(&mut self, journal: &mut Journal) {
        journal.before = None;
        let place = &mut journal.place;
        place.position.sequence = place.position.sequence.wrapping_add(1);
        let operations = self.operations.get_or_insert_default();
        if cfg!(feature = "files") && std::mem::take(&mut place.begins_session) {
            operations.begin_with(place.position);
        }
        let record = operations.seal(place.salt, place.end);
        place.end += record.len() as u64;
        answer::set_record(journal.store, record);
        self.is_sealed = true;
    }
}
