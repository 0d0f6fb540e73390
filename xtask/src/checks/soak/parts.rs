//! What is soaked: each part a command that does a minute or a few of work, from a seed that is another every round.
#![expect(clippy::unnecessary_wraps, reason = "a part may lack what it needs, and all have one type")]

use std::process::Command;

use anyhow::Result;

use crate::checks::engine::{CHECKED, TINY, built_apart};
use crate::checks::rust::{MODELS, of_own_workspace};
use crate::checks::suite::Suite;
use crate::checks::{Room, python, readme};
use crate::run::{Log, command};
use crate::setup::{Fuzzer, Interpreter, Miri, Sanitizer, Venv};
use crate::steps::{Failed, NotRun, Steps};
use crate::workspace::Workspace;

pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) room: Room,
    /// Builds what other tools than the command's own build.
    pub(super) prepare: fn(&Suite, &mut Steps) -> Result<(), Failed>,
    pub(super) command: fn(&Workspace, Round, &mut Log) -> Result<Command>,
}

/// One of many runs of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    pub(super) number: u64,
    pub(super) seed: u32,
}

impl Round {
    /// One of several, another in each round.
    fn one_of<T: Copy>(self, all: &[T]) -> T {
        all[(self.number % all.len() as u64) as usize]
    }

    /// Gives the seed to all that draws random numbers in tests of Rust.
    fn seeded(self, mut cargo: Command) -> Command {
        let seed = self.seed.to_string();
        for name in ["PROPTEST_RNG_SEED", "SHUTTLE_RANDOM_SEED", "TWINDEX_SEED"] {
            cargo.env(name, &seed);
        }
        cargo
    }
}

pub(super) const PARTS: [Part; 22] = [
    part("engine: stress", Room::Engine, stress),
    part("engine: stress with the checker", Room::Engine, checked),
    part("engine: tiny constants", Room::Engine, tiny),
    part("engine: models", Room::Engine, models),
    part("engine: address sanitizer", Room::Engine, address_sanitizer),
    part("engine: thread sanitizer", Room::Engine, thread_sanitizer),
    part("engine: Miri", Room::Engine, miri),
    part("engine: fuzzing", Room::Engine, fuzz),
    part("codec: random pairs", Room::Codec, codec),
    part("durable: faults of the disk", Room::Durable, faults),
    part("durable: random operations", Room::Durable, replay),
    part("durable: killed processes", Room::Durable, kills),
    part("durable: hostile files", Room::Durable, hostile),
    part("cluster: failures", Room::Cluster, cluster),
    part("wasm: random calls", Room::Wasm, wasm).after(Suite::wasm),
    part("python: every version", Room::Python, python).after(|suite, steps| suite.python(steps).map(drop)),
    part("python: attacks", Room::Python, python_attacks).after(|suite, steps| suite.python(steps).map(drop)),
    part("node: wrong arguments", Room::Node, node).after(Suite::node),
    part("node: attacks", Room::Node, node_attacks).after(Suite::node),
    part("readme: built as a reader builds it", Room::Readme, readme),
    part("dist: the other platforms", Room::Dist, dist),
    part("report: a quick one", Room::Report, report),
];

const fn part(
    name: &'static str,
    room: Room,
    command: fn(&Workspace, Round, &mut Log) -> Result<Command>,
) -> Part {
    Part { name, room, prepare: |_, _| Ok(()), command }
}

impl Part {
    const fn after(self, prepare: fn(&Suite, &mut Steps) -> Result<(), Failed>) -> Self {
        Self { prepare, ..self }
    }
}

/// Optimised, but quickly built.
const SOAK: &str = "--profile=soak";

/// `cargo test` of optimised code with these words after it.
fn cargo_test(workspace: &Workspace, words: &str) -> Command {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["test", SOAK]).args(words.split(' '));
    cargo
}

fn stress(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let words = "--package=twindex --test=threads --test=all";
    let mut cargo = round.seeded(cargo_test(workspace, words));
    cargo.env("TWINDEX_STRESS", "10");
    Ok(cargo)
}

fn checked(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let checker = "--cfg twindex_check";
    let mut cargo = round.seeded(built_apart(workspace, "check", checker, &["test", SOAK]));
    cargo.env("TWINDEX_STRESS", "5");
    Ok(cargo)
}

fn tiny(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = round.seeded(built_apart(workspace, "tiny", CHECKED, &["test"]));
    cargo.env("TWINDEX_STRESS", "3");
    Ok(cargo)
}

fn models(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = round.seeded(of_own_workspace(workspace, MODELS, "test"));
    cargo.args(["--release", "--test=engine"]).env("TWINDEX_STRESS", "5");
    Ok(cargo)
}

/// In turn over tiny constants and over those that users have.
fn address_sanitizer(workspace: &Workspace, round: Round, log: &mut Log) -> Result<Command> {
    let asan = Sanitizer::Address.find(log)?;
    let (folder, flags) = round.one_of(&[("asan", CHECKED), ("asan-large", "--cfg twindex_check")]);
    let mut cargo = round.seeded(built_apart(workspace, folder, flags, &["test"]));
    asan.apply(cargo.arg("--tests"));
    Ok(cargo)
}

/// The same. It knows no system call that is a fence.
fn thread_sanitizer(workspace: &Workspace, round: Round, log: &mut Log) -> Result<Command> {
    let tsan = Sanitizer::Thread.find(log)?;
    let (folder, flags) = round.one_of(&[("tsan", TINY), ("tsan-large", "")]);
    let flags = format!("{flags} --cfg twindex_plain_fences");
    let mut cargo = round.seeded(built_apart(workspace, folder, flags.trim(), &["test"]));
    tsan.apply(cargo.arg("--test=threads"));
    Ok(cargo)
}

/// One file of tests each time, over the constants that users have.
fn miri(workspace: &Workspace, round: Round, log: &mut Log) -> Result<Command> {
    let miri = Miri::find(log)?;
    let files = ["contract", "cursors", "model", "memory", "dump", "groups", "runs", "streams", "threads"];
    let mut cargo = round.seeded(built_apart(workspace, "miri", "", &["miri", "test"]));
    match round.one_of(&files) {
        "threads" => cargo.arg("--test=threads"),
        file => cargo.args(["--test=all", "--"]).arg(format!("{file}::")),
    };
    // Without that flag Miri fails itself where a word is an atomic again that was plain bytes in between.
    let flags = format!("-Zmiri-disable-weak-memory-emulation -Zmiri-seed={}", round.seed);
    miri.apply(cargo.env("MIRIFLAGS", flags));
    Ok(cargo)
}

/// One target each time. It keeps what it has found interesting, and goes on from there.
fn fuzz(workspace: &Workspace, round: Round, log: &mut Log) -> Result<Command> {
    let fuzzer = Fuzzer::find(log)?;
    let target = round.one_of(&["verbs", "dump_reader", "log_reader"]);
    let mut cargo = fuzzer.run(target, workspace)?;
    cargo.args(["-max_total_time=60", "-max_len=20000"]).arg(format!("-seed={}", round.seed));
    Ok(cargo)
}

fn codec(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    Ok(round.seeded(cargo_test(workspace, "--package=twindex-codec")))
}

fn faults(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = round.seeded(cargo_test(workspace, "--package=twindex-durable --lib"));
    cargo.env("TWINDEX_FAULTS", "50");
    Ok(cargo)
}

/// Random operations, and what every way to read the file finds.
fn replay(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = round.seeded(cargo_test(workspace, "--package=twindex-durable --test=replay"));
    cargo.env("TWINDEX_STRESS", "30");
    Ok(cargo)
}

fn kills(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo =
        round.seeded(cargo_test(workspace, "--package=twindex-durable --test=kill --test=follow_kills"));
    cargo.env("TWINDEX_KILLS", "200");
    Ok(cargo)
}

/// The same files in each round: what differs is the machine's memory.
fn hostile(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = round.seeded(cargo_test(workspace, "--package=twindex-durable --test=hostile"));
    cargo.env("TWINDEX_HOSTILE", "1");
    Ok(cargo)
}

/// Connections dropped and slots moved under writers, ten times as often, and masters killed.
fn cluster(workspace: &Workspace, _: Round, _: &mut Log) -> Result<Command> {
    let mut cargo = cargo_test(workspace, "--package=twindex-cluster --test=failures --test=near");
    cargo.env("TWINDEX_STRESS", "10");
    Ok(cargo)
}

fn wasm(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let module = round.one_of(&["twindex.wasm", "twindex.fast.wasm"]);
    let mut cargo = round.seeded(workspace.cargo_test());
    cargo.arg("--test=abi").env("TWINDEX_WASM", workspace.path("wasm/npm").join(module));
    Ok(cargo)
}

/// All tests under one of the other versions of Python each time, with more random arguments.
fn python(workspace: &Workspace, round: Round, log: &mut Log) -> Result<Command> {
    let interpreters = Interpreter::others();
    let Some(interpreter) = interpreters.get((round.number % interpreters.len().max(1) as u64) as usize)
    else {
        return Err(NotRun("there is no Python".into()).into());
    };
    let mut pytest = python::pytest_under(interpreter, workspace, log)?;
    pytest.arg(format!("--hypothesis-seed={}", round.seed)).env("TWINDEX_STRESS", "5");
    pytest.arg("--ignore=tests/test_attacks.py");
    Ok(pytest)
}

/// Random attacks on the package as it is installed.
fn python_attacks(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let folder = &workspace.path("bindings/python");
    let mut pytest = round.seeded(Venv::of_tests(workspace).module("pytest", folder));
    pytest.args(["--quiet", "tests/test_attacks.py"]).env("TWINDEX_STRESS", "5");
    Ok(pytest)
}

/// README.md with every package built as a reader builds it.
fn readme(workspace: &Workspace, _: Round, _: &mut Log) -> Result<Command> {
    let mut test = command(std::env::current_exe()?, workspace.root());
    test.args(["test", "readme"]).env(readme::WHOLE, "1");
    Ok(test)
}

fn node(workspace: &Workspace, _: Round, _: &mut Log) -> Result<Command> {
    let mut node = command("node", &workspace.path("bindings/node"));
    node.args(["--expose-gc", "--test", "test/wrong-arguments.test.js"]).env("TWINDEX_STRESS", "20");
    Ok(node)
}

/// Random attacks, with workers that are ended.
fn node_attacks(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let mut node = round.seeded(command("node", &workspace.path("bindings/node")));
    node.args(["--expose-gc", "--test", "test/random.test.js"]).env("TWINDEX_STRESS", "10");
    Ok(node)
}

/// What is published for another platform of Linux each time. An emulator runs that of arm64.
fn dist(workspace: &Workspace, round: Round, _: &mut Log) -> Result<Command> {
    let platforms = ["aarch64-unknown-linux-gnu", "x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];
    let mut dist = command(std::env::current_exe()?, workspace.root());
    dist.args(["dist", "--quick", "--target", round.one_of(&platforms)]);
    Ok(dist)
}

/// As `cargo xtask report --quick` builds and measures it, with its peers and all hosts.
fn report(workspace: &Workspace, _: Round, _: &mut Log) -> Result<Command> {
    let mut report = command(std::env::current_exe()?, workspace.root());
    report.args(["report", "--quick", "--fresh"]);
    Ok(report)
}
