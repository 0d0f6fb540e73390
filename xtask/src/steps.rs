//! Named steps, each timed; jobs side by side; and the lines at the end.

use std::cmp::Reverse;
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;

use crate::run::{Limits, Log, locked};
use crate::workspace::{Workspace, rows};

/// A step failed; its output has been shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

/// Why a step did not run: this machine lacks something that could not be set up. It is shown, and is no failure.
#[derive(Debug)]
pub(crate) struct NotRun(pub(crate) String);

macro_rules! errors {
    ($($error:ident: |$this:ident| $text:expr;)*) => { $(
        impl std::fmt::Display for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                let $this = self;
                f.write_str($text)
            }
        }

        impl std::error::Error for $error {}
    )* };
}
errors! {
    Failed: |_this| "a step failed";
    NotRun: |this| &this.0;
}

/// Runs steps and remembers how they went. Clones share what they remember.
#[derive(Clone)]
pub(crate) struct Steps(Arc<All>);

struct All {
    started: Instant,
    done: Mutex<Vec<Step>>,
    limits: Option<Limits>,
}

/// How many jobs run side by side. The long ones, such as linking, Miri and pytest, keep one core busy, and jobs that build
/// in one folder wait for each other.
const LANES: usize = 3;

/// How many of the slowest steps the end names.
const SLOWEST: usize = 10;

/// How many lines of a failed step's output the end repeats, and how much of each: a log of which only the end is kept then
/// says what failed.
const REPEATED: usize = 6;
const REPEATED_CHARS: usize = 160;

/// After this a step says that it is still running, and again each time that has doubled: a log that is cut short names it.
const LONG: Duration = Duration::from_secs(30);

/// Steps that run in order, beside those of other jobs.
pub(crate) type Job<'j> = Box<dyn FnOnce(&mut Steps) -> Result<(), Failed> + Send + 'j>;

/// A job whose steps do not rest on each other.
pub(crate) fn checks<'j>(run: impl FnOnce(&mut Steps) + Send + 'j) -> Job<'j> {
    Box::new(|steps| {
        run(steps);
        Ok(())
    })
}

#[derive(Clone)]
struct Step {
    name: String,
    end: End,
    time: Duration,
    why: String,
}

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
    /// Steps that may take as long as they like.
    pub(crate) fn new() -> Self {
        Self::within(None)
    }

    /// Steps whose commands have limits.
    pub(crate) fn within(limits: Option<Limits>) -> Self {
        Self(Arc::new(All { started: Instant::now(), done: Mutex::default(), limits }))
    }

    /// Runs a step on which later ones rest: where it fails they cannot run.
    pub(crate) fn must<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Log) -> Result<T>,
    ) -> Result<T, Failed> {
        let started = Instant::now();
        let mut log = Log::within(self.0.limits);
        let result = while_shown(name, || body(&mut log));
        let (end, time) = (End::of(&result), started.elapsed());
        let result = result.map_err(|error| {
            let output = if end == End::NotRun { "" } else { log.text() };
            format!("\n{output}{error:#}\n")
        });
        let why = result.as_ref().err().cloned().unwrap_or_default();
        println!("{name} ... {}, {:.1} s{why}", end.word(), time.as_secs_f64());
        locked(&self.0.done).push(Step { name: name.into(), end, time, why });
        result.map_err(|_| Failed)
    }

    /// Runs a step on which none rests.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Log) -> Result<()>) {
        let _shown_already = self.must(name, body);
    }

    /// Runs steps that are rows of a table, none of which rests on another.
    pub(crate) fn rows(&mut self, workspace: &Workspace, table: &str) {
        for (name, folder, lines) in rows(table) {
            self.check(name, |log| workspace.run(folder, lines, &[], log));
        }
    }

    /// Runs all jobs, a few at a time, beginning with the first.
    pub(crate) fn side_by_side(&self, jobs: Vec<Job<'_>>) {
        let queue = Mutex::new(jobs.into_iter());
        let next = || locked(&queue).next();
        std::thread::scope(|scope| {
            for _ in 0..LANES {
                let mut steps = self.clone();
                scope.spawn(move || {
                    while let Some(job) = next() {
                        if job(&mut steps).is_err() {
                            println!("What needs that step was not run.");
                        }
                    }
                });
            }
        });
    }

    pub(crate) fn failed(&self) -> usize {
        self.count(End::Failed)
    }

    fn count(&self, end: End) -> usize {
        locked(&self.0.done).iter().filter(|step| step.end == end).count()
    }

    /// Prints the slowest steps and, alone on the last line, how many passed. A run of nothing is a failure.
    pub(crate) fn finish(&self) -> ExitCode {
        let (lines, passed) = self.end();
        println!("{lines}");
        if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    fn end(&self) -> (String, bool) {
        let (passed, failed, not_run) = (self.count(End::Passed), self.failed(), self.count(End::NotRun));
        let mut steps = locked(&self.0.done).clone();
        let mut lines =
            vec![format!("\nAfter {:.0} s. The slowest steps:", self.0.started.elapsed().as_secs_f64())];
        steps.sort_by_key(|step| Reverse(step.time));
        lines.extend(
            steps
                .iter()
                .take(SLOWEST)
                .map(|step| format!("{:7.1} s  {}", step.time.as_secs_f64(), step.name)),
        );
        for end in [End::NotRun, End::Failed] {
            let of_end = steps.iter().filter(|step| step.end == end);
            for step in of_end {
                lines.push(format!("{}: {}", end.word(), step.name));
                lines.extend(telling(&step.why));
            }
        }
        let skipped = if not_run == 0 { String::new() } else { format!(", {not_run} skipped") };
        lines.push(format!("{passed} passed, {failed} failed{skipped}"));
        (lines.join("\n"), failed == 0 && passed > 0)
    }
}

/// The first lines of an output that look like what failed; without such, its last one.
fn telling(output: &str) -> Vec<String> {
    const MARKS: [&str; 7] = ["not ok", "✖", "panicked", "FAILED", "error", "Error", "waited"];
    let lines: Vec<&str> = output.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let mut found: Vec<&str> =
        lines.iter().copied().filter(|line| MARKS.iter().any(|mark| line.contains(mark))).collect();
    found.dedup();
    if found.is_empty() {
        found.extend(lines.last());
    }
    let short = |line: &str| format!("    {}", line.chars().take(REPEATED_CHARS).collect::<String>());
    found.into_iter().take(REPEATED).map(short).collect()
}

/// Runs `body`, and from time to time says that it still runs.
fn while_shown<T>(name: &str, body: impl FnOnce() -> T) -> T {
    let (ended, end) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut wait = LONG;
            let mut all = LONG;
            while end.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                println!("{name} ... still running after {} s", all.as_secs());
                wait = all;
                all *= 2;
            }
        });
        let _ended = ended;
        body()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_line_counts_steps_and_only_a_run_that_passed_something_succeeds() {
        let mut steps = Steps::new();
        assert_eq!((steps.end().0.lines().last(), steps.end().1), (Some("0 passed, 0 failed"), false));
        steps.check("passes", |_| Ok(()));
        assert_eq!((steps.end().0.lines().last(), steps.end().1), (Some("1 passed, 0 failed"), true));
        steps.check("lacks", |_| Err(NotRun("install this".into()).into()));
        assert_eq!(
            (steps.end().0.lines().last(), steps.end().1),
            (Some("1 passed, 0 failed, 1 skipped"), true)
        );
        steps.check("fails", |_| anyhow::bail!("broken"));
        assert_eq!(
            (steps.end().0.lines().last(), steps.end().1),
            (Some("1 passed, 1 failed, 1 skipped"), false)
        );
        assert!(steps.end().0.contains("NOT RUN: lacks\n    install this\nFAILED: fails\n    broken\n"));
    }

    #[test]
    fn end_repeats_the_lines_of_a_failed_step_that_say_what_failed() {
        let mut steps = Steps::new();
        steps.check("fails", |_| {
            anyhow::bail!("ok 1\n✖ store is there (3 ms)\n  Error: no page\n{}\nok 2", "x\n".repeat(9))
        });
        assert!(
            steps
                .end()
                .0
                .contains("FAILED: fails\n    ✖ store is there (3 ms)\n    Error: no page\n0 passed")
        );
    }

    #[test]
    fn jobs_run_a_few_at_a_time_and_a_failed_one_stops_no_other() {
        let steps = Steps::new();
        let meeting = std::sync::Barrier::new(LANES);
        let meet = |_: &mut Log| {
            meeting.wait();
            Ok(())
        };
        let jobs: Vec<Job<'_>> = vec![
            Box::new(|steps| {
                steps.must("meets the second", meet)?;
                steps.must("fails", |_| anyhow::bail!("broken"))?;
                steps.must("is not reached", |_| Ok(()))
            }),
            checks(|steps| steps.check("meets the first", meet)),
            checks(|steps| steps.check("meets both", meet)),
            checks(|steps| steps.check("comes after", |_| Ok(()))),
        ];
        steps.side_by_side(jobs);
        assert_eq!((steps.count(End::Passed), steps.failed()), (4, 1));
    }
}
