//! No room has circles of files: who is asked does not know who asks.
//!
//! Rust is read here. Biome's `noImportCycles` sees to JavaScript, in the lints of each package.

mod graph;
mod modules;

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};

use self::graph::Graph;
use self::modules::Crate;
use crate::run::Log;
use crate::setup::Venv;

/// The files with which the crates begin.
const CRATES: [&str; 14] = [
    "engine/src/lib.rs",
    "codec/src/lib.rs",
    "durable/src/lib.rs",
    "cluster/src/lib.rs",
    "bindings/python-cluster/src/lib.rs",
    "bindings/node-cluster/src/lib.rs",
    "cluster/servers/src/lib.rs",
    "cli/src/lib.rs",
    "bindings/python/src/lib.rs",
    "bindings/node/src/lib.rs",
    "wasm/src/lib.rs",
    "benches/src/lib.rs",
    "benches/peers/src/main.rs",
    "xtask/src/main.rs",
];

/// Whether no crate's files ask each other in a circle.
pub(super) fn crates(root: &Path, log: &mut Log) -> Result<()> {
    let mut found = Vec::new();
    for first in CRATES {
        let graph = Crate::read(&root.join(first))?.graph();
        log.note(&format!("{first}: {} files", graph.len()));
        found.extend(graph.circles().iter().map(|circle| shown(circle, root)));
    }
    ensure!(found.is_empty(), "files that ask each other in a circle:\n{}", found.join("\n"));
    Ok(())
}

/// Whether the modules of the Python package do not either: ruff reads what imports what when the program runs.
pub(super) fn python(package: &Path, venv: &Venv, log: &mut Log) -> Result<()> {
    let graph = ["analyze", "graph", "--preview", "--no-type-checking-imports", "python/twindex"];
    let printed = log.read(venv.module("ruff", package).args(graph))?;
    let imports: std::collections::BTreeMap<PathBuf, Vec<PathBuf>> = serde_json::from_str(&printed)?;
    let mut graph = Graph::default();
    for (module, others) in imports {
        graph.add(&module);
        for other in &others {
            graph.connect(&module, other);
        }
    }
    ensure!(graph.len() > 1, "ruff found no modules in {}", package.display());
    let found: Vec<String> = graph.circles().iter().map(|circle| shown(circle, package)).collect();
    ensure!(found.is_empty(), "modules that import each other in a circle:\n{}", found.join("\n"));
    Ok(())
}

fn shown(circle: &[PathBuf], root: &Path) -> String {
    let name = |path: &PathBuf| path.strip_prefix(root).unwrap_or(path).display().to_string();
    circle.iter().map(name).collect::<Vec<_>>().join(" -> ")
}
