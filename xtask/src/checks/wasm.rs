//! wasm/ and examples/browser/

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::bench::Host;
use crate::build::{WASMTIME, make_guest};
use crate::checks::node::scripts;
use crate::checks::rust::smoke;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Runtime, Venv, WasmTarget, npm, npm_ci, require_wasi};
use crate::steps::{Failed, Job, Steps};
use crate::workspace::Workspace;

/// The package's modules in its folder, and the components.
pub(super) fn build(workspace: &Workspace, target: WasmTarget, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("wasm/npm");
    steps.must("wasm: npm ci", |log| npm_ci(folder, log))?;
    steps.must("wasm: build", |log| log.run(target.apply(&mut npm(folder, &["run", "build"]))))?;
    steps.must("wasm: build of the component", |log| build_components(workspace, target, log))
}

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
                log.run(workspace.cargo_test().arg("--test=abi").env("TWINDEX_WASM", fast))
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
    for runtime in Runtime::ALL {
        steps.check(&format!("wasm: tests in {}", runtime.name()), |log| {
            runtime.find(workspace, log)?;
            let script = format!("test:{}", runtime.name().to_lowercase());
            log.run(&mut npm(&workspace.path("wasm/npm"), &["run", &script]))
        });
    }
}

/// The component, and a client of it. The toolchain's linker of components makes them without any import of WASI.
fn build_components(workspace: &Workspace, target: WasmTarget, log: &mut Log) -> Result<()> {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["build", "--release", "--package=twindex-component", "--package=twindex-component-client"]);
    cargo.args(["--target=wasm32-unknown-unknown", "--config"]);
    log.run(target.apply(cargo.arg("target.wasm32-unknown-unknown.linker='wasm-component-ld'")))
}

/// The command-line tool for WASI: where it is.
pub(super) fn build_tool(workspace: &Workspace, log: &mut Log) -> Result<PathBuf> {
    require_wasi(log)?;
    let build = ["build", "--package=twindex-cli", "--target=wasm32-wasip1"];
    log.run(command("cargo", workspace.root()).args(build))?;
    Ok(workspace.build().join("wasm32-wasip1/debug/twindex.wasm"))
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
