//! What a watch costs a writer, and how soon it tells, beside a loop that scans the prefix every millisecond:
//! benches/results/2026-11-26-watch.md.

#![allow(clippy::cast_precision_loss, reason = "figures are rounded")]

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use twindex_durable::twindex::IndexKind;
use twindex_durable::{Effect, Result, Store, Table, Watch, Watched};

const KEYS: usize = 1000;

fn key(number: usize) -> String {
    format!("user:{:08}", number % KEYS)
}

/// The best of seven rounds, in nanoseconds a write. What was told is read between rounds, so that no watch is full.
fn write_cost(table: &Table, watches: &[Watch]) -> f64 {
    const WRITES: usize = 10_000;
    let keys: Vec<_> = (0..KEYS).map(key).collect();
    let round = |number: usize| {
        let value = [number as u8; 32];
        let begun = Instant::now();
        for at in 0..WRITES {
            table.upsert(&keys[at % KEYS], value).expect("it is written");
        }
        let took = begun.elapsed().as_nanos() as f64 / WRITES as f64;
        for watch in watches {
            while let Some(item) = watch.poll() {
                assert!(matches!(item, Watched::Change(_)), "a watch was full");
            }
        }
        took
    };
    (0..7).map(round).fold(f64::INFINITY, f64::min)
}

/// The median and the 99th of 100, in microseconds, from a write every few milliseconds to its notice.
fn latency(table: &Table, begun: Instant, mut notice: impl FnMut() -> Option<u64> + Send) -> (f64, f64) {
    const WRITES: u64 = 500;
    let now = || begun.elapsed().as_nanos() as u64;
    let ended = AtomicBool::new(false);
    let mut late: Vec<u64> = thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut late = Vec::new();
            while !ended.load(Relaxed) {
                if let Some(written) = notice() {
                    late.push(now() - written);
                }
            }
            late
        });
        for number in 0..WRITES {
            thread::sleep(Duration::from_micros(2000 + number * 7 % 1000));
            table.upsert(key(number as usize), now().to_le_bytes()).expect("it is written");
        }
        thread::sleep(Duration::from_millis(20));
        ended.store(true, Relaxed);
        reader.join().expect("it does not panic")
    });
    late.sort_unstable();
    let at = |share: usize| late[late.len() * share / 100] as f64 / 1000.0;
    (at(50), at(99))
}

fn written(value: &[u8]) -> Option<u64> {
    value.try_into().ok().map(u64::from_le_bytes)
}

fn main() -> Result<()> {
    let begun = Instant::now();
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    for (name, store) in
        [("memory", Store::new()), ("file, everysec", Store::open(folder.path().join("app.twx"))?)]
    {
        let table = store.table("users", IndexKind::Sorted)?;
        let cost = |watches: &[Watch]| write_cost(&table, watches);
        cost(&[]);
        println!("{name}: ns a write without a watch: {:.0}", cost(&[]));
        for count in [1, 10] {
            let watches = (0..count).map(|_| table.watch("user:")).collect::<Result<Vec<_>>>()?;
            println!("{name}: ns a write with {count} of its keys: {:.0}", cost(&watches));
        }
        let others = (0..10).map(|_| table.watch("other:")).collect::<Result<Vec<_>>>()?;
        println!("{name}: ns a write with 10 of other keys: {:.0}", cost(&others));
        drop(others);
        println!("{name}: ns a write without a watch, again: {:.0}", cost(&[]));

        let watch = table.watch("user:")?;
        let told = || match watch.wait(Some(Duration::from_millis(5)))? {
            Watched::Change(change) => match change.effect {
                Effect::Put { value, .. } => written(&value),
                _ => None,
            },
            Watched::Lost(_) => None,
        };
        println!("{name}: us to a notice by a watch, median and 99 %: {:?}", latency(&table, begun, told));
        drop(watch);
        let scan = || table.prefix("user:").ok()?.filter_map(|(_, value)| written(&value)).max();
        let (mut last, mut scans, mut spent) = (scan().unwrap_or(0), 0, Duration::ZERO);
        let polled = || {
            thread::sleep(Duration::from_millis(1));
            let begun = Instant::now();
            let newest = scan()?;
            (scans, spent) = (scans + 1, spent + begun.elapsed());
            (newest > last).then(|| {
                last = newest;
                newest
            })
        };
        println!("{name}: us to a notice by a scan, median and 99 %: {:?}", latency(&table, begun, polled));
        println!("{name}: us a scan of {KEYS} keys: {:.0}", spent.as_micros() as f64 / f64::from(scans));
    }
    Ok(())
}
