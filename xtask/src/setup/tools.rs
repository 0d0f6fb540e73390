//! The tools that a system package brings: where one is missing, the one line that installs it.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::command;

/// The oldest Python that the bindings are built for.
pub(super) const PYTHON: (u32, u32) = (3, 11);
/// The oldest Node that has the Node-API version that the bindings use and a test runner.
const NODE: (u32, u32) = (20, 0);

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
    /// What Twindex is measured beside.
    Redis,
    /// Shows pages to tests.
    Browser,
}

/// Stops with one line where a tool is missing.
pub(crate) fn require(tools: &[Tool]) -> Result<()> {
    for tool in tools {
        if let Some(line) = tool.missing() {
            bail!("{line}");
        }
    }
    Ok(())
}

impl Tool {
    /// What is missing, and the line that installs it.
    pub(crate) fn missing(self) -> Option<String> {
        match self {
            Self::C => (!works("cc", &["--version"]))
                .then(|| "A C compiler is missing: apt-get install build-essential".into()),
            Self::Git => {
                (!works("git", &["--version"])).then(|| "Git is missing: apt-get install git".into())
            }
            Self::RustComponents => (!works("cargo", &["fmt", "--version"])
                || !works("cargo", &["clippy", "--version"]))
            .then(|| "Rust's formatter or linter is missing: rustup component add rustfmt clippy".into()),
            Self::Python => missing_python(),
            Self::Node => missing_node(),
            Self::Redis => (!works("redis-server", &["--version"]))
                .then(|| "Redis is missing: apt-get install redis-server".into()),
            Self::Browser => (!works("chromium", &["--version"]))
                .then(|| "Chromium is missing: apt-get install chromium".into()),
        }
    }
}

fn missing_python() -> Option<String> {
    let version = output("python3", &["--version"]);
    if let Some(line) = too_old("Python", PYTHON, version.as_deref(), "apt-get install python3 python3-venv")
    {
        return Some(line);
    }
    // Debian ships the module without what fills a new environment.
    (!works("python3", &["-c", "import venv, ensurepip"]))
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
    .or_else(|| (!works("npm", &["--version"])).then(|| "npm is missing: apt-get install npm".into()))
}

/// The line to say where `found`, as the program prints it, is older than `needed` or not there.
fn too_old(name: &str, needed: (u32, u32), found: Option<&str>, install: &str) -> Option<String> {
    let (major, minor) = needed;
    let wanted = if minor == 0 { format!("{name} {major}") } else { format!("{name} {major}.{minor}") };
    match found {
        Some(found) if version_of(found).is_some_and(|version| version >= needed) => None,
        Some(found) => Some(format!("{wanted} or later is needed, this is {}: {install}", found.trim())),
        None => Some(format!("{name} is missing: {install}")),
    }
}

/// The first `major.minor` in what a program prints of its version.
pub(super) fn version_of(text: &str) -> Option<(u32, u32)> {
    let digits = &text[text.find(|c: char| c.is_ascii_digit())?..];
    let mut parts = digits.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

pub(crate) fn works(program: &str, arguments: &[&str]) -> bool {
    output(program, arguments).is_some()
}

/// What a program prints, where it is there and succeeds.
pub(crate) fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let mut command: Command = command(program, Path::new("."));
    let output = command.args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_as_programs_print_them() {
        assert_eq!(version_of("Python 3.11.7\n"), Some((3, 11)));
        assert_eq!(version_of("v20.20.2"), Some((20, 20)));
        assert_eq!(version_of("3.13.0rc1+"), Some((3, 13)));
        assert_eq!(version_of("no number"), None);
        assert_eq!(version_of("7"), None);
    }

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(too_old("Python", PYTHON, Some("Python 3.11.0"), "x"), None);
        assert_eq!(too_old("Node", NODE, Some("v100.0.0"), "x"), None);
        assert_eq!(
            too_old("Python", PYTHON, Some("Python 3.9.2\n"), "apt-get install python3").as_deref(),
            Some("Python 3.11 or later is needed, this is Python 3.9.2: apt-get install python3")
        );
        assert_eq!(
            too_old("Node", NODE, None, "apt-get install nodejs").as_deref(),
            Some("Node is missing: apt-get install nodejs")
        );
    }
}
