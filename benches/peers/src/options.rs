//! The command line, of the driver and of the processes that it starts.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::data::Data;
use crate::documents;
use crate::task::One;

/// Twindex beside its peers: the same work, in alternation, each system in a process of its own.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) run: Run,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Prints the table of ratios from the JSON of earlier runs
    Ratios {
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Lists the systems and the rows
    List,
    /// Does one job with one system and prints what it measured as JSON: what the driver starts
    #[command(hide = true)]
    One(One),
    /// The tests of five public reports: what `cargo xtask report` starts
    #[command(subcommand)]
    Documents(documents::Command),
}

#[derive(Args, Clone, Debug)]
pub(crate) struct Run {
    /// How many pairs
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1000000", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pairs: Vec<u32>,
    /// Numbers of threads, for the rows that have them
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Vec<u16>,
    /// The systems, all unless given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) systems: Vec<String>,
    /// The rows, all unless given; with a * at the end all that start so
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) rows: Vec<String>,
    /// How often every system does every job
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Writes all that was measured as JSON too
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) data: Data,
}
