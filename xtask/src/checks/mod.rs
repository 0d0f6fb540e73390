//! Every check and test of every room.

mod circles;
mod cli;
mod cluster;
mod dist;
mod docs;
mod engine;
mod examples;
mod made;
mod node;
mod python;
pub(crate) mod readme;
mod report;
mod rust;
pub(crate) mod soak;
mod suite;
mod tree;
mod wasm;
mod xtask;

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::ValueEnum;

use self::suite::Suite;
use crate::setup::{Tool, require};
use crate::steps::{Job, Steps};
use crate::workspace::Workspace;

/// A room, or what concerns all of them: first what takes long or others wait for.
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
    /// wasm/
    Wasm,
    /// benches/
    Benches,
    /// cli/
    Cli,
    /// codec/
    Codec,
    /// durable/
    Durable,
    /// cluster/
    Cluster,
    /// examples/rust/, examples/go/ and examples/java/
    Examples,
    /// README.md, as a reader follows it
    Readme,
    /// What is published, installed where nothing else is
    Dist,
    /// docs/, as a site
    Docs,
    /// xtask/
    Xtask,
    /// A small report from its first test to its page in a browser
    Report,
}

impl Room {
    /// What it cannot be tested without.
    fn tools(self) -> &'static [Tool] {
        match self {
            // The lints see the Python package's crate, which asks the interpreter how it was built.
            Self::Tree => &[Tool::C, Tool::Git, Tool::RustComponents, Tool::Python],
            Self::Engine | Self::Codec | Self::Durable => &[Tool::C],
            Self::Examples => &[Tool::C, Tool::Python, Tool::Node],
            Self::Benches => &[Tool::C, Tool::Redis],
            Self::Cluster => &[Tool::C, Tool::Redis, Tool::Python, Tool::Node],
            Self::Wasm => &[Tool::C, Tool::Node, Tool::Python, Tool::Browser],
            Self::Cli | Self::Node | Self::Xtask => &[Tool::C, Tool::Node],
            Self::Python | Self::Docs => &[Tool::C, Tool::Python],
            Self::Readme | Self::Dist => &[Tool::C, Tool::Git, Tool::Python, Tool::Node],
            Self::Report => &[Tool::C, Tool::Python, Tool::Node, Tool::Redis, Tool::Browser],
        }
    }

    /// Its steps, as jobs that can run beside each other.
    fn jobs(self, suite: &Suite) -> Vec<Job<'_>> {
        match self {
            Self::Tree => tree::jobs(suite),
            Self::Engine => engine::jobs(suite),
            Self::Codec => rust::cargo_test("codec", "twindex-codec", suite).into_iter().collect(),
            Self::Durable => rust::cargo_test("durable", "twindex-durable", suite).into_iter().collect(),
            Self::Cluster => cluster::jobs(suite),
            Self::Cli => cli::jobs(suite),
            Self::Benches => rust::benches(suite),
            Self::Wasm => wasm::jobs(suite),
            Self::Python => python::jobs(suite),
            Self::Docs => docs::jobs(suite),
            Self::Node => node::jobs(suite),
            Self::Examples => examples::jobs(suite),
            Self::Readme => readme::jobs(suite),
            Self::Dist => dist::jobs(suite),
            Self::Xtask => xtask::jobs(suite),
            Self::Report => report::jobs(suite),
        }
    }
}

/// How long a command of the suite may take. The slowest, the tests of all crates, takes twelve minutes with its builds.
const LIMIT: Duration = Duration::from_mins(20);

/// Builds the documentation site.
pub(crate) fn build_docs() -> Result<ExitCode> {
    require(Room::Docs.tools())?;
    let mut steps = Steps::new();
    let Ok(site) = docs::build(&Workspace::find()?, &mut steps) else { return Ok(ExitCode::FAILURE) };
    println!("The site is in {}: open index.html", site.display());
    Ok(ExitCode::SUCCESS)
}

/// Tests the rooms named, or all.
pub(crate) fn run(rooms: &[Room]) -> Result<ExitCode> {
    let is_whole = rooms.is_empty();
    let rooms = if is_whole { Room::value_variants() } else { rooms };
    for room in rooms {
        require(room.tools())?;
    }
    let suite = Suite::new(Workspace::find()?, is_whole);
    let mut jobs: Vec<Job<'_>> = Vec::new();
    if is_whole {
        jobs.push(rust::cargo_test_of_all(&suite));
    }
    jobs.extend(rooms.iter().flat_map(|room| room.jobs(&suite)));
    let steps = Steps::within(Some(LIMIT));
    steps.side_by_side(jobs);
    println!("{}\n{}", steps.summary(), steps.slowest());
    let (passed, failed, not_run) = (steps.passed(), steps.failed(), steps.not_run());
    println!("{passed} passed, {failed} failed, {not_run} not run");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
