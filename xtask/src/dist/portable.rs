//! What is the same for all platforms: crates, sources, the npm packages but for their native modules, and WebAssembly.

use std::path::Path;

use anyhow::{Context, Result};

use super::place::{CRATES, Dist, PYTHON, copy, files};
use crate::run::{Log, command};
use crate::setup::{WasmTarget, npm, npm_ci};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// Names the crates to cargo.
pub(crate) fn crates() -> impl Iterator<Item = String> {
    CRATES.into_iter().map(|name| format!("--package={name}"))
}

impl Dist {
    pub(super) fn portable(&self, steps: &mut Steps) -> Result<(), Failed> {
        steps.must("dist: crates", |log| self.crates(log))?;
        steps.must("dist: Python sources", |log| {
            for package in PYTHON {
                let mut maturin = self.tool("maturin", &self.workspace.path(package));
                log.run(maturin.args(["sdist", "--out"]).arg(&self.folder))?;
            }
            Ok(())
        })?;
        let target = steps.must("dist: Rust for WebAssembly", WasmTarget::find)?;
        steps.must("dist: WebAssembly", |log| self.wasm(target, log))
    }

    /// As `cargo publish` would upload them.
    fn crates(&self, log: &mut Log) -> Result<()> {
        // Each is compiled from what is in it.
        let mut package = command("cargo", self.workspace.root());
        package.args(["package", "--locked"]).args(self.quick.then_some("--no-verify"));
        log.run(package.args(crates()))?;
        // This asks more of their manifests, but keeps no files.
        let mut publish = command("cargo", self.workspace.root());
        log.run(publish.args(["publish", "--dry-run", "--no-verify", "--locked"]).args(crates()))?;
        for name in CRATES {
            let file = format!("{name}-{}.crate", env!("CARGO_PKG_VERSION"));
            copy(&self.workspace.target("package").join(&file), &self.folder.join(&file))?;
        }
        Ok(())
    }

    /// The npm package, both modules and the component.
    fn wasm(&self, target: WasmTarget, log: &mut Log) -> Result<()> {
        let package = &self.workspace.path("wasm/npm");
        npm_ci(package, log)?;
        log.run(target.apply(&mut self.paced(npm(package, &["run", "build"]))))?;
        log.run(npm(package, &["pack", "--pack-destination"]).arg(&self.folder))?;
        for module in ["twindex.wasm", "twindex.fast.wasm"] {
            copy(&package.join(module), &self.folder.join(module))?;
        }
        let mut cargo = command("cargo", self.workspace.root());
        cargo.args(["build", "--release", "--package=twindex-component"]);
        cargo.args(["--target=wasm32-unknown-unknown", "--config"]);
        cargo.arg("target.wasm32-unknown-unknown.linker='wasm-component-ld'");
        log.run(target.apply(&mut self.paced(cargo)))?;
        let made = self.workspace.target("wasm32-unknown-unknown/release/twindex_component.wasm");
        copy(&made, &self.folder.join("twindex.component.wasm"))
    }
}

/// Packs an npm package and those with its native modules, each for the platform that is named before it.
pub(crate) fn pack<'m>(
    workspace: &Workspace,
    package: &str,
    modules: impl Iterator<Item = (&'m str, &'m Path)>,
    folder: &Path,
    log: &mut Log,
) -> Result<()> {
    let laid = workspace.empty_folder("dist-npm")?;
    let mut release = command("node", workspace.root());
    release.arg("bindings/node/scripts/release.js").arg(&laid).arg(package);
    for (platform, module) in modules {
        release.arg(format!("{platform}={}", module.display()));
    }
    log.run(&mut release)?;
    for package in files(&laid)? {
        log.run(npm(&package, &["pack", "--pack-destination"]).arg(folder))
            .with_context(|| format!("packing {}", package.display()))?;
    }
    Ok(())
}
