//! A store in a file, as its users see it.

use std::cell::{Cell, RefCell};
use std::fs;
use std::thread;

use tempfile::tempdir;
use twindex_durable::format::Header;
use twindex_durable::twindex::{self, IndexKind, MAX_KEY_BYTES, TableOptions};
use twindex_durable::{Dump, Durability, Error, Options, Result, Store, Table, Torn};

use crate::common::{ALL, LOGGED, file, folder, follower, names, open, open_by_hand, tables_of};

#[test]
fn the_last_handle_closes_a_file_with_a_log() {
    for durability in LOGGED {
        let (folder, path, store, users) = file("users", durability);
        drop(store);
        users.insert("ada", "1815").unwrap();
        drop(users);
        assert_eq!(names(&folder), ["app.twx"]);
        assert!(open(&path, durability).find_table("users").unwrap().unwrap().contains("ada").unwrap());
    }
}

#[test]
fn without_a_log_the_file_is_written_by_save_and_close_alone() {
    let (_folder, path, store, users) = file("users", Durability::None);
    users.insert("ada", "1815").unwrap();
    assert_eq!(fs::metadata(&path).unwrap().len(), 0, "an empty file keeps its place");
    store.flush().unwrap();
    store.save().unwrap();
    users.insert("bob", "1900").unwrap();
    drop((store, users));
    let store = open(&path, Durability::None);
    let users = store.table("users", IndexKind::Hash).unwrap();
    assert!(users.contains("ada").unwrap() && !users.contains("bob").unwrap());
}

#[test]
fn a_closed_store_is_neither_read_nor_written() {
    let (_folder, _, store, users) = file("users", Durability::EverySec);
    let log = store.table("log", IndexKind::Sorted).unwrap();
    users.insert("ada", "1815").unwrap();
    store.close().unwrap();
    let closed = |result: Result<bool>| {
        let error = result.unwrap_err();
        assert!(matches!(error, Error::Closed { .. }), "{error}");
        assert_eq!(error.code(), "TWINDEX_CLOSED");
    };
    closed(users.select("ada").map(|value| value.is_some()));
    closed(users.select_with("ada", |_| ()).map(|value| value.is_some()));
    closed(users.select_many(&["ada"], |_, _| panic!("nothing is shown")).map(|()| true));
    closed(users.contains("ada"));
    closed(users.contains_many(&["ada"]).map(|found| found[0]));
    closed(users.iter().map(|_| true));
    closed(log.cursor(..).map(|_| true));
    closed(log.scan(..).map(|_| true));
    closed(log.prefix("a").map(|_| true));
    closed(store.tables().map(|_| true));
    closed(store.find_table("users").map(|_| true));
    closed(users.insert("bob", "1900"));
    closed(users.insert_many(&[("bob", "1900")]).map(|_| true));
    closed(users.clear().map(|()| true));
    closed(store.table("new", IndexKind::Hash).map(|_| true));
    closed(store.drop_table("users"));
    closed(store.compact().map(|()| true));
    closed({
        let mut batch = store.batch();
        batch.delete(&users, "ada").unwrap();
        batch.commit().map(|_| true)
    });
    assert_eq!(users.len(), 1);
}

#[test]
fn an_end_that_is_not_whole_is_torn_once_nobody_writes_to_it() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    store.close().unwrap();
    let whole = fs::read(&path).unwrap();
    fs::write(&path, [&whole, b"the first half of a record".as_slice()].concat()).unwrap();
    let read = || follower(&path);
    let torn = Some(Torn { offset: whole.len() as u64, bytes: 26 });
    let lock = fs::File::open(&path).unwrap();
    lock.lock().unwrap();
    assert_eq!(read().torn(), None);
    assert_eq!(read().table("t", IndexKind::Hash).unwrap().len(), 1);
    assert_eq!(twindex_durable::load(&path).unwrap().tables().len(), 1);
    assert_eq!(twindex_durable::check(&path, |_| {}).unwrap().torn, None);
    // What a process leaves that was killed.
    lock.unlock().unwrap();
    assert_eq!(read().torn(), torn);
    assert!(twindex_durable::load(&path).is_err());
    assert_eq!(twindex_durable::check(&path, |_| {}).unwrap().torn, torn);
    // Others who look whether it is locked are not in the way.
    lock.lock_shared().unwrap();
    std::thread::scope(|scope| {
        let opening = scope.spawn(|| open(&path, Durability::EverySec));
        lock.unlock().unwrap();
        assert_eq!(opening.join().unwrap().torn(), torn);
    });
    assert_eq!(read().torn(), None, "it was cut");
}

#[test]
fn a_file_that_is_not_there_is_made_only_where_that_is_asked_for() {
    let (folder, path) = folder();
    for options in [Options::new().existing(true), Options::new().read_only(true)] {
        let error = options.open(&path).unwrap_err();
        assert!(matches!(&error, Error::Io { path: named, .. } if *named == path), "{error:?}");
        assert!(error.to_string().contains("app.twx"));
    }
    assert!(names(&folder).is_empty());
    let nowhere = folder.path().join("none").join("app.twx");
    assert!(matches!(Store::open(nowhere), Err(Error::Io { .. })));
}

#[test]
fn what_is_no_store_is_refused_and_left_alone() {
    let (folder, path) = folder();
    fs::write(&path, "some notes, which are longer than a header").unwrap();
    for durability in ALL {
        let error = Options::new().durability(durability).open(&path).unwrap_err();
        assert!(matches!(error, Error::Damaged { offset: 0, .. }), "{error:?}");
        assert_eq!(error.code(), "TWINDEX_CORRUPT");
    }
    assert!(matches!(twindex_durable::load(&path), Err(twindex::Error::Corrupt { offset: 0, .. })));
    assert!(matches!(twindex_durable::check(&path, |_| {}), Err(Error::Damaged { offset: 0, .. })));
    assert_eq!(fs::read_to_string(&path).unwrap(), "some notes, which are longer than a header");
    assert_eq!(names(&folder), ["app.twx"]);
}

#[test]
fn a_dump_without_a_log_is_opened_with_one() {
    let (_folder, path) = folder();
    let store = twindex::Store::new();
    store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    let mut bytes = Vec::new();
    store.dump(&mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    let store = open(&path, Durability::Always);
    let table = store.table("t", IndexKind::Hash).unwrap();
    assert_eq!(table.select("a").unwrap().as_deref(), Some(b"1".as_slice()));
    table.insert("b", "2").unwrap();
    store.close().unwrap();
    assert_eq!(open(&path, Durability::None).table("t", IndexKind::Hash).unwrap().len(), 2);
}

#[test]
fn a_table_keeps_its_codecs_in_the_file() {
    let (_folder, path) = folder();
    let ints = || TableOptions::new(IndexKind::Sorted).keys("int").values("a codec of one's own");
    let store = open(&path, Durability::Always);
    store.table_with("t", ints()).unwrap().insert([0; 8], "1").unwrap();
    drop(store);
    for compacted in [false, true] {
        let store = open(&path, Durability::Always);
        let table = store.find_table("t").unwrap().unwrap();
        assert_eq!(table.codecs(), ("int", "a codec of one's own"), "compacted: {compacted}");
        store.table_with("t", ints().create(false)).unwrap();
        let refused = store.table_with("t", ints().keys("str")).unwrap_err();
        assert_eq!(refused.code(), "TWINDEX_WRONG_CODEC");
        let said = refused.to_string();
        assert!(said.contains("\"int\"") && said.contains("\"str\""), "{said}");
        store.compact().unwrap();
    }
}

#[test]
fn a_table_that_is_not_to_be_created_is_not() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::Always);
    let only = TableOptions::new(IndexKind::Hash).create(false);
    let refused = store.table_with("users", only).unwrap_err();
    assert_eq!(
        (refused.code(), refused.to_string().as_str()),
        ("TWINDEX_NO_TABLE", "there is no table \"users\"")
    );
    assert_eq!(store.table_with("u", only.create(true).keys("")).unwrap_err().code(), "TWINDEX_CODEC_NAME");
    store.close().unwrap();
    let read = follower(&path);
    assert!(read.tables().unwrap().is_empty());
    assert_eq!(read.table_with("users", only).unwrap_err().code(), "TWINDEX_NO_TABLE");
}

#[test]
fn a_file_is_smaller_once_it_is_compacted() {
    for durability in LOGGED {
        let (folder, path) = folder();
        let store = open_by_hand(&path, durability);
        let table = store.table("t", IndexKind::Sorted).unwrap();
        // The file keeps a mebibyte of changes.
        for round in 0..50 {
            let pairs: Vec<_> = (0..100).map(|key| (format!("{key:04}"), vec![round; 1000])).collect();
            table.upsert_many(&pairs).unwrap();
        }
        let before = store.stats();
        let mut told = 0;
        store.compact_with(|progress| told = progress.pairs).unwrap();
        assert_eq!(told, 100);
        let after = store.stats();
        assert!(after.dump_bytes + after.log_bytes < before.log_bytes / 4, "{before:?} {after:?}");
        // A head, and the position that the log goes on from.
        assert_eq!((after.compactions, after.log_bytes), (1, 12 + 17));
        table.insert("new", "1").unwrap();
        let expected = tables_of(&store);
        store.close().unwrap();
        assert!(tables_of(&open(&path, durability)) == expected);
        assert_eq!(names(&folder), ["app.twx"]);
    }
}

#[test]
fn every_way_to_read_a_file_finds_what_was_written() {
    for (index, limit) in [(IndexKind::Hash, None), (IndexKind::Sorted, Some(1 << 30))] {
        let (folder, path) = folder();
        let options = || limit.into_iter().fold(Options::new().compact_by_hand(true), Options::memory_limit);
        let store = options().open(&path).unwrap();
        let key = |number: u32| number.wrapping_mul(0x9e37_79b9).to_be_bytes();
        let write = |round: u8| {
            let table = store.table("t", index).unwrap();
            // More than a group of the log that is replayed at once, keys of every length, and a value that is longer.
            for numbers in (0..12_000).collect::<Vec<u32>>().chunks(1000) {
                let pairs: Vec<_> =
                    numbers.iter().map(|&n| (key(n), vec![round; n as usize % 120])).collect();
                table.upsert_many(&pairs).unwrap();
            }
            table.delete_many(&(0..6_000).map(|number| key(number * 2)).collect::<Vec<_>>()).unwrap();
            for length in [0, 1, 7, 9, 300, 5_000, MAX_KEY_BYTES - 1, MAX_KEY_BYTES] {
                table.upsert(vec![b'k'; length], vec![round; 9 << 20 >> (length % 8)]).unwrap();
            }
            for number in 0..200 {
                let table = store.table(&format!("table {number}"), index).unwrap();
                table.upsert([round], "v").unwrap();
                if number % 7 == 0 {
                    table.clear().unwrap();
                }
            }
        };
        let reads = |path: &std::path::Path, what: &str| {
            let expected = tables_of(&store);
            assert!(tables_of(&twindex_durable::load(path).unwrap().into()) == expected, "{what}: loaded");
            assert!(tables_of(&options().read_only(true).open(path).unwrap()) == expected, "{what}: read");
            assert_eq!(twindex_durable::check(path, |_| {}).unwrap().damage, [], "{what}");
            let saved = path.with_extension("saved");
            twindex_durable::recover(path, &saved, |_| {}).unwrap();
            assert!(
                tables_of(&twindex_durable::load(&saved).unwrap().into()) == expected,
                "{what}: recovered"
            );
            fs::remove_file(saved).unwrap();
        };
        let killed = folder.path().join("killed.twx");
        write(1);
        // Larger files are loaded by several threads.
        fs::copy(&path, &killed).unwrap();
        assert!(fs::metadata(&killed).unwrap().len() > 4 << 20);
        reads(&killed, "killed");
        store.compact().unwrap();
        write(2);
        reads(&path, "compacted");
    }
}

#[test]
fn every_file_has_a_salt_of_its_own() {
    let (_folder, path) = folder();
    let salt = || Header::decode(&fs::read(&path).unwrap()).unwrap().salt;
    let store = Options::new().compact_by_hand(true).open(&path).unwrap();
    let first = salt();
    store.compact().unwrap();
    assert_ne!(salt(), first);
}

#[test]
fn pairs_that_fit_before_one_that_does_not_are_kept() {
    let (_folder, path, store, table) = file("t", Durability::EverySec);
    store.set_memory_limit(Some(store.memory() + (1 << 20)));
    let pairs: Vec<_> =
        (0..40_u8).map(|key| ([key], vec![key; if key == 20 { 4 << 20 } else { 10 }])).collect();
    let error = table.insert_many(&pairs).unwrap_err();
    assert_eq!(error.code(), "TWINDEX_MEMORY_LIMIT");
    assert_eq!(table.len(), 20);
    let expected = tables_of(&store);
    store.close().unwrap();
    assert!(tables_of(&open(&path, Durability::None)) == expected);
}

#[test]
fn wrong_arguments_change_nothing() {
    let (_folder, path, store, table) = file("t", Durability::Always);
    let long = vec![b'k'; 65_536];
    let error = table.insert(&long, "").unwrap_err();
    assert!(error.to_string().contains("65536"), "{error}");
    let other = Store::new().table("other", IndexKind::Hash).unwrap();
    let refused = [store.batch().insert(&other, "a", ""), store.batch().expect(&other, "a", None)];
    for error in refused.map(Result::unwrap_err) {
        assert!(matches!(&error, Error::ForeignTable { table } if table == "other"), "{error}");
    }
    assert_eq!(store.batch().expect(&table, &long, None).unwrap_err().code(), "TWINDEX_KEY_TOO_LONG");
    assert!(matches!(Store::new().save(), Err(Error::NoFile)));
    let error = "sometimes".parse::<Durability>().unwrap_err();
    assert!(error.to_string().contains("sometimes") && error.to_string().contains("everysec"), "{error}");
    store.close().unwrap();
    assert!(open(&path, Durability::None).table("t", IndexKind::Hash).unwrap().is_empty());
}

/// Bytes that are others once they were asked for so many times.
struct Fickle<'a> {
    honest: &'a Cell<usize>,
    own: [u8; 2],
    other: &'a [u8],
}

impl AsRef<[u8]> for Fickle<'_> {
    fn as_ref(&self) -> &[u8] {
        let left = self.honest.replace(self.honest.get().saturating_sub(1));
        if left > 0 { &self.own } else { self.other }
    }
}

#[test]
fn the_log_has_what_memory_has_even_of_keys_that_change() {
    let long = vec![b'k'; MAX_KEY_BYTES + 1];
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = store.table(index.name(), index).unwrap();
        for (honest, other) in (0..120).flat_map(|turns| [(turns, &long[..]), (turns, b"other")]) {
            let honest = Cell::new(honest);
            let fickle = |number: u8| Fickle { honest: &honest, own: [number, 0], other };
            let pairs = || (0..10).map(|number| (fickle(number), fickle(number + 1))).collect::<Vec<_>>();
            // Whether they fail does not matter here.
            let _ = table.insert_many(&pairs());
            let _ = table.replace_many(&pairs());
            let _ = table.upsert_many(&pairs());
            let _ = table.delete_many(&(2..8).map(fickle).collect::<Vec<_>>());
        }
    }
    let expected = tables_of(&store);
    store.close().unwrap();
    assert!(tables_of(&open(&path, Durability::None)) == expected);
}

thread_local! {
    static LAST: RefCell<Option<Last>> = const { RefCell::new(None) };
}

/// What a thread writes as it ends.
struct Last(Table);

impl Drop for Last {
    fn drop(&mut self) {
        self.0.insert("last", "2").unwrap();
        self.0.insert_many(&[("very", "3"), ("last of all", "4")]).unwrap();
    }
}

#[test]
fn a_thread_may_write_as_it_ends() {
    for durability in LOGGED {
        let (_folder, path, store, table) = file("t", durability);
        let of_thread = table.clone();
        let ending = thread::spawn(move || {
            LAST.set(Some(Last(of_thread.clone())));
            of_thread.insert("first", "1").unwrap()
        });
        assert!(ending.join().unwrap());
        assert_eq!(table.len(), 4);
        let expected = tables_of(&store);
        store.close().unwrap();
        assert!(tables_of(&open(&path, Durability::None)) == expected);
    }
}

#[test]
fn a_file_that_does_not_fit_the_memory_limit_is_refused() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    store.table("t", IndexKind::Hash).unwrap().insert("a", vec![1; 4 << 20]).unwrap();
    for _ in 0..2 {
        let error = Options::new().read_only(true).memory_limit(1 << 20).open(&path).unwrap_err();
        let Error::Engine(twindex::Error::MemoryLimit { limit, .. }) = error else { panic!("{error}") };
        assert_eq!(limit, Some(1 << 20));
        store.compact().unwrap();
    }
    let loaded = Options::new().read_only(true).memory_limit(64 << 20).open(&path).unwrap();
    assert_eq!(loaded.memory_limit(), Some(64 << 20));
}

#[test]
fn a_file_in_use_is_not_replaced_under_its_store() {
    let (_folder, path, store, table) = file("t", Durability::EverySec);
    table.insert("a", "1").unwrap();
    store.save_as(&path).unwrap();
    assert_eq!(store.stats().compactions, 1);
    table.insert("b", "2").unwrap();
    let error = Store::new().save_as(&path).unwrap_err();
    assert!(matches!(error, Error::InUse { pid: Some(_), .. }), "{error:?}");
    let error = twindex_durable::save(&twindex::Store::new(), &path).unwrap_err();
    assert!(error.to_string().contains("in use by"), "{error}");
    store.close().unwrap();
    assert_eq!(open(&path, Durability::None).table("t", IndexKind::Hash).unwrap().len(), 2);
}

#[test]
fn stats_tell_of_the_file() {
    let (_folder, path, store, table) = file("t", Durability::Always);
    let before = store.stats();
    table.insert("ada", "1815").unwrap();
    let after = store.stats();
    assert_eq!(after.path.as_deref(), Some(path.as_path()));
    assert_eq!((after.tables, after.pairs, after.unsynced_bytes), (1, 1, 0));
    assert!(after.log_bytes > before.log_bytes && after.syncs > before.syncs && after.last_sync.is_some());
    assert_eq!(after.log_error, None);
    assert!(Store::new().stats().path.is_none());
}

#[test]
fn a_file_opens_under_the_limit_of_its_writer() {
    const LIMIT: usize = 1 << 20;
    let folder = tempdir().unwrap();
    let mut rng = fastrand::Rng::with_seed(11);
    for (round, longest) in [0, 1, 40, 500, 500, 500].into_iter().enumerate() {
        let path = folder.path().join(format!("{round}.twx"));
        let open = || Options::new().memory_limit(LIMIT).open(&path);
        let store = open().unwrap();
        let table = store.table("t", if round == 3 { IndexKind::Sorted } else { IndexKind::Hash }).unwrap();
        let mut fill = |table: &twindex_durable::Table| {
            let refused = loop {
                if let Err(error) = table.upsert(rng.u64(..).to_be_bytes(), vec![7; rng.usize(..=longest)]) {
                    break error;
                }
            };
            assert_eq!(refused.code(), "TWINDEX_MEMORY_LIMIT");
        };
        let copy = Options::new().read_only(true).memory_limit(LIMIT).open(&path).unwrap();
        let follows = |len: usize, when: &str| {
            copy.refresh().unwrap_or_else(|error| panic!("round {round}, {when}: {error}"));
            assert_eq!(copy.find_table("t").unwrap().unwrap().len(), len);
            assert_eq!(copy.memory_limit(), Some(LIMIT));
        };
        fill(&table);
        follows(table.len(), "filled");
        // The file keeps no position from before, so all of it is read, and here no pair is as before.
        for _ in 0..4 {
            table.clear().unwrap();
            fill(&table);
        }
        store.compact().unwrap();
        store.compact().unwrap();
        assert_eq!(store.changes(copy.position().unwrap()).unwrap_err().code(), "TWINDEX_POSITION_GONE");
        follows(table.len(), "compacted");
        let pairs = table.len();
        for compacts in [false, true] {
            if compacts {
                let store = open().unwrap();
                store.compact().unwrap();
                store.close().unwrap();
            } else {
                store.close().unwrap();
            }
            follows(pairs, "closed");
            let to = path.with_extension("recovered");
            twindex_durable::check_within(&path, LIMIT, |_| {}).unwrap();
            let recovered = twindex_durable::recover_within(&path, &to, LIMIT, |_| {}).unwrap();
            assert_eq!(recovered.tables[0].2, pairs);
            fs::remove_file(&to).unwrap();
            let loaded = twindex_durable::load_within(&path, Some(LIMIT), |_| {}).unwrap();
            let mut dump = Vec::new();
            loaded.dump(&mut dump).unwrap();
            for loaded in [loaded, twindex::Store::load_within(&mut dump.as_slice(), LIMIT).unwrap()] {
                assert_eq!((loaded.memory_limit(), loaded.tables()[0].len()), (Some(LIMIT), pairs));
            }
            let store = open().unwrap_or_else(|error| panic!("{longest}, compacted: {compacts}: {error}"));
            assert_eq!(store.memory_limit(), Some(LIMIT));
            let table = store.table("t", table.index()).unwrap();
            assert_eq!(table.len(), pairs);
            let large = table.upsert("large", vec![7; LIMIT]).unwrap_err();
            assert_eq!(large.code(), "TWINDEX_MEMORY_LIMIT");
            store.close().unwrap();
        }
    }
}

#[test]
fn cleared_and_dropped_tables_give_their_memory_back_at_once() {
    let (_folder, path) = folder();
    for store in [Store::new(), Store::open(&path).unwrap()] {
        let (one, other) = (store.table("one", IndexKind::Hash), store.table("other", IndexKind::Sorted));
        let (one, other) = (one.unwrap(), other.unwrap());
        for table in [&one, &other] {
            table.upsert("k", vec![7; 1 << 20]).unwrap();
        }
        one.clear().unwrap();
        assert!(store.drop_table("other").unwrap());
        assert!(store.memory() < 1 << 20, "{}", store.memory());
        assert!(one.is_empty() && other.is_empty());
    }
}
