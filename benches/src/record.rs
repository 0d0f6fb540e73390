//! A figure, in the one form that every host and every system prints: a line of JSON.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

/// What a figure counts. Of [`Rate`](Self::Rate) and [`Percent`](Self::Percent) more is better, of the others less.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Operations, or pairs, per second.
    #[serde(rename = "/s")]
    Rate,
    #[serde(rename = "%")]
    Percent,
    #[serde(rename = "bytes")]
    Bytes,
    #[serde(rename = "ns")]
    Nanoseconds,
    #[serde(rename = "s")]
    Seconds,
}

/// One figure of one system in one round. The runner adds the row, the host, the round and the build.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Record {
    pub system: String,
    pub figure: String,
    pub unit: Unit,
    pub value: f64,
    /// What varies beside the options, such as a trace's name.
    pub params: BTreeMap<String, Value>,
}

impl Record {
    /// A figure without parameters.
    pub fn new(system: &str, figure: impl Into<String>, unit: Unit, value: f64) -> Self {
        Self { system: system.into(), figure: figure.into(), unit, value, params: BTreeMap::new() }
    }

    /// With a parameter.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.params.insert(name.into(), value.into());
        self
    }
}

/// The middle of some numbers.
pub fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
}
