//! The catalogue: the jobs with their rows, and the systems that do them.

use serde::{Deserialize, Serialize};

use crate::peer::{Peer, SortedSession};
use crate::peers;
use crate::task::{Figure, Task};
use crate::work::{batch, churn, cold, fill, latency, small, ycsb};

/// Which half of the systems a job is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    Hash,
    Sorted,
}

/// What a figure counts, and with it which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) enum Unit {
    /// Million operations per second.
    Mops,
    /// Bytes of memory: of a pair, or of a whole small table.
    Bytes,
    /// Nanoseconds.
    Nanoseconds,
}

impl Unit {
    pub(crate) fn of_row(row: &str) -> Self {
        match row.rsplit('_').next() {
            Some("bytes") => Self::Bytes,
            Some("p50" | "p99" | "p9999" | "max") => Self::Nanoseconds,
            _ => Self::Mops,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Mops => "Mops",
            Self::Bytes => "bytes",
            Self::Nanoseconds => "ns",
        }
    }
}

/// A job and its rows.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    pub(crate) half: Half,
    /// Whether it is done with every number of threads, or with one.
    pub(crate) threads: bool,
    pub(crate) rows: &'static [&'static str],
}

pub(crate) const JOBS: &[Job] = &[
    job(
        "hash",
        Half::Hash,
        true,
        &["hash_insert", "hash_select", "hash_absent", "hash_select_many", "hash_bytes"],
    ),
    job("hash_batch", Half::Hash, true, &["hash_insert_many"]),
    job(
        "hash_cold",
        Half::Hash,
        false,
        &["hash_cold_insert", "hash_cold_insert_many", "hash_cold_select", "hash_cold_select_many"],
    ),
    job("ycsb_a", Half::Hash, true, &["ycsb_a", "ycsb_a_p50", "ycsb_a_p99"]),
    job("ycsb_b", Half::Hash, true, &["ycsb_b", "ycsb_b_p50", "ycsb_b_p99"]),
    job("ycsb_c", Half::Hash, true, &["ycsb_c", "ycsb_c_p50", "ycsb_c_p99"]),
    job("hash_latency", Half::Hash, false, &["hash_insert_p50", "hash_insert_p9999", "hash_insert_max"]),
    job("hash_churn", Half::Hash, false, &["hash_churn", "hash_churn_bytes"]),
    job("hash_10", Half::Hash, false, &["hash_10_insert", "hash_10_select", "hash_10_bytes"]),
    job("hash_100", Half::Hash, false, &["hash_100_insert", "hash_100_select", "hash_100_bytes"]),
    job("hash_1000", Half::Hash, false, &["hash_1000_insert", "hash_1000_select", "hash_1000_bytes"]),
    job(
        "sorted",
        Half::Sorted,
        true,
        &["sorted_insert", "sorted_select", "sorted_scan", "sorted_scan_many", "sorted_bytes"],
    ),
    job(
        "sorted_seq",
        Half::Sorted,
        true,
        &[
            "sorted_seq_insert",
            "sorted_seq_select",
            "sorted_seq_scan",
            "sorted_seq_scan_many",
            "sorted_seq_bytes",
        ],
    ),
    job(
        "sorted_rev",
        Half::Sorted,
        true,
        &[
            "sorted_rev_insert",
            "sorted_rev_select",
            "sorted_rev_scan",
            "sorted_rev_scan_many",
            "sorted_rev_bytes",
        ],
    ),
    job("sorted_batch", Half::Sorted, true, &["sorted_insert_many"]),
    job("ycsb_e", Half::Sorted, true, &["ycsb_e", "ycsb_e_p50", "ycsb_e_p99"]),
    job(
        "sorted_latency",
        Half::Sorted,
        false,
        &["sorted_insert_p50", "sorted_insert_p9999", "sorted_insert_max"],
    ),
    job("sorted_churn", Half::Sorted, false, &["sorted_churn", "sorted_churn_bytes"]),
    job("sorted_10", Half::Sorted, false, &["sorted_10_insert", "sorted_10_select", "sorted_10_bytes"]),
    job("sorted_100", Half::Sorted, false, &["sorted_100_insert", "sorted_100_select", "sorted_100_bytes"]),
    job(
        "sorted_1000",
        Half::Sorted,
        false,
        &["sorted_1000_insert", "sorted_1000_select", "sorted_1000_bytes"],
    ),
];

const fn job(name: &'static str, half: Half, threads: bool, rows: &'static [&'static str]) -> Job {
    Job { name, half, threads, rows }
}

/// A system as the driver sees it.
pub(crate) struct System {
    pub(crate) name: &'static str,
    pub(crate) half: Half,
    pub(crate) threads: bool,
    pub(crate) run: fn(&Task) -> Vec<Figure>,
}

pub(crate) const SYSTEMS: &[System] = &[
    hash_system::<peers::TwindexHash>(),
    hash_system::<peers::Hashbrown>(),
    hash_system::<peers::Sharded>(),
    hash_system::<peers::Papaya>(),
    hash_system::<peers::Scc>(),
    hash_system::<peers::Dashmap>(),
    sorted_system::<peers::TwindexSorted>(),
    sorted_system::<peers::BTree>(),
    sorted_system::<peers::BTreeRwLock>(),
    sorted_system::<peers::TreeIndex>(),
    sorted_system::<peers::Masstree>(),
    sorted_system::<peers::Skiplist>(),
    sorted_system::<peers::Indexset>(),
    sorted_system::<peers::Blart>(),
    sorted_system::<peers::Lmdb>(),
];

const fn hash_system<P: Peer>() -> System {
    System { name: P::NAME, half: Half::Hash, threads: P::THREADS, run: hash_job::<P> }
}

const fn sorted_system<P: Peer>() -> System
where
    for<'p> P::Session<'p>: SortedSession,
{
    System { name: P::NAME, half: Half::Sorted, threads: P::THREADS, run: sorted_job::<P> }
}

fn hash_job<P: Peer>(task: &Task) -> Vec<Figure> {
    match task.one.job.as_str() {
        "hash" => fill::hash::<P>(task),
        "hash_batch" => batch::run::<P>(task, "hash_insert_many"),
        "hash_cold" => cold::run::<P>(task),
        "ycsb_a" => ycsb::point::<P>(task, 50),
        "ycsb_b" => ycsb::point::<P>(task, 5),
        "ycsb_c" => ycsb::point::<P>(task, 0),
        _ => either_job::<P>(task, "hash"),
    }
}

fn sorted_job<P: Peer>(task: &Task) -> Vec<Figure>
where
    for<'p> P::Session<'p>: SortedSession,
{
    match task.one.job.as_str() {
        "sorted" | "sorted_seq" | "sorted_rev" => fill::sorted::<P>(task),
        "sorted_batch" => batch::run::<P>(task, "sorted_insert_many"),
        "ycsb_e" => ycsb::scans::<P>(task),
        _ => either_job::<P>(task, "sorted"),
    }
}

/// The jobs that are the same for both halves.
fn either_job<P: Peer>(task: &Task, half: &str) -> Vec<Figure> {
    match task.one.job.strip_prefix(half) {
        Some("_latency") => latency::run::<P>(task, half),
        Some("_churn") => churn::run::<P>(task, half),
        Some("_10") => small::run::<P>(task, half, 10),
        Some("_100") => small::run::<P>(task, half, 100),
        Some("_1000") => small::run::<P>(task, half, 1_000),
        _ => panic!("there is no job {} for the {half} systems", task.one.job),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::options::{Command, CommandLine};

    /// Does a job with a system over few pairs; a wrong value would panic.
    fn figures(job: &Job, system: &System, threads: &str, kind: &str) -> Vec<Figure> {
        let rows = job.rows.join(",");
        let line = CommandLine::parse_from(
            ["peers", "one", "--job", job.name, "--system", system.name].iter().chain(&[
                "--pairs=2000",
                "--rows",
                &rows,
                "--threads",
                threads,
                "--key-kind",
                kind,
            ]),
        );
        let Some(Command::One(one)) = line.command else { panic!("it is a command") };
        (system.run)(&Task::new(one))
    }

    #[test]
    fn every_system_does_every_job_and_gives_all_its_rows() {
        for job in JOBS {
            for system in SYSTEMS.iter().filter(|system| system.half == job.half) {
                let figures = figures(job, system, "1", "hex");
                let rows: Vec<_> = figures.iter().map(|figure| figure.row.as_str()).collect();
                // LMDB is not for many small tables.
                if system.name == "lmdb" && job.name.ends_with('0') {
                    assert!(rows.is_empty());
                    continue;
                }
                let expected =
                    job.rows.iter().filter(|row| cfg!(target_os = "linux") || !row.ends_with("bytes"));
                assert!(
                    expected.clone().all(|row| rows.contains(row)),
                    "{} {}: {rows:?}",
                    system.name,
                    job.name
                );
                assert_eq!(rows.len(), expected.count(), "{} {}: {rows:?}", system.name, job.name);
                assert!(figures.iter().all(|figure| figure.value >= 0.0 && figure.value.is_finite()));
            }
        }
    }

    #[test]
    fn threads_share_the_systems_that_say_so() {
        for job in JOBS.iter().filter(|job| job.threads) {
            for system in SYSTEMS.iter().filter(|system| system.half == job.half && system.threads) {
                assert!(!figures(job, system, "3", "hex").is_empty(), "{} {}", system.name, job.name);
            }
        }
    }

    #[test]
    fn every_kind_of_keys_fits_every_system() {
        for job in JOBS.iter().filter(|job| ["hash", "sorted"].contains(&job.name)) {
            for system in SYSTEMS.iter().filter(|system| system.half == job.half) {
                for kind in ["seq", "paths"] {
                    assert!(!figures(job, system, "1", kind).is_empty(), "{} {kind}", system.name);
                }
            }
        }
    }

    #[test]
    fn no_row_has_two_jobs() {
        let mut rows: Vec<_> = JOBS.iter().flat_map(|job| job.rows).collect();
        let count = rows.len();
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), count);
    }
}
