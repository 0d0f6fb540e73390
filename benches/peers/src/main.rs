//! Twindex beside its peers. `README.md` in the folder above says how this is measured.

mod catalogue;
mod clock;
mod data;
mod documents;
mod driver;
mod keys;
mod options;
mod peer;
mod peers;
mod ratios;
mod results;
mod server;
mod task;
mod work;

use std::process::ExitCode;

use clap::Parser;

use crate::catalogue::{Half, JOBS, SYSTEMS};
use crate::options::{Command, CommandLine, Run};
use crate::results::Results;
use crate::task::{One, Task};

fn main() -> ExitCode {
    let line = CommandLine::parse();
    let done = match line.command {
        None => run(&line.run),
        Some(Command::Ratios { files }) => files
            .iter()
            .map(|path| Results::read(path))
            .collect::<Result<Vec<_>, _>>()
            .map(|all| print_tables(&all)),
        Some(Command::List) => {
            list();
            Ok(())
        }
        Some(Command::One(one)) => do_one(one),
        Some(Command::Documents(command)) => documents::main(&command),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Run) -> Result<(), String> {
    let results = driver::run(options)?;
    if let Some(path) = &options.json {
        results.write(path)?;
    }
    print_tables(&[results]);
    Ok(())
}

fn print_tables(all: &[Results]) {
    for results in all {
        let machine = &results.machine;
        println!("{} {}", results.date, results.command);
        println!(
            "{}, {} cores, {} GiB, {}",
            machine.processor, machine.cores, machine.memory_gib, machine.system
        );
    }
    let records: Vec<_> = all.iter().flat_map(|results| results.records.iter().cloned()).collect();
    for table in ratios::tables(&records) {
        println!("{table}");
    }
}

fn list() {
    for (half, name) in [(Half::Hash, "hash"), (Half::Sorted, "sorted")] {
        let systems = SYSTEMS.iter().filter(|system| system.half == half);
        println!("{name} systems: {}", systems.map(|system| system.name).collect::<Vec<_>>().join(" "));
        for job in JOBS.iter().filter(|job| job.half == half) {
            println!("  {}{}", job.rows.join(" "), if job.threads { "  (threads)" } else { "" });
        }
    }
}

fn do_one(one: One) -> Result<(), String> {
    let job =
        JOBS.iter().find(|job| job.name == one.job).ok_or_else(|| format!("there is no job {}", one.job))?;
    let system = SYSTEMS
        .iter()
        .find(|system| system.half == job.half && system.name == one.system)
        .ok_or_else(|| format!("there is no system {} for the job {}", one.system, one.job))?;
    let figures = (system.run)(&Task::new(one));
    println!("{}", serde_json::to_string(&figures).map_err(|error| error.to_string())?);
    Ok(())
}
