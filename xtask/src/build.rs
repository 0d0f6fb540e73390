//! Builds what is measured, and the page that shows it.

use std::process::Command;

use anyhow::Result;

use crate::run::command;
use crate::setup::{Tool, Venv, WasmTarget, npm, npm_ci, require};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Stops with one line where a tool is missing that the hosts and the page need.
pub(crate) fn require_tools() -> Result<()> {
    require(&[Tool::C, Tool::Python, Tool::Node])
}

/// Sets up and builds every host but Rust's own, and the page.
pub(crate) fn hosts(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let wasm = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
    let venv = Venv::of_tests(workspace);
    steps.must("set up: Python", |log| venv.make(log))?;
    for folder in ["bindings/node", "wasm/npm"] {
        steps.must(&format!("set up: {folder}"), |log| npm_ci(&workspace.path(folder), log))?;
    }
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

/// `cargo build` of a member of the workspace.
pub(crate) fn cargo_build(workspace: &Workspace, arguments: &[&str]) -> Command {
    let mut cargo = command("cargo", workspace.root());
    cargo.arg("build").args(arguments);
    cargo
}
