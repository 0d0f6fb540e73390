//! wasm/

use crate::bench::Host;
use crate::checks::node::scripts;
use crate::checks::rust::{cargo_test, smoke};
use crate::setup::{WasmTarget, npm, npm_ci};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
    let folder = &workspace.path("wasm/npm");
    let target = steps.must("wasm: Rust for WebAssembly", WasmTarget::find)?;
    steps.must("wasm: npm ci", |log| npm_ci(folder, log))?;
    steps.must("wasm: build", |log| log.run(target.apply(&mut npm(folder, &["run", "build"]))))?;
    scripts("wasm", folder, &["lint", "types", "test"], steps);
    smoke("wasm", Host::WasmNode, workspace, steps);
    cargo_test("wasm", "twindex-wasm", workspace, steps);
    smoke("wasm", Host::Wasmtime, workspace, steps);
    Ok(())
}
