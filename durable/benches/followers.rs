//! How far followers in other processes are behind their writer, and what they cost it.
//!
//! `cargo bench -p twindex-durable --bench followers -- --folder target`. The first column is how long after a write was begun
//! a follower shows it, while one is written every 1 to 3 ms. The second is a writer that writes as quickly as it can: the time
//! that its thread has of a processor for each write, which other processes do not take part in.

#![allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are not that precise"
)]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use comfy_table::Table as Rows;
use twindex_durable::twindex::Index;
use twindex_durable::{Durability, Options, Store, Table};

#[derive(Parser)]
struct Arguments {
    /// How many processes follow
    #[arg(long, value_delimiter = ',', default_value = "0,1,4")]
    followers: Vec<usize>,
    /// How long each row takes, in seconds
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// What the second column writes
    #[arg(long, default_value_t = 500_000)]
    writes: usize,
    /// Where the files are; a folder for temporary files unless told
    #[arg(long)]
    folder: Option<PathBuf>,
    /// Be a follower of this file
    #[arg(long, hide = true)]
    follow: Option<PathBuf>,
    /// What `cargo bench` adds
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let arguments = Arguments::parse();
    if let Some(path) = &arguments.follow {
        return follow(path);
    }
    let temporary = tempfile::tempdir().expect("a folder for temporary files");
    let folder = arguments.folder.clone().unwrap_or_else(|| temporary.path().to_owned());
    let mut rows = Rows::new();
    let header = ["durability", "followers", "behind: median, 99 %, most", "processor time of a write"];
    rows.load_style(comfy_table::presets::ASCII_MARKDOWN).set_header(header);
    for durability in [Durability::EverySec, Durability::Always] {
        for &count in &arguments.followers {
            let path = folder.join(format!("followers-{}.twx", std::process::id()));
            let store = Options::new().durability(durability).compact_by_hand(true).open(&path);
            let store = store.expect("a store");
            let table = store.table("t", Index::Hash).expect("a table");
            let behind = behind(&table, start(&path, count), arguments.seconds);
            let cost = cost(&store, &table, start(&path, count), arguments.writes, durability);
            rows.add_row([durability.to_string(), count.to_string(), behind, cost]);
            store.close().expect("the disk works");
            std::fs::remove_file(path).expect("it is there");
        }
    }
    println!("{rows}");
}

/// Starts followers, and waits until they follow.
fn start(path: &Path, count: usize) -> Vec<Child> {
    let this = std::env::current_exe().expect("it is running");
    (0..count)
        .map(|_| {
            let mut command = Command::new(&this);
            command.arg("--follow").arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut child = command.spawn().expect("a process");
            let mut byte = [0];
            child.stdout.as_mut().expect("it is piped").read_exact(&mut byte).expect("it follows");
            child
        })
        .collect()
}

/// What followers say once they are told to end.
fn end(followers: Vec<Child>) -> Vec<Duration> {
    let mut all = Vec::new();
    for mut child in followers {
        drop(child.stdin.take());
        let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let behind = lines.map(|line| line.expect("it is text").parse().expect("it is a number"));
        all.extend(behind.map(Duration::from_nanos));
        child.wait().expect("it was started");
    }
    all.sort_unstable();
    all
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("it is later").as_nanos() as u64
}

/// Writes the time now and then, and tells how much later it was seen.
fn behind(table: &Table, followers: Vec<Child>, seconds: f64) -> String {
    let begun = Instant::now();
    while begun.elapsed().as_secs_f64() < seconds && !followers.is_empty() {
        table.upsert("now", now().to_be_bytes()).expect("the disk works");
        thread::sleep(Duration::from_micros(fastrand::u64(1000..3000)));
    }
    let all = end(followers);
    let at = |share: f64| all.get(((all.len().max(1) - 1) as f64 * share) as usize).copied();
    match (at(0.5), at(0.99), at(1.0)) {
        (Some(median), Some(high), Some(most)) => format!("{median:.1?}, {high:.1?}, {most:.1?}"),
        _ => "-".into(),
    }
}

/// A follower: tells how long after it was written each time was seen.
fn follow(path: &Path) {
    let store = Options::new().read_only(true).open(path).expect("it is there");
    store.follow().expect("a thread");
    let ended = thread::spawn(|| std::io::stdin().read_to_end(&mut Vec::new()));
    print!(".");
    std::io::Write::flush(&mut std::io::stdout()).expect("somebody reads it");
    let (mut last, mut all) = (None, Vec::new());
    while !ended.is_finished() {
        let seen = store
            .find_table("t")
            .expect("it is open")
            .and_then(|table| table.select("now").expect("it is open"));
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
}

/// Writes as quickly as it can: the processor's time of each write.
fn cost(
    store: &Store,
    table: &Table,
    followers: Vec<Child>,
    writes: usize,
    durability: Durability,
) -> String {
    let writes = if durability == Durability::Always { writes / 1000 } else { writes };
    let begun = processor_time();
    for number in 0..writes {
        table.upsert(((number % 10_000) as u64).to_be_bytes(), [7; 100]).expect("the disk works");
    }
    let taken = processor_time().saturating_sub(begun).as_nanos() as f64 / writes as f64;
    store.flush().expect("the disk works");
    end(followers);
    format!("{:.2} us", taken / 1e3)
}

/// What this thread has had of a processor.
#[cfg(target_os = "linux")]
fn processor_time() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

/// Elsewhere the time that has passed is the nearest to it.
#[cfg(not(target_os = "linux"))]
fn processor_time() -> Duration {
    Duration::from_nanos(now())
}
