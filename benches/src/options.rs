//! What the command line of a program that measures can say.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Parser, ValueEnum};

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
    /// hex, seq (numbers with leading zeros), paths (long common starts), letters (three of them), mixed (20 to 150 bytes that lie
    /// in memory in another order than that of their use), or a file of lines
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
