//! README.md, followed as a reader follows it, with this checkout in place of the registries.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checks::made::python::Package;
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::setup::{Venv, WasmTarget, npm};
use crate::steps::{Failed, Job, Steps};
use crate::workspace::Workspace;

/// The sections of the README that start with how to install and go on with lines that work.
const RUST: &str = "Rust";
const PYTHON: &str = "Python";
const NODE: &str = "Node";
const WASM: &str = "WebAssembly";

/// The most lines that a first example may have.
const LINES: usize = 10;

/// The start of a program of one's own, which is no member of the workspace around it.
const MANIFEST: &str = "[package]\nname = \"readme\"\nedition = \"2024\"\n\n[workspace]\n";

/// The variable that has everything built as a reader builds it.
pub(super) const WHOLE: &str = "TWINDEX_README";

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    vec![Box::new(|steps| {
        if std::env::var_os(WHOLE).is_some() {
            return follow(suite.workspace(), suite.wasm_target(steps)?, None, steps);
        }
        let Package { wheel, .. } = suite.python(steps)?;
        suite.node(steps)?;
        suite.wasm(steps)?;
        follow(suite.workspace(), suite.wasm_target(steps)?, Some(wheel), steps)
    })]
}

/// Follows every example. Where there is a wheel, the modules for Node and WebAssembly are in their folders too: they
/// are taken as they are, and each package is installed as far as it goes without compiling them again.
fn follow(
    workspace: &Workspace,
    target: WasmTarget,
    wheel: Option<&Path>,
    steps: &mut Steps,
) -> Result<(), Failed> {
    let examples = steps.must("readme: four examples", |_: &mut Log| {
        let path = workspace.path("README.md");
        let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        [RUST, PYTHON, NODE, WASM]
            .into_iter()
            .map(|host| Example::find(&text, host))
            .collect::<Result<Vec<_>>>()
    })?;
    let checkout = &steps.must("readme: clean copy", |log| {
        let copy = copy_checkout(workspace, log)?;
        if wheel.is_some() {
            give_modules(workspace, &copy, log)?;
        }
        Ok(copy)
    })?;
    for example in &examples {
        steps.check(&format!("readme: {}", example.host), |log| {
            let folder = workspace.empty_folder(&format!("readme/{}", example.host.to_lowercase()))?;
            let build = workspace.target("readme/build");
            Reader { example, checkout, build, folder, target, wheel }.follow(log)
        });
    }
    Ok(())
}

/// Lays what was built here where the copy's packages look for it: the Node package in the package for this platform, as
/// npm would have installed it.
fn give_modules(workspace: &Workspace, copy: &Path, log: &mut Log) -> Result<()> {
    let node = &workspace.path("bindings/node");
    let name = "import { platform } from './scripts/platform.js'; process.stdout.write(platform())";
    let platform = log.read(command("node", node).args(["--input-type=module", "--eval", name]))?;
    let modules = [
        ("bindings/node/twindex.node", format!("node_modules/@twindex/{platform}/twindex.node")),
        ("wasm/npm/twindex.wasm", "wasm/npm/twindex.wasm".into()),
        ("wasm/npm/twindex.fast.wasm", "wasm/npm/twindex.fast.wasm".into()),
    ];
    for (built, given) in modules {
        let built = workspace.path(built);
        let bytes = std::fs::read(&built).with_context(|| format!("reading {}", built.display()))?;
        write(&copy.join(given), &bytes)?;
    }
    Ok(())
}

/// The program in a section of the README.
pub(crate) fn program(workspace: &Workspace, host: &'static str) -> Result<String> {
    let path = workspace.path("README.md");
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    Example::find(&text, host).map(|example| example.program)
}

/// What a section of the README shows: how to install, and a program.
#[derive(Debug, PartialEq, Eq)]
struct Example {
    host: &'static str,
    install: String,
    program: String,
}

impl Example {
    fn find(readme: &str, host: &'static str) -> Result<Self> {
        let section = readme
            .split("\n### ")
            .find_map(|section| section.strip_prefix(host)?.strip_prefix('\n'))
            .with_context(|| format!("README.md has no section {host}"))?;
        let mut blocks = section.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n'));
        let mut next =
            || blocks.next().flatten().with_context(|| format!("section {host} has not two code blocks"));
        let ((_, install), (_, program)) = (next()?, next()?);
        let lines = program.lines().filter(|line| !line.is_empty()).count();
        ensure!(lines <= LINES, "the example of section {host} has {lines} lines, not {LINES}");
        Ok(Self { host, install: install.trim().into(), program: format!("{program}\n") })
    }

    /// The line that installs, with the package's folder in `checkout` where a registry would be asked.
    fn install(&self, checkout: &Path) -> Result<Vec<String>> {
        let (line, package, folder) = match self.host {
            RUST => ("cargo add twindex", "--path", "engine"),
            PYTHON => ("pip install twindex", "", "bindings/python"),
            NODE => ("npm install twindex", "", "bindings/node"),
            _ => ("npm install twindex-wasm", "", "wasm/npm"),
        };
        ensure!(self.install == line, "section {} does not install by `{line}`: {}", self.host, self.install);
        let folder = checkout.join(folder).display().to_string();
        Ok(match package {
            "" => vec!["install".into(), folder],
            option => vec!["add".into(), "twindex".into(), option.into(), folder],
        })
    }
}

/// An example as it is followed: in an empty folder, from a checkout as one gets it.
struct Reader<'a> {
    example: &'a Example,
    checkout: &'a Path,
    build: PathBuf,
    folder: PathBuf,
    target: WasmTarget,
    /// The Python package, where nothing is to be compiled that was compiled before.
    wheel: Option<&'a Path>,
}

impl Reader<'_> {
    fn follow(&self, log: &mut Log) -> Result<()> {
        match self.example.host {
            RUST => self.rust(log),
            PYTHON => self.python(log),
            _ => self.node(log),
        }
    }

    fn rust(&self, log: &mut Log) -> Result<()> {
        self.write("Cargo.toml", MANIFEST)?;
        self.write("src/main.rs", &self.example.program)?;
        let install = self.example.install(self.checkout)?;
        log.run(self.with_build(command("cargo", &self.folder).args(install)))?;
        log.run(self.with_build(command("cargo", &self.folder).args(["run", "--quiet"])))
    }

    fn python(&self, log: &mut Log) -> Result<()> {
        let venv = Venv::at(self.folder.join("venv"));
        venv.make(log)?;
        let install = self.example.install(self.checkout)?;
        // Without a build this finds the package and reads what it says of itself.
        let short = self.wheel.map(|_| "--dry-run");
        log.run(self.with_build(venv.module("pip", &self.folder).args(install).args(short)))?;
        if let Some(wheel) = self.wheel {
            venv.install(&self.folder, &[&wheel.display().to_string()], log)?;
        }
        let program = self.write("example.py", &self.example.program)?;
        log.run(command(venv.python(), &self.folder).arg(program))
    }

    fn node(&self, log: &mut Log) -> Result<()> {
        if self.example.host == WASM {
            // What is in the package when it is published, and not in a checkout.
            let package = &self.checkout.join("wasm/npm");
            log.run(&mut npm(package, &["ci"]))?;
            let build = if self.wheel.is_some() { "share" } else { "build" };
            log.run(self.with_build(self.target.apply(&mut npm(package, &["run", build]))))?;
        }
        let install = self.example.install(self.checkout)?;
        log.run(self.with_build(npm(&self.folder, &[]).args(install)))?;
        let program = self.write("example.mjs", &self.example.program)?;
        log.run(command("node", &self.folder).arg(program))
    }

    /// Keeps what is compiled of others for the next run. It cannot be the checkout's own build folder: to cargo
    /// the copy and the original are the same package there, and one would pass for the other.
    fn with_build<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("CARGO_TARGET_DIR", &self.build)
    }

    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let path = self.folder.join(name);
        write(&path, text.as_bytes())?;
        Ok(path)
    }
}

/// Copies the files that belong to the project, and nothing that was built from them.
fn copy_checkout(workspace: &Workspace, log: &mut Log) -> Result<PathBuf> {
    let copy = workspace.empty_folder("readme/twindex")?;
    let listed = log.read(command("git", workspace.root()).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    for name in listed.split_terminator('\0') {
        let from = workspace.path(name);
        if from.is_file() {
            write(&copy.join(name), &std::fs::read(&from)?)?;
        }
    }
    Ok(copy)
}

fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().context("a file lies in a folder")?;
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(path, bytes))
        .with_context(|| format!("writing {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const README: &str = "# T\n\n### Python\n\nFirst:\n\n```sh\npip install twindex\n```\n\n```python\nimport t\n\nt()\n```\n\n### Node\n\nnone\n";

    #[test]
    fn an_example_is_the_two_blocks_of_its_section() -> Result<()> {
        let example = Example::find(README, PYTHON)?;
        assert_eq!(example.install, "pip install twindex");
        assert_eq!(example.program, "import t\n\nt()\n");
        assert_eq!(example.install(Path::new("/top"))?, ["install", "/top/bindings/python"]);
        let other = Example { install: "pip install other".into(), ..example };
        assert!(other.install(Path::new("/top")).is_err());
        Ok(())
    }

    #[test]
    fn what_is_not_there_is_an_error() {
        assert!(Example::find(README, NODE).is_err());
        assert!(Example::find(README, WASM).is_err());
        let long = README.replace("import t", &"import t\n".repeat(LINES));
        assert!(Example::find(&long, PYTHON).is_err());
    }
}
