//! A bill of materials in `CycloneDX`: what others' code is compiled into what is published.
//!
//! The npm and Python packages bring no packages of others with them, so cargo knows all there is.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::place::{CRATES, Dist};
use crate::run::{Log, command};

/// What is published as modules, beside the crates.
const MODULES: [&str; 6] = [
    "twindex-python",
    "twindex-node",
    "twindex-cluster-python",
    "twindex-cluster-node",
    "twindex-wasm",
    "twindex-component",
];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None where it is compiled in: `dev` and `build` are the others.
    kind: Option<String>,
}

/// Writes the bill beside what it is of, and has it checked against the format's own schema.
pub(super) fn write(dist: &Dist, log: &mut Log) -> Result<()> {
    let root = dist.workspace.root();
    let mut cargo = command("cargo", root);
    let metadata = log.read(cargo.args(["metadata", "--locked", "--all-features", "--format-version=1"]))?;
    let metadata = serde_json::from_str(&metadata).context("reading what cargo metadata says")?;
    let lock = std::fs::read_to_string(dist.workspace.path("Cargo.lock")).context("reading Cargo.lock")?;
    let bill = serde_json::to_string_pretty(&bill(&metadata, &checksums(&lock)))?;
    let path = dist.folder.join(format!("twindex-{}.cdx.json", env!("CARGO_PKG_VERSION")));
    std::fs::write(&path, bill + "\n").with_context(|| format!("writing {}", path.display()))?;
    let check = "import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
fault = JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1], encoding='utf-8').read())
sys.exit(None if fault is None else str(fault))";
    log.run(command(dist.tools.python(), root).args(["-c", check]).arg(&path))
}

fn bill(metadata: &Metadata, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
    let is_ours = |package: &&Package| package.source.is_none();
    let is_published =
        |package: &&Package| CRATES.contains(&&*package.name) || MODULES.contains(&&*package.name);
    let first = metadata.packages.iter().filter(is_ours).filter(is_published).map(|package| &*package.id);
    let mut waiting: Vec<&str> = first.collect();
    let mut found = BTreeSet::new();
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(nodes.get(id).into_iter().flat_map(|node| compiled_in(node)));
        }
    }
    let packages = || metadata.packages.iter().filter(|package| found.contains(&*package.id));
    let urls: BTreeMap<&str, String> = packages().map(|package| (&*package.id, url(package))).collect();
    let dependencies = packages().map(|package| {
        let of = nodes.get(&*package.id).into_iter().flat_map(|node| compiled_in(node));
        json!({ "ref": urls[&*package.id], "dependsOn": of.map(|id| &urls[id]).collect::<BTreeSet<_>>() })
    });
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": { "type": "library", "name": "twindex", "version": version, "bom-ref": "twindex" } },
        "components": packages().map(|package| component(package, checksums)).collect::<Vec<_>>(),
        "dependencies": dependencies.collect::<Vec<_>>(),
    })
}

/// What is compiled into a package.
fn compiled_in(node: &Node) -> impl Iterator<Item = &str> {
    let is_in = |dependency: &&Dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
    node.deps.iter().filter(is_in).map(|dependency| &*dependency.pkg)
}

fn url(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

fn component(package: &Package, checksums: &BTreeMap<(&str, &str), &str>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": url(package),
        "name": package.name,
        "version": package.version,
        "purl": url(package),
    });
    if let Some(text) = &package.description {
        component["description"] = json!(text.trim());
    }
    if let Some(licence) = &package.license {
        // Older crates write "or" as a slash.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(checksum) = checksums.get(&(&*package.name, &*package.version)) {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    component
}

/// What `Cargo.lock` says that each package's archive has.
fn checksums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let field = |package: &'_ str, name: &str| -> Option<(usize, usize)> {
        let start = package.find(&format!("\n{name} = \""))? + name.len() + 5;
        Some((start, start + package[start..].find('"')?))
    };
    let packages = lock.split("[[package]]").filter_map(|package| {
        let of = |name| field(package, name).map(|(start, end)| &package[start..end]);
        Some(((of("name")?, of("version")?), of("checksum")?))
    });
    packages.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compiled_in_is_named_with_its_licence_and_checksum() -> Result<()> {
        let package = |id: &str, name: &str, source: Option<&str>| json!({ "id": id, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0", "description": null, "source": source });
        let dependency = |id: &str, kind: Option<&str>| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let metadata: Metadata = serde_json::from_value(json!({
            "packages": [package("t", "twindex", None), package("u", "used", Some("r")), package("d", "tests", Some("r"))],
            "resolve": { "nodes": [
                { "id": "t", "deps": [dependency("u", None), dependency("d", Some("dev"))] },
                { "id": "u", "deps": [] },
                { "id": "d", "deps": [] },
            ] },
        }))?;
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"ab\"\n";
        let bill = bill(&metadata, &checksums(lock));
        let names: Vec<_> = bill["components"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["twindex", "used"]);
        assert_eq!(bill["components"][1]["hashes"][0]["content"], "ab");
        assert_eq!(bill["components"][1]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/used@1.0.0"]));
        Ok(())
    }
}
