//! Followers and feeds of a file that another store writes.

use std::fs;
use std::time::Duration;

use twindex_durable::twindex::IndexKind;
use twindex_durable::{Changes, Dump, Durability, Effect, Error, Options, Position, Store};

use crate::common::{LOGGED, file, folder, follower, until};

#[test]
fn handles_of_a_follower_show_what_was_written_since() {
    let (_folder, path) = folder();
    for durability in LOGGED {
        let _ = fs::remove_file(&path);
        let store = Options::new().durability(durability).open(&path).unwrap();
        let users = store.table("users", IndexKind::Hash).unwrap();
        users.insert("ada", "1815").unwrap();
        let copy = follower(&path);
        let seen = copy.find_table("users").unwrap().unwrap();
        assert_eq!(copy.refresh().unwrap(), 0);
        users.upsert("ada", "1852").unwrap();
        let log = store.table("log", IndexKind::Sorted).unwrap();
        log.upsert_many(&(0..1000_u32).map(|key| (key.to_be_bytes(), [1; 200])).collect::<Vec<_>>()).unwrap();
        assert!(copy.stats().behind_bytes > 200_000);
        assert!(copy.refresh().unwrap() > 2);
        assert_eq!((copy.stats().behind_bytes, copy.stats().position), (0, store.stats().position));
        assert_eq!(seen.select("ada").unwrap().as_deref(), Some(b"1852".as_slice()));
        assert_eq!(copy.find_table("log").unwrap().unwrap().len(), 1000);
        assert!(matches!(seen.insert("bob", "1"), Err(Error::ReadOnly { .. })));
        assert!(matches!(copy.save(), Err(Error::ReadOnly { .. })));
        assert!(matches!(copy.table("new", IndexKind::Hash), Err(Error::ReadOnly { .. })));
        store.drop_table("log").unwrap();
        assert_eq!(copy.refresh().unwrap(), 1);
        assert!(copy.find_table("log").unwrap().is_none());
        store.close().unwrap();
        assert_eq!(copy.refresh().unwrap(), 0);
        copy.close().unwrap();
        assert!(matches!(copy.refresh(), Err(Error::Closed { .. })));
    }
}

#[test]
fn a_follower_goes_over_to_a_file_that_took_the_place_of_its_own() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let (users, gone) =
        (store.table("users", IndexKind::Hash).unwrap(), store.table("gone", IndexKind::Hash).unwrap());
    for key in 0..3000_u32 {
        users.insert(key.to_be_bytes(), "1").unwrap();
    }
    gone.insert("a", "1").unwrap();
    store.close().unwrap();
    let copy = follower(&path);
    copy.follow().unwrap();
    let seen = copy.find_table("users").unwrap().unwrap();
    // Another store altogether.
    let other = Store::new();
    let table = other.table("users", IndexKind::Hash).unwrap();
    table.insert(7_u32.to_be_bytes(), "7").unwrap();
    table.insert("new", "7").unwrap();
    other.table("other", IndexKind::Sorted).unwrap();
    other.save_as(&path).unwrap();
    until("the file was replaced", || seen.len() == 2 && copy.find_table("other").unwrap().is_some());
    assert_eq!(seen.select("new").unwrap().as_deref(), Some(b"7".as_slice()));
    assert!(copy.find_table("gone").unwrap().is_none());
    // While there is no file, all stays as it was, and somebody can see why.
    fs::remove_file(&path).unwrap();
    until("there is none", || copy.stats().follow_error.is_some());
    assert_eq!(seen.len(), 2);
    other.save_as(&path).unwrap();
    until("there is one again", || copy.stats().follow_error.is_none());
    assert_eq!(seen.len(), 2);
}

#[test]
fn a_store_that_is_only_saved_is_followed_from_save_to_save() {
    let (_folder, path, store, users) = file("users", Durability::None);
    assert!(matches!(store.position(), Err(Error::NoLog { .. })));
    users.insert("ada", "1815").unwrap();
    store.save().unwrap();
    let copy = follower(&path);
    let seen = copy.find_table("users").unwrap().unwrap();
    users.insert("bob", "1").unwrap();
    assert_eq!(copy.refresh().unwrap(), 0);
    store.save().unwrap();
    assert_eq!((copy.refresh().unwrap(), seen.len()), (1, 2));
}

#[test]
fn a_record_that_is_half_there_is_not_yet_there() {
    let (_folder, path, store, users) = file("users", Durability::EverySec);
    users.insert("a", "1").unwrap();
    store.close().unwrap();
    let before = fs::read(&path).unwrap();
    let store = Store::open(&path).unwrap();
    let users = store.table("users", IndexKind::Hash).unwrap();
    users.insert("b", "2").unwrap();
    store.close().unwrap();
    let after = fs::read(&path).unwrap();
    fs::write(&path, &before).unwrap();
    let copy = follower(&path);
    let seen = copy.find_table("users").unwrap().unwrap();
    let record = before.len()..before.len() + 12 + 17 + 5;
    for length in record {
        fs::write(&path, &after[..length]).unwrap();
        assert_eq!((copy.refresh().unwrap(), seen.len()), (0, 1), "{length}");
    }
    fs::write(&path, &after).unwrap();
    assert_eq!((copy.refresh().unwrap(), seen.len()), (1, 2));
}

#[test]
fn a_follower_and_a_feed_go_over_to_the_file_that_was_recovered() {
    let (folder, path) = folder();
    let recovered = folder.path().join("recovered.twx");
    let store = Store::open(&path).unwrap();
    let users = store.table("users", IndexKind::Hash).unwrap();
    let position = store.position().unwrap();
    let (copy, mut feed) = (follower(&path), Changes::open(&path, position).unwrap());
    users.insert("a", "1").unwrap();
    users.insert("b", "2").unwrap();
    store.flush().unwrap();
    drop((users, store));
    let mut bytes = fs::read(&path).unwrap();
    let first = bytes.windows(2).rposition(|pair| pair == b"a1").unwrap();
    bytes[first] ^= 1;
    fs::write(&path, &bytes).unwrap();
    until("it is damaged", || copy.refresh().is_err() && feed.poll().is_err());
    twindex_durable::recover(&path, &recovered, |_| {}).unwrap();
    fs::rename(&recovered, &path).unwrap();
    copy.refresh().unwrap();
    assert!(copy.find_table("users").unwrap().unwrap().contains("b").unwrap());
    assert!(matches!(feed.poll(), Err(Error::PositionGone { .. } | Error::NoLog { .. })));
}

#[test]
fn the_feed_gives_batches_in_order_and_goes_on_after_restarts() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    let start = store.position().unwrap();
    let users = store.table("users", IndexKind::Hash).unwrap();
    let mut batch = store.batch();
    batch.upsert(&users, "ada", "1").unwrap();
    batch.delete(&users, "ada").unwrap();
    batch.commit().unwrap();
    let mut feed = store.changes(start).unwrap();
    assert_eq!(feed.position(), start);
    let created = feed.next().unwrap().unwrap();
    assert!(matches!(&created.changes[..], [change]
        if (&*change.table.name, change.table.index) == ("users", IndexKind::Hash) && change.effect == Effect::Create));
    let both = feed.next().unwrap().unwrap();
    assert!(matches!(&both.changes[..], [put, delete]
        if matches!(put.effect, Effect::Put { .. }) && matches!(delete.effect, Effect::Delete { .. })));
    assert!(feed.next().is_none());
    assert_eq!(feed.wait(Some(Duration::from_millis(5))).unwrap(), None);
    let writer = std::thread::spawn({
        let users = users.clone();
        move || users.clear().unwrap()
    });
    let cleared = feed.wait(None).unwrap().unwrap();
    writer.join().unwrap();
    assert!(matches!(cleared.changes[0].effect, Effect::Clear));
    assert_eq!(feed.position(), store.position().unwrap());
    store.close().unwrap();
    assert!(matches!(feed.poll(), Err(Error::Closed { .. })));
    // As text, over a restart and a compaction, without the store.
    let kept = cleared.position.to_string();
    let position: Position = kept.parse().unwrap();
    assert_eq!(position, cleared.position);
    let store = Store::open(&path).unwrap();
    store.compact().unwrap();
    store.find_table("users").unwrap().unwrap().insert("bob", "2").unwrap();
    let mut feed = Changes::open(&path, position).unwrap();
    assert_eq!(feed.next().unwrap().unwrap().changes.len(), 1);
    store.compact().unwrap();
    store.drop_table("users").unwrap();
    let dropped = feed.next().unwrap().unwrap();
    assert_eq!((&*dropped.changes[0].table.name, &dropped.changes[0].effect), ("users", &Effect::Drop));
    // From the oldest position on, which is that of the new file.
    let mut all = Changes::open(&path, None).unwrap();
    assert_eq!((all.position(), all.by_ref().count(), all.position()), (start, 5, dropped.position));
    for text in
        ["", "1-2", "0123456789abcdef", "0123456789abcdef-", "0123456789abcdef--1", "+123456789abcdef-1"]
    {
        assert!(matches!(text.parse::<Position>(), Err(Error::NotAPosition { .. })), "{text}");
    }
}

#[test]
fn feeds_kept_positions_and_followers_continue_over_any_number_of_compactions() {
    let (folder, path) = folder();
    let copied = folder.path().join("copied.twx");
    for (compactions, restarts) in [(1, false), (2, false), (3, true), (20, true)] {
        let _ = fs::remove_file(&path);
        let mut store = Store::open(&path).unwrap();
        store.table("gone", IndexKind::Sorted).unwrap().insert("a", "0").unwrap();
        let users = store.table("users", IndexKind::Hash).unwrap();
        users.insert("ada", "0").unwrap();
        let kept = store.position().unwrap().to_string();
        let (mut feed, copy) = (Changes::open(&path, store.position().unwrap()).unwrap(), follower(&path));
        // Tables come and go meanwhile, so that no dump has all of which the changes tell.
        let mut expected = Vec::new();
        for round in 0..compactions {
            let name = format!("table {round}");
            store.table(&name, IndexKind::Hash).unwrap().insert("key", round.to_string()).unwrap();
            store.drop_table(&name).unwrap();
            expected.extend([name.as_str(), &name, &name].map(str::to_owned));
            if round == 0 {
                store.table("gone", IndexKind::Sorted).unwrap().insert("b", "1").unwrap();
                store.drop_table("gone").unwrap();
                expected.extend(["gone", "gone"].map(str::to_owned));
            }
            store.compact().unwrap();
            store.table("users", IndexKind::Hash).unwrap().upsert("ada", round.to_string()).unwrap();
            expected.push("users".into());
            if restarts {
                store.close().unwrap();
                store = Store::open(&path).unwrap();
            }
        }
        let end = store.position().unwrap();
        let tables_in = |feed: &mut Changes| {
            let sets = feed.by_ref().map(Result::unwrap);
            sets.map(|set| set.changes[0].table.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(tables_in(&mut feed), expected, "{compactions}");
        assert_eq!(feed.position(), end);
        // A copy of the file has all that the file has.
        fs::copy(&path, &copied).unwrap();
        for path in [&path, &copied] {
            let mut later = Changes::open(path, kept.parse::<Position>().unwrap()).unwrap();
            assert_eq!((tables_in(&mut later), later.position()), (expected.clone(), end), "{compactions}");
        }
        // A follower does the changes, and does not read the dump.
        assert_eq!(copy.refresh().unwrap(), expected.len() as u64, "{compactions}");
        assert_eq!(copy.tables().unwrap().len(), 1);
        assert_eq!(twindex_durable::check(&path, |_| {}).unwrap().damage, []);
        // A copy in another file has a history of its own.
        store.save_as(&copied).unwrap();
        assert!(matches!(Changes::open(&copied, end), Err(Error::PositionGone { .. })));
    }
}

/// As many bytes of log as the dump has, and a mebibyte at least.
#[test]
fn a_compaction_keeps_the_last_changes_up_to_the_bound() {
    const MIB: usize = 1 << 20;
    let (_folder, path) = folder();
    for dump in [0, 3 * MIB] {
        let _ = fs::remove_file(&path);
        let store = Store::open(&path).unwrap();
        let table = store.table("t", IndexKind::Hash).unwrap();
        (dump > 0).then(|| table.insert("large", vec![1; dump]).unwrap());
        store.compact().unwrap();
        let bound = dump.max(MIB);
        let position = store.position().unwrap();
        let write = |bytes: usize| {
            for _ in 0..bytes / 4096 {
                table.upsert("key", vec![2; 4096 - 64]).unwrap();
            }
            store.compact().unwrap();
        };
        write(bound / 2);
        write(bound / 2 - 100 * 1024);
        let changes = Changes::open(&path, position).unwrap();
        assert_eq!(changes.map(Result::unwrap).last().unwrap().position, store.position().unwrap());
        let len = fs::metadata(&path).unwrap().len() as usize;
        assert!((dump + bound - 300 * 1024..dump + bound + 3 * MIB / 2).contains(&len), "{len} of {dump}");
        write(200 * 1024);
        let error = Changes::open(&path, position).unwrap_err();
        let Error::PositionGone { oldest, .. } = &error else { panic!("{error}") };
        let text = error.to_string();
        assert!(text.contains(&position.to_string()) && text.contains(&oldest.to_string()), "{text}");
        let changes = Changes::open(&path, *oldest).unwrap();
        assert_eq!(changes.map(Result::unwrap).last().unwrap().position, store.position().unwrap());
        // The log is longer than that, and tables come and go in what is kept, before it, or nowhere.
        for tables_at in [None, Some(bound / 10), Some(bound * 2)] {
            let (before, behind) = (3 * bound - tables_at.unwrap_or_default(), tables_at.unwrap_or_default());
            for (bytes, name) in [(before, "other"), (behind, "")] {
                for _ in 0..bytes / 4096 {
                    table.upsert("key", vec![3; 4096 - 64]).unwrap();
                }
                if tables_at.is_some() && !name.is_empty() {
                    store.table(name, IndexKind::Hash).unwrap();
                    store.drop_table(name).unwrap();
                }
            }
            let end = store.position().unwrap();
            store.compact().unwrap();
            let changes: Vec<_> = Changes::open(&path, None).unwrap().map(Result::unwrap).collect();
            let has = |name| changes.iter().filter(|set| set.changes[0].table.name == name).count();
            assert_eq!(changes.last().unwrap().position, end);
            assert_eq!(has("other"), if tables_at == Some(bound / 10) { 2 } else { 0 });
            let record = 4096 - 64 + 12 + 7;
            assert!(has("t").abs_diff(bound / record) < 5, "{} of {}", has("t"), bound / record);
        }
    }
}

#[test]
fn a_follower_at_its_memory_limit_says_so_and_goes_on_once_there_is_less() {
    let (_folder, path, store, users) = file("users", Durability::EverySec);
    users.insert("ada", "1").unwrap();
    let copy = Options::new().read_only(true).memory_limit(4 << 20).open(&path).unwrap();
    let seen = copy.find_table("users").unwrap().unwrap();
    users.upsert_many(&(0..8000_u32).map(|key| (key.to_be_bytes(), [1; 1000])).collect::<Vec<_>>()).unwrap();
    let is_refused = |refreshed: twindex_durable::Result<u64>| matches!(refreshed, Err(error) if error.code() == "TWINDEX_MEMORY_LIMIT");
    assert!(is_refused(copy.refresh()));
    assert!(is_refused(copy.refresh()));
    assert!(is_refused(copy.follow().map(|()| 0)));
    assert_eq!(seen.select("ada").unwrap().as_deref(), Some(b"1".as_slice()));
    users.clear().unwrap();
    users.insert("bob", "2").unwrap();
    store.compact().unwrap();
    copy.follow().unwrap();
    assert_eq!((seen.len(), seen.select("bob").unwrap().as_deref()), (1, Some(b"2".as_slice())));
    // While it follows, too.
    users.upsert_many(&(0..8000_u32).map(|key| (key.to_be_bytes(), [1; 1000])).collect::<Vec<_>>()).unwrap();
    until("it is refused", || copy.stats().follow_error.is_some_and(|error| error.contains("limit")));
    users.clear().unwrap();
    store.compact().unwrap();
    until("it goes on", || copy.stats().follow_error.is_none() && seen.is_empty());
}

#[cfg(unix)]
#[test]
fn a_follower_and_a_feed_survive_anything_in_the_place_of_their_file() {
    let (_folder, path, store, users) = file("users", Durability::EverySec);
    for key in 0..1000_u32 {
        users.insert(key.to_be_bytes(), "1").unwrap();
    }
    store.close().unwrap();
    let good = fs::read(&path).unwrap();
    let copy = follower(&path);
    let mut feed = copy.changes(copy.position().unwrap()).unwrap();
    let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
    let mut dump = Vec::new();
    twindex_durable::twindex::Store::new().dump(&mut dump).unwrap();
    let mut flipped = good.clone();
    flipped[2000] ^= 1;
    let cases: [(&str, &str, &dyn Fn()); 11] = [
        ("a pipe", "TWINDEX_IO", &|| {
            let made = std::process::Command::new("mkfifo").arg(&path).status();
            assert!(made.unwrap().success());
        }),
        ("a folder", "TWINDEX_IO", &|| fs::create_dir(&path).unwrap()),
        ("a device", "TWINDEX_IO", &|| std::os::unix::fs::symlink("/dev/zero", &path).unwrap()),
        ("itself", "TWINDEX_IO", &|| std::os::unix::fs::symlink("app.twx", &path).unwrap()),
        ("zeros", "TWINDEX_CORRUPT", &|| write(&[0; 5000])),
        ("a text", "TWINDEX_CORRUPT", &|| write(b"hello")),
        ("a part of a header", "TWINDEX_CORRUPT", &|| write(&good[..10])),
        ("nothing in it", "", &|| write(b"")),
        ("half of it", "", &|| write(&good[..good.len() / 2])),
        ("a changed byte in what was read", "", &|| write(&flipped)),
        ("a dump", "", &|| write(&dump)),
    ];
    for (what, code, put) in cases {
        fs::remove_file(&path).unwrap();
        put();
        let refreshed = copy.refresh();
        assert_eq!(refreshed.as_ref().err().map_or("", Error::code), code, "{what}: {refreshed:?}");
        if !code.is_empty() {
            assert_eq!(feed.poll().unwrap_err().code(), code, "{what}");
            assert_eq!(copy.find_table("users").unwrap().unwrap().len(), 1000, "{what}");
        }
        let removed = if path.is_dir() { fs::remove_dir(&path) } else { fs::remove_file(&path) };
        removed.unwrap();
        write(&good);
        copy.refresh().unwrap();
        assert_eq!(copy.find_table("users").unwrap().unwrap().len(), 1000, "{what}");
        assert!(feed.poll().unwrap().is_none(), "{what}");
    }
}

#[test]
fn a_follower_notices_a_restored_backup() {
    let (folder, path) = folder();
    let backup = folder.path().join("backup");
    let pairs = |range: std::ops::Range<u32>| range.map(|key| (key.to_be_bytes(), "v")).collect::<Vec<_>>();
    for in_place in [true, false] {
        let store = Options::new().durability(Durability::Always).open(&path).unwrap();
        let table = store.table("t", IndexKind::Hash).unwrap();
        table.upsert_many(&pairs(0..100)).unwrap();
        fs::copy(&path, &backup).unwrap();
        table.upsert_many(&pairs(100..200)).unwrap();
        let (copy, read) = (follower(&path), follower(&path));
        assert_eq!(copy.find_table("t").unwrap().unwrap().len(), 200);
        table.upsert("read", "by one of them").unwrap();
        assert_eq!(read.refresh().unwrap(), 1);
        drop((store, table));
        if in_place {
            fs::copy(&backup, &path).unwrap();
        } else {
            fs::rename(&backup, &path).unwrap();
        }
        for copy in [&copy, &read] {
            copy.refresh().unwrap();
            assert_eq!(copy.find_table("t").unwrap().unwrap().len(), 100);
        }
        let store = Options::new().durability(Durability::Always).open(&path).unwrap();
        store.table("t", IndexKind::Hash).unwrap().upsert_many(&pairs(500..700)).unwrap();
        for copy in [&copy, &read] {
            copy.refresh().unwrap();
            assert_eq!(copy.find_table("t").unwrap().unwrap().len(), 300);
        }
        store.close().unwrap();
        fs::remove_file(&path).unwrap();
    }
}

#[test]
fn a_follower_reports_damage_as_an_open_does() {
    let (_folder, path, store, table) = file("t", Durability::Always);
    table.upsert("first", "value").unwrap();
    let (at_it, before) = (follower(&path), follower(&path));
    table.upsert("second", "value").unwrap();
    at_it.refresh().unwrap();
    (0..20_u32).for_each(|key| table.upsert(key.to_be_bytes(), "a value to find").unwrap());
    drop((store, table));
    let whole = fs::read(&path).unwrap();
    let at = whole.windows(15).position(|bytes| bytes == b"a value to find").unwrap();
    let length = 15 + 4 + 3 + 12; // up to the head of the record
    for flip in [at, at + 14, at + 15 - length] {
        let mut bytes = whole.clone();
        bytes[flip] ^= if bytes[flip] == 4 { 4 } else { 1 };
        fs::write(&path, &bytes).unwrap();
        let report = twindex_durable::check(&path, |_| {}).unwrap();
        assert!(!report.damage.is_empty(), "at {flip} of {at} {length} {report:?} {:?}", &whole[..400]);
        assert!(matches!(Store::open(&path), Err(Error::Damaged { .. })), "at {flip}");
        for copy in [&at_it, &before] {
            let told = copy.refresh();
            assert!(matches!(told, Err(Error::Damaged { .. })), "at {flip}: {told:?}");
            assert_eq!(copy.stats().follow_error, told.err().map(|error| error.to_string()), "at {flip}");
        }
    }
}
