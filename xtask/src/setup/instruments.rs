//! What watches a program while it runs: the compiler's sanitizers, and Miri.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use crate::run::{Log, command};
use crate::steps::NotRun;
use crate::workspace::Workspace;

/// The platforms that have both sanitizers.
const PLATFORMS: [&str; 4] =
    ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "x86_64-apple-darwin", "aarch64-apple-darwin"];

/// A sanitizer of the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sanitizer {
    /// Finds memory that is used outside of its bounds or its life, and what is never given back.
    Address,
    /// Finds accesses that race.
    Thread,
}

/// A sanitizer that this machine can run.
pub(crate) struct Found {
    sanitizer: Sanitizer,
    platform: String,
}

impl Sanitizer {
    /// Finds what it needs, or has rustup add it. A stable compiler has it too, once told that this is meant.
    pub(crate) fn find(self, log: &mut Log) -> Result<Found> {
        let version = log.read(command("rustc", Path::new(".")).arg("-vV"))?;
        let platform = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap_or_default();
        if !PLATFORMS.contains(&platform) {
            return Err(NotRun(format!("Rust has no such sanitizer for {platform}")).into());
        }
        if self == Self::Thread && !has_std_source(log)? {
            let add = ["component", "add", "rust-src"];
            let _says_why = log.run(command("rustup", Path::new(".")).args(add));
            if !has_std_source(log)? {
                let line = "the standard library's source is missing: rustup component add rust-src";
                return Err(NotRun(line.into()).into());
            }
        }
        Ok(Found { sanitizer: self, platform: platform.into() })
    }
}

fn has_std_source(log: &mut Log) -> Result<bool> {
    let sysroot = log.read(command("rustc", Path::new(".")).args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/std").is_dir())
}

impl Found {
    /// Has a cargo command compile and run under the sanitizer.
    pub(crate) fn apply<'c>(&self, cargo: &'c mut Command) -> &'c mut Command {
        let flag = match self.sanitizer {
            Sanitizer::Address => "-Zsanitizer=address",
            Sanitizer::Thread => "-Zsanitizer=thread",
        };
        add_rustflags(cargo, flag);
        // The target is named so that what runs while compiling is left alone.
        cargo.arg(format!("--target={}", self.platform));
        cargo.env("RUSTC_BOOTSTRAP", "1");
        if self.sanitizer == Sanitizer::Thread {
            // The standard library's own locks must be watched too.
            cargo.arg("-Zbuild-std");
        }
        cargo
    }
}

/// cargo-fuzz, which runs the fuzz targets, and its toolchain.
pub(crate) struct Fuzzer(&'static str);

impl Fuzzer {
    /// Finds it. It compiles for long, so it is not installed unasked.
    pub(crate) fn find(log: &mut Log) -> Result<Self> {
        let mut cargo = command("cargo", Path::new("."));
        if log.run(cargo.args(["fuzz", "--version"]).env("RUSTUP_TOOLCHAIN", "nightly")).is_ok() {
            return Ok(Self("nightly"));
        }
        let line = "cargo-fuzz is missing: rustup toolchain install nightly --profile minimal; cargo install cargo-fuzz";
        Err(NotRun(line.into()).into())
    }

    /// Runs a target of the engine, with what earlier runs found interesting. The fuzzer's own options may follow.
    pub(crate) fn run(&self, target: &str, workspace: &Workspace) -> Result<Command> {
        let [corpus, artifacts] =
            ["fuzz/corpus", "fuzz/artifacts"].map(|kind| workspace.target(kind).join(target));
        for folder in [&corpus, &artifacts] {
            std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
        }
        let mut cargo = command("cargo", &workspace.path("engine"));
        cargo.env("RUSTUP_TOOLCHAIN", self.0).args(["fuzz", "run", "--target-dir"]);
        cargo.arg(workspace.target("fuzz/build")).arg(target).arg(corpus).arg("--");
        cargo.arg(format!("-artifact_prefix={}/", artifacts.display()));
        Ok(cargo)
    }
}

fn add_rustflags(cargo: &mut Command, flag: &str) {
    let before = cargo.get_envs().find(|(name, _)| *name == "RUSTFLAGS").and_then(|(_, value)| value);
    let before = before.map_or_else(String::new, |value| format!("{} ", value.to_string_lossy()));
    cargo.env("RUSTFLAGS", before + flag);
}

/// Miri, which runs Rust step by step and finds what the language leaves undefined.
pub(crate) struct Miri {
    /// Where it is not the one in use.
    toolchain: Option<&'static str>,
}

impl Miri {
    /// Finds it in the toolchain in use or in the nightly one, or has rustup add it to that.
    pub(crate) fn find(log: &mut Log) -> Result<Self> {
        let there = |log: &mut Log, toolchain| {
            let mut cargo = command("cargo", Path::new("."));
            log.run(Self { toolchain }.apply(cargo.args(["miri", "--version"]))).is_ok()
        };
        for toolchain in [None, Some("nightly")] {
            if there(log, toolchain) {
                return Ok(Self { toolchain });
            }
        }
        let nightly = ["toolchain", "install", "nightly", "--profile=minimal", "--no-self-update"];
        let mut add = command("rustup", Path::new("."));
        let added = log.run(add.args(nightly).args(["--component=miri", "--component=rust-src"]));
        if added.is_ok() && there(log, Some("nightly")) {
            return Ok(Self { toolchain: Some("nightly") });
        }
        let line = "Miri is missing: rustup toolchain install nightly --component miri --component rust-src";
        Err(NotRun(line.into()).into())
    }

    /// Has a cargo command use its toolchain.
    pub(crate) fn apply<'c>(&self, cargo: &'c mut Command) -> &'c mut Command {
        match self.toolchain {
            Some(toolchain) => cargo.env("RUSTUP_TOOLCHAIN", toolchain),
            None => cargo,
        }
    }
}
