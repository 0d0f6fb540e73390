//! The Index64 report: strings and sorted strings, by threads.

use twindex_benches::{Reach, Record, random_hex};

use super::sizes::Sizes;
use super::test::{Job, System, per_second, record, rng, system};
use crate::clock::Clock;
use crate::peer::{Peer, SortedSession, time};
use crate::peers::{self, redis};
use crate::work::fill::{How, time_scan};
use crate::work::steps::{begin, insert, resident, select};

const KEY_BYTES: u16 = 16;
const VALUE_BYTES: usize = 16;

pub(super) const STRINGS: &[System] = &[
    strings_of::<peers::TwindexHash>(),
    strings_of::<peers::Hashbrown>(),
    strings_of::<peers::Sharded>(),
    strings_of::<peers::Papaya>(),
    strings_of::<peers::Scc>(),
    strings_of::<peers::Dashmap>(),
    strings_of::<peers::Redis<redis::Strings>>(),
];

pub(super) const SORTED: &[System] = &[
    sorted_of::<peers::TwindexSorted>(),
    sorted_of::<peers::BTree>(),
    sorted_of::<peers::BTreeRwLock>(),
    sorted_of::<peers::TreeIndex>(),
    sorted_of::<peers::Masstree>(),
    sorted_of::<peers::Skiplist>(),
    sorted_of::<peers::Indexset>(),
    sorted_of::<peers::Blart>(),
    sorted_of::<peers::Lmdb>(),
    sorted_of::<peers::Redis<redis::Members>>(),
];

const fn strings_of<P: Peer>() -> System {
    system::<P>(strings::<P>)
}

const fn sorted_of<P: Peer>() -> System
where
    for<'p> P::Session<'p>: SortedSession,
{
    system::<P>(sorted::<P>)
}

/// Inserts all pairs, and selects them in another order.
fn strings<P: Peer>(job: &Job) -> Vec<Record> {
    let threads = job.threads;
    let keys = keys(job, P::REACH);
    let read_list = keys.shuffled_in_groups(threads, &mut rng());
    let walks = job.sizes.walks(keys.len(), P::REACH);
    let mut peer: P = begin(&keys, VALUE_BYTES);
    let (writing, bytes) = fill(&mut peer, &keys, threads);
    let reading = time(Clock::Wall, &mut peer, threads, |thread, session| {
        for _ in 0..walks {
            select(session, &read_list, read_list.group(thread, threads), VALUE_BYTES);
        }
    });
    let rates = record::<P>("strings", keys.len())
        .with("threads", threads)
        .figure("insert_per_second", per_second(keys.len(), writing))
        .figure("select_per_second", per_second(keys.len() * walks, reading));
    with_memory(rates, bytes)
}

/// Inserts all pairs in random order, and scans them.
fn sorted<P: Peer>(job: &Job) -> Vec<Record>
where
    for<'p> P::Session<'p>: SortedSession,
{
    let threads = job.threads;
    let keys = keys(job, P::REACH);
    let read_list = keys.sorted();
    let walks = job.sizes.walks(keys.len(), P::REACH);
    let mut peer: P = begin(&keys, VALUE_BYTES);
    let (writing, bytes) = fill(&mut peer, &keys, threads);
    let how = How { clock: Clock::Wall, threads, value_bytes: VALUE_BYTES };
    let reading = time_scan(&mut peer, how, &read_list, walks, false);
    let rates = record::<P>("sorted", keys.len())
        .with("threads", threads)
        .figure("insert_per_second", per_second(keys.len(), writing))
        .figure("scan_asc_next_per_second", per_second(keys.len() * walks, reading));
    with_memory(rates, bytes)
}

fn keys(job: &Job, reach: Reach) -> twindex_benches::KeyList {
    let pairs = Sizes::of(job.sizes.pairs, reach);
    random_hex(pairs, KEY_BYTES, &mut rng()).expect("there are so many keys")
}

/// Inserts all; how long that took, and what it took of memory for a pair where that can be told.
fn fill<P: Peer>(
    peer: &mut P,
    keys: &twindex_benches::KeyList,
    threads: usize,
) -> (std::time::Duration, Option<f64>) {
    let before = resident();
    let writing = time(Clock::Wall, peer, threads, |thread, session| {
        insert(session, keys, keys.group(thread, threads), VALUE_BYTES);
    });
    let growth = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    // Several threads take memory of their own.
    let bytes = peer.bytes().or(growth).filter(|_| threads == 1);
    (writing, bytes.map(|bytes| bytes as f64 / keys.len() as f64))
}

fn with_memory(rates: Record, bytes_per_pair: Option<f64>) -> Vec<Record> {
    let memory = bytes_per_pair.map(|bytes| Record {
        test: format!("{}_memory", rates.test),
        params: [].into(),
        figures: [("bytes_per_pair".to_owned(), bytes)].into(),
        ..rates.clone()
    });
    [Some(rates), memory].into_iter().flatten().collect()
}
