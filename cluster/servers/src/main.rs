//! Starts servers on this machine: `twindex-servers [--tls]` until Enter or Ctrl-C, `twindex-servers -- COMMAND...` while a
//! command runs, which finds them by `TWINDEX_CLUSTER_URL` and `TWINDEX_CLUSTER_TLS`.

use std::process::{Command, ExitCode};

use twindex_servers::{Cluster, Result, Secure};

/// The port of the first server, if it is free: the README's example names it.
const FIRST_PORT: u16 = 7000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let code = match words[..] {
        [] => Cluster::start_from(FIRST_PORT, 3, 1).and_then(|cluster| wait(&cluster.url())),
        ["--tls"] => Secure::start().and_then(|servers| wait(&lines(&servers))),
        ["--", program, ref rest @ ..] => run(program, rest),
        _ => Err("usage: twindex-servers [--tls | -- COMMAND...]".into()),
    };
    code.unwrap_or_else(|error| {
        eprintln!("{error}");
        ExitCode::FAILURE
    })
}

/// Two URLs, of a cluster and of one server, and the file of the authority that signed their certificates.
fn lines(servers: &Secure) -> String {
    format!("{}\n{}", servers.urls().join("\n"), servers.authority().display())
}

fn wait(lines: &str) -> Result<ExitCode> {
    println!("{lines}");
    eprintln!("The cluster ends when this command does: press Enter or Ctrl-C.");
    std::io::stdin().read_line(&mut String::new())?;
    Ok(ExitCode::SUCCESS)
}

fn run(program: &str, arguments: &[&str]) -> Result<ExitCode> {
    let (cluster, secure) = (Cluster::start(3, 1)?, Secure::start()?);
    let mut command = Command::new(program);
    command.args(arguments).env("TWINDEX_CLUSTER_URL", cluster.url());
    let status = command.env("TWINDEX_CLUSTER_TLS", lines(&secure)).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
