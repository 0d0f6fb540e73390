//! Makes what is published, for this platform: the crates, the Python and npm packages, the command-line tool, the component, and
//! their checksums.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};

use crate::build::require_tools;
use crate::run::{Log, command};
use crate::setup::{Venv, WasmTarget, npm, npm_ci, npm_ci_unbuilt};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// In the order in which they are published: each needs those before it.
const CRATES: [&str; 5] = ["twindex", "twindex-codec", "twindex-durable", "twindex-cluster", "twindex-cli"];

/// Makes all of it, in `target/dist`.
pub(crate) fn run() -> Result<ExitCode> {
    require_tools()?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    let folder = workspace.empty_folder("dist")?;
    let made = make(&workspace, &folder, &mut steps);
    println!("{}", steps.summary());
    if made.is_err() {
        return Ok(ExitCode::FAILURE);
    }
    println!("All of it is in {}", folder.display());
    Ok(ExitCode::SUCCESS)
}

fn make(workspace: &Workspace, folder: &Path, steps: &mut Steps) -> Result<(), Failed> {
    steps.must("dist: crates", |log| crates(workspace, folder, log))?;
    steps.must("dist: Python", |log| python(workspace, folder, log))?;
    steps.must("dist: npm, native", |log| node(workspace, folder, log))?;
    let target = steps.must("set up: Rust for WebAssembly", WasmTarget::find)?;
    steps.must("dist: npm and component, WebAssembly", |log| wasm(workspace, target, folder, log))?;
    steps.must("dist: command-line tool", |log| tool(workspace, folder, log))?;
    steps.must("dist: checksums", |_| checksums(folder))
}

/// As `cargo publish` would upload them.
fn crates(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    let mut cargo = command("cargo", workspace.root());
    // Each is compiled by the tests; from the archive it could be only once those before it are in the registry.
    cargo.args(["package", "--locked", "--no-verify"]);
    log.run(cargo.args(CRATES.map(|name| format!("--package={name}"))))?;
    for name in CRATES {
        let file = format!("{name}-{}.crate", env!("CARGO_PKG_VERSION"));
        copy(&workspace.target("package").join(&file), &folder.join(&file))?;
    }
    Ok(())
}

/// The sources, and the wheel for this platform.
fn python(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    let package = &workspace.path("bindings/python");
    let venv = Venv::at(workspace.target("venv-dist"));
    venv.make(log)?;
    venv.install(package, &["--constraint=requirements-dev.txt", "maturin"], log)?;
    log.run(venv.module("maturin", package).args(["sdist", "--out"]).arg(folder))?;
    log.run(venv.module("maturin", package).args(["build", "--release", "--locked", "--out"]).arg(folder))
}

/// The package, and that with the module for this platform.
fn node(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    let package = &workspace.path("bindings/node");
    npm_ci_unbuilt(package, log)?;
    log.run(&mut npm(package, &["run", "build"]))?;
    let release = workspace.empty_folder("dist-npm")?;
    log.run(command("node", package).arg("scripts/release.js").arg(&release))?;
    for entry in std::fs::read_dir(&release)? {
        log.run(npm(&entry?.path(), &["pack", "--pack-destination"]).arg(folder))?;
    }
    Ok(())
}

/// The npm package, and the component.
fn wasm(workspace: &Workspace, target: WasmTarget, folder: &Path, log: &mut Log) -> Result<()> {
    let package = &workspace.path("wasm/npm");
    npm_ci(package, log)?;
    log.run(target.apply(&mut npm(package, &["run", "build"])))?;
    log.run(npm(package, &["pack", "--pack-destination"]).arg(folder))?;
    for module in ["twindex.wasm", "twindex.fast.wasm"] {
        copy(&package.join(module), &folder.join(module))?;
    }
    let mut cargo = command("cargo", workspace.root());
    cargo.args(["build", "--release", "--package=twindex-component", "--target=wasm32-unknown-unknown"]);
    cargo.args(["--config", "target.wasm32-unknown-unknown.linker='wasm-component-ld'"]);
    log.run(target.apply(&mut cargo))?;
    let made = workspace.target("wasm32-unknown-unknown/release/twindex_component.wasm");
    copy(&made, &folder.join("twindex.component.wasm"))
}

/// The tool with both licences, in an archive that is named after the platform.
fn tool(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    log.run(command("cargo", workspace.root()).args(["build", "--release", "--package=twindex-cli"]))?;
    let name =
        format!("twindex-{}-{}-{}", env!("CARGO_PKG_VERSION"), std::env::consts::ARCH, std::env::consts::OS);
    let parts = workspace.empty_folder("dist-cli")?;
    let inside = parts.join(&name);
    std::fs::create_dir(&inside)?;
    let program = format!("twindex{}", std::env::consts::EXE_SUFFIX);
    copy(&workspace.target("release").join(&program), &inside.join(&program))?;
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        copy(&workspace.path(licence), &inside.join(licence))?;
    }
    let archive = folder.join(format!("{name}.tar.gz"));
    log.run(command("tar", &parts).arg("-czf").arg(archive).arg(&name))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// A line for each file, as `sha256sum --check` reads it.
fn checksums(folder: &Path) -> Result<()> {
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.sort();
    ensure!(!files.is_empty(), "{} is empty", folder.display());
    let mut lines = String::new();
    for file in files {
        let bytes = std::fs::read(&file).with_context(|| format!("reading {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        for byte in Sha256::digest(&bytes) {
            let _ = write!(lines, "{byte:02x}");
        }
        let _ = writeln!(lines, "  {name}");
    }
    std::fs::write(folder.join("SHA256SUMS"), lines).context("writing SHA256SUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_that_everybody_computes() -> Result<()> {
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("b"), "")?;
        std::fs::write(folder.path().join("a"), "abc")?;
        checksums(folder.path())?;
        let lines = std::fs::read_to_string(folder.path().join("SHA256SUMS"))?;
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n\
                        e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  b\n";
        assert_eq!(lines, expected);
        assert!(checksums(tempfile::tempdir()?.path()).is_err(), "nothing was made");
        Ok(())
    }
}
