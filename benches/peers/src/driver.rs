//! The driver: starts a process for every system, job and round, the systems taking turns.

use std::env;
use std::process::{Command, Stdio};

use indicatif::{ProgressBar, ProgressStyle};

use crate::catalogue::{JOBS, Job, SYSTEMS, System, Unit};
use crate::clock::Clock;
use crate::options::Run;
use crate::results::{Record, Results};
use crate::task::Figure;

/// A job with all that it takes to do it.
struct Turn<'r> {
    job: &'static Job,
    rows: Vec<&'static str>,
    pairs: u32,
    threads: u16,
    systems: Vec<&'static System>,
    run: &'r Run,
}

/// Does all that the options ask for.
pub(crate) fn run(options: &Run) -> Result<Results, String> {
    check_names(options)?;
    if options.data.clock == Clock::Processor && options.threads != [1] {
        return Err(
            "threads wait for each other, which the processor's clock does not show: give --threads 1".into(),
        );
    }
    let turns = turns(options);
    let processes: usize =
        turns.iter().map(|turn| turn.systems.len()).sum::<usize>() * usize::from(options.rounds);
    if processes == 0 {
        return Err("no system has a row that was asked for with these numbers of threads".into());
    }
    let style = ProgressStyle::with_template("{msg:40} {wide_bar} {pos}/{len} {eta}").expect("it is valid");
    let bar = ProgressBar::new(processes as u64).with_style(style);
    let mut results = Results::begun_now()?;
    for turn in &turns {
        for round in 0..options.rounds {
            for system in &turn.systems {
                bar.set_message(format!("{} {} x{}", turn.job.name, system.name, turn.threads));
                results.records.extend(turn.start(system, round)?);
                bar.inc(1);
            }
        }
        if let Some(path) = &options.json {
            results.write(path)?;
        }
    }
    bar.finish_and_clear();
    Ok(results)
}

fn check_names(options: &Run) -> Result<(), String> {
    if let Some(name) = options.systems.iter().find(|name| SYSTEMS.iter().all(|system| system.name != **name))
    {
        return Err(format!("there is no system {name}; `list` shows them"));
    }
    let matches_a_row =
        |pattern: &&String| JOBS.iter().flat_map(|job| job.rows).any(|row| matches(pattern, row));
    match options.rows.iter().find(|pattern| !matches_a_row(pattern)) {
        Some(pattern) => Err(format!("there is no row {pattern}; `list` shows them")),
        None => Ok(()),
    }
}

fn matches(pattern: &str, row: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == row, |start| row.starts_with(start))
}

fn turns(options: &Run) -> Vec<Turn<'_>> {
    let mut turns = Vec::new();
    for &pairs in &options.pairs {
        for job in JOBS {
            let wanted =
                |row: &&&str| options.rows.is_empty() || options.rows.iter().any(|p| matches(p, row));
            let rows: Vec<&str> = job.rows.iter().filter(wanted).copied().collect();
            if rows.is_empty() {
                continue;
            }
            let threads = if job.threads { options.threads.as_slice() } else { &[1] };
            turns.extend(threads.iter().map(|&threads| {
                let rows = rows.clone();
                Turn { job, rows, pairs, threads, systems: systems(options, job, threads), run: options }
            }));
        }
    }
    turns
}

fn systems(options: &Run, job: &Job, threads: u16) -> Vec<&'static System> {
    let named = |name| options.systems.is_empty() || options.systems.iter().any(|wanted| wanted == name);
    SYSTEMS
        .iter()
        .filter(|system| system.half == job.half && named(system.name) && (system.threads || threads == 1))
        .collect()
}

impl Turn<'_> {
    /// Does the job with one system, in a process of its own.
    fn start(&self, system: &System, round: u16) -> Result<Vec<Record>, String> {
        let program = env::current_exe().map_err(|error| format!("this program's own file: {error}"))?;
        let mut command = Command::new(program);
        command
            .args(["one", "--job", self.job.name, "--system", system.name])
            .arg(format!("--pairs={}", self.pairs))
            .arg(format!("--threads={}", self.threads))
            .arg(format!("--rows={}", self.rows.join(",")))
            .args(self.run.data.to_args())
            .stderr(Stdio::inherit());
        let output = command.output().map_err(|error| format!("starting {}: {error}", system.name))?;
        if !output.status.success() {
            return Err(format!("{} failed at {}: {}", system.name, self.job.name, output.status));
        }
        let figures: Vec<Figure> = serde_json::from_slice(&output.stdout)
            .map_err(|error| format!("{} at {}: {error}", system.name, self.job.name))?;
        let record = |figure: Figure| Record {
            unit: Unit::of_row(&figure.row),
            row: figure.row,
            pairs: self.pairs,
            threads: self.threads,
            system: system.name.into(),
            round,
            value: figure.value,
        };
        Ok(figures
            .into_iter()
            .filter(|figure| self.rows.contains(&figure.row.as_str()))
            .map(record)
            .collect())
    }
}
