//! Stores in files: Twindex in a file as a peer, whole files written and read, files opened anew, and followers.

use std::fs::File;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use heed::types::Bytes;
use heed::{Database, EnvFlags, PutFlags};
use tempfile::TempDir;
use twindex::IndexKind;
use twindex_benches::{
    Clock, Fallible, Job, KeyList, Options, Peer, Persistence, Record, Session, Unit, fill_value, median,
    most_resident_bytes, shared,
};
use twindex_durable::{Dump as _, Durability, Store, Table};

fn durability(persistence: Persistence) -> Durability {
    match persistence {
        Persistence::None => Durability::None,
        Persistence::Everysec => Durability::EverySec,
        Persistence::Always => Durability::Always,
    }
}

/// What opens a file, whose log is left to grow so that no compaction falls into what is measured.
pub fn options(persistence: Persistence) -> twindex_durable::Options {
    twindex_durable::Options::new().durability(durability(persistence)).compact_by_hand(true)
}

/// Messages in a sorted table in a file; with `ATOMIC` many are one batch, all or nothing.
pub struct InFile<const ATOMIC: bool> {
    store: Store,
    table: Table,
    _folder: TempDir,
}

impl<const ATOMIC: bool> Peer for InFile<ATOMIC> {
    const NAME: &'static str = if ATOMIC { "twindex-batch" } else { "twindex-file" };
    shared!(&'p Self, |peer| peer);

    fn open(given: &Options) -> Self {
        let folder = given.new_folder().expect("a folder can be made");
        let store = options(given.persistence).compact_by_hand(false).open(folder.path().join("pairs.twx"));
        let store = store.unwrap_or_else(|error| panic!("{error}"));
        let table = store.table("pairs", IndexKind::Sorted).expect("the name is valid");
        Self { store, table, _folder: folder }
    }
}

impl<const ATOMIC: bool> Drop for InFile<ATOMIC> {
    fn drop(&mut self) {
        self.store.close().expect("the file is written");
    }
}

impl<const ATOMIC: bool> Session for &InFile<ATOMIC> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.table.insert(key, value).expect("the log is written")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.table.select_with(key, read).expect("the store is open")
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        if ATOMIC {
            let mut batch = self.store.batch();
            for (key, value) in pairs {
                batch.upsert(&self.table, key, value).expect("the table is the store's");
            }
            batch.commit().expect("the log is written");
            return pairs.len();
        }
        let took_effect = self.table.insert_many(pairs).expect("the log is written");
        took_effect.into_iter().filter(|&effect| effect).count()
    }
}

/// The pairs of a file: random keys, or Elektra's key sets.
///
/// Elektra calls keys by increasing numbers with underscores that keep them in order, below one parent. Each has a value of
/// 15 bytes and four metadata entries of as many, which are pairs under it.
enum Pairs {
    Random(KeyList, usize),
    Elektra(u32),
}

const PARENT: &str = "dir:/tests/bench";
const METADATA: u32 = 4;

impl Pairs {
    fn of(job: &Job<'_>) -> Fallible<Self> {
        if job.options.keys == "elektra" {
            Ok(Self::Elektra(job.options.pairs))
        } else {
            Ok(Self::Random(job.keys(0)?.sorted(), job.value_bytes()))
        }
    }

    /// How many keys there are, metadata not counted; and pairs.
    fn counts(&self) -> (usize, usize) {
        match self {
            Self::Random(keys, _) => (keys.len(), keys.len()),
            Self::Elektra(count) => (*count as usize, (count * (1 + METADATA)) as usize),
        }
    }

    /// Gives all pairs in their order.
    fn each(&self, mut give: impl FnMut(&[u8], &[u8])) {
        match self {
            Self::Random(keys, value_bytes) => {
                let mut value = vec![0; *value_bytes];
                for (number, key) in keys.pairs(0..keys.len()) {
                    fill_value(number, &mut value);
                    give(key, &value);
                }
            }
            Self::Elektra(count) => {
                for number in 1..=*count {
                    let digits = number.to_string();
                    let key = format!("{PARENT}/key{}{digits}", "_".repeat(digits.len() - 1));
                    give(key.as_bytes(), value_of(number, 0).as_bytes());
                    for entry in 1..=METADATA {
                        let key = format!("{key}\0meta{entry}");
                        give(key.as_bytes(), value_of(number, entry).as_bytes());
                    }
                }
            }
        }
    }
}

/// Fifteen characters that look random.
fn value_of(number: u32, entry: u32) -> String {
    let mixed = (u64::from(number) << 8 | u64::from(entry)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{mixed:016x}")[..15].to_owned()
}

/// The median of some runs, in seconds: 25 at most, and none begins after a second.
fn seconds(mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = Vec::new();
    while times.len() < if cfg!(debug_assertions) { 1 } else { 25 } && times.iter().sum::<f64>() < 1.0 {
        let start = Instant::now();
        work();
        times.push(start.elapsed().as_secs_f64());
    }
    median(times)
}

fn length(path: &Path) -> u64 {
    path.metadata().unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

/// Figures of a whole file: its bytes for each key, and the seconds to write and to read it.
fn file_records(job: &Job<'_>, pairs: &Pairs, path: &Path, write: f64, read: f64) -> Vec<Record> {
    vec![
        job.record("file bytes a key", Unit::Bytes, length(path) as f64 / pairs.counts().0 as f64),
        job.record("write", Unit::Seconds, write),
        job.record("read", Unit::Seconds, read),
        job.record("write and read", Unit::Seconds, write + read),
    ]
}

/// Nobody syncs, but for `save`.
pub fn twindex_file(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let (pairs, folder) = (Pairs::of(job)?, job.options.new_folder()?);
    let path = folder.path().join("pairs.twx");
    let index = if matches!(pairs, Pairs::Elektra(_)) { IndexKind::Sorted } else { job_index(job) };
    let store = twindex::Store::new();
    let table = store.table("pairs", index)?;
    pairs.each(|key, value| {
        assert!(table.insert(key, value).expect("there is no limit"), "the key was there");
    });
    let write =
        seconds(|| store.dump(&mut File::create(&path).expect("a file")).expect("the dump is written"));
    let mut dump = Vec::new();
    let to_memory = seconds(|| {
        dump.clear();
        store.dump(&mut dump).expect("memory takes any dump");
    });
    let from_memory =
        seconds(|| drop(twindex::Store::load(&mut dump.as_slice()).expect("it was just dumped")));
    drop(dump);
    let read = seconds(|| {
        let store = twindex::Store::load(&mut File::open(&path).expect("the file")).expect("it is whole");
        assert_eq!(store.find_table("pairs").map(|table| table.len()), Some(pairs.counts().1));
    });
    let mut records = file_records(job, &pairs, &path, write, read);
    let save = seconds(|| twindex_durable::save(&store, &path).expect("the disk works"));
    drop((store, table));
    let open = seconds(|| drop(Store::open(&path).expect("it was just saved")));
    for (figure, value) in
        [("to memory", to_memory), ("from memory", from_memory), ("save, synced", save), ("open", open)]
    {
        records.push(job.record(figure, Unit::Seconds, value));
    }
    Ok(records)
}

fn job_index(job: &Job<'_>) -> IndexKind {
    if job.options.index == twindex_benches::Index::Sorted { IndexKind::Sorted } else { IndexKind::Hash }
}

/// To write is one transaction into a new file; to read, all pairs where they lie.
pub fn lmdb_file(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let (pairs, folder) = (Pairs::of(job)?, job.options.new_folder()?);
    let path = folder.path().join("lmdb");
    let write = seconds(|| {
        let _no_file_yet = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path).expect("a folder can be made");
        let env = crate::lmdb::open(&path, EnvFlags::NO_SYNC);
        let mut txn = env.write_txn().expect("LMDB opens a transaction");
        let all: Database<Bytes, Bytes> =
            env.create_database(&mut txn, None).expect("LMDB creates its database");
        pairs.each(|key, value| {
            all.put_with_flags(&mut txn, PutFlags::APPEND, key, value).expect("LMDB takes keys in order");
        });
        txn.commit().expect("LMDB commits");
        env.prepare_for_closing().wait();
    });
    let read = seconds(|| {
        let env = crate::lmdb::open(&path, EnvFlags::NO_SYNC);
        let txn = env.read_txn().expect("LMDB opens a transaction");
        let all: Database<Bytes, Bytes> =
            env.open_database(&txn, None).expect("it opens").expect("it is there");
        let found = all.iter(&txn).expect("LMDB opens a cursor").filter(|pair| {
            let (_, value) = pair.as_ref().expect("LMDB moves a cursor");
            !std::hint::black_box(value).is_empty()
        });
        assert_eq!(found.count(), pairs.counts().1);
        drop(txn);
        env.prepare_for_closing().wait();
    });
    Ok(file_records(job, &pairs, &path.join("data.mdb"), write, read))
}

/// A key is a hash of its pairs; to write is SAVE, which always syncs; to read DEBUG RELOAD, which clears the memory first.
pub fn redis_file(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let pairs = Pairs::of(job)?;
    let (server, folder) = crate::redis::start(job.options)?;
    let mut connection = crate::redis::connect(&server);
    let mut commands = redis::pipe();
    let mut waiting = 0;
    pairs.each(|key, value| {
        let mut names = key.split(|&byte| byte == 0);
        let (name, field) = (names.next(), names.next().unwrap_or(b"value"));
        commands.cmd("HSET").arg(name).arg(field).arg(value).ignore();
        waiting += 1;
        if waiting % 1_000 == 0 {
            std::mem::take(&mut commands).exec(&mut connection).expect("Redis takes the keys");
        }
    });
    if commands.cmd_iter().next().is_some() {
        commands.exec(&mut connection)?;
    }
    let write = seconds(|| redis::cmd("SAVE").exec(&mut connection).expect("Redis saves its file"));
    let read = seconds(|| {
        redis::cmd("DEBUG").arg("RELOAD").arg("NOSAVE").exec(&mut connection).expect("Redis reads its file");
        let size: usize = redis::cmd("DBSIZE").query(&mut connection).expect("Redis counts its keys");
        assert_eq!(size, pairs.counts().0);
    });
    Ok(file_records(job, &pairs, &folder.path().join("dump.rdb"), write, read))
}

/// Opens in a process of its own a file whose pairs are all in the dump (persistence none) or in a log of batches: figures
/// open, bytes of the store, and the most memory as percent of these.
pub fn open(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let folder = job.options.new_folder()?;
    let path = folder.path().join("pairs.twx");
    let keys = job.keys(0)?;
    let store = options(Persistence::Everysec).open(&path)?;
    let table = store.table("t", job_index(job))?;
    let value = vec![7; job.value_bytes()];
    for start in (0..keys.len()).step_by(job.options.batch as usize) {
        let batch = keys.pairs(start..keys.len().min(start + job.options.batch as usize));
        table.upsert_many(&batch.map(|(_, key)| (key, &value[..])).collect::<Vec<_>>())?;
    }
    if job.options.persistence == Persistence::None {
        store.compact()?;
    }
    store.close()?;
    let mut this = Command::new(std::env::current_exe()?);
    let output = this
        .args(["open-only", "--system", "twindex", "--file"])
        .arg(&path)
        .stderr(Stdio::inherit())
        .output()?;
    let records = String::from_utf8(output.stdout)?;
    let value = |figure: &str| -> Option<f64> {
        let line = records.lines().find(|line| line.contains(&format!("\"{figure}\"")))?;
        serde_json::from_str::<serde_json::Value>(line).ok()?["value"].as_f64()
    };
    let missing = "the process that opens the file failed";
    let (time, bytes) = (value("open").ok_or(missing)?, value("store").ok_or(missing)?);
    let mut records = vec![
        job.record("open", Unit::Seconds, time),
        job.record("bytes", Unit::Bytes, bytes / keys.len() as f64),
    ];
    let most = value("most").map(|most| job.record("most bytes", Unit::Bytes, most / keys.len() as f64));
    records.extend(most);
    Ok(records)
}

/// The part of [`open`] that is a process of its own.
pub fn open_only(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let path = job.options.file.as_ref().ok_or("open-only takes --file FILE")?;
    let start = Instant::now();
    let store = options(Persistence::Everysec).open(path)?;
    let time = start.elapsed().as_secs_f64();
    let mut records = vec![
        job.record("open", Unit::Seconds, time),
        job.record("store", Unit::Bytes, store.stats().memory as f64),
    ];
    records.extend(most_resident_bytes().map(|most| job.record("most", Unit::Bytes, most as f64)));
    Ok(records)
}

/// How far followers in other processes, as many as --threads, are behind their writer, and what a write costs it in
/// processor time. One is written every 1 to 3 ms for the first, as quickly as possible for the second.
pub fn followers(job: &Job<'_>) -> Fallible<Vec<Record>> {
    const WATCHED: Duration = Duration::from_secs(1);
    let folder = job.options.new_folder()?;
    let path = folder.path().join("followed.twx");
    let store = options(job.options.persistence).open(&path)?;
    let table = store.table("t", IndexKind::Hash)?;
    let following = start(&path, job.threads())?;
    let begun = Instant::now();
    while begun.elapsed() < WATCHED {
        table.upsert("now", now().to_be_bytes())?;
        thread::sleep(Duration::from_micros(fastrand::u64(1000..3000)));
    }
    let behind = end(following)?;
    let following = start(&path, job.threads())?;
    let writes = if job.options.persistence == Persistence::Always {
        job.options.pairs / 1_000
    } else {
        job.options.pairs
    };
    let begun = Clock::Processor.now();
    for number in 0..writes {
        table.upsert(u64::from(number % 10_000).to_be_bytes(), [7; 100])?;
    }
    let cost = Clock::Processor.since(begun).as_nanos() as f64 / f64::from(writes.max(1));
    store.flush()?;
    end(following)?;
    store.close()?;
    let mut records = vec![job.record("write", Unit::Nanoseconds, cost)];
    for (figure, share) in [("behind p50", 0.5), ("behind p99", 0.99), ("behind worst", 1.0)] {
        let at = behind.get((behind.len().saturating_sub(1) as f64 * share) as usize);
        records.extend(at.map(|at| job.record(figure, Unit::Nanoseconds, *at as f64)));
    }
    Ok(records)
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64)
}

/// Starts followers, and waits until they follow.
fn start(path: &Path, count: usize) -> Fallible<Vec<Child>> {
    let start = |_| {
        let mut this = Command::new(std::env::current_exe()?);
        this.args(["follow", "--system", "twindex", "--file"]).arg(path);
        let mut child = this.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = [0];
        child.stdout.as_mut().ok_or("no output")?.read_exact(&mut line)?;
        Ok(child)
    };
    (0..count).map(start).collect()
}

/// What followers say once they are told to end, in nanoseconds, the least first.
fn end(followers: Vec<Child>) -> Fallible<Vec<u64>> {
    let mut all = Vec::new();
    for mut child in followers {
        drop(child.stdin.take());
        for line in BufReader::new(child.stdout.take().ok_or("no output")?).lines() {
            all.extend(line?.parse::<u64>());
        }
        child.wait()?;
    }
    all.sort_unstable();
    Ok(all)
}

/// A follower: says how long after it was written each time was seen.
pub fn follow(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let path = job.options.file.as_ref().ok_or("follow takes --file FILE")?;
    let store = twindex_durable::Options::new().read_only(true).open(path)?;
    store.follow()?;
    let ended = thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    println!();
    std::io::stdout().flush()?;
    let (mut last, mut all) = (None, Vec::new());
    while !ended.is_finished() {
        let seen = store.find_table("t")?.map(|table| table.select("now")).transpose()?.flatten();
        if seen != last && last.is_some() {
            let written = seen.as_deref().and_then(|seen| seen.try_into().ok()).map(u64::from_be_bytes);
            all.extend(written.map(|written| now().saturating_sub(written)));
        }
        last = seen;
        thread::sleep(Duration::from_micros(50));
    }
    for behind in all {
        println!("{behind}");
    }
    Ok(Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The report counts names without their parent, values, and a zero byte behind each.
    #[test]
    fn key_sets_are_in_order_and_as_large_as_the_report_says() {
        for (count, bytes) in [(2, 220), (200, 22_584), (2_000, 229_786), (200_000, 23_777_790)] {
            let (mut raw, mut last) = (0, Vec::new());
            Pairs::Elektra(count).each(|key, value| {
                assert!(key > last.as_slice(), "{} after {}", key.escape_ascii(), last.escape_ascii());
                last = key.to_vec();
                let name = key.split(|&byte| byte == 0).nth(1).unwrap_or(&key[PARENT.len()..]);
                raw += name.len() + 1 + value.len() + 1;
            });
            assert_eq!(raw, bytes, "{count} keys");
        }
    }
}
