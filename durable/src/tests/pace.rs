//! Writers that are quicker than the disk, and a compaction that has to catch up with them.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use twindex::{Change, IndexKind};

use super::faults::path;
use crate::compact::LAST_BYTES;
use crate::core::Core;
use crate::disk::sim::{Fault, SimDisk};
use crate::handle::Handle;
use crate::log::{ASK_AGAIN, LEAST_DUE_BYTES, LONGEST, Log, MOST_UNSYNCED, SLACK};
use crate::rewrite::{BURST, CHUNK, KEPT};
use crate::{Durability, Error, ExpiringTable, Options, Store, Table};

const KEYS: u64 = 100;
const VALUE: usize = 10_000;
/// The dump takes more than one chunk.
const DUMP: u64 = KEYS * VALUE as u64;

fn open(disk: &SimDisk, durability: Durability) -> Store {
    super::faults::open(disk, durability).expect("the disk works")
}

fn log(store: &Store) -> Arc<Log> {
    Arc::clone(&store.handle.0.logged().expect("it has a log").log)
}

fn write(table: &Table, number: u64) -> crate::Result<()> {
    table.upsert((number % KEYS).to_be_bytes(), vec![number as u8; VALUE])
}

fn filled(durability: Durability) -> (SimDisk, Store, Table) {
    let disk = SimDisk::new(1);
    let store = open(&disk, durability);
    let table = store.table("t", IndexKind::Hash).expect("the disk works");
    for number in 0..KEYS {
        write(&table, number).expect("the disk works");
    }
    (disk, store, table)
}

fn is_new(name: &Path) -> bool {
    name.extension().is_some_and(|extension| extension == "twindex-temporary")
}

#[test]
fn a_disk_is_written_to_until_it_is_full_and_again_when_it_has_room() {
    for durability in LOGGED {
        let (disk, store, table) = filled(durability);
        let room = log(&store).at() + SLACK + 10 * VALUE as u64;
        disk.set_room(room);
        let (number, error) = (KEYS..)
            .find_map(|number| {
                table.insert(number.to_be_bytes(), [1; VALUE]).err().map(|error| (number, error))
            })
            .expect("the disk is full at some time");
        assert!(
            matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::StorageFull),
            "{error:?}"
        );
        assert!(!table.contains(number.to_be_bytes()).unwrap(), "what was refused was not done");
        let at = log(&store).at();
        assert!(at + SLACK + 2 * VALUE as u64 > room, "{durability}: {at} bytes of {room}");
        assert!(store.stats().log_error.is_some(), "whoever asks is told");
        // Nor what only the caller's function tells the length of, nor all of a batch.
        let large = vec![1; 4 * SLACK as usize];
        table.alter("large", |_| Change::Set(large.clone())).expect_err("it has no place");
        let mut batch = store.batch();
        batch.upsert(&table, "large", &large).expect("a key and a value");
        batch.commit().expect_err("it has no place");
        assert!(!table.contains("large").unwrap());
        store.flush().expect("all that was done has its place");
        disk.set_room(u64::MAX);
        thread::sleep(ASK_AGAIN);
        table.insert("more", "1").expect("there is room again");
        assert_eq!(store.stats().log_error, None);
        let stored = open(&disk.after_kill(), durability).find_table("t").unwrap().expect("it is there");
        assert_eq!((stored.len() as u64, stored.contains("more").unwrap()), (number + 1, true));
    }
}

#[test]
fn a_compaction_that_fails_ends_the_log_at_its_last_step_alone() {
    let (disk, store, _) = filled(Durability::EverySec);
    let before = disk.steps();
    store.compact().expect("the disk works");
    let last = disk.steps() - before - 1;
    for step in 0..=last {
        let (disk, store, table) = filled(Durability::EverySec);
        disk.fail_after(step, Fault::Error(ErrorKind::Other));
        let error = store.compact().expect_err("the disk fails");
        assert_eq!(error.code() == "TWINDEX_LOG_FAILED", step == last, "step {step} of {last}: {error}");
        assert_eq!(table.insert("more", "1").is_ok(), step < last, "step {step} of {last}: {error}");
        let stored =
            open(&disk.after_kill(), Durability::EverySec).find_table("t").unwrap().expect("it is there");
        assert_eq!(stored.len() as u64, KEYS + u64::from(step < last));
    }
}

#[test]
fn a_store_is_closed_while_the_disk_is_full() {
    for durability in LOGGED {
        let (disk, store, table) = filled(durability);
        disk.set_room(log(&store).at());
        let more = (KEYS..2 * KEYS + 10_000).find(|number| table.insert(number.to_be_bytes(), "1").is_err());
        store.close().expect("nothing that was done lacks its place");
        assert_eq!(open(&disk, durability).find_table("t").unwrap().map(|table| table.len() as u64), more);
    }
}

#[test]
fn a_write_while_the_store_is_closed_changes_nothing() {
    for durability in LOGGED {
        let (disk, store, table) = filled(durability);
        table.increment("sum", 1).expect("the disk works");
        let other = store.clone();
        disk.before_sync({
            let table = table.clone();
            move |_| {
                let mut batch = other.batch();
                batch.increment(&table, "sum", 1).expect("a key");
                for error in [
                    table.increment("sum", 1).err(),
                    table.upsert_many(&[("sum", "2")]).err(),
                    batch.commit().err(),
                    other.transaction(|tx| tx.increment(&table, "sum", 1)).err(),
                    other.table("new", IndexKind::Hash).err(),
                    other.drop_table("t").err(),
                ] {
                    assert!(matches!(error, Some(Error::Closed { .. })), "{error:?}");
                }
                assert_eq!(table.select("sum").expect("it is open to readers"), Some(b"1".to_vec()));
                Err(ErrorKind::Other.into())
            }
        });
        store.close().expect_err("the sync fails");
    }
}

#[test]
fn creating_and_dropping_tables_hold_no_lock_while_they_wait() {
    let (_disk, store, _) = filled(Durability::EverySec);
    let pace = log(&store).allow(0);
    thread::scope(|scope| {
        let waiting = [
            scope.spawn(|| store.table("new", IndexKind::Hash).map(drop)),
            scope.spawn(|| store.drop_table("t").map(drop)),
        ];
        // Enough for them to begin to wait, on most machines.
        thread::sleep(Duration::from_millis(20));
        let (tell, told) = channel();
        let core = Arc::clone(&store.handle.0);
        thread::spawn(move || tell.send(core.moment(true, || ()).unwrap().1.len()));
        let tables = told.recv_timeout(Duration::from_secs(20));
        drop(pace);
        assert_eq!(tables, Ok(1), "a compaction cannot begin");
        for waiting in waiting {
            waiting.join().expect("no panic").expect("the disk works");
        }
    });
}

#[test]
fn a_pair_that_expires_while_a_write_waits_for_the_disk_stays_expired() {
    let (_disk, store, _) = filled(Durability::EverySec);
    let time = Arc::new(AtomicU64::new(1000));
    let hand = Arc::clone(&time);
    store.set_clock(move || (hand.load(Relaxed), hand.load(Relaxed)));
    let table = store.expiring_table("expiring", IndexKind::Hash).expect("the disk works");
    let writes: [fn(&Store, &ExpiringTable) -> crate::Result<bool>; 3] = [
        |_, table| table.replace("k", "2", None),
        |_, table| Ok(table.replace_many(&[("k", "2")], None)? == [true]),
        |store, table| store.transaction(|tx| tx.expiring(table).touch("k", None)),
    ];
    for (number, write) in writes.into_iter().enumerate() {
        table.upsert("k", "1", Duration::from_mins(1)).expect("the disk works");
        let pace = log(&store).allow(0);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| write(&store, &table));
            // Enough for it to begin to wait, on most machines.
            thread::sleep(Duration::from_millis(20));
            time.fetch_add(60_000, Relaxed);
            drop(pace);
            let done = waiting.join().expect("no panic").expect("the disk works");
            assert!(!done && !table.contains("k").expect("it is open"), "write {number}");
        });
    }
}

#[test]
fn a_disk_that_is_nearly_full_is_not_asked_with_every_write() {
    let (disk, store, table) = filled(Durability::EverySec);
    disk.set_room(log(&store).at() + SLACK + (200 << 10));
    let (asked, begun) = (disk.asked(), Instant::now());
    let written = (0..1_000_000_u32).find(|number| table.upsert("key", number.to_be_bytes()).is_err());
    let written = written.expect("the disk is full at some time");
    let again = begun.elapsed().as_millis() / ASK_AGAIN.as_millis() + 1;
    let asked = (disk.asked() - asked) as u128;
    assert!(written > 2_000, "{written} writes");
    // Each half of the largest room, and what is left in the smallest pieces.
    assert!(asked <= (20 + 200) * again, "asked {asked} times for {written} writes");
    assert!(asked < u128::from(written) / 5, "asked {asked} times for {written} writes");
}

#[test]
fn writers_wait_where_a_sync_takes_too_long() {
    /// Ends the sync also where the test fails.
    struct GoOn<'b>(&'b AtomicBool);
    impl Drop for GoOn<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let longest = Duration::from_millis(200);
    for (length, by_time) in [(10, true), (VALUE, false)] {
        let (disk, store, table) = filled(Durability::EverySec);
        store.flush().expect("the disk works");
        if by_time {
            log(&store).set_longest_unsynced(longest);
        }
        let (tell, told) = channel();
        let tell = Mutex::new(Some(tell));
        let go_on = Arc::new(AtomicBool::new(false));
        disk.before_sync({
            let go_on = Arc::clone(&go_on);
            move |_| {
                if let Some(tell) = tell.lock().expect("nobody panics").take() {
                    tell.send(()).expect("the test listens");
                    while !go_on.load(Relaxed) {
                        thread::yield_now();
                    }
                }
                Ok(())
            }
        });
        let write = || table.upsert("key", vec![1; length]).expect("the disk works");
        write();
        thread::scope(|scope| {
            let _ended = GoOn(&go_on);
            let syncing = scope.spawn(|| log(&store).tick());
            told.recv().expect("the sync begins");
            scope.spawn(|| {
                while !go_on.load(Relaxed) {
                    write();
                }
            });
            while !table.may_wait() {
                thread::yield_now();
            }
            let stats = store.stats();
            assert!(if by_time {
                stats.unsynced_for > Some(longest)
            } else {
                stats.unsynced_bytes > MOST_UNSYNCED
            });
            let before = log(&store).at();
            thread::sleep(Duration::from_millis(100));
            assert!(log(&store).at() - before <= 2 * VALUE as u64, "the writer waits");
            go_on.store(true, Relaxed);
            syncing.join().expect("it does not panic").expect("the disk works");
        });
        assert!(!log(&store).is_ahead());
        store.flush().expect("the disk works");
        assert_eq!(store.stats().unsynced_for, None);
    }
}

#[test]
fn a_log_that_cannot_be_compacted_is_bounded() {
    let disk = SimDisk::new(1);
    let core = Core::open_on(Arc::new(disk.clone()), &path(), Options::new()).expect("the disk works");
    let store = Store { handle: Arc::new(Handle(core)) };
    let table = store.table("t", IndexKind::Hash).expect("the disk works");
    disk.before_sync(|name| if is_new(name) { Err(io::Error::other("a bad sector")) } else { Ok(()) });
    let begun = log(&store).at();
    let most = LONGEST + 2 * VALUE as u64;
    // As the thread does when the log has become long.
    log(&store).note_compaction(Some(&Error::io(&path(), io::Error::other("a bad sector"))));
    let error = (0..)
        .map(|number| {
            assert!(log(&store).at() - begun <= most, "it is refused at {most} bytes");
            write(&table, number)
        })
        .find_map(crate::Result::err)
        .expect("it is refused at some time");
    assert!(error.to_string().contains("a bad sector"), "{error}");
    assert!(matches!(error, Error::Io { .. }), "{error:?}");
    assert!(log(&store).at() - begun > LONGEST / 2);
    disk.before_sync(|_| Ok(()));
    // A write that is refused has it tried again.
    let begun = Instant::now();
    // It goes on before the thread that compacts has noted that.
    let is_noted = || {
        let stats = store.stats();
        stats.compactions > 0 && stats.compaction_error.is_none()
    };
    while write(&table, 0).is_err() || !is_noted() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it was not tried again");
        thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_log_of_new_pairs_is_compacted_when_writers_pause() {
    const VALUE: usize = 1 << 20;
    let disk = SimDisk::new(1);
    let core = Core::open_on(Arc::new(disk), &path(), Options::new()).expect("the disk works");
    let store = Store { handle: Arc::new(Handle(core)) };
    let (log, table) = (log(&store), store.table("t", IndexKind::Hash).expect("the disk works"));
    let write = |keys: std::ops::Range<u64>| {
        let value = vec![7; VALUE];
        for key in keys {
            table.upsert(key.to_be_bytes(), &value).expect("the disk works");
        }
    };
    let wait_for_compactions = |count| {
        let begun = Instant::now();
        while store.stats().compactions < count {
            assert!(begun.elapsed() < Duration::from_mins(1), "there is none");
            thread::sleep(Duration::from_millis(1));
        }
    };
    log.watch();
    write(0..LEAST_DUE_BYTES / VALUE as u64 + 20);
    assert_eq!(store.stats().compactions, 0);
    assert!(!log.is_quiet(), "much was written just before");
    assert!(log.is_quiet());
    assert!(!log.is_quiet(), "once is enough");
    // Overwriting the same keys makes it due at once.
    for _ in 0..3 {
        write(0..LEAST_DUE_BYTES / VALUE as u64);
    }
    wait_for_compactions(1);
}

/// The slowest of disks: it puts nothing there before the writer has written all that it may.
#[test]
fn a_compaction_catches_up_with_writers_that_are_always_quicker() {
    let (disk, store, table) = filled(Durability::EverySec);
    let log = log(&store);
    let begun = log.at();
    let most = 2 * BURST + (DUMP + KEPT.end()) * 3 / 2 + LAST_BYTES + CHUNK;
    let [count, syncs, idle] = [0; 3].map(|_| Arc::new(AtomicU64::new(0)));
    disk.before_sync({
        let (table, log) = (table.clone(), Arc::clone(&log));
        let [count, syncs, idle] = [&count, &syncs, &idle].map(Arc::clone);
        move |name| {
            // While the new file takes the old one's place nobody can write.
            if !is_new(name) || log.is_held() {
                return Ok(());
            }
            syncs.fetch_add(1, Relaxed);
            idle.fetch_add(log.is_ahead().into(), Relaxed);
            while !log.is_ahead() {
                write(&table, count.fetch_add(1, Relaxed)).expect("the disk works");
                assert!(log.at() - begun <= most, "{} bytes were written", log.at() - begun);
            }
            Ok(())
        }
    });
    store.compact().expect("the disk works");
    assert!(!log.is_ahead(), "nobody waits any more");
    let idle = idle.load(Relaxed);
    assert!(
        idle <= 1,
        "who waits may write with each chunk that is on disk; only the dump's last one may be short: {idle}"
    );
    assert!(count.load(Relaxed) * VALUE as u64 > BURST, "much was written meanwhile");
    assert!(syncs.load(Relaxed) <= (2 * BURST + 2 * (DUMP + KEPT.end())) / CHUNK + 3);
    disk.before_sync(|_| Ok(()));
    for key in 0..KEYS {
        assert_eq!(table.select(key.to_be_bytes()).unwrap().map(|value| value.len()), Some(VALUE));
    }
    let expected: Vec<_> = (0..KEYS).map(|key| table.select(key.to_be_bytes()).unwrap()).collect();
    store.close().expect("the disk works");
    let table = open(&disk, Durability::EverySec).find_table("t").unwrap().expect("it was written");
    assert!((0..KEYS).map(|key| table.select(key.to_be_bytes()).unwrap()).eq(expected));
}

#[test]
fn writers_sync_where_nobody_else_does() {
    let (_disk, store, table) = filled(Durability::EverySec);
    log(&store).leave_to_writers();
    let mut number = 0;
    while store.stats().syncs == 0 {
        write(&table, number).expect("the disk works");
        number += 1;
    }
    assert!(store.stats().unsynced_bytes < number * 2 * VALUE as u64);
}

/// Writers wait for a compaction that is then given a reason to end; they all go on or are told why not.
struct Meeting {
    disk: SimDisk,
    store: Store,
    table: Table,
    /// Is told when the writers wait.
    waiting: Receiver<()>,
    go_on: Arc<AtomicBool>,
    /// The sync of the new file fails then.
    fails: Arc<AtomicBool>,
}

impl Meeting {
    fn new(durability: Durability) -> Self {
        let (disk, store, table) = filled(durability);
        let (tell, waiting) = channel();
        let tell = Mutex::new(Some(tell));
        let [go_on, fails] = [(); 2].map(|()| Arc::new(AtomicBool::new(false)));
        disk.before_sync({
            let (log, go_on, fails) = (log(&store), Arc::clone(&go_on), Arc::clone(&fails));
            move |name| {
                let first = if is_new(name) { tell.lock().expect("nobody panics").take() } else { None };
                let Some(tell) = first else { return Ok(()) };
                while !log.is_ahead() {
                    thread::yield_now();
                }
                tell.send(()).expect("the test listens");
                while !go_on.load(Relaxed) {
                    thread::yield_now();
                }
                if fails.load(Relaxed) { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
            }
        });
        Self { disk, store, table, waiting, go_on, fails }
    }

    /// Compacts, and writes until that fails or `enough` says so, while `meanwhile` gives the reason to end; how both
    /// ended.
    fn run(
        self,
        meanwhile: impl FnOnce(&Self),
        enough: impl Fn(&Store, u64) -> bool + Sync,
    ) -> (crate::Result<()>, Vec<Error>) {
        let ended = thread::scope(|scope| {
            let compaction = scope.spawn(|| self.store.compact());
            let (table, store, enough) = (&self.table, &self.store, &enough);
            let writers: Vec<_> = (0..3)
                .map(|_| {
                    scope.spawn(move || {
                        (0..)
                            .take_while(|number| !enough(store, *number))
                            .find_map(|number| write(table, number).err())
                    })
                })
                .collect();
            self.waiting.recv().expect("the writers come to wait");
            meanwhile(&self);
            self.go_on.store(true, Relaxed);
            let errors =
                writers.into_iter().filter_map(|writer| writer.join().expect("no writer panics")).collect();
            (compaction.join().expect("it does not panic"), errors)
        });
        self.disk.before_sync(|_| Ok(()));
        ended
    }
}

const LOGGED: [Durability; 2] = [Durability::EverySec, Durability::Always];

#[test]
fn writers_that_wait_for_a_compaction_go_on_or_are_told_why_not() {
    fn close(meeting: &Meeting) {
        let (store, go_on) = (meeting.store.clone(), Arc::clone(&meeting.go_on));
        let closed = thread::spawn(move || store.close());
        while !meeting.store.handle.0.home().expect("it has a file").compaction.is_stopped() {
            thread::yield_now();
        }
        go_on.store(true, Relaxed);
        closed.join().expect("it does not panic").expect("the disk works");
    }
    /// Meanwhile, when writers have written enough, and how the compaction and the writers end.
    type Case = (fn(&Meeting), fn(&Store, u64) -> bool, &'static str, &'static str);
    let cases: [Case; 5] = [
        (|_| {}, |store, _| store.stats().compactions > 0, "", ""),
        // More than could be written while it lasted.
        (
            |meeting| meeting.fails.store(true, Relaxed),
            |_, number| number * VALUE as u64 > 2 * BURST + DUMP + CHUNK,
            "TWINDEX_IO",
            "",
        ),
        (close, |_, _| false, "TWINDEX_CLOSED", "TWINDEX_CLOSED"),
        (
            |meeting| drop(log(&meeting.store).lead().fail(&io::Error::other("a bad sector"))),
            |_, _| false,
            "TWINDEX_LOG_FAILED",
            "TWINDEX_LOG_FAILED",
        ),
        (|meeting| meeting.disk.fail_after(0, Fault::Crash), |_, _| false, "TWINDEX_", "TWINDEX_LOG_FAILED"),
    ];
    for durability in LOGGED {
        for (number, (meanwhile, enough, compaction, writers)) in cases.into_iter().enumerate() {
            let (ended, errors) = Meeting::new(durability).run(meanwhile, enough);
            let code = ended.as_ref().err().map_or("", Error::code);
            let is_it = code.starts_with(compaction) && code.is_empty() == compaction.is_empty();
            assert!(is_it, "{durability}, {number}: {ended:?}");
            let expected = if writers.is_empty() { vec![] } else { vec![writers; 3] };
            assert_eq!(
                errors.iter().map(Error::code).collect::<Vec<_>>(),
                expected,
                "{durability}, {number}"
            );
        }
    }
}

/// What is written while a compaction syncs what it copied is copied last, when nobody can write any more. It is on disk
/// before the new file takes the old one's place: from then on it counts as synced, and nobody would sync it.
#[test]
fn what_a_compaction_copies_last_is_on_disk() {
    let (disk, store, table) = filled(Durability::EverySec);
    let (log, count) = (log(&store), Arc::new(AtomicU64::new(0)));
    disk.before_sync({
        let (table, count) = (table.clone(), Arc::clone(&count));
        move |name| {
            if is_new(name) && !log.is_held() {
                table.upsert("last", count.fetch_add(1, Relaxed).to_string()).expect("the disk works");
            }
            Ok(())
        }
    });
    store.compact().expect("the disk works");
    store.flush().expect("the disk works");
    let last = (count.load(Relaxed) - 1).to_string().into_bytes();
    for _ in 0..20 {
        let table = open(&disk.after_power_cut(), Durability::EverySec).find_table("t").unwrap();
        assert_eq!(table.and_then(|table| table.select("last").unwrap()), Some(last.clone()));
    }
}
