//! The engine as a host, which is also what others can be compared with.

use std::cell::RefCell;
use std::rc::Rc;

use twindex::{Change, Cursor, Error, Result, Snapshot, Store, Table, Transaction, Write, prefix_range};
use twindex_format::Dump;

use crate::{Alter, Answer, Bytes, Failure, Fallible, Host, Pair, Range, Swap, Verb, slices};

/// A store in memory.
pub struct InMemory(
    /// None once it was closed, since in Rust that is to drop it.
    Option<Store>,
);

impl Default for InMemory {
    fn default() -> Self {
        Self(Some(Store::new()))
    }
}

/// A snapshot or a transaction. `None` once it has ended, since in Rust that is to drop it.
pub type Scope = Rc<RefCell<Option<Open>>>;

/// What a scope is.
#[derive(Debug)]
#[expect(missing_docs, reason = "as the types within are documented")]
pub enum Open {
    Snapshot(Snapshot),
    Transaction(Transaction),
}

/// A table or a cursor, with the scope that it belongs to.
#[derive(Debug)]
pub struct Of<T> {
    object: T,
    scope: Option<Scope>,
}

impl<T> Of<T> {
    fn check(&self) -> Fallible<()> {
        if self.scope.as_ref().is_some_and(|scope| scope.borrow().is_none()) { Err(ended()) } else { Ok(()) }
    }
}

fn ended() -> Failure {
    Failure::new("TWINDEX_ENDED", "it has ended")
}

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn failure(error: Error) -> Failure {
    Failure::new(error.code(), &error)
}

impl InMemory {
    /// A cursor, if neither the store nor its scope has ended.
    fn open<'c>(&self, cursor: &'c mut Of<Cursor>) -> Fallible<&'c mut Cursor> {
        self.store()?;
        cursor.check()?;
        Ok(&mut cursor.object)
    }

    fn store(&self) -> Fallible<&Store> {
        self.0.as_ref().ok_or_else(|| Failure::new("TWINDEX_CLOSED", "the store is closed"))
    }
}

impl Host for InMemory {
    type Table = Of<Table>;
    type Cursor = Of<Cursor>;
    type Scope = Scope;

    fn table(&mut self, name: &str, index: &str) -> Fallible<Of<Table>> {
        let object = self.store()?.table(name, index.parse().map_err(failure)?).map_err(failure)?;
        Ok(Of { object, scope: None })
    }

    fn tables(&mut self) -> Fallible<Vec<(String, String)>> {
        let tables = self.store()?.tables();
        Ok(tables.iter().map(|table| (table.name().to_owned(), table.index().to_string())).collect())
    }

    fn drop_table(&mut self, name: &str) -> Fallible<bool> {
        Ok(self.store()?.drop_table(name))
    }

    fn set_memory_limit(&mut self, bytes: Option<usize>) -> Fallible<()> {
        self.store()?.set_memory_limit(bytes);
        Ok(())
    }

    fn reload(&mut self) -> Fallible<()> {
        let mut dump = Vec::new();
        self.store()?.dump(&mut dump).map_err(failure)?;
        self.0 = Some(Store::load(&mut dump.as_slice()).map_err(failure)?);
        Ok(())
    }

    fn load(&mut self, mut dump: &[u8]) -> Fallible<()> {
        Store::load(&mut dump).map(drop).map_err(failure)
    }

    fn close(&mut self) -> Fallible<()> {
        self.0 = None;
        Ok(())
    }

    fn run(&mut self, table: &mut Of<Table>, verb: Verb) -> Fallible<Answer> {
        self.store()?;
        table.check()?;
        let mut scope = table.scope.as_ref().map(|scope| scope.borrow_mut());
        match scope.as_deref_mut() {
            Some(Some(Open::Transaction(transaction))) => run_in(transaction, &table.object, verb),
            _ => run(&table.object, verb),
        }
        .map_err(failure)
    }

    fn cursor(&mut self, table: &mut Of<Table>, range: Range) -> Fallible<Of<Cursor>> {
        self.store()?;
        table.check()?;
        let object = table.object.cursor(slices(&range.bounds(prefix_range))).map_err(failure)?;
        Ok(Of { object, scope: table.scope.clone() })
    }

    fn next(&mut self, cursor: &mut Of<Cursor>, down: bool) -> Fallible<Option<Pair>> {
        let cursor = self.open(cursor)?;
        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
        Ok(pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn next_many(&mut self, cursor: &mut Of<Cursor>, down: bool, limit: usize) -> Fallible<Vec<Pair>> {
        let cursor = self.open(cursor)?;
        let mut pairs = Vec::new();
        let read = |key: &[u8], value: &[u8]| pairs.push((key.to_vec(), value.to_vec()));
        let count = if down {
            cursor.scan_desc_next_many(limit, read)
        } else {
            cursor.scan_asc_next_many(limit, read)
        };
        assert_eq!(count, pairs.len());
        Ok(pairs)
    }

    fn seek(&mut self, cursor: &mut Of<Cursor>, key: &[u8]) -> Fallible<()> {
        self.open(cursor)?.seek(key);
        Ok(())
    }

    fn pair(&mut self, cursor: &mut Of<Cursor>) -> Fallible<(Option<Bytes>, Option<Bytes>)> {
        let cursor = self.open(cursor)?;
        Ok((cursor.key().map(<[u8]>::to_vec), cursor.value()))
    }

    fn snapshot(&mut self) -> Fallible<Scope> {
        let snapshot = self.store()?.snapshot().map_err(failure)?;
        Ok(Rc::new(RefCell::new(Some(Open::Snapshot(snapshot)))))
    }

    fn transaction(&mut self) -> Fallible<Scope> {
        let transaction = self.store()?.begin();
        Ok(Rc::new(RefCell::new(Some(Open::Transaction(transaction)))))
    }

    fn table_in(&mut self, scope: &mut Scope, name: &str) -> Fallible<Of<Table>> {
        let object = match &*scope.borrow() {
            None => return Err(ended()),
            Some(Open::Snapshot(snapshot)) => snapshot.table(name).map(|table| table.as_table().clone()),
            Some(Open::Transaction(transaction)) => transaction.table(name),
        };
        Ok(Of { object: object.map_err(failure)?, scope: Some(Rc::clone(scope)) })
    }

    fn commit(&mut self, scope: &mut Scope) -> Fallible<()> {
        match scope.take() {
            Some(Open::Transaction(transaction)) => transaction.commit().map_err(failure),
            _ => Err(ended()),
        }
    }

    fn end(&mut self, scope: &mut Scope) -> Fallible<()> {
        scope.take();
        Ok(())
    }
}

fn run(table: &Table, verb: Verb) -> Result<Answer> {
    Ok(match verb {
        Verb::Insert(key, value) => table.insert(key, value)?.into(),
        Verb::Replace(key, value) => table.replace(key, value)?.into(),
        Verb::Upsert(key, value) => table.write(Write::Upsert, key, value)?.into(),
        Verb::Delete(key) => table.delete(key)?.into(),
        Verb::Select(key) => table.select(key).into(),
        Verb::Contains(key) => table.contains(key).into(),
        Verb::Take(key) => table.take(key)?.into(),
        Verb::First => table.first()?.into(),
        Verb::Last => table.last()?.into(),
        Verb::PopFirst => table.pop_first()?.into(),
        Verb::PopLast => table.pop_last()?.into(),
        Verb::DeleteRange(range) => table.delete_range(range.bounds(prefix_range))?.into(),
        Verb::DeletePrefix(prefix) => table.delete_prefix(prefix)?.into(),
        Verb::Len => table.len().into(),
        Verb::Clear => table.clear()?.into(),
        Verb::Increment(key, by) => table.increment(key, by)?.into(),
        Verb::CompareAndSwap(key, expected, new) => {
            table.compare_and_swap(key, expected.as_deref(), new.as_deref())?.into()
        }
        Verb::Alter(key, alter) => table.alter(key, |old| change(old, &alter))?.into(),
        Verb::InsertMany(pairs) => table.insert_many(&pairs)?.into(),
        Verb::ReplaceMany(pairs) => table.replace_many(&pairs)?.into(),
        Verb::UpsertMany(pairs) => table.write_many(Write::Upsert, &pairs)?.into(),
        Verb::DeleteMany(keys) => table.delete_many(&keys)?.into(),
        Verb::SelectMany(keys) => {
            let mut values = Vec::new();
            table.select_many(&keys, |position, value| {
                assert_eq!(position, values.len(), "the positions come in order");
                values.push(value.map(<[u8]>::to_vec));
            });
            values.into()
        }
        Verb::ContainsMany(keys) => table.contains_many(&keys).into(),
        Verb::IncrementMany(amounts) => table.increment_many(&amounts)?.into(),
        Verb::CompareAndSwapMany(swaps) => {
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (key, old.as_deref(), new.as_deref())).collect();
            table.compare_and_swap_many(&swaps)?.into()
        }
        Verb::Scan { range, reverse, limit } => {
            let scan = table.cursor(slices(&range.bounds(prefix_range)))?.into_iter();
            let limit = limit.unwrap_or(usize::MAX);
            if reverse {
                scan.rev().take(limit).collect::<Vec<_>>().into()
            } else {
                scan.take(limit).collect::<Vec<_>>().into()
            }
        }
        Verb::Iter => table.iter().collect::<Vec<_>>().into(),
    })
}

/// The verbs of a table in a transaction. The engine has those of one key; the others are made of them, as a host makes them.
fn run_in(of: &mut Transaction, table: &Table, verb: Verb) -> Result<Answer> {
    fn each<I, T>(items: Vec<I>, verb: impl FnMut(I) -> Result<T>) -> Result<Answer>
    where
        Answer: From<T>,
    {
        Ok(items.into_iter().map(verb).collect::<Result<Vec<_>>>()?.into())
    }
    fn set(of: &mut Transaction, table: &Table, key: &[u8], new: Option<&[u8]>) -> Result<bool> {
        match new {
            Some(value) => of.write(Write::Upsert, table, key, value),
            None => of.delete(table, key),
        }
    }
    let swap = |of: &mut Transaction, (key, old, new): Swap| {
        let is_there = of.select(table, &key)? == old;
        if is_there {
            set(of, table, &key, new.as_deref())?;
        }
        Ok(is_there)
    };
    Ok(match verb {
        Verb::Insert(key, value) => of.insert(table, key, value)?.into(),
        Verb::Replace(key, value) => of.replace(table, key, value)?.into(),
        Verb::Upsert(key, value) => of.write(Write::Upsert, table, key, value)?.into(),
        Verb::Delete(key) => of.delete(table, key)?.into(),
        Verb::Select(key) => of.select(table, key)?.into(),
        Verb::Contains(key) => of.contains(table, key)?.into(),
        Verb::Take(key) => {
            let value = of.select(table, &key)?;
            of.delete(table, key)?;
            value.into()
        }
        Verb::Increment(key, by) => of.increment(table, key, by)?.into(),
        Verb::CompareAndSwap(key, old, new) => swap(of, (key, old, new))?.into(),
        Verb::Alter(key, alter) => match change(of.select(table, &key)?.as_deref(), &alter) {
            Change::Keep => false.into(),
            Change::Set(value) => set(of, table, &key, Some(&value))?.into(),
            Change::Delete => set(of, table, &key, None)?.into(),
        },
        Verb::InsertMany(pairs) => each(pairs, |(key, value)| of.insert(table, key, value))?,
        Verb::ReplaceMany(pairs) => each(pairs, |(key, value)| of.replace(table, key, value))?,
        Verb::UpsertMany(pairs) => each(pairs, |(key, value)| of.write(Write::Upsert, table, key, value))?,
        Verb::DeleteMany(keys) => each(keys, |key| of.delete(table, key))?,
        Verb::SelectMany(keys) => each(keys, |key| of.select(table, key))?,
        Verb::ContainsMany(keys) => each(keys, |key| of.contains(table, key))?,
        Verb::IncrementMany(amounts) => each(amounts, |(key, by)| of.increment(table, key, by))?,
        Verb::CompareAndSwapMany(swaps) => each(swaps, |one| swap(of, one))?,
        Verb::Scan { range, reverse, limit } => {
            let range = range.bounds(prefix_range);
            of.range(table, slices(&range), limit.unwrap_or(usize::MAX), reverse)?.into()
        }
        other => unreachable!("a table in a transaction has no {other:?}"),
    })
}

/// What an [`Alter`] makes of a value.
pub fn change(old: Option<&[u8]>, alter: &Alter) -> Change<Vec<u8>> {
    match alter {
        Alter::Append(more) => Change::Set([old.unwrap_or_default(), more].concat()),
        Alter::Remove => Change::Delete,
        Alter::Keep => Change::Keep,
    }
}
