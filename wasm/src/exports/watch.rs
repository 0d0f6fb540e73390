//! What calls change, for watches of the host.

use crate::answer;
use crate::failure::Failure;
use crate::handles::Of;

exports! {
    fn twindex_watch(state, table: u32) {
        let (table, _, Of { store, within }) = state.handles.table(table)?;
        if within != store {
            return Err(Failure::Lacks { of: "snapshot's table" }.into());
        }
        let table = table.clone();
        let journal = state.handles.journal(store)?;
        state.handles.keep(store, Some(&journal))?;
        let id = journal.borrow().id(&table);
        answer::set_count(id.ok_or(twindex::Error::TableDropped { table: table.name().into() })? as usize);
        store.cast_signed()
    }

    fn twindex_unwatch(state, store: u32) {
        let (_, journal) = state.handles.kept(store)?;
        if journal.as_ref().is_some_and(|journal| journal.borrow().is_idle()) {
            state.handles.keep(store, None)?;
        }
    }
}
