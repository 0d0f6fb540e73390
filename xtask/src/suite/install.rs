//! What is published, installed where nothing else is, without Rust on the path: the README's examples and the test vectors
//! run there. `cargo xtask dist` does the same with what it made for this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::shared::Suite;
use crate::packages;
use crate::run::{Log, command};
use crate::setup::{Interpreter, Runtime, Venv, npm};
use crate::steps::{Job, Steps, checks};
use crate::workspace::Workspace;

/// The most lines that a first example may have.
const LINES: usize = 10;

/// Each test of the vectors, and what it reads.
const PYTHON_VECTORS: [&str; 3] =
    ["bindings/python/tests/test_vectors.py", "bindings/python/tests/support.py", "conformance/vectors.json"];
const NODE_VECTORS: [&str; 3] =
    ["bindings/node/test/vectors.test.js", "conformance/vectors.js", "conformance/vectors.json"];

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    let wheel: Job<'_> = Box::new(|steps| {
        let wheels = &[suite.python(steps)?.to_owned()];
        install_wheels(wheels, suite, steps);
        Ok(())
    });
    let native: Job<'_> = Box::new(|steps| {
        suite.node(steps)?;
        let files = steps.must("dist: npm package", |log| {
            let folder = suite.empty_folder("dist-test/native")?;
            packages::pack(suite, "bindings/node", &[], &folder, log)?;
            packages::check_npm(suite, &folder, log)?;
            packages::files(&folder, "")
        })?;
        install_npm("twindex", "Node", &files, suite, steps);
        Ok(())
    });
    let wasm: Job<'_> = Box::new(|steps| {
        suite.wasm(steps)?;
        let files = steps.must("dist: npm package for WebAssembly", |log| {
            let folder = suite.empty_folder("dist-test/wasm")?;
            log.run(npm(&suite.path("wasm/npm"), &["pack", "--pack-destination"]).arg(&folder))?;
            packages::check_npm(suite, &folder, log)?;
            packages::files(&folder, "")
        })?;
        install_npm("twindex-wasm", "WebAssembly", &files, suite, steps);
        Ok(())
    });
    let crates = checks(|steps| {
        // Their tests compiled what is in them.
        let package = packages::crates("cargo package --no-verify --allow-dirty --locked");
        steps.rows(suite, &format!("dist: crates | . | {package}"));
        steps.check("dist: the README's example in Rust", |log| {
            let folder = suite.empty_folder("install/rust/src")?;
            let folder = folder.parent().context("a folder above")?;
            let manifest = "[package]\nname = \"readme\"\nedition = \"2024\"\n\n[workspace]\n";
            std::fs::write(folder.join("Cargo.toml"), manifest)?;
            std::fs::copy(suite.path("Cargo.lock"), folder.join("Cargo.lock"))?;
            std::fs::write(folder.join("src/main.rs"), example(suite, "Rust", "cargo add twindex")?)?;
            let add = ["add", "twindex", "--path"];
            log.run(command("cargo", folder).args(add).arg(suite.path("engine")))?;
            log.run(
                command("cargo", folder).arg("run").env("CARGO_TARGET_DIR", suite.target("install/build")),
            )
        });
    });
    vec![wheel, native, wasm, crates]
}

/// Follows the README from a clean copy of the checkout, with every package built as a reader builds it.
pub(crate) fn reader(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let copy = workspace.empty_folder("reader/twindex")?;
    log.run(workspace.command("", "git clone --quiet --no-hardlinks .").arg(&copy))?;
    let run = |folder: &Path, line: &str, log: &mut Log| {
        let mut command = workspace.command("", line);
        log.run(command.current_dir(folder).env("CARGO_TARGET_DIR", workspace.target("reader/build")))
    };
    let home = workspace.empty_folder("reader/home")?;
    std::fs::write(home.join("package.json"), "{ \"private\": true }\n")?;
    Venv::at(workspace.target("venv-reader")).make(log)?;
    let page = std::fs::read_to_string(copy.join("docs/install.md")).context("reading docs/install.md")?;
    let lines: Vec<_> = page.lines().filter(|line| line.contains(" ../twindex/")).collect();
    ensure!(lines.len() > 5, "docs/install.md installs by path with {} commands", lines.len());
    for line in lines {
        let line = line.split('#').next().unwrap_or_default().trim();
        // The suite builds the tool and the packages for clusters; `cargo add` needs a package here.
        if line.starts_with("pip ") || (line.starts_with("npm ") && !line.contains("cluster")) {
            run(&home, &line.replacen("pip ", "venv-reader:python -m pip ", 1), log)?;
        }
    }
    for (host, install, program, file) in [
        ("Python", "pip install twindex", "venv-reader:python", "example.py"),
        ("Node", "npm install twindex", "node", "node.mjs"),
        ("WebAssembly", "npm install twindex-wasm", "node", "wasm.mjs"),
    ] {
        std::fs::write(home.join(file), example(workspace, host, install)?)?;
        run(&home, &format!("{program} {file}"), log)?;
    }
    Ok(())
}

/// The program in a section of the README, which says before how to install.
fn example(workspace: &Workspace, host: &str, install: &str) -> Result<String> {
    let readme = std::fs::read_to_string(workspace.path("README.md")).context("reading README.md")?;
    example_in(&readme, host, install)
}

fn example_in(readme: &str, host: &str, install: &str) -> Result<String> {
    let section = readme
        .split("\n### ")
        .find_map(|section| section.strip_prefix(host)?.strip_prefix('\n'))
        .with_context(|| format!("README.md has no section {host}"))?;
    let mut blocks = section.split("\n```").skip(1).step_by(2).map(|block| block.split_once('\n'));
    let mut next =
        || blocks.next().flatten().with_context(|| format!("section {host} has not two code blocks"));
    let ((_, installed), (_, program)) = (next()?, next()?);
    ensure!(
        installed.trim() == install,
        "section {host} installs by `{}`, not `{install}`",
        installed.trim()
    );
    let lines = program.lines().filter(|line| !line.is_empty()).count();
    ensure!(lines <= LINES, "the example of section {host} has {lines} lines, more than {LINES}");
    Ok(format!("{program}\n"))
}

/// Steps that rest on the wheels alone.
pub(crate) fn install_wheels(wheels: &[PathBuf], workspace: &Workspace, steps: &mut Steps) {
    for interpreter in Interpreter::all() {
        let name = format!("dist: install in Python {}", interpreter.version);
        steps.check(&name, |log| in_python(&interpreter, wheels, workspace, log));
    }
}

/// Steps that rest on the files of an npm package alone; `host` is its section of the README.
pub(crate) fn install_npm(
    package: &str,
    host: &str,
    files: &[PathBuf],
    workspace: &Workspace,
    steps: &mut Steps,
) {
    let name = format!("dist: install {package}");
    let Ok(folder) = steps.must(&name, |log| project(package, files, host, workspace, log)) else { return };
    let run = |program: &str, runtime: Runtime, log: &mut Log| {
        for file in ["example.mjs", NODE_VECTORS[0]] {
            let is_test = file == NODE_VECTORS[0];
            // They take Deno half a minute, and it runs those of the checkout.
            if is_test && runtime == Runtime::Deno {
                continue;
            }
            let mut run = command(program, &folder);
            run.args(runtime.words(is_test)).arg(folder.join(file)).env("DENO_NO_UPDATE_CHECK", "1");
            log.run(without_rust(&mut run))?;
        }
        Ok(())
    };
    steps.check(&format!("dist: {package} in Node"), |log| run("node", Runtime::Node, log));
    for runtime in Runtime::ALL {
        steps.check(&format!("dist: {package} in npm's {}", runtime.name()), |log| {
            run(&runtime.find(workspace, log)?, runtime, log)
        });
    }
}

fn in_python(
    interpreter: &Interpreter,
    wheels: &[PathBuf],
    workspace: &Workspace,
    log: &mut Log,
) -> Result<()> {
    let folder = &workspace.empty_folder(&format!("install/python-{}", interpreter.version))?;
    let venv = Venv::with(interpreter, folder.join("venv"));
    venv.make(log)?;
    let wheels: Vec<_> = wheels.iter().map(|wheel| wheel.to_string_lossy()).collect();
    let arguments: Vec<&str> =
        std::iter::once("--no-index").chain(wheels.iter().map(|wheel| &**wheel)).collect();
    venv.install(folder, &arguments, log)?;
    std::fs::write(folder.join("example.py"), example(workspace, "Python", "pip install twindex")?)?;
    let printed = log.read(without_rust(command(venv.python(), folder).arg("example.py")))?;
    ensure!(!printed.is_empty(), "the README's example printed nothing");
    log.run(without_rust(venv.module("twindex", folder).arg("--version")))?;
    let constraint = workspace.path("bindings/python/requirements-dev.txt");
    venv.install(folder, &[&format!("--constraint={}", constraint.display()), "pytest"], log)?;
    copy_tests(folder, &PYTHON_VECTORS, workspace)?;
    let pytest = ["--quiet", "-p", "no:cacheprovider", PYTHON_VECTORS[0]];
    log.run(without_rust(venv.module("pytest", folder).args(pytest)))
}

/// A folder of npm with one package, the README's example and the vectors.
fn project(
    package: &str,
    files: &[PathBuf],
    host: &str,
    workspace: &Workspace,
    log: &mut Log,
) -> Result<PathBuf> {
    let folder = workspace.empty_folder(&format!("install/{package}"))?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    // The packages of other platforms are in no registry yet.
    let flags = ["install", "--offline", "--omit=optional", "--omit=peer"];
    log.run(without_rust(npm(&folder, &flags).args(files)))?;
    if package == "twindex" {
        let exec = ["exec", "--offline", "twindex", "--", "--version"];
        let version = log.read(without_rust(&mut npm(&folder, &exec)))?;
        ensure!(version.starts_with("twindex "), "npx twindex --version printed {version}");
    } else {
        // The vectors' test takes the classes of an instance for the package `twindex`.
        let alias = folder.join("node_modules/twindex");
        std::fs::create_dir_all(&alias)?;
        std::fs::write(alias.join("package.json"), r#"{ "type": "module", "exports": "./twindex.js" }"#)?;
        let classes = workspace.path("wasm/npm/test/shared/twindex.js");
        std::fs::copy(&classes, alias.join("twindex.js")).context("copying the classes")?;
    }
    copy_tests(&folder, &NODE_VECTORS, workspace)?;
    std::fs::write(folder.join("example.mjs"), example(workspace, host, &format!("npm install {package}"))?)?;
    Ok(folder)
}

/// Copies files to where they are in the checkout, so that the first finds the others.
fn copy_tests(folder: &Path, names: &[&str], workspace: &Workspace) -> Result<()> {
    for name in names {
        let to = folder.join(name);
        std::fs::create_dir_all(to.parent().context("a file lies in a folder")?)?;
        std::fs::copy(workspace.path(name), &to).with_context(|| format!("copying {name}"))?;
    }
    Ok(())
}

/// Takes every folder that has Rust from the path of a command.
fn without_rust(command: &mut Command) -> &mut Command {
    let own = command.get_envs().find(|(name, _)| *name == "PATH").and_then(|(_, value)| value);
    let path = own.map_or_else(|| std::env::var_os("PATH").unwrap_or_default(), OsString::from);
    let program = |tool: &str| format!("{tool}{}", std::env::consts::EXE_SUFFIX);
    let has_rust =
        |folder: &PathBuf| ["cargo", "rustc"].iter().any(|tool| folder.join(program(tool)).exists());
    match std::env::join_paths(std::env::split_paths(&path).filter(|folder| !has_rust(folder))) {
        Ok(others) => command.env("PATH", others),
        Err(_) => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn example_is_the_second_block_of_its_section() {
        let readme = "# T\n\n### Python\n\nFirst:\n\n```sh\npip install t\n```\n\n```python\nimport t\n\nt()\n```\n\n### Node\n\nnone\n";
        assert_eq!(example_in(readme, "Python", "pip install t").unwrap(), "import t\n\nt()\n");
        assert!(example_in(readme, "Python", "pip install other").is_err());
        assert!(example_in(readme, "Node", "").is_err() && example_in(readme, "Rust", "").is_err());
        let long = readme.replace("import t", &"import t\n".repeat(LINES));
        assert!(example_in(&long, "Python", "pip install t").is_err());
    }

    #[test]
    fn rust_is_not_on_the_path_of_installed_programs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(format!("cargo{}", std::env::consts::EXE_SUFFIX)), "").unwrap();
        let path = std::env::join_paths([folder.path(), Path::new("/kept")]).unwrap();
        let mut command = Command::new("x");
        without_rust(command.env("PATH", path));
        let (_, kept) = command.get_envs().next().unwrap();
        assert_eq!(kept, Some(Path::new("/kept").as_os_str()));
    }
}
