//! What takes too long for every run of the tests: shares some minutes out over its parts, and goes on the next time.

mod parts;
mod record;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use clap::Args;

use self::parts::{PARTS, Part, Round};
use self::record::Record;
use crate::checks::Room;
use crate::checks::suite::Suite;
use crate::run::shown;
use crate::setup::require;
use crate::steps::Steps;
use crate::workspace::Workspace;

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// How long it runs: a round that has begun is finished
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    minutes: u32,
    /// The rooms to soak [default: all that have long tests]
    #[arg(value_enum, value_name = "ROOM")]
    rooms: Vec<Room>,
}

/// Runs rounds of the parts in turn until the time is over.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    let chosen = |part: &&Part| options.rooms.is_empty() || options.rooms.contains(&part.room);
    let parts: Vec<&Part> = PARTS.iter().filter(chosen).collect();
    ensure!(!parts.is_empty(), "nothing in these rooms takes long: cargo xtask test runs all of it");
    for part in &parts {
        require(part.room.tools())?;
    }
    let suite = Suite::new(Workspace::find()?, false);
    let record = Record::open(suite.workspace().target("soak"))?;
    let time = Duration::from_mins(options.minutes.into());
    let mut soak = Soak { suite, record, steps: Steps::new(), ended: Vec::new() };
    soak.run(&parts, Instant::now() + time)?;
    println!("{}\n{}", soak.steps.summary(), soak.record.table(&parts));
    for failure in soak.record.failures()? {
        println!("A failure is kept until it is deleted: {}", failure.display());
    }
    let (passed, failed, not_run) = (soak.steps.passed(), soak.steps.failed(), soak.steps.not_run());
    println!("{passed} passed, {failed} failed, {not_run} not run");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Soak {
    suite: Suite,
    record: Record,
    steps: Steps,
    /// The parts that failed in this run, or could not run: another round would tell nothing new.
    ended: Vec<&'static str>,
}

impl Soak {
    fn run(&mut self, parts: &[&Part], end: Instant) -> Result<()> {
        while Instant::now() < end {
            let left = parts.iter().filter(|part| !self.ended.contains(&part.name));
            let Some(part) = self.record.next(left.copied()) else { break };
            let round = Round { number: self.record.rounds(part), seed: fastrand::u32(..) };
            let started = Instant::now();
            let result = self.round(part, round);
            self.record.add(part, started.elapsed())?;
            if result.is_err() {
                self.ended.push(part.name);
            }
        }
        Ok(())
    }

    fn round(&mut self, part: &Part, round: Round) -> Result<()> {
        (part.prepare)(&self.suite, &mut self.steps)?;
        let (suite, record) = (&self.suite, &self.record);
        let name = format!("{}, round {}", part.name, round.number + 1);
        self.steps.must(&name, |log| {
            let mut command = (part.command)(suite.workspace(), round, log)?;
            let Err(error) = log.run(&mut command) else { return Ok(()) };
            let folder = command.get_current_dir().unwrap_or(suite.workspace().root()).display();
            let again = format!("(cd {folder} &&{})", shown(&command).trim_start_matches('$'));
            let kept = record.keep(part, round, &again, log.text())?;
            bail!("{error:#}\nTo run it again: {again}\nKept in {}", kept.display())
        })?;
        Ok(())
    }
}
