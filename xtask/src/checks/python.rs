//! bindings/python/ and examples/python/

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::bench::Host;
use crate::checks::rust::smoke;
use crate::setup::{Interpreter, Venv};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("bindings/python");
    let venv = Venv::of_tests(workspace);
    steps.must("python: virtual environment", |log| {
        venv.make(log)?;
        venv.install(folder, &["-r", "requirements-dev.txt"], log)
    })?;
    steps.must("python: pip install ./bindings/python", |log| venv.install_package(workspace, log))?;
    for (name, module, arguments) in [
        ("ruff", "ruff", ["check", ".", "../../examples/python", "../../docs"].as_slice()),
        ("ruff format", "ruff", &["format", "--check", ".", "../../examples/python", "../../docs"]),
        ("mypy", "mypy", &["--strict"]),
        ("stubtest", "mypy.stubtest", &["twindex", "--mypy-config-file", "pyproject.toml"]),
        ("pytest", "pytest", &["--quiet"]),
        (
            "pytest of the examples",
            "pytest",
            &["--quiet", "--config-file=pyproject.toml", "../../examples/python"],
        ),
    ] {
        steps.check(&format!("python: {name}"), |log| log.run(venv.module(module, folder).args(arguments)));
    }
    smoke("python", Host::Python, workspace, steps);
    distribution(folder, &venv, workspace, steps)
}

/// What would be uploaded: the sources build a wheel away from the checkout, which passes under every other version of
/// Python that there is here, or where there is none under the same.
fn distribution(folder: &Path, venv: &Venv, workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let (sources, wheel) = steps.must("python: wheel from the source distribution", |log| {
        let built = workspace.empty_folder("python-dist")?;
        log.run(venv.module("maturin", folder).args(["sdist", "--out"]).arg(&built))?;
        let sources = only_file(&built, "tar.gz")?;
        let target = workspace.target("python-sdist");
        forget_ours(&target.join("release/.fingerprint"))?;
        let mut pip = venv.module("pip", &built);
        // Its cache would give the wheel of other sources under this name.
        pip.args(["wheel", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]).arg(&sources);
        log.run(pip.env("CARGO_TARGET_DIR", target))?;
        Ok((sources, only_file(&built, "whl")?))
    })?;
    steps.check("python: what is in the distributions", |log| {
        log.run(
            venv.module("pytest", folder)
                .args(["--quiet", "tests/distributions.py"])
                .envs([("TWINDEX_SOURCES", &sources), ("TWINDEX_WHEEL", &wheel)]),
        )
    });
    for interpreter in Interpreter::others() {
        steps.check(&format!("python: pytest of the wheel under {}", interpreter.version), |log| {
            let venv = Venv::of_interpreter(workspace, &interpreter);
            venv.make(log)?;
            venv.install(
                folder,
                &["--constraint=requirements-dev.txt", "hypothesis", "msgpack", "pytest"],
                log,
            )?;
            venv.install(folder, &["--constraint=requirements-dev.txt", "sortedcontainers"], log)?;
            venv.install(folder, &["--no-deps", "--force-reinstall", &wheel.display().to_string()], log)?;
            log.run(venv.module("pytest", folder).args(["--quiet", "--ignore=tests/test_bench.py"]))
        });
    }
    Ok(())
}

/// Has cargo compile our crates again: all files of the archive have the same time, whatever changed in them.
fn forget_ours(fingerprints: &Path) -> Result<()> {
    let Ok(found) = std::fs::read_dir(fingerprints) else { return Ok(()) };
    for folder in found {
        let folder = folder?;
        if folder.file_name().to_string_lossy().starts_with("twindex") {
            std::fs::remove_dir_all(folder.path())?;
        }
    }
    Ok(())
}

/// The one file in `folder` whose name ends so.
fn only_file(folder: &Path, ending: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files =
        files.into_iter().map(|file| file.path()).filter(|path| path.display().to_string().ends_with(ending));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("{} has not one file that ends in {ending}", folder.display()),
    }
}
