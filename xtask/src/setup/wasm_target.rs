//! The standard library for WebAssembly.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::run::{Log, command};

const TRIPLE: &str = "wasm32-unknown-unknown";

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
        let here = Path::new(".");
        let sysroot = log.read(command("rustc", here).args(["--print", "sysroot"]))?;
        let rustlib = Path::new(sysroot.trim()).join("lib/rustlib");
        if rustlib.join(TRIPLE).join("lib").is_dir() {
            return Ok(Self::Installed);
        }
        if log.run(command("rustup", here).args(["target", "add", TRIPLE])).is_ok() {
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
