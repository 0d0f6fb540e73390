//! A table is filled, then read in other orders.

use std::ops::Range;

use crate::job::Job;
use crate::keys::{KeyList, rng};
use crate::memory::{claim_memory, growth_since, resident_bytes};
use crate::options::{Fallible, Order};
use crate::peer::{Peer, Session, SortedSession, time};
use crate::record::{Record, Unit};
use crate::values::{fill_value, is_value_start};

/// A read is measured over at least so many operations, in several walks over the keys if they are few.
const LEAST_READS: usize = if cfg!(debug_assertions) { 1 } else { 500_000 };

/// More than any table needs for a short pair beside its bytes.
const MOST_OVERHEAD: usize = 200;

/// Figures insert, bytes, select, absent and replace, and insert and select in batches.
pub(crate) fn hash<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>> {
    let keys = job.keys(0)?;
    let read_list = keys.shuffled_in_groups(job.threads(), &mut rng());
    let mut peer: P = begin(job, &keys, job.value_bytes());
    let mut records = fill(&mut peer, job, &keys);
    records.extend(select_all(&mut peer, job, &read_list));
    if job.wants("absent") {
        // Those that are there, with one more byte.
        let absent = |position: usize| [read_list.key(position), b"~"].concat();
        let absent: KeyList = (0..read_list.len()).map(absent).collect();
        records.push(read(&mut peer, job, "absent", &absent, |session, list, group| {
            for (_, key) in list.pairs(group) {
                assert!(session.select(key, |_| ()).is_none(), "{} is there", key.escape_ascii());
            }
        }));
    }
    if job.wants("select_many") {
        let keys: Vec<&[u8]> = read_list.pairs(0..read_list.len()).map(|(_, key)| key).collect();
        records.push(read(&mut peer, job, "select_many", &read_list, |session, list, group| {
            for start in group.clone().step_by(job.options.batch as usize) {
                let batch = &keys[start..group.end.min(start + job.options.batch as usize)];
                session.select_many(batch, |at, value| {
                    let number = list.number(start + at);
                    check(value.map(|value| is_value_start(number, job.value_bytes(), value)), batch[at]);
                });
            }
        }));
    }
    if job.wants("replace") {
        records.push(replace_all(&mut peer, job, &read_list));
    }
    drop(peer);
    records.extend(insert_many::<P>(job, &keys));
    Ok(records)
}

/// Figures insert, bytes, select and scan, and insert and scan in batches.
pub(crate) fn sorted<P: Peer>(job: &Job<'_>) -> Fallible<Vec<Record>>
where
    for<'p> P::Session<'p>: SortedSession,
{
    let keys = job.keys(0)?;
    let sorted = keys.sorted();
    let write_list = match job.options.order {
        Order::Ascending => sorted.clone(),
        Order::Descending => sorted.reversed(),
        Order::Random => keys,
    };
    let read_list = write_list.shuffled_in_groups(1, &mut rng());
    let mut peer: P = begin(job, &write_list, job.value_bytes());
    let mut records = fill(&mut peer, job, &write_list);
    records.extend(select_all(&mut peer, job, &read_list));
    for (figure, many) in [("scan", false), ("scan_many", true)] {
        if job.wants(figure) {
            // Every thread reads its own run of neighbours.
            records.push(read(&mut peer, job, figure, &sorted, |session, list, group| {
                let mut position = group.start;
                let read = |key: &[u8], value: &[u8]| {
                    let is_right = key == list.key(position)
                        && is_value_start(list.number(position), job.value_bytes(), value);
                    check(Some(is_right), key);
                    position += 1;
                };
                let (first, limit) = (list.key(group.start), group.len());
                let count = if many {
                    session.scan_many(first, limit, read)
                } else {
                    session.scan(first, limit, read)
                };
                assert_eq!(count, limit, "the scan ended early");
            }));
        }
    }
    drop(peer);
    records.extend(insert_many::<P>(job, &write_list));
    Ok(records)
}

/// An empty system, with memory at hand for pairs of these keys and values of so many bytes.
pub(crate) fn begin<P: Peer>(job: &Job<'_>, keys: &KeyList, value_bytes: usize) -> P {
    claim_memory((keys.bytes() + keys.len() * (value_bytes + MOST_OVERHEAD)) as u64);
    P::open(job.options)
}

/// Inserts all; by how much the process grew with each pair, if one thread did it: others take memory of their own.
fn fill<P: Peer>(peer: &mut P, job: &Job<'_>, list: &KeyList) -> Vec<Record> {
    let before = resident_bytes();
    let time = time(job.options.clock, peer, job.threads(), |thread, session| {
        insert(session, list, list.group(thread, job.threads()), job.value_bytes());
    });
    let growth = growth_since(before);
    let bytes = if job.threads() == 1 { peer.bytes().or(growth) } else { None };
    let bytes = bytes.map(|bytes| job.record("bytes", Unit::Bytes, bytes as f64 / list.len() as f64));
    [job.rate("insert", list.len(), time)].into_iter().chain(bytes).collect()
}

fn select_all<P: Peer>(peer: &mut P, job: &Job<'_>, list: &KeyList) -> Option<Record> {
    job.wants("select").then(|| {
        read(peer, job, "select", list, |session, list, group| {
            select(session, list, group, job.value_bytes());
        })
    })
}

/// Gives each key the value of the number after its own.
fn replace_all<P: Peer>(peer: &mut P, job: &Job<'_>, list: &KeyList) -> Record {
    let time = time(job.options.clock, peer, job.threads(), |thread, session| {
        let mut value = vec![0; job.value_bytes()];
        for (number, key) in list.pairs(list.group(thread, job.threads())) {
            fill_value(number + 1, &mut value);
            assert!(session.replace(key, &value), "{} is not there", key.escape_ascii());
        }
    });
    job.rate("replace", list.len(), time)
}

fn insert_many<P: Peer>(job: &Job<'_>, list: &KeyList) -> Option<Record> {
    if !job.wants("insert_many") {
        return None;
    }
    let (batch, value_bytes) = (job.options.batch as usize, job.value_bytes());
    let mut peer: P = begin(job, list, value_bytes);
    let time = time(job.options.clock, &mut peer, job.threads(), |thread, session| {
        let group = list.group(thread, job.threads());
        let mut values = vec![0; batch * value_bytes];
        let mut pairs: Vec<(&[u8], std::ops::Range<usize>)> = Vec::with_capacity(batch);
        for start in group.clone().step_by(batch) {
            pairs.clear();
            for (at, (number, key)) in list.pairs(start..group.end.min(start + batch)).enumerate() {
                let place = at * value_bytes..(at + 1) * value_bytes;
                fill_value(number, &mut values[place.clone()]);
                pairs.push((key, place));
            }
            let pairs: Vec<(&[u8], &[u8])> =
                pairs.iter().map(|(key, place)| (*key, &values[place.clone()])).collect();
            assert_eq!(session.insert_many(&pairs), pairs.len(), "a key was there before");
        }
    });
    peer.each_thread(1, |_, session| select(session, list, 0..list.len().min(1_000), value_bytes));
    Some(job.rate("insert_many", list.len(), time))
}

/// Walks over the list, often enough to be measured.
fn read<P: Peer>(
    peer: &mut P,
    job: &Job<'_>,
    figure: &str,
    list: &KeyList,
    work: impl Fn(&mut P::Session<'_>, &KeyList, Range<usize>) + Sync,
) -> Record {
    let walks = if P::REMOTE { 1 } else { LEAST_READS.div_ceil(list.len().max(1)) };
    let time = time(job.options.clock, peer, job.threads(), |thread, session| {
        for _ in 0..walks {
            work(session, list, list.group(thread, job.threads()));
        }
    });
    job.rate(figure, list.len() * walks, time)
}

/// Inserts the pairs at these positions.
pub(crate) fn insert(
    session: &mut impl Session,
    list: &KeyList,
    positions: Range<usize>,
    value_bytes: usize,
) {
    let mut value = vec![0; value_bytes];
    for (number, key) in list.pairs(positions) {
        fill_value(number, &mut value);
        assert!(session.insert(key, &value), "the key {} was there before", key.escape_ascii());
    }
}

/// Selects the keys at these positions and checks each value.
pub(crate) fn select(
    session: &mut impl Session,
    list: &KeyList,
    positions: Range<usize>,
    value_bytes: usize,
) {
    for (number, key) in list.pairs(positions) {
        check(session.select(key, |value| is_value_start(number, value_bytes, value)), key);
    }
}

pub(crate) fn check(is_right: Option<bool>, key: &[u8]) {
    match is_right {
        Some(true) => {}
        Some(false) => panic!("a wrong value was read for the key {}", key.escape_ascii()),
        None => panic!("nothing was read for the key {}", key.escape_ascii()),
    }
}
