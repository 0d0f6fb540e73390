//! cli/

use crate::checks::rust::cargo_test;
use crate::run::command;
use crate::setup::require_wasi;
use crate::steps::Steps;
use crate::workspace::Workspace;

pub(super) fn test(workspace: &Workspace, steps: &mut Steps) {
    cargo_test("cli", "twindex-cli", workspace, steps);
    steps.check("cli: tests under WASI", |log| {
        require_wasi(log)?;
        let build = ["build", "--package=twindex-cli", "--target=wasm32-wasip1"];
        log.run(command("cargo", workspace.root()).args(build))?;
        let module = workspace.build().join("wasm32-wasip1/debug/twindex.wasm");
        let mut node = command("node", &workspace.path("cli/tests"));
        log.run(node.args(["--no-warnings", "--test", "wasi.mjs"]).env("TWINDEX_WASI", module))
    });
}
