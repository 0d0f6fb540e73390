//! Snapshots and transactions.

#[cfg(feature = "transactions")]
use std::rc::Rc;

use crate::handles::{Object, Of};
use crate::reserve;
use crate::state::call;
use crate::time;
#[cfg(feature = "transactions")]
use crate::transaction::Open;

#[unsafe(no_mangle)]
extern "C" fn twindex_snapshot(store: u32) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let engine = state.handles.store(store)?;
        let (tables, snapshot) = (engine.tables().len(), engine.snapshot()?);
        let of = Of { store, within: store };
        state.handles.open_as_status(Object::Snapshot { of, snapshot, moment: time::now(), tables })
    })
}

#[cfg(feature = "transactions")]
#[unsafe(no_mangle)]
extern "C" fn twindex_begin(store: u32) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let transaction = Rc::new(Open::new(state.handles.store(store)?.begin()));
        let of = Of { store, within: store };
        state.handles.open_as_status(Object::Transaction { of, transaction })
    })
}

#[cfg(feature = "transactions")]
#[unsafe(no_mangle)]
extern "C" fn twindex_commit(transaction: u32) -> i32 {
    call(|state| {
        let (transaction, store) = state.handles.transaction(transaction)?;
        let transaction = Rc::clone(transaction);
        let (_, journal) = state.handles.kept(store)?;
        transaction.commit(journal.as_ref(), &mut state.log)?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_snapshot_stats(store: u32) -> i32 {
    call(|state| {
        let stats = state.handles.store(store)?.snapshot_stats();
        let figures = [stats.snapshots, stats.kept_bytes, stats.transactions].map(|figure| figure as u64);
        let output = state.output.start();
        output.push(figures.map(u64::to_le_bytes).as_flattened())?;
        output.finish(figures.len());
        Ok(0)
    })
}
