//! A cache in a file. What the bytes say is tested beside the crate that writes them.

use std::fs;
use std::io::{ErrorKind, Read as _};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use twindex_cache::{Cache, CacheOptions, Error, Result, Ttl};
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Store, check, load, read_file, recover, replace_file, save};
use twindex_durable::{check_cache, holds_cache, read_cache, save_cache};

use crate::common::{folder, names};

fn pages(count: u32) -> Cache {
    let cache = Cache::new(CacheOptions::capacity(4 << 20)).unwrap();
    for number in 0..count {
        cache.upsert(format!("page/{number}"), number.to_string()).unwrap();
    }
    cache
}

fn load_cache(path: &Path) -> Result<Cache> {
    let saved = read_cache(path)?;
    let options = saved.options();
    saved.load(options)
}

fn assert_io(result: Result<()>, kind: ErrorKind, text: &str) {
    let Err(Error::Io(error)) = result else { panic!("{result:?}") };
    assert!(error.kind() == kind && error.to_string().contains(text), "{error}");
}

#[test]
fn loaded_cache_has_the_pairs_and_the_time_that_each_still_lives() {
    let (_folder, path) = folder();
    let cache = pages(20_000);
    cache.upsert_for("brief", "gone soon", Duration::from_millis(1)).unwrap();
    cache.upsert_for("hour", "stays", Duration::from_hours(1)).unwrap();
    save_cache(&cache, &path).unwrap();
    sleep(Duration::from_millis(5));
    let loaded = load_cache(&path).unwrap();
    assert!((0..20_000).all(|n| loaded.get(format!("page/{n}")).unwrap() == n.to_string().as_bytes()));
    assert!(matches!(loaded.ttl("hour"), Ttl::Left(left) if left > Duration::from_mins(50)));
    assert_eq!(loaded.ttl("brief"), Ttl::Absent);
    assert!((20_001..=20_002).contains(&check_cache(&path).unwrap()));
}

#[test]
fn file_has_no_cache_before_the_first_save_has_ended() {
    let (_folder, path) = folder();
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
    let missing = path.join("none");
    assert_io(save_cache(&pages(1), &missing), ErrorKind::NotADirectory, "none");
    fs::write(&path, "").unwrap();
    assert_io(load_cache(&path).map(drop), ErrorKind::NotFound, "app.twx: it is empty");
    save_cache(&pages(1), &path).unwrap();
    assert_eq!(load_cache(&path).unwrap().len(), 1);
}

#[test]
fn file_that_a_store_has_open_is_left_alone() {
    let (_folder, path) = folder();
    let store = Store::open(&path).unwrap();
    assert_io(save_cache(&pages(1), &path), ErrorKind::ResourceBusy, "app.twx");
    store.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    store.close().unwrap();
    assert_eq!(Store::open(&path).unwrap().tables().unwrap().len(), 1);
}

#[test]
fn each_kind_of_file_is_refused_by_the_reader_of_the_other() {
    let (folder, _) = folder();
    let (cache, store) = (folder.path().join("cache.twx"), folder.path().join("store.twx"));
    save_cache(&pages(10), &cache).unwrap();
    save(Store::new().in_memory(), &store).unwrap();
    assert!(holds_cache(&cache).unwrap() && !holds_cache(&store).unwrap());
    assert!(matches!(load_cache(&store), Err(Error::Corrupt { offset: 0, .. })));
    let before = fs::read(&cache).unwrap();
    for refused in [
        load(&cache).map(drop).map_err(|error| error.to_string()),
        Store::open(&cache).map(drop).map_err(|error| error.to_string()),
        check(&cache, |_| {}).map(drop).map_err(|error| error.to_string()),
        recover(&cache, folder.path().join("new.twx"), |_| {}).map(drop).map_err(|error| error.to_string()),
    ] {
        assert!(
            refused.as_ref().is_err_and(|text| text.contains("it holds a cache, not a store")),
            "{refused:?}"
        );
    }
    assert_eq!(fs::read(&cache).unwrap(), before);
}

#[test]
fn file_that_could_not_be_replaced_stays_as_it_was() {
    let (folder, path) = folder();
    let read = || {
        let mut content = Vec::new();
        read_file(&path)?
            .read_to_end(&mut content)
            .map(|_| content)
            .map_err(twindex_durable::twindex::Error::from)
    };
    let is = |result: twindex_durable::twindex::Result<Vec<u8>>, kind: ErrorKind| matches!(result, Err(twindex_durable::twindex::Error::Io(error)) if error.kind() == kind);
    assert!(is(read(), ErrorKind::NotFound));
    replace_file(&path, |to| to.write_all(&vec![1; 300_000])).unwrap();
    let refused = replace_file(&path, |to| {
        to.write_all(&vec![2; 300_001])?;
        Err(ErrorKind::StorageFull.into())
    });
    assert!(is(refused.map(|()| Vec::new()), ErrorKind::StorageFull));
    assert_eq!(read().unwrap(), vec![1; 300_000]);
    assert_eq!(names(&folder), ["app.twx"]);
}
