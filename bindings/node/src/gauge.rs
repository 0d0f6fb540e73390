//! How far work has come that waits for a disk.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use twindex_durable::Progress;

#[derive(Default)]
pub(crate) struct Gauge {
    pub(crate) pairs: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

impl Gauge {
    pub(crate) fn note(&self, Progress { pairs, bytes, .. }: Progress) {
        self.pairs.store(pairs, Relaxed);
        self.bytes.store(bytes, Relaxed);
    }
}
