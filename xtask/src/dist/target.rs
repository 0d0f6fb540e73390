//! The platforms that packages are made for.

use crate::run::{Log, command};
use crate::workspace::Workspace;
use anyhow::{Result, bail};

/// A platform.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// What Rust calls it.
    pub(crate) triple: &'static str,
    /// What npm's packages with native modules call it.
    pub(super) npm: &'static str,
    /// What pip calls it; elsewhere maturin finds that itself.
    pub(super) wheel: Option<&'static str>,
    /// The oldest C library that what is linked by zig runs on.
    glibc: &'static str,
}

const GLIBC: &str = ".2.17";

static ALL: [Target; 8] = [
    linux("x86_64-unknown-linux-gnu", "linux-x64-gnu", "manylinux2014", GLIBC),
    linux("aarch64-unknown-linux-gnu", "linux-arm64-gnu", "manylinux2014", GLIBC),
    linux("x86_64-unknown-linux-musl", "linux-x64-musl", "musllinux_1_2", ""),
    linux("aarch64-unknown-linux-musl", "linux-arm64-musl", "musllinux_1_2", ""),
    own("x86_64-apple-darwin", "darwin-x64"),
    own("aarch64-apple-darwin", "darwin-arm64"),
    own("x86_64-pc-windows-msvc", "win32-x64-msvc"),
    own("aarch64-pc-windows-msvc", "win32-arm64-msvc"),
];

/// Linked by zig on Linux of any kind.
const fn linux(triple: &'static str, npm: &'static str, wheel: &'static str, glibc: &'static str) -> Target {
    Target { triple, npm, wheel: Some(wheel), glibc }
}

/// Linked by the system's own linker.
const fn own(triple: &'static str, npm: &'static str) -> Target {
    Target { triple, npm, wheel: None, glibc: "" }
}

impl Target {
    /// The platform of this name.
    pub(super) fn named(triple: &str) -> Result<&'static Self, String> {
        let named = ALL.iter().find(|target| target.triple == triple);
        named.ok_or_else(|| {
            let all = ALL.iter().map(|target| target.triple).collect::<Vec<_>>().join(", ");
            format!("packages are made for {all}")
        })
    }

    /// This machine's.
    pub(super) fn host(workspace: &Workspace) -> Result<&'static Self> {
        let host = Log::default().read(command("rustc", workspace.root()).args(["--print", "host-tuple"]))?;
        let Ok(target) = Self::named(host.trim()) else { bail!("nothing is published for {}", host.trim()) };
        Ok(target)
    }

    pub(super) fn all() -> &'static [Self] {
        &ALL
    }

    /// Its processor, as names of wheels have it.
    pub(super) fn machine(&self) -> &'static str {
        self.triple.split('-').next().unwrap_or_default()
    }

    /// Whether zig links for it.
    pub(super) fn is_linux(&self) -> bool {
        self.wheel.is_some()
    }

    pub(super) fn is_musl(&self) -> bool {
        self.triple.ends_with("musl")
    }

    /// What `cargo build` or `cargo zigbuild` calls it.
    pub(super) fn for_cargo(&self) -> String {
        format!("{}{}", self.triple, self.glibc)
    }

    /// What a dynamic library is called there.
    pub(super) fn library(&self, name: &str) -> String {
        match self.triple {
            windows if windows.contains("windows") => format!("{name}.dll"),
            apple if apple.contains("apple") => format!("lib{name}.dylib"),
            _ => format!("lib{name}.so"),
        }
    }

    /// What a program is called there.
    pub(super) fn program(&self, name: &str) -> String {
        if self.triple.contains("windows") { format!("{name}.exe") } else { name.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_called_what_each_system_calls_them() {
        let named = |triple| Target::named(triple).unwrap();
        let musl = named("aarch64-unknown-linux-musl");
        assert_eq!((musl.for_cargo().as_str(), musl.is_musl()), (musl.triple, true));
        let linux = named("x86_64-unknown-linux-gnu");
        assert_eq!(linux.for_cargo(), "x86_64-unknown-linux-gnu.2.17");
        assert_eq!(linux.library("a"), "liba.so");
        assert_eq!(named("aarch64-apple-darwin").library("a"), "liba.dylib");
        let windows = named("x86_64-pc-windows-msvc");
        assert_eq!((windows.library("a"), windows.program("a")), ("a.dll".into(), "a.exe".into()));
        assert!(Target::named("sparc").unwrap_err().contains("packages are made for x86_64-"));
    }
}
