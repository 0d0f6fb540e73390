//! Installs what was made where nothing else is, without Rust on the path, and runs the README's examples and the test vectors.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::checks::readme;
use crate::run::{Log, command};
use crate::setup::{Interpreter, Runtime, Venv, npm};
use crate::steps::Steps;
use crate::workspace::Workspace;

/// What one downloads for a platform.
pub(crate) struct Files {
    pub(crate) wheels: Vec<PathBuf>,
    /// The npm packages but for the one of WebAssembly.
    pub(crate) npm: Vec<PathBuf>,
    pub(crate) wasm: Vec<PathBuf>,
}

/// The test of the vectors, and what it reads.
pub(super) const PYTHON_VECTORS: [&str; 2] =
    ["bindings/python/tests/test_vectors.py", "conformance/vectors.json"];
pub(super) const NODE_VECTORS: [&str; 2] = ["bindings/node/test/vectors.test.js", "conformance/vectors.json"];

/// The README's examples.
pub(crate) struct Examples {
    pub(crate) python: String,
    pub(crate) node: String,
    pub(crate) wasm: String,
}

impl Examples {
    pub(crate) fn read(workspace: &Workspace) -> Result<Self> {
        let program = |host| readme::program(workspace, host);
        Ok(Self { python: program("Python")?, node: program("Node")?, wasm: program("WebAssembly")? })
    }
}

/// Steps that rest on the files alone.
pub(crate) fn install(files: &Files, examples: &Examples, workspace: &Workspace, steps: &mut Steps) {
    for interpreter in Interpreter::all() {
        steps.check(&format!("install: Python {}", interpreter.version), |log| {
            python(&interpreter, files, examples, workspace, log)
        });
    }
    for (package, files, program) in
        [("twindex", &files.npm, &examples.node), ("twindex-wasm", &files.wasm, &examples.wasm)]
    {
        let step = format!("install: {package} from npm");
        let Ok(project) = steps.must(&step, |log| Project::install(package, files, program, workspace, log))
        else {
            continue;
        };
        steps.check(&format!("install: {package} in Node"), |log| project.run("node", &["--test"], log));
        for runtime in Runtime::ALL {
            steps.check(&format!("install: {package} in {}", runtime.name()), |log| {
                let program = runtime.find(workspace, log)?;
                project.run(&program, runtime.test(), log)
            });
        }
    }
}

fn python(
    interpreter: &Interpreter,
    files: &Files,
    examples: &Examples,
    workspace: &Workspace,
    log: &mut Log,
) -> Result<()> {
    let folder = &workspace.empty_folder(&format!("install/python-{}", interpreter.version))?;
    let venv = Venv::with(interpreter, folder.join("venv"));
    venv.make(log)?;
    let wheels: Vec<String> = files.wheels.iter().map(|wheel| wheel.display().to_string()).collect();
    let mut arguments = vec!["--no-index"];
    arguments.extend(wheels.iter().map(String::as_str));
    venv.install(folder, &arguments, log)?;
    let program = folder.join("example.py");
    std::fs::write(&program, &examples.python)?;
    let printed = log.read(without_rust(command(venv.python(), folder).arg(program)))?;
    ensure!(!printed.is_empty(), "the README's example printed nothing");
    log.run(without_rust(venv.module("twindex", folder).arg("--version")))?;
    let constraint =
        format!("--constraint={}", workspace.path("bindings/python/requirements-dev.txt").display());
    venv.install(folder, &[&constraint, "pytest"], log)?;
    let tests = copy_tests(folder, &PYTHON_VECTORS, workspace)?;
    log.run(without_rust(
        venv.module("pytest", folder).args(["--quiet", "-p", "no:cacheprovider"]).arg(tests),
    ))
}

/// A folder of npm with one package, and programs that use it.
struct Project {
    folder: PathBuf,
    example: PathBuf,
    vectors: PathBuf,
}

impl Project {
    fn install(
        package: &str,
        files: &[PathBuf],
        example: &str,
        workspace: &Workspace,
        log: &mut Log,
    ) -> Result<Self> {
        let folder = workspace.empty_folder(&format!("install/{package}"))?;
        std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
        // The packages of other platforms are in no registry yet.
        let flags = ["install", "--offline", "--omit=optional", "--omit=peer"];
        log.run(without_rust(npm(&folder, &flags).args(files)))?;
        if package == "twindex" {
            let version = log.read(without_rust(&mut npm(
                &folder,
                &["exec", "--offline", "twindex", "--", "--version"],
            )))?;
            ensure!(version.starts_with("twindex "), "npx twindex --version printed {version}");
        } else {
            // The vectors' test takes the classes of an instance for the package `twindex`.
            let alias = folder.join("node_modules/twindex");
            std::fs::create_dir_all(&alias)?;
            std::fs::write(alias.join("package.json"), r#"{ "type": "module", "exports": "./twindex.js" }"#)?;
            let classes = workspace.path("wasm/npm/test/shared/twindex.js");
            std::fs::copy(&classes, alias.join("twindex.js")).context("copying the classes")?;
        }
        let vectors = copy_tests(&folder, &NODE_VECTORS, workspace)?;
        let path = folder.join("example.mjs");
        std::fs::write(&path, example)?;
        Ok(Self { folder, example: path, vectors })
    }

    /// Runs the example and the vectors in a runtime.
    fn run(&self, runtime: &str, test: &[&str], log: &mut Log) -> Result<()> {
        let run = |words: &[&str], file: &Path| {
            let mut run = command(runtime, &self.folder);
            run.args(words).arg(file).env("DENO_NO_UPDATE_CHECK", "1");
            without_rust(&mut run);
            run
        };
        let allowed: &[&str] = if test.contains(&"--allow-all") { &["run", "--allow-all"] } else { &[] };
        let printed = log.read(&mut run(allowed, &self.example))?;
        ensure!(!printed.is_empty(), "the README's example printed nothing");
        log.run(&mut run(test, &self.vectors))
    }
}

/// Copies files to where they are in the checkout, so that the first finds the others.
pub(super) fn copy_tests(folder: &Path, names: &[&str], workspace: &Workspace) -> Result<PathBuf> {
    for name in names {
        let to = folder.join(name);
        std::fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        std::fs::copy(workspace.path(name), &to).with_context(|| format!("copying {name}"))?;
    }
    Ok(folder.join(names[0]))
}

/// Takes every folder that has Rust from the path of a command.
fn without_rust(command: &mut Command) -> &mut Command {
    let own = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
    let path = own.map_or_else(|| std::env::var_os("PATH").unwrap_or_default(), OsString::from);
    let has_rust = |folder: &PathBuf| {
        ["cargo", "rustc"]
            .iter()
            .any(|tool| folder.join(format!("{tool}{}", std::env::consts::EXE_SUFFIX)).exists())
    };
    let others = std::env::split_paths(&path).filter(|folder| !has_rust(folder));
    match std::env::join_paths(others) {
        Ok(others) => command.env("PATH", others),
        Err(_) => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_is_not_on_the_path_of_what_was_installed() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(format!("cargo{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
        let path = std::env::join_paths([folder.path(), Path::new("/kept")]).unwrap();
        let mut command = Command::new("x");
        without_rust(command.env("PATH", path));
        let (_, kept) = command.get_envs().next().unwrap();
        assert_eq!(kept, Some(Path::new("/kept").as_os_str()));
    }
}
