//! How quickly stores are written to files and read from them, and what durability costs.
//!
//! `cargo bench -p twindex-durable -- --help` tells how to choose rows and sizes. The rows of threads write to
//! one table of one store, whose file is on the disk of `--folder`.

#![allow(clippy::cast_precision_loss, reason = "rates are not that precise")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::{Duration, Instant};

use clap::{Parser, ValueEnum};
use comfy_table::Table as Rows;
use fastrand::Rng;
use twindex_durable::twindex::{self, Index};
use twindex_durable::{Dump, Durability, Options, Store};

#[derive(Parser)]
struct Arguments {
    /// The rows to measure; all unless told
    rows: Vec<Row>,
    /// The pairs of the rows about whole files
    #[arg(long, default_value_t = 1_000_000)]
    pairs: usize,
    /// How long each row of writers takes, in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Each row is measured so often, and the median shown
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the files are; a folder for temporary files unless told
    #[arg(long)]
    folder: Option<PathBuf>,
    /// The rows of writers with this durability alone
    #[arg(long)]
    durability: Option<Durability>,
    /// Leave the log to grow, instead of compacting it meanwhile
    #[arg(long)]
    compact_by_hand: bool,
    /// Only open this file, and print how long that took and which memory it needed
    #[arg(long, hide = true)]
    only_open: Option<PathBuf>,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Row {
    /// Dump and load pairs of 16 and 16 bytes, in memory and through a file
    Dump,
    /// The size of 200,000 keys with 15-byte values and four entries of metadata each
    Metadata,
    /// Open a file of pairs with values of 1 KB
    Reopen,
    /// Open a file of pairs of 16 and 16 bytes in a new process: from a dump, and from a log
    Open,
    /// Eight writers, batches of 256 pairs of 100 bytes
    Batches,
    /// Batches that are done all or not at all beside `upsert_many` of the same: 256 messages of 100 bytes in order
    Atomic,
    /// One writer, one pair at a time
    Single,
    /// One writer and eight, each write on disk before the next
    Commits,
    /// Values of 500 KB, 5 MB and 100 MB
    Large,
    /// Messages of 100 bytes under keys of 8, in order
    Messages,
}

/// A folder of its own, and the results so far.
struct Bench {
    arguments: Arguments,
    folder: PathBuf,
    results: Rows,
}

fn main() {
    let arguments = Arguments::parse();
    if let Some(path) = &arguments.only_open {
        return only_open(path);
    }
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    let folder = arguments.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    let rows =
        if arguments.rows.is_empty() { Row::value_variants().to_vec() } else { arguments.rows.clone() };
    let mut results = Rows::new();
    results.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header(["row", "result"]);
    let mut bench = Bench { arguments, folder, results };
    for row in rows {
        match row {
            Row::Dump => bench.dump(),
            Row::Metadata => bench.metadata(),
            Row::Reopen => bench.reopen(),
            Row::Open => bench.open_anew(),
            Row::Batches => bench.batches(),
            Row::Atomic => bench.atomic(),
            Row::Single => bench.single(),
            Row::Commits => bench.commits(),
            Row::Large => bench.large(),
            Row::Messages => bench.messages(),
        }
    }
    println!("{}", bench.results);
}

fn hex(rng: &mut Rng) -> [u8; 16] {
    let mut text = [0; 16];
    text.fill_with(|| b"0123456789abcdef"[rng.usize(..16)]);
    text
}

impl Bench {
    fn tell(&mut self, row: impl Into<String>, result: impl Into<String>) {
        let (row, result) = (row.into(), result.into());
        eprintln!("{row}: {result}");
        self.results.add_row([row, result]);
    }

    fn path(&self) -> PathBuf {
        self.folder.join("bench.twx")
    }

    fn open(&self, durability: Durability) -> Store {
        let _ = std::fs::remove_file(self.path());
        let options = Options::new().durability(durability).compact_by_hand(self.arguments.compact_by_hand);
        options.open(self.path()).expect("the folder can be written to")
    }

    /// Those of these that are asked for.
    fn durabilities(&self, all: &[Durability]) -> Vec<Durability> {
        let wanted = self.arguments.durability;
        all.iter().copied().filter(|one| wanted.is_none_or(|wanted| wanted == *one)).collect()
    }

    /// The median of what `measure` returns.
    fn median<T: PartialOrd + Copy>(&self, mut measure: impl FnMut() -> T) -> T {
        let mut all: Vec<T> = (0..self.arguments.rounds.max(1)).map(|_| measure()).collect();
        all.sort_by(|a, b| a.partial_cmp(b).expect("times are numbers"));
        all[all.len() / 2]
    }

    fn dump(&mut self) {
        for index in [Index::Hash, Index::Sorted] {
            let mut rng = Rng::with_seed(1);
            let store = twindex::Store::new();
            let table = store.table("t", index).expect("the name is new");
            for _ in 0..self.arguments.pairs {
                table.upsert(hex(&mut rng), hex(&mut rng)).expect("there is no limit");
            }
            let mut bytes = Vec::new();
            store.dump(&mut bytes).expect("memory takes any dump");
            let size = bytes.len();
            let to_memory = self.median(|| {
                bytes.clear();
                timed(|| store.dump(&mut bytes).expect("memory takes any dump"))
            });
            let from_memory = self.median(|| {
                timed(|| twindex::Store::load(&mut bytes.as_slice()).expect("it was just dumped"))
            });
            let path = self.path();
            let save =
                self.median(|| timed(|| twindex_durable::save(&store, &path).expect("the disk works")));
            let load = self.median(|| timed(|| twindex_durable::load(&path).expect("it was just saved")));
            let pairs = self.arguments.pairs;
            self.tell(format!("{pairs} pairs of 16/16, {index}: size"), format!("{size} bytes"));
            self.tell(format!("{pairs} pairs of 16/16, {index}: to memory"), seconds(to_memory));
            self.tell(format!("{pairs} pairs of 16/16, {index}: from memory"), seconds(from_memory));
            self.tell(format!("{pairs} pairs of 16/16, {index}: save, synced"), seconds(save));
            self.tell(format!("{pairs} pairs of 16/16, {index}: load"), seconds(load));
        }
    }

    /// Keys as a tree of settings has them.
    fn metadata(&mut self) {
        let store = twindex::Store::new();
        let table = store.table("settings", Index::Sorted).expect("the name is new");
        let mut text = 0;
        for number in 0..200_000 {
            let key = format!("user:/benchmark/dir{}/key{number}", number % 450);
            let value = format!("value {number:09}");
            text += key.len() + value.len();
            table.upsert(&key, &value).expect("there is no limit");
            for entry in 0..4 {
                let (name, value) = (format!("meta{entry}"), format!("{}", (number * 7 + entry) % 10_000));
                text += name.len() + value.len();
                table.upsert(format!("{key}\0{name}"), value).expect("there is no limit");
            }
        }
        let path = self.path();
        let save = self.median(|| timed(|| twindex_durable::save(&store, &path).expect("the disk works")));
        let load = self.median(|| timed(|| twindex_durable::load(&path).expect("it was just saved")));
        let size = std::fs::metadata(&path).expect("it was just saved").len();
        self.tell("settings with metadata: size", format!("{size} bytes of {text} of text"));
        self.tell("settings with metadata: save, synced", seconds(save));
        self.tell("settings with metadata: load", seconds(load));
    }

    fn reopen(&mut self) {
        let pairs = self.arguments.pairs;
        let store = twindex::Store::new();
        let table = store.table("t", Index::Hash).expect("the name is new");
        for number in 0..pairs {
            table.upsert((number as u64).to_be_bytes(), [number as u8; 1024]).expect("there is no limit");
        }
        let path = self.path();
        twindex_durable::save(&store, &path).expect("the disk works");
        drop((store, table));
        let open = self.median(|| timed(|| drop(Store::open(&path).expect("it was just saved"))));
        self.tell(format!("open {pairs} pairs of 1 KB"), seconds(open));
    }

    /// Each round is a new process, whose memory is that of the store and of opening it alone.
    fn open_anew(&mut self) {
        const BATCH: usize = 256;
        let path = self.path();
        for index in [Index::Hash, Index::Sorted] {
            for (from, batch, is_dump) in [
                ("the dump", BATCH, true),
                ("a log of batches of 256", BATCH, false),
                ("a log of single writes", 1, false),
            ] {
                self.write_file(index, batch, is_dump);
                let mut opened: Vec<_> =
                    (0..self.arguments.rounds.max(1)).map(|_| opened_elsewhere(&path)).collect();
                opened.sort_by(|a, b| a[0].total_cmp(&b[0]));
                let [time, store, most] = opened[opened.len() / 2];
                let (times, store) = (most / store, store / 1e6);
                self.tell(
                    format!("open {} pairs of 16/16, {index}, from {from}", self.arguments.pairs),
                    format!("{time:.3} s, at most {times:.2}x the {store:.0} MB of the store"),
                );
            }
        }
    }

    /// A file of pairs that were written in batches: all in the dump, or all in the log.
    fn write_file(&self, index: Index, batch: usize, is_dump: bool) {
        let mut rng = Rng::with_seed(1);
        let _ = std::fs::remove_file(self.path());
        let options = Options::new().durability(Durability::EverySec).compact_by_hand(true);
        let store = options.open(self.path()).expect("the folder can be written to");
        let table = store.table("t", index).expect("the disk works");
        for _ in 0..self.arguments.pairs / batch {
            let pairs: Vec<_> = (0..batch).map(|_| (hex(&mut rng), hex(&mut rng))).collect();
            table.upsert_many(&pairs).expect("the disk works");
        }
        if is_dump {
            store.compact().expect("the disk works");
        }
        store.close().expect("the disk works");
    }

    fn batches(&mut self) {
        const BATCH: usize = 256;
        for durability in self.durabilities(&[Durability::None, Durability::EverySec, Durability::Always]) {
            let rate = self.median(|| {
                let store = self.open(durability);
                self.writers(&store, 8, |table, rng| {
                    let pairs: Vec<_> =
                        (0..BATCH).map(|_| (rng.u64(..1 << 20).to_be_bytes(), [7; 100])).collect();
                    table.upsert_many(&pairs).expect("the disk works");
                    BATCH
                })
            });
            self.tell(format!("8 writers, batches of {BATCH} x 100 B, {durability}"), per_second(rate));
        }
    }

    /// Each writer appends to a list of its own in one sorted table: the number of the list and that of the message. All
    /// rounds are of both forms in turn, each over a store of its own.
    fn atomic(&mut self) {
        for durability in [None, Some(Durability::None), Some(Durability::EverySec), Some(Durability::Always)]
        {
            if durability.is_some_and(|durability| self.durabilities(&[durability]).is_empty()) {
                continue;
            }
            for writers in [1, 2, 8] {
                let mut rates = Vec::new();
                let ratio = self.median(|| {
                    let measured = [false, true].map(|atomic| self.append(durability, writers, atomic));
                    rates.push(measured);
                    measured[1] / measured[0]
                });
                let median = |at: usize| {
                    let mut all: Vec<f64> = rates.iter().map(|both| both[at]).collect();
                    all.sort_by(f64::total_cmp);
                    per_second(all[all.len() / 2])
                };
                let result = format!("{ratio:.2}x: {} beside {}", median(1), median(0));
                let store =
                    durability.map_or("in memory".into(), |durability| format!("in a file, {durability}"));
                self.tell(format!("{writers} writers, atomic batches beside upsert_many, {store}"), result);
            }
        }
    }

    /// How many messages a second are appended, until there are [`pairs`](Arguments::pairs).
    fn append(&self, durability: Option<Durability>, writers: usize, atomic: bool) -> f64 {
        const BATCH: u64 = 256;
        let store = durability.map_or_else(Store::new, |durability| self.open(durability));
        let table = store.table("t", Index::Sorted).expect("the disk works");
        let part = if durability == Some(Durability::Always) { 4 } else { 1 };
        let each = (self.arguments.pairs / writers / part) as u64 / BATCH * BATCH;
        let start = Barrier::new(writers + 1);
        let append = |list: u64| {
            let message = [7; 100];
            start.wait();
            for first in (0..each).step_by(BATCH as usize) {
                let keys: [[u8; 8]; BATCH as usize] =
                    std::array::from_fn(|at| (list << 48 | (first + at as u64)).to_be_bytes());
                let pairs = keys.each_ref().map(|key| (&key[..], &message[..]));
                if atomic {
                    let mut batch = store.batch();
                    for (key, value) in pairs {
                        batch.upsert(&table, key, value).expect("the table is the store's");
                    }
                    batch.commit().expect("the disk works");
                } else {
                    table.upsert_many(&pairs).expect("the disk works");
                }
            }
        };
        std::thread::scope(|scope| {
            let append = &append;
            let threads: Vec<_> = (0..writers as u64).map(|list| scope.spawn(move || append(list))).collect();
            start.wait();
            let begun = Instant::now();
            for thread in threads {
                thread.join().expect("no writer panics");
            }
            (each * writers as u64) as f64 / begun.elapsed().as_secs_f64()
        })
    }

    fn single(&mut self) {
        for durability in self.durabilities(&[Durability::None, Durability::EverySec]) {
            for writers in [1, 8] {
                let rate = self.median(|| {
                    let store = self.open(durability);
                    self.writers(&store, writers, |table, rng| {
                        table.upsert(rng.u64(..1 << 20).to_be_bytes(), [7; 16]).expect("the disk works");
                        1
                    })
                });
                self.tell(
                    format!("{writers} writers, one pair of 8/16 at a time, {durability}"),
                    per_second(rate),
                );
            }
        }
    }

    fn commits(&mut self) {
        for writers in [1, 8, 32] {
            let rate = self.median(|| {
                let store = self.open(Durability::Always);
                self.writers(&store, writers, |table, rng| {
                    table.upsert(rng.u64(..1 << 20).to_be_bytes(), [7; 16]).expect("the disk works");
                    1
                })
            });
            self.tell(format!("{writers} writers, one pair at a time, always"), per_second(rate));
        }
    }

    fn large(&mut self) {
        for (name, bytes, keys) in
            [("500 KB", 500_000, 100), ("5 MB", 5_000_000, 10), ("100 MB", 100_000_000, 2)]
        {
            let value = vec![7; bytes];
            for durability in self.durabilities(&[Durability::None, Durability::EverySec]) {
                let rate = self.median(|| {
                    let store = self.open(durability);
                    self.writers(&store, 1, |table, rng| {
                        let key = rng.u64(..keys).to_be_bytes();
                        table.upsert(key, &value).expect("the disk works");
                        table.select_with(key, |value| black_box(value.len())).expect("it is open");
                        1
                    })
                });
                self.tell(format!("values of {name}, written and read, {durability}"), per_second(rate));
            }
        }
    }

    fn messages(&mut self) {
        let pairs = self.arguments.pairs as u64;
        let store = twindex::Store::new();
        let table = store.table("messages", Index::Sorted).expect("the name is new");
        for number in 0..pairs {
            table.upsert(number.to_be_bytes(), [7; 100]).expect("there is no limit");
        }
        let bytes = store.memory() as f64 / pairs as f64;
        self.tell("bytes of memory for 100-byte messages in order", format!("{bytes:.1}"));
    }

    /// How many pairs a second these writers write to one table.
    fn writers(
        &self,
        store: &Store,
        writers: usize,
        write: impl Fn(&twindex_durable::Table, &mut Rng) -> usize + Sync,
    ) -> f64 {
        let table = store.table("t", Index::Hash).expect("the disk works");
        let (start, time) = (Barrier::new(writers), Duration::from_secs_f64(self.arguments.seconds));
        let count = |seed| {
            let mut rng = Rng::with_seed(seed);
            start.wait();
            let (begun, mut count) = (Instant::now(), 0);
            while begun.elapsed() < time {
                count += write(&table, &mut rng);
            }
            count as f64 / begun.elapsed().as_secs_f64()
        };
        std::thread::scope(|scope| {
            let count = &count;
            let threads: Vec<_> = (0..writers as u64).map(|seed| scope.spawn(move || count(seed))).collect();
            threads.into_iter().map(|thread| thread.join().expect("no writer panics")).sum()
        })
    }
}

/// Opens the file, and prints the seconds, the store's memory and the most that the process had, in bytes.
fn only_open(path: &Path) {
    let begun = Instant::now();
    let store = Options::new().compact_by_hand(true).open(path).expect("it was just written");
    let time = begun.elapsed().as_secs_f64();
    let memory = store.stats().memory;
    println!("{time} {memory} {}", most_resident());
}

/// The most memory that this process had at once, or 0 where the system does not tell.
fn most_resident() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = most.and_then(|most| most.trim().strip_suffix(" kB"));
    kib.map_or(0.0, |kib| 1024.0 * kib.parse::<f64>().expect("a number of kB"))
}

/// The same numbers from a process that does only that.
fn opened_elsewhere(path: &Path) -> [f64; 3] {
    let program = std::env::current_exe().expect("the system knows this program");
    let output = Command::new(program).arg("--only-open").arg(path).output().expect("it starts again");
    let numbers: Vec<f64> = String::from_utf8_lossy(&output.stdout)
        .split_whitespace()
        .map(|number| number.parse().expect("a number"))
        .collect();
    numbers.try_into().expect("three numbers")
}

fn timed<T>(work: impl FnOnce() -> T) -> Duration {
    let start = Instant::now();
    let result = work();
    let time = start.elapsed();
    drop(result);
    time
}

fn seconds(time: Duration) -> String {
    format!("{:.3} s", time.as_secs_f64())
}

fn per_second(rate: f64) -> String {
    if rate < 10_000.0 { format!("{rate:.1} /s") } else { format!("{:.3} M/s", rate / 1e6) }
}
