//! Elektra's quickdump: how large the file of a key set is, and how long it takes to write and to read.
//!
//! Keys are called as in that report, by increasing numbers with underscores that keep them in order, below one parent.
//! Each has a value of 15 bytes and four metadata entries of as many, which are pairs under it. Nobody syncs the file,
//! but for Redis, which always does.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use heed::types::Bytes;
use heed::{Database, Env, EnvFlags, EnvOpenOptions, PutFlags};
use tempfile::TempDir;
use twindex::{Index, Store};
use twindex_durable::Dump;
use twindex_benches::{Reach, Record};

use super::test::{Job, System, special};
use crate::server::{Persistence, Server};

const PARENT: &str = "dir:/tests/bench";
const VALUE_BYTES: usize = 15;
const METADATA: u32 = 4;
/// Small files are written and read so often, and the median counts.
const RUNS: usize = 25;
/// No more runs are made after so many seconds.
const LONG_ENOUGH: f64 = 1.0;

pub(super) const SYSTEMS: &[System] = &[
    special("twindex", Reach::Process, |job| all("twindex", Reach::Process, job, twindex)),
    special("lmdb", Reach::Process, |job| all("lmdb", Reach::Process, job, lmdb)),
    special("redis", Reach::Loopback, |job| all("redis", Reach::Loopback, job, redis)),
];

/// What one system did with one key set.
struct Outcome {
    file_bytes: u64,
    set_seconds: f64,
    get_seconds: f64,
}

fn all(name: &str, reach: Reach, job: &Job, measure: fn(u32, &Path) -> Outcome) -> Vec<Record> {
    let sizes = job.sizes;
    let few_enough = |keys: &&u32| reach == Reach::Process || **keys <= sizes.remote_keyset;
    let record = |&keys: &u32| {
        let folder = TempDir::new_in(job.folder).expect("a folder can be made");
        let Outcome { file_bytes, set_seconds, get_seconds } = measure(keys, folder.path());
        Record::new("keyset", name, reach, u64::from(keys))
            .with("keys", keys)
            .figure("file_bytes_per_key", file_bytes as f64 / f64::from(keys))
            .figure("file_bytes", file_bytes as f64)
            .figure("set_seconds", set_seconds)
            .figure("get_seconds", get_seconds)
            .figure("set_and_get_seconds", set_seconds + get_seconds)
    };
    sizes.keysets.iter().filter(few_enough).map(record).collect()
}

fn twindex(keys: u32, folder: &Path) -> Outcome {
    let path = folder.join("keys.twx");
    let store = Store::new();
    let table = store.table("keys", Index::Sorted).expect("the name is valid");
    for number in 1..=keys {
        for_each_pair(number, |key, value| {
            assert!(table.insert(key, value).expect("there is no memory limit"), "the key was there before");
        });
    }
    let set_seconds = median_seconds(|| {
        store.dump(&mut File::create(&path).expect("a file can be made")).expect("the dump is written");
    });
    drop(store);
    let get_seconds = median_seconds(|| {
        let store = Store::load(&mut File::open(&path).expect("the file is there")).expect("it is whole");
        let table = store.find_table("keys").expect("the table is there");
        assert_eq!(table.len(), pairs(keys));
        for_each_pair(keys, |key, value| assert_eq!(table.select(key).as_deref(), Some(value)));
    });
    Outcome { file_bytes: length(&path), set_seconds, get_seconds }
}

/// A set is one transaction into a new file, a get opens the file and reads all pairs where they lie.
fn lmdb(keys: u32, folder: &Path) -> Outcome {
    let path = folder.join("lmdb");
    let fill = |txn: &mut heed::RwTxn<'_>, pairs: Database<Bytes, Bytes>| {
        for number in 1..=keys {
            for_each_pair(number, |key, value| {
                pairs.put_with_flags(txn, PutFlags::APPEND, key, value).expect("LMDB takes keys in order");
            });
        }
    };
    let set_seconds = median_seconds(|| {
        let _no_file_yet = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder can be made");
        let env = open_lmdb(&path);
        let mut txn = env.write_txn().expect("LMDB opens a transaction");
        let pairs = env.create_database(&mut txn, None).expect("LMDB creates its one database");
        fill(&mut txn, pairs);
        txn.commit().expect("LMDB commits");
        env.prepare_for_closing().wait();
    });
    let get_seconds = median_seconds(|| {
        let env = open_lmdb(&path);
        let txn = env.read_txn().expect("LMDB opens a transaction");
        let all: Database<Bytes, Bytes> =
            env.open_database(&txn, None).expect("it opens").expect("it is there");
        let mut found = 0;
        for pair in all.iter(&txn).expect("LMDB opens a cursor") {
            let (_, value) = pair.expect("LMDB moves a cursor");
            found += usize::from(std::hint::black_box(value).len() == VALUE_BYTES);
        }
        assert_eq!(found, pairs(keys));
        drop(txn);
        env.prepare_for_closing().wait();
    });
    Outcome { file_bytes: length(&path.join("data.mdb")), set_seconds, get_seconds }
}

fn open_lmdb(path: &Path) -> Env {
    // SAFETY: no other process knows the folder, and this one has it open once at a time. Without syncing a crash may
    // leave a broken file, which is never opened again.
    unsafe { EnvOpenOptions::new().map_size(8 << 30).flags(EnvFlags::NO_SYNC).open(path) }
        .expect("LMDB opens the folder")
}

/// A key is a hash of its value and its metadata; a set is SAVE, a get DEBUG RELOAD, which clears the memory first.
fn redis(keys: u32, folder: &Path) -> Outcome {
    const BLOCK: usize = 1_000;
    let server = Server::start(Persistence::Off, folder);
    let mut connection = server.connect();
    for start in (1..=keys).step_by(BLOCK) {
        let mut commands = redis::pipe();
        for number in start..=keys.min(start + BLOCK as u32 - 1) {
            commands.cmd("HSET").arg(key_of(number));
            for_each_pair(number, |key, value| {
                let field = key.split(|&byte| byte == 0).nth(1).unwrap_or(b"value");
                commands.arg(field).arg(value);
            });
            commands.ignore();
        }
        commands.exec(&mut connection).expect("Redis takes the keys");
    }
    let set_seconds =
        median_seconds(|| redis::cmd("SAVE").exec(&mut connection).expect("Redis saves its file"));
    let get_seconds = median_seconds(|| {
        redis::cmd("DEBUG").arg("RELOAD").arg("NOSAVE").exec(&mut connection).expect("Redis reads its file");
        let size: u32 = redis::cmd("DBSIZE").query(&mut connection).expect("Redis counts its keys");
        assert_eq!(size, keys);
    });
    Outcome { file_bytes: length(&server.folder().join("dump.rdb")), set_seconds, get_seconds }
}

fn length(path: &Path) -> u64 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

fn median_seconds(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = Vec::new();
    while times.len() < RUNS && times.iter().sum::<f64>() < LONG_ENOUGH {
        let start = Instant::now();
        work();
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn pairs(keys: u32) -> usize {
    (keys * (1 + METADATA)) as usize
}

fn key_of(number: u32) -> String {
    let digits = number.to_string();
    format!("{PARENT}/key{}{digits}", "_".repeat(digits.len() - 1))
}

/// The pairs of a key in their order: its own, and its metadata.
fn for_each_pair(number: u32, mut take: impl FnMut(&[u8], &[u8])) {
    let mut rng = fastrand::Rng::with_seed(number.into());
    let key = key_of(number);
    for entry in 0..=METADATA {
        let value: [u8; VALUE_BYTES] = std::array::from_fn(|_| rng.alphanumeric() as u8);
        if entry == 0 {
            take(key.as_bytes(), &value);
        } else {
            take(format!("{key}\0meta{entry}").as_bytes(), &value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report counts names without their parent, values, and a zero byte behind each.
    #[test]
    fn the_key_sets_are_as_large_as_the_report_says() {
        for (keys, bytes) in [(2, 220), (200, 22_584), (2_000, 229_786), (200_000, 23_777_790)] {
            let mut raw = 0;
            for number in 1..=keys {
                for_each_pair(number, |key, value| {
                    let name = key.split(|&byte| byte == 0).nth(1).unwrap_or(&key[PARENT.len()..]);
                    raw += name.len() + 1 + value.len() + 1;
                });
            }
            assert_eq!(raw, bytes, "{keys} keys");
        }
    }

    #[test]
    fn keys_are_in_order() {
        let mut last = Vec::new();
        for number in 1..=1_200 {
            for_each_pair(number, |key, _| {
                assert!(*key > *last, "{} after {}", key.escape_ascii(), last.escape_ascii());
                last = key.to_vec();
            });
        }
    }
}
