//! Deno and Bun, as npm has them.

use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::run::{Log, command};
use crate::setup::npm_ci;
use crate::steps::NotRun;
use crate::workspace::Workspace;

/// A runtime of JavaScript beside Node.
#[derive(Clone, Copy)]
pub(crate) enum Runtime {
    Deno,
    Bun,
}

impl Runtime {
    pub(crate) const ALL: [Self; 2] = [Self::Deno, Self::Bun];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Deno => "Deno",
            Self::Bun => "Bun",
        }
    }

    /// The path of its program. There is none where npm has no package of it for this machine.
    pub(crate) fn find(self, workspace: &Workspace, log: &mut Log) -> Result<String> {
        let folder = &workspace.path("wasm/npm/test/runtimes");
        npm_ci(folder, log)?;
        let name = self.name();
        let program = log.read(command("node", folder).args(["find.mjs", &name.to_lowercase()]))?;
        if program.trim().is_empty() {
            let folder = folder.display();
            let lack =
                format!("npm has no {name} for this machine, or `npm ci` in {folder} could not fetch it");
            return Err(NotRun(lack).into());
        }
        Ok(program.trim().into())
    }

    /// Its own runner of tests, in `folder`, that may do all that a test may do in Node, and take as long.
    pub(crate) fn tests(self, folder: &Path, workspace: &Workspace, log: &mut Log) -> Result<Command> {
        let mut tests = command(self.find(workspace, log)?, folder);
        match self {
            Self::Deno => tests.args(["test", "--allow-all", "--no-check"]).env("DENO_NO_UPDATE_CHECK", "1"),
            Self::Bun => tests.args(["test", "--timeout=600000"]),
        };
        Ok(tests)
    }
}
