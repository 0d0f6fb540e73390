//! Processes that are killed while they write, and what is in the file then.
//!
//! The test starts itself again as a process that writes to a store and tells, over its standard output, what
//! was acknowledged. It is killed at a random moment, and the next one goes on with the same file.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use tempfile::tempdir;
use twindex_durable::twindex::Index;
use twindex_durable::{Durability, Options, Store};

const WRITER: &str = "TWINDEX_KILL_WRITER";
/// Rounds of killing: few in every test run, more by this variable.
const ROUNDS: &str = "TWINDEX_KILLS";
const THREADS: u8 = 4;
/// What each thread counted.
type Counts = [i64; THREADS as usize];

fn open(path: &Path, durability: Durability) -> Store {
    Options::new().durability(durability).open(path).unwrap()
}

/// The process that is killed, or, where it is not started as that, its work for a short while.
#[test]
fn counts_are_what_was_counted() {
    if let Ok(task) = std::env::var(WRITER) {
        let (durability, path) = task.split_once(' ').unwrap();
        count(&open(path.as_ref(), durability.parse().unwrap()), u64::MAX);
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("app.twx");
    for durability in [Durability::EverySec, Durability::Always] {
        count(&open(&path, durability), 100);
    }
    check(&path, Durability::None, [200; THREADS as usize], 0);
}

/// Each thread counts up, and says so once the count is acknowledged.
fn count(store: &Store, rounds: u64) {
    let table = &store.table("counts", Index::Hash).unwrap();
    let bulk = &store.table("bulk", Index::Sorted).unwrap();
    let count = |thread: u8| {
        for round in 0..rounds {
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
                    batch.expect(table, [b'l', thread], before.as_deref()).unwrap();
                    batch.expect(bulk, [b'r', thread], before.as_deref()).unwrap();
                    batch.upsert(table, [b'l', thread], count.to_string()).unwrap();
                    batch.upsert(bulk, [b'r', thread], count.to_string()).unwrap();
                    batch.commit().unwrap();
                }
                30 if thread == 0 => store.compact().unwrap(),
                _ => {}
            }
        }
    };
    std::thread::scope(|scope| {
        (0..THREADS).for_each(|thread| drop(scope.spawn(move || count(thread))));
    });
}

/// One line, in one call of the system, so that it is whole or not there.
fn say(thread: u8, count: i64) {
    std::io::stdout().write_all(format!("\n@{thread} {count}\n").as_bytes()).unwrap();
}

fn start(path: &Path, durability: Durability) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["counts_are_what_was_counted", "--exact", "--nocapture", "--test-threads=1"])
        .env(WRITER, format!("{durability} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

#[test]
fn nothing_acknowledged_is_lost_when_a_process_is_killed() {
    let rounds = std::env::var(ROUNDS).map_or(6, |rounds| rounds.parse().expect("TWINDEX_KILLS: a number"));
    let folder = tempdir().unwrap();
    // One process each, on its own file, at the same time.
    std::thread::scope(|scope| {
        for durability in [Durability::EverySec, Durability::Always] {
            for file in 0..2 {
                let path = folder.path().join(format!("{durability} {file}.twx"));
                scope.spawn(move || kill_again_and_again(&path, durability, rounds));
            }
        }
    });
}

fn kill_again_and_again(path: &Path, durability: Durability, rounds: u32) {
    let mut acknowledged = Counts::default();
    for round in 0..rounds {
        let mut child = start(path, durability);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let (all_spoke, wait) = channel();
        let reader = std::thread::spawn(move || {
            let mut last = Counts::default();
            for line in lines.map_while(Result::ok) {
                let said = line.strip_prefix('@').and_then(|line| line.split_once(' '));
                if let Some((thread, count)) = said {
                    last[thread.parse::<usize>().unwrap()] = count.parse::<i64>().unwrap();
                }
                if !last.contains(&0) {
                    // Nobody waits for it in later rounds.
                    let _ = all_spoke.send(());
                }
            }
            last
        });
        // However slow the machine is, all of them come to write in the first round. Later ones may end sooner.
        if round == 0 {
            wait.recv_timeout(Duration::from_mins(2)).expect("the process counts until it is killed");
        }
        std::thread::sleep(Duration::from_millis(200 + u64::from(fastrand::u16(..400))));
        child.kill().unwrap();
        child.wait().unwrap();
        let said = reader.join().unwrap();
        for (all, said) in acknowledged.iter_mut().zip(said) {
            *all = said.max(*all);
        }
        // What is there may be one more, and is on disk from now on.
        acknowledged = check(path, durability, acknowledged, round);
    }
    assert!(acknowledged.iter().all(|count| *count > 0), "they wrote: {acknowledged:?}");
}

/// Checks what is in the file, and closes it: the counts that were found.
fn check(path: &Path, durability: Durability, acknowledged: Counts, round: u32) -> Counts {
    let store = open(path, durability);
    let what = format!("{durability}, round {round}");
    let table = store.table("counts", Index::Hash).unwrap();
    let bulk = store.table("bulk", Index::Sorted).unwrap();
    let mut counts = Counts::default();
    for (thread, (acknowledged, found)) in (0_u8..).zip(acknowledged.into_iter().zip(&mut counts)) {
        *found = table
            .select([b'c', thread])
            .unwrap()
            .map_or(0, |count| String::from_utf8(count).unwrap().parse().unwrap());
        assert!(
            (acknowledged..=acknowledged + 1).contains(found),
            "{what}: {found}, {acknowledged} was said"
        );
        let (left, right) = (table.select([b'l', thread]).unwrap(), bulk.select([b'r', thread]).unwrap());
        assert_eq!(left, right, "{what}: half of a batch");
    }
    store.close().unwrap();
    // The lock and the file of an unfinished compaction are gone or of no concern.
    let report = twindex_durable::check(path, |_| {}).unwrap();
    assert_eq!((report.damage.len(), report.torn), (0, None), "{what}");
    counts
}
