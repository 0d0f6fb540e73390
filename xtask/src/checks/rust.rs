//! The rooms that cargo alone tests.

use std::process::Command;

use crate::bench::{Build, Host, Work};
use crate::run::command;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// The packages that no member of the workspace may depend on: they need other tools, or a great deal of others' code.
pub(super) const FUZZ: &str = "engine/fuzz";
pub(super) const MODELS: &str = "engine/models";
pub(super) const PEERS: &str = "benches/peers";

pub(super) const DENY: [&str; 2] = ["--", "--deny=warnings"];

/// Unit tests, integration tests and the examples in the documentation of one crate.
pub(super) fn cargo_test(room: &str, package: &str, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: cargo test"), |log| {
        log.run(command("cargo", workspace.root()).args(["test", "--package", package]))
    });
}

/// A host's script of the tests, on so few pairs that it shows only that the script works.
pub(super) fn smoke(room: &str, host: Host, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: bench of {} at 1,000 pairs", host.name()), |log| {
        let folder = workspace.empty_folder(&format!("smoke/{}", host.name()))?;
        host.run(workspace, Build::Test, &Work::smoke(), &folder, log).map(drop)
    });
}

pub(super) fn benches(workspace: &Workspace, steps: &mut Steps) {
    cargo_test("benches", "twindex-benches", workspace, steps);
    smoke("benches", Host::Rust, workspace, steps);
    steps.check("benches: clippy of the peers", |log| {
        log.run(of_own_workspace(workspace, PEERS, "clippy").arg("--all-targets").args(DENY))
    });
    steps.check("benches: cargo test of the peers", |log| {
        log.run(&mut of_own_workspace(workspace, PEERS, "test"))
    });
}

/// A cargo command on a package that is a workspace of its own, which shares what both compile.
pub(super) fn of_own_workspace(workspace: &Workspace, folder: &str, verb: &str) -> Command {
    let mut cargo = command("cargo", &workspace.path(folder));
    cargo.args([verb, "--locked"]).env("CARGO_TARGET_DIR", workspace.build());
    cargo
}
