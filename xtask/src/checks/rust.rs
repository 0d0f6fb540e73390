//! The rooms that cargo alone tests.

use std::process::Command;

use crate::bench::{Build, Host, Work};
use crate::checks::suite::Suite;
use crate::run::command;
use crate::steps::{Job, Steps, checks};
use crate::workspace::Workspace;

/// The packages that no member of the workspace may depend on: they need other tools, or a great deal of others' code.
pub(super) const FUZZ: &str = "engine/fuzz";
pub(super) const MODELS: &str = "engine/models";
pub(super) const PEERS: &str = "benches/peers";

pub(super) const DENY: [&str; 2] = ["--", "--deny=warnings"];

/// Unit tests, integration tests and the examples in the documentation of one crate, where it is tested by itself.
pub(super) fn cargo_test<'s>(room: &'s str, package: &'s str, suite: &'s Suite) -> Option<Job<'s>> {
    if suite.is_whole() {
        return None;
    }
    Some(checks(move |steps| {
        steps.check(&format!("{room}: cargo test"), |log| {
            log.run(command("cargo", suite.workspace().root()).args(["test", "--package", package]))
        });
    }))
}

/// The same for all crates at once, those over WebAssembly's modules among them.
pub(super) fn cargo_test_of_all(suite: &Suite) -> Job<'_> {
    Box::new(|steps| {
        // Even where the modules cannot be built the other crates can be tested.
        let built = suite.wasm(steps);
        steps.check("all crates: cargo test", |log| {
            log.run(suite.workspace().cargo_test().arg("--no-fail-fast"))
        });
        built
    })
}

/// A host's script of the tests, on so few pairs that it shows only that the script works.
pub(super) fn smoke(room: &str, host: Host, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: bench of {} at 1,000 pairs", host.name()), |log| {
        let folder = workspace.empty_folder(&format!("smoke/{}", host.name()))?;
        host.run(workspace, Build::Test, &Work::smoke(host), &folder, log).map(drop)
    });
}

pub(super) fn benches(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    let seeds = checks(|steps| smoke("benches", Host::Rust, workspace, steps));
    let peers = checks(|steps| {
        steps.check("benches: cargo test of the peers", |log| {
            log.run(&mut of_own_workspace(workspace, PEERS, "test"))
        });
        steps.check("benches: clippy of the peers", |log| {
            log.run(of_own_workspace(workspace, PEERS, "clippy").arg("--all-targets").args(DENY))
        });
    });
    cargo_test("benches", "twindex-benches", suite).into_iter().chain([seeds, peers]).collect()
}

/// A cargo command on a package that is a workspace of its own, which shares what both compile.
pub(super) fn of_own_workspace(workspace: &Workspace, folder: &str, verb: &str) -> Command {
    let mut cargo = command("cargo", &workspace.path(folder));
    cargo.args([verb, "--locked"]).env("CARGO_TARGET_DIR", workspace.build());
    cargo
}
