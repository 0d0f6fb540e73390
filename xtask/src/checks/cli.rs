//! cli/

use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::run::command;
use crate::steps::Job;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let under_wasi: Job<'_> = Box::new(|steps| {
        let tool = suite.wasi_tool(steps)?;
        steps.check("cli: tests under WASI", |log| {
            let mut node = command("node", &suite.workspace().path("cli/tests"));
            log.run(node.args(["--no-warnings", "--test", "wasi.mjs"]).env("TWINDEX_WASI", tool))
        });
        Ok(())
    });
    cargo_test("cli", "twindex-cli", suite).into_iter().chain([under_wasi]).collect()
}
