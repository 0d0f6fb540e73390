//! What the rooms share: where they are, and what is set up or built once for all of them.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::checks::made::python::Package;
use crate::checks::made::{node, python, wasm};
use crate::setup::WasmTarget;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// A run of some rooms, or of all.
pub(super) struct Suite {
    workspace: Workspace,
    is_whole: bool,
    wasm_target: Once<WasmTarget>,
    python: Once<Package>,
    node: Once<()>,
    wasm: Once<()>,
    wasi_tool: Once<PathBuf>,
}

/// What the first job that needs it makes, while the others wait.
struct Once<T>(OnceLock<Result<T, Failed>>);

impl<T> Once<T> {
    const fn new() -> Self {
        Self(OnceLock::new())
    }

    fn get(&self, make: impl FnOnce() -> Result<T, Failed>) -> Result<&T, Failed> {
        self.0.get_or_init(make).as_ref().map_err(|failed| *failed)
    }
}

impl Suite {
    pub(super) fn new(workspace: Workspace, is_whole: bool) -> Self {
        Self {
            workspace,
            is_whole,
            wasm_target: Once::new(),
            python: Once::new(),
            node: Once::new(),
            wasm: Once::new(),
            wasi_tool: Once::new(),
        }
    }

    pub(super) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// Whether all rooms are tested, so that one cargo command tests all crates.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn wasm_target(&self, steps: &mut Steps) -> Result<WasmTarget, Failed> {
        self.wasm_target.get(|| steps.must("set up: Rust for WebAssembly", WasmTarget::find)).copied()
    }

    /// The Python package, as it is published, in the environment of the tests.
    pub(super) fn python(&self, steps: &mut Steps) -> Result<&Package, Failed> {
        self.python.get(|| python::build(&self.workspace, steps))
    }

    /// The Node package, in its folder.
    pub(super) fn node(&self, steps: &mut Steps) -> Result<(), Failed> {
        self.node.get(|| node::build(&self.workspace, steps)).copied()
    }

    /// The modules in `wasm/npm`, and the components.
    pub(super) fn wasm(&self, steps: &mut Steps) -> Result<(), Failed> {
        let target = self.wasm_target(steps)?;
        self.wasm.get(|| wasm::build(&self.workspace, target, steps)).copied()
    }

    /// The command-line tool for WASI.
    pub(super) fn wasi_tool(&self, steps: &mut Steps) -> Result<&Path, Failed> {
        let build = || steps.must("cli: the tool for WASI", |log| wasm::build_tool(&self.workspace, log));
        self.wasi_tool.get(build).map(PathBuf::as_path)
    }
}
