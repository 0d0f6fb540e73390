//! What several rooms use: built once, by the first job that needs it, while the others wait.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, bail};

use crate::bench::FAST;
use crate::run::Log;
use crate::setup::{Venv, require_wasm};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// A run of some rooms, or of all.
pub(crate) struct Suite {
    workspace: Workspace,
    is_whole: bool,
    wasm_target: Once<()>,
    python: Once<PathBuf>,
    node: Once<()>,
    wasm: Once<()>,
    wasi_tool: Once<PathBuf>,
}

type Once<T> = OnceLock<Result<T, Failed>>;

impl Deref for Suite {
    type Target = Workspace;

    fn deref(&self) -> &Workspace {
        &self.workspace
    }
}

impl Suite {
    pub(crate) fn new(workspace: Workspace, is_whole: bool) -> Self {
        let (wasm_target, python, node) = (Once::new(), Once::new(), Once::new());
        Self { workspace, is_whole, wasm_target, python, node, wasm: Once::new(), wasi_tool: Once::new() }
    }

    /// Whether all rooms are tested, so that one cargo command tests all crates.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    pub(super) fn wasm_target(&self, steps: &mut Steps) -> Result<(), Failed> {
        *self.wasm_target.get_or_init(|| steps.must("set up: Rust for WebAssembly", require_wasm))
    }

    /// The environment of the tests, with the Python package as it is published: where its wheel is.
    pub(crate) fn python(&self, steps: &mut Steps) -> Result<&Path, Failed> {
        let built = self.python.get_or_init(|| {
            steps.must("python: virtual environment", |log| {
                let needed = "-r bindings/python/requirements-dev.txt -r docs/requirements.txt";
                self.run("", &format!("venv:python -m pip install {needed}"), &[], log)
            })?;
            steps.must("python: wheel from the source distribution", |log| self.wheel(log))
        });
        built.as_deref().map_err(|failed| *failed)
    }

    /// Builds the wheel away from the checkout, unless the sources are those of the last time, and installs it.
    fn wheel(&self, log: &mut Log) -> Result<PathBuf> {
        let new = self.empty_folder("python-dist/new")?;
        let mut maturin = self.command("bindings/python", "venv:maturin sdist --out");
        log.run(maturin.arg(&new))?;
        let sources = only_file(&new, "tar.gz")?;
        let (last, wheels) = (self.sources(), self.target("python-dist/wheel"));
        if std::fs::read(&last).ok() != Some(std::fs::read(&sources)?) || only_file(&wheels, "whl").is_err() {
            let folder = self.empty_folder("python-dist/unpacked")?;
            // All files of the archive have one time, by which cargo could not tell that they changed.
            log.run(
                self.command("", "tar -x -m --strip-components=1 -f").arg(&sources).arg("-C").arg(&folder),
            )?;
            let wheels = self.empty_folder("python-dist/wheel")?;
            // maturin is in the environment, so it need not be fetched again.
            let line = "CARGO_TARGET_DIR={target}/python-sdist venv:python -m pip wheel --no-deps --no-build-isolation --wheel-dir";
            log.run(self.command("", line).envs(FAST).arg(&wheels).arg(&folder))?;
            std::fs::rename(&sources, &last)?;
        }
        let wheel = only_file(&wheels, "whl")?;
        Venv::of_tests(self).reinstall(&wheel, log)?;
        Ok(wheel)
    }

    /// The archive of the Python package's sources.
    pub(super) fn sources(&self) -> PathBuf {
        self.target("python-dist/twindex.tar.gz")
    }

    /// The Node package in its folder, ready to be used.
    pub(crate) fn node(&self, steps: &mut Steps) -> Result<(), Failed> {
        *self.node.get_or_init(|| {
            steps.must("node: build", |log| self.run("bindings/node", "npm ci && npm run build", &FAST, log))
        })
    }

    /// The modules in `wasm/npm`, and the components: one, and a client of it.
    pub(crate) fn wasm(&self, steps: &mut Steps) -> Result<(), Failed> {
        self.wasm_target(steps)?;
        *self.wasm.get_or_init(|| {
            steps.must("wasm: build", |log| self.run("wasm/npm", "npm ci && npm run build", &[], log))?;
            steps.must("wasm: build of the component", |log| {
                let guests = "--package=twindex-component-client --package=twindex-host-guest";
                self.run("", &format!("{COMPONENT} {guests}"), &[], log)
            })
        })
    }

    /// The command-line tool for WASI: its path.
    pub(super) fn wasi_tool(&self, steps: &mut Steps) -> Result<&Path, Failed> {
        let tool = self.wasi_tool.get_or_init(|| {
            steps.must("cli: the tool for WASI", |log| {
                let line = "need wasm32-wasip1 && cargo build --package=twindex-cli --target=wasm32-wasip1";
                self.run("", line, &[], log)?;
                Ok(self.target("wasm32-wasip1/debug/twindex.wasm"))
            })
        });
        tool.as_deref().map_err(|failed| *failed)
    }
}

/// Builds the component. The toolchain's linker of components makes it without any import of WASI.
pub(crate) const COMPONENT: &str = "cargo build --release --package=twindex-component --target=wasm32-unknown-unknown --config \
     target.wasm32-unknown-unknown.linker=\"wasm-component-ld\"";

/// The one file in `folder` whose name ends so.
pub(super) fn only_file(folder: &Path, ending: &str) -> Result<PathBuf> {
    let files = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let files = files.map(|file| Ok(file?.path())).collect::<std::io::Result<Vec<_>>>()?;
    let mut files = files.into_iter().filter(|path| path.to_string_lossy().ends_with(ending));
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => bail!("{} has not one file that ends in {ending}", folder.display()),
    }
}
