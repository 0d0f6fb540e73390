//! Twindex beside what programs use today: how many times as fast, and how many times smaller.

use crate::bench::Host;
use crate::report::{Figure, Outcome};

/// The hosts in the order in which they are measured: what builds fastest comes first.
pub(crate) const HOSTS: [Host; 5] = [Host::Rust, Host::Python, Host::Node, Host::WasmNode, Host::Guest];

/// What a newcomer calls a host.
pub(crate) fn title(host: Host) -> &'static str {
    match host {
        Host::Rust => "Rust",
        Host::Python => "Python",
        Host::Node => "Node",
        Host::WasmNode => "WebAssembly in Node",
        Host::Guest | Host::Wasmtime => "WebAssembly in wasmtime",
    }
}

/// Whose figures of what is used today count for a host: what runs in Node is used instead of Node's own.
fn rival(host: Host) -> Host {
    if host == Host::WasmNode { Host::Node } else { host }
}

/// What is measured of the pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Aspect {
    Add,
    Find,
    AddSorted,
    Walk,
    Memory,
    MemorySorted,
}

impl Aspect {
    pub(crate) const ALL: [Self; 6] =
        [Self::Add, Self::Find, Self::Memory, Self::AddSorted, Self::Walk, Self::MemorySorted];

    /// In words.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Add => "Adding a pair",
            Self::Find => "Finding a key",
            Self::AddSorted => "Adding a pair, kept in order",
            Self::Walk => "Walking all pairs in order",
            Self::Memory => "Memory of a pair",
            Self::MemorySorted => "Memory of a pair, in order",
        }
    }

    pub(crate) fn is_memory(self) -> bool {
        matches!(self, Self::Memory | Self::MemorySorted)
    }

    /// Where the outcomes of the tests have it.
    fn place(self) -> (&'static str, &'static str) {
        match self {
            Self::Add => ("strings", "insert_per_second"),
            Self::Find => ("strings", "select_per_second"),
            Self::AddSorted => ("sorted", "insert_per_second"),
            Self::Walk => ("sorted", "scan_asc_next_per_second"),
            Self::Memory => ("strings_memory", "bytes_per_pair"),
            Self::MemorySorted => ("sorted_memory", "bytes_per_pair"),
        }
    }
}

/// One aspect of one host.
#[derive(Clone, Debug)]
pub(crate) struct Comparison {
    pub(crate) host: Host,
    pub(crate) aspect: Aspect,
    /// What is used today, and how it did with one thread.
    pub(crate) system: String,
    pub(crate) theirs: f64,
    /// Twindex by the number of threads, with one thread first.
    pub(crate) ours: Vec<(u64, f64)>,
}

impl Comparison {
    /// How many times as fast, or how many times smaller, Twindex is with one thread.
    pub(crate) fn times(&self) -> f64 {
        self.times_of(self.ours[0].1)
    }

    /// The same for another figure of ours.
    pub(crate) fn times_of(&self, ours: f64) -> f64 {
        if self.aspect.is_memory() { self.theirs / ours } else { ours / self.theirs }
    }
}

/// All aspects of which both sides were measured, host by host.
pub(crate) fn comparisons(outcomes: &[Outcome]) -> Vec<Comparison> {
    let pairs = HOSTS.iter().flat_map(|&host| Aspect::ALL.map(|aspect| (host, aspect)));
    pairs.filter_map(|(host, aspect)| compare(outcomes, host, aspect)).collect()
}

fn compare(outcomes: &[Outcome], host: Host, aspect: Aspect) -> Option<Comparison> {
    let (test, figure) = aspect.place();
    let of = |host: Host, is_ours: bool| {
        let found = outcomes.iter().filter(move |outcome| {
            outcome.test == test && outcome.host == host.name() && (outcome.system == "twindex") == is_ours
        });
        found.filter_map(move |outcome| {
            let Figure { median, .. } = outcome.figures.get(figure)?;
            let threads = outcome.params.get("threads").map_or(Some(1), serde_json::Value::as_u64)?;
            (*median > 0.0).then_some((outcome.system.clone(), threads, *median))
        })
    };
    let (system, _, theirs) = of(rival(host), false).next()?;
    let mut ours: Vec<(u64, f64)> = of(host, true).map(|(_, threads, figure)| (threads, figure)).collect();
    ours.sort_by_key(|(threads, _)| *threads);
    (ours.first()?.0 == 1).then_some(Comparison { host, aspect, system, theirs, ours })
}

/// The summary of a host: from the least to the most.
#[derive(Clone, Debug)]
pub(crate) struct Summary {
    pub(crate) host: Host,
    /// What is used today, such as `dict` and `sortedcontainers`.
    pub(crate) systems: Vec<String>,
    pub(crate) faster: Range,
    /// Nothing where the system does not tell how much memory a process has.
    pub(crate) smaller: Option<Range>,
}

/// From the least to the most of some ratios.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range(f64, f64);

impl Range {
    fn of(ratios: impl Iterator<Item = f64>) -> Option<Self> {
        ratios.fold(None, |range, ratio| {
            let Self(least, most) = range.unwrap_or(Self(ratio, ratio));
            Some(Self(least.min(ratio), most.max(ratio)))
        })
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (least, most) = (format!("{:.1}", self.0), format!("{:.1}", self.1));
        if least == most { f.write_str(&least) } else { write!(f, "{least} to {most}") }
    }
}

/// One summary for each host that was measured.
pub(crate) fn summaries(comparisons: &[Comparison]) -> Vec<Summary> {
    HOSTS.into_iter().filter_map(|host| summary(host, comparisons)).collect()
}

fn summary(host: Host, comparisons: &[Comparison]) -> Option<Summary> {
    let own: Vec<&Comparison> = comparisons.iter().filter(|one| one.host == host).collect();
    let range = |is_memory| {
        Range::of(own.iter().filter(|one| one.aspect.is_memory() == is_memory).map(|one| one.times()))
    };
    let mut systems: Vec<String> = own.iter().map(|one| one.system.clone()).collect();
    systems.dedup();
    Some(Summary { host, systems, faster: range(false)?, smaller: range(true) })
}

/// A figure with its unit.
pub(crate) fn shown(aspect: Aspect, figure: f64) -> String {
    if aspect.is_memory() { format!("{figure:.0} bytes") } else { format!("{:.2} M/s", figure / 1e6) }
}

#[cfg(test)]
pub(crate) mod tests {
    use twindex_benches::{Reach, Record};

    use super::*;
    use crate::report::outcomes;

    /// Outcomes in which Twindex is so many times as fast in everything, and two threads twice as fast as one.
    pub(crate) fn sample(hosts: &[Host], times: f64) -> Vec<Outcome> {
        let mut records = Vec::new();
        for host in hosts {
            let record = |test: &str, system: &str, figure: &str, value: f64| {
                let record = Record::new(test, system, Reach::Process, 10).figure(figure, value);
                Record { host: host.name().into(), ..record }
            };
            for (test, figure, system) in [
                ("strings", "insert_per_second", "dict"),
                ("strings", "select_per_second", "dict"),
                ("sorted", "insert_per_second", "tree"),
                ("sorted", "scan_asc_next_per_second", "tree"),
            ] {
                records.push(record(test, system, figure, 1e6).with("threads", 1));
                for threads in [1, 2] {
                    let rate = 1e6 * times * f64::from(threads);
                    records.push(record(test, "twindex", figure, rate).with("threads", threads));
                }
            }
            for (test, system) in [("strings_memory", "dict"), ("sorted_memory", "tree")] {
                records.push(record(test, system, "bytes_per_pair", 100.0));
                records.push(record(test, "twindex", "bytes_per_pair", 40.0));
            }
        }
        outcomes(records)
    }

    #[test]
    fn a_host_has_all_aspects_with_one_thread_first() {
        let all = comparisons(&sample(&[Host::Python], 1.5));
        assert_eq!(all.iter().map(|one| one.aspect).collect::<Vec<_>>(), Aspect::ALL);
        assert!(all[..3].iter().all(|one| one.system == "dict"));
        assert!(all[3..].iter().all(|one| one.system == "tree"));
        let find = &all[1];
        assert_eq!(find.ours, [(1, 1.5e6), (2, 3e6)]);
        assert!((find.times() - 1.5).abs() < 1e-9 && (find.times_of(3e6) - 3.0).abs() < 1e-9);
        assert!((all[2].times() - 2.5).abs() < 1e-9, "less memory is better");
    }

    #[test]
    fn a_summary_says_from_the_least_to_the_most() {
        let mut outcomes = sample(&[Host::Python, Host::Node], 1.5);
        let slow = outcomes[0].figures.get_mut("insert_per_second").unwrap();
        slow.median = 2e6;
        let all = summaries(&comparisons(&outcomes));
        let shown: Vec<_> = all.iter().map(|one| (one.host, one.faster.to_string())).collect();
        assert_eq!(shown, [(Host::Python, "0.8 to 1.5".into()), (Host::Node, "1.5".into())]);
        assert_eq!(all[0].smaller.unwrap().to_string(), "2.5");
        assert_eq!(all[0].systems, ["dict", "tree"]);
    }

    #[test]
    fn what_runs_in_node_is_compared_with_nodes_own() {
        let mut outcomes = sample(&[Host::Node], 1.0);
        outcomes.extend(sample(&[Host::WasmNode], 3.0).into_iter().filter(|one| one.system == "twindex"));
        let all = comparisons(&outcomes);
        assert_eq!(all.len(), 2 * Aspect::ALL.len());
        assert!((all[6].times() - 3.0).abs() < 1e-9 && all[6].host == Host::WasmNode);
    }

    #[test]
    fn what_was_measured_on_one_side_alone_is_left_out() {
        let mut outcomes = sample(&[Host::Rust], 2.0);
        outcomes.retain(|one| one.system == "twindex" || one.test != "strings");
        let aspects: Vec<_> = comparisons(&outcomes).iter().map(|one| one.aspect).collect();
        assert_eq!(aspects, [Aspect::Memory, Aspect::AddSorted, Aspect::Walk, Aspect::MemorySorted]);
        assert!(summaries(&[]).is_empty());
    }
}
