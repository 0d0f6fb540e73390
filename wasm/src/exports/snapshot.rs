//! Snapshots and transactions.

#[cfg(feature = "transactions")]
use std::rc::Rc;

use crate::handles::{Object, Of};
use crate::reserve;
use crate::time;
#[cfg(feature = "transactions")]
use crate::transaction::Open;

exports! {
    fn twindex_snapshot(state, store: u32) {
        reserve::ensure_object()?;
        let engine = state.handles.store(store)?;
        let (tables, snapshot) = (engine.tables().len(), engine.snapshot()?);
        let of = Of { store, within: store };
        state.handles.open_as_status(Object::Snapshot { of, snapshot, moment: time::now(), tables })?
    }

    #[cfg(feature = "transactions")]
    fn twindex_begin(state, store: u32) {
        reserve::ensure_object()?;
        let transaction = Rc::new(Open::new(state.handles.store(store)?.begin()));
        let of = Of { store, within: store };
        state.handles.open_as_status(Object::Transaction { of, transaction })?
    }

    #[cfg(feature = "transactions")]
    fn twindex_commit(state, transaction: u32) {
        let (transaction, store) = state.handles.transaction(transaction)?;
        let transaction = Rc::clone(transaction);
        let (_, journal) = state.handles.kept(store)?;
        transaction.commit(journal.as_ref(), &mut state.log)?;
    }

    fn twindex_snapshot_stats(state, store: u32) {
        let stats = state.handles.store(store)?.snapshot_stats();
        let figures = [stats.snapshots, stats.kept_bytes, stats.transactions];
        state.output.figures(&figures.map(|figure| (figure as u64).cast_signed()))?;
    }
}
