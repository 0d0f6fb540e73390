//! Runs the seeds' tests in every host and reports on all of them.

use std::process::ExitCode;

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use twindex_benches::Report as HostReport;

use crate::bench::{Build, Host, Options};
use crate::build::{self, cargo_build};
use crate::report::{Report, outcomes, page_script, records_of};
use crate::run::Log;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Sets up, builds, measures and reports.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    build::require_tools()?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    let measured = build(&workspace, &mut steps).and_then(|()| measure(&workspace, options, &mut steps));
    println!("{}", steps.summary());
    let Ok(hosts) = measured else { return Ok(ExitCode::FAILURE) };
    let results = outcomes(hosts.iter().flat_map(records_of).collect());
    let mut report = Report::new(format!("cargo xtask demo {}", options.arguments()), "demo", results)?;
    report.remarks.push(about(&hosts));
    let page = report.write(&workspace.target("report"), "index", &page_script(&workspace)?)?;
    println!("{}\n{}\nThe page: {}", table(&hosts), report.machine.line(), page.display());
    Ok(ExitCode::SUCCESS)
}

fn build(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    build::hosts(workspace, steps)?;
    steps.must("build: rust", |log| {
        log.run(&mut cargo_build(workspace, &["--release", "--package", "twindex-benches"]))
    })
}

fn measure(workspace: &Workspace, options: &Options, steps: &mut Steps) -> Result<Vec<HostReport>, Failed> {
    let folder =
        steps.must("empty the report's folder", |_: &mut Log| workspace.empty_folder("report/hosts"))?;
    let work = options.work();
    Host::ALL
        .into_iter()
        .map(|host| {
            steps.must(&format!("measure: {}", host.name()), |log| {
                host.run(workspace, Build::Release, &work, &folder, log)
            })
        })
        .collect()
}

/// What was written and read.
fn about(hosts: &[HostReport]) -> String {
    hosts.first().map_or_else(String::new, |host| {
        let keys = match &host.keys_from {
            Some(path) => format!("keys from {path}"),
            None => format!("{}-byte random keys", host.key_bytes),
        };
        format!("{} pairs, {keys}, {}-byte values.", HumanCount(host.pairs.into()), host.value_bytes)
    })
}

/// One row per host, step and number of threads.
fn table(hosts: &[HostReport]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
        "Host",
        "Steps",
        "Keys",
        "Threads",
        "System time (ms)",
        "Operations/s",
        "Bytes/pair",
    ]);
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    for host in hosts {
        for measure in &host.results {
            table.add_row([
                host.host.clone(),
                measure.step.clone(),
                HumanCount(measure.keys.into()).to_string(),
                measure.threads.to_string(),
                format!("{:.1}", measure.milliseconds),
                HumanCount(measure.ops).to_string(),
                measure.bytes_per_pair.map_or_else(String::new, |bytes| format!("{bytes:.1}")),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::tests::sample;

    #[test]
    fn the_table_has_a_row_per_measure() {
        let hosts = Host::ALL.map(|host| sample(host, &[1, 2]));
        assert_eq!(table(&hosts).row_count(), 5 * 8);
        assert_eq!(about(&hosts), "1,000 pairs, 16-byte random keys, 16-byte values.");
    }
}
