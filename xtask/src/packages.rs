//! What packages have in common: their names and platforms, how they are packed, and whether a registry would take them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::run::Log;
use crate::setup::{npm, npm_ci};
use crate::workspace::Workspace;

/// The crates, in the order in which they are published: each needs those before it.
pub(crate) const CRATES: [&str; 8] = [
    "twindex",
    "twindex-cache",
    "twindex-codec",
    "twindex-format",
    "twindex-durable",
    "twindex-wasmtime",
    "twindex-cluster",
    "twindex-cli",
];

/// A platform: Rust's name, npm's, and of Linux maturin's, auditwheel's and the oldest C library.
pub(crate) type Platform = (&'static str, &'static str, Option<[&'static str; 3]>);

const GLIBC: Option<[&str; 3]> = Some(["manylinux2014", "manylinux_2_17", ".2.17"]);
const MUSL: Option<[&str; 3]> = Some(["musllinux_1_2", "musllinux_1_2", ""]);

pub(crate) const PLATFORMS: [Platform; 8] = [
    ("x86_64-unknown-linux-gnu", "linux-x64-gnu", GLIBC),
    ("aarch64-unknown-linux-gnu", "linux-arm64-gnu", GLIBC),
    ("x86_64-unknown-linux-musl", "linux-x64-musl", MUSL),
    ("aarch64-unknown-linux-musl", "linux-arm64-musl", MUSL),
    ("x86_64-apple-darwin", "darwin-x64", None),
    ("aarch64-apple-darwin", "darwin-arm64", None),
    ("x86_64-pc-windows-msvc", "win32-x64-msvc", None),
    ("aarch64-pc-windows-msvc", "win32-arm64-msvc", None),
];

/// The words, followed by the crates as cargo takes them.
pub(crate) fn crates(line: &str) -> String {
    CRATES.iter().fold(line.to_owned(), |line, name| format!("{line} --package={name}"))
}

/// Packs an npm package and those with its native modules, each for the platform that is named before it.
pub(crate) fn pack(
    workspace: &Workspace,
    package: &str,
    modules: &[(&str, &Path)],
    folder: &Path,
    log: &mut Log,
) -> Result<()> {
    let laid = workspace.empty_folder("dist-npm")?;
    let mut release = workspace.command("", "node bindings/node/scripts/release.js");
    release.arg(&laid).arg(package);
    release.args(modules.iter().map(|(platform, module)| format!("{platform}={}", module.display())));
    log.run(&mut release)?;
    files(&laid, "")?
        .iter()
        .try_for_each(|one| log.run(npm(one, &["pack", "--pack-destination"]).arg(folder)))
}

/// Whether npm would publish the packages in a folder, programs find what is in them, and so do compilers their types.
pub(crate) fn check_npm(workspace: &Workspace, folder: &Path, log: &mut Log) -> Result<()> {
    let checks = &workspace.path("xtask/dist");
    npm_ci(checks, log)?;
    let packages = files(folder, ".tgz")?;
    ensure!(!packages.is_empty(), "{} has no npm packages", folder.display());
    for package in packages {
        log.run(npm(folder, &["publish", "--dry-run"]).arg(&package))?;
        if PLATFORMS.iter().any(|(_, npm, _)| name(&package).contains(npm)) {
            continue;
        }
        log.run(npm(checks, &["exec", "--offline", "--", "publint", "--strict"]).arg(&package))?;
        // Modules of the new kind alone, from the Node on that takes them by `require`.
        let rules = ["--profile", "node16", "--ignore-rules", "cjs-resolves-to-esm"];
        let mut types = npm(checks, &["exec", "--offline", "--", "attw"]);
        let untyped = "--exclude-entrypoints twindex.wasm twindex.caches.wasm twindex.fast.wasm twindex.files.wasm package.json";
        types.arg(&package).args(rules).args(untyped.split(' '));
        log.run(&mut types).with_context(|| format!("the types in {}", package.display()))?;
    }
    Ok(())
}

/// The files in a folder whose names end so, by name.
pub(crate) fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let found = std::fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut files = found.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    files.retain(|path| name(path).ends_with(ending));
    files.sort();
    Ok(files)
}

pub(crate) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::copy(from, to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    Ok(())
}
