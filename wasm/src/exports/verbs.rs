//! The verbs on one key of a table or a cache.

use twindex::Write;

use crate::answer;
use crate::buffers::Place;
use crate::pairs::Pairs;
use crate::read::read;
use crate::state::call;
use crate::stored::Stored;

/// A write of one pair: 1 where it took effect, 0 where not.
fn write(handle: u32, key: Place, value: Place, write: Write) -> i32 {
    call(|state| {
        let key = state.buffers.bytes(key)?;
        let value = state.buffers.bytes(value)?;
        Ok(state.handles.pairs(handle)?.write(&mut state.log, write, key, value)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_insert(
    handle: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(handle, (key, key_length), (value, value_length), Write::Insert)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_replace(
    handle: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(handle, (key, key_length), (value, value_length), Write::Replace)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_upsert(
    handle: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(handle, (key, key_length), (value, value_length), Write::Upsert)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_delete(handle: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        Ok(state.handles.pairs(handle)?.delete(&mut state.log, key)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_take(handle: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let output = state.output.start();
        let pairs = state.handles.pairs(handle)?;
        pairs.read(key, |value| output.push(value))?;
        output.finish(0);
        Ok(pairs.delete(&mut state.log, key)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_select(handle: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        match state.handles.pairs(handle)? {
            // The value stays where it is until a call changes the table.
            Pairs::Plain(Stored::Table(table, _)) => Ok(read(table, key, |value| {
                answer::set_bytes(value, 0);
                Ok(())
            })?
            .into()),
            pairs => {
                // A look-up may move pairs of a cache.
                let output = state.output.start();
                let is_there = pairs.read(key, |value| output.push(value))?;
                output.finish(0);
                Ok(is_there.into())
            }
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_contains(handle: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        Ok(state.handles.pairs(handle)?.contains(key)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_increment(handle: u32, key: usize, key_length: usize, by: i64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        answer::set_number(state.handles.pairs(handle)?.increment(&mut state.log, key, by)?);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_compare_and_swap(
    handle: u32,
    key: usize,
    key_length: usize,
    expected: usize,
    expected_length: usize,
    new: usize,
    new_length: usize,
) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        let expected = state.buffers.optional_bytes((expected, expected_length))?;
        let new = state.buffers.optional_bytes((new, new_length))?;
        Ok(state.handles.pairs(handle)?.compare_and_swap(&mut state.log, key, expected, new)?.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_len(handle: u32) -> i32 {
    call(|state| {
        answer::set_count(state.handles.pairs(handle)?.len()?);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_clear(handle: u32) -> i32 {
    call(|state| {
        state.handles.pairs(handle)?.clear(&mut state.log)?;
        Ok(0)
    })
}
