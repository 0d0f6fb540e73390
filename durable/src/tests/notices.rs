//! What happens in the background reaches the program's logger.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use log::kv::Key;
use log::{Level, LevelFilter, Log, Metadata, Record};
use twindex::IndexKind;

use crate::core::Core;
use crate::disk::Disk;
use crate::disk::sim::{Fault, SimDisk};
use crate::handle::Handle;
use crate::{Durability, LOG_TARGET, Options, Store, Table};

/// Level, path, event and message.
type Told = (Level, String, String, String);

/// Keeps what it is told. Tests that run at the same time have files of other names.
struct Logger(Mutex<Vec<Told>>);

static LOGGER: Logger = Logger(Mutex::new(Vec::new()));

impl Log for Logger {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == LOG_TARGET
    }

    fn log(&self, record: &Record<'_>) {
        assert!(self.enabled(record.metadata()), "{}", record.target());
        assert!(!record.args().to_string().contains("panics.twx"), "a logger that panics");
        let value = |key| record.key_values().get(Key::from_str(key)).expect("it is there").to_string();
        let told = (record.level(), value("path"), value("event"), record.args().to_string());
        self.0.lock().expect("no test panics here").push(told);
    }

    fn flush(&self) {}
}

/// The levels and messages of this event that were told of a file.
fn told(path: &Path, event: &str) -> Vec<(Level, String)> {
    let all = LOGGER.0.lock().expect("no test panics here");
    let own = all.iter().filter(|told| Path::new(&told.1) == path && told.2 == event);
    own.map(|(level, .., message)| (*level, message.clone())).collect()
}

/// A store of its own name, whose log is the test's to sync.
fn open(disk: &SimDisk, path: &Path, durability: Durability) -> crate::Result<Store> {
    static SET: Once = Once::new();
    SET.call_once(|| {
        log::set_logger(&LOGGER).expect("nobody else sets one");
        log::set_max_level(LevelFilter::Trace);
    });
    let core = Core::open_on(Arc::new(disk.clone()), path, Options::new().durability(durability))?;
    Ok(Store { handle: Arc::new(Handle(core)) })
}

fn tick(store: &Store) -> crate::Result<()> {
    store.handle.0.logged().expect("it has a log").log.tick()
}

/// That this event was told of the file, in messages with these words. How often, as a busy machine may be slow too.
fn assert_told(path: &Path, level: Level, event: &str, words: &str) -> usize {
    let told = told(path, event);
    assert!(!told.is_empty(), "{event} was not told");
    for (of, message) in &told {
        assert_eq!(*of, level);
        assert!(message.starts_with(&path.display().to_string()) && message.contains(words), "{message}");
    }
    told.len()
}

fn opened(name: &str) -> (SimDisk, PathBuf, Store, Table) {
    let (disk, path) = (SimDisk::new(1), PathBuf::from(name));
    let store = open(&disk, &path, Durability::EverySec).unwrap();
    let table = store.table("t", IndexKind::Hash).unwrap();
    (disk, path, store, table)
}

#[test]
fn a_slow_sync_is_told() {
    let (disk, path, store, table) = opened("slow sync.twx");
    disk.before_sync(|_| {
        thread::sleep(Duration::from_millis(30));
        Ok(())
    });
    table.upsert("a", "1").unwrap();
    tick(&store).unwrap();
    assert_told(&path, Level::Warn, "slow_sync", "a sync took");
}

#[test]
fn a_logger_that_panics_ends_no_thread_and_fails_no_write() {
    let (disk, _, store, table) = opened("panics.twx");
    disk.set_room(0);
    while table.upsert("a", [1; 9999]).is_ok() {}
    tick(&store).unwrap();
    assert!(store.stats().syncs > 0);
}

#[test]
fn writers_that_wait_are_told_of_once() {
    let ((_disk, path, store, table), begun) = (opened("late.twx"), Instant::now());
    store.handle.0.logged().expect("it has a log").log.set_longest_unsynced(Duration::ZERO);
    for number in 0..20_u8 {
        table.upsert([number], [1; 5000]).unwrap();
    }
    assert!(store.stats().syncs > 2, "each writer that came too early has synced");
    let count = assert_told(&path, Level::Warn, "writers_wait", "bytes are not on disk");
    assert!(count == 1 || begun.elapsed() > Duration::from_secs(10), "it was told {count} times");
}

#[test]
fn a_disk_without_room_and_one_that_fails_are_told() {
    let (disk, path, store, table) = opened("full.twx");
    disk.set_room(0);
    while table.upsert("a", [1; 9999]).is_ok() {}
    assert_told(&path, Level::Warn, "log_full", "no room");
    disk.fail_after(0, Fault::Error(ErrorKind::Other));
    tick(&store).unwrap_err();
    tick(&store).unwrap_err();
    assert_told(&path, Level::Error, "log_failed", "the log failed");
}

#[test]
fn a_compaction_that_failed_in_the_background_is_told() {
    let (disk, path, store, table) = opened("not compacted.twx");
    disk.before_sync(|name| {
        let is_new = name.extension().is_some_and(|extension| extension == "twindex-temporary");
        if is_new { Err(io::Error::other("a bad sector")) } else { Ok(()) }
    });
    while store.stats().compaction_error.is_none() {
        // It is refused once the log is as long as it may become.
        let _ = table.upsert("a", vec![1; 1 << 20]);
    }
    assert_told(&path, Level::Warn, "compaction_failed", "a bad sector");
}

#[test]
fn a_last_write_that_was_discarded_is_told() {
    let path = PathBuf::from("torn.twx");
    for seed in 0.. {
        let disk = SimDisk::new(seed);
        let store = open(&disk, &path, Durability::EverySec).unwrap();
        let table = store.table("t", IndexKind::Hash).unwrap();
        tick(&store).unwrap();
        (0..20_u8).for_each(|key| table.upsert([key], [1; 2000]).unwrap());
        let disk = disk.after_power_cut();
        let read_only = Options::new().read_only(true);
        drop(Core::open_on(Arc::new(disk.clone()), &path, read_only).unwrap());
        assert_eq!(told(&path, "log_torn"), [], "reading discards nothing");
        let again = open(&disk, &path, Durability::EverySec).unwrap();
        if again.torn().is_some() {
            assert_told(&path, Level::Warn, "log_torn", "incomplete");
            return;
        }
    }
}

#[test]
fn a_follower_that_does_not_keep_up_is_told() {
    let (disk, path, store, table) = opened("followed.twx");
    table.upsert("a", "1").unwrap();
    let core = Core::open_on(Arc::new(disk.clone()), &path, Options::new().read_only(true)).unwrap();
    let copy = Store { handle: Arc::new(Handle(core)) };
    copy.follow().unwrap();
    store.close().unwrap();
    disk.open(&path, None).and_then(|file| file.write_at(0, &[0xff; 4])).unwrap();
    while copy.stats().follow_error.is_none() {
        thread::sleep(Duration::from_millis(1));
    }
    // The reason is there once it was told.
    assert_told(&path, Level::Warn, "follow_failed", "cannot be read");
}

#[test]
fn transactions_that_stay_open_are_counted_and_told() {
    let (disk, now) = (SimDisk::new(1), Instant::now());
    let store = open(&disk, Path::new("open.twx"), Durability::EverySec).unwrap();
    let open = &store.handle.0.transactions;
    let minute = |number: u64| open.look(now + Duration::from_mins(number));
    let never_ended = [store.begin().unwrap(), store.begin().unwrap()];
    assert_eq!([minute(0), minute(1)], [None; 2], "they may have begun a moment ago");
    let brief = store.begin().unwrap();
    assert_eq!([minute(2), minute(3)], [Some(2); 2], "the others are old");
    assert_eq!(store.stats().transactions, 3);
    drop(never_ended);
    assert_eq!(minute(4), None);
    drop(brief);
    assert_eq!([minute(5), minute(6), minute(7)], [None; 3]);
    let path = PathBuf::from("open.twx");
    crate::sync_thread::tell_open(&path, 2);
    assert_told(&path, Level::Warn, "transactions_open", "2 transactions");
}
