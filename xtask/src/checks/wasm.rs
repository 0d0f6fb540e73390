//! wasm/ and examples/browser/

use anyhow::Result;

use crate::bench::Host;
use crate::checks::node::scripts;
use crate::checks::rust::{cargo_test, smoke};
use crate::run::{Log, command};
use crate::setup::{Venv, WasmTarget, npm, npm_ci, require_wasi};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The version for which the tests in Python are written.
const WASMTIME: &str = "wasmtime==50.0.1";

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("wasm/npm");
    let target = steps.must("wasm: Rust for WebAssembly", WasmTarget::find)?;
    steps.must("wasm: npm ci", |log| npm_ci(folder, log))?;
    steps.must("wasm: build", |log| log.run(target.apply(&mut npm(folder, &["run", "build"]))))?;
    steps.must("wasm: build of the component", |log| build_components(workspace, target, log))?;
    scripts("wasm", folder, &["lint", "types", "test", "test:browser"], steps);
    smoke("wasm", Host::WasmNode, workspace, steps);
    steps.check("wasm: the tool, natively and for WASI", |log| build_tool(workspace, log));
    cargo_test("wasm", "twindex-wasm", workspace, steps);
    steps.check("wasm: tests of the fast module", |log| {
        let mut tests = command("cargo", workspace.root());
        tests.args(["test", "--package=twindex-wasm", "--test=abi"]);
        log.run(tests.env("TWINDEX_WASM", workspace.path("wasm/npm/twindex.fast.wasm")))
    });
    smoke("wasm", Host::Wasmtime, workspace, steps);
    steps.check("wasm: tests in Python's wasmtime", |log| test_in_python(workspace, log));
    Ok(())
}

/// The component, and a client of it. The toolchain's linker of components makes them without any import of WASI.
fn build_components(workspace: &Workspace, target: WasmTarget, log: &mut Log) -> Result<()> {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["build", "--release", "--package=twindex-component", "--package=twindex-component-client"]);
    cargo.args(["--target=wasm32-unknown-unknown", "--config"]);
    log.run(target.apply(cargo.arg("target.wasm32-unknown-unknown.linker='wasm-component-ld'")))
}

fn build_tool(workspace: &Workspace, log: &mut Log) -> Result<()> {
    require_wasi(log)?;
    for build in ["build --package=twindex-cli", "build --package=twindex-cli --target=wasm32-wasip1"] {
        log.run(command("cargo", workspace.root()).args(build.split(' ')))?;
    }
    Ok(())
}

/// The module, the component, and one file in turn under WASI and natively.
fn test_in_python(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let venv = Venv::at(workspace.target("venv-wasm"));
    venv.make(log)?;
    venv.install(workspace.root(), &[WASMTIME], log)?;
    let mut tests = command(venv.python(), workspace.root());
    tests.arg("wasm/tests/python/hosts.py").arg(workspace.path("wasm/npm/twindex.wasm"));
    for built in [
        "wasm32-unknown-unknown/release/twindex_component.wasm",
        "wasm32-wasip1/debug/twindex.wasm",
        "debug/twindex",
    ] {
        tests.arg(workspace.build().join(built));
    }
    log.run(&mut tests)
}
