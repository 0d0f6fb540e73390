//! Sets up, builds, shows and tests every room of Twindex: `cargo xtask demo`, `bench`, `docs`, `cluster`, `dist`, `test` and
//! `soak`.

mod bench;
mod dist;
mod packages;
mod run;
mod setup;
mod soak;
mod steps;
mod suite;
mod workspace;

use std::process::{Command as Process, ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::setup::require;

#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", about, version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Sets up what is missing, and shows every host beside what its programs use today: a table, a page and a picture
    Demo(bench::Options),
    /// Measures rows: `--list` shows all, among them every figure of the documents and five public benchmark reports
    Bench(bench::Options),
    /// Makes what is published, in target/dist: crates, packages and the tool; and installs it
    Dist(dist::Options),
    /// Sets up what is missing, and builds the documentation site; a warning is an error
    Docs,
    /// Starts a Redis Cluster on this machine and shows its URL, until it is ended
    Cluster {
        /// A cluster and one server that speak TLS and want a password; shows both URLs, and the file of the authority that
        /// signed their certificates
        #[arg(long)]
        tls: bool,
    },
    /// Sets up what is missing, and runs every check and test of every room
    Test {
        /// The rooms to test [default: all]
        #[arg(value_enum, value_name = "ROOM")]
        rooms: Vec<suite::Room>,
    },
    /// Runs the tests that take too long for every run, for some minutes, and goes on the next time
    Soak(soak::Options),
}

fn main() -> ExitCode {
    let done = match Cli::parse().command {
        Command::Demo(options) => bench::demo(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Dist(options) => dist::run(&options),
        Command::Docs => suite::docs(),
        Command::Cluster { tls } => cluster(tls),
        Command::Test { rooms } => suite::run(&rooms),
        Command::Soak(options) => soak::run(&options),
    };
    done.unwrap_or_else(|error| {
        eprintln!("{error:#}");
        ExitCode::FAILURE
    })
}

/// Three masters with a replica each, until the input ends or the process does.
fn cluster(tls: bool) -> Result<ExitCode> {
    require(&["cc", "redis-server"])?;
    let mut cargo = Process::new("cargo");
    cargo.args(["run", "--package=twindex-servers", "--"]).args(tls.then_some("--tls"));
    let status = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
