//! Runs the seeds' tests in every host and reports on all of them.

use std::process::ExitCode;

use anyhow::Result;
use twindex_benches::Report as HostReport;

use crate::bench::{Build, Host, Options};
use crate::report::Report;
use crate::run::{Log, command};
use crate::setup::{Tool, Venv, WasmTarget, npm, npm_ci, require};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Sets up, builds, measures and reports.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    require(&[Tool::C, Tool::Python, Tool::Node])?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    let measured = build(&workspace, &mut steps).and_then(|()| measure(&workspace, options, &mut steps));
    println!("{}", steps.summary());
    let Ok(hosts) = measured else { return Ok(ExitCode::FAILURE) };
    let report = Report::new(format!("cargo xtask demo {}", options.arguments()), hosts)?;
    let script = std::fs::read_to_string(workspace.path("xtask/report/dist/page.js"))?;
    let page = report.write(&workspace.target("report"), &script)?;
    println!("{}\n{}\nThe page: {}", report.table(), report.machine.line(), page.display());
    Ok(ExitCode::SUCCESS)
}

fn build(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let root = workspace.root();
    let wasm = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
    let venv = Venv::of_tests(workspace);
    steps.must("set up: Python", |log| venv.make(log))?;
    for folder in ["bindings/node", "wasm/npm", "xtask/report"] {
        steps.must(&format!("set up: {folder}"), |log| npm_ci(&workspace.path(folder), log))?;
    }
    steps.must("build: rust", |log| {
        log.run(command("cargo", root).args(["build", "--release", "--package", "twindex-benches"]))
    })?;
    steps.must("build: python", |log| venv.install_package(workspace, log))?;
    steps
        .must("build: node", |log| log.run(&mut npm(&workspace.path("bindings/node"), &["run", "build"])))?;
    steps.must("build: wasm", |log| {
        log.run(wasm.apply(&mut npm(&workspace.path("wasm/npm"), &["run", "build"])))
    })?;
    steps.must("build: wasmtime", |log| {
        let seeds = "bench --no-run --profile wasmtime --package twindex-wasm --bench seeds";
        log.run(command("cargo", root).args(seeds.split(' ')))
    })?;
    steps.must("build: report", |log| log.run(&mut npm(&workspace.path("xtask/report"), &["run", "build"])))
}

fn measure(workspace: &Workspace, options: &Options, steps: &mut Steps) -> Result<Vec<HostReport>, Failed> {
    let folder =
        steps.must("empty the report's folder", |_: &mut Log| workspace.empty_folder("report/hosts"))?;
    Host::ALL
        .into_iter()
        .map(|host| {
            steps.must(&format!("measure: {}", host.name()), |log| {
                host.run(workspace, Build::Release, options, &folder, log)
            })
        })
        .collect()
}
