//! What a test of a document is, and what its systems have in common.

use fastrand::Rng;
use twindex_benches::{Reach, Record};

use super::sizes::Sizes;
use crate::peer::Peer;

/// A unit as its test sees it.
pub(super) struct Job<'j> {
    pub(super) sizes: &'j Sizes,
    pub(super) threads: usize,
    pub(super) folder: &'j std::path::Path,
}

/// One test of a document.
pub(super) struct Test {
    pub(super) name: &'static str,
    /// With how many threads, each in a process of its own; none where one process has all.
    pub(super) threads: fn(&Sizes) -> &[u16],
    pub(super) systems: &'static [System],
}

/// How one system does one test.
pub(super) struct System {
    pub(super) name: &'static str,
    pub(super) reach: Reach,
    /// Whether threads can share it.
    pub(super) threads: bool,
    pub(super) run: fn(&Job) -> Vec<Record>,
}

pub(super) const fn system<P: Peer>(run: fn(&Job) -> Vec<Record>) -> System {
    System { name: P::NAME, reach: P::REACH, threads: P::THREADS, run }
}

/// A system that is no peer in this test.
pub(super) const fn special(name: &'static str, reach: Reach, run: fn(&Job) -> Vec<Record>) -> System {
    System { name, reach, threads: true, run }
}

/// Keys and orders are the same in every process.
pub(super) fn rng() -> Rng {
    Rng::with_seed(64)
}

/// Operations per second.
pub(super) fn per_second(operations: usize, time: std::time::Duration) -> f64 {
    operations as f64 / time.as_secs_f64()
}

pub(super) fn record<P: Peer>(test: &str, operations: usize) -> Record {
    Record::new(test, P::NAME, P::REACH, operations as u64)
}
