//! Measures every host beside what its programs use today, the quickest to build first, and shows each as soon as it is there.

mod beside;
mod page;
mod picture;

use std::process::ExitCode;

use anyhow::{Context, Result};
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use twindex_benches::{Report as HostReport, Test};

use self::beside::{Comparison, HOSTS, Summary, comparisons, shown, summaries, title};
use self::page::{About, page};
use self::picture::{Ground, picture};
use crate::bench::{Build, Host, Options};
use crate::build::{self, fast, make_guest};
use crate::report::{Report, outcomes, records_of};
use crate::run::command;
use crate::setup::{Venv, WasmTarget, npm, npm_ci, npm_ci_unbuilt};
use crate::steps::{Failed, Job, Steps};
use crate::workspace::Workspace;

/// What the Python package is built and measured with, in the versions with which it is tested.
const PYTHON: [&str; 5] =
    ["--constraint=requirements-dev.txt", "maturin", "rich", "sortedcontainers", "tqdm"];

/// Sets up, builds, measures and shows, host by host.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    build::require_tools()?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    println!("Rust is measured first: its figures come in about a minute. WebAssembly comes last.");
    let set_up = set_up(&workspace, &mut steps);
    let mut reports = Vec::new();
    for host in HOSTS {
        if !set_up && host != Host::Rust {
            continue;
        }
        let measured =
            make(host, &workspace, &mut steps).and_then(|()| measure(host, &workspace, options, &mut steps));
        match measured {
            Ok(measured) => reports.extend(measured),
            Err(Failed) => println!("{} is left out.", title(host)),
        }
        if let Some(summary) = summaries(&compared(&reports)).into_iter().find(|one| one.host == host) {
            println!("\n{}\n", sentence(&summary));
        }
    }
    if reports.is_empty() {
        return Ok(ExitCode::FAILURE);
    }
    show(&workspace, options, &reports)?;
    Ok(if steps.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Builds what measures Rust, and downloads meanwhile what Python and Node need; whether all of it succeeded.
fn set_up(workspace: &Workspace, steps: &mut Steps) -> bool {
    let rust: Job<'_> = Box::new(|steps| {
        steps.must("build: rust", |log| {
            let build = ["build", "--release", "--package", "twindex-benches"];
            let mut cargo = command("cargo", workspace.root());
            cargo.args(build);
            log.run(&mut fast(cargo))
        })
    });
    let others: Job<'_> = Box::new(|steps| {
        steps.must("set up: Python", |log| {
            let venv = Venv::of_tests(workspace);
            venv.make(log)?;
            venv.install(&workspace.path("bindings/python"), &PYTHON, log)
        })?;
        steps.must("set up: Node", |log| npm_ci_unbuilt(&workspace.path("bindings/node"), log))
    });
    steps.side_by_side(vec![rust, others]);
    steps.failed() == 0
}

/// Builds what a host needs beside what is set up.
fn make(host: Host, workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let step = format!("build: {}", host.name());
    match host {
        Host::Rust => Ok(()),
        Host::Python => steps.must(&step, |log| {
            let mut pip = Venv::of_tests(workspace).module("pip", workspace.root());
            pip.args(["install", "--disable-pip-version-check", "--no-build-isolation", "--no-deps"]);
            pip.arg("./bindings/python");
            log.run(&mut fast(pip))
        }),
        Host::Node => steps
            .must(&step, |log| log.run(&mut fast(npm(&workspace.path("bindings/node"), &["run", "build"])))),
        Host::WasmNode => {
            let wasm = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
            let folder = &workspace.path("wasm/npm");
            steps.must("set up: wasm/npm", |log| npm_ci(folder, log))?;
            steps.must(&step, |log| log.run(wasm.apply(&mut npm(folder, &["run", "build"]))))
        }
        Host::Guest | Host::Wasmtime => {
            let wasm = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
            steps.must(&step, |log| make_guest(workspace, wasm, log))
        }
    }
}

/// Both tests over Twindex and over what is used today, each in a process of its own.
fn measure(
    host: Host,
    workspace: &Workspace,
    options: &Options,
    steps: &mut Steps,
) -> Result<Vec<HostReport>, Failed> {
    steps.must(&format!("measure: {}", host.name()), |log| {
        let folder = workspace.empty_folder(&format!("report/hosts/{}", host.name()))?;
        let mut measured = Vec::new();
        for test in [Test::Strings, Test::Sorted] {
            // What runs in Node is compared with Node's own.
            for beside in [false, true].into_iter().filter(|beside| !beside || host != Host::WasmNode) {
                let work = options.work(test, beside);
                measured.push(host.run(workspace, Build::Demo, &work, &folder, log)?);
            }
        }
        Ok(measured)
    })
}

fn compared(reports: &[HostReport]) -> Vec<Comparison> {
    comparisons(&outcomes(reports.iter().flat_map(records_of).collect()))
}

/// Prints the summary and the figures, and writes the page and the JSON.
fn show(workspace: &Workspace, options: &Options, reports: &[HostReport]) -> Result<()> {
    let results = outcomes(reports.iter().flat_map(records_of).collect());
    let comparisons = comparisons(&results);
    let summaries = summaries(&comparisons);
    let mut report = Report::new(format!("cargo xtask demo {}", options.arguments()), "demo", results)?;
    let work = about(reports, options);
    report.remarks.push(work.clone());
    let folder = workspace.target("report");
    report.write_json(&folder, "index")?;
    let path = folder.join("index.html");
    let about = About {
        work: work.clone(),
        command: report.command.clone(),
        machine: report.machine.line(),
        version: format!("Twindex {} {}", report.version, report.commit).trim().to_owned(),
    };
    std::fs::write(&path, page(&about, &summaries, &comparisons))
        .with_context(|| format!("writing {}", path.display()))?;
    for (ground, name) in Ground::ALL {
        std::fs::write(folder.join(name), picture(&comparisons, &work, ground))
            .with_context(|| format!("writing {name}"))?;
    }
    println!("Twindex beside what programs use today\n{work}\n\n{}\n", summary_table(&summaries));
    println!("Each figure, in million pairs a second (M/s) or bytes a pair:\n");
    println!("{}\n", figures_table(&comparisons));
    println!("The page: {}", path.display());
    println!("More systems, threads, latencies and files: cargo xtask report");
    Ok(())
}

/// What was written and read.
fn about(reports: &[HostReport], options: &Options) -> String {
    reports.first().map_or_else(String::new, |host| {
        let keys = match &host.keys_from {
            Some(path) => format!("keys from {path}"),
            None => format!("keys of {} bytes", host.key_bytes),
        };
        let rounds = match options.rounds {
            1 => "one round".into(),
            rounds => format!("median of {rounds} rounds"),
        };
        let pairs = HumanCount(host.pairs.into());
        format!("{pairs} pairs, {keys}, values of {} bytes, one thread, {rounds}.", host.value_bytes)
    })
}

fn sentence(summary: &Summary) -> String {
    let Summary { host, systems, faster, smaller } = summary;
    let smaller = smaller.map_or_else(String::new, |smaller| format!(", {smaller} times smaller"));
    format!("{}: {faster} times as fast{smaller},\n    than {}.", title(*host), systems.join(" and "))
}

fn table_with<const N: usize>(head: [&str; N], left: usize) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(head);
    for (position, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 1));
        if position >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

/// How many times as fast, and how many times smaller, host by host.
fn summary_table(summaries: &[Summary]) -> Table {
    let mut table = table_with(["In", "Instead of", "Times as fast", "Times smaller"], 2);
    for Summary { host, systems, faster, smaller } in summaries {
        let smaller = smaller.map_or_else(String::new, |smaller| smaller.to_string());
        table.add_row([title(*host).into(), systems.join(", "), faster.to_string(), smaller]);
    }
    table
}

/// Every figure, ours with one thread.
fn figures_table(comparisons: &[Comparison]) -> Table {
    let mut table = table_with(["", "Twindex", "Instead", "Times"], 1);
    let mut last = None;
    for one in comparisons {
        if last.replace(one.host) != Some(one.host) {
            table.add_row([format!("{}:", title(one.host))]);
        }
        table.add_row([
            format!("  {}", one.aspect.title()),
            shown(one.aspect, one.ours[0].1),
            format!("{} {}", one.system, shown(one.aspect, one.theirs)),
            format!("{:.1}", one.times()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::beside::tests::sample;
    use super::*;

    /// What a terminal has at least.
    const COLUMNS: usize = 80;

    #[test]
    fn the_tables_fit_a_terminal() {
        let mut outcomes = sample(&HOSTS, 12.3);
        for outcome in &mut outcomes {
            if outcome.system == "tree" {
                // The longest name that there is.
                outcome.system = "sortedcontainers".into();
            }
        }
        let comparisons = comparisons(&outcomes);
        let summary = summary_table(&summaries(&comparisons));
        let figures = figures_table(&comparisons);
        for line in format!("{summary}\n{figures}").lines() {
            assert!(line.chars().count() <= COLUMNS, "{} columns: {line}", line.chars().count());
        }
        assert_eq!(summary.row_count(), HOSTS.len());
        assert_eq!(figures.row_count(), HOSTS.len() * 7);
    }
}
