//! docs/, as a site.

use std::path::PathBuf;

use crate::setup::Venv;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Builds the site; a warning is an error. Where it is.
pub(crate) fn build(workspace: &Workspace, steps: &mut Steps) -> Result<PathBuf, Failed> {
    let venv = Venv::of_tests(workspace);
    steps.must("docs: virtual environment", |log| {
        venv.make(log)?;
        venv.install(workspace.root(), &["-r", "docs/requirements.txt"], log)?;
        venv.install_package(workspace, log)
    })?;
    steps.must("docs: site", |log| {
        let mut zensical = venv.module("zensical", workspace.root());
        log.run(zensical.args(["build", "--strict", "--clean", "--config-file", "mkdocs.yml"]))
    })?;
    Ok(workspace.target("site"))
}
