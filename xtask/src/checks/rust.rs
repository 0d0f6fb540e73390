//! The rooms that cargo alone tests.

use crate::bench::{Build, Host, Options};
use crate::run::command;
use crate::steps::Steps;
use crate::workspace::Workspace;

/// Unit tests, integration tests and the examples in the documentation of one crate.
pub(super) fn cargo_test(room: &str, package: &str, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: cargo test"), |log| {
        log.run(command("cargo", &workspace.path("")).args(["test", "--package", package]))
    });
}

/// A host's script of the seeds' tests, on so few pairs that it shows only that the script works.
pub(super) fn smoke(room: &str, host: Host, workspace: &Workspace, steps: &mut Steps) {
    steps.check(&format!("{room}: bench of {} at 1,000 pairs", host.name()), |log| {
        let folder = workspace.empty_folder(&format!("smoke/{}", host.name()))?;
        host.run(workspace, Build::Test, &Options::smoke(), &folder, log).map(drop)
    });
}

pub(super) fn benches(workspace: &Workspace, steps: &mut Steps) {
    cargo_test("benches", "twindex-benches", workspace, steps);
    smoke("benches", Host::Rust, workspace, steps);
}
