//! Files of every version of the format, which every release reads.
//!
//! They are in `conformance/golden/`, for all hosts. They were written once, by the release that introduced the
//! version, and are never written again: `TWINDEX_GOLDEN=FOLDER` makes this release's in another folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use twindex_durable::twindex::{self, IndexKind, TableOptions};
use twindex_durable::{Dump, Durability, Result, Store, Table};

use crate::common::{ALL, Pairs, folder, follower, open, pairs_of};

/// The tables by name: their indexes and codecs, and their pairs.
type Tables = BTreeMap<String, ((IndexKind, [String; 2]), Pairs)>;

/// The contents of all of them, without the log.
fn dumped() -> Result<Store> {
    let store = Store::new();
    let users = store.table("users", IndexKind::Hash)?;
    users.insert("ada", "1815")?;
    users.insert("", "the empty key")?;
    users.insert([0xff, 0x00, 0x80], "")?;
    let log = store.table("log é", IndexKind::Sorted)?;
    for number in 0..300 {
        log.insert(format!("2026-11-{:02} {number:03}", number % 30 + 1), format!("{number}"))?;
    }
    log.insert(vec![b'k'; 1000], vec![b'v'; 70_000])?;
    log.insert([vec![b'k'; 999], b"l".to_vec()].concat(), "shares much")?;
    store.table("empty", IndexKind::Sorted)?;
    let years = store.table_with("years", TableOptions::new(IndexKind::Sorted).keys("int").values("json"))?;
    // -7 and 1815 as their codec stores them.
    years.insert(b"\x7f\xff\xff\xff\xff\xff\xff\xf9", "\"before\"")?;
    years.insert(b"\x80\0\0\0\0\0\x07\x17", "{\"name\": \"Ada\"}")?;
    Ok(store)
}

/// As [`dumped`], with keys that recur as those of settings with metadata do.
fn packed() -> Result<Store> {
    let store = dumped()?;
    let settings = store.table("settings", IndexKind::Sorted)?;
    for number in 0..200 {
        for (at, name) in ["", "/default", "/description", "/type"].into_iter().enumerate() {
            settings.insert(format!("system/a folder/key{number}{name}"), "v".repeat(number % 13 * at))?;
        }
    }
    Ok(store)
}

/// The changes after that, in the files with a log.
fn log(store: &Store) -> Result<()> {
    let users = store.table("users", IndexKind::Hash)?;
    users.replace("ada", "1852")?;
    users.delete("")?;
    users.increment("count", -7)?;
    store.table("dropped", IndexKind::Hash)?.insert("a", "1")?;
    store.drop_table("dropped")?;
    let empty = store.table("empty", IndexKind::Sorted)?;
    empty.insert("a", "1")?;
    empty.clear()?;
    let mut batch = store.batch();
    for number in 0..40_u8 {
        let table = store.table(
            &format!("table {number}"),
            if number < 20 { IndexKind::Hash } else { IndexKind::Sorted },
        )?;
        batch.upsert(&table, [number], vec![number; usize::from(number) * 40])?;
    }
    batch.commit().map(drop)
}

fn tables_of(store: &Store) -> Tables {
    let content = |table: &Table| {
        let (keys, values) = table.codecs();
        let kind = (table.index(), [keys.to_owned(), values.to_owned()]);
        (table.name().to_owned(), (kind, pairs_of(table)))
    };
    store.tables().unwrap().iter().map(content).collect()
}

/// That every way of reading it finds this.
#[track_caller]
fn assert_reads(name: &str, expected: &Store) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/golden").join(name);
    let bytes = fs::read(&golden).unwrap();
    let expected = tables_of(expected);
    let loaded = twindex::Store::load(&mut bytes.as_slice()).unwrap();
    assert!(tables_of(&loaded.into()) == expected, "{name}: from its bytes");
    assert!(tables_of(&twindex_durable::load(&golden).unwrap().into()) == expected, "{name}: from the file");
    let read = follower(&golden);
    assert!(tables_of(&read) == expected, "{name}: opened for reading");
    assert!(twindex_durable::check(&golden, |_| {}).unwrap().damage.is_empty(), "{name}");
    let (_folder, copy) = folder();
    fs::write(&copy, &bytes).unwrap();
    for durability in ALL {
        let store = open(&copy, durability);
        assert!(tables_of(&store) == expected, "{name}: {durability}");
        store.close().unwrap();
    }
}

#[test]
fn version_1_is_read() {
    let expected = packed().unwrap();
    assert_reads("version-1-dump.twx", &expected);
    log(&expected).unwrap();
    assert_reads("version-1-log.twx", &expected);
}

#[test]
fn what_this_release_writes_is_read() {
    let (folder, _) = folder();
    let target = std::env::var("TWINDEX_GOLDEN").map_or_else(|_| folder.path().to_owned(), PathBuf::from);
    let store = packed().unwrap();
    let mut bytes = Vec::new();
    store.dump(&mut bytes).unwrap();
    fs::write(target.join("version-1-dump.twx"), bytes).unwrap();
    let path = target.join("version-1-log.twx");
    store.save_as(&path).unwrap();
    let logged = open(&path, Durability::Always);
    log(&logged).unwrap();
    logged.close().unwrap();
    log(&store).unwrap();
    assert!(tables_of(&Store::open(&path).unwrap()) == tables_of(&store));
    let report = twindex_durable::check(&path, |_| {}).unwrap();
    assert!(report.operations > 40 && report.dump_pairs == 1107, "{report:?}");
}
