//! Which file a store has, whatever its path is called and whoever else goes by it.

#![cfg(unix)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::{TempDir, tempdir};
use twindex_durable::twindex::{self, IndexKind};
use twindex_durable::{Durability, Error, Options, Store};

fn folder() -> TempDir {
    tempdir().expect("a folder for temporary files")
}

/// Opens the file, for a test to write it anew when it says so.
fn open(path: &Path, durability: Durability) -> Store {
    Options::new().durability(durability).compact_by_hand(true).open(path).unwrap()
}

fn insert(store: &Store, keys: std::ops::Range<u32>) {
    let table = store.table("t", IndexKind::Hash).unwrap();
    let pairs: Vec<_> = keys.map(|key| (key.to_be_bytes(), "v")).collect();
    assert!(!table.insert_many(&pairs).unwrap().contains(&false));
}

fn pairs(path: &Path) -> usize {
    twindex_durable::load(path).unwrap().find_table("t").unwrap().len()
}

#[test]
fn a_store_stays_in_its_file_when_the_process_goes_elsewhere() {
    let (here, there) = (folder(), folder());
    for durability in [Durability::None, Durability::EverySec, Durability::Always] {
        std::env::set_current_dir(&here).unwrap();
        let name = format!("{durability}.twx");
        let store = open(Path::new(&name), durability);
        insert(&store, 0..10);
        std::env::set_current_dir(&there).unwrap();
        store.compact().unwrap();
        insert(&store, 10..20);
        store.close().unwrap();
        assert_eq!(pairs(&here.path().join(&name)), 20, "{durability}");
        assert_eq!(fs::read_dir(&there).unwrap().count(), 0, "{durability}");
    }
}

#[test]
fn a_link_leads_to_the_file() {
    let folder = folder();
    let [file, link, chain] = ["app.twx", "link.twx", "chain.twx"].map(|name| folder.path().join(name));
    symlink("app.twx", &link).unwrap();
    symlink(&link, &chain).unwrap();
    // It leads to where nothing is yet.
    let store = open(&chain, Durability::EverySec);
    insert(&store, 0..10);
    for path in [&file, &link, &chain] {
        assert!(matches!(Store::open(path), Err(Error::InUse { .. })), "{}", path.display());
        assert!(twindex_durable::save(&twindex::Store::new(), path).is_err(), "{}", path.display());
    }
    store.compact().unwrap();
    insert(&store, 10..20);
    store.close().unwrap();
    assert_eq!(pairs(&file), 20);
    let other = twindex::Store::new();
    other.table("t", IndexKind::Hash).unwrap().insert("a", "1").unwrap();
    twindex_durable::save(&other, &link).unwrap();
    assert_eq!(pairs(&file), 1);
    for path in [&link, &chain] {
        assert!(fs::symlink_metadata(path).unwrap().is_symlink(), "{}", path.display());
    }
    let names = fs::read_dir(&folder).unwrap().count();
    assert_eq!(names, 3, "nothing else is left behind");
}

#[test]
fn links_in_a_circle_are_an_error() {
    let folder = folder();
    let [one, two] = ["one.twx", "two.twx"].map(|name| folder.path().join(name));
    symlink(&two, &one).unwrap();
    symlink(&one, &two).unwrap();
    assert!(matches!(Store::open(&one), Err(Error::Io { .. })));
    assert!(fs::symlink_metadata(&one).unwrap().is_symlink());
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_of_fork_leaves_the_file_to_its_parent() {
    for durability in [Durability::None, Durability::EverySec, Durability::Always] {
        for closes in [false, true] {
            let folder = folder();
            let path = folder.path().join("app.twx");
            let store = open(&path, durability);
            insert(&store, 0..10);
            // SAFETY: the child uses what this thread alone has, and no lock that another one may hold.
            let child = unsafe { libc::fork() };
            if child == 0 {
                let closed = !closes || store.close().is_ok();
                drop(store);
                // SAFETY: a child ends without what its parent would do at its end.
                unsafe { libc::_exit(i32::from(!closed)) };
            }
            assert!(child > 0, "no child was made");
            insert(&store, 10..1000);
            let mut status = -1;
            // SAFETY: `status` has room for what the call writes.
            assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
            assert_eq!(status, 0, "{durability}");
            insert(&store, 1000..2000);
            assert!(
                matches!(Store::open(&path), Err(Error::InUse { .. })),
                "{durability}: it is locked still"
            );
            store.close().unwrap();
            assert_eq!(pairs(&path), 2000, "{durability}, {closes}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_of_fork_keeps_no_lock() {
    let folder = folder();
    let path = folder.path().join("app.twx");
    // What the process makes once is made by now: the child would wait for ever for a thread that is just making it.
    open(&path, Durability::EverySec).close().unwrap();
    let mut pipe = [0; 2];
    // SAFETY: `pipe` has room for what the call writes.
    assert_eq!(unsafe { libc::pipe(pipe.as_mut_ptr()) }, 0);
    // SAFETY: the child uses what this thread alone has, and no lock that another one may hold.
    let parent = unsafe { libc::fork() };
    if parent == 0 {
        let store = open(&path, Durability::EverySec);
        insert(&store, 0..1);
        // SAFETY: as above.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // What it writes would be lost, so it is refused.
            let is_refused = store.table("t", IndexKind::Hash).unwrap().insert("b", "2").is_err();
            // SAFETY: one byte is written from where it is, and the child does nothing but wait to be killed.
            unsafe {
                libc::write(pipe[1], (&raw const is_refused).cast(), 1);
                libc::pause();
            }
        }
        // SAFETY: four bytes are written from where they are, and the process ends as if it were killed.
        unsafe {
            libc::write(pipe[1], (&raw const child).cast(), size_of_val(&child));
            libc::_exit(0);
        }
    }
    let (mut told, mut status) = ([0; 5], 0);
    // SAFETY: all have room for what the calls write.
    unsafe {
        for byte in &mut told {
            let mut pipe_end = libc::pollfd { fd: pipe[0], events: libc::POLLIN, revents: 0 };
            if libc::poll(&raw mut pipe_end, 1, 60_000) != 1 {
                libc::kill(parent, libc::SIGKILL);
                panic!("waited a minute for a child of fork to write to its store");
            }
            assert_eq!(libc::read(pipe[0], (&raw mut *byte).cast::<u8>().cast(), 1), 1);
        }
        assert_eq!(libc::waitpid(parent, &raw mut status, 0), parent);
    }
    let found = Store::open(&path).map(|store| store.table("t", IndexKind::Hash).unwrap().len());
    // Either may have written first.
    let child =
        [&told[1..], &told[..4]].map(|bytes| i32::from_ne_bytes(bytes.try_into().expect("four bytes")));
    let child =
        if told[0] == 1 && Path::new(&format!("/proc/{}", child[0])).exists() { child[0] } else { child[1] };
    // SAFETY: the child is ours, and waits.
    unsafe { libc::kill(child, libc::SIGKILL) };
    assert_eq!(found.unwrap(), 1);
    assert!(told[0] == 1 || told[4] == 1, "the child has written");
}
