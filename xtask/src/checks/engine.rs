//! engine/: its tests, again over tiny constants, under models of interleavings, and with instruments.

use std::process::Command;

use anyhow::Result;

use crate::checks::rust::{DENY, FUZZ, MODELS, cargo_test, of_own_workspace};
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Miri, Sanitizer};
use crate::steps::{Job, Steps, checks};
use crate::workspace::Workspace;

/// Constants so small that every few writes split, merge or close something.
pub(super) const TINY: &str = "--cfg twindex_tiny";
/// The checker of all structures compiled in, and run by the tests.
pub(super) const CHECKED: &str = "--cfg twindex_tiny --cfg twindex_check";

/// How much the slow instruments do, as `TWINDEX_STRESS` has it: `cargo xtask soak` does the rest.
const CORE: &str = "0.3";

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    // Miri, the longest of them, keeps one core busy.
    let apart = [
        checks(|steps| steps.check("engine: Miri", |log| miri(workspace, log))),
        checks(|steps| steps.check("engine: thread sanitizer", |log| thread_sanitizer(workspace, log))),
        checks(|steps| {
            steps.check("engine: tiny constants, address sanitizer", |log| tiny(workspace, log));
            steps.check("engine: clippy of the checker", |log| {
                log.run(built_apart(workspace, "tiny", CHECKED, &["clippy"]).arg("--all-targets").args(DENY))
            });
        }),
        checks(|steps| models(workspace, steps)),
    ];
    cargo_test("engine", "twindex", suite).into_iter().chain(apart).collect()
}

fn miri(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let miri = Miri::find(log)?;
    let mut cargo = built_apart(workspace, "miri", TINY, &["miri", "test"]);
    // Its emulation of weak memory fails where a word is an atomic again that was plain bytes in between. The
    // models know weak memory.
    cargo.env("MIRIFLAGS", "-Zmiri-disable-weak-memory-emulation");
    log.run(miri.apply(cargo.args(["--test=threads", "--", "contended", "cursors"])))
}

fn thread_sanitizer(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let tsan = Sanitizer::Thread.find(log)?;
    // It knows no system call that is a fence.
    let flags = format!("{TINY} --cfg twindex_plain_fences");
    let mut cargo = built_apart(workspace, "tsan", &flags, &["test"]);
    log.run(tsan.apply(cargo.arg("--test=threads")).env("TWINDEX_STRESS", CORE))
}

/// All tests over tiny constants, under the address sanitizer where there is one.
fn tiny(workspace: &Workspace, log: &mut Log) -> Result<()> {
    // The examples in the documentation do not depend on the constants.
    let mut cargo = built_apart(workspace, "asan", CHECKED, &["test", "--lib", "--tests"]);
    let asan = Sanitizer::Address.find(log);
    if let Ok(asan) = &asan {
        asan.apply(&mut cargo);
    }
    log.run(&mut cargo)?;
    asan.map(drop)
}

fn models(workspace: &Workspace, steps: &mut Steps) {
    steps.check("engine: models of interleavings", |log| {
        log.run(of_own_workspace(workspace, MODELS, "test").env("TWINDEX_STRESS", CORE))
    });
    steps.check("engine: clippy of the models", |log| {
        log.run(of_own_workspace(workspace, MODELS, "clippy").arg("--all-targets").args(DENY))
    });
    steps.check("engine: clippy of the fuzz targets", |log| {
        // Linting links nothing, so the fuzzer's library, which would take a C++ compiler, need not be built.
        log.run(
            of_own_workspace(workspace, FUZZ, "clippy")
                .env("CUSTOM_LIBFUZZER_PATH", "none/libfuzzer.a")
                .args(DENY),
        )
    });
}

/// A cargo command on the engine compiled with these flags, in a build folder of its own, as nothing can be shared.
pub(super) fn built_apart(workspace: &Workspace, folder: &str, flags: &str, verb: &[&str]) -> Command {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(verb).args(["--locked", "--package=twindex"]);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", workspace.target(folder));
    cargo
}
