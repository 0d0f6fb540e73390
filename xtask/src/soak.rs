//! The tests that take too long for every run, in turn for some minutes.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, ensure};
use clap::{Args, ValueEnum as _};

use crate::run::{Limits, Log};
use crate::setup::{Interpreter, fuzzer, require};
use crate::steps::{Failed, NotRun, Steps};
use crate::suite::{Room, Suite, pytest_under, reader};
use crate::workspace::{Workspace, rows};

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
    /// Lines in a folder of the checkout, as [`Workspace::run`] takes them.
    Lines(&'static str, &'static str),
    Call(fn(&Suite, Round, &mut Log) -> Result<()>),
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

    /// A line with one of the words in braces, such as `{a|b}`.
    fn choose(self, line: &str) -> String {
        let mut pieces = line.split('{');
        let first = pieces.next().unwrap_or_default().to_owned();
        pieces.fold(first, |line, piece| match piece.split_once('}') {
            Some((words, rest)) if words.contains('|') => {
                line + self.one_of(&words.split('|').collect::<Vec<_>>()) + rest
            }
            _ => line + "{" + piece,
        })
    }
}

/// The profile `soak` is optimised, but quickly built. Instruments watch tiny constants and those of users in turn, Miri one file of
/// tests each time.
const ROWS: &str = "
engine: stress | . | TWINDEX_STRESS=10 cargo test --profile=soak --package=twindex --test=threads --test=all
engine: stress with the checker | . | RUSTFLAGS='--cfg twindex_check' CARGO_TARGET_DIR={target}/check TWINDEX_STRESS=5 cargo \
     test --profile=soak --package=twindex
engine: tiny constants | . | RUSTFLAGS='--cfg twindex_tiny --cfg twindex_check' CARGO_TARGET_DIR={target}/tiny \
     TWINDEX_STRESS=3 cargo test --package=twindex
engine: models | engine/models | CARGO_TARGET_DIR={target} TWINDEX_STRESS=5 cargo test --release --locked --test=engine
engine: address sanitizer | . | RUSTFLAGS='{--cfg twindex_tiny|} --cfg twindex_check' asan:cargo test --locked \
     --package=twindex --tests
engine: thread sanitizer | . | RUSTFLAGS='{--cfg twindex_tiny|} --cfg twindex_plain_fences' tsan:cargo test --locked \
     --package=twindex --test=threads
engine: Miri | . | miri:cargo miri test --locked --package=twindex {--test=all -- contract::|--test=all -- \
     streams::|--test=all -- model::|--test=all -- memory::|--test=all -- batches::|--test=threads}
engine: Miri of threads, tiny constants | . | RUSTFLAGS='--cfg twindex_tiny' miri:cargo miri test --locked --package=twindex --test=threads
cache: models | cache/models | CARGO_TARGET_DIR={target} TWINDEX_STRESS=20 cargo test --release --locked --test=cache
cache: address sanitizer | . | RUSTFLAGS='--cfg twindex_check' asan:cargo test --locked --package=twindex-cache --tests
cache: thread sanitizer | . | RUSTFLAGS='--cfg twindex_plain_fences' tsan:cargo test --locked --package=twindex-cache --tests
cache: Miri | . | RUSTFLAGS='{--cfg twindex_tiny|}' miri:cargo miri test --locked --package=twindex-cache --test=all -- {model|threads|saving}::
codec: random pairs | . | cargo test --profile=soak --package=twindex-codec
durable: faults of the disk | . | TWINDEX_FAULTS=50 cargo test --profile=soak --package=twindex-durable --lib
durable: money that moves | . | TWINDEX_STRESS=2000 cargo test --profile=soak --package=twindex-durable --test=all -- \
     snapshot::money
durable: killed processes | . | TWINDEX_KILLS=200 cargo test --profile=soak --package=twindex-durable --test=kill
durable: hostile files | . | TWINDEX_HOSTILE=1 cargo test --profile=soak --package=twindex-durable --test=hostile
cluster: failures | . | TWINDEX_STRESS=10 cargo test --profile=soak --package=twindex-cluster --test=failures --test=near
wasm: random calls | . | TWINDEX_WASM={root}/wasm/npm/twindex.{caches|fast}.wasm cargo test {crates} --test=abi
wasm: wac composes components | . | cargo install wac-cli --version=0.12.0 --locked --no-default-features --features=wit \
     --root={target}/wac --target-dir={target}/wac && TWINDEX_WAC={target}/wac/bin/wac cargo test {crates} \
     --test=component -- keyvalue
wasm: all tests in other runtimes | wasm/npm | node test/runtimes/run.mjs {deno|bun} all
python: attacks | bindings/python | TWINDEX_STRESS=5 venv:python -m pytest --quiet tests/test_attacks.py
python: a frozen program | . | rm -rf {target}/frozen && python3 -m venv {target}/venv-frozen && venv-frozen:python -m pip \
     install pyinstaller==6.22.3 && venv-frozen:python -m pip install --no-index --no-deps --force-reinstall \
     --find-links={target}/python-dist/wheel twindex && venv-frozen:python -m PyInstaller --noconfirm \
     --distpath={target}/frozen --workpath={target}/frozen/build --specpath={target}/frozen \
     {root}/bindings/python/tests/frozen.py && {target}/frozen/frozen/frozen {target}/frozen/app.twx
node: attacks and wrong arguments | bindings/node | TWINDEX_STRESS=10 node --expose-gc --test \
     test/{random-arguments|arguments|snapshots-node}.test.js
python: the cluster package for free-threaded Python | . | PYO3_CONFIG_FILE={root}/xtask/free-threaded.txt \
     CARGO_TARGET_DIR={target}/free-threaded cargo clippy --locked --package=twindex-cluster-python -- --deny=warnings
benches: clippy of the peers | benches/peers | CARGO_TARGET_DIR={target} cargo clippy --locked --all-targets -- --deny=warnings
benches: a quick run | . | cargo xtask bench --quick
dist: the other platforms of Linux | . | cargo xtask dist --quick --target \
     {aarch64-unknown-linux-gnu|x86_64-unknown-linux-musl|aarch64-unknown-linux-musl}
";

const CALLS: [Part; 4] = [
    (
        "engine: fuzzing",
        Work::Call(|suite, round, log| fuzz(round.one_of(&["verbs", "reader"]), suite, round, log)),
    ),
    ("cache: fuzzing", Work::Call(|suite, round, log| fuzz("cache_reader", suite, round, log))),
    (
        "python: every version",
        Work::Call(|suite, round, log| {
            let interpreters = Interpreter::others();
            ensure!(!interpreters.is_empty(), NotRun("there is no Python".into()));
            let interpreter = &interpreters[round.number % interpreters.len()];
            let mut pytest = pytest_under(interpreter, suite, log)?;
            pytest.args([&format!("--hypothesis-seed={}", round.seed), "--ignore=tests/test_attacks.py"]);
            log.run(pytest.env("TWINDEX_STRESS", "5"))
        }),
    ),
    ("dist: the README as a reader follows it", Work::Call(|suite, _, log| reader(suite, log))),
];

fn fuzz(target: &str, suite: &Suite, round: Round, log: &mut Log) -> Result<()> {
    let mut cargo = fuzzer(target, suite)?;
    log.run(cargo.args(["-max_total_time=60", "-max_len=20000"]).arg(format!("-seed={}", round.seed)))
}

fn parts() -> Vec<Part> {
    rows(ROWS).map(|(name, folder, lines)| (name, Work::Lines(folder, lines))).chain(CALLS).collect()
}

fn room(part: &Part) -> Result<Room> {
    let name = part.0.split(':').next().unwrap_or_default();
    Room::from_str(name, false).map_err(anyhow::Error::msg)
}

/// Builds what the parts of a room run in.
fn build(room: Room, suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    match room {
        Room::Wasm => suite.wasm(steps),
        Room::Python => suite.python(steps).map(drop),
        Room::Node => suite.node(steps),
        _ => Ok(()),
    }
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
        let of = room(&parts[turn % parts.len()])?;
        let seed = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.subsec_nanos();
        let round = Round { number: turn / parts.len(), seed };
        turn += 1;
        // Now, so that a run goes on after one that was interrupted.
        std::fs::write(&file, format!("{turn}\n")).with_context(|| format!("writing {}", file.display()))?;
        if failed.contains(name) {
            // Another round of it would tell nothing new.
            continue;
        }
        let built = build(of, &suite, &mut steps.clone());
        let done = steps.must(&format!("{name}, round {} of seed {seed}", round.number + 1), |log| {
            built?;
            match work {
                Work::Lines(folder, lines) => {
                    let seed = &*round.seed.to_string();
                    let seeds = ["PROPTEST_RNG_SEED", "SHUTTLE_RANDOM_SEED", "TWINDEX_SEED"];
                    suite.run(folder, &round.choose(lines), &seeds.map(|name| (name, seed)), log)
                }
                Work::Call(call) => call(&suite, round, log),
            }
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

    #[test]
    fn each_round_has_another_of_the_words_in_braces() {
        let line = |number| Round { number, seed: 1 }.choose("{target} {a|b b|} c");
        assert_eq!([0, 1, 2, 3].map(line), ["{target} a c", "{target} b b c", "{target}  c", "{target} a c"]);
    }
}
