//! Parts of Rust's toolchain that rustup installs: standard libraries, sanitizers, Miri; and cargo-fuzz.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::run::{Log, command};
use crate::setup::output;
use crate::steps::NotRun;
use crate::workspace::Workspace;

const WASM: &str = "wasm32-unknown-unknown";

/// Finds the standard library for WebAssembly, or has rustup add it.
pub(crate) fn require_wasm(log: &mut Log) -> Result<()> {
    ensure!(
        has_target(WASM, log),
        "Rust's standard library for WebAssembly is missing: rustup target add {WASM}"
    );
    Ok(())
}

/// Finds the standard library for WASI, or has rustup add it. Its C library has no source here to build it from.
pub(super) fn require_wasi(target: &str, log: &mut Log) -> Result<()> {
    if has_target(target, log) {
        return Ok(());
    }
    Err(NotRun(format!("Rust's standard library for WASI is missing: rustup target add {target}")).into())
}

fn rustlib() -> PathBuf {
    let sysroot = output("rustc", &["--print", "sysroot"]).unwrap_or_default();
    Path::new(sysroot.trim()).join("lib/rustlib")
}

fn has_target(triple: &str, log: &mut Log) -> bool {
    rustlib().join(triple).join("lib").is_dir() || rustup(&format!("target add {triple}"), log)
}

fn has_std_source() -> bool {
    rustlib().join("src/rust/library/std").is_dir()
}

fn rustup(words: &str, log: &mut Log) -> bool {
    log.run(command("rustup", Path::new(".")).args(words.split(' '))).is_ok()
}

/// What watches a crate's tests. Cargo compiles them in a folder of its own for each, as nothing can be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instrument {
    /// A sanitizer that finds memory used outside of its bounds or its life, and leaks.
    Address,
    /// A sanitizer that finds data races.
    Thread,
    /// An interpreter that finds undefined behaviour.
    Miri,
}

impl Instrument {
    /// The instrument of a line whose program is `asan:cargo`, `tsan:cargo` or `miri:cargo`, and the line without it.
    pub(crate) fn of(line: &str) -> (Option<Self>, String) {
        let all = [("asan:", Self::Address), ("tsan:", Self::Thread), ("miri:", Self::Miri)];
        let found = all.into_iter().find(|(name, _)| line.contains(name));
        found.map_or_else(|| (None, line.into()), |(name, one)| (Some(one), line.replace(name, "")))
    }

    /// Runs a cargo command under it, once what that needs is there.
    pub(crate) fn run(self, cargo: &mut Command, workspace: &Workspace, log: &mut Log) -> Result<()> {
        let variable = |name: &str| {
            let own = cargo.get_envs().find(|(one, _)| *one == name).and_then(|(_, value)| value);
            own.unwrap_or_default().to_string_lossy().into_owned()
        };
        let (flags, seed) = (variable("RUSTFLAGS"), variable("TWINDEX_SEED"));
        let size = if flags.contains("twindex_tiny") { "" } else { "-large" };
        let name = match self {
            Self::Address => "asan",
            Self::Thread => "tsan",
            Self::Miri => "miri",
        };
        cargo.env("CARGO_TARGET_DIR", workspace.target(&format!("{name}{size}")));
        let ready = match self {
            Self::Miri => miri(cargo, &seed, log),
            _ => self.sanitize(cargo, &flags, log),
        };
        // On a system without the address sanitizer, constants that are tiny still say something.
        if ready.is_ok() || self == Self::Address {
            log.run(cargo)?;
        }
        ready
    }

    /// Has a cargo command compile and run under the sanitizer. A stable compiler has it too.
    fn sanitize(self, cargo: &mut Command, flags: &str, log: &mut Log) -> Result<()> {
        let host = output("rustc", &["--print", "host-tuple"]).unwrap_or_default();
        let host = host.trim();
        if !["unknown-linux-gnu", "apple-darwin"].iter().any(|system| host.ends_with(system)) {
            return Err(NotRun(format!("Rust has no such sanitizer for {host}")).into());
        }
        let name = if self == Self::Address { "address" } else { "thread" };
        cargo.env("RUSTFLAGS", format!("{flags} -Zsanitizer={name}")).env("RUSTC_BOOTSTRAP", "1");
        // The target is named so that build scripts are left alone.
        cargo.env("CARGO_BUILD_TARGET", host);
        if self == Self::Thread {
            if !has_std_source() && !rustup("component add rust-src", log) {
                let line = "the standard library's source is missing: rustup component add rust-src";
                return Err(NotRun(line.into()).into());
            }
            // The standard library's own locks must be watched too.
            cargo.env("CARGO_UNSTABLE_BUILD_STD", "std");
        }
        Ok(())
    }
}

/// Has a cargo command use the toolchain that has Miri: the one in use, or the nightly one, to which rustup adds it.
fn miri(cargo: &mut Command, seed: &str, log: &mut Log) -> Result<()> {
    // Its emulation of weak memory fails where a word is an atomic again that was plain bytes in between. The models know weak
    // memory.
    let seed = if seed.is_empty() { String::new() } else { format!(" -Zmiri-seed={seed}") };
    cargo.env("MIRIFLAGS", format!("-Zmiri-disable-weak-memory-emulation{seed}"));
    if output("cargo", &["miri", "--version"]).is_some() {
        return Ok(());
    }
    let nightly = ["+nightly", "miri", "--version"];
    let add =
        "toolchain install nightly --profile=minimal --no-self-update --component=miri --component=rust-src";
    if output("cargo", &nightly).is_none() && !rustup(add, log) {
        let line = "Miri is missing: rustup toolchain install nightly --component miri --component rust-src";
        return Err(NotRun(line.into()).into());
    }
    cargo.env("RUSTUP_TOOLCHAIN", "nightly");
    Ok(())
}

/// Runs a fuzz target of the engine, with the corpus of earlier runs. The fuzzer's own options may follow.
/// cargo-fuzz compiles for long, so it is not installed unasked.
pub(crate) fn fuzzer(target: &str, workspace: &Workspace) -> Result<Command> {
    if output("cargo", &["+nightly", "fuzz", "--version"]).is_none() {
        let line = "cargo-fuzz is missing: rustup toolchain install nightly --profile minimal; cargo install cargo-fuzz";
        return Err(NotRun(line.into()).into());
    }
    let [corpus, artifacts] =
        ["corpus", "artifacts"].map(|kind| workspace.target("fuzz").join(kind).join(target));
    for folder in [&corpus, &artifacts] {
        std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    }
    let line = "RUSTUP_TOOLCHAIN=nightly cargo fuzz run --target-dir {target}/fuzz/build";
    let mut cargo = workspace.command("format", line);
    cargo.arg(target).arg(corpus).arg("--").arg(format!("-artifact_prefix={}/", artifacts.display()));
    Ok(cargo)
}
