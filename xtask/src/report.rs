//! Runs the tests of five public reports and writes one page.

mod compare;
mod outcome;
mod page;
mod units;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use twindex_benches::Record;

pub(crate) use self::outcome::{Figure, Outcome, outcomes, records_of};
pub(crate) use self::page::Report;

use self::compare::Comparison;
use self::units::{Plan, Program, Run, Scale};
use crate::build;
use crate::setup::{Tool, output};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Under two minutes, to see that everything works: the figures say little
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// The documents' own sizes, as far as memory allows: takes hours
    #[arg(long)]
    full: bool,
    /// The tests to run, all unless given: strings, sorted, clients, ycsb, scans, keyset, append, `memory_small`, `memory_medium`, durable, cache, `cache_hits`, `cache_memory`, `cache_pauses`
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    tests: Vec<String>,
    /// How often each test is run; the medians are shown [default: 3, for a quick report 2]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Shows what got faster or slower since an older report
    #[arg(long, value_name = "JSON")]
    against: Option<PathBuf>,
    /// Begins anew, whatever an interrupted run has measured
    #[arg(long)]
    fresh: bool,
    /// Measures nothing: writes the page of an earlier run's JSON again
    #[arg(long, value_name = "JSON", conflicts_with_all = ["quick", "full", "tests", "rounds", "fresh"])]
    from: Option<PathBuf>,
    /// Where the page and its JSON are written [default: documents in the build directory]
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// How both are called there
    #[arg(long, value_name = "NAME", default_value = "report")]
    name: String,
    /// What a reader must know, such as who else used the machine
    #[arg(long, value_name = "TEXT")]
    remark: Vec<String>,
}

/// Builds, measures, and writes the page.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let workspace = Workspace::find()?;
    let older = options.against.as_ref().map(|path| Report::read(path)).transpose()?;
    let report = match &options.from {
        Some(path) => {
            build::page(&workspace, &mut Steps::new()).map_err(Into::into).and_then(|()| Report::read(path))
        }
        None => measured(options, &workspace),
    };
    let mut report = match report {
        Err(error) if error.is::<Failed>() => return Ok(ExitCode::FAILURE),
        report => report?,
    };
    report.remarks.extend(options.remark.iter().cloned());
    if let Some(older) = older {
        let comparison = Comparison::of(older.origin(), &older.results, &report.results);
        println!("{}", comparison.table());
        report.comparison = Some(comparison);
    }
    let folder = options.out.clone().unwrap_or_else(|| workspace.target("documents"));
    let page = report.write(&folder, &options.name, &page_script(&workspace)?)?;
    println!("{}\nThe page: {}", report.machine.line(), page.display());
    Ok(ExitCode::SUCCESS)
}

/// A report of next to nothing, from its first test to its page, whose path is returned.
pub(crate) fn smallest(workspace: &Workspace, steps: &mut Steps) -> Result<PathBuf, Failed> {
    let sought = Sought { scale: Scale::Test, tests: &[], rounds: None, fresh: true };
    let plan = sought.plan(workspace, steps)?;
    steps.must("report: a small one", |_| {
        let report = sought.measure(workspace, &plan)?;
        report.write(&workspace.target("documents"), "small", &page_script(workspace)?)
    })
}

/// Builds all and runs what an interrupted run has not.
fn measured(options: &Options, workspace: &Workspace) -> Result<Report> {
    build::require_tools()?;
    let Options { tests, rounds, fresh, .. } = options;
    let sought = Sought { scale: options.scale(), tests, rounds: *rounds, fresh: *fresh };
    let mut steps = Steps::new();
    let plan = sought.plan(workspace, &mut steps)?;
    if plan.has_hosts() {
        build::hosts(workspace, &mut steps)?;
    } else {
        build::page(workspace, &mut steps)?;
    }
    sought.measure(workspace, &plan)
}

/// What is to be measured.
struct Sought<'s> {
    scale: Scale,
    tests: &'s [String],
    rounds: Option<u16>,
    fresh: bool,
}

impl Sought<'_> {
    /// Builds what knows the units.
    fn plan(&self, workspace: &Workspace, steps: &mut Steps) -> Result<Plan, Failed> {
        for program in Program::ALL {
            let name = format!("build: benches/{}", program.name());
            steps.must(&name, |log| log.run(&mut program.build(workspace, self.scale)))?;
        }
        steps.must("report: plan", |_| {
            Plan::find(workspace, self.scale, self.rounds, Tool::Redis.missing().is_none(), self.tests)
        })
    }

    fn measure(&self, workspace: &Workspace, plan: &Plan) -> Result<Report> {
        let redis = redis();
        let run = Run::resume(workspace, self.scale, plan, self.fresh)?;
        let records: Vec<Record> = run.finish(workspace, plan)?;
        let mut report = Report::new(self.command(), self.scale.name(), outcomes(records))?;
        report.remarks.push(match redis {
            Ok(version) => version,
            Err(line) => format!("Redis was not measured. {line}"),
        });
        run.forget()?;
        Ok(report)
    }

    /// What does it again.
    fn command(&self) -> String {
        let scale = match self.scale {
            Scale::Test | Scale::Quick => " --quick",
            Scale::Full => " --full",
            Scale::Machine => "",
        };
        let tests =
            if self.tests.is_empty() { String::new() } else { format!(" --tests {}", self.tests.join(",")) };
        let rounds = self.rounds.map_or_else(String::new, |rounds| format!(" --rounds {rounds}"));
        format!("cargo xtask report{scale}{rounds}{tests}")
    }
}

impl Options {
    fn scale(&self) -> Scale {
        match (self.quick, self.full) {
            (true, _) => Scale::Quick,
            (_, true) => Scale::Full,
            _ => Scale::Machine,
        }
    }
}

/// What Redis says it is, or the line that installs it, which is shown.
fn redis() -> Result<String, String> {
    let Some(line) = Tool::Redis.missing() else {
        return Ok(output("redis-server", &["--version"]).unwrap_or_default().trim().to_owned());
    };
    eprintln!("{line}");
    Err(line)
}

/// The script of the page, as it was built.
pub(crate) fn page_script(workspace: &Workspace) -> Result<String> {
    let path = workspace.path("xtask/report/dist/page.js");
    std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))
}
