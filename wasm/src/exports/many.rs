//! The verbs on many keys, which cross the border once for a packed block of them.
//!
//! The engine's own forms of those that write would be several times the code. Each of these is a loop over the verb on one
//! key, a group after what it needs was asked for.

use twindex::{Table, check_key};

use crate::answer::Output;
use crate::block::{self, Item, Items, Shape};
use crate::buffers::Place;
use crate::exports::table::{INSERT, REPLACE, UPSERT, Write};
use crate::failure::Failed;
#[cfg(not(target_feature = "simd128"))]
use crate::read::read;
use crate::reserve;
use crate::state::call;

/// What so many items need of memory is asked for together.
const GROUP: usize = 32;

/// Writes one item and adds what comes of it to the answer.
type Change<'c> = &'c mut dyn FnMut(&Table, Item<'_>, &mut Output) -> Result<(), Failed>;

/// How many items a block has, all of which are whole and pass a check.
fn count(mut items: Items<'_>, check: fn(&[u8]) -> twindex::Result<()>) -> Result<usize, Failed> {
    let mut count = 0;
    while let Some(item) = items.next()? {
        check(item.key)?;
        count += 1;
    }
    Ok(count)
}

/// Lays the next items into a group; how many there were.
fn take<'b>(items: &mut Items<'b>, mut lay: impl FnMut(usize, Item<'b>)) -> Result<usize, Failed> {
    let mut taken = 0;
    while taken < GROUP
        && let Some(item) = items.next()?
    {
        lay(taken, item);
        taken += 1;
    }
    Ok(taken)
}

/// Writes item by item, once all keys' lengths are checked, and answers with `answer_bytes` or more for each.
fn each(table: u32, block: Place, shape: Shape, answer_bytes: usize, change: Change<'_>) -> i32 {
    call(|state| {
        let mut items = Items::new(state.buffers.bytes(block)?, shape);
        let count = count(items.clone(), check_key)?;
        let table = state.handles.table(table)?;
        let output = state.output.start();
        output.reserve(count.saturating_mul(answer_bytes))?;
        let (mut group, mut keys) = ([Item::default(); GROUP], [&[][..]; GROUP]);
        loop {
            let taken = take(&mut items, |at, item| (group[at], keys[at]) = (item, item.key))?;
            if taken == 0 {
                break;
            }
            table.prefetch(&keys[..taken]);
            for &item in &group[..taken] {
                reserve::ensure(item.key.len() + item.value.map_or(0, <[u8]>::len))?;
                change(table, item, output)?;
            }
        }
        output.finish(count);
        Ok(0)
    })
}

/// Answers with each key's value, or with a byte for whether there is one.
fn each_value(table: u32, block: Place, whole: bool) -> i32 {
    call(|state| {
        let mut items = Items::new(state.buffers.bytes(block)?, Shape::Key);
        let count = count(items.clone(), |_| Ok(()))?;
        let table = state.handles.table(table)?;
        let output = state.output.start();
        output.reserve(count.saturating_mul(if whole { 4 } else { 1 }))?;
        let mut keys = [&[][..]; GROUP];
        loop {
            let taken = take(&mut items, |at, item| keys[at] = item.key)?;
            if taken == 0 {
                break;
            }
            let mut outcome = Ok(());
            let mut show = |value: Option<&[u8]>| {
                if outcome.is_ok() {
                    let is_there = [value.is_some().into()];
                    outcome =
                        if whole { block::push_optional(output, value) } else { output.push(&is_there) };
                }
            };
            #[cfg(target_feature = "simd128")]
            table.select_many(&keys[..taken], |_, value| show(value));
            // The small module has one copy of how the indexes are read.
            #[cfg(not(target_feature = "simd128"))]
            {
                table.prefetch(&keys[..taken]);
                for key in &keys[..taken] {
                    let is_there = read(table, key, |value| {
                        show(Some(value));
                        Ok(())
                    })?;
                    if !is_there {
                        show(None);
                    }
                }
            }
            outcome?;
        }
        output.finish(count);
        Ok(0)
    })
}

/// Answers with a byte for each item, 1 or 0.
fn each_outcome(
    table: u32,
    block: Place,
    shape: Shape,
    verb: &mut dyn FnMut(&Table, Item<'_>) -> Result<bool, Failed>,
) -> i32 {
    each(table, block, shape, 1, &mut |table, item, output| output.push(&[verb(table, item)?.into()]))
}

fn write_pairs(table: u32, block: Place, verb: Write) -> i32 {
    each_outcome(table, block, Shape::Pair, &mut |table, item| {
        Ok(verb(table, item.key, item.value.unwrap_or_default())?)
    })
}

/// `twindex_insert` for each packed pair: answers with a byte for each, 1 where it took effect, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_insert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), INSERT)
}

/// `twindex_replace` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_replace_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), REPLACE)
}

/// `twindex_upsert` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_upsert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), UPSERT)
}

/// `twindex_delete` for each packed key, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_delete_many(table: u32, keys: usize, length: usize) -> i32 {
    each_outcome(table, (keys, length), Shape::Key, &mut |table, item| Ok(table.delete(item.key)?))
}

/// `twindex_contains` for each packed key: answers with a byte for each, 1 where it is there, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_contains_many(table: u32, keys: usize, length: usize) -> i32 {
    each_value(table, (keys, length), false)
}

/// `twindex_select` for each packed key: answers with packed values, each possibly absent, and their
/// number.
#[unsafe(no_mangle)]
extern "C" fn twindex_select_many(table: u32, keys: usize, length: usize) -> i32 {
    each_value(table, (keys, length), true)
}

/// `twindex_increment` for each packed amount: answers with the sums, 8 bytes each, and their number.
#[unsafe(no_mangle)]
extern "C" fn twindex_increment_many(table: u32, amounts: usize, length: usize) -> i32 {
    each(table, (amounts, length), Shape::Amount, 8, &mut |table, item, output| {
        output.push(&table.increment(item.key, item.by)?.to_le_bytes())
    })
}

/// `twindex_compare_and_swap` for each packed swap, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_compare_and_swap_many(table: u32, swaps: usize, length: usize) -> i32 {
    each_outcome(table, (swaps, length), Shape::Swap, &mut |table, item| {
        Ok(table.compare_and_swap(item.key, item.expected, item.value)?)
    })
}
