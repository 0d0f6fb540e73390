//! Files in folders of their own, and what is in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Durability, Options, Store, Table};

pub(crate) const ALL: [Durability; 3] = [Durability::None, Durability::EverySec, Durability::Always];
pub(crate) const LOGGED: [Durability; 2] = [Durability::EverySec, Durability::Always];

pub(crate) type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;
pub(crate) type Tables = BTreeMap<String, (IndexKind, Pairs)>;

/// A folder, and the path of a file in it that is not there yet.
pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = tempdir().expect("a folder for temporary files");
    let path = folder.path().join("app.twx");
    (folder, path)
}

/// A new store in a file, and a hash table in it.
pub(crate) fn file(table: &str, durability: Durability) -> (TempDir, PathBuf, Store, Table) {
    let (folder, path) = folder();
    let store = open(&path, durability);
    let table = store.table(table, IndexKind::Hash).unwrap();
    (folder, path, store, table)
}

pub(crate) fn open(path: &Path, durability: Durability) -> Store {
    Options::new().durability(durability).open(path).unwrap()
}

/// As [`open`], for a test that compacts itself.
pub(crate) fn open_by_hand(path: &Path, durability: Durability) -> Store {
    Options::new().durability(durability).compact_by_hand(true).open(path).unwrap()
}

pub(crate) fn follower(path: &Path) -> Store {
    Options::new().read_only(true).open(path).unwrap()
}

pub(crate) fn pairs_of(table: &Table) -> Pairs {
    table.iter().unwrap().collect()
}

pub(crate) fn tables_of(store: &Store) -> Tables {
    let content = |table: &Table| (table.name().to_owned(), (table.index(), pairs_of(table)));
    store.tables().unwrap().iter().map(content).collect()
}

pub(crate) fn names(folder: &TempDir) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_mins(1), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}
