//! cluster/

use std::process::Command;

use anyhow::{Result, anyhow};
use twindex_servers::{Cluster, Secure};

use crate::checks::made::python::{install, only_file};
use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Venv, npm, works};
use crate::steps::{Failed, Job, NotRun, Steps, checks};
use crate::workspace::Workspace;

/// What the tests of the packages find their servers by: a URL, and of those with TLS two URLs and a file.
const URL: &str = "TWINDEX_CLUSTER_URL";
const TLS: &str = "TWINDEX_CLUSTER_TLS";

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let python: Job<'_> = Box::new(|steps| python(suite, steps));
    let node: Job<'_> = Box::new(|steps| node(suite, steps));
    // The test of all crates switches on the feature by which the tool has them.
    let transfers = (!suite.is_whole()).then(|| {
        checks(|steps| {
            steps.check("cluster: push and pull", |log| {
                let mut cargo = command("cargo", suite.workspace().root());
                log.run(cargo.args([
                    "test",
                    "--package=twindex-cli",
                    "--features=cluster",
                    "--test=transfer",
                ]))
            });
        })
    });
    let valkey = checks(|steps| steps.check("cluster: Valkey", |log| valkey(suite, log)));
    let crates = cargo_test("cluster", "twindex-cluster", suite);
    crates.into_iter().chain(transfers).chain([python, node, valkey]).collect()
}

/// The verbs and the near cache on the other servers, where there are some. Debian 12 has none.
fn valkey(suite: &Suite, log: &mut Log) -> Result<()> {
    if !works("valkey-server", &["--version"]) {
        return Err(NotRun("there is no valkey-server".into()).into());
    }
    let mut cargo = command("cargo", suite.workspace().root());
    cargo.args(["test", "--package=twindex-cluster", "--test=vectors", "--test=tables", "--test=near"]);
    log.run(cargo.env("TWINDEX_SERVER", "valkey"))
}

/// Runs the tests of a package, which find servers of their own.
fn run_tests(mut tests: Command, log: &mut Log) -> Result<()> {
    let failed = |error| anyhow!("starting a cluster: {error}");
    let (cluster, secure) = (Cluster::start(3, 1).map_err(failed)?, Secure::start().map_err(failed)?);
    let tls = format!("{}\n{}", secure.urls().join("\n"), secure.authority().display());
    log.run(tests.env(URL, cluster.url()).env(TLS, tls))
}

/// The Python package, compiled without optimising, beside the package `twindex` as it is published.
fn python(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let (workspace, venv) = (suite.workspace(), &suite.python(steps)?.venv);
    let folder = &workspace.path("bindings/python-cluster");
    steps.must("cluster: Python package", |log| install_package(workspace, venv, log))?;
    for (name, module, arguments) in [
        ("ruff", "ruff", ["check", "."].as_slice()),
        ("ruff format", "ruff", &["format", "--check", "."]),
        ("mypy", "mypy", &["--strict"]),
    ] {
        steps.check(&format!("cluster: {name}"), |log| log.run(venv.module(module, folder).args(arguments)));
    }
    steps.check("cluster: pytest", |log| {
        let mut pytest = venv.module("pytest", folder);
        pytest.arg("--quiet");
        run_tests(pytest, log)
    });
    Ok(())
}

/// The Node package in its folder, compiled without optimising.
fn node(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let workspace = suite.workspace();
    let folder = &workspace.path("bindings/node-cluster");
    steps.must("cluster: Node package", |log| {
        let mut build = command("node", folder);
        log.run(build.args(["scripts/build.js", "--dev"]).env("CARGO_TARGET_DIR", workspace.build()))
    })?;
    steps.check("cluster: Node tests", |log| run_tests(npm(folder, &["test"]), log));
    // The linter is the other package's.
    suite.node(steps)?;
    steps.check("cluster: Node lint", |log| {
        let biome = workspace.path("bindings/node/node_modules/.bin/biome");
        log.run(command(biome, folder).args(["check", "--error-on-warnings", "--config-path=.", "."]))
    });
    Ok(())
}

fn install_package(workspace: &Workspace, venv: &Venv, log: &mut Log) -> Result<()> {
    let folder = &workspace.path("bindings/python-cluster");
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
