//! Builds what is measured, and the page that shows it.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::run::{Log, command};
use crate::setup::{Tool, Venv, WasmTarget, npm, npm_ci, npm_ci_unbuilt, require};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// The version of Python's wasmtime for which our scripts are written.
pub(crate) const WASMTIME: &str = "wasmtime==50.0.1";
const TRIPLE: &str = "wasm32-unknown-unknown";

/// Stops with one line where a tool is missing that the hosts and the page need.
pub(crate) fn require_tools() -> Result<()> {
    require(&[Tool::C, Tool::Python, Tool::Node])
}

/// Sets up and builds every host but Rust's own, and the page.
pub(crate) fn hosts(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let wasm = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
    let venv = Venv::of_tests(workspace);
    steps.must("set up: Python", |log| venv.make(log))?;
    steps.must("set up: bindings/node", |log| npm_ci_unbuilt(&workspace.path("bindings/node"), log))?;
    steps.must("set up: wasm/npm", |log| npm_ci(&workspace.path("wasm/npm"), log))?;
    steps.must("build: python", |log| venv.install_package(workspace, log))?;
    steps
        .must("build: node", |log| log.run(&mut npm(&workspace.path("bindings/node"), &["run", "build"])))?;
    steps.must("build: wasm", |log| {
        log.run(wasm.apply(&mut npm(&workspace.path("wasm/npm"), &["run", "build"])))
    })?;
    steps.must("build: wasmtime", |log| {
        let seeds = "bench --no-run --profile wasmtime --package twindex-wasm --bench seeds";
        log.run(command("cargo", workspace.root()).args(seeds.split(' ')))
    })?;
    page(workspace, steps)
}

/// Sets up and builds the script of the page.
pub(crate) fn page(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("xtask/report");
    steps.must("set up: xtask/report", |log| npm_ci(folder, log))?;
    steps.must("build: report", |log| log.run(&mut npm(folder, &["run", "build"])))
}

/// Has cargo build a release as it does unless told otherwise, at any depth: without the link-time optimisation of what we
/// publish, in half the time.
pub(crate) fn fast(mut command: Command) -> Command {
    command.env("CARGO_PROFILE_RELEASE_LTO", "off").env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    command
}

/// The program for WebAssembly that runs the standard tests inside.
pub(crate) fn guest(workspace: &Workspace) -> PathBuf {
    workspace.target(&format!("{TRIPLE}/release/twindex_bench_guest.wasm"))
}

/// Builds that program, and installs what runs it.
pub(crate) fn make_guest(workspace: &Workspace, target: WasmTarget, log: &mut Log) -> Result<()> {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["build", "--release", "--package=twindex-bench-guest", "--target", TRIPLE]);
    // As the npm package's fast module is built.
    let flags = "-Ctarget-feature=+simd128 -Cno-vectorize-loops -Cno-vectorize-slp";
    log.run(target.apply(cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS", flags)))?;
    let venv = Venv::of_wasmtime(workspace);
    venv.make(log)?;
    venv.install(workspace.root(), &[WASMTIME], log)
}
