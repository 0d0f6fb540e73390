//! What figures were measured on.

use std::path::Path;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use crate::run::{Log, command};

/// A machine, as a reader of its figures needs to know it.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Machine {
    processor: String,
    threads: usize,
    memory_bytes: u64,
    system: String,
    rust: String,
    python: String,
    node: String,
}

impl Machine {
    /// This one.
    pub(crate) fn this() -> Result<Self> {
        let wanted = RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram());
        let system = System::new_with_specifics(wanted)?;
        Ok(Self {
            processor: system.cpus().first().map_or_else(String::new, |cpu| cpu.brand().trim().to_owned()),
            threads: system.cpus().len(),
            memory_bytes: system.total_memory(),
            system: System::long_os_version().unwrap_or_default(),
            rust: version("rustc"),
            python: version("python3"),
            node: version("node"),
        })
    }

    /// In one line.
    pub(crate) fn line(&self) -> String {
        let gib = self.memory_bytes.div_ceil(1 << 30);
        let Self { processor, threads, system, rust, python, node, .. } = self;
        format!("{processor}, {threads} hardware threads, {gib} GiB, {system}; {rust}, {python}, Node {node}")
    }
}

fn version(program: &str) -> String {
    let printed = Log::default().read(command(program, Path::new(".")).arg("--version"));
    printed.unwrap_or_default().trim().to_owned()
}

/// The commit that is checked out; with a mark where files differ from it.
pub(crate) fn commit() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let printed = Log::default().read(command("git", here).args(["describe", "--always", "--dirty"]));
    printed.unwrap_or_default().trim().to_owned()
}
