//! The tools that a system package brings: where one is missing, the one line that installs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{Log, command};
use crate::setup::node::NPM;
use crate::setup::rust::require_wasi;
use crate::steps::NotRun;

/// The oldest Python that the bindings are built for.
pub(super) const PYTHON: (u32, u32) = (3, 11);
/// The oldest Node that has the Node-API version that the bindings use and a test runner.
const NODE: (u32, u32) = (20, 19);

/// What some step cannot do without: a program, what has it print its version, its name, and the line that installs it.
const PROGRAMS: [(&str, &str, &str, &str); 8] = [
    ("cc", "--version", "A C compiler", "apt-get install build-essential"),
    ("git", "--version", "Git", "apt-get install git"),
    ("redis-server", "--version", "Redis", "apt-get install redis-server"),
    ("valkey-server", "--version", "Valkey", "apt-get install valkey-server"),
    ("chromium", "--version", "Chromium", "apt-get install chromium"),
    ("go", "version", "Go", "apt-get install golang-go"),
    ("mvn", "--version", "Maven", "apt-get install maven"),
    ("actionlint", "--version", "actionlint", "go install github.com/rhysd/actionlint/cmd/actionlint@latest"),
];

/// Stops with one line where a tool is missing.
pub(crate) fn require(tools: &[&str]) -> Result<()> {
    tools.iter().find_map(|tool| missing(tool)).map_or(Ok(()), |line| bail!("{line}"))
}

/// Leaves a step out where a tool, or the standard library of a platform, is missing.
pub(crate) fn need(what: &str, log: &mut Log) -> Result<()> {
    if what.starts_with("wasm32") {
        return require_wasi(what, log);
    }
    missing(what).map_or(Ok(()), |line| Err(NotRun(line).into()))
}

/// What is missing of a program, of `python3` with the module that makes environments, of `node` with npm, or of `clippy` with
/// rustfmt; and the line that installs it.
pub(crate) fn missing(tool: &str) -> Option<String> {
    match tool {
        "python3" => return missing_python(),
        "node" => return missing_node(),
        "clippy" => return missing_components(),
        // Visual Studio's compiler is found by cargo, and is on no path.
        "cc" if cfg!(windows) => return None,
        _ => {}
    }
    let (program, version, name, install) = PROGRAMS.into_iter().find(|(program, ..)| *program == tool)?;
    output(program, &[version]).is_none().then(|| format!("{name} is missing: {install}"))
}

fn missing_components() -> Option<String> {
    let there = || ["fmt", "clippy"].iter().all(|tool| output("cargo", &[tool, "--version"]).is_some());
    let add = || output("rustup", &["component", "add", "rustfmt", "clippy"]);
    (!there() && (add().is_none() || !there()))
        .then(|| "Rust's formatter or linter is missing: rustup component add rustfmt clippy".into())
}

fn missing_python() -> Option<String> {
    let version = output("python3", &["--version"]);
    if let Some(line) = too_old("Python", PYTHON, version.as_deref(), "apt-get install python3 python3-venv")
    {
        return Some(line);
    }
    // Debian ships the module without what fills a new environment.
    output("python3", &["-c", "import venv, ensurepip"])
        .is_none()
        .then(|| "Python's venv module is missing: apt-get install python3-venv".into())
}

fn missing_node() -> Option<String> {
    let version = output("node", &["--version"]);
    too_old(
        "Node",
        NODE,
        version.as_deref(),
        "apt-get install nodejs npm (Debian 13 or later), or see nodejs.org",
    )
    .or_else(|| output(NPM, &["--version"]).is_none().then(|| "npm is missing: apt-get install npm".into()))
}

/// The line to say where `found`, as the program prints it, is older than `needed` or not there.
fn too_old(name: &str, needed: (u32, u32), found: Option<&str>, install: &str) -> Option<String> {
    let (major, minor) = needed;
    match found {
        Some(found) if version_of(found).is_some_and(|version| version >= needed) => None,
        Some(found) => {
            Some(format!("{name} {major}.{minor} or later is needed, this is {}: {install}", found.trim()))
        }
        None => Some(format!("{name} is missing: {install}")),
    }
}

/// The first `major.minor` in what a program prints of its version.
pub(super) fn version_of(text: &str) -> Option<(u32, u32)> {
    let digits = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let mut parts = digits.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// What a program prints, where it is there and succeeds.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command: Command = command(program, Path::new("."));
    let output = command.args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
