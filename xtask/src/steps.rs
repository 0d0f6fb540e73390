//! Named steps, each timed, with a summary at the end.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};

use crate::run::Log;

/// A step failed; its output has been shown.
#[derive(Debug)]
pub(crate) struct Failed;

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a step failed")
    }
}

impl std::error::Error for Failed {}

/// Runs steps and remembers how they went.
pub(crate) struct Steps {
    started: Instant,
    done: Vec<Step>,
}

struct Step {
    name: String,
    passed: bool,
    time: Duration,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self { started: Instant::now(), done: Vec::new() }
    }

    /// Runs a step on which later ones rest: where it fails they cannot run.
    pub(crate) fn must<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Log) -> Result<T>,
    ) -> Result<T, Failed> {
        let line = Line::start(name);
        let started = Instant::now();
        let mut log = Log::default();
        let result = body(&mut log);
        let time = started.elapsed();
        line.end(name, result.is_ok(), time);
        self.done.push(Step { name: name.into(), passed: result.is_ok(), time });
        result.map_err(|error| {
            println!("{}{error:#}\n", log.text());
            Failed
        })
    }

    /// Runs a step on which none rests.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Log) -> Result<()>) {
        let _shown_already = self.must(name, body);
    }

    pub(crate) fn failed(&self) -> usize {
        self.done.iter().filter(|step| !step.passed).count()
    }

    pub(crate) fn passed(&self) -> usize {
        self.done.len() - self.failed()
    }

    /// How every step went and how long it took.
    pub(crate) fn summary(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_header(["Step", "Result", "Time"]);
        for step in &self.done {
            table.add_row([step.name.clone(), word(step.passed).into(), seconds(step.time)]);
        }
        table.add_row(["all".into(), word(self.failed() == 0).into(), seconds(self.started.elapsed())]);
        if let Some(column) = table.column_mut(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
}

fn word(passed: bool) -> &'static str {
    if passed { "ok" } else { "FAILED" }
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The line of a running step: a spinner on a terminal, plain text elsewhere.
struct Line(Option<ProgressBar>);

impl Line {
    fn start(name: &str) -> Self {
        if !std::io::stdout().is_terminal() {
            print!("{name} ... ");
            // A line that is cut short says which step was running.
            let _ = std::io::stdout().flush();
            return Self(None);
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style).with_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(Some(bar))
    }

    fn end(self, name: &str, passed: bool, time: Duration) {
        let end = format!("{}, {}", word(passed), seconds(time));
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
            println!("{name} ... {end}");
        } else {
            println!("{end}");
        }
    }
}
