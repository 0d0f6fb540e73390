//! docs/, as a site.

use std::path::PathBuf;

use crate::checks::made::python::SITE;
use crate::checks::suite::Suite;
use crate::setup::Venv;
use crate::steps::{Failed, Job, Steps};
use crate::workspace::Workspace;

/// Builds the site of a package that is installed from this checkout; a warning is an error. Where it is.
pub(crate) fn build(workspace: &Workspace, steps: &mut Steps) -> Result<PathBuf, Failed> {
    let venv = Venv::of_tests(workspace);
    steps.must("docs: virtual environment", |log| {
        venv.make(log)?;
        venv.install(workspace.root(), &["-r", SITE], log)?;
        venv.install_package(workspace, log)
    })?;
    site(&venv, workspace, steps)
}

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        let package = suite.python(steps)?;
        site(&package.venv, suite.workspace(), steps).map(drop)
    })]
}

fn site(venv: &Venv, workspace: &Workspace, steps: &mut Steps) -> Result<PathBuf, Failed> {
    steps.must("docs: site", |log| {
        let mut zensical = venv.module("zensical", workspace.root());
        log.run(zensical.args(["build", "--strict", "--clean", "--config-file", "mkdocs.yml"]))
    })?;
    Ok(workspace.target("site"))
}
