//! The tests that take too long for every run, in turn for some minutes.

use std::collections::BTreeSet;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum as _};

use crate::run::{Limits, Log};
use crate::setup::{Interpreter, Sanitizer, Venv, fuzzer, miri, require};
use crate::steps::{NotRun, Steps};
use crate::suite::{CACHE, ENGINE, Room, Suite, TINY_CHECKED, built_apart, pytest_under, reader};
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
    number: usize,
    seed: u32,
}

impl Round {
    /// One of several, another in each round.
    fn one_of<T: Copy>(self, all: &[T]) -> T {
        all[self.number % all.len()]
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
cache: models | cache/models | CARGO_TARGET_DIR={target} TWINDEX_STRESS=20 cargo test --release --locked --test=cache
codec: random pairs | . | cargo test --profile=soak --package=twindex-codec
durable: faults of the disk | . | TWINDEX_FAULTS=50 cargo test --profile=soak --package=twindex-durable --lib
durable: money that moves | . | TWINDEX_STRESS=2000 cargo test --profile=soak --package=twindex-durable --test=all -- snapshot::money
durable: random operations | . | TWINDEX_STRESS=30 cargo test --profile=soak --package=twindex-durable --test=replay
durable: killed processes | . | TWINDEX_KILLS=200 cargo test --profile=soak --package=twindex-durable --test=kill
durable: hostile files | . | TWINDEX_HOSTILE=1 cargo test --profile=soak --package=twindex-durable --test=hostile
cluster: failures | . | TWINDEX_STRESS=10 cargo test --profile=soak --package=twindex-cluster --test=failures --test=near
benches: a quick run | . | cargo xtask bench --quick
";

const fn call(name: &'static str, call: fn(&Suite, &mut Steps, Round, &mut Log) -> Result<()>) -> Part {
    (name, Work::Call(call))
}

const CALLS: [Part; 14] = [
    // The sanitizers watch tiny constants and those of users in turn.
    call("engine: address sanitizer", |suite, _, round, log| {
        let (folder, flags) = round.one_of(&[("asan", TINY_CHECKED), ("asan-large", "--cfg twindex_check")]);
        let mut cargo = built_apart(suite, ENGINE, folder, flags, "cargo test --tests");
        Sanitizer::Address.apply(&mut cargo, log)?;
        log.run(cargo.envs(round.seeds()))
    }),
    call("engine: thread sanitizer", |suite, _, round, log| {
        let (folder, flags) = round.one_of(&[("tsan", "--cfg twindex_tiny "), ("tsan-large", "")]);
        let flags = format!("{flags}--cfg twindex_plain_fences");
        let mut cargo = built_apart(suite, ENGINE, folder, &flags, "cargo test --test=threads");
        Sanitizer::Thread.apply(&mut cargo, log)?;
        log.run(cargo.envs(round.seeds()))
    }),
    // One file of tests each time, over the constants of users.
    call("engine: Miri", |suite, _, round, log| {
        let files = ["contract::", "cursors::", "model::", "memory::", "batches::", "threads"];
        let mut cargo = built_apart(suite, ENGINE, "miri", "", "cargo miri test");
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
    call("cache: sanitizers", |suite, _, round, log| {
        let (sanitizer, folder, flags) = round.one_of(&[
            (Sanitizer::Address, "asan-large", "--cfg twindex_check"),
            (Sanitizer::Thread, "tsan-large", "--cfg twindex_plain_fences"),
        ]);
        let mut cargo = built_apart(suite, CACHE, folder, flags, "cargo test --tests");
        sanitizer.apply(&mut cargo, log)?;
        log.run(&mut cargo)
    }),
    call("cache: Miri", |suite, _, round, log| {
        let mut cargo = built_apart(suite, CACHE, "miri", "", "cargo miri test --test=all");
        miri(&mut cargo, log)?;
        cargo.args(["--", round.one_of(&["model::", "threads::", "saving::"])]);
        let flags = format!("-Zmiri-disable-weak-memory-emulation -Zmiri-seed={}", round.seed);
        log.run(cargo.env("MIRIFLAGS", flags))
    }),
    call("cache: fuzzing", |suite, _, round, log| {
        let mut cargo = fuzzer("cache_reader", suite)?;
        log.run(cargo.args(["-max_total_time=60", "-max_len=20000"]).arg(format!("-seed={}", round.seed)))
    }),
    call("wasm: random calls", |suite, steps, round, log| {
        suite.wasm(steps)?;
        let module = round.one_of(&["twindex.caches.wasm", "twindex.fast.wasm"]);
        let mut test = suite.cargo_test();
        test.arg("--test=abi").env("TWINDEX_WASM", suite.path("wasm/npm").join(module));
        log.run(test.envs(round.seeds()))
    }),
    call("python: every version", |suite, steps, round, log| {
        suite.python(steps)?;
        let interpreters = Interpreter::others();
        ensure!(!interpreters.is_empty(), NotRun("there is no Python".into()));
        let interpreter = &interpreters[round.number % interpreters.len()];
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
        let test = round.one_of(&["random-arguments", "arguments", "snapshots-node"]);
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

/// Runs the parts in turn until the time is over, from where the last run stopped.
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
    let file = suite.target("soak-turn.txt");
    let turn = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse().ok());
    let mut turn: usize = turn.unwrap_or(0);
    let mut steps = Steps::within(Some(LIMITS));
    let end = Instant::now() + Duration::from_mins(options.minutes.into());
    let mut failed = BTreeSet::new();
    while Instant::now() < end && failed.len() < parts.len() {
        let (name, work) = parts[turn % parts.len()];
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.subsec_nanos();
        let round = Round { number: turn / parts.len(), seed };
        turn += 1;
        // Now, so that a run goes on after one that was interrupted.
        std::fs::write(&file, format!("{turn}\n")).with_context(|| format!("writing {}", file.display()))?;
        if failed.contains(name) {
            // Another round of it would tell nothing new.
            continue;
        }
        let mut inner = steps.clone();
        let done =
            steps.must(&format!("{name}, round {} of seed {seed}", round.number + 1), |log| match work {
                Work::Line(folder, line) => round.run(&suite, folder, line, log),
                Work::Call(call) => call(&suite, &mut inner, round, log),
            });
        if done.is_err() {
            failed.insert(name);
        }
    }
    Ok(steps.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_rooms_and_names_of_their_own() {
        let names: BTreeSet<_> = parts().iter().map(|part| part.0).collect();
        assert_eq!(names.len(), parts().len());
        assert!(!names.is_empty());
        assert!(parts().iter().all(|part| room(part).is_ok()));
    }
}
