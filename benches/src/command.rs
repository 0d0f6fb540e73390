//! The command line of every program that measures.

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::keys::{KeyList, keys};
use crate::peer::{Peer, SortedSession};
use crate::record::{Record, Unit};
use crate::{append, cold, fill, small, ycsb};

/// A result whose error is shown as it is.
pub type Fallible<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// Does one work with one system in this process, and prints a line of JSON for each figure.
#[derive(Parser, Clone, Debug)]
#[command(version, args_override_self = true)]
pub struct Options {
    /// The work; `list` shows works and systems, `keys` writes the keys to --file, one a line
    pub work: String,
    /// The system
    #[arg(long, default_value = "")]
    pub system: String,
    /// The index of the tables
    #[arg(long, value_enum, default_value_t = Index::Hash)]
    pub index: Index,
    /// The figures; all of the work unless given
    #[arg(long, value_delimiter = ',')]
    pub figures: Vec<String>,
    /// How many pairs, messages or records
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1..))]
    pub pairs: u32,
    /// The same for a server over the loopback, which is some fifty times slower [default: a twentieth]
    #[arg(long)]
    pub remote_pairs: Option<u32>,
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// hex, seq (numbers with leading zeros), paths (long common starts), letters (three of them), or a file of lines
    #[arg(long, default_value = "hex")]
    pub keys: String,
    /// The length of hex and seq keys
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub key_bytes: u16,
    #[arg(long, default_value_t = 16)]
    pub value_bytes: u32,
    /// The order of inserts
    #[arg(long, value_enum, default_value_t = Order::Random)]
    pub order: Order,
    /// What time is; the processor's is disturbed less by other programs, for one thread only
    #[arg(long, value_enum, default_value_t = Clock::Wall)]
    pub clock: Clock,
    /// Pairs of one call of a `_many` form
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    pub batch: u32,
    /// small: the pairs of a table. append: into so many parts the run is cut
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub each: u32,
    /// ycsb: the workload
    #[arg(long, default_value = "A", value_parser = ["A", "B", "C", "D", "E", "F"])]
    pub workload: String,
    /// ycsb: so many operations a second, by all threads together; as fast as they go unless given
    #[arg(long)]
    pub rate: Option<u32>,
    /// When a change reaches the disk, of systems with a file
    #[arg(long, value_enum, default_value_t = Persistence::None)]
    pub persistence: Persistence,
    /// Where files are made, and removed afterwards [default: the folder for temporary files]
    #[arg(long)]
    pub folder: Option<PathBuf>,
    /// keys: the file to write. cache-hits: a trace to read
    #[arg(long)]
    pub file: Option<PathBuf>,
    /// Give this process small pages alone (Linux)
    #[arg(long)]
    pub small_pages: bool,
    /// What cargo adds
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Index {
    Hash,
    Sorted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    Random,
    Ascending,
    Descending,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Persistence {
    None,
    Everysec,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Clock {
    Wall,
    Processor,
}

impl Clock {
    /// The time since some moment that stays the same; for the processor's time, within a thread.
    pub fn now(self) -> Duration {
        #[cfg(unix)]
        {
            use rustix::time::{ClockId, clock_gettime};
            let time = clock_gettime(match self {
                Self::Wall => ClockId::Monotonic,
                Self::Processor => ClockId::ThreadCPUTime,
            });
            Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
        }
        #[cfg(not(unix))]
        {
            static START: std::sync::LazyLock<std::time::Instant> =
                std::sync::LazyLock::new(std::time::Instant::now);
            START.elapsed()
        }
    }

    /// The time since `start`, which this clock gave.
    pub fn since(self, start: Duration) -> Duration {
        self.now().saturating_sub(start)
    }
}

impl Options {
    /// A new folder of its own, removed when it is dropped.
    pub fn new_folder(&self) -> Fallible<tempfile::TempDir> {
        Ok(match &self.folder {
            Some(folder) => tempfile::TempDir::new_in(folder)?,
            None => tempfile::TempDir::new()?,
        })
    }
}

/// One work to be done by one system.
pub struct Job<'o> {
    pub options: &'o Options,
    pub system: &'static str,
}

impl Job<'_> {
    pub fn threads(&self) -> usize {
        self.options.threads.into()
    }

    pub fn value_bytes(&self) -> usize {
        self.options.value_bytes as usize
    }

    /// The keys in random order, numbered so, and so many spare ones behind them.
    pub fn keys(&self, spare: u32) -> Fallible<KeyList> {
        keys(self.options, spare)
    }

    /// Whether the figure is asked for.
    pub fn wants(&self, figure: &str) -> bool {
        let figures = &self.options.figures;
        figures.is_empty() || figures.iter().any(|wanted| wanted == figure)
    }

    pub fn record(&self, figure: impl Into<String>, unit: Unit, value: f64) -> Record {
        Record::new(self.system, figure, unit, value)
    }

    /// Operations per second.
    pub fn rate(&self, figure: impl Into<String>, operations: usize, time: Duration) -> Record {
        self.record(figure, Unit::Rate, operations as f64 / time.as_secs_f64())
    }
}

type Run = fn(&Job<'_>) -> Fallible<Vec<Record>>;

/// A system with the works that it does.
pub struct System {
    pub name: &'static str,
    pub index: Option<Index>,
    pub threads: bool,
    remote: bool,
    pub works: &'static [(&'static str, Run)],
}

impl System {
    /// A hash table.
    pub const fn hash<P: Peer>() -> Self {
        Self {
            name: P::NAME,
            index: Some(Index::Hash),
            threads: P::THREADS,
            remote: P::REMOTE,
            works: const {
                &[
                    ("fill", fill::hash::<P> as Run),
                    ("cold", cold::run::<P>),
                    ("churn", small::churn::<P>),
                    ("latency", small::latency::<P>),
                    ("small", small::tables::<P>),
                    ("ycsb", ycsb::point::<P>),
                ]
            },
        }
    }

    /// A table that keeps its keys in order.
    pub const fn sorted<P: Peer>() -> Self
    where
        for<'p> P::Session<'p>: SortedSession,
    {
        Self {
            index: Some(Index::Sorted),
            works: const {
                &[
                    ("fill", fill::sorted::<P> as Run),
                    ("churn", small::churn::<P>),
                    ("latency", small::latency::<P>),
                    ("small", small::tables::<P>),
                    ("ycsb", ycsb::scans::<P>),
                    ("append", append::run::<P>),
                ]
            },
            ..Self::hash::<P>()
        }
    }

    /// A list that is only appended to.
    pub const fn list<P: Peer>() -> Self {
        Self {
            index: Some(Index::Sorted),
            works: const { &[("append", append::run::<P> as Run)] },
            ..Self::hash::<P>()
        }
    }

    /// The same under another name.
    #[must_use]
    pub const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    /// A system with works of its own.
    pub const fn special(name: &'static str, works: &'static [(&'static str, Run)]) -> Self {
        Self { name, index: None, threads: true, remote: false, works }
    }

    /// Does the work that the options name.
    pub fn run(&self, options: &Options) -> Fallible<Vec<Record>> {
        let mut options = options.clone();
        if self.remote {
            options.pairs = options.remote_pairs.unwrap_or(options.pairs / 20).max(1);
        }
        if options.threads > 1 && (!self.threads || options.clock == Clock::Processor) {
            return Err(format!("{}: --threads {} is not possible", self.name, options.threads).into());
        }
        let work = self.works.iter().find(|(name, _)| *name == options.work);
        let (_, run) = work.ok_or_else(|| format!("{} does no work {}", self.name, options.work))?;
        run(&Job { options: &options, system: self.name })
    }
}

/// A whole program: reads the command line, does the work and prints the figures.
pub fn main(systems: &[System]) -> ExitCode {
    match run(systems, &Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(systems: &[System], options: &Options) -> Fallible {
    if options.small_pages {
        forbid_huge_pages()?;
    }
    match options.work.as_str() {
        "keys" => {
            let path = options.file.as_ref().ok_or("keys are written to --file FILE")?;
            let keys = keys(options, 0)?;
            let mut lines = Vec::new();
            for (_, key) in keys.pairs(0..keys.len()) {
                lines.extend_from_slice(key);
                lines.push(b'\n');
            }
            std::fs::write(path, lines).map_err(|error| format!("{}: {error}", path.display()))?;
        }
        "list" => {
            for System { name, index, works, .. } in systems {
                let works: Vec<_> = works.iter().map(|work| work.0).collect();
                let index = index.map_or(String::new(), |index| format!("{index:?} ").to_lowercase());
                println!("{index}{name}: {}", works.join(" "));
            }
        }
        work => {
            let is_meant = |system: &&System| {
                let does_it = system.works.iter().any(|(name, _)| *name == work);
                system.name == options.system
                    && system.index.is_none_or(|index| index == options.index)
                    && does_it
            };
            let system = systems.iter().find(is_meant).ok_or_else(|| {
                let index = format!("{:?}", options.index).to_lowercase();
                format!(
                    "there is no {index} system {:?} for the work {work:?}; `list` shows them",
                    options.system
                )
            })?;
            for record in system.run(options)? {
                println!("{}", serde_json::to_string(&record)?);
            }
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
fn forbid_huge_pages() -> Fallible {
    // SAFETY: this sets a flag of the process and touches no memory.
    if unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } == 0 {
        return Ok(());
    }
    Err(std::io::Error::last_os_error().into())
}

#[cfg(not(target_os = "linux"))]
fn forbid_huge_pages() -> Fallible {
    Err("--small-pages: only Linux can do that".into())
}
