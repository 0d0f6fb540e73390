//! The work of the jobs.

pub(crate) mod batch;
pub(crate) mod churn;
pub(crate) mod cold;
pub(crate) mod fill;
pub(crate) mod latency;
pub(crate) mod small;
pub(crate) mod steps;
pub(crate) mod ycsb;
