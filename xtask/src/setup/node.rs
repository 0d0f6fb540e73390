//! Node packages.

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use anyhow::Result;

use crate::run::{Log, command};

/// npm as a command that runs in `folder`.
pub(crate) fn npm(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = command(if cfg!(windows) { "npm.cmd" } else { "npm" }, folder);
    command.args(arguments);
    command
}

/// Installs what the lock file of `folder` names, unless that was done since it last changed.
pub(crate) fn npm_ci(folder: &Path, log: &mut Log) -> Result<()> {
    ci(folder, &["ci"], log)
}

/// As [`npm_ci`], without the script that would build a native module: a step of its own does that.
pub(crate) fn npm_ci_unbuilt(folder: &Path, log: &mut Log) -> Result<()> {
    ci(folder, &["ci", "--ignore-scripts"], log)
}

fn ci(folder: &Path, arguments: &[&str], log: &mut Log) -> Result<()> {
    // Two jobs may want the same folder.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // npm writes this file last.
    let installed = modified(&folder.join("node_modules/.package-lock.json"));
    let wanted = modified(&folder.join("package-lock.json")).max(modified(&folder.join("package.json")));
    if installed.is_some() && installed >= wanted {
        log.note(&format!("{} has its packages", folder.display()));
        return Ok(());
    }
    log.run(&mut npm(folder, arguments))
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|metadata| metadata.modified()).ok()
}
