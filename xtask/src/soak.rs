//! The tests that take too long for every run: shares some minutes out over its parts, and goes on the next time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum as _};

use crate::run::{Limits, Log};
use crate::setup::{Interpreter, Sanitizer, Venv, fuzzer, miri, require};
use crate::steps::{NotRun, Steps};
use crate::suite::{Room, Suite, TINY_CHECKED, built_apart, pytest_under, reader};
use crate::workspace::Workspace;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// How long it runs: a round that has begun is finished
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// The rooms to soak [default: all that have long tests]
    #[arg(value_enum, value_name = "ROOM")]
    rooms: Vec<Room>,
}

/// A name, which begins with its room, and a minute or a few of work, from a seed that is another every round.
type Part = (&'static str, Work);

#[derive(Clone, Copy)]
enum Work {
    /// A command line in a folder of the checkout.
    Line(&'static str, &'static str),
    Call(fn(&Suite, &mut Steps, Round, &mut Log) -> Result<()>),
}

/// One of many runs of a part.
#[derive(Clone, Copy, Debug)]
struct Round {
    number: u64,
    seed: u32,
}

impl Round {
    /// One of several, another in each round.
    fn one_of<T: Copy>(self, all: &[T]) -> T {
        all[(self.number % all.len() as u64) as usize]
    }

    /// Runs a line in a folder of the checkout, with this round's seed for all random tests.
    fn run(self, suite: &Suite, folder: &str, line: &str, log: &mut Log) -> Result<()> {
        log.run(suite.command(folder, line).envs(self.seeds()))
    }

    fn seeds(self) -> [(&'static str, String); 3] {
        ["PROPTEST_RNG_SEED", "SHUTTLE_RANDOM_SEED", "TWINDEX_SEED"].map(|name| (name, self.seed.to_string()))
    }
}

/// Parts that are one command: name, folder, line. The profile `soak` is optimised, but quickly built.
const LINES: &str = "
engine: stress | . | TWINDEX_STRESS=10 cargo test --profile=soak --package=twindex --test=threads --test=all
engine: stress with the checker | . | RUSTFLAGS='--cfg twindex_check' CARGO_TARGET_DIR={target}/check TWINDEX_STRESS=5 cargo test --profile=soak --package=twindex
engine: tiny constants | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_check' CARGO_TARGET_DIR={target}/tiny TWINDEX_STRESS=3 cargo test --package=twindex
engine: models | engine/models | CARGO_TARGET_DIR={target} TWINDEX_STRESS=5 cargo test --release --locked --test=engine
codec: random pairs | . | cargo test --profile=soak --package=twindex-codec
durable: faults of the disk | . | TWINDEX_FAULTS=50 cargo test --profile=soak --package=twindex-durable --lib
durable: random operations | . | TWINDEX_STRESS=30 cargo test --profile=soak --package=twindex-durable --test=replay
durable: killed processes | . | TWINDEX_KILLS=200 cargo test --profile=soak --package=twindex-durable --test=kill
durable: hostile files | . | TWINDEX_HOSTILE=1 cargo test --profile=soak --package=twindex-durable --test=hostile
cluster: failures | . | TWINDEX_STRESS=10 cargo test --profile=soak --package=twindex-cluster --test=failures --test=near
benches: a quick run | . | cargo xtask bench --quick
";

const fn call(name: &'static str, call: fn(&Suite, &mut Steps, Round, &mut Log) -> Result<()>) -> Part {
    (name, Work::Call(call))
}

const CALLS: [Part; 11] = [
    // The sanitizers watch tiny constants and those of users in turn.
    call("engine: address sanitizer", |suite, _, round, log| {
        let (folder, flags) = round.one_of(&[("asan", TINY_CHECKED), ("asan-large", "--cfg twindex_check")]);
        let mut cargo = built_apart(suite, folder, flags, "cargo test --tests");
        Sanitizer::Address.apply(&mut cargo, log)?;
        log.run(cargo.envs(round.seeds()))
    }),
    call("engine: thread sanitizer", |suite, _, round, log| {
        let (folder, flags) = round.one_of(&[("tsan", "--cfg twindex_tiny "), ("tsan-large", "")]);
        let flags = format!("{flags}--cfg twindex_plain_fences");
        let mut cargo = built_apart(suite, folder, &flags, "cargo test --test=threads");
        Sanitizer::Thread.apply(&mut cargo, log)?;
        log.run(cargo.envs(round.seeds()))
    }),
    // One file of tests each time, over the constants of users.
    call("engine: Miri", |suite, _, round, log| {
        let files = ["contract::", "cursors::", "model::", "memory::", "batches::", "threads"];
        let mut cargo = built_apart(suite, "miri", "", "cargo miri test");
        miri(&mut cargo, log)?;
        match round.one_of(&files) {
            "threads" => cargo.arg("--test=threads"),
            file => cargo.args(["--test=all", "--", file]),
        };
        // Without that flag Miri fails itself where a word is an atomic again that was plain bytes in between.
        let flags = format!("-Zmiri-disable-weak-memory-emulation -Zmiri-seed={}", round.seed);
        log.run(cargo.env("MIRIFLAGS", flags).envs(round.seeds()))
    }),
    call("engine: fuzzing", |suite, _, round, log| {
        let mut cargo = fuzzer(round.one_of(&["verbs", "dump_reader", "log_reader"]), suite)?;
        log.run(cargo.args(["-max_total_time=60", "-max_len=20000"]).arg(format!("-seed={}", round.seed)))
    }),
    call("wasm: random calls", |suite, steps, round, log| {
        suite.wasm(steps)?;
        let module = round.one_of(&["twindex.wasm", "twindex.fast.wasm"]);
        let mut test = suite.cargo_test();
        test.arg("--test=abi").env("TWINDEX_WASM", suite.path("wasm/npm").join(module));
        log.run(test.envs(round.seeds()))
    }),
    call("python: every version", |suite, steps, round, log| {
        suite.python(steps)?;
        let interpreters = Interpreter::others();
        ensure!(!interpreters.is_empty(), NotRun("there is no Python".into()));
        let interpreter = &interpreters[(round.number % interpreters.len() as u64) as usize];
        let mut pytest = pytest_under(interpreter, suite, log)?;
        pytest.args([&format!("--hypothesis-seed={}", round.seed), "--ignore=tests/test_attacks.py"]);
        log.run(pytest.env("TWINDEX_STRESS", "5"))
    }),
    call("python: attacks", |suite, steps, round, log| {
        suite.python(steps)?;
        let pytest = "TWINDEX_STRESS=5 venv:python -m pytest --quiet tests/test_attacks.py";
        round.run(suite, "bindings/python", pytest, log)
    }),
    call("python: a frozen program", |suite, steps, _, log| {
        let (wheel, folder) = (suite.python(steps)?.to_owned(), suite.empty_folder("frozen")?);
        let venv = Venv::at(suite.target("venv-frozen"));
        venv.make(log)?;
        venv.install(&folder, &["pyinstaller==6.22.3"], log)?;
        venv.reinstall(&wheel, log)?;
        let mut freeze = venv.module("PyInstaller", &folder);
        log.run(freeze.arg("--noconfirm").arg(suite.path("bindings/python/tests/frozen.py")))?;
        log.run(Command::new(folder.join("dist/frozen/frozen")).arg(folder.join("app.twx")))
    }),
    call("node: attacks and wrong arguments", |suite, steps, round, log| {
        suite.node(steps)?;
        let test = round.one_of(&["random", "arguments"]);
        let line = format!("TWINDEX_STRESS=10 node --expose-gc --test test/{test}.test.js");
        round.run(suite, "bindings/node", &line, log)
    }),
    call("dist: the README as a reader follows it", |suite, _, _, log| reader(suite, log)),
    call("dist: the other platforms of Linux", |suite, _, round, log| {
        let [machine, libc] = round.one_of(&[["aarch64", "gnu"], ["x86_64", "musl"], ["aarch64", "musl"]]);
        let target = format!("{machine}-unknown-linux-{libc}");
        round.run(suite, "", &format!("cargo xtask dist --quick --target {target}"), log)
    }),
];

fn parts() -> Vec<Part> {
    let lines = LINES.lines().filter_map(|line| {
        let (name, rest) = line.split_once(" | ")?;
        let (folder, line) = rest.split_once(" | ")?;
        Some((name, Work::Line(folder, line)))
    });
    lines.chain(CALLS).collect()
}

fn room(part: &Part) -> Result<Room> {
    let name = part.0.split(':').next().unwrap_or_default();
    Room::from_str(name, false).map_err(anyhow::Error::msg)
}

/// Nothing here is still for so long, and nothing takes so long.
const LIMITS: Limits = Limits { still: Duration::from_mins(30), wall: Duration::from_hours(6) };

/// Runs rounds of the parts in turn until the time is over.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let mut parts = parts();
    parts.retain(|part| {
        options.rooms.is_empty() || room(part).is_ok_and(|room| options.rooms.contains(&room))
    });
    ensure!(!parts.is_empty(), "nothing in these rooms takes long: cargo xtask test runs all of it");
    for part in &parts {
        require(room(part)?.tools())?;
    }
    let suite = Suite::new(Workspace::find()?, false);
    let mut record = Record::open(suite.target("soak"))?;
    let mut steps = Steps::within(Some(LIMITS));
    let end = Instant::now() + Duration::from_mins(options.minutes.into());
    while Instant::now() < end {
        let Some((name, work)) = record.next(&parts) else { break };
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.subsec_nanos();
        let round = Round { number: record.rounds(name), seed };
        let started = Instant::now();
        let mut inner = steps.clone();
        let done = steps.must(&format!("{name}, round {} of seed {seed}", round.number + 1), |log| {
            let done = match work {
                Work::Line(folder, line) => round.run(&suite, folder, line, log),
                Work::Call(call) => call(&suite, &mut inner, round, log),
            };
            let Err(error) = done else { return Ok(()) };
            if error.is::<NotRun>() {
                return Err(error);
            }
            bail!("{error:#}\nKept in {}", record.keep(name, seed, log.text())?.display())
        });
        record.add(name, started.elapsed())?;
        if done.is_err() {
            // Another round of it would tell nothing new.
            parts.retain(|part| part.0 != name);
        }
    }
    println!("{}", record.table());
    for failure in record.failures()? {
        println!("A failure is kept until it is deleted: {}", failure.display());
    }
    Ok(steps.finish())
}

/// What earlier runs did: the rounds and seconds of every part, and a file for each failure.
struct Record {
    folder: PathBuf,
    /// Of all runs.
    all: Times,
    /// Of this one.
    now: Times,
}

type Times = BTreeMap<String, (u64, f64)>;

impl Record {
    /// The record in `folder`, which need not be there yet.
    fn open(folder: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(folder.join("failures"))?;
        let text = std::fs::read_to_string(folder.join("spent.txt")).unwrap_or_default();
        let time = |line: &str| {
            let mut words = line.splitn(3, ' ');
            let (rounds, seconds) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
            Some((words.next()?.to_owned(), (rounds, seconds)))
        };
        let all = text.lines().filter_map(time).collect();
        Ok(Self { folder, all, now: Times::new() })
    }

    /// The part that has had the least time in this run, and of several such the least in all runs.
    fn next(&self, parts: &[Part]) -> Option<Part> {
        let seconds = |times: &Times, name: &str| times.get(name).map_or(0.0, |(_, seconds)| *seconds);
        let least = parts.iter().min_by(|(one, ..), (other, ..)| {
            let now = seconds(&self.now, one).total_cmp(&seconds(&self.now, other));
            now.then(seconds(&self.all, one).total_cmp(&seconds(&self.all, other)))
        });
        least.copied()
    }

    fn rounds(&self, name: &str) -> u64 {
        self.all.get(name).map_or(0, |(rounds, _)| *rounds)
    }

    /// Counts a round, and writes it down, so that the next run goes on after an interrupted one.
    fn add(&mut self, name: &str, time: Duration) -> Result<()> {
        for times in [&mut self.all, &mut self.now] {
            let (rounds, seconds) = times.entry(name.into()).or_default();
            *rounds += 1;
            *seconds += time.as_secs_f64();
        }
        let line = |(name, (rounds, seconds)): (&String, &(u64, f64))| format!("{rounds} {seconds} {name}\n");
        let (path, half) = (self.folder.join("spent.txt"), self.folder.join("half-written"));
        std::fs::write(&half, self.all.iter().map(line).collect::<String>())
            .and_then(|()| std::fs::rename(&half, &path))
            .with_context(|| format!("writing {}", path.display()))
    }

    /// Keeps what a failed round ran and printed: its last command, with its seed, runs it again.
    fn keep(&self, name: &str, seed: u32, printed: &str) -> Result<PathBuf> {
        let name = name.replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let path = self.folder.join("failures").join(format!("{name}-{seed}.txt"));
        std::fs::write(&path, printed).with_context(|| format!("writing {}", path.display()))?;
        Ok(path)
    }

    /// The failures of all runs that nobody has deleted.
    fn failures(&self) -> Result<Vec<PathBuf>> {
        let found = std::fs::read_dir(self.folder.join("failures"))?;
        found.map(|entry| Ok(entry?.path())).collect()
    }

    fn table(&self) -> String {
        let minutes = |times: &Times, name: &str| times.get(name).map_or(0.0, |(_, seconds)| seconds / 60.0);
        let line = |(name, (rounds, _)): (&String, &(u64, f64))| {
            let (now, all) = (minutes(&self.now, name), minutes(&self.all, name));
            format!("{name}: {now:.1} min now, {all:.1} min and {rounds} rounds in all")
        };
        self.all.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_shares_its_time_out_and_the_next_one_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Record::open(folder.path().join("soak")).unwrap();
        let parts = &parts()[..3];
        let next = |record: &Record| record.next(parts).unwrap().0;
        let mut record = open();
        for (at, seconds) in [(0, 9), (1, 5)] {
            assert_eq!(next(&record), parts[at].0);
            record.add(parts[at].0, Duration::from_secs(seconds)).unwrap();
        }
        let mut record = open();
        for (at, seconds) in [(2, 20), (1, 30)] {
            assert_eq!(next(&record), parts[at].0, "the one with the least time before");
            record.add(parts[at].0, Duration::from_secs(seconds)).unwrap();
        }
        assert_eq!(next(&record), parts[0].0, "each has its share of a run");
        assert_eq!(record.rounds(parts[1].0), 2);
        let kept = record.keep(parts[0].0, 77, "it broke\n").unwrap();
        assert_eq!(open().failures().unwrap(), std::slice::from_ref(&kept));
        assert_eq!(std::fs::read_to_string(kept).unwrap(), "it broke\n");
    }

    #[test]
    fn parts_have_rooms_and_names_of_their_own() {
        let names: std::collections::BTreeSet<_> = parts().iter().map(|part| part.0).collect();
        assert_eq!(names.len(), parts().len());
        assert!(!names.is_empty());
        assert!(parts().iter().all(|part| room(part).is_ok()));
    }
}
