//! The tests of five public reports, over Twindex, its peers and Redis, as records.
//!
//! A unit is what one process does in one go: one test with one system in one round. The report runs the units in the
//! order of the plan, in which the systems take turns, and keeps what each printed.

mod blobs;
mod compare;
mod durable;
mod index64;
mod keysets;
mod sizes;
mod skytable;
mod test;
mod ycsb;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use twindex_benches::{Reach, Record};

use self::sizes::{Scale, Sizes};
use self::test::{Job, System, Test};

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the units in the order in which they are to be run, as JSON
    Plan(Plan),
    /// Runs some tests and prints a table
    Compare {
        #[command(flatten)]
        plan: Plan,
        /// Their names in the plan, such as `durable`
        #[arg(required = true)]
        tests: Vec<String>,
        /// Where files are written, and gone afterwards
        #[arg(long, value_name = "FOLDER")]
        folder: PathBuf,
    },
    /// Runs one unit and prints its records as JSON
    Run {
        #[command(flatten)]
        plan: Plan,
        /// Its name in the plan
        unit: String,
        /// Where files are written, and gone afterwards
        #[arg(long, value_name = "FOLDER")]
        folder: PathBuf,
    },
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Plan {
    /// How much is done
    #[arg(long, value_enum, default_value_t = Scale::Machine)]
    scale: Scale,
    /// How often each test is run; as often as the scale says unless given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    rounds: Option<u16>,
    /// Leaves out what needs redis-server
    #[arg(long)]
    no_redis: bool,
}

/// What is to be run.
#[derive(Serialize)]
struct Printed<'p> {
    units: Vec<Unit>,
    hosts: Hosts<'p>,
}

/// How much the other hosts do of the tests that they take part in.
#[derive(Serialize)]
struct Hosts<'p> {
    pairs: u32,
    threads: &'p [u16],
    queries: u32,
    clients: &'p [u16],
    rounds: u16,
}

/// What one process does.
#[derive(Serialize)]
struct Unit {
    /// `test/system/threads/round`, without the threads where the unit has all their numbers.
    name: String,
    /// About how long it takes.
    milliseconds: u64,
    #[serde(skip)]
    round: u16,
    #[serde(skip)]
    threads: u16,
    #[serde(skip)]
    run: fn(&Job) -> Vec<Record>,
}

const TESTS: &[Test] = &[
    Test { name: "strings", threads: |sizes| &sizes.threads, systems: index64::STRINGS },
    Test { name: "sorted", threads: |sizes| &sizes.threads, systems: index64::SORTED },
    Test { name: "clients", threads: |sizes| &sizes.clients, systems: skytable::CLIENTS },
    Test { name: "ycsb", threads: |_| &[], systems: ycsb::POINT },
    Test { name: "scans", threads: |_| &[], systems: ycsb::SCANS },
    Test { name: "keyset", threads: |_| &[], systems: keysets::SYSTEMS },
    Test { name: "append", threads: |_| &[], systems: blobs::APPEND },
    Test { name: "memory_small", threads: |_| &[], systems: blobs::MEMORY_OF_SMALL },
    Test { name: "memory_medium", threads: |_| &[], systems: blobs::MEMORY_OF_MEDIUM },
    Test { name: "durable", threads: |_| &[], systems: durable::SYSTEMS },
];

/// Does what the command line asks for and prints JSON.
pub(crate) fn main(command: &Command) -> Result<(), String> {
    let text = match command {
        Command::Plan(plan) => {
            let sizes = plan.sizes();
            serde_json::to_string(&Printed {
                units: units(plan),
                hosts: Hosts {
                    pairs: sizes.pairs[0],
                    threads: &sizes.threads,
                    queries: sizes.queries[0],
                    clients: &sizes.clients,
                    rounds: sizes.rounds,
                },
            })
        }
        Command::Compare { plan, tests, folder } => {
            if let Some(name) = tests.iter().find(|name| !TESTS.iter().any(|test| test.name == **name)) {
                return Err(format!("there is no test {name} in the documents"));
            }
            let is_asked_for = |unit: &String| {
                unit.split_once('/').is_some_and(|(test, _)| tests.iter().any(|name| name == test))
            };
            let units: Vec<_> = units(plan).into_iter().map(|unit| unit.name).filter(is_asked_for).collect();
            return compare::compare(&plan.arguments(), &units, folder);
        }
        Command::Run { plan, unit: name, folder } => {
            let unit = units(plan).into_iter().find(|unit| unit.name == *name);
            let unit = unit.ok_or_else(|| format!("there is no unit {name} in this plan"))?;
            serde_json::to_string(&unit.records(&plan.sizes(), folder))
        }
    };
    println!("{}", text.map_err(|error| error.to_string())?);
    Ok(())
}

impl Plan {
    fn sizes(&self) -> Sizes {
        let sizes = self.scale.sizes();
        let rounds = self.rounds.unwrap_or(sizes.rounds);
        Sizes { rounds, remote_rounds: sizes.remote_rounds.min(rounds), ..sizes }
    }

    /// What makes another process plan the same.
    fn arguments(&self) -> Vec<String> {
        let scale = self.scale.to_possible_value().map(|scale| format!("--scale={}", scale.get_name()));
        let rounds = self.rounds.map(|rounds| format!("--rounds={rounds}"));
        let no_redis = self.no_redis.then(|| "--no-redis".to_owned());
        scale.into_iter().chain(rounds).chain(no_redis).collect()
    }
}

impl Unit {
    fn records(&self, sizes: &Sizes, folder: &std::path::Path) -> Vec<Record> {
        let mut records = (self.run)(&Job { sizes, threads: self.threads.into(), folder });
        for record in &mut records {
            record.round = self.round;
        }
        records
    }
}

fn units(plan: &Plan) -> Vec<Unit> {
    let sizes = plan.sizes();
    let mut units = Vec::new();
    for test in TESTS {
        let threads: Vec<Option<u16>> = match (test.threads)(&sizes) {
            [] => vec![None],
            counts => counts.iter().copied().map(Some).collect(),
        };
        for threads in threads {
            for round in 0..sizes.rounds {
                let takes_part = |system: &&System| {
                    (system.threads || threads.is_none_or(|count| count == 1))
                        && (system.reach == Reach::Process || (!plan.no_redis && round < sizes.remote_rounds))
                };
                units.extend(test.systems.iter().filter(takes_part).map(|system| {
                    let count = threads.map_or_else(String::new, |count| format!("/{count}"));
                    Unit {
                        name: format!("{}/{}{count}/{round}", test.name, system.name),
                        milliseconds: (sizes.seconds(test.name, system.reach) * 1e3) as u64,
                        round,
                        threads: threads.unwrap_or(1),
                        run: system.run,
                    }
                }));
            }
        }
    }
    units
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(no_redis: bool) -> Plan {
        Plan { scale: Scale::Test, rounds: None, no_redis }
    }

    #[test]
    fn every_unit_gives_sound_records() {
        let folder = tempfile::tempdir().unwrap();
        for unit in units(&plan(false)) {
            let records = unit.records(&Scale::Test.sizes(), folder.path());
            assert!(!records.is_empty(), "{} gave nothing", unit.name);
            for record in &records {
                assert!(unit.name.contains(&record.system), "{}: {record:?}", unit.name);
                assert!(!record.figures.is_empty() && record.operations > 0, "{}: {record:?}", unit.name);
                let sound = |value: &f64| value.is_finite() && *value >= 0.0;
                assert!(record.figures.values().all(sound), "{}: {record:?}", unit.name);
            }
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files were left");
    }

    /// A unit is run by another process, which has to find it in its plan.
    #[test]
    fn a_plan_is_the_same_in_another_process() {
        use clap::Parser as _;

        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            plan: Plan,
        }
        for (scale, rounds, no_redis) in [(Scale::Full, None, false), (Scale::Quick, Some(7), true)] {
            let plan = Plan { scale, rounds, no_redis };
            let Line { plan: read } =
                Line::parse_from(std::iter::once("peers".into()).chain(plan.arguments()));
            assert_eq!((read.scale, read.rounds, read.no_redis), (scale, rounds, no_redis));
        }
    }

    #[test]
    fn every_unit_has_a_name_of_its_own() {
        let mut names: Vec<_> = units(&plan(false)).into_iter().map(|unit| unit.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        assert!(names.iter().any(|name| name == "strings/redis/1/0"), "{names:?}");
    }

    #[test]
    fn without_redis_nothing_needs_it() {
        assert!(units(&plan(true)).iter().all(|unit| !unit.name.contains("redis")));
    }

    #[test]
    fn the_systems_take_turns() {
        let names: Vec<_> = units(&plan(true)).into_iter().map(|unit| unit.name).collect();
        let first_round_ends = names.iter().position(|name| name.ends_with("/1")).unwrap();
        let systems = names.iter().take(first_round_ends);
        assert!(systems.clone().count() > 2, "one system does all its rounds first: {names:?}");
    }
}
