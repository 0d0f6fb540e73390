//! wasm/ and examples/browser/

use anyhow::Result;

use crate::bench::Host;
use crate::checks::node::scripts;
use crate::checks::rust::{cargo_test, smoke};
use crate::run::{Log, command};
use crate::setup::{Runtime, Venv, WasmTarget, npm, npm_ci, require_wasi};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The version for which the tests in Python are written.
const WASMTIME: &str = "wasmtime==50.0.1";

/// The tool for WASI, in the build directory.
const TOOL: &str = "wasm32-wasip1/debug/twindex.wasm";

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("wasm/npm");
    let target = steps.must("wasm: Rust for WebAssembly", WasmTarget::find)?;
    for below in [".", "test/package", "test/runtimes"] {
        steps.must(&format!("wasm: npm ci {below}"), |log| npm_ci(&folder.join(below), log))?;
    }
    steps.must("wasm: build", |log| log.run(target.apply(&mut npm(folder, &["run", "build"]))))?;
    steps.must("wasm: build of the component", |log| build_components(workspace, target, log))?;
    scripts("wasm", folder, &["lint", "types", "test", "test:browser", "test:package"], steps);
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
    test_in_runtimes(workspace, steps);
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
    steps.check("wasm: the tool for WASI in Deno", |log| {
        let mut tests = Runtime::Deno.tests(&workspace.path("cli/tests"), workspace, log)?;
        log.run(tests.arg("wasi.mjs").env("TWINDEX_WASI", workspace.build().join(TOOL)))
    });
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
    for built in ["wasm32-unknown-unknown/release/twindex_component.wasm", TOOL, "debug/twindex"] {
        tests.arg(workspace.build().join(built));
    }
    log.run(&mut tests)
}
