//! What differs between platforms: wheels, native modules for Node, and the command-line tool.

use std::path::PathBuf;

use anyhow::Result;

use super::place::{Dist, PYTHON, archive, copy, files};
use super::portable;
use super::target::Target;
use crate::run::{Log, command};
use crate::steps::{Failed, Steps};

/// The npm packages with native modules: where each is, and the crate that its module is.
const PACKAGES: [(&str, &str); 2] =
    [("bindings/node", "twindex-node"), ("bindings/node-cluster", "twindex-cluster-node")];

/// The native modules for Node of one platform, in the order of the packages.
pub(super) struct Natives {
    target: &'static Target,
    modules: [PathBuf; 2],
}

impl Natives {
    /// Builds everything native for a platform.
    pub(super) fn build(dist: &Dist, target: &'static Target, steps: &mut Steps) -> Result<Self, Failed> {
        let triple = target.triple;
        steps.must(&format!("dist: Rust for {triple}"), |log| {
            log.run(command("rustup", dist.workspace.root()).args(["target", "add", triple]))
        })?;
        steps.must(&format!("dist: wheels for {triple}"), |log| dist.wheels(target, log))?;
        let modules = steps.must(&format!("dist: native modules for {triple}"), |log| {
            dist.cargo(target, &["--package=twindex-node", "--package=twindex-cluster-node"], log)?;
            Ok(PACKAGES.map(|(_, name)| dist.built(target, &target.library(&name.replace('-', "_")))))
        })?;
        steps.must(&format!("dist: tool for {triple}"), |log| dist.command_line(target, log))?;
        Ok(Self { target, modules })
    }
}

impl Dist {
    /// The npm packages with native modules, and unless the folder has natives alone the packages that name them.
    pub(super) fn pack_natives(&self, natives: &[Natives], steps: &mut Steps) -> Result<(), Failed> {
        steps.must("dist: npm packages with native modules", |log| {
            for (position, (package, _)) in PACKAGES.into_iter().enumerate() {
                let modules = natives.iter().map(|native| (native.target.npm, &*native.modules[position]));
                portable::pack(&self.workspace, package, modules, &self.folder, log)?;
            }
            Ok(())
        })
    }

    fn wheels(&self, target: &Target, log: &mut Log) -> Result<()> {
        for package in PYTHON {
            let mut maturin = self.paced(self.tool("maturin", &self.workspace.path(package)));
            maturin.args(["build", "--release", "--locked", "--target", target.triple, "--out"]);
            maturin.arg(&self.folder);
            // Its linker is another script than that of `cargo zigbuild`: in one folder each would compile everything anew.
            maturin.env("CARGO_TARGET_DIR", self.workspace.target("dist-wheels"));
            if let Some(tag) = target.wheel {
                maturin.args(["--zig", "--compatibility", tag]);
            }
            log.run(dynamic(target, &mut maturin))?;
        }
        if target.is_musl() { self.name_musl(target, log) } else { Ok(()) }
    }

    /// Has the wheels for musl ask for its library by the name that it has on all such systems. zig's name for it works there
    /// too, but auditwheel does not know it.
    fn name_musl(&self, target: &Target, log: &mut Log) -> Result<()> {
        let library = format!("libc.musl-{}.so.1", target.machine());
        let tag = format!("{}_{}.whl", target.wheel.unwrap_or_default(), target.machine());
        let is_for_it = |wheel: &PathBuf| wheel.to_string_lossy().ends_with(&tag);
        for wheel in files(&self.folder)?.into_iter().filter(is_for_it) {
            let parts = self.workspace.empty_folder("dist-musl")?;
            log.run(self.tool("wheel", &parts).arg("unpack").arg(&wheel))?;
            for unpacked in files(&parts)? {
                let folders = files(&unpacked)?.into_iter().filter(|path| path.is_dir());
                let inside = folders.map(|folder| files(&folder)).collect::<Result<Vec<_>>>()?.concat();
                let modules = inside.iter().filter(|path| path.extension().is_some_and(|end| end == "so"));
                let mut patchelf = self.tool("patchelf", &parts);
                log.run(patchelf.args(["--replace-needed", "libc.so", &library]).args(modules))?;
                let mut pack = self.tool("wheel", &parts);
                log.run(pack.args(["pack", "--dest-dir"]).arg(&self.folder).arg(&unpacked))?;
            }
        }
        Ok(())
    }

    /// `cargo build` for a platform.
    fn cargo(&self, target: &Target, words: &[&str], log: &mut Log) -> Result<()> {
        let root = self.workspace.root();
        let mut cargo = if target.is_linux() {
            let mut zig = self.tool("cargo-zigbuild", root);
            zig.arg("zigbuild");
            zig
        } else {
            let mut cargo = command("cargo", root);
            cargo.arg("build");
            cargo
        };
        cargo.args(["--release", "--locked", "--target", &target.for_cargo()]).args(words);
        let mut cargo = self.paced(cargo);
        if words.iter().any(|word| word.ends_with("-node")) {
            dynamic(target, &mut cargo);
        }
        log.run(&mut cargo)
    }

    /// The tool with both licences, in an archive that is named after the platform.
    fn command_line(&self, target: &Target, log: &mut Log) -> Result<()> {
        self.cargo(target, &["--package=twindex-cli", "--features=cluster"], log)?;
        let name = format!("twindex-{}-{}", env!("CARGO_PKG_VERSION"), target.triple);
        let parts = self.workspace.empty_folder("dist-cli")?;
        let inside = parts.join(&name);
        std::fs::create_dir(&inside)?;
        let program = target.program("twindex");
        copy(&self.built(target, &program), &inside.join(&program))?;
        for file in ["LICENSE-APACHE", "LICENSE-MIT", "cli/README.md"] {
            let from = self.workspace.path(file);
            copy(&from, &inside.join(from.file_name().unwrap_or_default()))?;
        }
        archive(&parts, &name, &self.folder, log)
    }

    /// A file that was built for a platform.
    fn built(&self, target: &Target, name: &str) -> PathBuf {
        self.workspace.target(target.triple).join("release").join(name)
    }
}

/// Rust links programs for musl statically unless told, and a module cannot be static.
fn dynamic<'c>(target: &Target, command: &'c mut std::process::Command) -> &'c mut std::process::Command {
    if target.is_musl() {
        let triple = target.triple.to_uppercase().replace('-', "_");
        command.env(format!("CARGO_TARGET_{triple}_RUSTFLAGS"), "-Ctarget-feature=-crt-static");
    }
    command
}
