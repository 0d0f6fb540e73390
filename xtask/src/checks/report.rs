//! The report: a small one from its first test to its page, which is then looked at in a browser.

use crate::build;
use crate::checks::suite::Suite;
use crate::report;
use crate::setup::npm;
use crate::steps::Job;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        suite.node(steps)?;
        suite.python(steps)?;
        suite.wasm(steps)?;
        let workspace = suite.workspace();
        build::page(workspace, steps)?;
        let folder = workspace.path("xtask/report");
        steps.check("report: a page in a browser", |log| log.run(&mut npm(&folder, &["run", "look"])));
        let page = report::smallest(workspace, steps)?;
        steps.check("report: its page in a browser", |log| {
            log.run(npm(&folder, &["run", "look"]).env("TWINDEX_PAGE", &page))
        });
        Ok(())
    })]
}
