//! What was measured, as a table and as JSON.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;
use serde::{Deserialize, Serialize};

use crate::fallible::Fallible;
use crate::options::Options;

/// All that one run of the tests measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Report {
    /// Where the engine ran, such as `rust` or `wasmtime`.
    pub host: String,
    /// The version of the engine.
    pub version: String,
    /// How many pairs there were.
    pub pairs: u32,
    /// The length of random keys.
    pub key_bytes: u16,
    /// The length of the values.
    pub value_bytes: u32,
    /// The file from which the keys came instead.
    pub keys_from: Option<String>,
    /// How often each step was measured.
    pub rounds: u16,
    /// The steps, in the order of their measurement.
    pub results: Vec<Measure>,
}

/// One step over all pairs with one number of threads.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Measure {
    /// One of its test's [`steps`](crate::Test::steps), such as `unordered_write`.
    pub step: String,
    /// What held the pairs: Twindex where nothing else is named.
    #[serde(default = "twindex")]
    pub system: String,
    /// How many operations it took.
    pub keys: u32,
    /// By how many threads.
    pub threads: u16,
    /// From the first thread's start to the last one's end: the median of the rounds.
    pub milliseconds: f64,
    /// Operations per second, from that time.
    pub ops: u64,
    /// The time of each round.
    pub rounds_ms: Vec<f64>,
    /// What the store says it holds, divided by the pairs, after a write.
    pub bytes_per_pair: Option<f64>,
    /// By how much the process grew over its first write, divided by the pairs, with one thread.
    pub resident_bytes_per_pair: Option<f64>,
}

impl Report {
    /// A report without results yet.
    pub fn new(host: &str, pairs: u32, options: &Options) -> Self {
        Self {
            host: host.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            pairs,
            key_bytes: options.key_bytes,
            value_bytes: options.value_bytes,
            keys_from: options.keys_from.as_ref().map(|path| path.display().to_string()),
            rounds: options.rounds,
            results: Vec::new(),
        }
    }

    /// The table of the Index64 report's appendix, and the memory.
    pub fn table(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED);
        table.set_header(["Steps", "Keys", "Threads", "System time (ms)", "Operations/s", "Bytes/pair"]);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for measure in &self.results {
            table.add_row([
                measure.step.clone(),
                HumanCount(measure.keys.into()).to_string(),
                measure.threads.to_string(),
                format!("{:.1}", measure.milliseconds),
                HumanCount(measure.ops).to_string(),
                measure.bytes_per_pair.map_or_else(String::new, |bytes| format!("{bytes:.1}")),
            ]);
        }
        table
    }

    /// Writes all that was measured, or why it could not be: what a host's `main` ends with.
    pub fn end(report: Fallible<Self>, json: Option<&Path>) -> ExitCode {
        match report.and_then(|report| report.write(json)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("error: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// Writes the JSON to a file, or to standard output for `-`; prints the table unless that is there.
    pub fn write(&self, json: Option<&Path>) -> Fallible {
        if json == Some(Path::new("-")) {
            return self.write_json(io::stdout().lock());
        }
        println!("{}", self.table());
        match json {
            Some(path) => {
                let file = File::create(path).map_err(|error| format!("{}: {error}", path.display()))?;
                self.write_json(file)
            }
            None => Ok(()),
        }
    }

    fn write_json(&self, mut output: impl Write) -> Fallible {
        serde_json::to_writer_pretty(&mut output, self)?;
        writeln!(output)?;
        Ok(())
    }
}

impl Measure {
    /// A step from the times of its rounds.
    ///
    /// # Panics
    /// Where there is no round.
    pub fn new(step: &str, keys: usize, threads: u16, rounds: &[Duration]) -> Self {
        let rounds_ms: Vec<f64> = rounds.iter().map(|round| round.as_secs_f64() * 1e3).collect();
        let milliseconds = median(&rounds_ms);
        Self {
            step: step.into(),
            system: twindex(),
            keys: keys as u32,
            threads,
            milliseconds,
            ops: (f64::from(keys as u32) / (milliseconds / 1e3)).round() as u64,
            rounds_ms,
            bytes_per_pair: None,
            resident_bytes_per_pair: None,
        }
    }
}

fn twindex() -> String {
    "twindex".into()
}

/// The middle of the numbers: the mean of the two middle ones where their count is even.
fn median(numbers: &[f64]) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    f64::midpoint(sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_shows_the_median_round() {
        let rounds = [30, 10, 20].map(Duration::from_millis);
        let measure = Measure::new("sorted_read", 2_000, 1, &rounds);
        assert!((measure.milliseconds - 20.0).abs() < 1e-9);
        assert_eq!(measure.ops, 100_000);
        assert!((median(&[4.0, 1.0]) - 2.5).abs() < 1e-9);
    }
}
