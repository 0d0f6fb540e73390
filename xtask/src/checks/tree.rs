//! What holds for every file of the project.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::checks::circles;
use crate::checks::rust::{FUZZ, MODELS, PEERS};
use crate::checks::suite::Suite;
use crate::run::{Log, command};
use crate::steps::{Failed, Job, Steps, checks};
use crate::workspace::Workspace;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    vec![checks(|steps| files_and_format(suite.workspace(), steps)), Box::new(|steps| lints(suite, steps))]
}

fn files_and_format(workspace: &Workspace, steps: &mut Steps) {
    let root = workspace.root();
    steps.check("tree: rustfmt", |log| {
        for folder in [root, &workspace.path(FUZZ), &workspace.path(MODELS), &workspace.path(PEERS)] {
            log.run(command("cargo", folder).args(["fmt", "--all", "--check"]))?;
        }
        Ok(())
    });
    steps.check("tree: Cargo.lock", |log| {
        log.read(command("cargo", root).args(["metadata", "--locked", "--format-version=1"])).map(drop)
    });
    steps.check("tree: files", |log| files(root, log));
    steps.check("tree: licences", |_| licences(root));
    steps.check("tree: tests that docs/testing.md names", |_| named_tests(root));
    steps.check("tree: deliberate faults", |log| {
        ["engine", "durable", "python", "node", "wasm"].iter().try_for_each(|list| {
            log.run(command("python3", root).args(["xtask/faults/run.py", list, "--check"]))
        })
    });
    steps.check("tree: no circles of files", |log| circles::crates(root, log));
}

fn lints(suite: &Suite, steps: &mut Steps) -> Result<(), Failed> {
    let root = suite.workspace().root();
    steps.check("tree: clippy", |log| {
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "--deny=warnings"];
        log.run(command("cargo", root).args(clippy))
    });
    steps.check("tree: rustdoc", |log| {
        let mut doc = command("cargo", root);
        log.run(doc.args(["doc", "--workspace", "--no-deps"]).env("RUSTDOCFLAGS", "--deny=warnings"))
    });
    let wasm = suite.wasm_target(steps)?;
    steps.check("tree: clippy for WebAssembly", |log| {
        let mut clippy = command("cargo", root);
        clippy.args(["clippy", "--package=twindex-wasm", "--target=wasm32-unknown-unknown", "--lib", "--"]);
        log.run(wasm.apply(clippy.arg("--deny=warnings")))
    });
    Ok(())
}

/// Looks at every file that git knows.
fn files(root: &Path, log: &mut Log) -> Result<()> {
    let listed = log.read(command("git", root).args(["ls-files", "-z"]))?;
    let mut found = Vec::new();
    for name in listed.split_terminator('\0') {
        let path = root.join(name);
        // A file that was removed and not yet committed, or a link.
        if !path.is_file() {
            continue;
        }
        let bytes = std::fs::read(&path).with_context(|| format!("reading {name}"))?;
        if let Ok(text) = std::str::from_utf8(&bytes) {
            found.extend(faults(name, text).into_iter().map(|fault| format!("{name}: {fault}")));
        }
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// The folders from which packages are made.
const PACKAGES: [&str; 10] = [
    "engine",
    "codec",
    "durable",
    "cluster",
    "cli",
    "bindings/python",
    "bindings/node-cluster",
    "bindings/python-cluster",
    "bindings/node",
    "wasm/npm",
];

/// Whether each package has the texts of both licences. They are copies, because npm leaves links out.
fn licences(root: &Path) -> Result<()> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("reading {}", path.display()));
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = read(&root.join(name))?;
        for package in PACKAGES {
            let copy = root.join(package).join(name);
            ensure!(read(&copy)? == text, "{} is not a copy of {name}", copy.display());
        }
    }
    Ok(())
}

/// Whether the tests that docs/testing.md lists are where it says: behind a link to a file come what is in it.
fn named_tests(root: &Path) -> Result<()> {
    let text = std::fs::read_to_string(root.join("docs/testing.md"))?;
    let missing = not_there(&text, |path| Ok(std::fs::read_to_string(root.join(path))?))?;
    ensure!(missing.is_empty(), "docs/testing.md names tests that are not there:\n{}", missing.join("\n"));
    Ok(())
}

fn not_there(text: &str, read: impl Fn(&str) -> Result<String>) -> Result<Vec<String>> {
    let mut missing = Vec::new();
    for row in text.lines().filter(|line| line.starts_with("| ")) {
        for link in row.split("](../").skip(1) {
            let (path, names) = link.split_once("): ").context("names come behind a link")?;
            let there = read(path)?;
            let names = names.split(';').next().unwrap_or_default().split('`').skip(1).step_by(2);
            missing.extend(names.filter(|name| !there.contains(*name)).map(|name| format!("{path}: {name}")));
        }
    }
    Ok(missing)
}

/// What a text file may not have.
fn faults(name: &str, text: &str) -> Vec<&'static str> {
    let is_lock = name.ends_with("package-lock.json");
    let checks = [
        (is_lock && text.contains(r#""resolved": "http"#), "records where packages are downloaded from"),
        (
            name.ends_with("Cargo.lock") && text.contains("source = \"git+"),
            "takes a package from outside the registry",
        ),
        (!text.is_empty() && !text.ends_with('\n'), "does not end with a line end"),
        (text.contains('\r'), "has carriage returns"),
        (text.lines().any(|line| line.starts_with("<<<<<<< ")), "has a conflict that was not resolved"),
        (text.contains(concat!("TO", "DO")) || text.contains(concat!("FIX", "ME")), "has work left open"),
    ];
    checks.into_iter().filter_map(|(is_fault, fault)| is_fault.then_some(fault)).collect()
}

#[cfg(test)]
mod tests {
    use super::{faults, not_there};

    #[test]
    fn tests_that_are_not_there_are_named() {
        let text = "[a](../a.rs): `x`\n| 1 | what | [a](../a.rs): `one`, `two`; [b](../b.js): `a test` |\n";
        let read = |path: &str| Ok(if path == "a.rs" { "fn one() {}" } else { "test('a test')" }.to_owned());
        assert_eq!(not_there(text, read).expect("it is read"), ["a.rs: two"]);
    }

    #[test]
    fn sound_files_have_no_faults() {
        assert!(faults("a.rs", "fn main() {}\n").is_empty());
        assert!(faults("a/__init__.py", "").is_empty());
        assert!(faults("package-lock.json", "{ \"integrity\": \"sha512-x\" }\n").is_empty());
    }

    #[test]
    fn every_fault_is_found() {
        let one = |name, text: &str, mention| {
            let found = faults(name, text);
            assert!(matches!(found[..], [fault] if fault.contains(mention)), "{name}: {found:?}");
        };
        one("wasm/package-lock.json", "\"resolved\": \"https://example.org/x.tgz\"\n", "downloaded");
        one("Cargo.lock", "source = \"git+https://example.org/x\"\n", "registry");
        one("a.rs", "fn main() {}", "line end");
        one("a.rs", "fn main() {}\r\n", "carriage");
        one("a.rs", "<<<<<<< ours\n", "conflict");
        one("a.rs", concat!("// TO", "DO\n"), "left open");
    }
}
