//! The report: a quick one from its first test to its page, which is then looked at in a browser.

use crate::build;
use crate::report;
use crate::setup::npm;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    build::hosts(workspace, steps)?;
    let folder = workspace.path("xtask/report");
    steps.check("report: a page in a browser", |log| log.run(&mut npm(&folder, &["run", "look"])));
    let page = report::quick(workspace, steps)?;
    steps.check("report: its page in a browser", |log| {
        log.run(npm(&folder, &["run", "look"]).env("TWINDEX_PAGE", &page))
    });
    Ok(())
}
