//! How much is done: the documents' own sizes, less where the machine is smaller, and little.

use clap::ValueEnum;
use twindex_benches::Reach;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scale {
    /// Under two minutes in all, to see that everything works: its figures say little
    Quick,
    /// What a small machine does in about twenty minutes
    Machine,
    /// The documents' own sizes, as far as memory allows: hours
    Full,
    /// What the tests do
    #[value(hide = true)]
    Test,
}

/// The sizes of all tests. What goes over the loopback is some fifty times slower, and its rate depends little on how
/// long it is measured: there are fewer of these operations, and each table says how many.
pub(crate) struct Sizes {
    pub(crate) rounds: u16,
    pub(crate) remote_rounds: u16,
    /// Index64: pairs, and threads.
    pub(crate) pairs: [u32; 2],
    pub(crate) threads: Vec<u16>,
    /// Reads of few pairs walk over them until they are so many.
    pub(crate) least_reads: usize,
    /// Skytable: queries of each kind, and clients.
    pub(crate) queries: [u32; 2],
    pub(crate) clients: Vec<u16>,
    /// YCSB: records, operations of one run, threads; with how many latencies are told, and for how long at a rate.
    pub(crate) records: [u32; 2],
    pub(crate) requests: [u32; 2],
    pub(crate) workers: Vec<u16>,
    pub(crate) latency_workers: u16,
    pub(crate) rate: [u32; 2],
    pub(crate) rate_seconds: f64,
    /// Elektra: the numbers of keys.
    pub(crate) keysets: Vec<u32>,
    /// The largest of them for Redis.
    pub(crate) remote_keyset: u32,
    /// Blobs: the bytes that one run appends, the sizes of batches, the connections, the sizes of large messages, the
    /// bytes to fill the memory with.
    pub(crate) append_bytes: [usize; 2],
    pub(crate) batches: Vec<usize>,
    pub(crate) connections: Vec<u16>,
    pub(crate) large: Vec<usize>,
    pub(crate) fill_bytes: usize,
    /// Batches of one run where each is on disk when it returns, and where not.
    pub(crate) synced_batches: usize,
    pub(crate) unsynced_batches: usize,
}

const MB: usize = 1_000_000;

impl Scale {
    pub(crate) fn sizes(self) -> Sizes {
        match self {
            Self::Quick => Sizes::quick(),
            Self::Machine => Sizes::machine(),
            Self::Full => Sizes::full(),
            Self::Test => Sizes::test(),
        }
    }
}

impl Sizes {
    fn machine() -> Self {
        Self {
            rounds: 3,
            remote_rounds: 1,
            pairs: [1_000_000, 50_000],
            threads: vec![1, 2, 4, 8, 16],
            least_reads: 500_000,
            queries: [100_000, 20_000],
            clients: vec![1, 2, 5, 10, 20, 30, 40],
            records: [250_000, 25_000],
            requests: [200_000, 10_000],
            workers: vec![1, 2, 4, 8, 15, 30],
            latency_workers: 8,
            rate: [100_000, 4_000],
            rate_seconds: 1.0,
            keysets: vec![2, 200, 2_000, 200_000, 2_000_000],
            remote_keyset: 200_000,
            append_bytes: [128 * MB, 32 * MB],
            batches: vec![128, 256, 1_024, 32_768],
            connections: vec![1, 2, 4, 8, 32, 128],
            large: vec![500_000, 5 * MB, 100 * MB],
            fill_bytes: 1_000 * MB,
            synced_batches: 240,
            unsynced_batches: 8_000,
        }
    }

    fn full() -> Self {
        // Half of the memory, for what the system itself and others need.
        let memory = memory_bytes() / 2;
        let records = (memory / 1_500).min(100_000_000) as u32;
        Self {
            remote_rounds: 3,
            pairs: [10_000_000; 2],
            threads: (1..=16).collect(),
            queries: [100_000; 2],
            records: [records, records.min(10_000_000)],
            requests: [10_000_000, 1_000_000],
            rate_seconds: 30.0,
            remote_keyset: 2_000_000,
            append_bytes: [memory.min(4_000 * MB), 1_000 * MB],
            fill_bytes: memory,
            synced_batches: 2_000,
            unsynced_batches: 64_000,
            ..Self::machine()
        }
    }

    fn quick() -> Self {
        Self {
            rounds: 2,
            pairs: [20_000, 1_000],
            threads: vec![1, 2],
            least_reads: 1,
            queries: [20_000, 1_000],
            clients: vec![1, 5],
            records: [5_000, 500],
            requests: [10_000, 500],
            workers: vec![1, 2],
            latency_workers: 2,
            rate: [20_000, 1_000],
            rate_seconds: 0.1,
            keysets: vec![2, 200, 2_000],
            append_bytes: [4 * MB, 2 * MB],
            batches: vec![128, 1_024],
            connections: vec![1, 2],
            large: vec![500_000, 5 * MB],
            fill_bytes: 20 * MB,
            synced_batches: 16,
            unsynced_batches: 160,
            ..Self::machine()
        }
    }

    fn test() -> Self {
        Self {
            pairs: [500, 50],
            queries: [500, 50],
            records: [300, 50],
            requests: [400, 50],
            rate_seconds: 0.01,
            keysets: vec![2, 200],
            append_bytes: [200_000, 100_000],
            batches: vec![16],
            large: vec![500_000],
            fill_bytes: MB,
            synced_batches: 8,
            unsynced_batches: 8,
            ..Self::quick()
        }
    }

    /// The size for a system that is called so.
    pub(crate) fn of<T: Copy>(pair: [T; 2], reach: Reach) -> T {
        match reach {
            Reach::Process => pair[0],
            Reach::Loopback => pair[1],
        }
    }

    /// How often to walk over so many keys when they are read.
    pub(crate) fn walks(&self, keys: usize, reach: Reach) -> usize {
        match reach {
            Reach::Process => self.least_reads.div_ceil(keys.max(1)),
            Reach::Loopback => 1,
        }
    }

    /// About how long one unit of a test takes on a small machine: the plan's weights, from which the time that is left
    /// is told.
    pub(crate) fn seconds(&self, test: &str, reach: Reach) -> f64 {
        let at = |operations: u32, millions: f64, loopback: f64| match reach {
            Reach::Process => f64::from(operations) / (millions * 1e6),
            Reach::Loopback => f64::from(operations) / loopback,
        };
        let runs = self.workers.len() as f64;
        let requests = Self::of(self.requests, reach);
        0.2 + match test {
            "strings" => at(Self::of(self.pairs, reach), 0.4, 15e3),
            "sorted" => at(Self::of(self.pairs, reach), 0.25, 12e3),
            "clients" => at(Self::of(self.queries, reach), 1.0, 10e3),
            "ycsb" => at(requests, 0.15, 4e3) * runs + 4.0 * self.rate_seconds,
            "scans" => at(requests / 10, 0.03, 1e3) * runs,
            "keyset" => f64::from(self.keysets.iter().sum::<u32>()) * 6e-6,
            "append" => {
                let runs = (self.batches.len() + self.connections.len()) as f64 * 2.0;
                let bytes = Self::of(self.append_bytes, reach) as f64;
                (bytes * runs + self.fill_bytes as f64) * 2e-9
            }
            "memory_small" | "memory_medium" => Self::of(self.append_bytes, reach) as f64 * 5e-9,
            _ => self.synced_batches as f64 * 0.02 + self.unsynced_batches as f64 * 4e-4,
        }
    }
}

fn memory_bytes() -> usize {
    let mut system = sysinfo::System::new().expect("the system tells about itself");
    system.refresh_memory();
    system.available_memory() as usize
}
