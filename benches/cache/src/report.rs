//! The part that `cargo xtask report` takes: units of work, each for a process of its own, which give records.

use crate::pauses::{self, Measured};
use crate::peers::{self, NAMES};
use crate::shared::{self, Work};
use crate::trace::Made;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use std::io;
use twindex_benches::{Reach, Record};

#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Prints the units of a report in the order in which they are to be run, as JSON.
    Plan(Plan),
    /// Runs one unit of a report and prints its records as JSON.
    Run {
        #[command(flatten)]
        plan: Plan,
        /// Its name in the plan.
        unit: String,
    },
}

#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// How much is done.
    #[arg(long, value_enum, default_value_t = Scale::Machine)]
    scale: Scale,
    /// How often each is run; as often as the scale says unless given.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Scale {
    /// As little as the tests do.
    #[value(hide = true)]
    Test,
    Quick,
    Machine,
    Full,
}

impl Scale {
    /// By how much all sizes are divided, and how often each unit is run.
    fn sizes(self) -> (usize, u16) {
        match self {
            Self::Test => (100, 1),
            Self::Quick => (10, 2),
            Self::Machine => (1, 3),
            Self::Full => (1, 5),
        }
    }
}

/// What one process does.
#[derive(Serialize)]
struct Unit {
    /// `test/system/round`, or `test/system/threads/round`.
    name: String,
    /// About how long it takes.
    milliseconds: u64,
    #[serde(skip)]
    system: &'static str,
    #[serde(skip)]
    round: u16,
    #[serde(skip)]
    test: Test,
}

#[derive(Clone, Copy)]
enum Test {
    Hits,
    Throughput(u16),
    Memory,
    Pauses,
}

impl Plan {
    fn units(&self) -> Vec<Unit> {
        let (divisor, rounds) = self.scale.sizes();
        let mut units = Vec::new();
        let mut add = |test, system, round, milliseconds: u64| {
            let (name, threads) = match test {
                Test::Hits => ("cache_hits", String::new()),
                Test::Throughput(threads) => ("cache", format!("/{threads}")),
                Test::Memory => ("cache_memory", String::new()),
                Test::Pauses => ("cache_pauses", String::new()),
            };
            let name = format!("{name}/{system}{threads}/{round}");
            units.push(Unit { name, milliseconds: 5 + milliseconds / divisor as u64, system, round, test });
        };
        let rounds = 0..self.rounds.unwrap_or(rounds);
        // Hits come out the same in each round, but for the random secret of a hash.
        for name in NAMES {
            add(Test::Hits, name, 0, 15_000);
        }
        for name in NAMES {
            add(Test::Memory, name, 0, 2_000);
        }
        for threads in [1, 2, 8] {
            for round in rounds.clone() {
                for name in NAMES {
                    add(Test::Throughput(threads), name, round, 1_500);
                }
            }
        }
        for round in rounds {
            add(Test::Pauses, NAMES[0], round, 6_000);
        }
        units
    }
}

impl Unit {
    fn records(&self, divisor: usize) -> io::Result<Vec<Record>> {
        let record =
            |test: &str, operations: usize| Record::new(test, self.system, Reach::Process, operations as u64);
        let mut records = match self.test {
            Test::Hits => self.hits(divisor),
            Test::Throughput(threads) => {
                let [(hits, operations), (mixed, _)] =
                    Work::ALL.map(|work| shared::throughput_of(self.system, work, threads.into(), divisor));
                let record = record("cache", operations).with("threads", threads);
                vec![record.figure("hit_per_second", hits).figure("mixed_per_second", mixed)]
            }
            Test::Memory => {
                let bytes = shared::memory_of(self.system, divisor as u64)?.max(0.0);
                let writes = 2 * 1_000_000 / divisor;
                vec![record("cache_memory", writes).figure("bytes_per_pair", bytes)]
            }
            Test::Pauses => {
                let (measured, _) = pauses::evicting(divisor as u64).map_err(io::Error::other)?;
                latencies(&measured)
            }
        };
        for record in &mut records {
            record.round = self.round;
        }
        Ok(records)
    }

    fn hits(&self, divisor: usize) -> Vec<Record> {
        let traces = Made { divisor: divisor as u64 }.all();
        let of_trace = |trace: &crate::trace::Trace| {
            let hits = |&capacity: &usize| {
                let hits = trace.hits(&mut *peers::make(self.system, capacity));
                Record::new("cache_hits", self.system, Reach::Process, trace.keys.len() as u64)
                    .with("trace", trace.name.clone())
                    .with("capacity", capacity)
                    .figure("hits_percent", hits)
            };
            trace.capacities.iter().map(hits).collect::<Vec<_>>()
        };
        traces.iter().flat_map(of_trace).collect()
    }
}

/// Of the wall's clock and of the processor's, each beside what a thread sees that does nothing.
fn latencies(measured: &Measured) -> Vec<Record> {
    let mut records = Vec::new();
    for (system, times) in [("twindex", &measured.writes), ("no work", &measured.nothing)] {
        for (clock, times) in [("wall", &times.wall), ("processor", &times.processor)] {
            for (name, part) in
                [("50", 0.5), ("99", 0.99), ("99.9", 0.999), ("99.99", 0.9999), ("worst", 1.0)]
            {
                let record = Record::new("cache_pauses", system, Reach::Process, times.len())
                    .with("clock", clock)
                    .with("percentile", name)
                    .figure("microseconds", times.value_at_quantile(part) as f64 / 1e3);
                records.push(record);
            }
        }
    }
    records
}

/// Does what the command line asks for and prints JSON.
pub fn main(command: &Command) -> io::Result<()> {
    #[derive(Serialize)]
    struct Printed {
        units: Vec<Unit>,
    }
    let text = match command {
        Command::Plan(plan) => serde_json::to_string(&Printed { units: plan.units() }),
        Command::Run { plan, unit } => {
            let found = plan.units().into_iter().find(|found| found.name == *unit);
            let unit =
                found.ok_or_else(|| io::Error::other(format!("there is no unit {unit} in this plan")))?;
            serde_json::to_string(&unit.records(plan.scale.sizes().0)?)
        }
    };
    println!("{}", text.map_err(io::Error::other)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_unit_gives_sound_records() {
        let plan = Plan { scale: Scale::Test, rounds: None };
        let units = plan.units();
        let names: std::collections::HashSet<_> = units.iter().map(|unit| &unit.name).collect();
        assert_eq!(names.len(), units.len(), "two units have one name");
        for unit in &units {
            let records = unit.records(1000).unwrap();
            assert!(!records.is_empty(), "{} gave nothing", unit.name);
            for record in &records {
                assert!(unit.name.starts_with(&record.test), "{}: {record:?}", unit.name);
                assert!(!record.figures.is_empty() && record.operations > 0, "{}: {record:?}", unit.name);
                let sound = |value: &f64| value.is_finite() && *value >= 0.0;
                assert!(record.figures.values().all(sound), "{}: {record:?}", unit.name);
            }
        }
    }
}
