//! One process that writes, four that follow it and one that reads the feed, any of which is killed at any moment.
//!
//! The test starts itself again as these processes. What the writer said was acknowledged is there when it was killed, and at most
//! one write more of each of its threads. Whenever a follower looks, it sees all batches up to one of them, and none behind it.
//! `TWINDEX_KILLS` says how many are killed.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::tempdir;
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Changes, Effect, Error, Options, Position, Store, Table};

const ROLE: &str = "TWINDEX_FOLLOW_ROLE";
const KILLS: &str = "TWINDEX_KILLS";
/// The last of them reads the feed.
const FOLLOWERS: usize = 5;
/// The first of the writer's threads writes batches, the others count.
const THREADS: usize = 4;

/// The test, or what one of its processes does until it is killed.
fn main() {
    let Ok(role) = std::env::var(ROLE) else {
        return nothing_acknowledged_is_lost_and_no_half_of_a_batch_is_seen();
    };
    let (role, path) = role.split_once(' ').unwrap();
    match role {
        "follower" => follow(path.as_ref()),
        "feed" => read_the_feed(path.as_ref()),
        durability => write(&Options::new().durability(durability.parse().unwrap()).open(path).unwrap()),
    }
}

/// A process that ends with this at the latest, also where the test fails.
struct Running(Child);

impl Running {
    fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    fn has_ended(&mut self) -> bool {
        self.0.try_wait().unwrap().is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(role: &str, path: &Path) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.env(ROLE, format!("{role} {}", path.display()));
    Running(command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap())
}

/// How long something is waited for that a slow machine takes a second for.
const PATIENCE: Duration = Duration::from_mins(1);

fn number(value: Option<Vec<u8>>) -> u64 {
    value.map_or(0, |value| u64::from_be_bytes(value.try_into().unwrap()))
}

fn write(store: &Store) {
    thread::scope(|scope| {
        (1..THREADS as u8).for_each(|thread| drop(scope.spawn(move || count(store, thread))));
        write_batches(store);
    });
}

/// One line, in one call of the system, so that it is whole or not there.
fn say(thread: u8, count: impl std::fmt::Display) {
    std::io::stdout().write_all(format!("\n@{thread} {count}\n").as_bytes()).unwrap();
}

/// Counts up under keys of the thread's own, and says so once the count is acknowledged.
fn count(store: &Store, thread: u8) {
    let table = store.table("counts", IndexKind::Hash).unwrap();
    let bulk = store.table("bulk", IndexKind::Sorted).unwrap();
    for round in 0_u64.. {
        let count = table.increment([b'c', thread], 1).unwrap();
        say(thread, count);
        match round % 50 {
            // Long records go another way than short ones.
            10 => {
                let pairs: Vec<_> = (0..40_u8).map(|at| ([thread, at], vec![at; 300])).collect();
                bulk.upsert_many(&pairs).unwrap();
            }
            20 => {
                let before = table.select([b'l', thread]).unwrap();
                let mut batch = store.batch();
                batch.expect(&table, [b'l', thread], before.as_deref()).unwrap();
                batch.expect(&bulk, [b'r', thread], before.as_deref()).unwrap();
                batch.upsert(&table, [b'l', thread], count.to_string()).unwrap();
                batch.upsert(&bulk, [b'r', thread], count.to_string()).unwrap();
                batch.commit().unwrap();
            }
            _ => thread::sleep(Duration::from_micros(fastrand::u64(..500))),
        }
    }
}

/// Writes batches and transactions, each with its number in three places, and says each that was acknowledged.
fn write_batches(store: &Store) {
    let (last, twin) =
        (store.table("last", IndexKind::Hash).unwrap(), store.table("twin", IndexKind::Sorted).unwrap());
    let history = store.table("history", IndexKind::Sorted).unwrap();
    for batch_number in number(last.select("n").unwrap()) + 1.. {
        let (bytes, value) = (batch_number.to_be_bytes(), vec![7; fastrand::usize(..2000)]);
        if batch_number % 2 == 0 {
            let written = store.transaction(|tx| {
                assert_eq!(number(tx.select(&twin, "n")?) + 1, batch_number);
                tx.upsert(&last, "n", bytes)?;
                tx.insert(&history, bytes, &value)?;
                tx.upsert(&twin, "n", bytes)
            });
            written.unwrap();
        } else {
            let mut batch = store.batch();
            batch.upsert(&last, "n", bytes).unwrap();
            batch.insert(&history, bytes, &value).unwrap();
            batch.upsert(&twin, "n", bytes).unwrap();
            batch.commit().unwrap();
        }
        say(0, batch_number);
        match batch_number % 100 {
            // Beside the batches, and not always over when the next begins.
            50 => {
                let store = store.clone();
                thread::spawn(move || store.compact().unwrap());
            }
            75 => {
                store.drop_table("other").unwrap();
                store.table("other", IndexKind::Hash).unwrap();
            }
            _ => thread::sleep(Duration::from_micros(fastrand::u64(..500))),
        }
    }
}

/// What each thread of the writer has written.
fn counts(store: &Store) -> [u64; THREADS] {
    let mut counts = [view(store); THREADS];
    let tables = ["counts", "bulk"].map(|name| store.find_table(name).unwrap());
    for (thread, count) in (0_u8..).zip(&mut counts).skip(1) {
        let [text, left, right] = [(0, b'c'), (0, b'l'), (1, b'r')]
            .map(|(at, key)| tables[at].as_ref().and_then(|table| table.select([key, thread]).unwrap()));
        *count = text.map_or(0, |text| String::from_utf8(text).unwrap().parse().unwrap());
        assert_eq!(left, right, "half of a batch");
    }
    counts
}

/// A follower, once there is a file.
fn opened(path: &Path) -> Store {
    let begun = Instant::now();
    loop {
        match Options::new().read_only(true).open(path) {
            Err(Error::Io { .. }) if begun.elapsed() < PATIENCE => thread::sleep(Duration::from_millis(1)),
            opened => return opened.unwrap(),
        }
    }
}

/// The number of the last batch, when all up to it are there as a whole, and none behind it.
fn view(store: &Store) -> u64 {
    let table = |name| -> Option<Table> { store.find_table(name).unwrap() };
    let value = |name| number(table(name).and_then(|table| table.select("n").unwrap()));
    let (last, twin) = (value("last"), value("twin"));
    let history = table("history");
    let newest = history.as_ref().and_then(|history| {
        let mut cursor = history.cursor(..).unwrap();
        cursor.scan_desc_next().map(|(key, _)| number(Some(key.to_vec())))
    });
    assert_eq!((last, last), (twin, history.map_or(0, |history| history.len() as u64)), "half of a batch");
    assert_eq!(last, newest.unwrap_or(0), "another batch than the last");
    last
}

fn follow(path: &Path) {
    let store = opened(path);
    let mut last = view(&store);
    loop {
        store.refresh().unwrap();
        let seen = view(&store);
        assert!(seen >= last, "it went back from {last} to {seen}");
        last = seen;
        thread::sleep(Duration::from_micros(fastrand::u64(..3000)));
    }
}

/// Reads the feed from where a copy is, and again from another copy where that was compacted away.
fn read_the_feed(path: &Path) {
    loop {
        let copy = opened(path);
        let (mut last, position) = (view(&copy), copy.position());
        let Ok(position): Result<Position, Error> = position else { continue };
        let mut feed = match Changes::open(path, position) {
            Err(Error::PositionGone { .. }) => continue,
            feed => feed.unwrap(),
        };
        loop {
            let batch = match feed.wait(Some(Duration::from_millis(fastrand::u64(..50)))) {
                Err(Error::PositionGone { .. }) | Ok(None) => break,
                batch => batch.unwrap().unwrap(),
            };
            let numbers: Vec<u64> = batch
                .changes
                .iter()
                .filter_map(|change| match &change.effect {
                    Effect::Put { key, value } if key == b"n" => Some(number(Some(value.clone()))),
                    _ => None,
                })
                .collect();
            if !numbers.is_empty() {
                last += 1;
                assert_eq!(numbers, [last, last], "half of a batch, or another than the next");
            }
        }
    }
}

fn nothing_acknowledged_is_lost_and_no_half_of_a_batch_is_seen() {
    let kills = std::env::var(KILLS).map_or(16, |kills| kills.parse().expect("TWINDEX_KILLS: a number"));
    let folder = tempdir().unwrap();
    for durability in ["everysec", "always"] {
        let path = folder.path().join(format!("{durability}.twx"));
        let acknowledged: Arc<[AtomicU64; THREADS]> = Arc::default();
        let start_writer = || {
            let mut child = start(durability, &path);
            let lines = BufReader::new(child.0.stdout.take().unwrap()).lines();
            let acknowledged = Arc::clone(&acknowledged);
            let listening = thread::spawn(move || {
                for line in lines.map_while(Result::ok) {
                    if let Some((thread, said)) = line.strip_prefix('@').and_then(|line| line.split_once(' '))
                    {
                        acknowledged[thread.parse::<usize>().unwrap()].store(said.parse().unwrap(), Relaxed);
                    }
                }
            });
            (child, listening)
        };
        let (mut writer, mut listening) = start_writer();
        let role = |at: usize| if at < FOLLOWERS - 1 { "follower" } else { "feed" };
        let mut followers: Vec<Running> = (0..FOLLOWERS).map(|at| start(role(at), &path)).collect();
        // However slow the machine is, something is written before anybody is killed.
        let begun = Instant::now();
        while acknowledged.iter().any(|thread| thread.load(Relaxed) == 0) {
            assert!(begun.elapsed() < PATIENCE && !writer.has_ended(), "the writer says nothing");
            thread::sleep(Duration::from_millis(1));
        }
        for _ in 0..kills {
            thread::sleep(Duration::from_millis(fastrand::u64(..300)));
            for follower in &mut followers {
                assert!(!follower.has_ended(), "a follower ended: see what it said");
            }
            if fastrand::bool() {
                let at = fastrand::usize(..FOLLOWERS);
                followers[at].kill();
                followers[at] = start(role(at), &path);
                continue;
            }
            writer.kill();
            listening.join().unwrap();
            for (thread, (said, next)) in acknowledged.iter().zip(counts(&opened(&path))).enumerate() {
                // Pairs stay, also if the next writer reports nothing.
                let last = said.swap(next, Relaxed);
                assert!((last..=last + 1).contains(&next), "{thread}: {next} is there, {last} was said");
            }
            (writer, listening) = start_writer();
        }
        writer.kill();
        listening.join().unwrap();
        for follower in &mut followers {
            assert!(!follower.has_ended(), "a follower ended: see what it said");
            follower.kill();
        }
        Store::open(&path).unwrap().close().unwrap();
        let report = twindex_durable::check(&path, |_| {}).unwrap();
        assert_eq!((report.damage.len(), report.torn), (0, None), "{durability}");
    }
}
