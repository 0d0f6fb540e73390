//! The verbs on one key of a table or a cache.

use twindex::Write;

use crate::answer;
use crate::buffers::Place;
use crate::failure::Failed;
use crate::pairs::Pairs;
use crate::read::read;
use crate::state::State;
use crate::stored::Stored;

/// A write of one pair; whether it took effect.
fn write(state: &mut State, handle: u32, key: Place, value: Place, write: Write) -> Result<bool, Failed> {
    let key = state.buffers.bytes(key)?;
    let value = state.buffers.bytes(value)?;
    state.handles.pairs(handle)?.write(&mut state.log, write, key, value)
}

exports! {
    fn twindex_insert(state, handle: u32, key: place, value: place) {
        write(state, handle, key, value, Write::Insert)?
    }

    fn twindex_replace(state, handle: u32, key: place, value: place) {
        write(state, handle, key, value, Write::Replace)?
    }

    fn twindex_upsert(state, handle: u32, key: place, value: place) {
        write(state, handle, key, value, Write::Upsert)?
    }

    fn twindex_delete(state, handle: u32, key: bytes) {
        state.handles.pairs(handle)?.delete(&mut state.log, key)?
    }

    fn twindex_take(state, handle: u32, key: bytes) {
        let output = state.output.start();
        let pairs = state.handles.pairs(handle)?;
        pairs.read(key, |value| output.push(value))?;
        output.finish(0);
        pairs.delete(&mut state.log, key)?
    }

    fn twindex_select(state, handle: u32, key: bytes) {
        match state.handles.pairs(handle)? {
            // The value stays where it is until a call changes the table.
            Pairs::Plain(Stored::Table(table, _)) => read(table, key, |value| {
                answer::set_bytes(value, 0);
                Ok(())
            })?,
            pairs => {
                // A look-up may move pairs of a cache.
                let output = state.output.start();
                let is_there = pairs.read(key, |value| output.push(value))?;
                output.finish(0);
                is_there
            }
        }
    }

    fn twindex_contains(state, handle: u32, key: bytes) {
        state.handles.pairs(handle)?.contains(key)?
    }

    fn twindex_increment(state, handle: u32, key: bytes, by: i64) {
        answer::set_number(state.handles.pairs(handle)?.increment(&mut state.log, key, by)?);
    }

    fn twindex_compare_and_swap(state, handle: u32, key: bytes, expected: optional, new: optional) {
        state.handles.pairs(handle)?.compare_and_swap(&mut state.log, key, expected, new)?
    }

    fn twindex_len(state, handle: u32) {
        answer::set_count(state.handles.pairs(handle)?.len()?);
    }

    fn twindex_clear(state, handle: u32) {
        state.handles.pairs(handle)?.clear(&mut state.log)?;
    }
}
