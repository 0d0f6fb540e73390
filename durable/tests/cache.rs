//! A cache in a file.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use tempfile::tempdir;
use twindex_durable::twindex::{Cache, CacheOptions, Error, Index, Result};
use twindex_durable::{Store, check, load, read_cache, read_file, recover, replace_file, save, save_cache};

fn pages(count: u32) -> Cache {
    let store = Store::new();
    let cache = store.in_memory().cache("pages", CacheOptions::bytes(4 << 20)).unwrap();
    for number in 0..count {
        cache.upsert(format!("page/{number}"), number.to_string()).unwrap();
    }
    cache
}

fn load_cache(path: &Path) -> Result<Cache> {
    let saved = read_cache(path)?;
    let options = saved.options();
    saved.load(Store::new().in_memory(), "pages", options, SystemTime::now())
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn it_starts_warm() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    let cache = pages(20_000);
    cache.upsert_for("brief", "gone soon", Duration::from_millis(1)).unwrap();
    cache.upsert_for("hour", "stays", Duration::from_hours(1)).unwrap();
    save_cache(&cache, &path).unwrap();
    sleep(Duration::from_millis(5));
    let loaded = load_cache(&path).unwrap();
    assert_eq!(loaded.len(), 20_001);
    assert!((0..20_000).all(|n| loaded.select(format!("page/{n}")).unwrap() == n.to_string().as_bytes()));
    let left = loaded.ttl("hour").unwrap().unwrap();
    assert!(left < Duration::from_hours(1) && left > Duration::from_mins(50), "{left:?}");
    assert_eq!(loaded.ttl("brief"), None);
    let report = check(&path, |_| {}).unwrap();
    assert_eq!((report.version, report.damage.len(), report.torn), (2, 0, None));
    assert!(report.dump_pairs >= 20_001 && report.records > 3 && report.log_bytes == 0);
    assert_eq!((report.bytes, report.dump_bytes), (fs::metadata(&path).unwrap().len(), report.bytes));
}

/// At any moment the file holds one of the saved caches, whole.
#[test]
fn a_file_is_replaced_in_one_step() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    save_cache(&pages(100), &path).unwrap();
    std::thread::scope(|scope| {
        let writers = [200, 300].map(|count| {
            let path = &path;
            scope.spawn(move || (0..10).for_each(|_| save_cache(&pages(count), path).unwrap()))
        });
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            assert!([100, 200, 300].contains(&load_cache(&path).unwrap().len()));
        }
    });
    assert_eq!(names(folder.path()), ["pages.twx"]);
    let missing = folder.path().join("none").join("pages.twx");
    for refused in [save_cache(&pages(1), &missing).unwrap_err(), load_cache(&missing).unwrap_err()] {
        let Error::Io(error) = refused else { panic!("{refused:?}") };
        assert!(error.kind() == ErrorKind::NotFound && error.to_string().contains("none"), "{error}");
    }
}

/// A program that started while another saved for the first time, or after one that was killed then, was told that its cache
/// was damaged.
#[test]
fn before_the_first_save_has_ended_there_is_none() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    std::thread::scope(|scope| {
        let saver = scope.spawn(|| save_cache(&pages(20_000), &path).unwrap());
        while !saver.is_finished() {
            match load_cache(&path) {
                Ok(loaded) => assert_eq!(loaded.len(), 20_000),
                Err(Error::Io(error)) => assert_eq!(error.kind(), ErrorKind::NotFound),
                Err(error) => panic!("{error}"),
            }
        }
    });
    fs::write(&path, "").unwrap();
    let Err(Error::Io(error)) = load_cache(&path) else { panic!("an empty file was loaded") };
    assert!(
        error.kind() == ErrorKind::NotFound && error.to_string().contains("pages.twx: it is empty"),
        "{error}"
    );
    save_cache(&pages(1), &path).unwrap();
    assert_eq!(load_cache(&path).unwrap().len(), 1);
}

/// It was replaced by an empty one.
#[test]
fn a_file_outlives_the_cache_that_was_saved() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    let store = Store::new();
    let cache = store.in_memory().cache("pages", CacheOptions::pairs(10)).unwrap();
    cache.upsert("a", "1").unwrap();
    save_cache(&cache, &path).unwrap();
    assert!(store.in_memory().drop_cache("pages"));
    let refused = save_cache(&cache, &path).unwrap_err();
    assert!(matches!(&refused, Error::TableDropped { table } if table == "pages"), "{refused:?}");
    assert_eq!(load_cache(&path).unwrap().len(), 1);
    assert_eq!(names(folder.path()), ["pages.twx"]);
}

#[test]
fn a_file_that_a_store_has_open_is_left_alone() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    let store = Store::open(&path).unwrap();
    let refused = save_cache(&pages(1), &path).unwrap_err();
    assert!(matches!(&refused, Error::Io(error) if error.kind() == ErrorKind::ResourceBusy), "{refused:?}");
    store.table("t", Index::Hash).unwrap().insert("a", "1").unwrap();
    store.close().unwrap();
    assert_eq!(Store::open(&path).unwrap().tables().unwrap().len(), 1);
}

#[test]
fn each_kind_of_file_is_named_to_the_reader_of_the_other() {
    let folder = tempdir().unwrap();
    let (cache, store) = (folder.path().join("cache.twx"), folder.path().join("store.twx"));
    save_cache(&pages(10), &cache).unwrap();
    save(Store::new().in_memory(), &store).unwrap();
    let refused = load(&cache).unwrap_err();
    assert!(
        matches!(refused, Error::Corrupt { offset: 8, what: "it holds a cache, not a store" }),
        "{refused:?}"
    );
    let refused = load_cache(&store).unwrap_err();
    assert!(
        matches!(refused, Error::Corrupt { offset: 8, what: "it holds a store, not a cache" }),
        "{refused:?}"
    );
    let before = fs::read(&cache).unwrap();
    let refused = Store::open(&cache).unwrap_err();
    assert!(refused.to_string().contains("it holds a cache, not a store"), "{refused}");
    let refused = recover(&cache, folder.path().join("new.twx"), |_| {}).unwrap_err();
    assert!(refused.to_string().contains("it holds a cache, not a store"), "{refused}");
    assert_eq!(fs::read(&cache).unwrap(), before);
}

#[test]
fn damage_is_found() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    save_cache(&pages(20), &path).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in (1..whole.len()).step_by(7) {
        fs::write(&path, &whole[..length]).unwrap();
        assert!(matches!(load_cache(&path), Err(Error::Corrupt { .. })), "{length} bytes");
    }
    // One file behind the other was read as the first.
    fs::write(&path, [&*whole, &whole].concat()).unwrap();
    let refused = load_cache(&path).unwrap_err();
    assert!(matches!(refused, Error::Corrupt { offset, .. } if offset == whole.len() as u64), "{refused:?}");
    assert_eq!(check(&path, |_| {}).unwrap().damage[0].offset, whole.len() as u64);
    for place in 12..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 4;
        fs::write(&path, &damaged).unwrap();
        assert!(matches!(load_cache(&path), Err(Error::Corrupt { .. })), "byte {place}");
        let report = check(&path, |_| {}).unwrap();
        assert!(report.version == 2 && report.damage.len() == 1, "byte {place}: {report:?}");
        assert!(report.damage[0].offset <= (place as u64).max(20), "byte {place}: {report:?}");
    }
}

#[test]
fn file_that_could_not_be_replaced_stays_as_it_was() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("pages.twx");
    let read = || {
        let mut content = Vec::new();
        read_file(&path).and_then(|mut file| Ok(file.read_to_end(&mut content)?)).map(|_| content)
    };
    assert!(matches!(read(), Err(Error::Io(error)) if error.kind() == ErrorKind::NotFound));
    replace_file(&path, |to| to.write_all(&vec![1; 300_000])).unwrap();
    let refused = replace_file(&path, |to| {
        to.write_all(&vec![2; 300_001])?;
        Err(ErrorKind::StorageFull.into())
    });
    assert!(matches!(refused, Err(Error::Io(error)) if error.kind() == ErrorKind::StorageFull));
    assert_eq!(read().unwrap(), vec![1; 300_000]);
    assert_eq!(names(folder.path()), ["pages.twx"]);
    fs::write(&path, "").unwrap();
    assert!(matches!(read(), Err(Error::Io(error)) if error.to_string().contains("it is empty")));
}
