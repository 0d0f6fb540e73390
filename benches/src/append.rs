//! Messages are appended in batches, as pairs of a sorted table under increasing keys of eight bytes: the number of a list
//! and that of a message in it. Each thread, or connection, has a list of its own.

use std::ops::Range;

use crate::fill::check;
use crate::job::Job;
use crate::memory::{claim_memory, growth_since, resident_bytes};
use crate::options::Fallible;
use crate::peer::{Peer, Session, time};
use crate::record::{Record, Unit};

/// Figures append, for each part of the run; bytes with one list and part; select of what came one at a time.
#[allow(clippy::unnecessary_wraps, reason = "a work may fail")]
pub(crate) fn run<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let (threads, parts, batch) = (job.threads(), job.options.each as usize, job.options.batch as usize);
    let part = (job.options.pairs as usize / threads / parts).max(batch) / batch * batch;
    claim_memory((part * parts * threads * (job.value_bytes() + 8)) as u64 / 2 * 3);
    let mut peer = P::open(job.options);
    let before = resident_bytes();
    let mut records = Vec::new();
    for number in 0..parts {
        let time = time(job.options.clock, &mut peer, threads, |list, session| {
            append(session, list, (number * part) as u64..((number + 1) * part) as u64, job);
        });
        let record = job.rate("append", part * threads, time);
        records.push(if parts == 1 { record } else { record.with("part", number + 1) });
    }
    if threads == 1 && parts == 1 {
        let growth = growth_since(before);
        let bytes = peer.bytes().or(growth).map(|bytes| bytes as f64 / part as f64);
        records.extend(bytes.map(|bytes| job.record("bytes", Unit::Bytes, bytes)));
    }
    if batch == 1 && job.wants("select") {
        let time = time(job.options.clock, &mut peer, threads, |list, session| {
            for number in 0..part as u64 {
                let key = key(list, number);
                check(session.select(&key, |value| value.len() == job.value_bytes()), &key);
            }
        });
        records.push(job.rate("select", part * threads, time));
    }
    Ok(records)
}

fn append(session: &mut impl Session, list: usize, numbers: Range<u64>, job: &Job<'_>) {
    let value = vec![list as u8; job.value_bytes()];
    for first in numbers.clone().step_by(job.options.batch as usize) {
        let keys: Vec<[u8; 8]> = (first..numbers.end.min(first + u64::from(job.options.batch)))
            .map(|number| key(list, number))
            .collect();
        let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &value[..])).collect();
        assert_eq!(session.insert_many(&pairs), pairs.len(), "a message was there before");
    }
}

fn key(list: usize, number: u64) -> [u8; 8] {
    ((list as u64) << 48 | number).to_be_bytes()
}
