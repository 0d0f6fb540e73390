//! Snapshots. The first argument is the number of one.

use twindex_durable::{Error, Result};

use super::verbs::{Wanted, tell};
use crate::call::Call;
use crate::encoding::Encodings;
use crate::fault::{Answer, Fault};
use crate::js::Value;
use crate::state::{Owner, State};
use crate::table::{Expiring, Table};

/// `openSnapshot(store)`: the number of a snapshot.
pub(crate) fn open_snapshot<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let store = call.number(0);
    let snapshot = state.store(store)?.snapshot()?;
    Ok(call.js.u32(state.add(store, Encodings::default(), snapshot)?)?)
}

/// `openSnapshotTable(snapshot, name, index, keys, values)`: the number of a table; results as of `openTable`.
pub(crate) fn open_snapshot_table<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
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
            return Ok(call.js.u32(state.add(owner, Encodings::default(), Expiring::from(reads))?)?);
        }
        other => other?,
    };
    let table = table.as_table().clone();
    options.check(&table)?;
    tell(&mut state.results, table.codecs(), table.index(), "table");
    Ok(call.js.u32(state.add(owner, Encodings::default(), Table::from(table))?)?)
}

/// `snapshotTables(snapshot)`: results as of `tables`.
pub(crate) fn snapshot_tables<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let tables = state.snapshots.get(call.number(0))?.thing.tables()?;
    state.results.set_names(tables.iter().flat_map(|table| [table.name(), table.index().name()]));
    Ok(call.js.usize(state.results.len())?)
}

/// `snapshotPosition(snapshot)`: as `position`.
pub(crate) fn snapshot_position<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    let position: Result<_> = state.snapshots.get(call.number(0))?.thing.position();
    Ok(call.js.text(position?.to_string().as_bytes()).ok_or_else(Fault::bug)??)
}

/// `closeSnapshot(snapshot)`: lets go of it and all that was opened through it, and of its number.
pub(crate) fn close_snapshot<'c>(call: &Call<'c>, state: &mut State) -> Answer<'c> {
    state.end_snapshot(call.number(0));
    Ok(Value::UNDEFINED)
}
