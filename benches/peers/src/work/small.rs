//! Many small tables, one after the other: what a table costs before it has many pairs.

use twindex_benches::{KeyList, claim_memory_for};

use super::steps::{figure, insert, mops, resident, select};
use crate::keys::rng;
use crate::peer::Peer;
use crate::task::{Figure, Task};

/// All pairs of all tables together.
const PAIRS: usize = 100_000;
/// How often each pair is read.
const WALKS: usize = 10;

pub(crate) fn run<P: Peer>(task: &Task, half: &str, pairs: usize) -> Vec<Figure> {
    let list = &task.keys;
    let tables = PAIRS.min(list.len()) / pairs;
    if tables == 0 {
        return Vec::new();
    }
    let read_list = shuffled_tables(list, tables, pairs);
    claim_memory_for(list, task.value_bytes());
    let before = resident();
    let Some(mut peers) = P::several(tables) else { return Vec::new() };
    let value_bytes = task.value_bytes();
    let positions = |table: usize| table * pairs..(table + 1) * pairs;
    let start = task.clock().now();
    for (table, peer) in peers.iter_mut().enumerate() {
        peer.each_thread(1, |_, session| insert(session, list, positions(table), value_bytes));
    }
    let writing = task.clock().since(start);
    let growth = before.zip(resident()).map(|(before, after)| after.saturating_sub(before));
    let start = task.clock().now();
    for (table, peer) in peers.iter_mut().enumerate() {
        peer.each_thread(1, |_, session| {
            for _ in 0..WALKS {
                select(session, &read_list, positions(table), value_bytes);
            }
        });
    }
    let reading = task.clock().since(start);
    let row = |what| format!("{half}_{pairs}_{what}");
    let mut figures = vec![
        mops(row("insert"), tables * pairs, writing),
        mops(row("select"), tables * pairs * WALKS, reading),
    ];
    if let Some(growth) = growth {
        figures.push(figure(row("bytes"), growth as f64 / tables as f64));
    }
    figures
}

/// The keys of the tables, those of each in another random order.
fn shuffled_tables(list: &KeyList, tables: usize, pairs: usize) -> KeyList {
    let positions: Vec<u32> = (0..(tables * pairs) as u32).collect();
    list.in_order(&positions).shuffled_in_groups(tables, &mut rng())
}
