//! Named steps, each timed, with a summary at the end.

use std::cmp::Reverse;
use std::io::IsTerminal as _;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Result;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::run::{Log, locked};

/// A step failed; its output has been shown.
#[derive(Clone, Copy, Debug)]
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

/// Runs steps and remembers how they went. What a clone runs counts as one's own.
#[derive(Clone)]
pub(crate) struct Steps(Arc<All>);

struct All {
    started: Instant,
    done: Mutex<Vec<Step>>,
    screen: Screen,
    /// How long one command of a step may take.
    limit: Option<Duration>,
}

/// How many jobs run side by side. What takes long, such as linking, Miri and pytest, keeps one core busy, and jobs that build
/// in one folder wait for each other.
const LANES: usize = 3;

/// How many of the slowest steps the summary names.
const SLOWEST: usize = 10;

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
    /// Steps that may take as long as they like.
    pub(crate) fn new() -> Self {
        Self::within(None)
    }

    /// Steps whose commands are killed after `limit`, and then fail.
    pub(crate) fn within(limit: Option<Duration>) -> Self {
        Self(Arc::new(All { started: Instant::now(), done: Mutex::default(), screen: Screen::find(), limit }))
    }

    /// Runs a step on which later ones rest: where it fails they cannot run.
    pub(crate) fn must<T>(
        &mut self,
        name: &str,
        body: impl FnOnce(&mut Log) -> Result<T>,
    ) -> Result<T, Failed> {
        let All { done, screen, limit, .. } = &*self.0;
        let started = Instant::now();
        let mut log = Log::within(*limit);
        let result = screen.while_running(name, || body(&mut log));
        let step = Step { name: name.into(), end: End::of(&result), time: started.elapsed() };
        let Step { end, time, .. } = step;
        let result = result.map_err(|error| {
            let output = if end == End::NotRun { "" } else { log.text() };
            format!("\n{output}{error:#}\n")
        });
        let why = result.as_ref().err().map_or("", String::as_str);
        screen.print(&format!("{name} ... {}, {}{why}", end.word(), seconds(time)));
        locked(done).push(step);
        result.map_err(|_| Failed)
    }

    /// Runs a step on which none rests.
    pub(crate) fn check(&mut self, name: &str, body: impl FnOnce(&mut Log) -> Result<()>) {
        let _shown_already = self.must(name, body);
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
                            steps.0.screen.print("What needs that step was not run.");
                        }
                    }
                });
            }
        });
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
        locked(&self.0.done).iter().filter(|step| step.end == end).count()
    }

    /// How every step went and how long it took.
    pub(crate) fn summary(&self) -> Table {
        let mut table = table_of(&locked(&self.0.done));
        let all = if self.failed() == 0 { End::Passed } else { End::Failed };
        table.add_row(["all".into(), all.word().into(), seconds(self.0.started.elapsed())]);
        table
    }

    /// The steps that took longest.
    pub(crate) fn slowest(&self) -> Table {
        let mut steps = locked(&self.0.done).clone();
        steps.sort_by_key(|step| Reverse(step.time));
        steps.truncate(SLOWEST);
        let mut table = table_of(&steps);
        table.set_header(["Slowest steps", "Result", "Time"]);
        table
    }
}

fn table_of(steps: &[Step]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header(["Step", "Result", "Time"]);
    for step in steps {
        table.add_row([step.name.clone(), step.end.word().into(), seconds(step.time)]);
    }
    if let Some(column) = table.column_mut(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// Where lines are shown: below them, on a terminal, a spinner for each running step.
struct Screen(Option<MultiProgress>);

/// After this a step that is running says so where there is no terminal: a log that is cut short names it.
const LONG: Duration = Duration::from_mins(1);

impl Screen {
    fn find() -> Self {
        Self(std::io::stdout().is_terminal().then(MultiProgress::new))
    }

    fn print(&self, text: &str) {
        match &self.0 {
            Some(bars) => bars.suspend(|| println!("{text}")),
            None => println!("{text}"),
        }
    }

    /// Runs `body`, and shows that it runs.
    fn while_running<T>(&self, name: &str, body: impl FnOnce() -> T) -> T {
        if let Some(bars) = &self.0 {
            let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
                .unwrap_or_else(|_| ProgressStyle::default_spinner());
            let bar = bars.add(ProgressBar::new_spinner().with_style(style).with_message(name.to_owned()));
            bar.enable_steady_tick(Duration::from_millis(100));
            let result = body();
            bar.finish_and_clear();
            return result;
        }
        let (ended, end) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                if end.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                    println!("{name} ... still running");
                }
            });
            let _ended = ended;
            body()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_could_not_run_is_shown_and_is_no_failure() {
        let mut steps = Steps::new();
        steps.check("passes", |_| Ok(()));
        steps.check("fails", |_| anyhow::bail!("broken"));
        steps.check("lacks", |_| Err(NotRun("install this".into()).into()));
        assert_eq!((steps.passed(), steps.failed(), steps.not_run()), (1, 1, 1));
        assert!(steps.summary().to_string().contains("NOT RUN"));
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
        assert_eq!((steps.passed(), steps.failed(), steps.not_run()), (4, 1, 0));
    }

    #[test]
    fn the_ten_slowest_steps_are_named_from_the_slowest_on() {
        let steps = Steps::new();
        let step =
            |n: u64| Step { name: format!("step {n}"), end: End::Passed, time: Duration::from_secs(n) };
        steps.0.done.lock().unwrap().extend((1..=12).map(step));
        let shown = steps.slowest().to_string();
        let at = |n: u64| shown.find(&format!("step {n} "));
        assert_eq!((at(1), at(2)), (None, None));
        assert!((4..=12).all(|n| at(n).unwrap() < at(n - 1).unwrap()), "{shown}");
    }
}
