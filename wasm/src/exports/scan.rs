//! Cursors, scans and iterators.

use crate::buffered_cursor::BufferedCursor;
use crate::direction::Direction;
use crate::handles::Object;
use crate::iterator::Iterator;
use crate::range::{as_slices, range};
use crate::reserve;
use crate::state::call;

/// Opens a cursor on a sorted table, before the first pair of the range and after its last at once: its
/// handle. A bound's kind is 0 none, 1 included, 2 excluded, or 3 the end of a prefix on that side.
#[unsafe(no_mangle)]
extern "C" fn twindex_cursor(
    table: u32,
    lower_kind: u32,
    lower: usize,
    lower_length: usize,
    upper_kind: u32,
    upper: usize,
    upper_length: usize,
) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let range =
            range(&state.buffers, (lower_kind, lower, lower_length), (upper_kind, upper, upper_length))?;
        let (table, store) = state.handles.table_and_store(table)?;
        let cursor = Box::new(BufferedCursor::new(table.cursor(as_slices(&range))?));
        state.handles.open_as_status(Object::Cursor { store, cursor })
    })
}

fn cursor_next(cursor: u32, direction: Direction) -> i32 {
    call(|state| Ok(state.handles.cursor(cursor)?.next(direction, &mut state.output)?.into()))
}

/// Moves a cursor to the next pair upwards and answers with it, packed: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Direction::Up)
}

/// Moves a cursor to the next pair downwards and answers with it, packed: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Direction::Down)
}

fn cursor_next_many(cursor: u32, direction: Direction, count: usize, bytes: usize) -> i32 {
    call(|state| {
        let cursor = state.handles.cursor(cursor)?.cursor();
        let output = state.output.start();
        let pairs = direction.push_block(cursor, output, count, bytes)?;
        output.finish(pairs);
        Ok(0)
    })
}

/// Moves a cursor upwards by up to `count` pairs, or by fewer once they are `bytes` long, and answers with
/// them, packed, and their number. There is no further pair where that is 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Direction::Up, count, bytes)
}

/// As `twindex_scan_asc_next_many`, downwards.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Direction::Down, count, bytes)
}

/// Answers with the first pairs of a range of a sorted table (the last ones, in falling order, where
/// `reverse` is not 0): up to `count`, or fewer once they are `bytes` long, packed, and their number.
/// Bounds are as in `twindex_cursor`. The host goes on with the last key as excluded bound.
#[unsafe(no_mangle)]
extern "C" fn twindex_scan(
    table: u32,
    lower_kind: u32,
    lower: usize,
    lower_length: usize,
    upper_kind: u32,
    upper: usize,
    upper_length: usize,
    reverse: u32,
    count: usize,
    bytes: usize,
) -> i32 {
    call(|state| {
        let range =
            range(&state.buffers, (lower_kind, lower, lower_length), (upper_kind, upper, upper_length))?;
        let mut cursor = state.handles.table(table)?.cursor(as_slices(&range))?;
        let direction = if reverse == 0 { Direction::Up } else { Direction::Down };
        let output = state.output.start();
        let pairs = direction.push_block(&mut cursor, output, count, bytes)?;
        output.finish(pairs);
        Ok(0)
    })
}

/// Opens an iterator over every pair of a table, in the order of the keys where it is sorted, or of a cache: its handle.
#[unsafe(no_mangle)]
extern "C" fn twindex_iter(table: u32) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let (iterator, owner) = if let Object::Cache(cache) = state.handles.object(table)? {
            (Iterator::of_cache(cache), table)
        } else {
            let (table, store) = state.handles.table_and_store(table)?;
            (Iterator::new(table)?, store)
        };
        let iterator = Box::new(iterator);
        state.handles.open_as_status(Object::Iterator { owner, iterator })
    })
}

/// Answers with the next pairs of an iterator: up to `count`, or fewer once they are `bytes` long, packed,
/// and their number. There is no further pair where that is 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_iter_next_many(iter: u32, count: usize, bytes: usize) -> i32 {
    call(|state| {
        let iterator = state.handles.iterator(iter)?;
        let output = state.output.start();
        let pairs = iterator.push_block(output, count, bytes)?;
        output.finish(pairs);
        Ok(0)
    })
}
