//! The standard tests in every host.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use clap::{Args, ValueEnum as _};
use twindex_benches::{Measure, Report, Test};

use crate::build::{fast, guest};
use crate::run::{Log, command};
use crate::setup::Venv;
use crate::workspace::Workspace;

/// What the tests are run on.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// How many pairs; at most, with --keys-from
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) pairs: u32,
    /// Numbers of threads, each measured by itself; hosts of one thread are measured with one
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) threads: Vec<u16>,
    /// How often each step is measured; the median is shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) rounds: u16,
    /// Takes the keys from a file, one per line; empty lines and duplicates are dropped
    #[arg(long, value_name = "FILE")]
    pub(crate) keys_from: Option<PathBuf>,
}

/// What a host's script does.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) tests: Vec<Test>,
    pub(crate) pairs: u32,
    pub(crate) threads: Vec<u16>,
    pub(crate) rounds: u16,
    pub(crate) value_bytes: u32,
    pub(crate) keys_from: Option<PathBuf>,
    /// Over what programs of the host use today, and not over Twindex.
    pub(crate) beside: bool,
}

impl Options {
    /// One of the standard tests.
    pub(crate) fn work(&self, test: Test, beside: bool) -> Work {
        let Self { pairs, rounds, .. } = *self;
        let (threads, keys_from) = (self.threads.clone(), self.keys_from.clone());
        Work { tests: vec![test], pairs, threads, rounds, value_bytes: 16, keys_from, beside }
    }

    /// As typed after the command.
    pub(crate) fn arguments(&self) -> String {
        let Self { pairs, threads, rounds, keys_from } = self;
        let line = format!("--pairs {pairs} --threads {} --rounds {rounds}", list(threads));
        match keys_from {
            Some(path) => format!("{line} --keys-from {}", path.display()),
            None => line,
        }
    }
}

impl Work {
    /// Small enough to show only that a host's script works, with all tests that it has.
    pub(crate) fn smoke(host: Host) -> Self {
        let mut tests = Test::value_variants().to_vec();
        tests.retain(|test| host != Host::Guest || *test != Test::Clients);
        Self {
            tests,
            pairs: 1_000,
            threads: vec![1, 2],
            rounds: 1,
            value_bytes: 16,
            keys_from: None,
            beside: false,
        }
    }

    /// Threads share no map.
    fn threads_of(&self, host: Host) -> &[u16] {
        if self.beside { &[1] } else { host.threads(&self.threads) }
    }

    fn add_to(&self, command: &mut Command, threads: &[u16], json: &Path) -> Result<()> {
        let tests: Vec<&str> = self.tests.iter().map(|test| name(*test)).collect();
        command.args(["--test", &tests.join(","), "--value-bytes", &self.value_bytes.to_string()]);
        command.args(["--pairs", &self.pairs.to_string(), "--threads", &list(threads)]);
        command.args(["--rounds", &self.rounds.to_string()]).arg("--json").arg(json);
        command.args(self.beside.then_some("--beside"));
        if let Some(path) = &self.keys_from {
            // Hosts run in folders of their own.
            let path = path.canonicalize().with_context(|| format!("--keys-from {}", path.display()))?;
            command.arg("--keys-from").arg(path);
        }
        Ok(())
    }
}

fn name(test: Test) -> &'static str {
    match test {
        Test::Strings => "strings",
        Test::Sorted => "sorted",
        Test::Clients => "clients",
    }
}

fn list(numbers: &[u16]) -> String {
    numbers.iter().map(u16::to_string).collect::<Vec<_>>().join(",")
}

/// A program that holds the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    Rust,
    Python,
    Node,
    /// A module that is called from outside for each pair.
    Wasmtime,
    WasmNode,
    /// A program in WebAssembly that has the engine in it, under Python's wasmtime.
    Guest,
}

/// How a host's Rust parts are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Build {
    /// For speed, as users get it.
    Release,
    /// As cargo builds a program of one's own unless told otherwise.
    Demo,
    /// Quickly.
    Test,
}

impl Host {
    /// As its report calls itself.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Rust => "rust",
            Self::Python => "python",
            Self::Node => "node",
            Self::Wasmtime => "wasmtime",
            Self::WasmNode => "wasm-node",
            Self::Guest => "wasm-guest",
        }
    }

    pub(crate) fn threads(self, wanted: &[u16]) -> &[u16] {
        match self {
            Self::Rust | Self::Python | Self::Node => wanted,
            Self::Wasmtime | Self::WasmNode | Self::Guest => &[1],
        }
    }

    fn command(self, workspace: &Workspace, build: Build) -> Command {
        match (self, build) {
            (Self::Rust, Build::Release) => cargo(workspace, "run --release --package twindex-benches --"),
            (Self::Rust, Build::Demo) => fast(cargo(workspace, "run --release --package twindex-benches --")),
            (Self::Rust, Build::Test) => cargo(workspace, "run --package twindex-benches --"),
            (Self::Wasmtime, Build::Release | Build::Demo) => {
                cargo(workspace, "bench --profile wasmtime --package twindex-wasm --bench seeds --")
            }
            (Self::Wasmtime, Build::Test) => {
                let mut cargo = workspace.cargo_test();
                cargo.args(["--bench=seeds", "--"]);
                cargo
            }
            (Self::Python, _) => {
                let python = Venv::of_tests(workspace).python();
                script(command(python, &workspace.path("bindings/python")), "bench.py")
            }
            (Self::Node, _) => script(command("node", &workspace.path("bindings/node")), "bench.mjs"),
            (Self::WasmNode, _) => script(command("node", &workspace.path("wasm/npm")), "bench.mjs"),
            (Self::Guest, _) => {
                let python = Venv::of_wasmtime(workspace).python();
                let mut python = script(command(python, &workspace.path("wasm/benches")), "bench.py");
                python.arg(guest(workspace));
                python
            }
        }
    }

    /// Runs the tests, writes what they measured into `folder`, and returns it once it is found complete.
    pub(crate) fn run(
        self,
        workspace: &Workspace,
        build: Build,
        work: &Work,
        folder: &Path,
        log: &mut Log,
    ) -> Result<Report> {
        let json = folder.join(format!("{}.json", self.name()));
        let threads = work.threads_of(self);
        let mut command = self.command(workspace, build);
        work.add_to(&mut command, threads, &json)?;
        match build {
            Build::Release | Build::Demo => log.run_shown(&mut command)?,
            // Others run beside it, and a terminal has one last line.
            Build::Test => log.run(&mut command)?,
        }
        let text = std::fs::read_to_string(&json).with_context(|| format!("reading {}", json.display()))?;
        let report: Report =
            serde_json::from_str(&text).with_context(|| format!("reading {}", json.display()))?;
        check(&report, self, work, threads).with_context(|| format!("in {}", json.display()))?;
        Ok(report)
    }
}

fn cargo(workspace: &Workspace, words: &str) -> Command {
    let mut cargo = command("cargo", workspace.root());
    cargo.args(words.split(' '));
    cargo
}

fn script(mut interpreter: Command, name: &str) -> Command {
    interpreter.arg(name);
    interpreter
}

/// Whether a report is of `host`, and has sound figures of every step with every number of threads.
fn check(report: &Report, host: Host, work: &Work, threads: &[u16]) -> Result<()> {
    ensure!(report.host == host.name(), "the host is {}, not {}", report.host, host.name());
    ensure!(report.pairs > 0, "there are no pairs");
    let steps: Vec<&str> = work.tests.iter().flat_map(|test| test.steps()).copied().collect();
    for &threads in threads {
        for &step in &steps {
            let what = || format!("{step} with {threads} threads");
            let mut found =
                report.results.iter().filter(|measure| measure.step == step && measure.threads == threads);
            let (Some(measure), None) = (found.next(), found.next()) else {
                bail!("{} is not there once", what());
            };
            ensure!((measure.system != "twindex") == work.beside, "{} holds the pairs", measure.system);
            check_measure(measure, report).with_context(what)?;
        }
    }
    let expected = threads.len() * steps.len();
    ensure!(report.results.len() == expected, "there are {} results, not {expected}", report.results.len());
    Ok(())
}

fn check_measure(measure: &Measure, report: &Report) -> Result<()> {
    let Measure { keys, milliseconds, ops, rounds_ms, bytes_per_pair, .. } = measure;
    ensure!(*keys == report.pairs, "{keys} keys of {} pairs", report.pairs);
    ensure!(*milliseconds > 0.0, "{milliseconds} ms");
    ensure!(rounds_ms.len() == usize::from(report.rounds), "{} rounds of {}", rounds_ms.len(), report.rounds);
    #[allow(clippy::cast_precision_loss, reason = "no rate comes near the 53rd bit")]
    let ratio = *ops as f64 / (f64::from(*keys) / (milliseconds / 1e3));
    ensure!((0.99..1.01).contains(&ratio), "{ops} operations/s are not {keys} in {milliseconds} ms");
    let says_bytes = measure.step.ends_with("_write") && measure.system == "twindex";
    ensure!(
        bytes_per_pair.is_some_and(|bytes| bytes > 0.0) == says_bytes,
        "bytes per pair are {bytes_per_pair:?}"
    );
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests {
    use std::time::Duration;

    use super::*;

    const TESTS: [Test; 2] = [Test::Strings, Test::Sorted];

    /// A report as `host` writes it of the seeds' two tests.
    pub(crate) fn sample(host: Host, threads: &[u16]) -> Report {
        let results = threads
            .iter()
            .flat_map(|&threads| TESTS.map(|test| (threads, test)))
            .flat_map(|(threads, test)| test.steps().iter().map(move |step| (threads, *step)))
            .map(|(threads, step)| {
                let mut measure = Measure::new(step, 1_000, threads, &[Duration::from_millis(2)]);
                measure.bytes_per_pair = step.ends_with("_write").then_some(50.5);
                measure
            })
            .collect();
        Report {
            host: host.name().into(),
            version: "0.1.0".into(),
            pairs: 1_000,
            key_bytes: 16,
            value_bytes: 16,
            keys_from: None,
            rounds: 1,
            results,
        }
    }

    fn work() -> Work {
        Work { tests: TESTS.to_vec(), ..Work::smoke(Host::Node) }
    }

    #[test]
    fn a_whole_report_is_accepted() -> Result<()> {
        check(&sample(Host::Rust, &[1, 2]), Host::Rust, &work(), &[1, 2])
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let whole = || sample(Host::Node, &[1, 2]);
        let refused = |change: fn(&mut Report), mention: &str| {
            let mut report = whole();
            change(&mut report);
            let error = check(&report, Host::Node, &work(), &[1, 2]).expect_err(mention);
            assert!(format!("{error:#}").contains(mention), "{error:#}");
        };
        refused(|report| report.host = "rust".into(), "the host is rust");
        refused(|report| drop(report.results.pop()), "sorted_read with 2 threads is not there once");
        refused(|report| report.results.push(report.results[0].clone()), "unordered_write with 1 threads");
        refused(|report| report.results[3].keys = 7, "7 keys of 1000 pairs");
        refused(|report| report.results[3].ops *= 2, "operations/s");
        refused(|report| report.results[0].bytes_per_pair = None, "bytes per pair");
        refused(|report| report.results[1].rounds_ms.clear(), "0 rounds of 1");
        refused(|report| report.results[2].system = "Map".into(), "Map holds the pairs");
        assert!(
            check(&whole(), Host::Node, &work(), &[1]).is_err(),
            "results that nobody asked for were taken"
        );
    }
}
