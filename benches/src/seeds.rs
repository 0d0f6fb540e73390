//! The tests over any host.

use std::process::ExitCode;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use fastrand::Rng;
use indicatif::ProgressBar;

use crate::claim::claim_memory_for;
use crate::fallible::Fallible;
use crate::keys::{KeyList, random_hex, words};
use crate::options::{Options, Test};
use crate::progress::{self, BLOCK};
use crate::report::{Measure, Report};
use crate::resident::resident_bytes;
use crate::values::{fill_value, is_value};

/// Keys and orders are the same in every run.
const SEED: u64 = 64;

/// Where the engine runs.
pub trait Host {
    /// The host's name in the report.
    const NAME: &'static str;
    /// Whether there may be more than one worker.
    const THREADS: bool;
    /// What one thread works with.
    type Worker<'h>: Worker + Send
    where
        Self: 'h;

    /// Drops the store of the last round and makes one with an empty table for this test.
    fn renew(&mut self, test: Test) -> Fallible;

    /// As many workers on that table as there are threads.
    fn workers(&mut self, threads: usize) -> Fallible<Vec<Self::Worker<'_>>>;

    /// The bytes that the store says it holds, where it says so.
    fn memory(&mut self) -> Fallible<Option<u64>>;

    /// What holds the pairs of a test.
    fn system(_test: Test) -> &'static str {
        "twindex"
    }
}

/// One thread's way to the table. Each is used by one thread at a time.
pub trait Worker {
    /// Inserts a pair; whether the key was absent.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool>;

    /// Replaces the value of a key; whether it was there.
    fn replace(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool>;

    /// Shows the key's value to `read`; `None` where the key is absent.
    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>>;

    /// Opens a cursor at this key, over all that follows.
    fn open(&mut self, first: &[u8]) -> Fallible;

    /// Shows the next pair of the opened cursor to `read`; `None` at the end.
    fn scan_asc_next<R>(&mut self, read: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>>;
}

/// Takes the options from the command line, runs the tests and prints what they measured.
pub fn main<H: Host>(mut host: H) -> ExitCode {
    let options = Options::parse();
    Report::end(run(&mut host, &options), options.json.as_deref())
}

/// Runs the tests.
pub fn run<H: Host>(host: &mut H, options: &Options) -> Fallible<Report> {
    options.check_threads(H::NAME, H::THREADS)?;
    let mut rng = Rng::with_seed(SEED);
    let keys = match &options.keys_from {
        Some(path) => {
            let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
            words(&text, options.pairs, &mut rng).map_err(|error| format!("{}: {error}", path.display()))?
        }
        None => random_hex(options.pairs, options.key_bytes, &mut rng)?,
    };
    let steps: usize = options.tests.iter().map(|test| keys.len() * test.steps().len()).sum();
    let steps = steps * options.threads.len() * usize::from(options.rounds);
    let bar = progress::bar(steps as u64, options.quiet);
    let mut report = Report::new(H::NAME, keys.len() as u32, options);
    let mut first_write = true;
    for &test in &options.tests {
        for &threads in &options.threads {
            let read_list = match test {
                Test::Strings | Test::Clients => keys.shuffled_in_groups(threads.into(), &mut rng),
                Test::Sorted => keys.sorted(),
            };
            let lists = Lists { write: &keys, read: &read_list };
            let mut rounds = Rounds { host, test, lists, threads, options, bar: &bar };
            report.results.extend(rounds.measure(first_write)?);
            first_write = false;
        }
    }
    bar.finish_and_clear();
    Ok(report)
}

/// The keys in the order of the writes and in that of the reads.
#[derive(Clone, Copy)]
struct Lists<'r> {
    write: &'r KeyList,
    read: &'r KeyList,
}

/// All rounds of one test with one number of threads.
struct Rounds<'r, H> {
    host: &'r mut H,
    test: Test,
    lists: Lists<'r>,
    threads: u16,
    options: &'r Options,
    bar: &'r ProgressBar,
}

impl<H: Host> Rounds<'_, H> {
    /// Measures the write, the read and, where the test has it, the update. What the process grows by says something about a store only
    /// where no store was freed before, and no thread but one takes memory of its own.
    fn measure(&mut self, first_write: bool) -> Fallible<Vec<Measure>> {
        let keys = self.lists.write.len();
        let steps = self.test.steps();
        let mut times = vec![Vec::new(); steps.len()];
        let (mut resident, mut held) = (None, None);
        for round in 0..self.options.rounds {
            self.host.renew(self.test)?;
            claim_memory_for(self.lists.write, self.options.value_bytes as usize);
            let before = resident_bytes().filter(|_| first_write && round == 0 && self.threads == 1);
            times[0].push(self.write()?);
            if let (Some(before), Some(after)) = (before, resident_bytes()) {
                resident = Some(after.saturating_sub(before));
            }
            held = self.host.memory()?;
            times[1].push(self.read()?);
            if let Some(updates) = times.get_mut(2) {
                updates.push(self.update()?);
            }
        }
        let measure = |(step, times): (&&str, &Vec<Duration>)| Measure {
            system: H::system(self.test).into(),
            ..Measure::new(step, keys, self.threads, times)
        };
        let mut measures: Vec<Measure> = steps.iter().zip(&times).map(measure).collect();
        measures[0].bytes_per_pair = held.map(|bytes| bytes as f64 / keys as f64);
        measures[0].resident_bytes_per_pair = resident.map(|bytes| bytes as f64 / keys as f64);
        Ok(measures)
    }

    fn write(&mut self) -> Fallible<Duration> {
        self.bar.set_message(format!("{:?} write, {} threads", self.test, self.threads));
        let mut value = vec![0; self.options.value_bytes as usize];
        self.time(self.lists.write, move |worker, list, positions| {
            for (number, key) in list.pairs(positions) {
                fill_value(number, &mut value);
                if !worker.insert(key, &value)? {
                    return Err(format!("insert of {} found it there", key.escape_ascii()).into());
                }
            }
            Ok(())
        })
    }

    fn read(&mut self) -> Fallible<Duration> {
        self.bar.set_message(format!("{:?} read, {} threads", self.test, self.threads));
        let value_bytes = self.options.value_bytes as usize;
        match self.test {
            Test::Strings | Test::Clients => self.time(self.lists.read, move |worker, list, positions| {
                for (number, key) in list.pairs(positions) {
                    let right = worker.select(key, |value| is_value(number, value_bytes, value))?;
                    check(right, key)?;
                }
                Ok(())
            }),
            Test::Sorted => {
                let mut open = false;
                self.time(self.lists.read, move |worker, list, positions| {
                    if !open {
                        worker.open(list.key(positions.start))?;
                        open = true;
                    }
                    for (number, key) in list.pairs(positions) {
                        let right = worker.scan_asc_next(|found, value| {
                            found == key && is_value(number, value_bytes, value)
                        })?;
                        check(right, key)?;
                    }
                    Ok(())
                })
            }
        }
    }

    /// Gives each key the value of the number after its own.
    fn update(&mut self) -> Fallible<Duration> {
        self.bar.set_message(format!("{:?} update, {} threads", self.test, self.threads));
        let mut value = vec![0; self.options.value_bytes as usize];
        self.time(self.lists.read, move |worker, list, positions| {
            for (number, key) in list.pairs(positions) {
                fill_value(number + 1, &mut value);
                if !worker.replace(key, &value)? {
                    return Err(format!("update of {} found nothing", key.escape_ascii()).into());
                }
            }
            Ok(())
        })
    }

    /// The time from the first thread's start to the last one's end, while each thread does `work` on
    /// its group of the list, block after block. Threads and workers are there before the clock starts.
    fn time(
        &mut self,
        list: &KeyList,
        work: impl FnMut(&mut H::Worker<'_>, &KeyList, std::ops::Range<usize>) -> Fallible + Clone + Send,
    ) -> Fallible<Duration> {
        let threads = usize::from(self.threads);
        let (barrier, bar) = (&Barrier::new(threads), self.bar);
        let workers = self.host.workers(threads)?;
        let times = thread::scope(|scope| {
            let handles: Vec<_> = workers
                .into_iter()
                .enumerate()
                .map(|(group, mut worker)| {
                    let mut work = work.clone();
                    let positions = list.group(group, threads);
                    scope.spawn(move || -> Fallible<(Instant, Instant)> {
                        barrier.wait();
                        let start = Instant::now();
                        for block in positions.clone().step_by(BLOCK) {
                            let end = positions.end.min(block + BLOCK);
                            work(&mut worker, list, block..end)?;
                            bar.inc((end - block) as u64);
                        }
                        Ok((start, Instant::now()))
                    })
                })
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().map_err(|_| "a thread panicked")?)
                .collect::<Fallible<Vec<_>>>()
        })?;
        let start = times.iter().map(|time| time.0).min().ok_or("the host gave no worker")?;
        let end = times.iter().map(|time| time.1).max().ok_or("the host gave no worker")?;
        Ok(end - start)
    }
}

fn check(right: Option<bool>, key: &[u8]) -> Fallible {
    match right {
        Some(true) => Ok(()),
        Some(false) => Err(format!("a wrong pair was read for {}", key.escape_ascii()).into()),
        None => Err(format!("nothing was read for {}", key.escape_ascii()).into()),
    }
}
