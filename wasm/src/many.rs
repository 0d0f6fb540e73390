//! The verbs on many keys, which cross the border once for a packed block of them.
//!
//! Each is a loop over the verb on one key. The engine's own forms over many ask for memory ahead, for which WebAssembly
//! has no instruction, and they would be several times the code.

use twindex::{Table, check_key};

use crate::answer::Output;
use crate::block::{self, Item, Items, Shape};
use crate::buffers::Place;
use crate::failure::Failed;
use crate::reserve;
use crate::state::call;
use crate::table::{INSERT, UPDATE, UPSERT, Write, read};

/// What so many items need of memory is asked for together.
const GROUP: usize = 16;

/// Does one item and adds what comes of it to the answer.
type Work<'w> = &'w mut dyn FnMut(&Table, Item<'_>, &mut Output) -> Result<(), Failed>;

/// Whether a verb writes, so that all lengths are checked before the first write.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Reads,
    Writes,
}

/// Does `work` with each item of a block in which all are whole, and answers with `answer_bytes` or more for each.
fn each(table: u32, block: Place, shape: Shape, access: Access, answer_bytes: usize, work: Work<'_>) -> i32 {
    call(|state| {
        let mut items = Items::new(state.buffers.bytes(block)?, shape);
        let mut ahead = items.clone();
        let mut count = 0_usize;
        while let Some(item) = ahead.next()? {
            if access == Access::Writes {
                check_key(item.key)?;
            }
            count += 1;
        }
        let table = state.handles.table(table)?;
        let output = state.output.start();
        output.reserve(count.saturating_mul(answer_bytes))?;
        let mut group = [Item::default(); GROUP];
        loop {
            let mut taken = 0;
            while taken < GROUP
                && let Some(item) = items.next()?
            {
                group[taken] = item;
                taken += 1;
            }
            let group = &group[..taken];
            if group.is_empty() {
                break;
            }
            let mut keys = [&[][..]; GROUP];
            keys.iter_mut().zip(group).for_each(|(key, item)| *key = item.key);
            table.prefetch(&keys[..taken]);
            for &item in group {
                reserve::ensure(item.key.len() + item.value.map_or(0, <[u8]>::len))?;
                work(table, item, output)?;
            }
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
    access: Access,
    verb: &mut dyn FnMut(&Table, Item<'_>) -> Result<bool, Failed>,
) -> i32 {
    each(table, block, shape, access, 1, &mut |table, item, output| output.push(&[verb(table, item)?.into()]))
}

fn write_pairs(table: u32, block: Place, verb: Write) -> i32 {
    each_outcome(table, block, Shape::Pair, Access::Writes, &mut |table, item| {
        Ok(verb(table, item.key, item.value.unwrap_or_default())?)
    })
}

/// `twindex_insert` for each packed pair: answers with a byte for each, 1 where it took effect, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_insert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), INSERT)
}

/// `twindex_update` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_update_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), UPDATE)
}

/// `twindex_upsert` for each packed pair, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_upsert_many(table: u32, pairs: usize, length: usize) -> i32 {
    write_pairs(table, (pairs, length), UPSERT)
}

/// `twindex_delete` for each packed key, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_delete_many(table: u32, keys: usize, length: usize) -> i32 {
    each_outcome(table, (keys, length), Shape::Key, Access::Writes, &mut |table, item| {
        Ok(table.delete(item.key)?)
    })
}

/// `twindex_contains` for each packed key: answers with a byte for each, 1 where it is there, else 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_contains_many(table: u32, keys: usize, length: usize) -> i32 {
    each_outcome(table, (keys, length), Shape::Key, Access::Reads, &mut |table, item| {
        read(table, item.key, |_| Ok(()))
    })
}

/// `twindex_select` for each packed key: answers with packed values, each possibly absent, and their
/// number.
#[unsafe(no_mangle)]
extern "C" fn twindex_select_many(table: u32, keys: usize, length: usize) -> i32 {
    each(table, (keys, length), Shape::Key, Access::Reads, 4, &mut |table, item, output| {
        let is_there = read(table, item.key, |value| block::push_optional(output, Some(value)))?;
        if is_there { Ok(()) } else { block::push_optional(output, None) }
    })
}

/// `twindex_increment` for each packed amount: answers with the sums, 8 bytes each, and their number.
#[unsafe(no_mangle)]
extern "C" fn twindex_increment_many(table: u32, amounts: usize, length: usize) -> i32 {
    each(table, (amounts, length), Shape::Amount, Access::Writes, 8, &mut |table, item, output| {
        output.push(&table.increment(item.key, item.by)?.to_le_bytes())
    })
}

/// `twindex_compare_and_swap` for each packed swap, answering as `twindex_insert_many`.
#[unsafe(no_mangle)]
extern "C" fn twindex_compare_and_swap_many(table: u32, swaps: usize, length: usize) -> i32 {
    each_outcome(table, (swaps, length), Shape::Swap, Access::Writes, &mut |table, item| {
        Ok(table.compare_and_swap(item.key, item.expected, item.value)?)
    })
}
