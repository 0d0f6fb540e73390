//! What one process does, and what comes of it.

use clap::Args;
use serde::{Deserialize, Serialize};
use twindex_benches::KeyList;

use crate::clock::Clock;
use crate::data::Data;
use crate::keys;

/// One job with one system, as the driver asks for it.
#[derive(Args, Clone, Debug)]
pub(crate) struct One {
    #[arg(long)]
    pub(crate) job: String,
    #[arg(long)]
    pub(crate) system: String,
    #[arg(long)]
    pub(crate) pairs: u32,
    #[arg(long)]
    pub(crate) threads: u16,
    #[arg(long, value_delimiter = ',')]
    pub(crate) rows: Vec<String>,
    #[command(flatten)]
    pub(crate) data: Data,
}

/// One figure of one row.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Figure {
    pub(crate) row: String,
    pub(crate) value: f64,
}

/// A job to be done by one process.
pub(crate) struct Task {
    pub(crate) one: One,
    /// The keys in random order, numbered so.
    pub(crate) keys: KeyList,
}

impl Task {
    pub(crate) fn new(one: One) -> Self {
        // A job that deletes or adds pairs as it goes needs keys for those too.
        let spare = match one.job.as_str() {
            "hash_churn" | "sorted_churn" => one.pairs,
            "ycsb_e" => one.pairs / 10,
            _ => 0,
        };
        let keys = keys::keys(&one.data, one.pairs + spare);
        Self { one, keys }
    }

    pub(crate) fn threads(&self) -> usize {
        usize::from(self.one.threads)
    }

    pub(crate) fn clock(&self) -> Clock {
        self.one.data.clock
    }

    pub(crate) fn value_bytes(&self) -> usize {
        self.one.data.value_bytes as usize
    }

    /// Whether someone asked for the row.
    pub(crate) fn wants(&self, row: &str) -> bool {
        self.one.rows.iter().any(|wanted| wanted == row)
    }
}
