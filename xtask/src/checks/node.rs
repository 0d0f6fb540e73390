//! bindings/node/ and examples/node/, whose programs the package's tests run

use std::path::Path;

use crate::bench::Host;
use crate::checks::rust::smoke;
use crate::setup::{npm, npm_ci};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("bindings/node");
    steps.must("node: npm ci", |log| npm_ci(folder, log))?;
    steps.must("node: build", |log| log.run(&mut npm(folder, &["run", "build"])))?;
    scripts("node", folder, &["lint", "types", "test"], steps);
    let suite = &folder.join("test/suites/keyv");
    steps.check("node: Keyv's suite", |log| {
        npm_ci(suite, log)?;
        log.run(&mut npm(suite, &["test"]))
    });
    smoke("node", Host::Node, workspace, steps);
    Ok(())
}

/// Runs scripts of a package, none of which rests on another.
pub(super) fn scripts(room: &str, folder: &Path, names: &[&str], steps: &mut Steps) {
    for name in names {
        steps.check(&format!("{room}: npm run {name}"), |log| log.run(&mut npm(folder, &["run", name])));
    }
}
