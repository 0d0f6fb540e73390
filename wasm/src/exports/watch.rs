//! What calls change, for watches of the host.

use std::cell::RefCell;
use std::rc::Rc;

use crate::answer;
use crate::failure::Failure;
use crate::handles::Of;
use crate::journal::Journal;
use crate::state::call;

#[unsafe(no_mangle)]
extern "C" fn twindex_watch(table: u32) -> i32 {
    call(|state| {
        let (table, _, of) = state.handles.table(table)?;
        let Of { store, within } = of;
        if within != store {
            return Err(Failure::Lacks { of: "snapshot's table" }.into());
        }
        let table = table.clone();
        let (engine, journal) = state.handles.kept(store)?;
        if journal.is_none() {
            let journal = Rc::new(RefCell::new(Journal::new(store, engine)));
            state.handles.keep(store, Some(&journal))?;
        }
        let id = state.handles.kept(store)?.1.as_ref().and_then(|journal| journal.borrow().id(&table));
        answer::set_count(id.ok_or(twindex::Error::TableDropped { table: table.name().into() })? as usize);
        Ok(store.cast_signed())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_unwatch(store: u32) -> i32 {
    call(|state| {
        let (_, journal) = state.handles.kept(store)?;
        if journal.as_ref().is_some_and(|journal| journal.borrow().is_idle()) {
            state.handles.keep(store, None)?;
        }
        Ok(0)
    })
}
