//! cluster/

use anyhow::{Result, anyhow};
use twindex_servers::Cluster;

use crate::checks::made::python::{install, only_file};
use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Venv, npm};
use crate::steps::{Failed, Job, Steps, checks};
use crate::workspace::Workspace;

/// What the tests of the packages find their servers by.
const URL: &str = "TWINDEX_CLUSTER_URL";

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let python: Job<'_> = Box::new(|steps| python(suite, steps));
    let node: Job<'_> = Box::new(|steps| node(suite, steps));
    // The tool has them by a feature, which the test of all crates does not switch on.
    let transfers = checks(|steps| {
        steps.check("cluster: push and pull", |log| {
            let mut cargo = command("cargo", suite.workspace().root());
            log.run(cargo.args(["test", "--package=twindex-cli", "--features=cluster", "--test=transfer"]))
        });
    });
    cargo_test("cluster", "twindex-cluster", suite).into_iter().chain([transfers, python, node]).collect()
}

fn start() -> Result<Cluster> {
    Cluster::start(3, 1).map_err(|error| anyhow!("starting a cluster: {error}"))
}

/// The Python package, compiled without optimising, beside the package `twindex` as it is published.
fn python(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let (workspace, venv) = (suite.workspace(), &suite.python(steps)?.venv);
    let folder = &workspace.path("cluster/python");
    steps.must("cluster: Python package", |log| install_package(workspace, venv, log))?;
    for (name, module, arguments) in [
        ("ruff", "ruff", ["check", "."].as_slice()),
        ("ruff format", "ruff", &["format", "--check", "."]),
        ("mypy", "mypy", &["--strict"]),
    ] {
        steps.check(&format!("cluster: {name}"), |log| log.run(venv.module(module, folder).args(arguments)));
    }
    steps.check("cluster: pytest", |log| {
        let cluster = start()?;
        log.run(venv.module("pytest", folder).arg("--quiet").env(URL, cluster.url()))
    });
    Ok(())
}

/// The Node package in its folder, compiled without optimising.
fn node(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let workspace = suite.workspace();
    let folder = &workspace.path("cluster/node");
    steps.must("cluster: Node package", |log| {
        let mut build = command("node", folder);
        log.run(build.args(["scripts/build.js", "--dev"]).env("CARGO_TARGET_DIR", workspace.build()))
    })?;
    steps.check("cluster: Node tests", |log| {
        let cluster = start()?;
        log.run(npm(folder, &["test"]).env(URL, cluster.url()))
    });
    // The linter is the other package's.
    suite.node(steps)?;
    steps.check("cluster: Node lint", |log| {
        let biome = workspace.path("bindings/node/node_modules/.bin/biome");
        log.run(command(biome, folder).args(["check", "--error-on-warnings", "--config-path=.", "."]))
    });
    Ok(())
}

fn install_package(workspace: &Workspace, venv: &Venv, log: &mut Log) -> Result<()> {
    let folder = &workspace.path("cluster/python");
    let made = workspace.empty_folder("cluster-python")?;
    let mut maturin = venv.module("maturin", folder);
    log.run(
        maturin
            .args(["build", "--profile=dev", "--out"])
            .arg(&made)
            .env("CARGO_TARGET_DIR", workspace.build()),
    )?;
    install(&only_file(&made, "whl")?, venv, folder, log)
}
