//! What programs that were written to break a store did to it, each as a story.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Durability, Error, Options, Store, Table};

use crate::common::{ALL, LOGGED, folder, follower, open};

fn table(store: &Store) -> Table {
    store.table("t", IndexKind::Hash).unwrap()
}

fn pairs(path: &Path) -> usize {
    twindex_durable::load(path).unwrap().find_table("t").map_or(0, |table| table.len())
}

#[track_caller]
fn assert_in_use<T>(opened: Result<T, Error>) {
    match opened {
        Err(error @ Error::InUse { .. }) => {
            assert!(error.to_string().contains(&format!("process {}", std::process::id())), "{error}");
            assert!(matches!(error, Error::InUse { pid: Some(pid), .. } if pid == std::process::id()));
        }
        Err(other) => panic!("{other:?}"),
        Ok(_) => panic!("a second writer got in"),
    }
}

// --- what is logged is what was done

#[test]
fn a_table_may_be_dropped_while_others_write_to_it() {
    for durability in LOGGED {
        let (_folder, path) = folder();
        let store = open(&path, durability);
        for _ in 0..20 {
            let doomed = store.table("doomed", IndexKind::Hash).unwrap();
            std::thread::scope(|scope| {
                for thread in 0..2_u32 {
                    let doomed = doomed.clone();
                    scope.spawn(move || {
                        let pairs = |round: u32| (0..300).map(move |key| ((thread, round, key), "v"));
                        for round in 0.. {
                            let pairs: Vec<_> =
                                pairs(round).map(|((a, b, c), v)| (format!("{a} {b} {c}"), v)).collect();
                            if let Err(error) = doomed.upsert_many(&pairs) {
                                assert_eq!(error.code(), "TWINDEX_TABLE_DROPPED");
                                break;
                            }
                        }
                    });
                }
                std::thread::yield_now();
                assert!(store.drop_table("doomed").unwrap());
            });
        }
        store.close().unwrap();
        assert!(open(&path, durability).tables().unwrap().is_empty());
    }
}

#[test]
fn what_was_written_before_an_error_is_as_safe_as_any_write() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    let long = "9".repeat(2000);
    let table = table(&store);
    table.insert("no number", &long).unwrap();
    let syncs = || store.stats().unsynced_bytes;
    store.flush().unwrap();
    assert_eq!(
        table.increment_many(&[("a", 1), ("no number", 1)]).unwrap_err().code(),
        "TWINDEX_NOT_AN_INTEGER"
    );
    assert!(syncs() > 0);
    assert_eq!(pairs(&path), 2, "a reader finds it");
    store.close().unwrap();
    let store = Options::new().durability(Durability::Always).memory_limit(2 << 20).open(&path).unwrap();
    let table = self::table(&store);
    let many: Vec<_> = (0..4000_u32).map(|key| (key.to_be_bytes(), [0; 1000])).collect();
    assert_eq!(table.upsert_many(&many).unwrap_err().code(), "TWINDEX_MEMORY_LIMIT");
    assert!(table.len() > 2);
    assert_eq!(store.stats().unsynced_bytes, 0, "with `always` all that others see is on disk");
}

// --- one writer

#[test]
fn no_second_writer_gets_in_by_another_name() {
    for durability in ALL {
        let (folder, path) = folder();
        open(&path, durability).close().unwrap();
        let (linked, moved) = (folder.path().join("linked.twx"), folder.path().join("moved.twx"));
        fs::hard_link(&path, &linked).unwrap();
        let store = open(&path, durability);
        let _ = fs::remove_file(folder.path().join("app.twx.lock"));
        table(&store).insert("a", "1").unwrap();
        for name in [&path, &linked] {
            assert_in_use(Store::open(name));
            assert_in_use(twindex_durable::Store::new().save_as(name));
        }
        fs::rename(&path, &moved).unwrap();
        assert_in_use(Store::open(&moved));
        if durability != Durability::None {
            let error = store.compact().unwrap_err();
            assert!(
                matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::NotFound),
                "{error}"
            );
            assert!(!path.exists(), "nothing is made where the file was");
            table(&store).insert("b", "2").unwrap();
            store.close().unwrap();
            assert_eq!(pairs(&moved), 2, "{durability}");
            open(&moved, durability);
        }
    }
}

#[test]
fn a_file_stays_locked_while_it_is_written_anew() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            while !ended.load(Relaxed) {
                // Which process has it is not known while the one file takes the other's place.
                assert!(matches!(Store::open(&path), Err(Error::InUse { .. })));
            }
        });
        for number in 0..50_u32 {
            table(&store).insert(number.to_be_bytes(), "v").unwrap();
            store.compact().unwrap();
        }
        ended.store(true, Relaxed);
        other.join().unwrap();
    });
    drop(store);
    assert_eq!(pairs(&path), 50);
}

#[test]
fn readers_keep_no_writer_out() {
    let (_folder, path) = folder();
    open(&path, Durability::EverySec).close().unwrap();
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !ended.load(Relaxed) {
                    drop(follower(&path));
                }
            });
        }
        for _ in 0..50 {
            open(&path, Durability::EverySec).close().unwrap();
        }
        ended.store(true, Relaxed);
    });
}

#[test]
fn a_store_that_is_closed_has_no_descriptor() {
    let (_folder, path) = folder();
    let is_open = || {
        let descriptors = fs::read_dir("/proc/self/fd").unwrap().flatten();
        descriptors.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target == path)
    };
    for durability in ALL {
        let store = open(&path, durability);
        let table = table(&store);
        table.upsert("a", "1").unwrap();
        store.compact().unwrap();
        let follower = follower(&path);
        assert!(is_open());
        follower.close().unwrap();
        store.close().unwrap();
        assert!(!is_open(), "{durability}");
        assert!(matches!(table.upsert("a", "1"), Err(Error::Closed { .. })));
        assert!(store.stats().log_error.is_none());
    }
}

// --- nothing acknowledged is lost

#[test]
fn a_store_that_cannot_be_closed_is_open_still() {
    let (folder, path) = folder();
    let store = open(&path, Durability::None);
    table(&store).insert("a", "1").unwrap();
    fs::remove_dir_all(folder.path()).unwrap();
    for _ in 0..2 {
        let error = store.close().unwrap_err();
        assert!(matches!(error, Error::Io { .. }), "{error:?}");
        table(&store).upsert("b", "2").unwrap();
    }
    let (_other_folder, other) = self::folder();
    store.save_as(&other).unwrap();
    assert_eq!(pairs(&other), 2);
    fs::create_dir(folder.path()).unwrap();
    store.close().unwrap();
    assert_eq!(pairs(&path), 2);
}

#[test]
fn a_store_whose_file_is_gone_says_so() {
    for (durability, replaced) in
        LOGGED.into_iter().flat_map(|durability| [(durability, false), (durability, true)])
    {
        let (folder, path) = folder();
        let store = open(&path, durability);
        table(&store).insert("a", "1").unwrap();
        if replaced {
            // It has another name still, which nobody will open.
            fs::hard_link(&path, folder.path().join("backup.twx")).unwrap();
            fs::write(folder.path().join("other"), "").unwrap();
            fs::rename(folder.path().join("other"), &path).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let _ = table(&store).insert("b", "2");
        let _ = store.flush();
        let error = table(&store).insert("c", "3").unwrap_err();
        assert!(matches!(&error, Error::LogFailed { reason, .. } if reason.contains("removed")), "{error}");
        assert!(store.stats().log_error.is_some());
        let (_other_folder, other) = self::folder();
        store.save_as(&other).unwrap();
        assert!(pairs(&other) >= 1);
        assert!(matches!(store.close(), Err(Error::LogFailed { .. })));
        store.close().expect("who was told may let go of it");
    }
}

// --- files of others

#[test]
fn no_link_that_somebody_planted_is_followed() {
    let (folder, path) = folder();
    let victim = folder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for ending in ["new", "lock", "twindex-temporary"] {
        symlink(&victim, folder.path().join(format!("app.twx.{ending}"))).unwrap();
    }
    let store = open(&path, Durability::EverySec);
    table(&store).insert("a", "1").unwrap();
    let _ = symlink(&victim, folder.path().join("app.twx.twindex-temporary"));
    store.compact().unwrap();
    let _ = symlink(&victim, folder.path().join("app.twx.twindex-temporary"));
    store.close().unwrap();
    twindex_durable::save(&twindex::Store::new(), &path).unwrap();
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
    assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
}

#[test]
fn new_file_has_final_mode_before_any_data() {
    let (folder, path) = folder();
    let new = folder.path().join("app.twx.twindex-temporary");
    let store = open(&path, Durability::EverySec);
    table(&store)
        .insert_many(&(0..5000_u32).map(|key| (key.to_be_bytes(), "v")).collect::<Vec<_>>())
        .unwrap();
    for mode in [0o600, 0o640, 0o666] {
        fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        let mut seen = 0;
        store
            .compact_with(|_| {
                assert_eq!(fs::metadata(&new).unwrap().permissions().mode() & 0o777, mode);
                seen += 1;
            })
            .unwrap();
        assert!(seen > 0);
        store.save_as(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, mode);
    }
}

#[test]
fn what_is_no_regular_file_is_refused() {
    use std::os::unix::fs::FileTypeExt;
    let (folder, pipe) = folder();
    let name = std::ffi::CString::new(pipe.to_str().unwrap()).unwrap();
    // SAFETY: the name ends with a zero.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
    let null = Path::new("/dev/null");
    for path in [&pipe, null, folder.path()] {
        let name = path.display();
        for durability in [Durability::None, Durability::EverySec] {
            assert!(
                matches!(Options::new().durability(durability).open(path), Err(Error::Io { .. })),
                "{name}"
            );
        }
        assert!(matches!(Options::new().read_only(true).open(path), Err(Error::Io { .. })), "{name}");
        assert!(matches!(Store::new().save_as(path), Err(Error::Io { .. })), "{name}");
        assert!(twindex_durable::load(path).is_err(), "{name}");
        assert!(twindex_durable::check(path, |_| {}).is_err(), "{name}");
        assert!(
            twindex_durable::recover(path, folder.path().join("recovered.twx"), |_| {}).is_err(),
            "{name}"
        );
    }
    assert!(fs::metadata(&pipe).unwrap().file_type().is_fifo());
    assert!(fs::metadata(null).unwrap().file_type().is_char_device());
}

// --- what users expect

#[test]
fn what_a_compaction_left_is_removed() {
    let (folder, path) = folder();
    let left = folder.path().join("app.twx.twindex-temporary");
    fs::write(&left, "half a store").unwrap();
    let store = open(&path, Durability::EverySec);
    assert!(!left.exists());
    fs::write(&left, "half a store").unwrap();
    store.compact().unwrap();
    assert!(!left.exists());
}

#[test]
fn opening_a_store_removes_no_other_one() {
    let (folder, path) = folder();
    let others = [".new", ".lock", ".tmp"].map(|ending| folder.path().join(format!("app.twx{ending}")));
    for other in &others {
        table(&open(other, Durability::EverySec)).insert("a", "1").unwrap();
    }
    let store = open(&path, Durability::EverySec);
    store.compact().unwrap();
    store.close().unwrap();
    assert!(others.iter().all(|other| pairs(other) == 1));
    let temporary = folder.path().join("app.twx.twindex-temporary");
    let error = Store::open(&temporary).unwrap_err();
    assert!(error.to_string().contains("a name that ends in .twindex-temporary"), "{error}");
    assert!(!temporary.exists());
}

#[test]
fn a_store_that_was_not_saved_leaves_nothing() {
    let (folder, path) = folder();
    drop(open(&path, Durability::None));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    let store = open(&path, Durability::None);
    assert_in_use(Store::open(&path));
    drop(store);
    assert!(matches!(Options::new().existing(true).open(&path), Err(Error::Io { .. })));
}
