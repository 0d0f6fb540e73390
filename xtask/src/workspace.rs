//! Where things are.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::run::{Log, command};

/// Members of the workspace that other tools build and test: the modules of the hosts.
const MODULES: [&str; 5] = [
    "twindex-python",
    "twindex-node",
    "twindex-component",
    "twindex-component-client",
    "twindex-bench-guest",
];

/// The folders of this checkout.
#[derive(Deserialize)]
pub(crate) struct Workspace {
    #[serde(rename = "workspace_root")]
    root: PathBuf,
    #[serde(rename = "target_directory")]
    target: PathBuf,
}

impl Workspace {
    /// As cargo sees it, so that `CARGO_TARGET_DIR` and cargo's own configuration count.
    pub(crate) fn find() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let metadata = Log::default().read(command("cargo", here).args([
            "metadata",
            "--no-deps",
            "--format-version=1",
            "--offline",
        ]))?;
        serde_json::from_str(&metadata).context("reading what cargo metadata says")
    }

    /// The top of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path from the top of the checkout.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// `cargo test` of all crates, of which the caller's arguments choose. It gives what they depend on one set of
    /// features, so that each dependency is compiled once.
    pub(crate) fn cargo_test(&self) -> Command {
        let mut cargo = command("cargo", &self.root);
        // The tool's `push` and `pull` are a feature of it.
        cargo.args(["test", "--workspace", "--features=twindex-cli/cluster"]);
        cargo.args(MODULES.map(|module| format!("--exclude={module}")));
        cargo
    }

    /// The build directory.
    pub(crate) fn build(&self) -> &Path {
        &self.target
    }

    /// A path in the build directory.
    pub(crate) fn target(&self, below: &str) -> PathBuf {
        self.target.join(below)
    }

    /// An empty folder in the build directory.
    pub(crate) fn empty_folder(&self, below: &str) -> Result<PathBuf> {
        let folder = self.target(below);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).with_context(|| format!("emptying {}", folder.display()))?;
        }
        std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        Ok(folder)
    }
}
