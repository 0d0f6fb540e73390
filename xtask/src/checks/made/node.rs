//! The Node package.

use crate::build::fast;
use crate::setup::{npm, npm_ci_unbuilt};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The package in its folder, ready to be used.
pub(crate) fn build(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("bindings/node");
    steps.must("node: npm ci", |log| npm_ci_unbuilt(folder, log))?;
    steps.must("node: build", |log| log.run(&mut fast(npm(folder, &["run", "build"]))))
}
