//! The newest Node, Deno and Bun, as npm has them.

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
    /// The newest that npm has: the tests run in the one that is installed here.
    Node,
    Deno,
    Bun,
}

impl Runtime {
    pub(crate) const ALL: [Self; 3] = [Self::Node, Self::Deno, Self::Bun];
    pub(crate) const BESIDE_NODE: [Self; 2] = [Self::Deno, Self::Bun];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Node => "the newest Node",
            Self::Deno => "Deno",
            Self::Bun => "Bun",
        }
    }

    /// The path of its program. There is none where npm has no package of it for this machine.
    pub(crate) fn find(self, workspace: &Workspace, log: &mut Log) -> Result<String> {
        let folder = &workspace.path("wasm/npm/test/runtimes");
        npm_ci(folder, log)?;
        let name = self.name();
        let program = log.read(command("node", folder).args(["find.mjs", self.word()]))?;
        if program.trim().is_empty() {
            let folder = folder.display();
            let lack =
                format!("npm has no {name} for this machine, or `npm ci` in {folder} could not fetch it");
            return Err(NotRun(lack).into());
        }
        Ok(program.trim().into())
    }

    /// What `find.mjs` calls it.
    fn word(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Deno => "deno",
            Self::Bun => "bun",
        }
    }

    /// What has it run a file of tests that may do all that a test may do in Node, and take as long.
    pub(crate) fn test(self) -> &'static [&'static str] {
        match self {
            Self::Node => &["--test"],
            Self::Deno => &["test", "--allow-all", "--no-check", "--reporter=dot"],
            Self::Bun => &["test", "--dots", "--timeout=600000"],
        }
    }

    /// Its own runner of tests, in `folder`, that may do all that a test may do in Node, and take as long.
    pub(crate) fn tests(self, folder: &Path, workspace: &Workspace, log: &mut Log) -> Result<Command> {
        let mut tests = command(self.find(workspace, log)?, folder);
        tests.args(self.test()).env("DENO_NO_UPDATE_CHECK", "1");
        Ok(tests)
    }
}
