//! Makes what is published: crates, Python and npm packages, the command-line tool, the WebAssembly modules, a bill of
//! materials and checksums; and checks and installs what it made.

mod bill;
mod emulated;
mod inspect;
mod install;
mod native;
mod place;
mod portable;
mod sums;
mod target;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;

pub(crate) use self::inspect::{deny, npm_packages};
pub(crate) use self::install::{Examples, Files, install};
use self::native::Natives;
use self::place::{Dist, files};
pub(crate) use self::portable::{crates, pack};
use self::target::Target;
use crate::build::require_tools;
use crate::setup::Venv;
use crate::steps::{Failed, Steps};
use crate::workspace::Workspace;

/// What an emulator can run.
const EMULATED: &str = "aarch64-unknown-linux-gnu";

#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// A platform, by Rust's name of it; can be given more than once [default: this machine's]
    #[arg(long = "target", value_name = "TRIPLE", value_parser = Target::named)]
    targets: Vec<&'static Target>,
    /// Only what differs between platforms: wheels, native npm packages and the tool
    #[arg(long)]
    natives_only: bool,
    /// Without link-time optimisation, to try it out: not to be published
    #[arg(long)]
    quick: bool,
    /// Makes nothing: checks and installs what an earlier run has made
    #[arg(long, conflicts_with_all = ["natives_only", "quick"])]
    check: bool,
}

/// Makes all of it, in `target/dist`.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    require_tools()?;
    let workspace = Workspace::find()?;
    let mut steps = Steps::new();
    let dist = Dist {
        folder: if options.check { workspace.target("dist") } else { workspace.empty_folder("dist")? },
        tools: Venv::at(workspace.target("venv-dist")),
        workspace,
        quick: options.quick,
    };
    // What failed has been shown.
    let _shown = dist.run(options, &mut steps);
    println!("{}", steps.summary());
    if steps.failed() > 0 {
        return Ok(ExitCode::FAILURE);
    }
    println!("All of it is in {}", dist.folder.display());
    Ok(ExitCode::SUCCESS)
}

impl Dist {
    fn run(&self, options: &Options, steps: &mut Steps) -> Result<(), Failed> {
        let host = steps.must("dist: this machine", |_| Target::host(&self.workspace))?;
        let targets = if options.targets.is_empty() { vec![host] } else { options.targets.clone() };
        steps.must("dist: tools", |log| {
            self.tools.make(log)?;
            self.tools.install(self.workspace.root(), &["-r", "xtask/dist/requirements.txt"], log)
        })?;
        if !options.check {
            let natives = self.natives(&targets, steps)?;
            self.pack_natives(&natives, steps)?;
        }
        if !options.check && !options.natives_only {
            self.portable(steps)?;
            steps.must("dist: bill of materials", |log| bill::write(self, log))?;
        }
        self.inspect(&targets, options.natives_only, steps);
        if !options.natives_only {
            let examples = steps.must("dist: the README's examples", |_| Examples::read(&self.workspace))?;
            if targets.contains(&host) {
                let files = steps.must("dist: what is installed", |_| self.files(host))?;
                install(&files, &examples, &self.workspace, steps);
            }
            if targets.iter().any(|target| target.triple == EMULATED && *target != host) {
                emulated::install(self, &examples, steps);
            }
        }
        steps.must("dist: checksums", |_| sums::write(&self.folder))
    }

    /// What one would download for this machine.
    fn files(&self, host: &Target) -> Result<Files> {
        let of_host = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let tag = host.wheel.unwrap_or_default();
            let is_wheel = name.ends_with(".whl") && name.contains(tag) && name.contains(host.machine());
            let is_main = !Target::all().iter().any(|target| name.contains(target.npm));
            is_wheel || (name.ends_with(".tgz") && (is_main || name.contains(host.npm)))
        };
        let (wheels, packages): (Vec<_>, Vec<_>) = files(&self.folder)?
            .into_iter()
            .filter(of_host)
            .partition(|path| path.extension().is_some_and(|ending| ending == "whl"));
        let (wasm, npm) =
            packages.into_iter().partition(|path| path.to_string_lossy().contains("twindex-wasm"));
        Ok(Files { wheels, npm, wasm })
    }

    fn natives(&self, targets: &[&'static Target], steps: &mut Steps) -> Result<Vec<Natives>, Failed> {
        targets.iter().map(|target| Natives::build(self, target, steps)).collect()
    }
}
