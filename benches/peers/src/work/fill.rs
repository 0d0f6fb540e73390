//! A table is filled, then read in other orders.

use std::time::Duration;

use twindex_benches::{KeyList, is_value_start};

use super::steps::{begin, check, figure, insert, mops, resident, select, walks};
use crate::clock::Clock;
use crate::keys::rng;
use crate::peer::{Peer, Session, SortedSession, time};
use crate::task::{Figure, Task};

/// The keys of one call of a batched verb.
pub(super) const BATCH: usize = 32;

pub(crate) fn hash<P: Peer>(task: &Task) -> Vec<Figure> {
    let read_list = task.keys.shuffled_in_groups(task.threads(), &mut rng());
    let mut peer: P = begin(&task.keys, task.value_bytes());
    let mut figures = fill(&mut peer, task, &task.keys);
    figures.extend(selects(&mut peer, task, &read_list));
    if task.wants("hash_absent") {
        figures.push(absent(&mut peer, task, &read_list));
    }
    if task.wants("hash_select_many") {
        figures.push(select_many(&mut peer, task, &read_list));
    }
    figures
}

pub(crate) fn sorted<P: Peer>(task: &Task) -> Vec<Figure>
where
    for<'p> P::Session<'p>: SortedSession,
{
    let sorted = task.keys.sorted();
    let write_list = match task.one.job.as_str() {
        "sorted_seq" => sorted.clone(),
        "sorted_rev" => sorted.reversed(),
        _ => task.keys.clone(),
    };
    let read_list = task.keys.shuffled(&mut rng());
    let mut peer: P = begin(&task.keys, task.value_bytes());
    let mut figures = fill(&mut peer, task, &write_list);
    figures.extend(selects(&mut peer, task, &read_list));
    for (verb, many) in [("scan", false), ("scan_many", true)] {
        let row = row(task, verb);
        if task.wants(&row) {
            let walks = walks(sorted.len());
            let how = How { clock: task.clock(), threads: task.threads(), value_bytes: task.value_bytes() };
            let time = time_scan(&mut peer, how, &sorted, walks, many);
            figures.push(mops(row, sorted.len() * walks, time));
        }
    }
    figures
}

/// The row of a verb: the job's name comes first.
fn row(task: &Task, verb: &str) -> String {
    format!("{}_{verb}", task.one.job)
}

/// Inserts all, and tells by how much the process grew over that.
fn fill<P: Peer>(peer: &mut P, task: &Task, list: &KeyList) -> Vec<Figure> {
    let before = resident();
    let time = time(task.clock(), peer, task.threads(), |thread, session| {
        insert(session, list, list.group(thread, task.threads()), task.value_bytes());
    });
    let growth = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    let mut figures = vec![mops(row(task, "insert"), list.len(), time)];
    if task.threads() == 1
        && let Some(bytes) = peer.bytes().or(growth)
    {
        figures.push(figure(row(task, "bytes"), bytes as f64 / list.len() as f64));
    }
    figures
}

fn selects<P: Peer>(peer: &mut P, task: &Task, list: &KeyList) -> Option<Figure> {
    let row = row(task, "select");
    task.wants(&row).then(|| {
        let walks = walks(list.len());
        let time = time(task.clock(), peer, task.threads(), |thread, session| {
            for _ in 0..walks {
                select(session, list, list.group(thread, task.threads()), task.value_bytes());
            }
        });
        mops(row, list.len() * walks, time)
    })
}

/// Looks for keys that are not there: those that are, but for their last byte.
fn absent<P: Peer>(peer: &mut P, task: &Task, list: &KeyList) -> Figure {
    let absent: KeyList = (0..list.len())
        .map(|position| {
            let mut key = list.key(position).to_vec();
            key.push(b'~');
            key
        })
        .collect();
    let walks = walks(list.len());
    let time = time(task.clock(), peer, task.threads(), |thread, session| {
        for _ in 0..walks {
            for (_, key) in absent.pairs(absent.group(thread, task.threads())) {
                assert!(session.select(key, |_| ()).is_none(), "{} is there", key.escape_ascii());
            }
        }
    });
    mops("hash_absent", list.len() * walks, time)
}

fn select_many<P: Peer>(peer: &mut P, task: &Task, list: &KeyList) -> Figure {
    let walks = walks(list.len());
    let keys: Vec<&[u8]> = list.pairs(0..list.len()).map(|(_, key)| key).collect();
    let time = time(task.clock(), peer, task.threads(), |thread, session| {
        for _ in 0..walks {
            let group = list.group(thread, task.threads());
            for start in group.clone().step_by(BATCH) {
                let end = group.end.min(start + BATCH);
                session.select_many(&keys[start..end], |position, value| {
                    let number = list.number(start + position);
                    let right = value.map(|value| is_value_start(number, task.value_bytes(), value));
                    check(right, keys[start + position]);
                });
            }
        }
    });
    mops("hash_select_many", list.len() * walks, time)
}

/// How a scan is measured.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) clock: Clock,
    pub(crate) threads: usize,
    pub(crate) value_bytes: usize,
}

/// Every thread reads its own row of neighbours, and every key and the start of every value is checked.
pub(crate) fn time_scan<P: Peer>(
    peer: &mut P,
    how: How,
    sorted: &KeyList,
    walks: usize,
    many: bool,
) -> Duration
where
    for<'p> P::Session<'p>: SortedSession,
{
    let How { clock, threads, value_bytes } = how;
    time(clock, peer, threads, |thread, session| {
        let group = sorted.group(thread, threads);
        for _ in 0..walks {
            let mut position = group.start;
            let read = |key: &[u8], value: &[u8]| {
                let right = key == sorted.key(position)
                    && is_value_start(sorted.number(position), value_bytes, value);
                check(Some(right), key);
                position += 1;
            };
            let first = sorted.key(group.start);
            let count = if many {
                session.scan_many(first, group.len(), read)
            } else {
                session.scan(first, group.len(), read)
            };
            assert_eq!(count, group.len(), "the scan ended early");
        }
    })
}
