//! Node packages and runtimes.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::time::SystemTime;

use anyhow::Result;

use crate::run::{Log, command, locked};
use crate::steps::NotRun;
use crate::workspace::Workspace;

pub(super) const NPM: &str = if cfg!(windows) { "npm.cmd" } else { "npm" };

/// npm as a command that runs in `folder`.
pub(crate) fn npm(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(NPM, folder);
    command.args(arguments);
    command
}

/// Installs what the lock file of `folder` names, unless that was done since it last changed. The script that would build our
/// own native module is left out: a step of its own does that.
pub(crate) fn npm_ci(folder: &Path, log: &mut Log) -> Result<()> {
    // Two jobs may want the same folder.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = locked(&ONE);
    // npm writes this file last.
    let installed = modified(&folder.join("node_modules/.package-lock.json"));
    let wanted = modified(&folder.join("package-lock.json")).max(modified(&folder.join("package.json")));
    if installed.is_some() && installed >= wanted {
        log.note(&format!("{} has its packages", folder.display()));
        return Ok(());
    }
    let is_crate = folder.join("Cargo.toml").exists();
    log.run(npm(folder, &["ci"]).args(is_crate.then_some("--ignore-scripts")))
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}

/// A runtime of JavaScript, as npm has it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runtime {
    /// The newest that npm has: the tests run in the one that is installed here.
    Node,
    Deno,
    Bun,
    /// Cloudflare's. It runs no tests of ours by itself; those of the package start it.
    Workerd,
}

impl Runtime {
    pub(crate) const ALL: [Self; 3] = [Self::Node, Self::Deno, Self::Bun];
    pub(crate) const BESIDE_NODE: [Self; 2] = [Self::Deno, Self::Bun];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Bun => "bun",
            Self::Workerd => "workerd",
        }
    }

    /// The path of its program. There is none where npm has no package of it for this machine.
    pub(crate) fn find(self, workspace: &Workspace, log: &mut Log) -> Result<String> {
        let folder = &workspace.path("wasm/npm/test/runtimes");
        npm_ci(folder, log)?;
        let program = log.read(command("node", folder).args(["find.mjs", self.name()]))?;
        if program.trim().is_empty() {
            let (name, folder) = (self.name(), folder.display());
            let lack =
                format!("npm has no {name} for this machine, or `npm ci` in {folder} could not fetch it");
            return Err(NotRun(lack).into());
        }
        Ok(program.trim().into())
    }

    /// The words after which it runs a program, or a file of tests, with all permissions and without a limit of time.
    pub(crate) fn words(self, tests: bool) -> &'static [&'static str] {
        match (self, tests) {
            (Self::Deno, false) => &["run", "--allow-all"],
            (_, false) => &[],
            // The default reporter hides the code or signal by which a file of tests ended.
            (Self::Node, true) => &["--test", "--test-reporter=tap"],
            (Self::Workerd, true) => &["test"],
            (Self::Deno, true) => &["test", "--allow-all", "--no-check", "--reporter=dot"],
            (Self::Bun, true) => &["test", "--dots", "--timeout=600000"],
        }
    }

    /// Its own runner of tests, in `folder`.
    pub(crate) fn tests(self, folder: &Path, workspace: &Workspace, log: &mut Log) -> Result<Command> {
        let mut tests = command(self.find(workspace, log)?, folder);
        tests.args(self.words(true)).env("DENO_NO_UPDATE_CHECK", "1");
        Ok(tests)
    }
}
