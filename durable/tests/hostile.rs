//! Files that were made to take a reader's memory: none gets more than what is really written in it, or than the limit.
//!
//! The files here are small, so that the tests take seconds. With the variable `TWINDEX_HOSTILE` they are as large as those
//! that once took gigabytes.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use peak_alloc::PeakAlloc;
use tempfile::{TempDir, tempdir};
use twindex_cache::{Cache, CacheOptions};
use twindex_durable::format::{
    self, HEAD_BYTES, HEADER_BYTES, Header, Kind, Operation, Operations, TableEntry,
};
use twindex_durable::twindex::{self, IndexKind, TableOptions};
use twindex_durable::{Dump, Error, Options, Store, check, check_within, recover, recover_within};

// --- memory

#[global_allocator]
static ALLOCATOR: PeakAlloc = PeakAlloc;

/// One test after the other: they share the counts.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What `read` returns, and the most memory that it had at once.
fn measured<T>(read: impl FnOnce() -> T) -> (T, usize) {
    let before = ALLOCATOR.current_usage();
    ALLOCATOR.reset_peak_usage();
    let result = read();
    (result, ALLOCATOR.peak_usage() - before)
}

const MIB: usize = 1 << 20;
/// What `check` and `recover` may take of a file that takes little on the disk.
const DEFAULT: usize = 256 * MIB;
/// What a reader may have beside what is in the file: pieces of the file, and empty tables.
const SLACK: usize = 24 * MIB;

fn is_long() -> bool {
    std::env::var_os("TWINDEX_HOSTILE").is_some()
}

// --- files

fn folder() -> (TempDir, PathBuf) {
    let folder = tempdir().expect("a folder for temporary files");
    let path = folder.path().join("app.twx");
    (folder, path)
}

const SALT: u64 = 7;

/// A file, record by record, each with right checksums.
struct Forged(Vec<u8>);

impl Forged {
    fn new() -> Self {
        Self(Header::encode(SALT))
    }

    fn record(mut self, kind: Kind, payload: &[u8]) -> Self {
        let start = self.0.len();
        self.0.extend([0; HEAD_BYTES]);
        self.0.extend(payload);
        format::seal(kind, SALT, start as u64, &mut self.0[start..]);
        self
    }

    /// An empty table and the end of the dump.
    fn with_empty_dump(self) -> Self {
        self.record(Kind::Table, b"\0\0\0\x05bytes\x05bytest").record(Kind::End, &[0; 8])
    }

    /// A record's head alone, which is right and claims so many bytes.
    fn head(mut self, kind: Kind, length: u64) -> Self {
        let start = self.0.len();
        self.0.extend(head(kind, length, start as u64));
        self
    }
}

/// A head that claims so many bytes. Its checksum of them is a guess.
fn head(kind: Kind, length: u64, offset: u64) -> [u8; HEAD_BYTES] {
    head_of(SALT, kind, length, offset)
}

fn head_of(salt: u64, kind: Kind, length: u64, offset: u64) -> [u8; HEAD_BYTES] {
    let mut head = [kind as u8, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4];
    head[1..6].copy_from_slice(&length.to_le_bytes()[..5]);
    let sums = [salt, offset].map(u64::to_le_bytes).concat();
    let sum = sums.iter().chain(&head[..6]).fold(!0_u32, |sum, byte| {
        (0..8).fold(sum ^ u32::from(*byte), |sum, _| (sum >> 1) ^ ((sum & 1) * 0xedb8_8320))
    });
    head[6..8].copy_from_slice(&(!sum as u16).to_le_bytes());
    assert!(format::Head::decode(salt, offset, &head).is_some_and(|head| head.length == length));
    head
}

/// Every way to read the file, with the limit of `check` and `recover`.
fn read_in_every_way(path: &Path, mut with: impl FnMut(&str, Result<(), Error>, usize)) {
    let (result, peak) = measured(|| check(path, |_| {}));
    with("check", result.map(drop), peak);
    let to = path.with_extension("recovered");
    let (result, peak) = measured(|| recover(path, &to, |_| {}));
    with("recover", result.map(drop), peak);
    let _ = fs::remove_file(to);
    let (result, peak) = measured(|| twindex_durable::load(path));
    with("load", result.map(drop).map_err(Error::from), peak);
    for read_only in [true, false] {
        let (result, peak) = measured(|| Options::new().read_only(read_only).existing(true).open(path));
        with("open", result.map(drop), peak);
    }
}

fn is_memory_limit<T>(result: &Result<T, Error>) -> bool {
    result.as_ref().is_err_and(|error| error.code() == "TWINDEX_MEMORY_LIMIT")
}

// --- the tests

/// How long the keys are that share all but a few bytes.
const KEY: usize = 40_000;

#[test]
fn a_small_file_of_long_keys_takes_no_more_than_the_limit() {
    let _alone = alone();
    let (_folder, path) = folder();
    let count = if is_long() { 77_000 } else { 1_000_u32 };
    let store = twindex::Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    let mut key = vec![b'k'; KEY];
    for number in 0..count {
        key[KEY - 4..].copy_from_slice(&number.to_be_bytes());
        table.insert(&key, "").unwrap();
    }
    let mut bytes = Vec::new();
    format::write_tables(&[(0, table)], SALT, &mut bytes, &mut |_| {}).unwrap();
    drop(store);
    // The table's record says that it is a hash table.
    let start = HEADER_BYTES;
    let length = usize::from(bytes[start + 1]);
    let index = bytes.windows(12).position(|bytes| bytes == b"\x05bytes\x05bytes").unwrap() - 1;
    assert_eq!(std::mem::replace(&mut bytes[index], 0), 1, "a sorted table");
    format::seal(Kind::Table, SALT, start as u64, &mut bytes[start..start + HEAD_BYTES + length]);
    fs::write(&path, &bytes).unwrap();
    assert!(bytes.len() < 600_000, "{} bytes", bytes.len());

    let in_memory = count as usize * KEY;
    let limit = 8 * MIB;
    let to = path.with_extension("recovered");
    let fails_within = |what: &str, limit: usize, read: &dyn Fn() -> Result<(), Error>| {
        let (result, peak) = measured(read);
        assert!(is_memory_limit(&result), "{what}: {result:?}");
        assert!(peak < limit + SLACK, "{what} took {peak} bytes");
    };
    fails_within("check", limit, &|| check_within(&path, limit, |_| {}).map(drop));
    fails_within("recover", limit, &|| recover_within(&path, &to, limit, |_| {}).map(drop));
    fails_within("open", limit, &|| Options::new().memory_limit(limit).open(&path).map(drop));
    fails_within("stream", limit, &|| {
        Ok(twindex::Store::load_within(&mut File::open(&path).unwrap(), limit).map(drop)?)
    });
    if is_long() {
        fails_within("check", DEFAULT, &|| check(&path, |_| {}).map(drop));
        fails_within("recover", DEFAULT, &|| recover(&path, &to, |_| {}).map(drop));
    }
    assert!(!to.exists());
    // With a known file more is allowed.
    let report = check_within(&path, 2 * in_memory, |_| {}).unwrap();
    assert_eq!((report.damage, report.dump_pairs), (Vec::new(), u64::from(count)));
}

#[test]
fn a_hole_in_a_file_takes_no_memory() {
    let _alone = alone();
    let hole: u64 = if is_long() { 1 << 30 } else { 40 << 20 };
    let in_dump = [Kind::Table, Kind::Pairs, Kind::End, Kind::Log].map(|kind| (Forged::new(), kind));
    let in_log = [Kind::Log, Kind::Synced].map(|kind| (Forged::new().with_empty_dump(), kind));
    for (forged, kind) in in_dump.into_iter().chain(in_log) {
        let (_folder, path) = folder();
        let bytes = forged.head(kind, hole).0;
        let file = File::create(&path).unwrap();
        file.write_all_at(&bytes, 0).unwrap();
        // Room that is set aside for the log looks like that, so something follows.
        file.write_all_at(&[1], bytes.len() as u64 + hole).unwrap();
        read_in_every_way(&path, |way, result, peak| {
            assert!(peak < SLACK, "{kind:?}: {way} took {peak} bytes");
            // The bytes after a valid dump may be torn.
            let whole = bytes.len() > HEADER_BYTES + HEAD_BYTES && way != "load"
                || way == "check"
                || way == "recover";
            assert_eq!(result.is_ok(), whole, "{kind:?}, {way}: {result:?}");
        });
    }
}

#[test]
fn a_valid_record_of_zeros_is_bound_by_the_limit() {
    let _alone = alone();
    let (_folder, path) = folder();
    let value = if is_long() { 1 << 30 } else { 300 * MIB };
    let mut forged = Forged::new().with_empty_dump();
    let (start, zeros) = (forged.0.len() as u64, vec![0; value]);
    let mut operations = Operations::default();
    operations.push(0, Operation::Put(b"k", &zeros));
    drop(zeros);
    let record = operations.seal(SALT, start);
    let file = File::create(&path).unwrap();
    forged.0.extend(&record[..64]);
    file.write_all_at(&forged.0, 0).unwrap();
    file.set_len(start + record.len() as u64).unwrap();
    drop(operations);
    let (result, peak) = measured(|| check(&path, |_| {}));
    assert!(is_memory_limit(&result), "{result:?}");
    assert!(peak < DEFAULT + SLACK, "check took {peak} bytes");
    assert_eq!(check_within(&path, 2 * value, |_| {}).unwrap().damage, []);
}

#[test]
fn no_length_is_believed() {
    let _alone = alone();
    let (_folder, path) = folder();
    let store = Options::new().compact_by_hand(true).open(&path).unwrap();
    for (name, index) in [("hash", IndexKind::Hash), ("sorted", IndexKind::Sorted)] {
        let table = store.table(name, index).unwrap();
        table.upsert_many(&(0..5).map(|key| (format!("dumped {key}"), "value")).collect::<Vec<_>>()).unwrap();
    }
    store.compact().unwrap();
    let table = store.table("hash", IndexKind::Hash).unwrap();
    table.upsert("logged", "value").unwrap();
    table.delete("logged").unwrap();
    store.drop_table("sorted").unwrap();
    store.close().unwrap();
    drop((store, table));
    let whole = fs::read(&path).unwrap();
    let salt = Header::decode(&whole).unwrap().salt;
    let mut records = Vec::new();
    let mut at = HEADER_BYTES;
    while at < whole.len() {
        let head = format::Head::decode(salt, at as u64, whole[at..].first_chunk().unwrap()).unwrap();
        let end = at + HEAD_BYTES + head.length as usize;
        records.push((head.kind, whole[at + HEAD_BYTES..end].to_vec()));
        at = end;
    }
    assert!(records.len() > 6);
    let forge = |changed: usize, record: &dyn Fn(Forged, Kind, &[u8]) -> Forged| {
        let forged = records.iter().enumerate().fold(Forged::new(), |forged, (number, (kind, payload))| {
            if number == changed { record(forged, *kind, payload) } else { forged.record(*kind, payload) }
        });
        fs::write(&path, &forged.0).unwrap();
        let is_little =
            |way: &str, _, peak| assert!(peak < SLACK, "record {changed}: {way} took {peak} bytes");
        read_in_every_way(&path, is_little);
        let ((), peak) = measured(|| drop(twindex::Store::load(&mut forged.0.as_slice())));
        is_little("stream", Ok(()), peak);
    };
    let step = if is_long() { 1 } else { 7 };
    for (number, (_, payload)) in records.iter().enumerate() {
        for length in [1 << 20, 1 << 31, (1 << 40) - 1] {
            forge(number, &|mut forged, kind, payload| {
                forged = forged.head(kind, length);
                forged.0.extend(payload);
                forged
            });
        }
        for at in (0..payload.len()).step_by(step) {
            for number_of in [[0xff, 0xff, 0xff, 0xff, 0x0f].as_slice(), &[0xff, 0xff, 0x03], &[0xff]] {
                forge(number, &|forged, kind, payload| {
                    forged.record(kind, &[&payload[..at], number_of, &payload[at + 1..]].concat())
                });
            }
        }
    }
}

#[test]
fn many_tables_take_no_more_than_the_limit() {
    let _alone = alone();
    let (_folder, path) = folder();
    let count = if is_long() { 500_000 } else { 30_000_u32 };
    let mut created = Operations::default();
    let mut written = Operations::default();
    for id in 1..count {
        let name = id.to_string();
        created.push(id, Operation::Create(TableEntry::new(&name, TableOptions::new(IndexKind::Hash))));
        written.push(id, Operation::Delete(b"k"));
    }
    for (operations, broken) in [(&mut created, false), (&mut written, true)] {
        let mut forged = Forged::new().with_empty_dump();
        if broken {
            // `check` makes tables for ids behind damage alone.
            forged = forged.record(Kind::Pairs, &[]);
        }
        let at = forged.0.len() as u64;
        forged.0.extend(operations.seal(SALT, at));
        fs::write(&path, &forged.0).unwrap();
        let (result, peak) = measured(|| check_within(&path, 64 * MIB, |_| {}));
        assert!(peak < 64 * MIB + SLACK, "check took {peak} bytes for {}: {result:?}", forged.0.len());
    }
}

#[test]
fn a_hole_in_a_cache_takes_no_memory() {
    let _alone = alone();
    let folder = tempdir().expect("a folder for temporary files");
    let path = folder.path().join("cache.twx");
    twindex_durable::save_cache(&Cache::new(CacheOptions::max_entries(10)).unwrap(), &path).unwrap();
    let whole = fs::metadata(&path).unwrap().len();
    let file = File::options().write(true).open(&path).unwrap();
    let end = whole - 24;
    let hole: u64 = if is_long() { 1 << 30 } else { 40 << 20 };
    file.write_all_at(&hole.to_le_bytes(), end).unwrap();
    file.set_len(end + 12 + hole).unwrap();
    for checks in [false, true] {
        let (refused, peak) = measured(|| {
            if checks {
                twindex_durable::check_cache(&path).map(drop)
            } else {
                twindex_durable::read_cache(&path).map(drop)
            }
        });
        assert!(
            matches!(refused, Err(twindex_cache::Error::Corrupt { offset, .. }) if offset == end),
            "{refused:?}"
        );
        assert!(peak < 8 * MIB, "{peak} bytes");
    }
}

#[test]
fn a_record_that_memory_has_no_room_for_is_an_error() {
    let _alone = alone();
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    store.close().unwrap();
    let whole = fs::read(&path).unwrap();
    let (salt, length) = (Header::decode(&whole).unwrap().salt, (1 << 40) - 1);
    for (kind, end) in [(Kind::Pairs, HEADER_BYTES), (Kind::Log, whole.len())] {
        let mut bytes = whole[..end].to_vec();
        bytes.extend(head_of(salt, kind, length, bytes.len() as u64));
        fs::write(&path, &bytes).unwrap();
        File::options().write(true).open(&path).unwrap().set_len(bytes.len() as u64 + length).unwrap();
        for read_only in [false, true] {
            let error = Options::new().read_only(read_only).open(&path).unwrap_err();
            let is_full = |error: &Error| matches!(error, Error::Io { source, .. } if source.kind() == ErrorKind::OutOfMemory);
            assert!(is_full(&error), "{kind:?}: {error}");
        }
    }
}
