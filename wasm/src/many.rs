//! The verbs on many keys, which cross the border once for a packed block of them.

use twindex::{Result, Table};

use crate::answer::Output;
use crate::block::Pair;
use crate::failure::Failure;
use crate::state::call;
use crate::{block, reserve};

/// What the engine needs for each pair while it works on many.
const BYTES_EACH: usize = 64;

fn ensure(pairs: usize) -> std::result::Result<(), Failure> {
    reserve::ensure(pairs.saturating_mul(BYTES_EACH))
}

/// Answers with a byte for each outcome, 1 or 0, and their number.
fn answer_outcomes(output: &mut Output, outcomes: &[bool]) -> std::result::Result<i32, Failure> {
    output.start().reserve(outcomes.len())?;
    for outcome in outcomes {
        output.push(&[u8::from(*outcome)])?;
    }
    output.finish(outcomes.len());
    Ok(0)
}

fn write_pairs(
    table: u32,
    (address, length): (usize, usize),
    verb: impl FnOnce(&Table, &[Pair<'_>]) -> Result<Vec<bool>>,
) -> i32 {
    call(|state| {
        let pairs = block::pairs(state.buffers.bytes(address, length)?)?;
        let table = state.handles.table(table)?;
        ensure(pairs.len())?;
        answer_outcomes(&mut state.output, &verb(table, &pairs)?)
    })
}

/// `twindex_insert` for each packed pair: answers with a byte for each, 1 where it took effect, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_insert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), |table, pairs| table.insert_many(pairs))
}

/// `twindex_update` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_update_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), |table, pairs| table.update_many(pairs))
}

/// `twindex_upsert` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_upsert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), |table, pairs| table.upsert_many(pairs))
}

/// `twindex_delete` for each packed key, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_delete_many(table: u32, keys: usize, length: usize) -> i32 {
    call(|state| {
        let keys = block::keys(state.buffers.bytes(keys, length)?)?;
        ensure(keys.len())?;
        let outcomes = state.handles.table(table)?.delete_many(&keys)?;
        answer_outcomes(&mut state.output, &outcomes)
    })
}

/// `twindex_contains` for each packed key: answers with a byte for each, 1 where it is there, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_contains_many(table: u32, keys: usize, length: usize) -> i32 {
    call(|state| {
        let keys = block::keys(state.buffers.bytes(keys, length)?)?;
        ensure(keys.len())?;
        let outcomes = state.handles.table(table)?.contains_many(&keys);
        answer_outcomes(&mut state.output, &outcomes)
    })
}

/// `twindex_select` for each packed key: answers with packed values, each possibly absent, and their
/// number.
#[unsafe(no_mangle)]
extern "C" fn twindex_select_many(table: u32, keys: usize, length: usize) -> i32 {
    call(|state| {
        let keys = block::keys(state.buffers.bytes(keys, length)?)?;
        ensure(keys.len())?;
        let output = state.output.start();
        let mut outcome = Ok(());
        state.handles.table(table)?.select_many(&keys, |_, value| {
            if outcome.is_ok() {
                outcome = block::push_optional(output, value);
            }
        });
        outcome?;
        output.finish(keys.len());
        Ok(0)
    })
}

/// `twindex_increment` for each packed amount: answers with the sums, 8 bytes each, and their number.
#[unsafe(no_mangle)]
extern "C" fn twindex_increment_many(table: u32, amounts: usize, length: usize) -> i32 {
    call(|state| {
        let amounts = block::amounts(state.buffers.bytes(amounts, length)?)?;
        ensure(amounts.len())?;
        let sums = state.handles.table(table)?.increment_many(&amounts)?;
        let output = state.output.start();
        for sum in &sums {
            output.push(&sum.to_le_bytes())?;
        }
        output.finish(sums.len());
        Ok(0)
    })
}

/// `twindex_compare_and_swap` for each packed swap, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_compare_and_swap_many(table: u32, swaps: usize, length: usize) -> i32 {
    call(|state| {
        let swaps = block::swaps(state.buffers.bytes(swaps, length)?)?;
        ensure(swaps.len())?;
        let outcomes = state.handles.table(table)?.compare_and_swap_many(&swaps)?;
        answer_outcomes(&mut state.output, &outcomes)
    })
}
