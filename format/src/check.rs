//! Looking for damage in a file, and saving what is left.

use std::iter;

use twindex::{Error, IndexKind, Result, Store, TableOptions};

use crate::entry::TableEntry;
use crate::loader::{Loader, table_of_pairs};
use crate::log::{LogReader, Torn};
use crate::operation::Operation;
use crate::progress::Progress;
use crate::record::{HEADER_BYTES, Header, Kind, OUT_OF_PLACE, VERSION};
use crate::source::ReadAt;
use crate::varint::number;

/// Bytes of a file that differ from the written ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Their offset.
    pub offset: u64,
    /// How many there are, up to the next valid record or the end of the file.
    pub bytes: u64,
    /// The fault.
    pub what: &'static str,
}

/// The result of [`check`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The version of the format.
    pub version: u32,
    /// The bytes of the file.
    pub bytes: u64,
    /// The bytes up to the end of the dump.
    pub dump_bytes: u64,
    /// The bytes of the log after it, up to its last record.
    pub log_bytes: u64,
    /// The records in the dump and in the log.
    pub records: u64,
    /// The pairs in the dump.
    pub dump_pairs: u64,
    /// The operations in the log.
    pub operations: u64,
    /// The damaged places, in order.
    pub damage: Vec<Damage>,
    /// The incomplete end that a power cut left. It is not damage.
    pub torn: Option<Torn>,
}

/// Reads a whole file. Verifies every checksum, and that the contents load within a limit of memory:
/// [`limit_while_loading`](crate::limit_while_loading) for the file of a store with a limit. An empty file is an empty store.
///
/// Fails with [`Error::Corrupt`] if the file is not a store; any other damage is in the report.
pub fn check(
    file: &dyn ReadAt,
    memory_limit: usize,
    has_writer: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report> {
    salvage(file, memory_limit, has_writer, progress).map(|(report, _)| report)
}

/// Reads the file of a store as far as it can be read. Leaves out damaged records, and applies later changes to the same keys.
///
/// Tables whose names were lost are called `recovered` and a number, and are sorted. Fails as [`check`] does.
pub fn salvage(
    file: &dyn ReadAt,
    memory_limit: usize,
    has_writer: &dyn Fn() -> bool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Report, Store)> {
    let len = file.len()?;
    let mut header = [0; HEADER_BYTES];
    let read = file.read_at(0, &mut header)?;
    let mut report = Report { version: VERSION, bytes: len, ..Report::default() };
    if len == 0 {
        // A store that was not saved yet.
        return Ok((report, Store::with_memory_limit(memory_limit)));
    }
    let salt = match Header::decode(&header[..read]) {
        Ok(Header { salt }) => salt,
        // Its salt may be whole all the same, and if it is, the records say so.
        Err(Error::Corrupt { offset, what }) if offset > 8 && read == HEADER_BYTES => {
            report.damage.push(Damage { offset: 0, bytes: HEADER_BYTES as u64, what });
            number(&header[12..20])
        }
        Err(error) => return Err(error),
    };
    let store = Store::with_memory_limit(memory_limit);
    let mut reading = Reading {
        loader: Loader::new(store),
        reader: LogReader::of_file(file, salt, len, HEADER_BYTES as u64).with_limit(memory_limit),
        report,
        has_writer,
        progress,
    };
    reading.dump()?;
    if salt != 0 {
        reading.log()?;
    }
    Ok((reading.report, reading.loader.store().clone()))
}

struct Reading<'r> {
    loader: Loader,
    reader: LogReader<'r>,
    report: Report,
    has_writer: &'r dyn Fn() -> bool,
    progress: &'r mut dyn FnMut(Progress),
}

const BAD_RECORD: &str = "a record is damaged";

impl Reading<'_> {
    /// Everything up to the end of the dump.
    fn dump(&mut self) -> Result<()> {
        loop {
            let offset = self.reader.at();
            let Some((kind, payload)) = self.reader.record()? else {
                let found = self.reader.find_next()?;
                self.damage(offset, BAD_RECORD);
                if found {
                    continue;
                }
                self.report.dump_bytes = self.report.bytes;
                return Ok(());
            };
            self.report.records += 1;
            if !self.report.damage.is_empty() {
                adopt(&mut self.loader, kind, payload)?;
            }
            match kind {
                Kind::End => {
                    let pairs = payload.try_into().map(u64::from_le_bytes).unwrap_or_default();
                    let lost = !self.report.damage.is_empty();
                    self.report.dump_bytes = self.reader.at();
                    if !lost && pairs != self.report.dump_pairs {
                        self.damage(offset, "the number of pairs does not match");
                    }
                    return Ok(());
                }
                // The end of the dump is among what is damaged.
                Kind::Log | Kind::Synced => {
                    self.report.records -= 1;
                    self.report.dump_bytes = offset;
                    self.reader.go_to(offset);
                    return Ok(());
                }
                Kind::Table | Kind::Pairs | Kind::Kept => {
                    let loaded = self.loader.record(kind, offset, payload);
                    self.report.dump_pairs += self.note(loaded)?;
                }
            }
            self.tell();
        }
    }

    /// The log, up to where it ends or is torn.
    fn log(&mut self) -> Result<()> {
        loop {
            let offset = self.reader.at();
            let Some((kind, payload)) = self.reader.record()? else {
                match self.reader.torn(self.has_writer) {
                    Ok(torn) => {
                        self.report.torn = torn;
                        self.report.log_bytes = offset - self.report.dump_bytes;
                        return Ok(());
                    }
                    Err(Error::Corrupt { what, .. }) => {
                        self.reader.go_back(offset);
                        self.reader.find_next()?;
                        self.damage(offset, what);
                        continue;
                    }
                    Err(error) => return Err(error),
                }
            };
            self.report.records += 1;
            if kind.is_logged() {
                if !self.report.damage.is_empty() {
                    adopt(&mut self.loader, kind, payload)?;
                }
                let replayed = self.loader.record(kind, offset, payload);
                self.report.operations += self.note(replayed)?;
            } else {
                self.damage(offset, OUT_OF_PLACE);
            }
            self.tell();
        }
    }

    /// Valid bytes that make no sense are damage too, and only they are left out.
    fn note(&mut self, loaded: Result<u64>) -> Result<u64> {
        match loaded {
            Err(Error::Corrupt { offset, what }) => {
                self.damage(offset, what);
                Ok(0)
            }
            other => other,
        }
    }

    /// Notes that all from `offset` to the next record is damaged.
    fn damage(&mut self, offset: u64, what: &'static str) {
        self.report.damage.push(Damage { offset, bytes: self.reader.at() - offset, what });
    }

    fn tell(&mut self) {
        let pairs = self.report.dump_pairs + self.report.operations;
        (self.progress)(Progress { pairs, bytes: self.reader.at() });
    }
}

/// Makes a table for every id in a record of pairs or operations that no table has, with a sorted index and a name such as
/// `recovered 7`, or `recovered 7.2` if another table is called so: the tables' own records may be lost.
fn adopt(loader: &mut Loader, kind: Kind, mut payload: &[u8]) -> Result<()> {
    let mut adopt = |id| {
        if loader.has_had(id) {
            return Ok(());
        }
        let names = (2_u64..).map(|other| format!("recovered {id}.{other}"));
        let mut names = iter::once(format!("recovered {id}")).chain(names);
        let unused = names.find(|name| loader.store().find_table(name).is_none()).unwrap_or_default();
        loader.create(id, 0, TableEntry::new(&unused, TableOptions::new(IndexKind::Sorted)))
    };
    if kind == Kind::Pairs {
        table_of_pairs(payload).map_or(Ok(()), adopt)?;
    } else if kind == Kind::Log {
        while let Some((id, operation)) = Operation::take(&mut payload) {
            if !matches!(operation, Operation::Create(..) | Operation::Position(..)) {
                adopt(id)?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_table_that_memory_is_refused_for_is_an_error() {
        let pairs_of_table_7 = [7, 0];
        let store = Store::new();
        store.table("recovered 7", IndexKind::Sorted).unwrap();
        let mut loader = Loader::new(store.clone());
        store.set_memory_limit(Some(store.memory()));
        let refused = adopt(&mut loader, Kind::Pairs, &pairs_of_table_7);
        assert!(matches!(refused, Err(Error::MemoryLimit { .. })), "{refused:?}");
        store.set_memory_limit(None);
        adopt(&mut loader, Kind::Pairs, &pairs_of_table_7).unwrap();
        assert_eq!(loader.find(7).unwrap().name(), "recovered 7.2");
    }
}
