//! Virtual environments.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{Log, command};
use crate::workspace::Workspace;

/// A virtual environment of Python.
pub(crate) struct Venv {
    folder: PathBuf,
}

impl Venv {
    /// The one in which the package is tested and measured.
    pub(crate) fn of_tests(workspace: &Workspace) -> Self {
        Self::at(workspace.target("venv"))
    }

    /// The one in `folder`, which need not be there yet.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Makes it where it is not there, or its Python has gone.
    pub(crate) fn make(&self, log: &mut Log) -> Result<()> {
        if self.python().exists() && log.run(command(self.python(), Path::new(".")).arg("--version")).is_ok()
        {
            return Ok(());
        }
        log.run(command("python3", Path::new(".")).args(["-m", "venv", "--clear"]).arg(&self.folder))
    }

    /// Its interpreter.
    pub(crate) fn python(&self) -> PathBuf {
        if cfg!(windows) { self.folder.join("Scripts/python.exe") } else { self.folder.join("bin/python") }
    }

    /// A module of it as a command that runs in `folder`.
    pub(crate) fn module(&self, name: &str, folder: &Path) -> Command {
        let mut command = command(self.python(), folder);
        command.args(["-m", name]);
        command
    }

    /// Installs what `arguments` name, as pip takes them.
    pub(crate) fn install(&self, folder: &Path, arguments: &[&str], log: &mut Log) -> Result<()> {
        let mut pip = self.module("pip", folder);
        pip.args(["install", "--disable-pip-version-check"]).args(arguments);
        log.run(&mut pip).with_context(|| format!("installing {}", arguments.join(" ")))
    }

    /// Installs the package from its sources, as a user would, with what its bench script needs.
    pub(crate) fn install_package(&self, workspace: &Workspace, log: &mut Log) -> Result<()> {
        self.install(workspace.root(), &["./bindings/python[bench]"], log)
    }
}
