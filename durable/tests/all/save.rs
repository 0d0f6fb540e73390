//! Saving and loading whole stores, and what is left when that fails.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use twindex_durable::twindex::{Error, IndexKind, Store};
use twindex_durable::{load, save};

use crate::common::{folder, names};

fn store_of(pairs: &[(&str, &str)]) -> Store {
    let store = Store::new();
    for (name, index) in [("users", IndexKind::Hash), ("log", IndexKind::Sorted)] {
        store.table(name, index).unwrap().insert_many(pairs).unwrap();
    }
    store
}

/// That the file holds both tables with these pairs.
#[track_caller]
fn assert_holds(path: &Path, pairs: &[(&str, &str)]) {
    let loaded = load(path).unwrap();
    assert_eq!(loaded.tables().len(), 2);
    for table in loaded.tables() {
        let mut found: Vec<_> = table.iter().collect();
        found.sort();
        let expected = pairs.iter().map(|(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()));
        assert!(found.into_iter().eq(expected), "table {}", table.name());
    }
}

/// That it is an error of the system that names the file.
#[track_caller]
fn assert_io(error: &Error, kind: ErrorKind, path: &Path) {
    let Error::Io(io) = error else { panic!("{error:?}") };
    assert_eq!(io.kind(), kind);
    assert!(error.to_string().contains(&path.display().to_string()), "{error}");
}

const OLD: &[(&str, &str)] = &[("ada", "1815")];
const NEW: &[(&str, &str)] = &[("", ""), ("ada", "1852"), ("grace", "1906")];

#[test]
#[cfg(unix)]
fn the_old_file_is_never_written_to() {
    let (folder, path) = folder();
    let link = folder.path().join("link.twx");
    save(&store_of(OLD), &path).unwrap();
    fs::hard_link(&path, &link).unwrap();
    save(&store_of(NEW), &path).unwrap();
    assert_holds(&link, OLD);
    assert_holds(&path, NEW);
}

#[test]
fn a_file_that_is_saved_again_and_again_always_loads() {
    let (folder, path) = folder();
    save(&store_of(&[("round", "0"), ("twin", "0")]), &path).unwrap();
    std::thread::scope(|scope| {
        let writers = [1, 2].map(|writer| {
            let path = &path;
            scope.spawn(move || {
                for round in 0..20 {
                    let round = format!("{writer}/{round}");
                    save(&store_of(&[("round", &round), ("twin", &round)]), path).unwrap();
                }
            })
        });
        while !writers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            let table = load(&path).unwrap().table("log", IndexKind::Sorted).unwrap();
            assert_eq!(table.len(), 2);
            assert_eq!(table.select("round"), table.select("twin"));
        }
    });
    assert_eq!(names(&folder), ["app.twx"]);
}

#[test]
fn errors_name_the_file() {
    let (folder, _) = folder();
    let missing = folder.path().join("missing.twx");
    assert_io(&load(&missing).unwrap_err(), ErrorKind::NotFound, &missing);
    let nowhere = folder.path().join("none").join("app.twx");
    assert_io(&save(&store_of(NEW), &nowhere).unwrap_err(), ErrorKind::NotFound, &nowhere);
    assert!(names(&folder).is_empty());
    if cfg!(unix) {
        assert_io(&load(folder.path()).unwrap_err(), ErrorKind::IsADirectory, folder.path());
    }
}

#[test]
#[cfg(unix)]
fn a_save_that_fails_leaves_what_was_there_and_nothing_else() {
    let (folder, path) = folder();
    fs::create_dir(&path).unwrap();
    save(&store_of(OLD), path.join("inside.twx")).unwrap();
    assert_io(&save(&store_of(NEW), &path).unwrap_err(), ErrorKind::IsADirectory, &path);
    assert_eq!(names(&folder), ["app.twx"]);
    assert_holds(&path.join("inside.twx"), OLD);
}
