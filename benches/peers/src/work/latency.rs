//! The slowest inserts while a table grows.
//!
//! What is counted is the work of the thread, by the processor's time that it got, so that what else the
//! machine does is not in it; page faults are.

use hdrhistogram::Histogram;
use twindex_benches::fill_value;

use super::steps::{begin, figure};
use crate::clock::Clock;
use crate::peer::{Peer, Session};
use crate::task::{Figure, Task};

pub(crate) fn run<P: Peer>(task: &Task, half: &str) -> Vec<Figure> {
    let mut peer: P = begin(&task.keys, task.value_bytes());
    let histograms = peer.each_thread(1, |_, session| {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits are allowed");
        let mut value = vec![0; task.value_bytes()];
        for (number, key) in task.keys.pairs(0..task.keys.len()) {
            fill_value(number, &mut value);
            let start = Clock::Processor.now();
            let inserted = session.insert(key, &value);
            let took = Clock::Processor.since(start);
            histogram.record(took.as_nanos() as u64).expect("the histogram grows");
            assert!(inserted, "the key {} was there before", key.escape_ascii());
        }
        histogram
    });
    let histogram = &histograms[0];
    vec![
        figure(format!("{half}_insert_p50"), histogram.value_at_quantile(0.5) as f64),
        figure(format!("{half}_insert_p9999"), histogram.value_at_quantile(0.9999) as f64),
        figure(format!("{half}_insert_max"), histogram.max() as f64),
    ]
}
