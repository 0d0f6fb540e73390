//! The WebAssembly modules, the components, and the tool for WASI.

use std::path::PathBuf;

use anyhow::Result;

use crate::run::{Log, command};
use crate::setup::{WasmTarget, npm, npm_ci, require_wasi};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The package's modules in its folder, and the components.
pub(crate) fn build(workspace: &Workspace, target: WasmTarget, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("wasm/npm");
    steps.must("wasm: npm ci", |log| npm_ci(folder, log))?;
    steps.must("wasm: build", |log| log.run(target.apply(&mut npm(folder, &["run", "build"]))))?;
    steps.must("wasm: build of the component", |log| build_components(workspace, target, log))
}

/// The component, and a client of it. The toolchain's linker of components makes them without any import of WASI.
fn build_components(workspace: &Workspace, target: WasmTarget, log: &mut Log) -> Result<()> {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["build", "--release", "--package=twindex-component", "--package=twindex-component-client"]);
    cargo.args(["--target=wasm32-unknown-unknown", "--config"]);
    log.run(target.apply(cargo.arg("target.wasm32-unknown-unknown.linker='wasm-component-ld'")))
}

/// The command-line tool for WASI: where it is.
pub(crate) fn build_tool(workspace: &Workspace, log: &mut Log) -> Result<PathBuf> {
    require_wasi(log)?;
    let build = ["build", "--package=twindex-cli", "--target=wasm32-wasip1"];
    log.run(command("cargo", workspace.root()).args(build))?;
    Ok(workspace.build().join("wasm32-wasip1/debug/twindex.wasm"))
}
