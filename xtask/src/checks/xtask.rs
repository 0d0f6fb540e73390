//! xtask/

use crate::checks::node::scripts;
use crate::checks::rust::cargo_test;
use crate::setup::npm_ci;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    cargo_test("xtask", "xtask", workspace, steps);
    let folder = &workspace.path("xtask/report");
    steps.must("xtask: npm ci of the report", |log| npm_ci(folder, log))?;
    scripts("xtask", folder, &["lint", "test", "build"], steps);
    Ok(())
}
