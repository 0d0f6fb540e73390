//! Where packages are made, and with what.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::build::fast;
use crate::run::{Log, command};
use crate::setup::Venv;
use crate::workspace::Workspace;

/// The crates, in the order in which they are published: each needs those before it.
pub(super) const CRATES: [&str; 5] =
    ["twindex", "twindex-codec", "twindex-durable", "twindex-cluster", "twindex-cli"];

/// The Python packages.
pub(super) const PYTHON: [&str; 2] = ["bindings/python", "bindings/python-cluster"];

/// What all steps need.
pub(super) struct Dist {
    pub(super) workspace: Workspace,
    /// Where what is published goes.
    pub(super) folder: PathBuf,
    /// The environment with zig and what checks Python packages.
    pub(super) tools: Venv,
    pub(super) quick: bool,
}

impl Dist {
    /// A program of the tools' environment.
    pub(super) fn tool(&self, name: &str, folder: &Path) -> Command {
        self.tools.program(name, folder)
    }

    /// Has a command that compiles do it in a hurry, where that was asked for.
    pub(super) fn paced(&self, command: Command) -> Command {
        if self.quick { fast(command) } else { command }
    }
}

/// All files in a folder, by name.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = std::fs::read_dir(folder)
        .with_context(|| format!("reading {}", folder.display()))?
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

pub(super) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// A folder with this name beside the others of a build, and an archive of it in `to`.
pub(super) fn archive(folder: &Path, name: &str, to: &Path, log: &mut Log) -> Result<()> {
    log.run(command("tar", folder).arg("-czf").arg(to.join(format!("{name}.tar.gz"))).arg(name))
}
