//! xtask/

use crate::checks::node::scripts;
use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::setup::npm_ci;
use crate::steps::Job;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let report: Job<'_> = Box::new(|steps| {
        let folder = &suite.workspace().path("xtask/report");
        steps.must("xtask: npm ci of the report", |log| npm_ci(folder, log))?;
        scripts("xtask", folder, &["lint", "test", "build"], steps);
        Ok(())
    });
    cargo_test("xtask", "xtask", suite).into_iter().chain([report]).collect()
}
