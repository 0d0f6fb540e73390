//! Some tests of the documents by themselves: one run, and one table with a column for each system.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

use comfy_table::Table;
use twindex_benches::Record;

use crate::ratios::median;

/// The system that the others are compared with.
const OURS: &str = "twindex";

/// Runs each unit of the plan that has these arguments in a process of its own, and prints the medians.
pub(super) fn compare(plan: &[String], units: &[String], folder: &Path) -> Result<(), String> {
    /// A test with its parameters, and the name of a figure.
    type Row = (String, String);
    let mut rows: BTreeMap<Row, BTreeMap<String, Vec<f64>>> = BTreeMap::new();
    for unit in units {
        eprintln!("{unit}");
        for record in run_elsewhere(plan, unit, folder)? {
            let params = record.params.iter().map(|(name, value)| format!(", {name} {value}"));
            let test = record.test.clone() + &params.collect::<String>();
            for (figure, value) in record.figures {
                let systems = rows.entry((test.clone(), figure)).or_default();
                systems.entry(record.system.clone()).or_default().push(value);
            }
        }
    }
    let mut table = Table::new();
    table.load_style(comfy_table::presets::ASCII_MARKDOWN);
    table.set_header(["test", "figure", "system", "median", "twindex is better by"]);
    for ((test, figure), systems) in rows {
        let medians: BTreeMap<_, _> =
            systems.into_iter().filter_map(|(system, values)| Some((system, median(values)?))).collect();
        let ours = medians.get(OURS).copied();
        for (system, &value) in &medians {
            let ratio = if figure.ends_with("_per_second") {
                ours.map(|ours| ours / value)
            } else {
                ours.map(|ours| value / ours)
            };
            let ratio =
                ratio.filter(|_| system != OURS).map_or(String::new(), |ratio| format!("{ratio:.2}x"));
            table.add_row([test.clone(), figure.clone(), system.clone(), format!("{value:.1}"), ratio]);
        }
    }
    println!("{table}");
    Ok(())
}

fn run_elsewhere(plan: &[String], unit: &str, folder: &Path) -> Result<Vec<Record>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command.args(["documents", "run"]).args(plan).arg(unit).arg("--folder").arg(folder);
    let output = command.stderr(Stdio::inherit()).output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(format!("{unit} failed"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("{unit}: {error}"))
}
