//! Every check and test of every room.

mod install;
mod rooms;
mod shared;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

pub(crate) use self::install::{install_npm, install_wheels, reader};
pub(crate) use self::rooms::pytest_under;
pub(crate) use self::shared::{COMPONENT, Suite};
use crate::run::Limits;
use crate::setup::require;
use crate::steps::{Job, Steps};
use crate::workspace::Workspace;

/// A room, or what concerns all of them. The long ones come first, and those for which others wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Room {
    /// What holds for every file: format, lints, documentation, lock files
    Tree,
    /// bindings/python/ and examples/python/
    Python,
    /// bindings/node/ and examples/node/
    Node,
    /// engine/
    Engine,
    /// wasm/ and examples/browser/
    Wasm,
    /// The published packages, installed in empty folders, and the README's examples
    Dist,
    /// benches/
    Benches,
    /// cli/
    Cli,
    /// cache/
    Cache,
    /// codec/
    Codec,
    /// format/ and durable/
    Durable,
    /// cluster/ and its packages in bindings/
    Cluster,
    /// examples/rust/, examples/go/ and examples/java/
    Examples,
    /// docs/, as a site
    Docs,
    /// xtask/
    Xtask,
}

impl Room {
    /// What it cannot be tested without. A step that needs another tool is left out without it, and says so.
    pub(crate) fn tools(self) -> &'static [&'static str] {
        match self {
            // The lints see the Python package's crate, which asks the interpreter how it was built.
            Self::Tree => &["cc", "git", "clippy", "python3"],
            Self::Engine | Self::Cache | Self::Codec | Self::Durable | Self::Cluster => &["cc"],
            Self::Cli | Self::Node => &["cc", "node"],
            Self::Python | Self::Docs => &["cc", "python3"],
            Self::Examples | Self::Benches | Self::Wasm | Self::Xtask => &["cc", "python3", "node"],
            Self::Dist => &["cc", "git", "python3", "node"],
        }
    }
}

/// The longest command, the tests of all crates, takes twelve minutes with its builds on two idle cores.
const LIMITS: Limits = Limits { still: Limits::STILL, wall: Duration::from_hours(1) };

/// Tests the rooms named, or all.
pub(crate) fn run(rooms: &[Room]) -> Result<ExitCode> {
    let is_whole = rooms.is_empty();
    let rooms = if is_whole { Room::value_variants() } else { rooms };
    for room in rooms {
        require(room.tools())?;
    }
    println!("Testing {}.", if is_whole { "everything" } else { "some rooms" });
    let suite = Suite::new(Workspace::find()?, is_whole);
    let mut jobs: Vec<Job<'_>> = Vec::new();
    if is_whole {
        jobs.push(rooms::all_crates(&suite));
    }
    jobs.extend(rooms.iter().flat_map(|room| rooms::jobs(*room, &suite)));
    let steps = Steps::within(Some(LIMITS));
    steps.side_by_side(jobs);
    Ok(steps.finish())
}

/// Builds the documentation site; a warning is an error.
pub(crate) fn docs() -> Result<ExitCode> {
    require(Room::Docs.tools())?;
    let suite = Suite::new(Workspace::find()?, false);
    let mut steps = Steps::new();
    if rooms::site(&suite, &mut steps).is_err() {
        return Ok(ExitCode::FAILURE);
    }
    println!("The site is in {}: open index.html", suite.target("site").display());
    Ok(ExitCode::SUCCESS)
}
