//! Snapshots. The first argument is the number of one.

use twindex_durable::Error;

use super::verbs::{Wanted, tell};
use crate::call::Native;
use crate::encoding::Encodings;
use crate::state::Owner;
use crate::table::{Expiring, Table};

pub(crate) const FUNCTIONS: &[(&str, Native)] = &[
    // `openSnapshot(store)`: the number of a snapshot.
    ("open_snapshot", |call, state| {
        let store = call.number(0);
        let snapshot = state.store(store)?.snapshot()?;
        call.give(state.add(store, Encodings::default(), snapshot)?)
    }),
    // `openSnapshotTable(snapshot, name, index, keys, values)`: the number of a table; results as of `openTable`.
    ("open_snapshot_table", |call, state| {
        let wanted = Wanted::read(call)?;
        let options = wanted.options(twindex::BYTES);
        let snapshot = call.number(0);
        let of = state.snapshots.get(snapshot)?;
        let owner = Owner { snapshot, ..of.owner };
        let table = match of.thing.table(&wanted.name) {
            Err(Error::WrongExpiry { .. }) => {
                let reads = of.thing.expiring_table(&wanted.name)?;
                reads.check(options)?;
                tell(&mut state.results, reads.codecs(), reads.index(), "expiring");
                return call.give(state.add(owner, Encodings::default(), Expiring::from(reads))?);
            }
            other => other?.as_table().clone(),
        };
        options.check(&table)?;
        tell(&mut state.results, table.codecs(), table.index(), "table");
        call.give(state.add(owner, Encodings::default(), Table::from(table))?)
    }),
    // `snapshotTables(snapshot)`: results as of `tables`.
    ("snapshot_tables", |call, state| {
        let tables = state.snapshots.get(call.number(0))?.thing.tables()?;
        state.results.set_names(tables.iter().flat_map(|table| [table.name(), table.index().name()]));
        call.give(state.results.len())
    }),
    // `snapshotPosition(snapshot)`: as `position`.
    ("snapshot_position", |call, state| {
        call.give(state.snapshots.get(call.number(0))?.thing.position()?.to_string())
    }),
    // `closeSnapshot(snapshot)`: lets go of it and all that was opened through it, and of its number.
    ("close_snapshot", |call, state| call.give(state.end_snapshot(call.number(0)))),
];
