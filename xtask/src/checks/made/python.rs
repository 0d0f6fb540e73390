//! The Python package as it is published.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::build::fast;
use crate::run::Log;
use crate::setup::Venv;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Where the wheel is, in the build directory.
pub(crate) const WHEEL: &str = "python-dist/wheel";

/// What builds the documentation site.
pub(crate) const SITE: &str = "docs/requirements.txt";

/// What would be uploaded, and the environment in which its wheel is tested.
pub(crate) struct Package {
    pub(crate) venv: Venv,
    pub(crate) sources: PathBuf,
    pub(crate) wheel: PathBuf,
}

/// The sources, the wheel that they build away from the checkout, and all that tests it.
pub(crate) fn build(workspace: &Workspace, steps: &mut Steps) -> Result<Package, Failed> {
    let folder = &workspace.path("bindings/python");
    let venv = Venv::of_tests(workspace);
    steps.must("python: virtual environment", |log| {
        venv.make(log)?;
        let site = workspace.path(SITE).display().to_string();
        venv.install(folder, &["-r", "requirements-dev.txt", "-r", &site], log)
    })?;
    let (sources, wheel) = steps.must("python: wheel from the source distribution", |log| {
        let (sources, is_new) = source_distribution(folder, &venv, workspace, log)?;
        let wheels = workspace.target(WHEEL);
        if is_new || only_file(&wheels, "whl").is_err() {
            build_wheel(&sources, &venv, workspace, log)?;
        }
        let wheel = only_file(&wheels, "whl")?;
        install(&wheel, &venv, folder, log)?;
        Ok((sources, wheel))
    })?;
    Ok(Package { venv, sources, wheel })
}

/// The archive of the sources, and whether it is another than the last one.
fn source_distribution(
    folder: &Path,
    venv: &Venv,
    workspace: &Workspace,
    log: &mut Log,
) -> Result<(PathBuf, bool)> {
    let made = workspace.empty_folder("python-dist/new")?;
    log.run(venv.module("maturin", folder).args(["sdist", "--out"]).arg(&made))?;
    let made = only_file(&made, "tar.gz")?;
    let last = workspace.target("python-dist").join(made.file_name().context("a file has a name")?);
    let is_new = std::fs::read(&last).ok() != Some(std::fs::read(&made)?);
    std::fs::rename(made, &last)?;
    Ok((last, is_new))
}

fn build_wheel(sources: &Path, venv: &Venv, workspace: &Workspace, log: &mut Log) -> Result<()> {
    let target = workspace.target("python-sdist");
    forget_ours(&target.join("release/.fingerprint"))?;
    let mut pip = venv.module("pip", &workspace.empty_folder(WHEEL)?);
    // Its cache would give the wheel of other sources under this name.
    pip.args(["wheel", "--disable-pip-version-check", "--no-cache-dir", "--no-deps"]);
    // maturin is in the environment, so it need not be fetched again.
    pip.arg("--no-build-isolation").arg(sources).env("CARGO_TARGET_DIR", target);
    log.run(&mut fast(pip))
}

/// Puts a wheel in the place of another of the same version.
pub(crate) fn install(wheel: &Path, venv: &Venv, folder: &Path, log: &mut Log) -> Result<()> {
    venv.install(folder, &["--no-deps", "--force-reinstall", &wheel.display().to_string()], log)
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
pub(crate) fn only_file(folder: &Path, ending: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    let mut files =
        files.into_iter().map(|file| file.path()).filter(|path| path.display().to_string().ends_with(ending));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("{} has not one file that ends in {ending}", folder.display()),
    }
}
