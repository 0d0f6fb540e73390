//! Paths of files, and of what is beside them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that `path` stands for, whatever folder this process works in later. Links to it are followed: its lock and
/// what takes its place belong beside the file, where whoever comes by another name finds them.
pub(crate) fn resolve(path: &Path) -> PathBuf {
    /// As many as Linux follows. Opening a longer chain fails in the system.
    const MOST_LINKS: usize = 40;
    // A WASI module may have a right to a relative path alone.
    let absolute = if cfg!(target_os = "wasi") { None } else { std::path::absolute(path).ok() };
    let mut path = absolute.unwrap_or_else(|| path.into());
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    path
}

pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// How the names of files end that are made beside a store's and removed where they are found. No store may have one.
pub(crate) const TEMPORARY: &str = ".twindex-temporary";

pub(crate) fn is_temporary(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(TEMPORARY.as_bytes())
}

/// What a file is called until it takes the place of the one at `path`.
pub(crate) fn temporary(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(TEMPORARY);
    name.into()
}
