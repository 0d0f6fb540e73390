//! cluster/

use crate::checks::rust::cargo_test;
use crate::checks::suite::Suite;
use crate::steps::Job;

pub(super) fn jobs(suite: &Suite) -> Vec<Job<'_>> {
    cargo_test("cluster", "twindex-cluster", suite).into_iter().collect()
}
