//! The units of a report: what one process measures in one go. Each leaves a file, so that a run which was interrupted
//! goes on where it stopped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use indicatif::{ProgressBar, ProgressStyle};
use serde::{Deserialize, Serialize};
use twindex_benches::{Record, Test};

use super::outcome::records_of;
use crate::bench::{Build, Host, Work};
use crate::machine::commit;
use crate::run::{Log, command};
use crate::workspace::Workspace;

/// How much is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scale {
    /// So little, and built so quickly, that it shows only that the report works.
    Test,
    Quick,
    Machine,
    Full,
}

impl Scale {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Test => "test",
            Self::Quick => "quick",
            Self::Machine => "machine",
            Self::Full => "full",
        }
    }

    /// A quick run shows that things work, so what it runs need not take minutes to link.
    fn profile(self) -> &'static str {
        match self {
            Self::Test => "dev",
            Self::Quick => "quick",
            Self::Machine | Self::Full => "release",
        }
    }

    /// Where cargo lays what it builds under the profile.
    fn folder(self) -> &'static str {
        match self {
            Self::Test => "debug",
            _ => self.profile(),
        }
    }

    /// How the hosts are built.
    fn hosts(self) -> Build {
        match self {
            Self::Test => Build::Test,
            _ => Build::Release,
        }
    }
}

/// A program that prints a plan of units, and runs each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// Twindex, its peers and Redis.
    Peers,
    /// Caches.
    Caches,
}

impl Program {
    pub(crate) const ALL: [Self; 2] = [Self::Peers, Self::Caches];

    /// Its folder among the benches.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Peers => "peers",
            Self::Caches => "cache",
        }
    }

    pub(crate) fn build(self, workspace: &Workspace, scale: Scale) -> Command {
        let mut cargo = command("cargo", &workspace.path(&format!("benches/{}", self.name())));
        cargo.args(["build", "--locked", "--profile", scale.profile()]);
        cargo.env("CARGO_TARGET_DIR", workspace.build());
        cargo
    }

    /// The program, as it was built, with the command in which it reports.
    fn command(self, workspace: &Workspace, scale: Scale) -> Command {
        let (program, report) = match self {
            Self::Peers => ("twindex-peers", Some("documents")),
            Self::Caches => ("twindex-cache-bench", None),
        };
        let program = format!("{}/{program}{}", scale.folder(), std::env::consts::EXE_SUFFIX);
        let mut command = command(workspace.build().join(program), workspace.root());
        command.args(report);
        command
    }

    /// What it is told of every unit.
    fn arguments(self, scale: Scale, rounds: Option<u16>, redis: bool) -> Vec<String> {
        let mut arguments = vec!["--scale".into(), scale.name().into()];
        arguments.extend(rounds.map(|rounds| format!("--rounds={rounds}")));
        arguments.extend((self == Self::Peers && !redis).then(|| "--no-redis".into()));
        arguments
    }
}

/// All units in the order in which they are run.
pub(crate) struct Plan {
    scale: Scale,
    rounds: Option<u16>,
    redis: bool,
    units: Vec<Unit>,
}

struct Unit {
    name: String,
    /// About how long it takes.
    milliseconds: u64,
    work: Measure,
}

enum Measure {
    /// A program of ours does it.
    Program(Program),
    /// A host's script does it.
    Host(Host, Box<Work>),
}

/// The plan as a program prints it.
#[derive(Deserialize)]
struct Printed {
    units: Vec<PrintedUnit>,
    /// Of the program with the peers.
    hosts: Option<Hosts>,
}

#[derive(Deserialize)]
struct PrintedUnit {
    name: String,
    milliseconds: u64,
}

/// How much the hosts do.
#[derive(Deserialize)]
struct Hosts {
    pairs: u32,
    threads: Vec<u16>,
    queries: u32,
    clients: Vec<u16>,
    rounds: u16,
}

impl Plan {
    pub(crate) fn find(
        workspace: &Workspace,
        scale: Scale,
        rounds: Option<u16>,
        redis: bool,
        tests: &[String],
    ) -> Result<Self> {
        let mut units = Vec::new();
        for program in Program::ALL {
            let arguments = program.arguments(scale, rounds, redis);
            let mut command = program.command(workspace, scale);
            let printed = Log::default().read(command.arg("plan").args(arguments))?;
            let printed: Printed = serde_json::from_str(&printed).context("reading the plan")?;
            units.extend(printed.units.into_iter().map(|PrintedUnit { name, milliseconds }| Unit {
                name,
                milliseconds,
                work: Measure::Program(program),
            }));
            let Some(hosts) = printed.hosts else { continue };
            let keys = keys_of_clients(workspace, hosts.queries)?;
            for host in [Host::Python, Host::Node, Host::Wasmtime, Host::WasmNode] {
                units.extend(hosts.units(host, &keys));
            }
        }
        if let Some(unknown) = tests.iter().find(|test| units.iter().all(|unit| unit.test() != test.as_str()))
        {
            bail!("--tests: there is no test {unknown}");
        }
        units.retain(|unit| tests.is_empty() || tests.iter().any(|test| test == unit.test()));
        Ok(Self { scale, rounds, redis, units })
    }

    /// Whether other hosts than Rust have a part in it.
    pub(crate) fn has_hosts(&self) -> bool {
        self.units.iter().any(|unit| matches!(unit.work, Measure::Host(..)))
    }
}

impl Hosts {
    fn units(&self, host: Host, keys: &Path) -> Vec<Unit> {
        let unit = |test, name: &str, pairs: u32, threads: &[u16], value_bytes, keys_from| {
            let work = Work {
                tests: vec![test],
                pairs,
                threads: threads.to_vec(),
                rounds: self.rounds,
                value_bytes,
                keys_from,
                beside: false,
            };
            let counts = host.threads(threads).len() as u64;
            // A verb takes about a microsecond, and a host half a second to start.
            let verbs = u64::from(pairs) * counts * u64::from(self.rounds) * 5 / 2;
            let milliseconds = 500 * (1 + counts) + verbs / 1_000;
            Unit {
                name: format!("{name}/{}", host.name()),
                milliseconds,
                work: Measure::Host(host, Box::new(work)),
            }
        };
        vec![
            unit(Test::Strings, "strings", self.pairs, &self.threads, 16, None),
            unit(Test::Sorted, "sorted", self.pairs, &self.threads, 16, None),
            unit(Test::Clients, "clients", self.queries, &self.clients, 3, Some(keys.into())),
        ]
    }
}

/// A file with so many different keys of three letters and digits: the hosts put them into random order.
fn keys_of_clients(workspace: &Workspace, count: u32) -> Result<PathBuf> {
    let letters = ('0'..='9').chain('A'..='Z').chain('a'..='z');
    let keys = letters.clone().flat_map(|first| {
        let letters = letters.clone();
        letters.clone().flat_map(move |second| letters.clone().map(move |third| [first, second, third]))
    });
    let lines: Vec<String> = keys.take(count as usize).map(String::from_iter).collect();
    ensure!(lines.len() == count as usize, "there are no {count} different keys of three letters");
    let folder = workspace.target("documents");
    std::fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let path = folder.join(format!("keys-{count}.txt"));
    std::fs::write(&path, lines.join("\n")).with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

impl Unit {
    fn test(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    fn measure(&self, workspace: &Workspace, plan: &Plan, folder: &Path) -> Result<Vec<Record>> {
        let mut log = Log::default();
        match &self.work {
            Measure::Program(program) => {
                let mut command = program.command(workspace, plan.scale);
                command.args(["run", &self.name]);
                command.args(program.arguments(plan.scale, plan.rounds, plan.redis));
                if *program == Program::Peers {
                    command.arg("--folder").arg(folder);
                }
                let printed = log.read(&mut command).with_context(|| log.text().to_owned())?;
                serde_json::from_str(&printed).context("reading its records")
            }
            Measure::Host(host, work) => {
                let report = host.run(workspace, plan.scale.hosts(), work, folder, &mut log);
                Ok(records_of(&report.with_context(|| log.text().to_owned())?))
            }
        }
    }
}

/// A run in its folder, with a file for each unit that is done.
pub(crate) struct Run {
    folder: PathBuf,
}

/// What all files of a run must have in common.
#[derive(Serialize, Deserialize, PartialEq)]
struct Mark {
    commit: String,
    units: Vec<String>,
}

impl Run {
    /// The run that was interrupted, where there is one of this commit and plan; else a new one.
    pub(crate) fn resume(workspace: &Workspace, scale: Scale, plan: &Plan, fresh: bool) -> Result<Self> {
        let folder = workspace.target(&format!("documents/{}", scale.name()));
        let mark =
            Mark { commit: commit(), units: plan.units.iter().map(|unit| unit.name.clone()).collect() };
        Self::resume_in(folder, &mark, fresh)
    }

    fn resume_in(folder: PathBuf, mark: &Mark, fresh: bool) -> Result<Self> {
        let path = folder.join("run.json");
        let found: Option<Mark> =
            std::fs::read_to_string(&path).ok().and_then(|text| serde_json::from_str(&text).ok());
        let goes_on = !fresh && found.as_ref() == Some(mark);
        if found.is_some() && !goes_on && !fresh {
            println!("An interrupted run was of another commit, or of other tests: this one begins anew.");
        }
        let run = Self { folder };
        if !goes_on {
            run.forget()?;
            std::fs::create_dir_all(run.folder.join("files"))
                .with_context(|| format!("making {}", run.folder.display()))?;
            std::fs::write(&path, serde_json::to_string(mark)?)
                .with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(run)
    }

    /// Runs what is not done; all records in the order of the plan.
    pub(crate) fn finish(&self, workspace: &Workspace, plan: &Plan) -> Result<Vec<Record>> {
        let total = plan.units.iter().map(|unit| unit.milliseconds).sum();
        let done = |unit: &&Unit| self.path(unit).exists();
        let before = plan.units.iter().filter(done).map(|unit| unit.milliseconds).sum();
        let bar = Progress::start(total, before);
        let mut records = Vec::new();
        for unit in &plan.units {
            if let Some(done) = self.read(unit)? {
                records.extend(done);
                continue;
            }
            bar.begin(unit);
            let measured = unit.measure(workspace, plan, &self.folder.join("files"));
            let measured = measured.with_context(|| format!("{} failed", unit.name))?;
            self.write(unit, &measured)?;
            bar.end(unit);
            records.extend(measured);
        }
        bar.finish();
        Ok(records)
    }

    /// Removes its files: the report has what they say.
    pub(crate) fn forget(&self) -> Result<()> {
        if self.folder.exists() {
            std::fs::remove_dir_all(&self.folder)
                .with_context(|| format!("emptying {}", self.folder.display()))?;
        }
        Ok(())
    }

    fn path(&self, unit: &Unit) -> PathBuf {
        self.folder.join(format!("{}.json", unit.name.replace('/', "-")))
    }

    fn read(&self, unit: &Unit) -> Result<Option<Vec<Record>>> {
        let path = self.path(unit);
        match std::fs::read_to_string(&path) {
            Ok(text) => {
                Ok(Some(serde_json::from_str(&text).with_context(|| format!("reading {}", path.display()))?))
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(|| format!("reading {}", path.display())),
        }
    }

    /// Writes a whole file or none, whenever the run is interrupted.
    fn write(&self, unit: &Unit, records: &[Record]) -> Result<()> {
        let (path, half) = (self.path(unit), self.folder.join("half-written"));
        std::fs::write(&half, serde_json::to_string(records)?)
            .and_then(|()| std::fs::rename(&half, &path))
            .with_context(|| format!("writing {}", path.display()))
    }
}

/// How far the run is and how long it will take: a bar on a terminal, elsewhere a line for each test.
struct Progress {
    bar: ProgressBar,
    last: std::cell::RefCell<String>,
}

impl Progress {
    /// Counts in the milliseconds that the plan estimates.
    fn start(total: u64, before: u64) -> Self {
        let style = ProgressStyle::with_template("{msg:32} {wide_bar} {percent}% {eta} left")
            .unwrap_or_else(|_| ProgressStyle::default_bar());
        let bar = ProgressBar::new(total).with_style(style).with_position(before);
        bar.reset_eta();
        Self { bar, last: String::new().into() }
    }

    fn begin(&self, unit: &Unit) {
        self.bar.set_message(unit.name.clone());
        let name = match &unit.work {
            Measure::Program(_) => unit.test(),
            Measure::Host(..) => &unit.name,
        };
        if self.bar.is_hidden() && *self.last.borrow() != name {
            let percent = 100 * self.bar.position() / self.bar.length().unwrap_or(1);
            println!("measure: {name} ({percent} % is done)");
            name.clone_into(&mut self.last.borrow_mut());
        }
    }

    fn end(&self, unit: &Unit) {
        self.bar.inc(unit.milliseconds);
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use twindex_benches::Reach;

    use super::*;

    fn unit(name: &str) -> Unit {
        Unit { name: name.into(), milliseconds: 1_000, work: Measure::Program(Program::Peers) }
    }

    fn mark(commit: &str) -> Mark {
        Mark { commit: commit.into(), units: vec!["strings/twindex/1/0".into()] }
    }

    #[test]
    fn a_run_of_the_same_commit_goes_on_and_any_other_begins_anew() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("quick");
        let unit = unit("strings/twindex/1/0");
        let records = [Record::new("strings", "twindex", Reach::Process, 7).figure("x", 1.5)];
        let resume = |commit, fresh| Run::resume_in(path.clone(), &mark(commit), fresh).unwrap();
        let found = |run: Run| run.read(&unit).unwrap().is_some();

        let run = resume("one", false);
        assert!(run.read(&unit).unwrap().is_none());
        run.write(&unit, &records).unwrap();
        assert_eq!(resume("one", false).read(&unit).unwrap().unwrap(), records);
        assert!(!found(resume("two", false)));
        resume("two", false).write(&unit, &records).unwrap();
        assert!(!found(resume("two", true)));
    }

    #[test]
    fn a_damaged_file_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run::resume_in(folder.path().join("quick"), &mark("one"), false).unwrap();
        let unit = unit("strings/twindex/1/0");
        std::fs::write(run.path(&unit), "{").unwrap();
        let error = format!("{:#}", run.read(&unit).unwrap_err());
        assert!(error.contains("strings-twindex-1-0.json"), "{error}");
    }
}
