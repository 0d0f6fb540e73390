//! The standard library for WebAssembly.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{Log, command};

use crate::steps::NotRun;

const TRIPLE: &str = "wasm32-unknown-unknown";
const WASI: &str = "wasm32-wasip1";

/// How crates are compiled to WebAssembly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WasmTarget {
    /// With the standard library that the toolchain has.
    Installed,
    /// With the standard library built from its source, which the toolchain has.
    FromSource,
}

impl WasmTarget {
    /// Finds the standard library, or has rustup add it.
    pub(crate) fn find(log: &mut Log) -> Result<Self> {
        let rustlib = rustlib(log)?;
        if is_there(&rustlib, TRIPLE, log) {
            return Ok(Self::Installed);
        }
        if rustlib.join("src/rust/library/std").is_dir() {
            return Ok(Self::FromSource);
        }
        bail!("Rust's standard library for WebAssembly is missing: rustup target add {TRIPLE}")
    }

    /// Tells a command that compiles to WebAssembly, at any depth, where the standard library is.
    pub(crate) fn apply(self, command: &mut Command) -> &mut Command {
        match self {
            Self::Installed => command,
            // A stable compiler builds its own standard library too, once told that this is meant.
            Self::FromSource => {
                command.env("RUSTC_BOOTSTRAP", "1").env("CARGO_UNSTABLE_BUILD_STD", "std,panic_abort")
            }
        }
    }
}

/// Finds the standard library for WASI, or has rustup add it. Its C library has no source here to build it from.
pub(crate) fn require_wasi(log: &mut Log) -> Result<()> {
    if is_there(&rustlib(log)?, WASI, log) {
        return Ok(());
    }
    Err(NotRun(format!("Rust's standard library for WASI is missing: rustup target add {WASI}")).into())
}

/// The folder of the toolchain's standard libraries.
fn rustlib(log: &mut Log) -> Result<PathBuf> {
    let sysroot = log.read(command("rustc", Path::new(".")).args(["--print", "sysroot"]))?;
    Ok(Path::new(sysroot.trim()).join("lib/rustlib"))
}

/// Whether the standard library for this target is there, or can be had.
fn is_there(rustlib: &Path, triple: &str, log: &mut Log) -> bool {
    rustlib.join(triple).join("lib").is_dir()
        || log.run(command("rustup", Path::new(".")).args(["target", "add", triple])).is_ok()
}
