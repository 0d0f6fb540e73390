//! Sets up, builds, shows and tests every room of Twindex: `cargo xtask demo`, `report`, `docs`, `cluster`,
//! `dist`, `test` and `soak`.

mod bench;
mod build;
mod checks;
mod cluster;
mod demo;
mod dist;
mod machine;
mod report;
mod run;
mod setup;
mod steps;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::checks::soak;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sets up what is missing, builds all, runs the standard tests in every host and writes the report
    Demo(bench::Options),
    /// Runs the tests of five public reports beside other systems, and writes the page that shows them
    Report(report::Options),
    /// Makes what is published, in target/dist: crates, packages, the tool, and their checksums; and installs it
    Dist(dist::Options),
    /// Sets up what is missing, and builds the documentation site; a warning is an error
    Docs,
    /// Starts a Redis Cluster on this machine and shows its URL, until it is ended
    Cluster(cluster::Options),
    /// Sets up what is missing, and runs every check and test of every room
    Test {
        /// The rooms to test [default: all]
        #[arg(value_enum, value_name = "ROOM")]
        rooms: Vec<checks::Room>,
    },
    /// Runs what takes too long for every run of the tests, for some minutes, and goes on the next time
    Soak(soak::Options),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(options) => demo::run(&options),
        Command::Report(options) => report::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Docs => checks::build_docs(),
        Command::Cluster(options) => cluster::run(&options),
        Command::Test { rooms } => checks::run(&rooms),
        Command::Soak(options) => soak::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}
