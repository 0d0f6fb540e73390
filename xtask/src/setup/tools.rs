//! The tools that a system package brings: where one is missing, the one line that installs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::command;
use crate::setup::node::NPM;
use crate::steps::NotRun;

/// The oldest Python that the bindings are built for.
pub(super) const PYTHON: (u32, u32) = (3, 11);
/// The oldest Node that has the Node-API version that the bindings use and a test runner.
const NODE: (u32, u32) = (20, 19);

/// What some room cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// Links every Rust program.
    C,
    /// Knows which files belong to the project.
    Git,
    /// `cargo fmt` and `cargo clippy`.
    RustComponents,
    /// Python, and its module that makes virtual environments.
    Python,
    /// Node and npm.
    Node,
    /// Servers for the cluster's tests and the benches.
    Redis,
    Valkey,
    /// Chromium, for tests in a browser.
    Browser,
    /// The examples in other languages.
    Go,
    Maven,
}

/// Stops with one line where a tool is missing.
pub(crate) fn require(tools: &[Tool]) -> Result<()> {
    tools.iter().find_map(|tool| tool.missing()).map_or(Ok(()), |line| bail!("{line}"))
}

/// Leaves a step out where a tool is missing.
pub(crate) fn need(tool: Tool) -> Result<()> {
    tool.missing().map_or(Ok(()), |line| Err(NotRun(line).into()))
}

impl Tool {
    /// What is missing, and the line that installs it.
    pub(crate) fn missing(self) -> Option<String> {
        let (program, version, name, install) = match self {
            Self::Python => return missing_python(),
            Self::Node => return missing_node(),
            Self::RustComponents => return missing_components(),
            // Visual Studio's compiler is found by cargo, and is on no path.
            Self::C if cfg!(windows) => return None,
            Self::C => ("cc", "--version", "A C compiler", "apt-get install build-essential"),
            Self::Git => ("git", "--version", "Git", "apt-get install git"),
            Self::Redis => ("redis-server", "--version", "Redis", "apt-get install redis-server"),
            Self::Valkey => ("valkey-server", "--version", "Valkey", "apt-get install valkey-server"),
            Self::Browser => ("chromium", "--version", "Chromium", "apt-get install chromium"),
            Self::Go => ("go", "version", "Go", "apt-get install golang-go"),
            Self::Maven => ("mvn", "--version", "Maven", "apt-get install maven"),
        };
        output(program, &[version]).is_none().then(|| format!("{name} is missing: {install}"))
    }
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
