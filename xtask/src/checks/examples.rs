//! examples/ of the languages that have no binding: Go and Java call the WebAssembly module.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Venv, output};
use crate::steps::{Job, NotRun};
use crate::workspace::Workspace;

/// A store with the pairs that the tests of both look for.
const DUMP: &str = "import sys, twindex
store = twindex.Store()
store.table('users').insert('ada', '1815')
store.table('log', index='sorted').insert_many([(f'day-{day:03}', 'x') for day in range(1000)])
open(sys.argv[1], 'wb').write(store.dump())";

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    let over_the_module: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        let venv = &suite.python(steps)?.venv;
        let dump = &steps.must("examples: a dump made in Python", |log| make_dump(venv, workspace, log))?;
        steps.check("examples: Go", |log| {
            let folder = &workspace.path("examples/go");
            require("go", "version", "golang-go")?;
            let unformatted = log.read(command("gofmt", folder).args(["-l", "."]))?;
            anyhow::ensure!(unformatted.is_empty(), "gofmt would change {unformatted}");
            log.run(command("go", folder).args(["vet", "./..."]))?;
            log.run(command("go", folder).args(["test", "-count=1", "./..."]).env("TWINDEX_DUMP", dump))?;
            log.run(command("go", folder).args(["run", ".", "-dump"]).arg(dump))?;
            log.run(command("go", folder).args(["run", ".", "-bench", "1000"]))
        });
        steps.check("examples: Java", |log| {
            require("mvn", "--version", "maven")?;
            let folder = &workspace.path("examples/java");
            let mut maven = command("mvn", folder);
            maven.args(["--batch-mode", "--no-transfer-progress", "test", "exec:java"]);
            log.run(maven.arg("-Dexec.args=bench 1000").env("TWINDEX_DUMP", dump))
        });
        Ok(())
    });
    cargo_test("examples", "twindex-examples", suite).into_iter().chain([over_the_module]).collect()
}

fn require(program: &str, version: &str, package: &str) -> Result<()> {
    match output(program, &[version]) {
        Some(_) => Ok(()),
        None => Err(NotRun(format!("{program} is missing: apt-get install {package}")).into()),
    }
}

fn make_dump(venv: &Venv, workspace: &Workspace, log: &mut Log) -> Result<PathBuf> {
    let path = workspace.empty_folder("examples")?.join("python.dump");
    log.run(command(venv.python(), Path::new(".")).args(["-c", DUMP]).arg(&path))?;
    Ok(path)
}
