//! A cluster to try things on.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::Args;
use twindex_servers::{Cluster, Secure};

use crate::setup::{Tool, require};

/// The port of the first server, where it is free: the one that the README's example names.
const FIRST_PORT: u16 = 7000;

#[derive(Args)]
pub(crate) struct Options {
    /// A cluster of three masters and one server that speak TLS and want a password; shows both URLs, and the file of the
    /// authority that signed their certificates
    #[arg(long)]
    tls: bool,
}

/// Starts three masters with a replica each, and waits until the input ends or the process does.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    require(&[Tool::Redis])?;
    let failed = |error| anyhow!("{error}");
    if options.tls {
        let servers = Secure::start().map_err(failed)?;
        println!("{}\n{}", servers.urls().join("\n"), servers.authority().display());
        wait()?;
    } else {
        let cluster = Cluster::start_from(FIRST_PORT, 3, 1).map_err(failed)?;
        println!("{}", cluster.url());
        wait()?;
    }
    Ok(ExitCode::SUCCESS)
}

fn wait() -> Result<()> {
    eprintln!("The cluster ends when this command does: press Enter or Ctrl-C.");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(())
}
