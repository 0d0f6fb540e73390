//! Cursors, scans and iterators.

use std::ops::Bound;

use crate::answer;
use crate::block;
use crate::buffered_cursor::BufferedCursor;
use crate::direction::Direction;
use crate::handles::{Object, Of};
use crate::iterator::Iterator;
use crate::range::{as_slices, cut, range};
use crate::reserve;
use crate::state::call;

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
        let (table, expiry, of) = state.handles.table(table)?;
        let engine = table.cursor(as_slices(&range))?;
        let cursor = Box::new(BufferedCursor::new(table, engine, expiry.cloned()));
        state.handles.open_as_status(Object::Cursor { of, cursor })
    })
}

fn cursor_next(cursor: u32, direction: Direction) -> i32 {
    call(|state| Ok(state.handles.cursor(cursor)?.next(direction, &mut state.output)?.into()))
}

#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Direction::Up)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next(cursor: u32) -> i32 {
    cursor_next(cursor, Direction::Down)
}

fn cursor_next_many(cursor: u32, direction: Direction, count: usize, bytes: usize) -> i32 {
    call(|state| {
        state.handles.cursor(cursor)?.push_block(direction, &mut state.output, (count, bytes))?;
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_scan_asc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Direction::Up, count, bytes)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_scan_desc_next_many(cursor: u32, count: usize, bytes: usize) -> i32 {
    cursor_next_many(cursor, Direction::Down, count, bytes)
}

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
        let direction = if reverse == 0 { Direction::Up } else { Direction::Down };
        let output = state.output.start();
        let pairs = state.handles.pairs(table)?.scan(range, direction, output, (count, bytes))?;
        output.finish(pairs);
        Ok(0)
    })
}

/// Answers with the first or last pair of a sorted table, packed, and removes it if it is to.
fn end(table: u32, direction: Direction, pops: bool) -> i32 {
    call(|state| {
        let pairs = state.handles.pairs(table)?;
        let output = state.output.start();
        let found = pairs.scan((Bound::Unbounded, Bound::Unbounded), direction, output, (1, 1))?;
        output.finish(found);
        if pops {
            match block::first_pair(output.bytes()) {
                Some((key, _)) => {
                    pairs.delete(&mut state.log, &output.bytes()[block::PAIR_HEAD..][..key])?;
                }
                None => pairs.stored()?.check_writable(&mut state.log)?,
            }
        }
        Ok(i32::from(found > 0))
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_first(table: u32) -> i32 {
    end(table, Direction::Up, false)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_last(table: u32) -> i32 {
    end(table, Direction::Down, false)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_pop_first(table: u32) -> i32 {
    end(table, Direction::Up, true)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_pop_last(table: u32) -> i32 {
    end(table, Direction::Down, true)
}

#[unsafe(no_mangle)]
extern "C" fn twindex_delete_range(
    table: u32,
    lower_kind: u32,
    lower: usize,
    lower_length: usize,
    upper_kind: u32,
    upper: usize,
    upper_length: usize,
) -> i32 {
    call(|state| {
        let range =
            range(&state.buffers, (lower_kind, lower, lower_length), (upper_kind, upper, upper_length))?;
        let deleted = state.handles.pairs(table)?.delete_range(&mut state.log, &range, &mut state.output)?;
        answer::set_count(deleted);
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_seek(cursor: u32, key: usize, key_length: usize) -> i32 {
    call(|state| {
        let key = state.buffers.bytes((key, key_length))?;
        state.handles.cursor(cursor)?.cursor().seek(cut(key));
        Ok(0)
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_cursor_pair(cursor: u32) -> i32 {
    call(|state| {
        let is_on = state.handles.cursor(cursor)?.push_pair(state.output.start())?;
        state.output.finish(is_on.into());
        Ok(is_on.into())
    })
}

#[unsafe(no_mangle)]
extern "C" fn twindex_iter(table: u32) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let (iterator, of) = if let Object::Cache(cache) = state.handles.object(table)? {
            (Iterator::of_cache(cache), Of { store: table, within: table })
        } else {
            let (table, expiry, of) = state.handles.table(table)?;
            (Iterator::new(table, expiry.cloned())?, of)
        };
        let iterator = Box::new(iterator);
        state.handles.open_as_status(Object::Iterator { of, iterator })
    })
}

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
