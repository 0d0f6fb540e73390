//! Snapshots and transactions: reads in a snapshot, what an open one costs writers and memory, and transfers between accounts.

use std::ops::Bound;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use redb::{ReadableDatabase, ReadableTable};
use twindex_benches::{
    Clock, Fallible, Index, Job, KeyList, Options, Peer, Persistence, Record, Session, SortedSession, Unit,
    claim_memory, fill_value, median, shared, spread, usual::walk,
};

/// How long transfers are made. In a test it is enough that they end.
const TIME: Duration = Duration::from_millis(if cfg!(debug_assertions) { 5 } else { 2000 });

fn index(options: &Options) -> twindex::IndexKind {
    if options.index == Index::Hash { twindex::IndexKind::Hash } else { twindex::IndexKind::Sorted }
}

// --- reading in a snapshot

/// A table that is read through a snapshot, which the first read after a write opens.
pub struct Snapshotted(twindex::Store, twindex::Table);

pub struct Reader<'p>(&'p Snapshotted, Option<twindex::SnapshotTable>);

impl Reader<'_> {
    fn read(&mut self) -> &twindex::SnapshotTable {
        let open = || self.0.0.snapshot().and_then(|snapshot| snapshot.table("pairs"));
        self.1.get_or_insert_with(|| open().expect("a snapshot opens"))
    }
}

impl Peer for Snapshotted {
    const NAME: &'static str = "twindex-snapshot";
    const MANY: bool = false;
    shared!(Reader<'p>, |peer| Reader(peer, None));

    fn open(options: &Options) -> Self {
        let store = twindex::Store::new();
        let table = store.table("pairs", index(options)).expect("the name is valid");
        Self(store, table)
    }
}

impl Session for Reader<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.1 = None;
        self.0.1.insert(key, value).expect("there is no memory limit")
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.1 = None;
        self.0.1.replace(key, value).expect("there is no memory limit")
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.1 = None;
        self.0.1.delete(key).expect("the key is not too long")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.read().select_with(key, read)
    }

    fn select_many(&mut self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        self.read().select_many(keys, read);
    }
}

impl SortedSession for Reader<'_> {
    fn scan(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        walk(self.read().cursor(first..).expect("it is sorted"), limit, read)
    }

    fn scan_many(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        self.read().cursor(first..).expect("it is sorted").scan_asc_next_many(limit, read)
    }
}

/// redb in memory, without durability. One thread writes at a time.
pub struct Redb(redb::Database);

type RedbTable = redb::ReadOnlyTable<&'static [u8], &'static [u8]>;
pub struct RedbSession<'p>(&'p Redb, Option<RedbTable>);

const PAIRS: redb::TableDefinition<&[u8], &[u8]> = redb::TableDefinition::new("pairs");

impl Redb {
    fn new() -> Self {
        let backend = redb::backends::InMemoryBackend::new();
        let database = redb::Database::builder().set_cache_size(4 << 30).create_with_backend(backend);
        Self(database.expect("redb makes a database"))
    }

    fn write<R>(&self, work: impl FnOnce(&mut redb::Table<'_, &[u8], &[u8]>) -> R) -> R {
        let mut txn = self.0.begin_write().expect("redb begins");
        txn.set_durability(redb::Durability::None).expect("redb takes it");
        let done = work(&mut txn.open_table(PAIRS).expect("redb opens its table"));
        txn.commit().expect("redb commits");
        done
    }
}

impl Peer for Redb {
    const NAME: &'static str = "redb";
    const MANY: bool = false;
    shared!(RedbSession<'p>, |peer| RedbSession(peer, None));

    fn open(_: &Options) -> Self {
        Self::new()
    }
}

impl RedbSession<'_> {
    fn read(&mut self) -> &RedbTable {
        let begin = || self.0.0.begin_read().expect("redb begins").open_table(PAIRS);
        self.1.get_or_insert_with(|| begin().expect("redb opens its table"))
    }

    fn write<R>(&mut self, work: impl FnOnce(&mut redb::Table<'_, &[u8], &[u8]>) -> R) -> R {
        self.1 = None;
        self.0.write(work)
    }
}

impl Session for RedbSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.write(|table| table.insert(key, value).expect("redb inserts").is_none())
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.write(|table| table.insert(key, value).expect("redb inserts").is_some())
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.write(|table| table.remove(key).expect("redb removes").is_some())
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.read().get(key).expect("redb gets").map(|value| read(value.value()))
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let insert = |table: &mut redb::Table<'_, &[u8], &[u8]>, (key, value): &(&[u8], &[u8])| {
            table.insert(*key, *value).expect("redb inserts").is_none()
        };
        self.write(|table| pairs.iter().filter(|pair| insert(table, pair)).count())
    }
}

impl SortedSession for RedbSession<'_> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let range = (Bound::Included(first), Bound::Unbounded);
        let pairs = self.read().range::<&[u8]>(range).expect("redb opens a range").take(limit);
        let pairs = pairs.map(|pair| pair.expect("redb reads on"));
        pairs.map(|(key, value)| read(key.value(), value.value())).count()
    }
}

// --- what an open snapshot costs

/// Figures open, wait, writes, memory and kept: the time to open one and the longest write meanwhile, beside the longest without;
/// writes before, while and after segments are copied; bytes after increments; bytes after all was replaced.
pub fn costs(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let keys = job.keys(0)?;
    claim_memory((keys.bytes() + keys.len() * (job.value_bytes() + 250)) as u64);
    let replace_all = |table: &twindex::Table, more: u32| -> Fallible {
        let mut value = vec![0; job.value_bytes()];
        for (number, key) in keys.pairs(0..keys.len()) {
            fill_value(number + more, &mut value);
            table.upsert(key, &value)?;
        }
        Ok(())
    };
    let mut records = Vec::new();
    if job.wants("kept") {
        // First, in a store that nothing has been freed in.
        let Snapshotted(store, table) = &Snapshotted::open(job.options);
        replace_all(table, 0)?;
        let bytes = || store.memory() as f64 / keys.len() as f64;
        records.push(job.record("bytes a pair, live", Unit::Bytes, bytes()));
        let snapshot = store.snapshot()?;
        for times in ["once", "twice"] {
            replace_all(table, 1)?;
            records.push(job.record(format!("bytes a pair, replaced {times}"), Unit::Bytes, bytes()));
        }
        drop(snapshot);
        let snapshots: Vec<_> = (0..100)
            .map(|at| table.upsert(keys.key(at % keys.len()), "at").and_then(|()| store.snapshot()))
            .collect::<Result<_, _>>()?;
        records.push(job.record("bytes a pair, a hundred open", Unit::Bytes, bytes()));
        drop(snapshots);
    }
    let Snapshotted(store, table) = &Snapshotted::open(job.options);
    replace_all(table, 0)?;
    if job.wants("writes") {
        records.extend(writes(job, store, table, &keys)?);
    }
    if job.wants("open") {
        for opens in [false, true] {
            records.extend(opening(job, store, table, &keys, opens));
        }
    }
    if job.wants("memory") {
        let counters = store.table("counters", twindex::IndexKind::Hash)?;
        for (figure, count, times) in [("one key", 1, 10 * keys.len()), ("1,000 keys", 1000, keys.len())] {
            let name = |at: usize| format!("{figure} {}", at % count);
            (0..count).try_for_each(|at| counters.increment(name(at), 1).map(drop))?;
            let (_snapshot, before) = (store.snapshot()?, store.memory());
            for at in 0..times {
                counters.increment(name(at), 1)?;
            }
            let more = store.memory().saturating_sub(before) as f64;
            records.push(job.record(format!("bytes more, {figure}"), Unit::Bytes, more));
        }
    }
    Ok(records)
}

/// Two threads write, and a third one opens a hundred snapshots, or waits as long. A wait is in the processor's time of the
/// writer's thread, as the system interrupts a writer for longer than that.
fn opening(
    job: &Job<'_>,
    store: &twindex::Store,
    table: &twindex::Table,
    keys: &KeyList,
    opens: bool,
) -> Vec<Record> {
    let (done, begin) = (AtomicBool::new(false), Barrier::new(3));
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|group| {
                let (done, begin) = (&done, &begin);
                scope.spawn(move || {
                    let mut longest = Vec::new();
                    begin.wait();
                    let group = keys.group(group, 2);
                    for position in std::iter::repeat_with(|| group.clone()).flatten() {
                        let start = Clock::Processor.now();
                        table.upsert(keys.key(position), b"sixteen bytes...").expect("there is no limit");
                        longest.push(Clock::Processor.since(start).as_nanos() as f64);
                        if longest.len() > 1 << 16 {
                            longest.sort_unstable_by(|one, other| other.total_cmp(one));
                            longest.truncate(64);
                        }
                        if done.load(Relaxed) {
                            break;
                        }
                    }
                    longest.into_iter().fold(0.0, f64::max)
                })
            })
            .collect();
        begin.wait();
        let mut times = Vec::new();
        for _ in 0..if cfg!(debug_assertions) { 3 } else { 100 } {
            thread::sleep(Duration::from_millis(2));
            if opens {
                let start = Instant::now();
                let snapshot = store.snapshot().expect("it opens");
                times.push(start.elapsed().as_nanos() as f64);
                drop(snapshot);
            }
        }
        done.store(true, Relaxed);
        let longest = writers.into_iter().map(|writer| writer.join().expect("it writes")).fold(0.0, f64::max);
        if opens {
            let worst = times.iter().copied().fold(0.0, f64::max);
            vec![
                job.record("open, median", Unit::Nanoseconds, median(times)),
                job.record("open, longest", Unit::Nanoseconds, worst),
                job.record("longest write while it opens", Unit::Nanoseconds, longest),
            ]
        } else {
            vec![job.record("longest write without", Unit::Nanoseconds, longest)]
        }
    })
}

/// Replaces values in random order. Under each snapshot, the first sixty-fourth of the writes copies nearly all segments. The first
/// snapshot takes memory from the system, and the second one what that has left.
fn writes(
    job: &Job<'_>,
    store: &twindex::Store,
    table: &twindex::Table,
    keys: &KeyList,
) -> Fallible<Vec<Record>> {
    let mut value = vec![0; job.value_bytes()];
    let mut replace = |figure: &str, positions: std::ops::Range<usize>| {
        let start = job.options.clock.now();
        for (number, key) in keys.pairs(positions.clone()) {
            fill_value(number, &mut value);
            table.upsert(key, &value).expect("there is no limit");
        }
        job.rate(figure, positions.len(), job.options.clock.since(start))
    };
    let (first, all) = (keys.len() / 64, keys.len());
    // The first pass finds room that deletes and older values have left.
    replace("", 0..all);
    let mut records = vec![replace("writes without, first", 0..first), replace("writes without", first..all)];
    for [copying, after] in [
        ["writes while copying, first snapshot", "writes after copying, first snapshot"],
        ["writes while copying", "writes after copying"],
    ] {
        let snapshot = store.snapshot()?;
        records.push(replace(copying, 0..first));
        records.push(replace(after, first..all));
        drop(snapshot);
    }
    Ok(records)
}

// --- transactions

/// Accounts between which money is moved: two reads and two writes, as one transaction.
trait Bank: Sync {
    fn transfer(&self, from: &[u8], to: &[u8]);
    fn fill(&self, keys: &KeyList);
    fn balance(&self, key: &[u8]) -> u64;
}

const BALANCE: u64 = 1 << 40;

fn account(balance: u64) -> [u8; 16] {
    let mut value = [7; 16];
    value[..8].copy_from_slice(&balance.to_le_bytes());
    value
}

fn balance(value: &[u8]) -> u64 {
    u64::from_le_bytes(*value.first_chunk().expect("a balance has eight bytes"))
}

macro_rules! twindex_bank {
    ($name:ident, $store:ty, $table:ty, $error:ty, $($none:ident)?) => {
        struct $name($store, $table);

        impl Bank for $name {
            fn transfer(&self, from: &[u8], to: &[u8]) {
                let done = self.0.transaction(|tx| {
                    let [one, two] =
                        [tx.select(&self.1, from)?, tx.select(&self.1, to)?].map(|value| balance(&value.expect("an account")));
                    tx.upsert(&self.1, from, account(one - 1))?;
                    tx.upsert(&self.1, to, account(two + 1))?;
                    Ok::<_, $error>(())
                });
                done.expect("it commits");
            }

            fn fill(&self, keys: &KeyList) {
                for (_, key) in keys.pairs(0..keys.len()) {
                    self.1.upsert(key, account(BALANCE)).expect("there is no limit");
                }
            }

            fn balance(&self, key: &[u8]) -> u64 {
                balance(&self.1.select(key)$(.$none())?.expect("an account"))
            }
        }
    };
}
twindex_bank!(InMemory, twindex::Store, twindex::Table, twindex::Error,);
twindex_bank!(InFile, twindex_durable::Store, twindex_durable::Table, twindex_durable::Error, unwrap);

impl Bank for Redb {
    fn transfer(&self, from: &[u8], to: &[u8]) {
        self.write(|table| {
            let [one, two] = [from, to]
                .map(|key| balance(table.get(key).expect("redb gets").expect("an account").value()));
            table.insert(from, &account(one - 1)[..]).expect("redb inserts");
            table.insert(to, &account(two + 1)[..]).expect("redb inserts");
        });
    }

    fn fill(&self, keys: &KeyList) {
        self.write(|table| {
            for (_, key) in keys.pairs(0..keys.len()) {
                table.insert(key, &account(BALANCE)[..]).expect("redb inserts");
            }
        });
    }

    fn balance(&self, key: &[u8]) -> u64 {
        let table =
            self.0.begin_read().expect("redb begins").open_table(PAIRS).expect("redb opens its table");
        balance(table.get(key).expect("redb gets").expect("an account").value())
    }
}

impl Bank for crate::lmdb::InMemory {
    fn transfer(&self, from: &[u8], to: &[u8]) {
        let mut txn = self.env.write_txn().expect("LMDB begins");
        let [one, two] =
            [from, to].map(|key| balance(self.pairs.get(&txn, key).expect("LMDB gets").expect("an account")));
        self.pairs.put(&mut txn, from, &account(one - 1)).expect("LMDB puts");
        self.pairs.put(&mut txn, to, &account(two + 1)).expect("LMDB puts");
        txn.commit().expect("LMDB commits");
    }

    fn fill(&self, keys: &KeyList) {
        let mut txn = self.env.write_txn().expect("LMDB begins");
        for (_, key) in keys.pairs(0..keys.len()) {
            self.pairs.put(&mut txn, key, &account(BALANCE)).expect("LMDB puts");
        }
        txn.commit().expect("LMDB commits");
    }

    fn balance(&self, key: &[u8]) -> u64 {
        let txn = self.env.read_txn().expect("LMDB begins");
        balance(self.pairs.get(&txn, key).expect("LMDB gets").expect("an account"))
    }
}

/// Figures apart (each thread has accounts of its own), hot (all have the same hundred) and the share of its slowest thread.
pub fn transactions(job: &Job<'_>) -> Fallible<Vec<Record>> {
    match job.system {
        "redb" => transfers(job, &Redb::new()),
        "lmdb" => transfers(job, &crate::lmdb::InMemory::open(job.options)),
        _ if job.options.persistence == Persistence::None => {
            let store = twindex::Store::new();
            let table = store.table("pairs", index(job.options))?;
            transfers(job, &InMemory(store, table))
        }
        _ => {
            let folder = job.options.new_folder()?;
            let options = crate::files::options(job.options.persistence);
            let store = options.open(folder.path().join("store.twx"))?;
            let table = store.table("pairs", index(job.options))?;
            let done = transfers(job, &InFile(store.clone(), table));
            store.close()?;
            done
        }
    }
}

fn transfers(job: &Job<'_>, bank: &impl Bank) -> Fallible<Vec<Record>> {
    let (keys, threads, clock) = (job.keys(0)?, job.threads(), job.options.clock);
    bank.fill(&keys);
    let mut records = Vec::new();
    for hot in [false, true] {
        let (figure, barrier) = (if hot { "hot" } else { "apart" }, Barrier::new(threads));
        if !job.wants(figure) || hot && threads == 1 {
            continue;
        }
        let made = spread(
            threads,
            || fastrand::Rng::with_seed(7),
            |thread, random| {
                let group = if hot { 0..100.min(keys.len()) } else { keys.group(thread, threads) };
                let mut count = 0;
                (0..thread).for_each(|_| *random = random.fork());
                barrier.wait();
                let start = clock.now();
                while clock.since(start) < TIME {
                    for _ in 0..if cfg!(debug_assertions) { 1 } else { 16 } {
                        let (from, to) = (random.usize(group.clone()), random.usize(group.clone()));
                        if from != to {
                            bank.transfer(keys.key(from), keys.key(to));
                            count += 1;
                        }
                    }
                }
                (count, clock.since(start))
            },
        );
        let counts = made.iter().map(|(count, _)| count);
        let longest = made.iter().map(|(_, time)| *time).max().unwrap_or_default();
        let (all, least): (usize, usize) = (counts.clone().sum(), counts.min().copied().unwrap_or(0));
        records.push(job.rate(figure, all, longest));
        if hot {
            let share = 100.0 * least as f64 * threads as f64 / all as f64;
            records.push(job.record("hot, slowest thread's share", Unit::Percent, share));
        }
    }
    let sum: u64 = keys.pairs(0..keys.len()).map(|(_, key)| bank.balance(key) - BALANCE / 2).sum();
    assert_eq!(sum, keys.len() as u64 * (BALANCE / 2), "money was lost or made");
    Ok(records)
}
