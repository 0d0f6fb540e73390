//! What the rounds of a test came to.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use twindex_benches::{Reach, Record, Report as HostReport, Test};

/// One system at one test with one set of parameters, over all rounds.
#[derive(Serialize, Deserialize, Clone, Debug)]
pub(crate) struct Outcome {
    pub(crate) test: String,
    pub(crate) system: String,
    pub(crate) host: String,
    pub(crate) reach: Reach,
    pub(crate) params: BTreeMap<String, Value>,
    pub(crate) operations: u64,
    pub(crate) figures: BTreeMap<String, Figure>,
}

/// One figure over the rounds.
#[derive(Serialize, Deserialize, Clone, Copy, Debug, PartialEq)]
pub(crate) struct Figure {
    pub(crate) median: f64,
    pub(crate) least: f64,
    pub(crate) greatest: f64,
    pub(crate) rounds: usize,
}

impl Outcome {
    /// Whether this is the same work by the same system.
    pub(crate) fn is_of(&self, other: &Self) -> bool {
        (&self.system, &self.host) == (&other.system, &other.host) && self.is_same_work(other)
    }

    /// Whether this is the same work, by whichever system.
    pub(crate) fn is_same_work(&self, other: &Self) -> bool {
        (&self.test, self.reach, &self.params) == (&other.test, other.reach, &other.params)
    }
}

impl Figure {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        let (first, last) = ((rounds.len() - 1) / 2, rounds.len() / 2);
        Self {
            median: f64::midpoint(rounds[first], rounds[last]),
            least: rounds[0],
            greatest: rounds[rounds.len() - 1],
            rounds: rounds.len(),
        }
    }
}

/// The records of each system, test and set of parameters together, in the order in which each came first.
pub(crate) fn outcomes(records: Vec<Record>) -> Vec<Outcome> {
    let mut all: Vec<(Record, BTreeMap<String, Vec<f64>>)> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    for record in records {
        let work = format!("{} {} {} {:?}", record.test, record.system, record.host, record.params);
        let place = *places.entry(work).or_insert_with(|| {
            all.push((record.clone(), BTreeMap::new()));
            all.len() - 1
        });
        for (name, value) in record.figures {
            all[place].1.entry(name).or_default().push(value);
        }
    }
    let outcome = |(Record { test, system, host, reach, params, operations, .. }, rounds): (Record, _)| {
        let rounds: BTreeMap<String, Vec<f64>> = rounds;
        let figures = rounds.into_iter().map(|(name, values)| (name, Figure::of(values))).collect();
        Outcome { test, system, host, reach, params, operations, figures }
    };
    all.into_iter().map(outcome).collect()
}

/// What a host's bench script measured, as records: one a round.
pub(crate) fn records_of(host: &HostReport) -> Vec<Record> {
    let mut records = Vec::new();
    for measure in &host.results {
        let Some((test, threads, rate)) = place_of(&measure.step) else { continue };
        let record = |test: &str| {
            let record = Record::new(test, &measure.system, Reach::Process, measure.keys.into());
            Record { host: host.host.clone(), ..record }
        };
        for (round, milliseconds) in (0..).zip(&measure.rounds_ms) {
            let per_second = f64::from(measure.keys) / (milliseconds / 1e3);
            let record = record(test).with(threads, measure.threads).figure(rate, per_second);
            records.push(Record { round, ..record });
        }
        let counted = measure.bytes_per_pair.map(|bytes| ("counted_bytes_per_pair", bytes));
        let grown = measure.resident_bytes_per_pair.map(|bytes| ("bytes_per_pair", bytes));
        if let (Some(_), 1) = (grown, measure.threads) {
            let mut memory = record(&format!("{test}_memory"));
            memory.figures = counted.into_iter().chain(grown).map(|(name, v)| (name.into(), v)).collect();
            records.push(memory);
        }
    }
    records
}

/// The test to which a step belongs, what it varies, and what the step's rate is called.
fn place_of(step: &str) -> Option<(&'static str, &'static str, &'static str)> {
    let place = |test, at: usize| match (test, at) {
        (Test::Strings, 0) => ("strings", "threads", "insert_per_second"),
        (Test::Strings, _) => ("strings", "threads", "select_per_second"),
        (Test::Sorted, 0) => ("sorted", "threads", "insert_per_second"),
        (Test::Sorted, _) => ("sorted", "threads", "scan_asc_next_per_second"),
        (Test::Clients, 0) => ("clients", "clients", "set_per_second"),
        (Test::Clients, 1) => ("clients", "clients", "get_per_second"),
        (Test::Clients, _) => ("clients", "clients", "update_per_second"),
    };
    [Test::Strings, Test::Sorted, Test::Clients]
        .into_iter()
        .find_map(|test| test.steps().iter().position(|name| *name == step).map(|at| place(test, at)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::{Host, tests::sample};

    #[test]
    fn rounds_come_together_and_nothing_else_does() {
        let record = |system: &str, threads: u64, rate: f64| {
            Record::new("strings", system, Reach::Process, 10).with("threads", threads).figure("x", rate)
        };
        let all = [record("a", 1, 3.0), record("b", 1, 9.0), record("a", 1, 1.0), record("a", 2, 8.0)];
        let outcomes = outcomes(all.to_vec());
        let shown: Vec<_> = outcomes.iter().map(|o| (o.system.as_str(), o.figures["x"])).collect();
        let figure = |median, least, greatest, rounds| Figure { median, least, greatest, rounds };
        let expected = [
            ("a", figure(2.0, 1.0, 3.0, 2)),
            ("b", figure(9.0, 9.0, 9.0, 1)),
            ("a", figure(8.0, 8.0, 8.0, 1)),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_host_gives_a_record_for_each_round_of_each_step() {
        let mut report = sample(Host::Python, &[1, 2]);
        report.results[0].resident_bytes_per_pair = Some(60.0);
        let outcomes = outcomes(records_of(&report));
        let tests: Vec<_> = outcomes.iter().map(|o| (o.test.as_str(), o.params.get("threads"))).collect();
        let (one, two) = (Value::from(1), Value::from(2));
        let expected = [
            ("strings", Some(&one)),
            ("strings_memory", None),
            ("sorted", Some(&one)),
            ("strings", Some(&two)),
            ("sorted", Some(&two)),
        ];
        assert_eq!(tests, expected);
        assert!(outcomes.iter().all(|outcome| outcome.host == "python" && outcome.system == "twindex"));
        assert_eq!(outcomes[0].figures.len(), 2);
        assert!((outcomes[0].figures["insert_per_second"].median - 500_000.0).abs() < 1.0);
    }
}
