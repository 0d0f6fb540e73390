//! Virtual environments.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use anyhow::{Context, Result};

use crate::run::{Log, command, locked};
use crate::setup::tools::{PYTHON, output, version_of};
use crate::workspace::Workspace;

/// A virtual environment of Python.
pub(crate) struct Venv {
    folder: PathBuf,
    /// The interpreter that it is made of.
    base: PathBuf,
}

/// A Python that is installed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Interpreter {
    /// Such as `3.12`.
    pub(crate) version: String,
    program: PathBuf,
}

impl Interpreter {
    /// Those of other versions than the one that the package is tested under first, from 3.11 on: on the path and of
    /// pyenv. Where there is none, that one.
    pub(crate) fn others() -> Vec<Self> {
        let first = Self::at("python3".into());
        let names = (PYTHON.1..PYTHON.1 + 10).map(|minor| PathBuf::from(format!("python3.{minor}")));
        let mut found: Vec<Self> = names.chain(pyenv()).filter_map(Self::at).collect();
        found.sort_by_key(|one| version_of(&one.version));
        found.dedup_by(|one, other| one.version == other.version);
        found.retain(|one| first.as_ref().is_none_or(|first| one.version != first.version));
        if found.is_empty() { first.into_iter().collect() } else { found }
    }

    /// The one that the package is tested under first, and those of other versions.
    pub(crate) fn all() -> Vec<Self> {
        let first = Self::at("python3".into());
        let others = Self::others();
        first.into_iter().filter(|first| !others.contains(first)).chain(others.clone()).collect()
    }

    /// The interpreter that this program is, where it is one that can be used.
    fn at(program: PathBuf) -> Option<Self> {
        let usable = "import sys, venv, ensurepip; v = sys.version_info; print(f'{v[0]}.{v[1]}'); \
                      sys.exit(v.releaselevel != 'final' or sys.implementation.name != 'cpython')";
        let version = output(program.to_str()?, &["-c", usable])?.trim().to_owned();
        (version_of(&version)? >= PYTHON).then_some(Self { version, program })
    }
}

/// The interpreters that pyenv has installed for this user.
fn pyenv() -> Vec<PathBuf> {
    let root = std::env::var_os("PYENV_ROOT")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".pyenv")));
    let Some(versions) = root.and_then(|root| std::fs::read_dir(root.join("versions")).ok()) else {
        return Vec::new();
    };
    versions.flatten().map(|version| version.path().join("bin/python3")).collect()
}

impl Venv {
    /// The one in which the package is tested and measured.
    pub(crate) fn of_tests(workspace: &Workspace) -> Self {
        Self::at(workspace.target("venv"))
    }

    /// One of an interpreter in `folder`, which need not be there yet.
    pub(crate) fn with(interpreter: &Interpreter, folder: PathBuf) -> Self {
        Self { folder, base: interpreter.program.clone() }
    }

    /// The one in `folder`, which need not be there yet.
    pub(crate) fn at(folder: PathBuf) -> Self {
        Self { folder, base: "python3".into() }
    }

    /// Makes it where it is not there, or its Python has gone.
    pub(crate) fn make(&self, log: &mut Log) -> Result<()> {
        // Two jobs may want the same one, whose Python is there before its pip.
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _held = locked(&ONE_AT_A_TIME);
        if self.python().exists() && log.run(command(self.python(), Path::new(".")).arg("--version")).is_ok()
        {
            return Ok(());
        }
        log.run(command(&self.base, Path::new(".")).args(["-m", "venv", "--clear"]).arg(&self.folder))
    }

    /// Its interpreter.
    pub(crate) fn python(&self) -> PathBuf {
        if cfg!(windows) { self.folder.join("Scripts/python.exe") } else { self.folder.join("bin/python") }
    }

    /// A module of it as a command that runs in `folder`, and finds the environment's programs.
    pub(crate) fn module(&self, name: &str, folder: &Path) -> Command {
        let mut module = self.command(self.python(), folder);
        module.args(["-m", name]);
        module
    }

    /// A program that was installed in it, as such a command.
    pub(crate) fn program(&self, name: &str, folder: &Path) -> Command {
        self.command(self.python().with_file_name(format!("{name}{}", std::env::consts::EXE_SUFFIX)), folder)
    }

    fn command(&self, program: PathBuf, folder: &Path) -> Command {
        let mut command = command(program, folder);
        command.env("PIP_DISABLE_PIP_VERSION_CHECK", "1");
        let own = self.python().parent().map(Path::to_owned);
        let others = std::env::var_os("PATH").unwrap_or_default();
        if let Ok(path) = std::env::join_paths(own.into_iter().chain(std::env::split_paths(&others))) {
            command.env("PATH", path);
        }
        command
    }

    /// Installs what `arguments` name, as pip takes them.
    pub(crate) fn install(&self, folder: &Path, arguments: &[&str], log: &mut Log) -> Result<()> {
        let mut pip = self.module("pip", folder);
        pip.arg("install").args(arguments);
        log.run(&mut pip).with_context(|| format!("installing {}", arguments.join(" ")))
    }

    /// Installs a wheel in the place of another of the same version.
    pub(crate) fn reinstall(&self, wheel: &Path, log: &mut Log) -> Result<()> {
        self.install(Path::new("."), &["--no-deps", "--force-reinstall", &wheel.to_string_lossy()], log)
    }
}
