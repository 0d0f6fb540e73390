//! engine/: its tests, again over tiny constants, under models of interleavings, and with instruments.

use std::process::Command;

use crate::checks::rust::{DENY, FUZZ, MODELS, cargo_test, of_own_workspace};
use crate::run::command;
use crate::setup::{Miri, Sanitizer};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Constants so small that every few writes split, merge or close something.
const TINY: &str = "--cfg twindex_tiny";
/// The checker of all structures compiled in, and run by the tests.
const CHECKED: &str = "--cfg twindex_tiny --cfg twindex_check";

/// Walking all structures after each step, or doing so under a sanitizer, takes several times as long without it.
const OPTIMISED: &str = "--config=profile.dev.package.twindex.opt-level=1";

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) {
    cargo_test("engine", "twindex", workspace, steps);
    steps.check("engine: cargo test over tiny constants", |log| {
        log.run(&mut built_apart(workspace, "tiny", CHECKED, &["test", OPTIMISED]))
    });
    steps.check("engine: models of interleavings", |log| {
        log.run(&mut of_own_workspace(workspace, MODELS, "test"))
    });
    steps.check("engine: address sanitizer", |log| {
        let asan = Sanitizer::Address.find(log)?;
        let tests = ["--test=threads", "--test=model", "--test=memory", "--test=contract"];
        log.run(asan.apply(built_apart(workspace, "asan", CHECKED, &["test", OPTIMISED]).args(tests)))
    });
    steps.check("engine: thread sanitizer", |log| {
        let tsan = Sanitizer::Thread.find(log)?;
        // It knows no system call that is a fence.
        let flags = format!("{TINY} --cfg twindex_plain_fences");
        log.run(
            tsan.apply(built_apart(workspace, "tsan", &flags, &["test", OPTIMISED]).arg("--test=threads")),
        )
    });
    steps.check("engine: Miri", |log| {
        let miri = Miri::find(log)?;
        let mut cargo = built_apart(workspace, "miri", TINY, &["miri", "test"]);
        // Its emulation of weak memory fails where a word is an atomic again that was plain bytes in between. The
        // models know weak memory.
        cargo.env("MIRIFLAGS", "-Zmiri-disable-weak-memory-emulation");
        log.run(miri.apply(cargo.args(["--test=threads", "--", "contended", "cursors"])))
    });
    steps.check("engine: clippy of the checker and the models", |log| {
        log.run(built_apart(workspace, "tiny", CHECKED, &["clippy"]).arg("--all-targets").args(DENY))?;
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
fn built_apart(workspace: &Workspace, folder: &str, flags: &str, verb: &[&str]) -> Command {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(verb).args(["--locked", "--package=twindex"]);
    cargo.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", workspace.target(folder));
    cargo
}
