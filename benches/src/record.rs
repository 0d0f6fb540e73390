//! What a test of a document measured once, in the one form that every host and every system gives.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a call goes through on its way to the data. Work of one kind is never the same work as work of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    /// The data are in the memory of the process that asks.
    Process,
    /// Each request goes through the system's network to a server on the same machine, and the reply comes back.
    Loopback,
}

/// What one system did in one round of one test.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Record {
    /// The test, such as `strings` or `ycsb`.
    pub test: String,
    /// The system, such as `twindex` or `redis`.
    pub system: String,
    /// The language or runtime that called it.
    pub host: String,
    /// How it was called.
    pub reach: Reach,
    /// What the test varies, such as the number of threads: numbers and texts.
    pub params: BTreeMap<String, Value>,
    /// How many operations the figures come from.
    pub operations: u64,
    /// The round, from 0 on.
    pub round: u16,
    /// The figures by name. Of those whose name ends in `_per_second` or `_percent` more is better, of the others less.
    pub figures: BTreeMap<String, f64>,
}

impl Record {
    /// A record of the first round, without parameters and figures yet, made by a Rust program.
    pub fn new(test: &str, system: &str, reach: Reach, operations: u64) -> Self {
        Self {
            test: test.into(),
            system: system.into(),
            host: "rust".into(),
            reach,
            params: BTreeMap::new(),
            operations,
            round: 0,
            figures: BTreeMap::new(),
        }
    }

    /// With a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }

    /// With a figure.
    #[must_use]
    pub fn figure(mut self, name: &str, value: f64) -> Self {
        self.figures.insert(name.into(), value);
        self
    }
}
