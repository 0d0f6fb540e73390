//! wasm/ and examples/browser/

use std::path::Path;

use anyhow::Result;

use crate::bench::Host;
use crate::build::{WASMTIME, make_guest};
use crate::checks::node::scripts;
use crate::checks::rust::smoke;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Runtime, Venv, npm, npm_ci};
use crate::steps::{Failed, Job, Steps};
use crate::workspace::Workspace;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let workspace = suite.workspace();
    vec![
        Box::new(|steps| {
            suite.wasm(steps)?;
            if !suite.is_whole() {
                steps.check("wasm: cargo test", |log| {
                    log.run(workspace.cargo_test().args(["--test=abi", "--test=component"]))
                });
            }
            steps.check("wasm: tests of the fast module", |log| {
                let fast = workspace.path("wasm/npm/twindex.fast.wasm");
                // What both do where memory ends takes longest. The soak has the fast one do it too.
                let words = ["--test=abi", "--", "--skip=memory::"];
                log.run(workspace.cargo_test().args(words).env("TWINDEX_WASM", fast))
            });
            smoke("wasm", Host::Wasmtime, workspace, steps);
            Ok(())
        }),
        Box::new(|steps| {
            suite.wasm(steps)?;
            test_in_javascript(suite, steps)
        }),
    ]
}

fn test_in_javascript(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let workspace = suite.workspace();
    let folder = &workspace.path("wasm/npm");
    scripts("wasm", folder, &["lint", "types", "test", "test:browser"], steps);
    steps.check("wasm: npm run test:package", |log| {
        npm_ci(&folder.join("test/package"), log)?;
        log.run(&mut npm(folder, &["run", "test:package"]))
    });
    smoke("wasm", Host::WasmNode, workspace, steps);
    let target = suite.wasm_target(steps)?;
    steps.must("wasm: program for the bench", |log| make_guest(workspace, target, log))?;
    smoke("wasm", Host::Guest, workspace, steps);
    test_in_runtimes(workspace, steps);
    let tool = suite.wasi_tool(steps)?;
    steps.check("wasm: the tool for WASI in Deno", |log| {
        let mut tests = Runtime::Deno.tests(&workspace.path("cli/tests"), workspace, log)?;
        log.run(tests.arg("wasi.mjs").env("TWINDEX_WASI", tool))
    });
    steps.check("wasm: tests in Python's wasmtime", |log| test_in_python(tool, workspace, log));
    Ok(())
}

/// The same tests in Deno and Bun.
fn test_in_runtimes(workspace: &Workspace, steps: &mut Steps) {
    for runtime in Runtime::BESIDE_NODE {
        steps.check(&format!("wasm: tests in {}", runtime.name()), |log| {
            runtime.find(workspace, log)?;
            let script = format!("test:{}", runtime.name().to_lowercase());
            log.run(&mut npm(&workspace.path("wasm/npm"), &["run", &script]))
        });
    }
}

/// The module, the component, and one file in turn under WASI and natively.
fn test_in_python(tool: &Path, workspace: &Workspace, log: &mut Log) -> Result<()> {
    log.run(command("cargo", workspace.root()).args(["build", "--package=twindex-cli"]))?;
    let venv = Venv::of_wasmtime(workspace);
    venv.make(log)?;
    venv.install(workspace.root(), &[WASMTIME], log)?;
    let mut tests = command(venv.python(), workspace.root());
    tests.arg("wasm/tests/python/hosts.py").arg(workspace.path("wasm/npm/twindex.wasm"));
    tests.arg(workspace.build().join("wasm32-unknown-unknown/release/twindex_component.wasm"));
    log.run(tests.arg(tool).arg(workspace.build().join("debug/twindex")))
}
