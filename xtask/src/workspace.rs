//! Where things are, and commands as lines of text.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{Log, command};
use crate::setup::{Tool, Venv, npm};

/// Members of the workspace that other tools build and test: the modules of the hosts.
const MODULES: [&str; 7] = [
    "twindex-python",
    "twindex-node",
    "twindex-component",
    "twindex-component-client",
    "twindex-host-guest",
    "twindex-example-guest",
    "twindex-bench-guest",
];

/// The folders of this checkout.
pub(crate) struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// As cargo sees it, so that `CARGO_TARGET_DIR` and cargo's own configuration count.
    pub(crate) fn find() -> Result<Self> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let metadata = ["metadata", "--no-deps", "--format-version=1", "--offline"];
        let printed = Log::default().read(command("cargo", here).args(metadata))?;
        let metadata: serde_json::Value = serde_json::from_str(&printed).context("reading cargo metadata")?;
        let folder =
            |name| metadata[name].as_str().map(PathBuf::from).context("cargo metadata names no folder");
        Ok(Self { root: folder("workspace_root")?, target: folder("target_directory")? })
    }

    /// The top of the checkout.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A path from the top of the checkout.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
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

    /// The command of a line such as `A=1 cargo test`, in a folder of the checkout. `{target}` and `{root}` stand for folders,
    /// quotes keep spaces, and `venv:python` is a program of the virtual environment `target/venv`.
    pub(crate) fn command(&self, folder: &str, line: &str) -> Command {
        let folder = self.path(folder);
        let fill = |word: String| {
            word.replace("{target}", &self.target.to_string_lossy())
                .replace("{root}", &self.root.to_string_lossy())
        };
        let mut words = words(line).into_iter().map(fill).peekable();
        let mut variables = Vec::new();
        while let Some(word) = words.next_if(|word| is_variable(word)) {
            variables.extend(word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned())));
        }
        let program = words.next().unwrap_or_default();
        let mut command = match program.split_once(':') {
            Some((venv, name)) if venv.starts_with("venv") => {
                Venv::at(self.target(venv)).program(name, &folder)
            }
            _ if program == "npm" => npm(&folder, &[]),
            _ => command(program, &folder),
        };
        command.args(words).envs(variables);
        command
    }

    /// `cargo test` of all crates, of which the caller's arguments choose. It gives what they depend on one set of
    /// features, so that each dependency is compiled once. Without Redis those of clusters are left out.
    pub(crate) fn cargo_test(&self) -> Command {
        let mut cargo = self.command("", "cargo test --workspace");
        cargo.args(MODULES.map(|module| format!("--exclude={module}")));
        // The tool's `push` and `pull` are a feature of it.
        let has_servers = Tool::Redis.missing().is_none();
        cargo.arg(if has_servers { "--features=twindex-cli/cluster" } else { "--exclude=twindex-cluster" });
        cargo
    }
}

fn is_variable(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Words between spaces; what is between single quotes is one.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for (position, part) in line.split('\'').enumerate() {
        let mut pieces = if position % 2 == 0 { part.split(' ').collect() } else { vec![part] }.into_iter();
        if let (Some(first), Some(word)) = (pieces.next(), words.last_mut()) {
            word.push_str(first);
        }
        words.extend(pieces.map(str::to_owned));
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_variables_program_and_arguments() {
        let workspace = Workspace { root: "/top".into(), target: "/made".into() };
        let command = workspace
            .command("engine", "RUSTFLAGS='--cfg a --cfg b' B={target}/x cargo test a=b '' --test=y");
        assert_eq!(command.get_program(), "cargo");
        assert_eq!(command.get_args().collect::<Vec<_>>(), ["test", "a=b", "--test=y"]);
        assert_eq!(command.get_current_dir(), Some(Path::new("/top/engine")));
        let value =
            |name: &str| command.get_envs().find(|(one, _)| *one == name).and_then(|(_, value)| value);
        assert_eq!(value("RUSTFLAGS").unwrap(), "--cfg a --cfg b");
        assert_eq!(value("B").unwrap(), "/made/x");
        let python = workspace.command("", "venv-dist:python -m pip");
        assert!(Path::new(python.get_program()).starts_with("/made/venv-dist"));
    }
}
