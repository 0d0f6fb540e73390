//! Stores.

use std::rc::Rc;

use twindex::{IndexKind, Store, Table, TableOptions};
use twindex_format::{
    Dump, tables_of, values_that_expire, with_expiring_codec, without_expiring_codec, write_tables,
};

use crate::answer;
use crate::block;
use crate::expiry::{Expiry, expires};
use crate::failure::{Failed, Failure};
use crate::handles::{Handles, Object, Of, wrong_kind};
use crate::journal::Log;
use crate::reserve;
use crate::time;

/// The memory limit that stands for none.
const NO_LIMIT: u64 = u64::MAX;

/// A limit beyond what addresses reach is none.
pub(super) fn limit(bytes: u64) -> Option<usize> {
    usize::try_from(bytes).ok().filter(|_| bytes != NO_LIMIT)
}

/// Bits of [`twindex_table_with`]: creates the table where there is none.
const CREATE: u32 = 1;
/// The codec of the keys is for a table that is created; one that is there keeps its own.
const KEYS_IF_NEW: u32 = 2;
/// The same for the values.
const VALUES_IF_NEW: u32 = 4;
/// The same for the index.
const INDEX_IF_NEW: u32 = 8;
/// The pairs of the table expire. Without this and the next one, those of a new table do not, and any table is opened.
const EXPIRES: u32 = 16;
/// They do not.
const STAYS: u32 = 32;

/// Does `act` with options as they are for a table whose pairs expire, or do not.
fn with<T>(
    is_expiring: bool,
    options: TableOptions<'_>,
    act: impl FnOnce(TableOptions<'_>) -> twindex::Result<T>,
) -> twindex::Result<T> {
    if !is_expiring || !cfg!(feature = "expiring") {
        return act(options);
    }
    with_expiring_codec(options, act).map_err(without_expiring_codec)
}

fn open(
    handles: &mut Handles,
    log: &mut Log,
    owner: u32,
    name: &str,
    options: TableOptions<'_>,
    wanted: Option<bool>,
) -> Result<i32, Failed> {
    reserve::ensure_object()?;
    let (mut is_expiring, mut moment) = (false, None);
    let mut see = |found: Option<&Table>| {
        is_expiring = kind(name, options, wanted, found)?;
        Ok::<_, Failed>(is_expiring)
    };
    let mut object = match handles.object(owner)? {
        Object::Store { store, journal } => {
            let found = store.find_table(name);
            let is_expiring = see(found.as_ref())?;
            if let Some(journal) = journal
                && options.creates()
                && found.is_none()
            {
                log.expect_in(journal, 0)?;
            }
            let table = with(is_expiring, options, |options| store.table_with(name, options))?;
            let logged = journal.as_ref().map(|journal| log.opened(journal, &table));
            Object::Table { of: Of { store: owner, within: owner }, table, logged, expiry: None }
        }
        Object::Snapshot { of, snapshot, moment: taken, .. } => {
            moment = Some(*taken);
            let table = snapshot.table(name)?.as_table().clone();
            let is_expiring = see(Some(&table))?;
            with(is_expiring, options, |options| options.check(&table))?;
            Object::Table { of: Of { within: owner, ..*of }, table, logged: None, expiry: None }
        }
        Object::Transaction { of, transaction } => {
            let table = transaction.table(name)?;
            let is_expiring = see(Some(&table))?;
            with(is_expiring, options, |options| options.check(&table))?;
            moment = is_expiring.then(|| transaction.moment());
            let (of, transaction) = (Of { within: owner, ..*of }, Rc::clone(transaction));
            Object::Part { of, table, transaction, expiry: None }
        }
        other => return Err(wrong_kind(owner, other, "store")),
    };
    if is_expiring && let Object::Table { of, expiry, .. } | Object::Part { of, expiry, .. } = &mut object {
        *expiry = Expiry::new(moment, handles.removal(of.store, name));
    }
    handles.open_as_status(object)
}

/// Whether the pairs of a table expire that was found, or is made.
fn kind(
    name: &str,
    options: TableOptions<'_>,
    wanted: Option<bool>,
    found: Option<&Table>,
) -> Result<bool, Failed> {
    let (is_raw, found) = (values_that_expire(options.codecs().1).is_some(), found.map(expires));
    let is_expiring = is_raw || found.or(wanted) == Some(true);
    let failure = if cfg!(not(feature = "expiring")) {
        if !is_expiring {
            return Ok(false);
        }
        Failure::Expires
    } else if is_raw || found.is_some_and(|found| wanted == Some(!found)) {
        Failure::Expiry { table: name.into(), expires: is_expiring }
    } else if is_expiring && time::now() == 0 {
        Failure::NoClock
    } else {
        return Ok(is_expiring);
    };
    Err(failure.into())
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

exports! {
    fn twindex_store_new(state, memory_limit: u64) {
        reserve::ensure_object()?;
        let store = Store::new();
        store.set_memory_limit(limit(memory_limit));
        state.handles.open_as_status(Object::Store { store, journal: None })?
    }

    fn twindex_table(state, owner: u32, name: text, index: text) {
        let options = TableOptions::new(index.parse()?);
        open(&mut state.handles, &mut state.log, owner, name, options, None)?
    }

    fn twindex_table_with(state, owner: u32, name: text, index: text, keys: text, values: text, options: u32) {
        let has = |bit| options & bit != 0;
        let table = TableOptions::new(index.parse()?).any_index(has(INDEX_IF_NEW)).create(has(CREATE));
        let table = if has(KEYS_IF_NEW) { table.keys_if_new(keys) } else { table.keys(keys) };
        let table = if has(VALUES_IF_NEW) { table.values_if_new(values) } else { table.values(values) };
        let expires = if has(EXPIRES) { Some(true) } else { has(STAYS).then_some(false) };
        open(&mut state.handles, &mut state.log, owner, name, table, expires)?
    }

    fn twindex_is_sorted(state, table: u32) {
        state.handles.pairs(table)?.table()?.index() == IndexKind::Sorted
    }

    fn twindex_codecs(state, table: u32) {
        let (keys, values) = state.handles.pairs(table)?.table()?.codecs();
        let output = state.output.start();
        let values = values_that_expire(values).unwrap_or(values);
        block::push_pair(output, keys.as_bytes(), values.as_bytes())?;
        output.finish(1);
    }

    fn twindex_tables(state, store: u32) {
        let tables = tables(&mut state.handles, store)?;
        let output = state.output.start();
        for (_, table) in &tables {
            block::push_pair(output, table.name().as_bytes(), table.index().name().as_bytes())?;
        }
        output.finish(tables.len());
    }

    fn twindex_drop_table(state, store: u32, name: text) {
        let (store, journal) = state.handles.kept(store)?;
        if let Some((journal, table)) = journal.as_ref().zip(store.find_table(name)) {
            state.log.expect_in(journal, 0)?;
            state.log.dropped(journal, &table);
        }
        store.drop_table(name)
    }

    fn twindex_memory(state, handle: u32) {
        answer::set_count(match state.handles.object(handle)? {
            Object::Store { store, .. } => store.memory(),
            _ => state.handles.pairs(handle)?.memory()?,
        });
    }

    fn twindex_memory_limit(state, store: u32) {
        let limit = state.handles.store(store)?.memory_limit();
        answer::set_count(limit.unwrap_or_default());
        limit.is_some()
    }

    fn twindex_set_memory_limit(state, store: u32, memory_limit: u64) {
        state.handles.store(store)?.set_memory_limit(limit(memory_limit));
    }

    fn twindex_dump(state, store: u32) {
        let output = state.output.start();
        // Nobody writes meanwhile, so a dump of the store needs no snapshot.
        write_tables(&tables(&mut state.handles, store)?, 0, output, &mut |_| ())?;
        output.finish(0);
    }

    fn twindex_load(state, dump: bytes, memory_limit: u64) {
        let (mut dump, memory_limit) = (dump, limit(memory_limit));
        let store = Store::load_within(&mut dump, memory_limit.unwrap_or(usize::MAX))?;
        store.set_memory_limit(memory_limit);
        state.handles.open_as_status(Object::Store { store, journal: None })?
    }
}
