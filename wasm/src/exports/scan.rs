//! Cursors, scans and iterators.

use std::ops::Bound;

use crate::answer;
use crate::block;
use crate::buffered_cursor::BufferedCursor;
use crate::direction::Direction;
use crate::failure::Failed;
use crate::handles::{Object, Of};
use crate::iterator::Iterator;
use crate::range::{as_slices, cut};
use crate::reserve;
use crate::state::State;

fn next(state: &mut State, cursor: u32, direction: Direction) -> Result<bool, Failed> {
    state.handles.cursor(cursor)?.next(direction, &mut state.output)
}

/// Answers with so many pairs, or with those that are the first to have so many bytes.
fn next_many(
    state: &mut State,
    cursor: u32,
    direction: Direction,
    most: (usize, usize),
) -> Result<(), Failed> {
    state.handles.cursor(cursor)?.push_block(direction, &mut state.output, most).map(drop)
}

/// Answers with the first or last pair of a sorted table, packed, and removes it if it is to; whether there is one.
fn end(state: &mut State, table: u32, direction: Direction, pops: bool) -> Result<bool, Failed> {
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
    Ok(found > 0)
}

exports! {
    fn twindex_cursor(state, table: u32, range: range) {
        reserve::ensure_object()?;
        let (table, expiry, of) = state.handles.table(table)?;
        let engine = table.cursor(as_slices(&range))?;
        let cursor = Box::new(BufferedCursor::new(table, engine, expiry.cloned()));
        state.handles.open_as_status(Object::Cursor { of, cursor })?
    }

    fn twindex_scan_asc_next(state, cursor: u32) {
        next(state, cursor, Direction::Up)?
    }

    fn twindex_scan_desc_next(state, cursor: u32) {
        next(state, cursor, Direction::Down)?
    }

    fn twindex_scan_asc_next_many(state, cursor: u32, count: usize, bytes: usize) {
        next_many(state, cursor, Direction::Up, (count, bytes))?;
    }

    fn twindex_scan_desc_next_many(state, cursor: u32, count: usize, bytes: usize) {
        next_many(state, cursor, Direction::Down, (count, bytes))?;
    }

    fn twindex_scan(state, table: u32, range: range, reverse: u32, count: usize, bytes: usize) {
        let direction = if reverse == 0 { Direction::Up } else { Direction::Down };
        let output = state.output.start();
        let pairs = state.handles.pairs(table)?.scan(range, direction, output, (count, bytes))?;
        output.finish(pairs);
    }

    fn twindex_first(state, table: u32) {
        end(state, table, Direction::Up, false)?
    }

    fn twindex_last(state, table: u32) {
        end(state, table, Direction::Down, false)?
    }

    fn twindex_pop_first(state, table: u32) {
        end(state, table, Direction::Up, true)?
    }

    fn twindex_pop_last(state, table: u32) {
        end(state, table, Direction::Down, true)?
    }

    fn twindex_delete_range(state, table: u32, range: range) {
        let pairs = state.handles.pairs(table)?;
        answer::set_count(pairs.delete_range(&mut state.log, &range, &mut state.output)?);
    }

    fn twindex_seek(state, cursor: u32, key: bytes) {
        state.handles.cursor(cursor)?.cursor().seek(cut(key));
    }

    fn twindex_cursor_pair(state, cursor: u32) {
        let is_on = state.handles.cursor(cursor)?.push_pair(state.output.start())?;
        state.output.finish(is_on.into());
        is_on
    }

    fn twindex_iter(state, table: u32) {
        reserve::ensure_object()?;
        let (iterator, of) = if let Object::Cache(cache) = state.handles.object(table)? {
            (Iterator::of_cache(cache), Of { store: table, within: table })
        } else {
            let (table, expiry, of) = state.handles.table(table)?;
            (Iterator::new(table, expiry.cloned())?, of)
        };
        let iterator = Box::new(iterator);
        state.handles.open_as_status(Object::Iterator { of, iterator })?
    }

    fn twindex_iter_next_many(state, iter: u32, count: usize, bytes: usize) {
        let output = state.output.start();
        let pairs = state.handles.iterator(iter)?.push_block(output, count, bytes)?;
        output.finish(pairs);
    }
}
