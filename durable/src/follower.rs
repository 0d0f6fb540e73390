//! A store in memory that keeps up with a file.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use twindex::{Error::Corrupt, Result, Store, Table, TableOptions};
use twindex_format::{Header, Operation, Position, TableEntry, TableInfo, limit_while_loading};

use crate::disk::{Disk, File, Stamp};
use crate::load::{self, Found};
use crate::log::End;
use crate::mutex::lock;
use crate::tail::{self, Look, Place, Tail};
use crate::watch::Teller;

/// Pairs are compared, and written, so many at a time.
const GROUP: usize = 1024;

/// A store, and how much of the file is in it.
#[derive(Debug)]
pub(crate) struct Follower {
    store: Store,
    tables: BTreeMap<u32, Table>,
    source: Source,
    /// A record was done in part, as at the memory limit: the file is to be read anew.
    is_spoilt: bool,
    /// Tables came or went since somebody asked.
    tables_changed: bool,
    /// When all that there was in the file had been read.
    refreshed: SystemTime,
}

/// What was read.
#[derive(Debug)]
enum Source {
    /// The file was empty.
    Nothing,
    /// A dump without a log, which was then as long and written at this time.
    Dump(Stamp),
    Log(Tail),
}

impl Follower {
    /// Follows the file from which `store` was loaded.
    pub(crate) fn new(store: Store, tables: Vec<(u32, Table)>, source: Option<(Stamp, Option<End>)>) -> Self {
        Self {
            store,
            tables: tables.into_iter().collect(),
            source: Source::of(source),
            is_spoilt: false,
            tables_changed: false,
            refreshed: SystemTime::now(),
        }
    }

    /// Does what was logged since: how many batches that were.
    /// The limit is that which the user set.
    pub(crate) fn refresh(
        &mut self,
        disk: &dyn Disk,
        path: &Path,
        limit: &Mutex<Option<usize>>,
        teller: &Teller<'_>,
    ) -> Result<u64> {
        let look = match &mut self.source {
            Source::Log(tail) => tail.look(disk, path)?,
            Source::Nothing | Source::Dump(_) => match tail::open(disk, path)? {
                None => Look::Empty,
                Some((file, _)) if self.source.is_dump(file.stamp()?) => Look::Same,
                Some((file, header)) => Look::Other(file, header),
            },
        };
        let has_writer = || disk.has_writer(path);
        let batches = match look {
            Look::Empty => 0,
            Look::Same if !self.is_spoilt => self.read(&has_writer, teller)?,
            Look::Same => match tail::open(disk, path)? {
                Some((file, header)) => self.go_over(&file, header, &has_writer, limit, teller)?,
                None => 0,
            },
            // The old file gets no more records once another has its name. If it is damaged, it stays so: the other one may
            // be what was recovered from it.
            Look::Other(file, header) => {
                let read = match self.read(&has_writer, teller) {
                    Err(Corrupt { .. }) => 0,
                    read => read?,
                };
                read + self.go_over(&file, header, &has_writer, limit, teller)?
            }
            Look::Earlier(file, header) => self.go_over(&file, header, &has_writer, limit, teller)?,
        };
        self.refreshed = SystemTime::now();
        Ok(batches)
    }

    /// Does what the log has that was not done yet.
    fn read(&mut self, has_writer: &dyn Fn() -> bool, teller: &Teller<'_>) -> Result<u64> {
        let Source::Log(tail) = &mut self.source else { return Ok(0) };
        if self.is_spoilt {
            return Ok(0);
        }
        let mut batches = 0;
        let Self { store, tables, is_spoilt, tables_changed, .. } = self;
        tail.read(has_writer, &mut |payload, _| {
            // Where one of them fails, others may be done.
            *is_spoilt = true;
            *tables_changed |= store.atomically(|| apply(store, tables, payload))?;
            *is_spoilt = false;
            teller.tell(payload);
            batches += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(batches)
    }

    /// Goes on in another file: where its log has what was done last, behind that, or else with all that is in it.
    fn go_over(
        &mut self,
        file: &Arc<dyn File>,
        header: Header,
        has_writer: &dyn Fn() -> bool,
        limit: &Mutex<Option<usize>>,
        teller: &Teller<'_>,
    ) -> Result<u64> {
        if let Source::Log(tail) = &self.source
            && !self.is_spoilt
            && header.salt != 0
            && let Place::Here(tail, _) = tail::find(file, header, Some(tail.position()))?
        {
            self.source = Source::Log(*tail);
            return self.read(has_writer, teller);
        }
        let stamp = file.stamp()?;
        let within = *lock(limit);
        let Found { loader, end, .. } = load::load(file, has_writer, within, &mut |_| {})?;
        self.is_spoilt = true;
        let tables = loader.tables().map(|(id, table)| (id, table.clone())).collect();
        // Each of the stores is within the limit. On the way, this one may have the pairs of both.
        self.store.set_memory_limit(None);
        let done = self.become_like(loader.store(), &tables);
        let limit = lock(limit);
        self.store.set_memory_limit(limit.map(limit_while_loading));
        done?;
        let id_of = |(&id, own): (&u32, &Table), table: &TableInfo| {
            (TableInfo::of(&TableEntry::of(own)).as_ref() == table).then_some(id)
        };
        teller.begin_anew(|table| self.tables.iter().find_map(|own| id_of(own, table)));
        self.is_spoilt = false;
        self.source = Source::of(Some((stamp, end)));
        Ok(1)
    }

    /// Changes what differs in the tables, of which there are handles, from the other store's.
    fn become_like(&mut self, other: &Store, others: &BTreeMap<u32, Table>) -> Result<()> {
        self.tables_changed = true;
        self.tables.clear();
        for table in self.store.tables() {
            let is_like = |other: &Table| (other.index(), other.codecs()) == (table.index(), table.codecs());
            if !other.find_table(table.name()).is_some_and(|other| is_like(&other)) {
                self.store.drop_table(table.name());
            }
        }
        for (&id, other) in others {
            let (keys, values) = other.codecs();
            let options = TableOptions::new(other.index()).keys(keys).values(values);
            let table = self.store.table_with(other.name(), options)?;
            copy(other, &table)?;
            self.tables.insert(id, table);
        }
        Ok(())
    }

    /// The names of the tables and their ids, where these changed since the last call.
    pub(crate) fn changed_tables(&mut self) -> Option<BTreeMap<String, u32>> {
        let changed = std::mem::take(&mut self.tables_changed);
        changed.then(|| self.tables.iter().map(|(&id, table)| (table.name().to_owned(), id)).collect())
    }

    /// What was done last, in a file with a log.
    pub(crate) fn position(&self) -> Option<Position> {
        match &self.source {
            Source::Log(tail) => Some(tail.position()),
            Source::Nothing | Source::Dump(_) => None,
        }
    }

    /// How many bytes of the file were not read yet.
    pub(crate) fn behind(&mut self, disk: &dyn Disk, path: &Path) -> Result<u64> {
        let Source::Log(tail) = &mut self.source else {
            return match tail::open(disk, path)? {
                Some((file, _)) if !self.source.is_dump(file.stamp()?) => Ok(file.len()?),
                _ => Ok(0),
            };
        };
        match tail.look(disk, path)? {
            Look::Same => tail.behind(),
            Look::Other(file, _) | Look::Earlier(file, _) => Ok(file.len()?),
            Look::Empty => Ok(0),
        }
    }

    /// Lets go of the file.
    pub(crate) fn release(&mut self) {
        self.source = Source::Nothing;
    }

    /// When all that there was in the file had been read.
    pub(crate) fn refreshed(&self) -> SystemTime {
        self.refreshed
    }
}

impl Source {
    fn of(source: Option<(Stamp, Option<End>)>) -> Self {
        match source {
            None => Self::Nothing,
            Some((stamp, None)) => Self::Dump(stamp),
            Some((_, Some(end))) => Self::Log(Tail::new(end)),
        }
    }

    fn is_dump(&self, stamp: Stamp) -> bool {
        matches!(self, Self::Dump(own) if *own == stamp)
    }
}

/// Does the operations of one record; whether tables came or went.
fn apply(store: &Store, tables: &mut BTreeMap<u32, Table>, mut payload: &[u8]) -> Result<bool> {
    const NOT_VALID: twindex::Error = Corrupt { offset: 0, what: "an operation in the log is not valid" };
    let mut tables_changed = false;
    while !payload.is_empty() {
        let (id, operation) = Operation::take(&mut payload).ok_or(NOT_VALID)?;
        match (operation, tables.get(&id)) {
            (Operation::Position(_), _) => {}
            (Operation::Create(table), None) if store.find_table(table.name).is_none() => {
                let options = TableOptions::new(table.index).keys(table.keys).values(table.values);
                tables.insert(id, store.table_with(table.name, options)?);
                tables_changed = true;
            }
            (Operation::Create(_), _) | (_, None) => return Err(NOT_VALID),
            (Operation::Put(key, value), Some(table)) => table.upsert(key, value)?,
            (Operation::Delete(key), Some(table)) => drop(table.delete(key)?),
            (Operation::Clear, Some(table)) => table.clear()?,
            (Operation::Drop, Some(table)) => {
                store.drop_table(table.name());
                tables.remove(&id);
                tables_changed = true;
            }
        }
    }
    Ok(tables_changed)
}

/// Writes to one table what differs in another.
fn copy(from: &Table, to: &Table) -> Result<()> {
    let mut pairs = from.iter();
    loop {
        let group: Vec<(Vec<u8>, Vec<u8>)> = pairs.by_ref().take(GROUP).collect();
        if group.is_empty() {
            break;
        }
        let keys: Vec<&[u8]> = group.iter().map(|(key, _)| key.as_slice()).collect();
        let mut differ = Vec::new();
        to.select_many(&keys, |at, value| {
            if value != Some(group[at].1.as_slice()) {
                differ.push((&group[at].0, &group[at].1));
            }
        });
        to.upsert_many(&differ)?;
    }
    // All that the other has is there now.
    if to.len() == from.len() {
        return Ok(());
    }
    let mut pairs = to.iter();
    loop {
        let keys: Vec<Vec<u8>> = pairs.by_ref().take(GROUP).map(|(key, _)| key).collect();
        if keys.is_empty() {
            return Ok(());
        }
        let there = from.contains_many(&keys);
        let gone: Vec<_> = keys.iter().zip(there).filter(|(_, there)| !there).map(|(key, _)| key).collect();
        to.delete_many(&gone)?;
    }
}
