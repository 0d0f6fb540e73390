//! The module as a host of the vectors.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use twindex_conformance::{Alter, Answer, Bytes, Failure, Fallible, Host, Pair, Range, Verb};

use crate::guest::{
    self, ABSENT, AbiError, EXCLUDED, Guest, INCLUDED, NONE, PREFIX, call, pack, take, take_length,
    unpack_values, yes,
};

/// A store in an instance.
pub(crate) struct InModule {
    guest: Guest,
    store: u32,
    /// The handles of snapshots and transactions that were closed, and of what was opened from them. Any closed handle is
    /// `TWINDEX_CLOSED`; a host that has objects tells these apart.
    ended: BTreeSet<u32>,
    /// The snapshot or transaction of a table or a cursor.
    scopes: BTreeMap<u32, u32>,
}

impl InModule {
    pub(crate) fn new() -> Self {
        let mut guest = Guest::new();
        let store = guest.store_new(None).expect("a store");
        Self { guest, store, ended: BTreeSet::new(), scopes: BTreeMap::new() }
    }
}

impl InModule {
    fn check(&self, handle: u32) -> Fallible<()> {
        let scope = self.scopes.get(&handle).unwrap_or(&handle);
        if self.ended.contains(scope) { Err(Failure::new("TWINDEX_ENDED", "it has ended")) } else { Ok(()) }
    }
}

impl From<AbiError> for Failure {
    fn from(error: AbiError) -> Self {
        Self::new(&error.code, &error.text)
    }
}

impl Host for InModule {
    type Table = u32;
    type Cursor = u32;
    type Scope = u32;

    fn table(&mut self, name: &str, index: &str) -> Fallible<u32> {
        Ok(self.guest.table(self.store, name.as_bytes(), index)?)
    }

    fn tables(&mut self) -> Fallible<Vec<(String, String)>> {
        let text = |bytes| String::from_utf8(bytes).expect("text");
        let tables = self.guest.tables(self.store)?;
        Ok(tables.into_iter().map(|(name, index)| (text(name), text(index))).collect())
    }

    fn drop_table(&mut self, name: &str) -> Fallible<bool> {
        Ok(self.guest.drop_table(self.store, name)?)
    }

    fn set_memory_limit(&mut self, bytes: Option<usize>) -> Fallible<()> {
        call!(self.guest, set_memory_limit, self.store, bytes.map_or(u64::MAX, |bytes| bytes as u64))?;
        Ok(())
    }

    fn reload(&mut self) -> Fallible<()> {
        let dump = self.guest.dump(self.store)?;
        let loaded = self.guest.load(&dump)?;
        self.guest.close(self.store)?;
        self.store = loaded;
        Ok(())
    }

    fn load(&mut self, dump: &[u8]) -> Fallible<()> {
        let store = self.guest.load(dump)?;
        Ok(self.guest.close(store)?)
    }

    fn close(&mut self) -> Fallible<()> {
        Ok(self.guest.close(self.store)?)
    }

    fn seek(&mut self, cursor: &mut u32, key: &[u8]) -> Fallible<()> {
        let [(key, k)] = self.guest.put([key]);
        call!(self.guest, seek, *cursor, key, k)?;
        Ok(())
    }

    fn pair(&mut self, cursor: &mut u32) -> Fallible<(Option<Bytes>, Option<Bytes>)> {
        if !yes(call!(self.guest, cursor_pair, *cursor)?) {
            return Ok((None, None));
        }
        let mut rest = self.guest.answer_bytes();
        let (key, value) = (take_length(&mut rest), take_length(&mut rest));
        let key = take(&mut rest, key).to_vec();
        Ok((Some(key), (value != ABSENT).then(|| take(&mut rest, value).to_vec())))
    }

    fn snapshot(&mut self) -> Fallible<u32> {
        Ok(self.guest.snapshot(self.store)?)
    }

    fn transaction(&mut self) -> Fallible<u32> {
        Ok(self.guest.begin(self.store)?)
    }

    fn table_in(&mut self, scope: &mut u32, name: &str) -> Fallible<u32> {
        self.check(*scope)?;
        let table = self.guest.table_of(*scope, name)?;
        self.scopes.insert(table, *scope);
        Ok(table)
    }

    fn commit(&mut self, scope: &mut u32) -> Fallible<()> {
        Ok(self.guest.commit(*scope)?)
    }

    fn end(&mut self, scope: &mut u32) -> Fallible<()> {
        if self.ended.insert(*scope) {
            self.guest.close(*scope)?;
        }
        Ok(())
    }

    fn run(&mut self, table: &mut u32, verb: Verb) -> Fallible<Answer> {
        self.check(*table)?;
        Ok(run(&mut self.guest, *table, verb)?)
    }

    fn cursor(&mut self, table: &mut u32, range: Range) -> Fallible<u32> {
        self.check(*table)?;
        let (lower, upper) = bounds(&range);
        let cursor = self.guest.cursor(*table, lower, upper)?;
        if let Some(&scope) = self.scopes.get(table) {
            self.scopes.insert(cursor, scope);
        }
        Ok(cursor)
    }

    fn next(&mut self, cursor: &mut u32, down: bool) -> Fallible<Option<Pair>> {
        self.check(*cursor)?;
        Ok(self.guest.scan_next_with(*cursor, down, |key, value| (key.to_vec(), value.to_vec()))?)
    }

    fn next_many(&mut self, cursor: &mut u32, down: bool, limit: usize) -> Fallible<Vec<Pair>> {
        let (guest, limit) = (&mut self.guest, u32::try_from(limit).unwrap_or(u32::MAX));
        if down {
            call!(guest, scan_desc_next_many, *cursor, limit, u32::MAX)?;
        } else {
            call!(guest, scan_asc_next_many, *cursor, limit, u32::MAX)?;
        }
        Ok(guest.answered_pairs())
    }
}

pub(crate) fn run(guest: &mut Guest, table: u32, verb: Verb) -> guest::Fallible<Answer> {
    let [(key, k), (value, v)] = match &verb {
        Verb::Insert(key, value) | Verb::Replace(key, value) | Verb::Upsert(key, value) => {
            guest.put([key, value])
        }
        Verb::Delete(key)
        | Verb::Contains(key)
        | Verb::Take(key)
        | Verb::DeletePrefix(key)
        | Verb::Increment(key, _) => guest.put([key, b""]),
        _ => [(0, 0); 2],
    };
    Ok(match verb {
        Verb::Insert(..) => yes(call!(guest, insert, table, key, k, value, v)?).into(),
        Verb::Replace(..) => yes(call!(guest, replace, table, key, k, value, v)?).into(),
        Verb::Upsert(..) => yes(call!(guest, upsert, table, key, k, value, v)?).into(),
        Verb::Delete(_) => yes(call!(guest, delete, table, key, k)?).into(),
        Verb::Take(_) => {
            let is_there = yes(call!(guest, take, table, key, k)?);
            is_there.then(|| guest.answer_bytes().to_vec()).into()
        }
        Verb::First => end(guest, |guest| call!(guest, first, table))?,
        Verb::Last => end(guest, |guest| call!(guest, last, table))?,
        Verb::PopFirst => end(guest, |guest| call!(guest, pop_first, table))?,
        Verb::PopLast => end(guest, |guest| call!(guest, pop_last, table))?,
        Verb::DeleteRange(range) => {
            let ((from, low), (to, high)) = bounds(&range);
            let [(low, l), (high, h)] = guest.put([low, high]);
            call!(guest, delete_range, table, from, low, l, to, high, h)?;
            guest.answer_count().into()
        }
        Verb::DeletePrefix(_) => {
            call!(guest, delete_range, table, PREFIX, key, k, PREFIX, key, k)?;
            guest.answer_count().into()
        }
        Verb::Contains(_) => yes(call!(guest, contains, table, key, k)?).into(),
        Verb::Increment(_, by) => {
            call!(guest, increment, table, key, k, by)?;
            guest.answer_number().into()
        }
        Verb::Select(key) => guest.select(table, &key)?.into(),
        Verb::Len => guest.len(table)?.into(),
        Verb::Clear => call!(guest, clear, table).map(|_| Answer::Nothing)?,
        Verb::CompareAndSwap(key, expected, new) => {
            guest.compare_and_swap(table, &key, expected.as_deref(), new.as_deref())?.into()
        }
        Verb::Alter(key, change) => alter(guest, table, &key, change)?.into(),
        Verb::Scan { range, reverse, limit } => {
            let (lower, upper) = bounds(&range);
            let limit = limit.map_or(u32::MAX, |limit| u32::try_from(limit).unwrap_or(u32::MAX));
            guest.scan(table, lower, upper, reverse, limit)?.into()
        }
        Verb::Iter => guest.iterate(table, 7)?.into(),
        many => run_many(guest, table, &many)?,
    })
}

/// The pair that a verb on an end of a table answers with.
fn end(guest: &mut Guest, verb: impl FnOnce(&mut Guest) -> guest::Fallible<i32>) -> guest::Fallible<Answer> {
    let is_there = yes(verb(guest)?);
    Ok(is_there.then(|| guest.answered_pairs().remove(0)).into())
}

/// A host's `alter`: select, decide, compare and swap.
fn alter(guest: &mut Guest, table: u32, key: &[u8], alter: Alter) -> guest::Fallible<bool> {
    let old = guest.select(table, key)?;
    let is_kept = matches!(alter, Alter::Keep);
    let new = match alter {
        Alter::Append(more) => Some([old.clone().unwrap_or_default(), more].concat()),
        Alter::Remove => None,
        Alter::Keep => old.clone(),
    };
    let swapped = guest.compare_and_swap(table, key, old.as_deref(), new.as_deref())?;
    assert!(swapped, "nobody else writes");
    Ok(!is_kept && (old.is_some() || new.is_some()))
}

/// A verb whose arguments go in as a packed block.
fn run_many(guest: &mut Guest, table: u32, verb: &Verb) -> guest::Fallible<Answer> {
    let mut block = Vec::new();
    match verb {
        Verb::InsertMany(pairs) | Verb::ReplaceMany(pairs) | Verb::UpsertMany(pairs) => {
            for (key, value) in pairs {
                pack(&mut block, &[Some(key), Some(value)]);
            }
        }
        Verb::DeleteMany(keys) | Verb::SelectMany(keys) | Verb::ContainsMany(keys) => {
            for key in keys {
                pack(&mut block, &[Some(key)]);
            }
        }
        Verb::IncrementMany(amounts) => {
            for (key, by) in amounts {
                block.extend((key.len() as u32).to_le_bytes());
                block.extend(by.to_le_bytes());
                block.extend(key);
            }
        }
        Verb::CompareAndSwapMany(swaps) => {
            for (key, expected, new) in swaps {
                pack(&mut block, &[Some(key), expected.as_deref(), new.as_deref()]);
            }
        }
        other => unreachable!("{other:?} has no block"),
    }
    let [(at, length)] = guest.put([&block]);
    match verb {
        Verb::InsertMany(_) => call!(guest, insert_many, table, at, length),
        Verb::ReplaceMany(_) => call!(guest, replace_many, table, at, length),
        Verb::UpsertMany(_) => call!(guest, upsert_many, table, at, length),
        Verb::DeleteMany(_) => call!(guest, delete_many, table, at, length),
        Verb::SelectMany(_) => call!(guest, select_many, table, at, length),
        Verb::ContainsMany(_) => call!(guest, contains_many, table, at, length),
        Verb::IncrementMany(_) => call!(guest, increment_many, table, at, length),
        _ => call!(guest, compare_and_swap_many, table, at, length),
    }?;
    let answer = guest.answer_bytes();
    let outcomes: Vec<Answer> = match verb {
        Verb::SelectMany(_) => unpack_values(answer).into_iter().map(Answer::from).collect(),
        Verb::IncrementMany(_) => {
            answer.as_chunks().0.iter().map(|sum| i64::from_le_bytes(*sum).into()).collect()
        }
        _ => answer.iter().map(|outcome| yes(i32::from(*outcome)).into()).collect(),
    };
    assert_eq!(outcomes.len(), guest.answer_count());
    Ok(Answer::List(outcomes))
}

/// The two ends of a range as the module takes them.
fn bounds(range: &Range) -> (guest::Bound<'_>, guest::Bound<'_>) {
    fn end(bound: &Bound<Vec<u8>>) -> guest::Bound<'_> {
        match bound {
            Bound::Unbounded => (NONE, b""),
            Bound::Included(key) => (INCLUDED, key),
            Bound::Excluded(key) => (EXCLUDED, key),
        }
    }
    match range {
        Range::Between(lower, upper) => (end(lower), end(upper)),
        Range::Prefix(prefix) => ((PREFIX, prefix), (PREFIX, prefix)),
    }
}
