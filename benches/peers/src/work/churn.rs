//! As many pairs all the time, but never the same: each delete is followed by an insert of another key.

use twindex_benches::fill_value;

use super::steps::{begin, figure, insert, mops, resident, select};
use crate::keys::rng;
use crate::peer::{Peer, Session, time};
use crate::task::{Figure, Task};

/// The job's list has keys for two tables: those of the first half are deleted, in another order, while
/// those of the second come in.
pub(crate) fn run<P: Peer>(task: &Task, half: &str) -> Vec<Figure> {
    let pairs = task.keys.len() / 2;
    let mut old: Vec<u32> = (0..pairs as u32).collect();
    rng().shuffle(&mut old);
    let old = task.keys.in_order(&old);
    let mut peer: P = begin(&task.keys, task.value_bytes());
    let before = resident();
    peer.each_thread(1, |_, session| insert(session, &task.keys, 0..pairs, task.value_bytes()));
    let time = time(task.clock(), &mut peer, 1, |_, session| {
        let mut value = vec![0; task.value_bytes()];
        for ((_, old), (number, new)) in old.pairs(0..pairs).zip(task.keys.pairs(pairs..2 * pairs)) {
            assert!(session.delete(old), "{} is not there", old.escape_ascii());
            fill_value(number, &mut value);
            assert!(session.insert(new, &value), "{} was there before", new.escape_ascii());
        }
    });
    let growth = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    peer.each_thread(1, |_, session| select(session, &task.keys, pairs..2 * pairs, task.value_bytes()));
    let mut figures = vec![mops(format!("{half}_churn"), 2 * pairs, time)];
    if let Some(bytes) = peer.bytes().or(growth) {
        figures.push(figure(format!("{half}_churn_bytes"), bytes as f64 / pairs as f64));
    }
    figures
}
