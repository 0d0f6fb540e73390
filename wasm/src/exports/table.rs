//! The verbs on one key.

use twindex::Table;

use crate::buffers::Place;
use crate::handles::Object;
use crate::read::read;
use crate::state::call;
use crate::{answer, reserve};

/// A verb that writes a pair; whether it took effect.
pub(super) type Write = fn(&Table, &[u8], &[u8]) -> twindex::Result<bool>;

pub(super) const INSERT: Write = |table, key, value| table.insert(key, value);
pub(super) const REPLACE: Write = |table, key, value| table.replace(key, value);
pub(super) const UPSERT: Write = |table, key, value| table.upsert(key, value);

/// A write of one pair: 1 where it took effect, 0 where not.
fn write(table: u32, key: Place, value: Place, verb: Write) -> i32 {
    call(|state| {
        let key = state.buffers.bytes(key)?;
        let value = state.buffers.bytes(value)?;
        reserve::ensure(key.len() + value.len())?;
        Ok(verb(state.handles.table(table)?, key, value)?.into())
    })
}

/// Adds the pair where the key is absent: 1, or 0 where it is there.
#[unsafe(no_mangle)]
extern "C" fn twindex_insert(
    table: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(table, (key, key_length), (value, value_length), INSERT)
}

/// Replaces the value where the key is present: 1, or 0 where it is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_replace(
    table: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(table, (key, key_length), (value, value_length), REPLACE)
}

/// Gives the key this value, present or not: 1.
#[unsafe(no_mangle)]
extern "C" fn twindex_upsert(
    table: u32,
    key: usize,
    key_length: usize,
    value: usize,
    value_length: usize,
) -> i32 {
    write(table, (key, key_length), (value, value_length), UPSERT)
}

/// Removes the pair: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_delete(table: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        Ok(state.handles.table(table)?.delete(key)?.into())
    })
}

/// Answers with the key's value: 1, or 0 where the key is absent.
#[unsafe(no_mangle)]
extern "C" fn twindex_select(table: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        // The value stays where it is until a call changes the table.
        let show = |value: &[u8]| {
            answer::set_bytes(value, 0);
            Ok(())
        };
        Ok(read(state.handles.table(table)?, key, show)?.into())
    })
}

/// Whether the key is there: 1 or 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_contains(table: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        Ok(read(state.handles.table(table)?, key, |_| Ok(()))?.into())
    })
}

/// Adds `by` to the value, a decimal integer in ASCII, and answers with the sum as a number.
#[unsafe(no_mangle)]
extern "C" fn twindex_increment(table: u32, key: usize, key_length: usize, by: i64) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        answer::set_number(state.handles.table(table)?.increment(key, by)?);
        Ok(0)
    })
}

/// Gives the key the new value where it has the expected one: 1, or 0 where it has not. The length
/// 2^32 - 1 (of all bits, where addresses are wider) stands for an absent value.
#[unsafe(no_mangle)]
extern "C" fn twindex_compare_and_swap(
    table: u32,
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
        if let Some(value) = new {
            reserve::ensure(key.len() + value.len())?;
        }
        Ok(state.handles.table(table)?.compare_and_swap(key, expected, new)?.into())
    })
}

/// Answers with the number of pairs of a table or a cache.
#[unsafe(no_mangle)]
extern "C" fn twindex_len(table: u32) -> i32 {
    call(|state| {
        answer::set_count(match state.handles.object(table)? {
            Object::Cache { cache, .. } => cache.len(),
            _ => state.handles.table(table)?.len(),
        });
        Ok(0)
    })
}

/// Removes all pairs of a table or a cache and returns their memory.
#[unsafe(no_mangle)]
extern "C" fn twindex_clear(table: u32) -> i32 {
    call(|state| {
        match state.handles.object(table)? {
            Object::Cache { cache, .. } => cache.clear()?,
            _ => state.handles.table(table)?.clear()?,
        }
        Ok(0)
    })
}
