//! The modules of a crate, and which of them name what is in which other. A name that is exported again counts for the file
//! that defines it, so that a root full of exports hides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::graph::Graph;

/// The path of a module from the crate's root.
type Name = Vec<String>;

/// All modules of a crate by their paths.
#[derive(Default)]
pub(super) struct Crate(BTreeMap<Name, Module>);

#[derive(Default)]
struct Module {
    file: PathBuf,
    /// What it defines.
    items: BTreeSet<String>,
    /// What it imports, by the name that it gives it; the names of whole modules under `*`.
    imports: Vec<(String, Name)>,
    /// Every path in it, as written.
    paths: BTreeSet<Name>,
}

impl Crate {
    /// Reads the crate that begins with this file.
    pub(super) fn read(first: &Path) -> Result<Self> {
        let mut all = Self::default();
        let folder = first.parent().context("a file has a folder")?;
        all.read_file(first, folder, &Name::new())?;
        Ok(all)
    }

    /// Reads a module's file; the files of its modules are in `folder`.
    fn read_file(&mut self, file: &Path, folder: &Path, name: &Name) -> Result<()> {
        let text = std::fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("reading {}", file.display()))?;
        self.read_items(&parsed.items, file, folder, name)
    }

    fn read_items(&mut self, items: &[Item], file: &Path, folder: &Path, name: &Name) -> Result<()> {
        let mut module = Module { file: file.into(), ..Module::default() };
        for item in items {
            let Item::Mod(inner) = item else {
                module.take(item);
                continue;
            };
            if is_for_tests(&inner.attrs) {
                continue;
            }
            let own = inner.ident.to_string();
            let below = folder.join(&own);
            let path = [name.as_slice(), std::slice::from_ref(&own)].concat();
            if let Some((_, items)) = &inner.content {
                let below = path_of(&inner.attrs).map_or(below, |path| folder.join(path));
                self.read_items(items, file, &below, &path)?;
                continue;
            }
            let files = [folder.join(format!("{own}.rs")), below.join("mod.rs")];
            let named = path_of(&inner.attrs).map(|path| folder.join(path));
            let found = named.or_else(|| files.into_iter().find(|file| file.exists()));
            let found = found.with_context(|| format!("{own} of {} has no file", file.display()))?;
            self.read_file(&found, &below, &path)?;
        }
        self.0.insert(name.clone(), module);
        Ok(())
    }

    /// Which file names something of which other.
    pub(super) fn graph(&self) -> Graph {
        let mut graph = Graph::default();
        for (name, module) in &self.0 {
            graph.add(&module.file);
            let imports = module.imports.iter().map(|(_, path)| path);
            for path in module.paths.iter().chain(imports) {
                if let Some(other) = self.file_of(name, path, 0) {
                    graph.connect(&module.file, other);
                }
            }
        }
        graph
    }

    /// The file that defines what a path in a module names; nothing where that is not of this crate.
    fn file_of(&self, within: &Name, path: &[String], depth: usize) -> Option<&Path> {
        let (first, rest) = path.split_first()?;
        let mut at = within.clone();
        match first.as_str() {
            "crate" => at.clear(),
            "self" => {}
            "super" => drop(at.pop()),
            _ => return self.file_from(&at, path, depth),
        }
        let mut rest = rest;
        while let Some(("super", others)) = rest.split_first().map(|(first, others)| (first.as_str(), others))
        {
            at.pop();
            rest = others;
        }
        // The module itself.
        if rest.is_empty() {
            self.0.get(&at).map(|module| module.file.as_path())
        } else {
            self.file_from(&at, rest, depth)
        }
    }

    /// As `file_of`, for names that begin in a module.
    fn file_from(&self, module: &Name, path: &[String], depth: usize) -> Option<&Path> {
        /// More than any chain of exports has.
        const DEEP: usize = 16;
        let (first, rest) = path.split_first()?;
        let here = self.0.get(module)?;
        let child = [module.as_slice(), std::slice::from_ref(first)].concat();
        if let Some(inner) = self.0.get(&child) {
            return if rest.is_empty() { Some(&inner.file) } else { self.file_from(&child, rest, depth) };
        }
        if here.items.contains(first) {
            return Some(&here.file);
        }
        if depth > DEEP {
            return None;
        }
        let named = here.imports.iter().filter(|(name, _)| name == first);
        let globs = here.imports.iter().filter(|(name, _)| name == "*");
        named
            .map(|(_, path)| [path.as_slice(), rest].concat())
            .chain(globs.map(|(_, path)| [path.as_slice(), std::slice::from_ref(first), rest].concat()))
            .find_map(|path| self.file_of(module, &path, depth + 1))
    }
}

impl Module {
    fn take(&mut self, item: &Item) {
        if let Item::Use(item) = item {
            imports_of(&item.tree, &mut Name::new(), &mut self.imports);
            return;
        }
        let ident = match item {
            Item::Const(item) => Some(&item.ident),
            Item::Enum(item) => Some(&item.ident),
            Item::Fn(item) => Some(&item.sig.ident),
            Item::Macro(item) => item.ident.as_ref(),
            Item::Static(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            Item::Union(item) => Some(&item.ident),
            _ => None,
        };
        self.items.extend(ident.map(ToString::to_string));
        let mut paths = Paths(&mut self.paths, &mut self.imports);
        paths.visit_item(item);
    }
}

/// Gathers the paths of an item, and the imports within its functions.
struct Paths<'p>(&'p mut BTreeSet<Name>, &'p mut Vec<(String, Name)>);

impl<'ast> Visit<'ast> for Paths<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        // One that begins with `::` is of another crate.
        if path.leading_colon.is_none() {
            self.0.insert(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    /// Who may see something is not asked for it.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        imports_of(&item.tree, &mut Name::new(), self.1);
    }
}

/// Every name that a `use` gives, with what it stands for.
fn imports_of(tree: &UseTree, before: &mut Name, imports: &mut Vec<(String, Name)>) {
    let with = |name: &str| [before.as_slice(), &[name.to_owned()]].concat();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            imports_of(&path.tree, before, imports);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| imports_of(tree, before, imports)),
        UseTree::Glob(_) => imports.push(("*".into(), before.clone())),
        // `self` in braces stands for the module itself.
        UseTree::Name(name) if name.ident == "self" && !before.is_empty() => {
            imports.push((before[before.len() - 1].clone(), before.clone()));
        }
        UseTree::Name(name) => imports.push((name.ident.to_string(), with(&name.ident.to_string()))),
        UseTree::Rename(rename) => imports.push((rename.rename.to_string(), with(&rename.ident.to_string()))),
    }
}

/// Tests, and the engine's checker, may ask anything.
fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().filter(|attribute| attribute.path().is_ident("cfg")).any(|attribute| {
        let syn::Meta::List(condition) = &attribute.meta else { return false };
        let words = condition.tokens.to_string();
        words
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "test" || word == "twindex_check")
    })
}

/// Where `#[path = "..."]` says that a module is.
fn path_of(attributes: &[syn::Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| {
        let syn::Meta::NameValue(value) = &attribute.meta else { return None };
        let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &value.value else { return None };
        value.path.is_ident("path").then(|| text.value())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate of these files, by the names of the files.
    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        let graph = Crate::read(&folder.path().join("lib.rs")).expect("a crate").graph();
        let name = |path: &PathBuf| path.strip_prefix(folder.path()).expect("within").display().to_string();
        graph.circles().iter().map(|circle| circle.iter().map(name).collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn who_only_asks_below_is_in_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use self::b::B; fn f() -> B { a::f() }"),
            ("a.rs", "use crate::b::B; pub fn f() -> B { B }"),
            ("b.rs", "pub struct B; #[cfg(all(test, unix))] mod tests { use crate::a::f; }"),
        ];
        assert!(circles(&files).is_empty());
    }

    #[test]
    fn two_files_that_name_each_other_are_a_circle() {
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "use super::b::B; pub struct A(B);"),
            ("b.rs", "pub struct B; impl B { fn a(&self) -> Option<crate::a::A> { None } }"),
        ];
        assert_eq!(circles(&files), ["a.rs b.rs a.rs"]);
    }

    #[test]
    fn what_is_exported_again_hides_no_circle() {
        for export in ["pub use a::A; pub use b::B;", "pub use a::*; pub use b::*;"] {
            let lib = format!("mod a; mod b; {export}");
            let files = [
                ("lib.rs", lib.as_str()),
                ("a.rs", "use crate::{B as Other}; pub struct A(Other);"),
                ("b.rs", "pub struct B; fn f() { use crate::A; }"),
            ];
            assert_eq!(circles(&files), ["a.rs b.rs a.rs"], "{export}");
        }
    }

    #[test]
    fn a_parent_and_its_module_can_be_a_circle() {
        let files = [
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod inner; pub struct A; fn f() { inner::g() }"),
            ("a/inner.rs", "pub fn g() { let _ = super::A; }"),
        ];
        assert_eq!(circles(&files), ["a/inner.rs a/mod.rs a/inner.rs"]);
    }
}
