//! The verbs on many keys, which cross the border once for a packed block of them.
//!
//! The engine's own forms of those that write would be several times the code. Each of these is a loop over the verb on one
//! key, a group after what it needs was asked for.

use twindex::{Write, check_key};

use crate::answer::Output;
use crate::block::{self, Item, Items, Shape};
use crate::buffers::Place;
use crate::failure::Failed;
use crate::journal::Log;
use crate::pairs::Pairs;
use crate::state::State;

/// What so many items need of memory is asked for together.
const GROUP: usize = 32;

/// Writes one item and adds what comes of it to the answer.
type Change<'c> = &'c mut dyn FnMut(Pairs<'_>, &mut Log, Item<'_>, &mut Output) -> Result<(), Failed>;

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
fn each(
    state: &mut State,
    handle: u32,
    block: Place,
    shape: Shape,
    answer_bytes: usize,
    change: Change<'_>,
) -> Result<(), Failed> {
    let mut items = Items::new(state.buffers.bytes(block)?, shape);
    let count = count(items.clone(), check_key)?;
    let pairs = state.handles.pairs(handle)?;
    let output = state.output.start();
    output.reserve(count.saturating_mul(answer_bytes))?;
    let (mut group, mut keys) = ([Item::default(); GROUP], [&[][..]; GROUP]);
    loop {
        let taken = take(&mut items, |at, item| (group[at], keys[at]) = (item, item.key))?;
        if taken == 0 {
            break;
        }
        pairs.prefetch(&keys[..taken]);
        for &item in &group[..taken] {
            change(pairs, &mut state.log, item, output)?;
        }
    }
    output.finish(count);
    Ok(())
}

/// Answers with each key's value, or with a byte for whether there is one.
fn each_value(state: &mut State, handle: u32, block: Place, whole: bool) -> Result<(), Failed> {
    let mut items = Items::new(state.buffers.bytes(block)?, Shape::Key);
    let count = count(items.clone(), |_| Ok(()))?;
    let pairs = state.handles.pairs(handle)?;
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
                outcome = if whole { block::push_optional(output, value) } else { output.push(&is_there) };
            }
        };
        #[cfg(target_feature = "simd128")]
        if let Pairs::Plain(crate::stored::Stored::Table(table, _)) = pairs {
            table.select_many(&keys[..taken], |_, value| show(value));
            outcome?;
            continue;
        }
        pairs.prefetch(&keys[..taken]);
        for key in &keys[..taken] {
            // To look for a key of a cache is no use of its pair.
            let is_there = if whole {
                pairs.read(key, |value| {
                    show(Some(value));
                    Ok(())
                })?
            } else {
                let is_there = pairs.contains(key)?;
                show(is_there.then_some(&[]));
                true
            };
            if !is_there {
                show(None);
            }
        }
        outcome?;
    }
    output.finish(count);
    Ok(())
}

/// Answers with a byte for each item, 1 or 0.
fn each_outcome(
    state: &mut State,
    handle: u32,
    block: Place,
    shape: Shape,
    verb: &mut dyn FnMut(Pairs<'_>, &mut Log, Item<'_>) -> Result<bool, Failed>,
) -> Result<(), Failed> {
    each(state, handle, block, shape, 1, &mut |pairs, log, item, output| {
        output.push(&[verb(pairs, log, item)?.into()])
    })
}

fn write_pairs(state: &mut State, handle: u32, block: Place, write: Write) -> Result<(), Failed> {
    each_outcome(state, handle, block, Shape::Pair, &mut |pairs, log, item| {
        pairs.write(log, write, item.key, item.value.unwrap_or_default())
    })
}

exports! {
    fn twindex_insert_many(state, handle: u32, pairs: place) {
        write_pairs(state, handle, pairs, Write::Insert)?;
    }

    fn twindex_replace_many(state, handle: u32, pairs: place) {
        write_pairs(state, handle, pairs, Write::Replace)?;
    }

    fn twindex_upsert_many(state, handle: u32, pairs: place) {
        write_pairs(state, handle, pairs, Write::Upsert)?;
    }

    fn twindex_delete_many(state, handle: u32, keys: place) {
        each_outcome(state, handle, keys, Shape::Key, &mut |pairs, log, item| pairs.delete(log, item.key))?;
    }

    fn twindex_contains_many(state, handle: u32, keys: place) {
        each_value(state, handle, keys, false)?;
    }

    fn twindex_select_many(state, handle: u32, keys: place) {
        each_value(state, handle, keys, true)?;
    }

    fn twindex_increment_many(state, handle: u32, amounts: place) {
        each(state, handle, amounts, Shape::Amount, 8, &mut |pairs, log, item, output| {
            output.push(&pairs.increment(log, item.key, item.by)?.to_le_bytes())
        })?;
    }

    fn twindex_compare_and_swap_many(state, handle: u32, swaps: place) {
        each_outcome(state, handle, swaps, Shape::Swap, &mut |pairs, log, item| {
            pairs.compare_and_swap(log, item.key, item.expected, item.value)
        })?;
    }
}
