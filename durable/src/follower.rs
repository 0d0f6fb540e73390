//! A store in memory that keeps up with a file.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use twindex::{Error::Corrupt, Result, Store, Table, TableOptions};
use twindex_format::{Header, Kind, Loader, Position, TableEntry, TableInfo, limit_while_loading};

use crate::disk::{Disk, File, Stamp};
use crate::load::{self, Found};
use crate::log::End;
use crate::mutex::lock;
use crate::tail::{self, Look, Tail};
use crate::watch::Teller;

/// Pairs are compared, and written, so many at a time.
const GROUP: usize = 1024;

/// A store, and how much of the file is in it.
#[derive(Debug)]
pub(crate) struct Follower {
    /// The store, and its tables by their numbers in the file.
    loader: Loader,
    source: Source,
    /// A record was done in part, as at the memory limit: the file is to be read anew.
    is_spoilt: bool,
    /// When all that there was in the file had been read.
    refreshed: SystemTime,
}

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
    pub(crate) fn new(store: Store, tables: &[(u32, Table)], source: Option<(Stamp, Option<End>)>) -> Self {
        Self {
            loader: Loader::going_on(store, tables),
            source: Source::of(source),
            is_spoilt: false,
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
        let Self { loader, is_spoilt, .. } = self;
        let store = loader.store().clone();
        tail.read(has_writer, &mut |payload, _| {
            // Where one of them fails, others may be done.
            *is_spoilt = true;
            store.atomically(|| loader.record(Kind::Log, 0, payload))?;
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
            && let Ok((tail, _)) = tail::find(file, header, Some(tail.position()))?
        {
            self.source = Source::Log(tail);
            return self.read(has_writer, teller);
        }
        let stamp = file.stamp()?;
        let within = *lock(limit);
        let Found { loader, end, .. } = load::load(file, has_writer, within, &mut |_| {})?;
        self.is_spoilt = true;
        let store = self.loader.store().clone();
        // Each of the stores is within the limit. On the way, this one may have the pairs of both.
        store.set_memory_limit(None);
        let done = become_like(&store, &loader);
        let limit = lock(limit);
        store.set_memory_limit(limit.map(limit_while_loading));
        self.loader = Loader::going_on(store, &done?);
        let id_of = |(id, own): (u32, &Table), table: &TableInfo| {
            (TableInfo::of(&TableEntry::of(own)).as_ref() == table).then_some(id)
        };
        teller.begin_anew(|table| self.loader.tables().find_map(|own| id_of(own, table)));
        self.is_spoilt = false;
        self.source = Source::of(Some((stamp, end)));
        Ok(1)
    }

    pub(crate) fn tables(&self) -> impl Iterator<Item = (u32, &Table)> {
        self.loader.tables()
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

/// Changes what differs in the tables of a store, of which there are handles, from another one's. Returns them with its numbers.
fn become_like(store: &Store, other: &Loader) -> Result<Vec<(u32, Table)>> {
    for table in store.tables() {
        let is_like = |other: &Table| (other.index(), other.codecs()) == (table.index(), table.codecs());
        if !other.store().find_table(table.name()).is_some_and(|other| is_like(&other)) {
            store.drop_table(table.name());
        }
    }
    let like = |(id, other): (u32, &Table)| {
        let (keys, values) = other.codecs();
        let options = TableOptions::new(other.index()).keys(keys).values(values);
        let table = store.table_with(other.name(), options)?;
        copy(other, &table)?;
        Ok((id, table))
    };
    other.tables().map(like).collect()
}

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
