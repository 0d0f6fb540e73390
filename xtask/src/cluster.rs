//! A cluster to try things on.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use twindex_servers::Cluster;

use crate::setup::{Tool, require};

/// Starts three masters with a replica each, and waits until the input ends or the process does.
pub(crate) fn run() -> Result<ExitCode> {
    require(&[Tool::Redis])?;
    let cluster = Cluster::start(3, 1).map_err(|error| anyhow!("{error}"))?;
    println!("{}", cluster.url());
    eprintln!("The cluster ends when this command does: press Enter or Ctrl-C.");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(ExitCode::SUCCESS)
}
