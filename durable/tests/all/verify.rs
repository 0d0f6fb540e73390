//! Finding damage in a file, and saving what is left of it.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Durability, Error, Options, Report, Store, check, recover};

use crate::common::{ALL, folder, follower, open, open_by_hand};

/// A file with several records in the dump and in the log, and what is in it.
fn file() -> (TempDir, PathBuf, Store) {
    let (folder, path) = folder();
    let store = open_by_hand(&path, Durability::Always);
    let users = store.table("users", IndexKind::Hash).unwrap();
    let log = store.table("log", IndexKind::Sorted).unwrap();
    for table in [&users, &log] {
        let pairs: Vec<_> = (0..700).map(|key| (format!("dumped {key:05}"), [b'v'; 100])).collect();
        table.insert_many(&pairs).unwrap();
    }
    store.compact().unwrap();
    for number in 0..50 {
        log.insert(format!("logged {number:02}"), "1").unwrap();
    }
    store.close().unwrap();
    (folder, path, store)
}

fn checked(path: &Path) -> Report {
    check(path, |_| {}).unwrap()
}

/// Pairs that both have, though the table's name may be lost.
fn common(found: &twindex::Store, whole: &Store) -> usize {
    let count = |table: &twindex::Table| {
        let renamed = |found: &twindex::Table| found.name().starts_with("recovered ");
        let found: Vec<_> = found
            .tables()
            .into_iter()
            .filter(|found| found.name() == table.name() || renamed(found))
            .collect();
        table
            .iter()
            .filter(|(key, value)| found.iter().any(|found| found.select(key).as_ref() == Some(value)))
            .count()
    };
    whole.in_memory().tables().iter().map(count).sum()
}

#[test]
fn a_whole_file_has_no_damage() {
    let (folder, path, store) = file();
    let mut told = 0;
    let report = check(&path, |progress| told = progress.bytes).unwrap();
    assert_eq!((report.version, report.damage.len(), report.torn), (1, 0, None));
    assert_eq!((report.dump_pairs, report.operations), (1400, 50));
    assert_eq!(report.bytes, fs::metadata(&path).unwrap().len());
    assert_eq!(report.dump_bytes + report.log_bytes, report.bytes);
    assert!(told <= report.bytes && told > report.bytes / 2);
    let to = folder.path().join("new.twx");
    let recovery = recover(&path, &to, |_| {}).unwrap();
    assert_eq!(recovery.report, report);
    assert_eq!(
        recovery.tables,
        [("log".to_owned(), IndexKind::Sorted, 750), ("users".to_owned(), IndexKind::Hash, 700)]
    );
    assert_eq!(common(&twindex_durable::load(&to).unwrap(), &store), 1450);
}

#[test]
fn one_damaged_byte_is_found_and_costs_little() {
    let (folder, path, store) = file();
    let whole = fs::read(&path).unwrap();
    let log = checked(&path).dump_bytes as usize;
    let to = folder.path().join("new.twx");
    let last = whole.len() - 20;
    let spread = [12, 21].into_iter().chain((24..last).step_by(whole.len() / 17));
    // Every byte of the last record too: after a close it is no torn end.
    for at in spread.chain((log..last).step_by(61)).chain(last - 26..last) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x41;
        fs::write(&path, &damaged).unwrap();
        let report = checked(&path);
        let here = |damage: &twindex_durable::Damage| {
            (damage.offset..damage.offset + damage.bytes.max(1)).contains(&(at as u64))
        };
        // Where the salt is damaged, no record can be told from any other bytes.
        let salt = (12..20).contains(&at);
        assert!(report.damage.iter().any(here), "byte {at}: {:?}", report.damage);
        assert!(matches!(Options::new().open(&path), Err(Error::Damaged { .. })), "byte {at}");
        recover(&path, &to, |_| {}).unwrap();
        assert_eq!(fs::read(&path).unwrap(), damaged, "the damaged file is never written to");
        let common = common(&twindex_durable::load(&to).unwrap(), &store);
        if !salt {
            assert!(common >= 1450 - 700, "byte {at}: {common} pairs of 1450");
        }
        fs::remove_file(&to).unwrap();
    }
}

#[test]
fn pairs_whose_table_is_lost_are_saved_beside_those_of_an_earlier_recovery() {
    let (folder, path) = folder();
    let to = folder.path().join("new.twx");
    let store = open(&path, Durability::Always);
    for (name, pairs) in [("the lost", 70), ("a", 1), ("recovered 0", 30)] {
        let table = store.table(name, IndexKind::Sorted).unwrap();
        table.insert_many(&(0..pairs).map(|key| (format!("{key}"), name)).collect::<Vec<_>>()).unwrap();
    }
    store.compact().unwrap();
    store.close().unwrap();
    let mut bytes = fs::read(&path).unwrap();
    let name = bytes.windows(8).position(|window| window == b"the lost").unwrap();
    bytes[name] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let mut pairs: Vec<_> =
        recover(&path, &to, |_| {}).unwrap().tables.into_iter().map(|(.., pairs)| pairs).collect();
    pairs.sort_unstable();
    assert_eq!(pairs, [1, 30, 70]);
}

#[test]
fn a_file_that_is_there_is_not_written_over() {
    let (folder, path, _store) = file();
    let to = folder.path().join("notes.txt");
    fs::write(&to, "notes").unwrap();
    let error = recover(&path, &to, |_| {}).unwrap_err();
    assert!(matches!(&error, Error::Io { path, .. } if *path == to), "{error}");
    assert_eq!(fs::read_to_string(&to).unwrap(), "notes");
    // Nor is what was made while the damaged file was read.
    let to = folder.path().join("meanwhile.twx");
    recover(&path, &to, |_| fs::write(&to, "notes").unwrap()).unwrap_err();
    assert_eq!(fs::read_to_string(&to).unwrap(), "notes");
}

#[test]
fn an_empty_file_is_an_empty_store() {
    let (folder, path) = folder();
    let to = folder.path().join("new.twx");
    fs::write(&path, "").unwrap();
    let report = checked(&path);
    assert_eq!((report.version, report.bytes, &report.damage[..]), (1, 0, &[][..]));
    let recovery = recover(&path, &to, |_| {}).unwrap();
    assert_eq!((recovery.report, recovery.tables.len()), (report, 0));
    for path in [&path, &to] {
        assert!(twindex_durable::load(path).unwrap().tables().is_empty());
        assert!(follower(path).tables().unwrap().is_empty());
    }
    let error = twindex_durable::Changes::open(&path, None).unwrap_err();
    assert!(error.to_string().contains("it is empty"), "{error}");
    assert_eq!(fs::metadata(&path).unwrap().len(), 0);
    // As a program makes one that wants a name of its own.
    for durability in ALL {
        fs::write(&path, "").unwrap();
        let store = Options::new().durability(durability).existing(true).open(&path).unwrap();
        assert!(store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap());
        store.close().unwrap();
        assert_eq!(follower(&path).find_table("t").unwrap().unwrap().len(), 1, "{durability}");
    }
}
