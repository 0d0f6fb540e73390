//! Looking for damage in a file, and saving what is left.

use std::io::{ErrorKind, Read};
use std::iter;
use std::path::Path;

use twindex::{Index, TableOptions};
use twindex_format::{
    CACHE_VERSION, HEADER_BYTES, Header, Kind, Loader, Operation, Progress, SavedCache, TableEntry, VERSION,
    table_of_pairs,
};

use crate::disk::Disk;
use crate::disk::real::RealDisk;
use crate::error::{Error, Result};
use crate::load::{LogReader, Torn};
use crate::paths::resolve;
use crate::whole::{read_cache, save_new};

/// Bytes of a file that are not what was written there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where they start.
    pub offset: u64,
    /// How many there are, up to the next valid record or the end of the file.
    pub bytes: u64,
    /// What is wrong.
    pub what: &'static str,
}

/// What [`check`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// The version of the format: 1 for a store, 2 for a cache.
    pub version: u32,
    /// The bytes of the file.
    pub bytes: u64,
    /// The bytes up to the end of the dump.
    pub dump_bytes: u64,
    /// The bytes of the log behind it, up to its last record.
    pub log_bytes: u64,
    /// The records in the dump and in the log.
    pub records: u64,
    /// The pairs in the dump.
    pub dump_pairs: u64,
    /// The operations in the log.
    pub operations: u64,
    /// What is damaged, from the start of the file to its end.
    pub damage: Vec<Damage>,
    /// What a power cut left unfinished: no damage.
    pub torn: Option<Torn>,
}

/// What [`recover`] saved.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recovery {
    /// The damage that it was saved from.
    pub report: Report,
    /// The tables that were saved: their names, indexes and pairs. Those whose names were lost are called
    /// `recovered` and a number, and are sorted.
    pub tables: Vec<(String, Index, usize)>,
}

/// What [`check`] and [`recover`] may allocate in any case.
const LEAST_LIMIT: u64 = 256 << 20;
/// And for each byte of the file. Keys that share much are stored once and may take thousands of times as much memory.
const LIMIT_PER_BYTE: u64 = 32;

/// Reads the whole file at `path`, of a store or of a cache, and verifies every checksum, and that what is under it can be loaded.
///
/// Fails with [`Error::Damaged`] where the file is neither at all; any other damage is in the report. A file that needs
/// more than 256 MiB of memory, and more than 32 bytes for each of its own on the disk, fails with
/// [`MemoryLimit`](twindex::Error::MemoryLimit): the file may come from a stranger. [`check_within`] has another limit.
pub fn check(path: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<Report> {
    let path = &resolve(path.as_ref());
    check_within(path, default_limit(path), progress)
}

/// [`check`] with so many bytes of memory for what is in the file.
pub fn check_within(
    path: impl AsRef<Path>,
    memory_limit: usize,
    mut progress: impl FnMut(Progress),
) -> Result<Report> {
    let path = &resolve(path.as_ref());
    // As for whoever opens it, an empty file is a store that was not saved yet.
    if RealDisk.open(path, None).and_then(|file| file.len()).is_ok_and(|bytes| bytes == 0) {
        return Ok(Report { version: VERSION, ..Report::default() });
    }
    let report = match read_cache(path) {
        Err(twindex::Error::Corrupt { offset: 0 | 8, .. } | twindex::Error::Io(_)) => {
            read(path, memory_limit, &mut progress).map(|(report, _)| report)
        }
        saved => check_cache(path, saved, memory_limit, &mut progress),
    };
    report.map_err(|error| Error::of_file(path, error))
}

/// Reads the file of a cache, of which the header was right, as far as it can be read.
fn check_cache<R: Read>(
    path: &Path,
    saved: twindex::Result<SavedCache<R>>,
    memory_limit: usize,
    progress: &mut dyn FnMut(Progress),
) -> twindex::Result<Report> {
    let file = RealDisk.open(path, None)?;
    let bytes = file.len()?;
    let mut report = Report { version: CACHE_VERSION, bytes, dump_bytes: bytes, ..Report::default() };
    let mut reader = LogReader::of_file(&*file, 0, bytes, HEADER_BYTES as u64).with_limit(memory_limit);
    while reader.record()?.is_some() {
        report.records += 1;
    }
    match saved.and_then(SavedCache::check) {
        Ok(done) => {
            (report.dump_pairs, report.dump_bytes) = (done.pairs, done.bytes);
            progress(done);
        }
        Err(twindex::Error::Corrupt { offset, what }) => {
            report.damage.push(Damage { offset, bytes: bytes - offset, what });
        }
        Err(error) => return Err(error),
    }
    Ok(report)
}

/// Writes what can be saved of the file `from` to a new file `to`. The old one is left as it is.
///
/// What is damaged is left out, and what was done to the same keys later is still done. Fails with
/// [`Error::Io`] where `to` is there already, and as [`check`] does.
pub fn recover(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    progress: impl FnMut(Progress),
) -> Result<Recovery> {
    let from = &resolve(from.as_ref());
    recover_within(from, to, default_limit(from), progress)
}

/// [`recover`] with so many bytes of memory for what is in the file.
pub fn recover_within(
    from: impl AsRef<Path>,
    to: impl AsRef<Path>,
    memory_limit: usize,
    mut progress: impl FnMut(Progress),
) -> Result<Recovery> {
    let (from, to) = (&resolve(from.as_ref()), to.as_ref());
    // So that nobody waits for what could not be saved. What is made meanwhile is not replaced either.
    if to.symlink_metadata().is_ok() {
        return Err(Error::io(to, ErrorKind::AlreadyExists.into()));
    }
    let (report, store) =
        read(from, memory_limit, &mut progress).map_err(|error| Error::of_file(from, error))?;
    save_new(&store, &resolve(to))?;
    let tables =
        store.tables().iter().map(|table| (table.name().to_owned(), table.index(), table.len())).collect();
    Ok(Recovery { report, tables })
}

/// The limit where the caller names none. Holes in a file do not count.
fn default_limit(path: &Path) -> usize {
    let on_disk = std::fs::metadata(path).map_or(0, |file| {
        #[cfg(unix)]
        let blocks = 512 * std::os::unix::fs::MetadataExt::blocks(&file);
        #[cfg(not(unix))]
        let blocks = u64::MAX;
        file.len().min(blocks)
    });
    LEAST_LIMIT.max(on_disk.saturating_mul(LIMIT_PER_BYTE)).try_into().unwrap_or(usize::MAX)
}

/// Reads a file as far as it can be read.
fn read(
    path: &Path,
    memory_limit: usize,
    progress: &mut dyn FnMut(Progress),
) -> twindex::Result<(Report, twindex::Store)> {
    let file = RealDisk.open(path, None)?;
    let len = file.len()?;
    let mut header = [0; HEADER_BYTES];
    let read = file.read_at(0, &mut header)?;
    let mut report = Report { version: VERSION, bytes: len, ..Report::default() };
    let salt = match Header::decode(&header[..read]) {
        Ok(Header { salt }) => salt,
        // Its salt may be whole all the same, and if it is, the records say so.
        Err(twindex::Error::Corrupt { offset, what }) if offset > 8 && read == HEADER_BYTES => {
            report.damage.push(Damage { offset: 0, bytes: HEADER_BYTES as u64, what });
            u64::from_le_bytes(header[12..20].try_into().expect("eight bytes"))
        }
        Err(error) => return Err(error),
    };
    let store = twindex::Store::new();
    store.set_memory_limit(Some(memory_limit));
    let mut reading = Reading {
        loader: Loader::new(store),
        reader: LogReader::of_file(&*file, salt, len, HEADER_BYTES as u64).with_limit(memory_limit),
        report,
        has_writer: &|| RealDisk.has_writer(path),
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
    fn dump(&mut self) -> twindex::Result<()> {
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
                Kind::Table | Kind::Pairs => {
                    let loaded = self.loader.record(kind, offset, payload);
                    self.report.dump_pairs += self.note(loaded)?;
                }
            }
            self.tell();
        }
    }

    /// The log, up to where it ends or is torn.
    fn log(&mut self) -> twindex::Result<()> {
        loop {
            let offset = self.reader.at();
            let Some((kind, payload)) = self.reader.record()? else {
                match self.reader.torn(self.has_writer) {
                    Ok(torn) => {
                        self.report.torn = torn;
                        self.report.log_bytes = offset - self.report.dump_bytes;
                        return Ok(());
                    }
                    Err(twindex::Error::Corrupt { what, .. }) => {
                        self.reader.go_to(offset);
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
                self.damage(offset, "a record out of place");
            }
            self.tell();
        }
    }

    /// What is under a checksum is damage too where it makes no sense, and only that is left out.
    fn note(&mut self, loaded: twindex::Result<u64>) -> twindex::Result<u64> {
        match loaded {
            Err(twindex::Error::Corrupt { offset, what }) => {
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
/// `recovered 7`, or `recovered 7.2` where another table is called so: the tables' own records may be lost.
fn adopt(loader: &mut Loader, kind: Kind, mut payload: &[u8]) -> twindex::Result<()> {
    let mut adopt = |id| {
        if loader.find(id).is_some() {
            return Ok(());
        }
        let names = (2_u64..).map(|other| format!("recovered {id}.{other}"));
        let mut names = iter::once(format!("recovered {id}")).chain(names);
        let unused = names.find(|name| loader.store().find_table(name).is_none()).unwrap_or_default();
        loader.create(id, 0, TableEntry::new(&unused, TableOptions::new(Index::Sorted)))
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
    use twindex::{Error, Index, Store};

    use super::{Kind, Loader, adopt};

    /// Once a table that was refused was not told of, so that its pairs seemed to be damaged.
    #[test]
    fn a_lost_table_that_memory_is_refused_for_is_an_error() {
        let pairs_of_table_7 = [7, 0];
        let store = Store::new();
        store.table("recovered 7", Index::Sorted).unwrap();
        let mut loader = Loader::new(store.clone());
        store.set_memory_limit(Some(store.memory()));
        let refused = adopt(&mut loader, Kind::Pairs, &pairs_of_table_7);
        assert!(matches!(refused, Err(Error::MemoryLimit { .. })), "{refused:?}");
        store.set_memory_limit(None);
        adopt(&mut loader, Kind::Pairs, &pairs_of_table_7).unwrap();
        assert_eq!(loader.find(7).unwrap().name(), "recovered 7.2");
    }
}
