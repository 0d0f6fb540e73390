//! What is published, as far as the tests of the other rooms build it: it is packed, looked at and installed.
//!
//! `cargo xtask dist` builds it as it is published, for other platforms too.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::checks::made::python::Package;
use crate::checks::suite::Suite;
use crate::dist::{self, Examples, Files};
use crate::run::{Log, command};
use crate::setup::{npm, output};
use crate::steps::{Failed, Job, NotRun, Steps, checks};
use crate::workspace::Workspace;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    let files: Job<'_> = Box::new(|steps| {
        let Package { wheel, .. } = suite.python(steps)?;
        suite.node(steps)?;
        suite.wasm(steps)?;
        packages(wheel, workspace, steps)
    });
    let rest = checks(|steps| {
        steps.check("dist: crates", |log| {
            // What is in them was compiled by their tests.
            let mut cargo = command("cargo", workspace.root());
            log.run(cargo.args(["package", "--no-verify", "--allow-dirty", "--locked"]).args(dist::crates()))
        });
        steps.check("dist: cargo deny", |log| dist::deny(workspace, log));
        steps.check("dist: workflows", |log| workflows(workspace, log));
    });
    vec![files, rest]
}

fn packages(wheel: &Path, workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let files = steps.must("dist: npm packages", |log| {
        let folder = workspace.empty_folder("dist-test")?;
        dist::pack(workspace, "bindings/node", std::iter::empty(), &folder, log)?;
        let npm_files = tarballs(&folder)?;
        log.run(npm(&workspace.path("wasm/npm"), &["pack", "--pack-destination"]).arg(&folder))?;
        dist::npm_packages(workspace, &folder, log)?;
        let wasm = tarballs(&folder)?.into_iter().filter(|path| !npm_files.contains(path)).collect();
        Ok(Files { wheels: vec![wheel.to_owned()], npm: npm_files, wasm })
    })?;
    let examples = steps.must("dist: the README's examples", |_| Examples::read(workspace))?;
    dist::install(&files, &examples, workspace, steps);
    Ok(())
}

fn tarballs(folder: &Path) -> Result<Vec<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// Whether GitHub would take the workflows.
fn workflows(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let home = output("go", &["env", "GOPATH"]).unwrap_or_default();
    let installed = Path::new(home.trim()).join("bin/actionlint").display().to_string();
    let Some(program) =
        ["actionlint", &installed].into_iter().find(|program| output(program, &["--version"]).is_some())
    else {
        let install = "go install github.com/rhysd/actionlint/cmd/actionlint@latest";
        return Err(NotRun(format!("actionlint is missing: {install}")).into());
    };
    log.run(command(program, workspace.root()).arg("-color=false"))
}
