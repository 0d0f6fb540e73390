//! Stores.

use std::rc::Rc;

use twindex::{IndexKind, Store, Table, TableOptions};
use twindex_format::{Dump, tables_of, values_that_expire, write_tables};

use crate::answer;
use crate::block;
use crate::failure::{Failed, Failure};
use crate::handles::{Handles, Object, Of, wrong_kind};
use crate::journal::Log;
use crate::reserve;
use crate::state::call;

/// The memory limit that stands for none.
const NO_LIMIT: u64 = u64::MAX;

/// A limit beyond what addresses reach is none.
pub(super) fn limit(bytes: u64) -> Option<usize> {
    usize::try_from(bytes).ok().filter(|_| bytes != NO_LIMIT)
}

/// Opens an empty store that holds at most `memory_limit` bytes, or any number where that is 2^64 - 1:
/// its handle.
#[unsafe(no_mangle)]
extern "C" fn twindex_store_new(memory_limit: u64) -> i32 {
    call(|state| {
        reserve::ensure_object()?;
        let store = Store::new();
        store.set_memory_limit(limit(memory_limit));
        state.handles.open_as_status(Object::Store { store, journal: None })
    })
}

/// Opens the table called `name` of a store, a snapshot or a transaction, with the index called `index`, `hash` or `sorted`: its handle. A
/// store creates it where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_table(
    owner: u32,
    name: usize,
    name_length: usize,
    index: usize,
    index_length: usize,
) -> i32 {
    call(|state| {
        let name = state.buffers.text((name, name_length))?;
        let index = state.buffers.text((index, index_length))?.parse()?;
        open(&mut state.handles, &mut state.log, owner, name, TableOptions::new(index))
    })
}

/// Bits of [`twindex_table_with`]: creates the table where there is none.
const CREATE: u32 = 1;
/// The codec of the keys is for a table that is created; one that is there keeps its own.
const KEYS_IF_NEW: u32 = 2;
/// The same for the values.
const VALUES_IF_NEW: u32 = 4;
/// The same for the index.
const INDEX_IF_NEW: u32 = 8;

/// As `twindex_table`, with the codecs of the keys and values, and created only with the bit 1 of `options`: its handle.
#[unsafe(no_mangle)]
extern "C" fn twindex_table_with(
    owner: u32,
    name: usize,
    name_length: usize,
    index: usize,
    index_length: usize,
    keys: usize,
    keys_length: usize,
    values: usize,
    values_length: usize,
    options: u32,
) -> i32 {
    call(|state| {
        let name = state.buffers.text((name, name_length))?;
        let index = state.buffers.text((index, index_length))?.parse()?;
        let keys = state.buffers.text((keys, keys_length))?;
        let values = state.buffers.text((values, values_length))?;
        let has = |bit| options & bit != 0;
        let table = TableOptions::new(index).any_index(has(INDEX_IF_NEW)).create(has(CREATE));
        let table = if has(KEYS_IF_NEW) { table.keys_if_new(keys) } else { table.keys(keys) };
        let table = if has(VALUES_IF_NEW) { table.values_if_new(values) } else { table.values(values) };
        open(&mut state.handles, &mut state.log, owner, name, table)
    })
}

fn open(
    handles: &mut Handles,
    log: &mut Log,
    owner: u32,
    name: &str,
    options: TableOptions<'_>,
) -> Result<i32, Failed> {
    reserve::ensure_object()?;
    // What this module wrote would have no deadline.
    let check = |values: &str| match values_that_expire(values) {
        None => Ok(()),
        Some(_) => Err(Failure::Expires),
    };
    check(options.codecs().1)?;
    let object = match handles.object(owner)? {
        Object::Store { store, journal } => {
            if let Some(journal) = journal
                && options.creates()
                && store.find_table(name).is_none()
            {
                log.expect_in(journal, 0)?;
            }
            let table = store.table_with(name, options)?;
            check(table.codecs().1)?;
            let logged = journal.as_ref().map(|journal| log.opened(journal, &table));
            Object::Table { of: Of { store: owner, within: owner }, table, logged }
        }
        Object::Snapshot { of, snapshot, .. } => {
            let table = snapshot.table(name)?.as_table().clone();
            check(table.codecs().1)?;
            options.check(&table)?;
            Object::Table { of: Of { within: owner, ..*of }, table, logged: None }
        }
        Object::Transaction { of, transaction } => {
            let table = transaction.table(name)?;
            check(table.codecs().1)?;
            options.check(&table)?;
            Object::Part { of: Of { within: owner, ..*of }, table, transaction: Rc::clone(transaction) }
        }
        other => return Err(wrong_kind(owner, other, "store")),
    };
    handles.open_as_status(object)
}

/// Whether a table is sorted: 1 or 0.
#[unsafe(no_mangle)]
extern "C" fn twindex_is_sorted(table: u32) -> i32 {
    call(|state| Ok((state.handles.pairs(table)?.table()?.index() == IndexKind::Sorted).into()))
}

/// Answers with the names of the codecs of the keys and values of a table, as a packed pair.
#[unsafe(no_mangle)]
extern "C" fn twindex_codecs(table: u32) -> i32 {
    call(|state| {
        let pairs = state.handles.pairs(table)?;
        let (keys, values) = pairs.table()?.codecs();
        let output = state.output.start();
        block::push_pair(output, keys.as_bytes(), values.as_bytes())?;
        output.finish(1);
        Ok(0)
    })
}

/// Answers with the names and indexes of the tables of a store or a snapshot, by name, as packed pairs and their number.
#[unsafe(no_mangle)]
extern "C" fn twindex_tables(store: u32) -> i32 {
    call(|state| {
        let tables = tables(&mut state.handles, store)?;
        let output = state.output.start();
        for (_, table) in &tables {
            block::push_pair(output, table.name().as_bytes(), table.index().name().as_bytes())?;
        }
        output.finish(tables.len());
        Ok(0)
    })
}

/// The tables of a store or a snapshot, numbered.
fn tables(handles: &mut Handles, handle: u32) -> Result<Vec<(u32, Table)>, Failed> {
    /// More than a snapshot's table takes.
    const TABLE_BYTES: usize = 1024;

    if let Object::Snapshot { snapshot, tables, .. } = handles.object(handle)? {
        reserve::ensure(TABLE_BYTES * *tables)?;
        return Ok(tables_of(snapshot));
    }
    Ok((0..).zip(handles.store(handle)?.tables()).collect())
}

/// Removes the table called `name` and its pairs: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_drop_table(store: u32, name: usize, name_length: usize) -> i32 {
    call(|state| {
        let name = state.buffers.text((name, name_length))?;
        let (store, journal) = state.handles.kept(store)?;
        if let Some((journal, table)) = journal.as_ref().zip(store.find_table(name)) {
            state.log.expect_in(journal, 0)?;
            state.log.dropped(journal, &table);
        }
        Ok(store.drop_table(name).into())
    })
}

/// Answers with the number of bytes that a store, a table or a cache holds.
#[unsafe(no_mangle)]
extern "C" fn twindex_memory(handle: u32) -> i32 {
    call(|state| {
        let bytes = match state.handles.object(handle)? {
            Object::Store { store, .. } => store.memory(),
            _ => state.handles.pairs(handle)?.memory()?,
        };
        answer::set_count(bytes);
        Ok(0)
    })
}

/// Answers with a store's memory limit as a number: 1, or 0 where there is none.
#[unsafe(no_mangle)]
extern "C" fn twindex_memory_limit(store: u32) -> i32 {
    call(|state| {
        let limit = state.handles.store(store)?.memory_limit();
        answer::set_count(limit.unwrap_or_default());
        Ok(limit.is_some().into())
    })
}

/// Sets a store's memory limit, 2^64 - 1 standing for none.
#[unsafe(no_mangle)]
extern "C" fn twindex_set_memory_limit(store: u32, memory_limit: u64) -> i32 {
    call(|state| {
        state.handles.store(store)?.set_memory_limit(limit(memory_limit));
        Ok(0)
    })
}

/// Answers with a whole store or snapshot as bytes, which `twindex_load` reads.
#[unsafe(no_mangle)]
extern "C" fn twindex_dump(store: u32) -> i32 {
    call(|state| {
        let output = state.output.start();
        // Nobody writes meanwhile, so a dump of the store needs no snapshot.
        write_tables(&tables(&mut state.handles, store)?, 0, output, &mut |_| ())?;
        output.finish(0);
        Ok(0)
    })
}

/// Opens a store from the bytes of a dump, with a memory limit as [`twindex_store_new`] takes it: its handle.
#[unsafe(no_mangle)]
extern "C" fn twindex_load(address: usize, length: usize, memory_limit: u64) -> i32 {
    call(|state| {
        let mut dump = state.buffers.bytes((address, length))?;
        let memory_limit = limit(memory_limit);
        let store = Store::load_within(&mut dump, memory_limit.unwrap_or(usize::MAX))?;
        store.set_memory_limit(memory_limit);
        state.handles.open_as_status(Object::Store { store, journal: None })
    })
}
