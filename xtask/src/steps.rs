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

/// Why a step did not run: something that this machine lacks and that could not be set up. It is shown, and is no failure.
#[derive(Debug)]
pub(crate) struct NotRun(pub(crate) String);

impl std::fmt::Display for NotRun {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotRun {}

/// Runs steps and remembers how they went.
pub(crate) struct Steps {
    started: Instant,
    done: Vec<Step>,
}

struct Step {
    name: String,
    end: End,
    time: Duration,
}

/// How a step ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Passed,
    Failed,
    NotRun,
}

impl End {
    fn of<T>(result: &Result<T>) -> Self {
        match result {
            Ok(_) => Self::Passed,
            Err(error) if error.is::<NotRun>() => Self::NotRun,
            Err(_) => Self::Failed,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Passed => "ok",
            Self::Failed => "FAILED",
            Self::NotRun => "NOT RUN",
        }
    }
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
        let end = End::of(&result);
        line.end(name, end, time);
        self.done.push(Step { name: name.into(), end, time });
        result.map_err(|error| {
            let output = if end == End::NotRun { "" } else { log.text() };
            println!("{output}{error:#}\n");
            Failed
        })
    }

    /// Runs a step on which none rests.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Log) -> Result<()>) {
        let _shown_already = self.must(name, body);
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(End::Failed)
    }

    pub(crate) fn passed(&self) -> usize {
        self.count(End::Passed)
    }

    pub(crate) fn not_run(&self) -> usize {
        self.count(End::NotRun)
    }

    fn count(&self, end: End) -> usize {
        self.done.iter().filter(|step| step.end == end).count()
    }

    /// How every step went and how long it took.
    pub(crate) fn summary(&self) -> Table {
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_header(["Step", "Result", "Time"]);
        for step in &self.done {
            table.add_row([step.name.clone(), step.end.word().into(), seconds(step.time)]);
        }
        let all = if self.failed() == 0 { End::Passed } else { End::Failed };
        table.add_row(["all".into(), all.word().into(), seconds(self.started.elapsed())]);
        if let Some(column) = table.column_mut(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        table
    }
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

    fn end(self, name: &str, end: End, time: Duration) {
        let end = format!("{}, {}", end.word(), seconds(time));
        if let Some(bar) = self.0 {
            bar.finish_and_clear();
            println!("{name} ... {end}");
        } else {
            println!("{end}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NotRun, Steps};

    #[test]
    fn a_step_that_could_not_run_is_shown_and_is_no_failure() {
        let mut steps = Steps::new();
        steps.check("passes", |_| Ok(()));
        steps.check("fails", |_| anyhow::bail!("broken"));
        steps.check("lacks", |_| Err(NotRun("install this".into()).into()));
        assert_eq!((steps.passed(), steps.failed(), steps.not_run()), (1, 1, 1));
        assert!(steps.summary().to_string().contains("NOT RUN"));
    }
}
