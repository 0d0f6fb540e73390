//! What holds for every file of the project.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::run::{Log, command};

/// The folders from which packages are made.
const PACKAGES: [&str; 11] = [
    "engine",
    "codec",
    "format",
    "durable",
    "cluster",
    "cli",
    "bindings/python",
    "bindings/node",
    "bindings/python-cluster",
    "bindings/node-cluster",
    "wasm/npm",
];

/// Looks at every file that git knows, and at the licences of each package. They are copies, because npm leaves links out.
pub(super) fn files(root: &Path, log: &mut Log) -> Result<()> {
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
    for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let text = std::fs::read(root.join(licence)).with_context(|| format!("reading {licence}"))?;
        let is_other =
            |package: &&&str| std::fs::read(root.join(package).join(licence)).ok().as_ref() != Some(&text);
        let others = PACKAGES.iter().filter(is_other);
        found.extend(others.map(|package| format!("{package}/{licence}: is not a copy of {licence}")));
    }
    ensure!(found.is_empty(), "{}", found.join("\n"));
    Ok(())
}

/// What is wrong with a text file.
fn faults(name: &str, text: &str) -> Vec<&'static str> {
    let downloads = name.ends_with("package-lock.json") && text.contains(r#""resolved": "http"#);
    let outside = name.ends_with("Cargo.lock") && text.contains("source = \"git+");
    let checks = [
        (downloads, "records where packages are downloaded from"),
        (outside, "takes a package from outside the registry"),
        (!text.is_empty() && !text.ends_with('\n'), "does not end with a line end"),
        (text.contains('\r'), "has carriage returns"),
        (text.lines().any(|line| line.starts_with("<<<<<<< ")), "has a conflict that was not resolved"),
        (text.contains(concat!("TO", "DO")) || text.contains(concat!("FIX", "ME")), "has work left open"),
    ];
    checks.into_iter().filter_map(|(is_fault, fault)| is_fault.then_some(fault)).collect()
}

#[cfg(test)]
mod tests {
    use super::faults;

    #[test]
    fn every_fault_of_a_file_is_found_and_sound_files_have_none() {
        for (name, text, mention) in [
            ("wasm/package-lock.json", "\"resolved\": \"https://example.org/x.tgz\"\n", "downloaded"),
            ("Cargo.lock", "source = \"git+https://example.org/x\"\n", "registry"),
            ("a.rs", "fn main() {}", "line end"),
            ("a.rs", "fn main() {}\r\n", "carriage"),
            ("a.rs", "<<<<<<< ours\n", "conflict"),
            ("a.rs", concat!("// TO", "DO\n"), "left open"),
            ("a.rs", "fn main() {}\n", ""),
            ("a/__init__.py", "", ""),
            ("package-lock.json", "{ \"integrity\": \"sha512-x\" }\n", ""),
        ] {
            let found = faults(name, text);
            assert_eq!(found.len(), usize::from(!mention.is_empty()), "{name}: {found:?}");
            assert!(found.iter().all(|fault| fault.contains(mention)), "{name}: {found:?}");
        }
    }
}
