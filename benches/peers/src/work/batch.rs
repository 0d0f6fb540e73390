//! A table is filled with the batched verb.

use std::ops::Range;

use twindex_benches::{KeyList, fill_value};

use super::fill::BATCH;
use super::steps::{begin, mops, select};
use crate::peer::{Peer, Session, time};
use crate::task::{Figure, Task};

pub(crate) fn run<P: Peer>(task: &Task, row: &str) -> Vec<Figure> {
    let mut peer: P = begin(&task.keys, task.value_bytes());
    let (list, threads) = (&task.keys, task.threads());
    let time = time(task.clock(), &mut peer, threads, |thread, session| {
        insert_many(session, list, list.group(thread, threads), task.value_bytes());
    });
    peer.each_thread(1, |_, session| select(session, list, 0..list.len(), task.value_bytes()));
    vec![mops(row, list.len(), time)]
}

fn insert_many(session: &mut impl Session, list: &KeyList, positions: Range<usize>, value_bytes: usize) {
    let mut values = vec![0; BATCH * value_bytes];
    for start in positions.clone().step_by(BATCH) {
        let count = BATCH.min(positions.end - start);
        for (value, position) in values.chunks_mut(value_bytes).zip(start..start + count) {
            fill_value(list.number(position), value);
        }
        let mut pairs: [(&[u8], &[u8]); BATCH] = [(&[], &[]); BATCH];
        for ((pair, value), position) in
            pairs.iter_mut().zip(values.chunks(value_bytes)).zip(start..start + count)
        {
            *pair = (list.key(position), value);
        }
        assert_eq!(session.insert_many(&pairs[..count]), count, "a key was there before");
    }
}
