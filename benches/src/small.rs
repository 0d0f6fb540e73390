//! Small tables, the slowest inserts of growing ones, and tables whose pairs come and go.

use hdrhistogram::Histogram;

use crate::fill::{begin, insert, select};
use crate::job::Job;
use crate::keys::{KeyList, rng};
use crate::memory::{growth_since, resident_bytes};
use crate::options::{Clock, Fallible};
use crate::peer::{Peer, Session, time};
use crate::record::{Record, Unit};
use crate::values::fill_value;

/// Tables of `each` pairs, one after the other: figures insert, select, and the bytes of a table.
pub(crate) fn tables<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let list = job.keys(0)?;
    let each = list.len().min(job.options.each as usize);
    let count = list.len() / each;
    // The pairs of a single table stay in the caches.
    let walks = if count == 1 { 4_000_000_usize.div_ceil(each) } else { 10 };
    let positions: Vec<u32> = (0..(count * each) as u32).collect();
    let read_list = list.in_order(&positions).shuffled_in_groups(count, &mut rng());
    drop(begin::<P>(job, &list, job.value_bytes()));
    let before = resident_bytes();
    let Some(mut peers) = P::several(count, job.options) else { return Ok(Vec::new()) };
    let clock = job.options.clock;
    let mut measure = |figure: &str, walks: usize, list: &KeyList, is_insert: bool| {
        let start = clock.now();
        for (table, peer) in peers.iter_mut().enumerate() {
            peer.each_thread(1, |_, session| {
                for _ in 0..walks {
                    let positions = table * each..(table + 1) * each;
                    if is_insert {
                        insert(session, list, positions, job.value_bytes());
                    } else {
                        select(session, list, positions, job.value_bytes());
                    }
                }
            });
        }
        job.rate(figure, count * each * walks, clock.since(start))
    };
    let mut records = vec![measure("insert", 1, &list, true)];
    let growth = growth_since(before);
    records.push(measure("select", walks, &read_list, false));
    records.extend(growth.map(|growth| job.record("bytes", Unit::Bytes, growth as f64 / count as f64)));
    Ok(records)
}

/// The slowest inserts while a table grows, in the processor's time of the thread: page faults count, what else the machine
/// does does not.
pub(crate) fn latency<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let keys = job.keys(0)?;
    let mut peer: P = begin(job, &keys, job.value_bytes());
    let histograms = peer.each_thread(1, |_, session| {
        let mut histogram = Histogram::<u64>::new(3).expect("three digits are allowed");
        let mut value = vec![0; job.value_bytes()];
        for (number, key) in keys.pairs(0..keys.len()) {
            fill_value(number, &mut value);
            let start = Clock::Processor.now();
            let inserted = session.insert(key, &value);
            let took = Clock::Processor.since(start);
            histogram.record(took.as_nanos() as u64).expect("the histogram grows");
            assert!(inserted, "the key {} was there before", key.escape_ascii());
        }
        histogram
    });
    let figures = [("insert p50", 0.5), ("insert p99.99", 0.9999), ("insert worst", 1.0)];
    let at = |(figure, quantile): (&str, f64)| {
        job.record(figure, Unit::Nanoseconds, histograms[0].value_at_quantile(quantile) as f64)
    };
    Ok(figures.map(at).into())
}

/// As many pairs all the time, never the same: each delete is followed by an insert of another key. Keys of the first half
/// of the list are deleted, in another order, while those of the second come in.
pub(crate) fn churn<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let keys = job.keys(job.options.pairs)?;
    let pairs = keys.len() / 2;
    let mut old: Vec<u32> = (0..pairs as u32).collect();
    rng().shuffle(&mut old);
    let old = keys.in_order(&old);
    let mut peer: P = begin(job, &keys, job.value_bytes());
    let before = resident_bytes();
    peer.each_thread(1, |_, session| insert(session, &keys, 0..pairs, job.value_bytes()));
    let time = time(job.options.clock, &mut peer, 1, |_, session| {
        let mut value = vec![0; job.value_bytes()];
        for ((_, old), (number, new)) in old.pairs(0..pairs).zip(keys.pairs(pairs..2 * pairs)) {
            assert!(session.delete(old), "{} is not there", old.escape_ascii());
            fill_value(number, &mut value);
            assert!(session.insert(new, &value), "{} was there before", new.escape_ascii());
        }
    });
    let growth = growth_since(before);
    peer.each_thread(1, |_, session| select(session, &keys, pairs..2 * pairs, job.value_bytes()));
    let bytes = peer.bytes().or(growth);
    let bytes = bytes.map(|bytes| job.record("bytes", Unit::Bytes, bytes as f64 / pairs as f64));
    Ok([job.rate("churn", 2 * pairs, time)].into_iter().chain(bytes).collect())
}
