//! Redis as a store of blobs: messages are appended in batches, as pairs of a sorted table under increasing keys.
//!
//! A key is eight bytes: the number of a list and that of a message in it. Each connection has a list of its own.

use twindex_benches::{Record, claim_memory, resident_bytes};

use super::sizes::Sizes;
use super::test::{Job, System, per_second, record, system};
use crate::clock::Clock;
use crate::peer::{Peer, Session, time};
use crate::peers::{self, redis};

/// The report's small and medium blobs.
pub(super) const BLOBS: [usize; 2] = [100, 20_000];
/// The lists that it appends to at once.
pub(super) const LISTS: usize = 8;
/// Messages of one batch, where batches are not what is varied.
pub(super) const BATCH: usize = 256;
/// The report's 32,768 blobs of 20 KB are left out: no call takes more bytes than these.
const LARGEST_BATCH: usize = 100_000_000;
/// Into so many parts the filling of the memory is cut.
const PARTS: usize = 20;

pub(super) const APPEND: &[System] = &[
    append_of::<peers::TwindexSorted>(),
    append_of::<peers::BTreeRwLock>(),
    append_of::<peers::TreeIndex>(),
    append_of::<peers::Masstree>(),
    append_of::<peers::Skiplist>(),
    append_of::<peers::Lmdb>(),
    append_of::<peers::Redis<redis::Lists>>(),
];

/// In a process of its own for each size: what a process grows by says something about a store only where no store was
/// freed before.
pub(super) const MEMORY_OF_SMALL: &[System] = &memory_systems::<0>();
pub(super) const MEMORY_OF_MEDIUM: &[System] = &memory_systems::<1>();

const fn append_of<P: Peer>() -> System {
    system::<P>(append::<P>)
}

const fn memory_systems<const BLOB: usize>() -> [System; 7] {
    [
        system::<peers::TwindexSorted>(memory::<peers::TwindexSorted, BLOB>),
        system::<peers::BTreeRwLock>(memory::<peers::BTreeRwLock, BLOB>),
        system::<peers::TreeIndex>(memory::<peers::TreeIndex, BLOB>),
        system::<peers::Masstree>(memory::<peers::Masstree, BLOB>),
        system::<peers::Skiplist>(memory::<peers::Skiplist, BLOB>),
        system::<peers::Lmdb>(memory::<peers::Lmdb, BLOB>),
        system::<peers::Redis<redis::Lists>>(memory::<peers::Redis<redis::Lists>, BLOB>),
    ]
}

/// Everything that is appended to memory alone.
fn append<P: Peer>(job: &Job) -> Vec<Record> {
    let sizes = job.sizes;
    let bytes = Sizes::of(sizes.append_bytes, P::REACH);
    let mut records = Vec::new();
    for blob in BLOBS {
        for &batch in sizes.batches.iter().filter(|&batch| batch * blob <= LARGEST_BATCH) {
            let (messages, rate) = rate::<P>(blob, batch, LISTS, bytes);
            let record = record::<P>("append_batch", messages).with("blob_bytes", blob).with("batch", batch);
            records.push(record.figure("messages_per_second", rate));
        }
        for &connections in &sizes.connections {
            let (messages, rate) = rate::<P>(blob, BATCH, connections.into(), bytes);
            let record = record::<P>("append_connections", messages);
            let record = record.with("blob_bytes", blob).with("connections", connections);
            records.push(record.figure("messages_per_second", rate));
        }
    }
    for &blob in &sizes.large {
        let count = (bytes / blob).max(2);
        let mut peer: P = begin(count * blob);
        let time = time(Clock::Wall, &mut peer, 1, |_, session| {
            let value = vec![1; blob];
            (0..count).for_each(|number| assert!(session.insert(&key(0, number as u64), &value)));
        });
        let record = record::<P>("append_large", count).with("blob_bytes", blob);
        records.push(record.figure("messages_per_second", per_second(count, time)));
    }
    records.extend(fill::<P>(BLOBS[0], sizes.fill_bytes));
    records
}

/// How much of memory a message takes, its key included.
fn memory<P: Peer, const BLOB: usize>(job: &Job) -> Vec<Record> {
    let blob = BLOBS[BLOB];
    let count = Sizes::of(job.sizes.append_bytes, P::REACH) / 2 / blob;
    let mut peer = P::new();
    let before = resident_bytes();
    time(Clock::Wall, &mut peer, 1, |_, session| append_all(session, 0, 0..count as u64, blob, BATCH));
    let growth = before.zip(resident_bytes()).map(|(before, after)| after.saturating_sub(before));
    let grown = peer.bytes().or(growth).map(|bytes| bytes as f64 / count as f64);
    let mut record = record::<P>("append_memory", count).with("blob_bytes", blob);
    record.figures.extend(grown.map(|bytes| ("bytes_per_message".to_owned(), bytes)));
    vec![record]
}

/// An empty system, with memory at hand for so many bytes of messages.
fn begin<P: Peer>(bytes: usize) -> P {
    claim_memory(bytes as u64 / 2 * 3);
    P::new()
}

/// How many messages were appended in all, and how many a second.
fn rate<P: Peer>(blob: usize, batch: usize, connections: usize, bytes: usize) -> (usize, f64) {
    let each = (bytes / blob / connections).max(batch) / batch * batch;
    let mut peer: P = begin(bytes);
    let time = time(Clock::Wall, &mut peer, connections, |list, session| {
        append_all(session, list, 0..each as u64, blob, batch);
    });
    (each * connections, per_second(each * connections, time))
}

/// Appends until there are so many bytes of messages: the rate of each part on the way.
fn fill<P: Peer>(blob: usize, bytes: usize) -> Vec<Record> {
    let mut peer: P = begin(bytes);
    let part = (bytes / PARTS / blob).max(1) as u64;
    (0..PARTS as u64)
        .map(|number| {
            let range = number * part..(number + 1) * part;
            let time = time(Clock::Wall, &mut peer, 1, |_, session| {
                append_all(session, 0, range.clone(), blob, BATCH);
            });
            record::<P>("append_fill", part as usize)
                .with("filled_mb", range.end * blob as u64 / 1_000_000)
                .with("blob_bytes", blob)
                .figure("messages_per_second", per_second(part as usize, time))
        })
        .collect()
}

/// Appends these messages of a list in batches.
pub(super) fn append_all(
    session: &mut impl Session,
    list: usize,
    numbers: std::ops::Range<u64>,
    blob: usize,
    batch: usize,
) {
    let value = vec![list as u8; blob];
    let mut next = numbers.start;
    while next < numbers.end {
        let keys: Vec<[u8; 8]> =
            (next..numbers.end.min(next + batch as u64)).map(|number| key(list, number)).collect();
        let pairs: Vec<(&[u8], &[u8])> = keys.iter().map(|key| (&key[..], &value[..])).collect();
        assert_eq!(session.insert_many(&pairs), pairs.len(), "a message was there before");
        next += pairs.len() as u64;
    }
}

fn key(list: usize, number: u64) -> [u8; 8] {
    ((list as u64) << 48 | number).to_be_bytes()
}
