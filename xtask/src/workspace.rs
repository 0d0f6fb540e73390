//! Where things are, and commands as lines of text.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{Log, command};
use crate::setup::{Instrument, Venv, missing, need, npm, npm_ci};

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
    /// `{crates}` for the words by which cargo tests all crates, quotes keep spaces, and `venv:python` is a program of the virtual environment `target/venv`.
    pub(crate) fn command(&self, folder: &str, line: &str) -> Command {
        let folder = self.path(folder);
        let fill = |word: String| {
            word.replace("{target}", &self.target.to_string_lossy())
                .replace("{root}", &self.root.to_string_lossy())
        };
        let line = if line.contains("{crates}") { &line.replace("{crates}", &Self::crates()) } else { line };
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

    /// Runs lines that stand between `&&`, with these variables. `asan:cargo`, `tsan:cargo` and `miri:cargo` are cargo under an
    /// [`Instrument`]; an environment is made first; `npm ci FOLDER` is left out where it would change nothing; `need go` leaves the
    /// step out without that program.
    pub(crate) fn run(
        &self,
        folder: &str,
        lines: &str,
        variables: &[(&str, &str)],
        log: &mut Log,
    ) -> Result<()> {
        for line in lines.split(" && ") {
            if let Some(what) = line.strip_prefix("need ") {
                need(what, log)?;
                continue;
            }
            if let Some(from) = line.strip_prefix("npm ci") {
                npm_ci(&self.path(folder).join(from.trim()), log)?;
                continue;
            }
            let is_venv = |word: &&str| word.starts_with("venv") && word.contains(':');
            if let Some((venv, _)) = line.split(' ').find(is_venv).and_then(|word| word.split_once(':')) {
                Venv::at(self.target(venv)).make(log)?;
            }
            let (instrument, line) = Instrument::of(line);
            let mut command = self.command(folder, &line);
            command.envs(variables.iter().copied());
            match instrument {
                Some(instrument) => instrument.run(&mut command, self, log)?,
                None => log.run(&mut command)?,
            }
        }
        Ok(())
    }

    /// The words by which cargo tests all crates, of which further words choose. They give what those depend on one set of
    /// features, so that each dependency is compiled once. Without Redis the crates of clusters are left out.
    fn crates() -> String {
        // The tool's `push` and `pull` are a feature of it.
        let has_servers = missing("redis-server").is_none();
        let clusters =
            if has_servers { "--features=twindex-cli/cluster" } else { "--exclude=twindex-cluster" };
        MODULES
            .iter()
            .fold(format!("--workspace {clusters}"), |words, module| format!("{words} --exclude={module}"))
    }
}

/// The rows of a table: a name, a folder of the checkout, and lines as [`Workspace::run`] takes them.
pub(crate) fn rows(table: &str) -> impl Iterator<Item = (&str, &str, &str)> {
    table.lines().filter_map(|row| {
        let (name, rest) = row.split_once(" | ")?;
        let (folder, lines) = rest.split_once(" | ")?;
        Some((name, folder, lines))
    })
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
