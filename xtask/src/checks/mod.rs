//! Every check and test of every room.

mod cli;
mod docs;
mod engine;
mod node;
mod python;
mod readme;
mod report;
mod rust;
mod tree;
mod wasm;
mod xtask;

use std::process::ExitCode;

use anyhow::Result;
use clap::ValueEnum;

use crate::setup::{Tool, require};
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// A room, or what concerns all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Room {
    /// What holds for every file: format, lints, documentation, lock files
    Tree,
    /// engine/
    Engine,
    /// durable/
    Durable,
    /// cli/
    Cli,
    /// benches/
    Benches,
    /// wasm/
    Wasm,
    /// bindings/python/ and examples/python/
    Python,
    /// docs/, as a site
    Docs,
    /// bindings/node/ and examples/node/
    Node,
    /// examples/rust/
    Examples,
    /// README.md, as a reader follows it
    Readme,
    /// xtask/
    Xtask,
    /// A quick report from its first test to its page in a browser
    Report,
}

impl Room {
    /// What it cannot be tested without.
    fn tools(self) -> &'static [Tool] {
        match self {
            // The lints see the Python package's crate, which asks the interpreter how it was built.
            Self::Tree => &[Tool::C, Tool::Git, Tool::RustComponents, Tool::Python],
            Self::Engine | Self::Durable | Self::Examples => &[Tool::C],
            Self::Benches => &[Tool::C, Tool::Redis],
            Self::Wasm => &[Tool::C, Tool::Node, Tool::Python, Tool::Browser],
            Self::Cli | Self::Node | Self::Xtask => &[Tool::C, Tool::Node],
            Self::Python | Self::Docs => &[Tool::C, Tool::Python],
            Self::Readme => &[Tool::C, Tool::Git, Tool::Python, Tool::Node],
            Self::Report => &[Tool::C, Tool::Python, Tool::Node, Tool::Redis, Tool::Browser],
        }
    }

    /// Runs its steps. Where one fails on which the rest depends, it ends there.
    fn test(self, workspace: &Workspace, steps: &mut Steps) -> Result<(), Failed> {
        match self {
            Self::Tree => tree::test(workspace, steps)?,
            Self::Engine => engine::test(workspace, steps),
            Self::Durable => rust::cargo_test("durable", "twindex-durable", workspace, steps),
            Self::Cli => cli::test(workspace, steps),
            Self::Benches => rust::benches(workspace, steps),
            Self::Wasm => wasm::test(workspace, steps)?,
            Self::Python => python::test(workspace, steps)?,
            Self::Docs => drop(docs::build(workspace, steps)?),
            Self::Node => node::test(workspace, steps)?,
            Self::Examples => rust::cargo_test("examples", "twindex-examples", workspace, steps),
            Self::Readme => readme::test(workspace, steps)?,
            Self::Xtask => xtask::test(workspace, steps)?,
            Self::Report => report::test(workspace, steps)?,
        }
        Ok(())
    }
}

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
    let rooms = if rooms.is_empty() { Room::value_variants() } else { rooms };
    for room in rooms {
        require(room.tools())?;
    }
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    for room in rooms {
        if room.test(&workspace, &mut steps).is_err() {
            println!("The rest of this room needs that step and was not run.");
        }
    }
    println!("{}", steps.summary());
    let (passed, failed, not_run) = (steps.passed(), steps.failed(), steps.not_run());
    println!("{passed} passed, {failed} failed, {not_run} not run");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
