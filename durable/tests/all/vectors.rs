//! What tables whose pairs expire do in every language, by a clock that the tests set.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use twindex_conformance::{
    Answer, Bytes, ExpiringVerb, Failure, Fallible, Host, Pair, Range, Verb, change, expiring_cases, slices,
};
use twindex_durable::twindex::{IndexKind, TableOptions, Write, prefix_range};
use twindex_durable::{
    AnyTable, Dump, Error, ExpiringCursor, ExpiringReads, ExpiringTable, Result, Snapshot, Store,
    Transaction, Ttl, twindex,
};

use crate::expiring::Hands;

#[test]
fn every_vector_of_expiring_tables_holds() {
    for case in expiring_cases() {
        let store = Store::new();
        case.run(&mut Durable { hands: Hands::of(&store), store, is_closed: false });
    }
}

struct Durable {
    store: Store,
    hands: Hands,
    /// A store in memory is closed by its end.
    is_closed: bool,
}

/// `None` once it has ended, since in Rust that is to drop it.
type Scope = Rc<RefCell<Option<Open>>>;

enum Open {
    Snapshot(Snapshot),
    Transaction(Transaction),
}

enum Table {
    Live(ExpiringTable),
    Seen(Scope, ExpiringReads),
    Part(Scope, ExpiringTable),
}

fn failure(error: impl Into<Error>) -> Failure {
    let error = error.into();
    Failure::new(error.code(), &error)
}

fn ended() -> Failure {
    Failure::new("TWINDEX_ENDED", "it has ended")
}

impl Host for Durable {
    type Table = Table;
    type Cursor = ExpiringCursor;
    type Scope = Scope;

    fn table(&mut self, _name: &str, _index: &str) -> Fallible<Table> {
        unreachable!("tables expire here")
    }

    fn any_table(&mut self, name: &str, index: Option<&str>, expires: Option<bool>) -> Fallible<Table> {
        let kind = index.map_or(Ok(IndexKind::Hash), str::parse).map_err(failure)?;
        let options = TableOptions::new(kind).any_index(index.is_none());
        match self.store.any_table_with(name, options, expires).map_err(failure)? {
            AnyTable::Expiring(table) => Ok(Table::Live(table)),
            // No step uses it.
            AnyTable::Plain(_) => self.any_table("unused", Some("hash"), Some(true)),
        }
    }

    fn advance(&mut self, time: Duration) {
        self.hands.pass(time);
    }

    fn tables(&mut self) -> Fallible<Vec<(String, String)>> {
        let tables = self.store.tables().map_err(failure)?;
        Ok(tables.iter().map(|table| (table.name().to_owned(), table.index().to_string())).collect())
    }

    fn drop_table(&mut self, name: &str) -> Fallible<bool> {
        self.store.drop_table(name).map_err(failure)
    }

    fn reload(&mut self) -> Fallible<()> {
        let mut dump = Vec::new();
        self.store.dump(&mut dump).map_err(failure)?;
        self.store = twindex::Store::load(&mut dump.as_slice()).map_err(failure)?.into();
        self.hands.clone().set(&self.store);
        Ok(())
    }

    fn close(&mut self) -> Fallible<()> {
        self.is_closed = true;
        Ok(())
    }

    fn run(&mut self, _table: &mut Table, _verb: Verb) -> Fallible<Answer> {
        unreachable!("tables expire here")
    }

    fn run_expiring(&mut self, table: &mut Table, verb: ExpiringVerb) -> Fallible<Answer> {
        match table {
            _ if self.is_closed => Err(Failure::new("TWINDEX_CLOSED", "the store is closed")),
            Table::Live(table) => run(table, verb).map_err(failure),
            Table::Seen(scope, reads) if scope.borrow().is_some() => read(reads, verb),
            Table::Part(scope, table) => match &mut *scope.borrow_mut() {
                Some(Open::Transaction(transaction)) => run_in(transaction, table, verb).map_err(failure),
                _ => Err(ended()),
            },
            Table::Seen(..) => Err(ended()),
        }
    }

    fn cursor(&mut self, table: &mut Table, range: Range) -> Fallible<ExpiringCursor> {
        let Table::Live(table) = table else { unreachable!("no step has a cursor in a scope") };
        table.cursor(slices(&range.bounds(prefix_range))).map_err(failure)
    }

    fn next(&mut self, cursor: &mut ExpiringCursor, down: bool) -> Fallible<Option<Pair>> {
        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
        Ok(pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn next_many(&mut self, cursor: &mut ExpiringCursor, down: bool, limit: usize) -> Fallible<Vec<Pair>> {
        let mut pairs = Vec::new();
        cursor.steps(down, limit, |key, value| {
            pairs.push((key.to_vec(), value.to_vec()));
            true
        });
        Ok(pairs)
    }

    fn seek(&mut self, cursor: &mut ExpiringCursor, key: &[u8]) -> Fallible<()> {
        cursor.seek(key);
        Ok(())
    }

    fn pair(&mut self, cursor: &mut ExpiringCursor) -> Fallible<(Option<Bytes>, Option<Bytes>)> {
        Ok((cursor.key().map(<[u8]>::to_vec), cursor.value()))
    }

    fn snapshot(&mut self) -> Fallible<Scope> {
        Ok(Rc::new(RefCell::new(Some(Open::Snapshot(self.store.snapshot().map_err(failure)?)))))
    }

    fn transaction(&mut self) -> Fallible<Scope> {
        Ok(Rc::new(RefCell::new(Some(Open::Transaction(self.store.begin().map_err(failure)?)))))
    }

    fn table_in(&mut self, scope: &mut Scope, name: &str) -> Fallible<Table> {
        let opened = match &*scope.borrow() {
            Some(Open::Snapshot(snapshot)) => {
                Table::Seen(Rc::clone(scope), snapshot.expiring_table(name).map_err(failure)?)
            }
            Some(Open::Transaction(_)) => {
                let table =
                    self.store.expiring_table_with(name, TableOptions::new(IndexKind::Hash).any_index(true));
                Table::Part(Rc::clone(scope), table.map_err(failure)?)
            }
            None => return Err(ended()),
        };
        Ok(opened)
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

fn left(ttl: Ttl) -> Answer {
    match ttl {
        Ttl::Absent => Answer::Nothing,
        Ttl::Forever => "ever".to_owned().into(),
        Ttl::Left(left) => (left.as_millis() as usize).into(),
    }
}

fn run(table: &ExpiringTable, verb: ExpiringVerb) -> Result<Answer> {
    let (verb, ttl) = match verb {
        ExpiringVerb::Shared(verb, ttl) => (verb, ttl),
        ExpiringVerb::Touch(key, ttl) => return Ok(table.touch(key, ttl)?.into()),
        ExpiringVerb::Ttl(key) => return Ok(left(table.ttl(key)?)),
        ExpiringVerb::RemoveExpired(limit) => return Ok(table.remove_expired(limit)?.into()),
    };
    Ok(match verb {
        Verb::Insert(key, value) => table.insert(key, value, ttl)?.into(),
        Verb::Replace(key, value) => table.replace(key, value, ttl)?.into(),
        Verb::Upsert(key, value) => table.write(Write::Upsert, key, value, ttl)?.into(),
        Verb::Delete(key) => table.delete(key)?.into(),
        Verb::Select(key) => table.select(key)?.into(),
        Verb::Contains(key) => table.contains(key)?.into(),
        Verb::Take(key) => table.take(key)?.into(),
        Verb::First => table.first()?.into(),
        Verb::Last => table.last()?.into(),
        Verb::PopFirst => table.pop_first()?.into(),
        Verb::PopLast => table.pop_last()?.into(),
        Verb::DeleteRange(range) => table.delete_range(range.bounds(prefix_range))?.into(),
        Verb::DeletePrefix(prefix) => table.delete_prefix(prefix)?.into(),
        Verb::Len => table.len().into(),
        Verb::Clear => table.clear()?.into(),
        Verb::Increment(key, by) => table.increment(key, by, ttl)?.into(),
        Verb::CompareAndSwap(key, old, new) => {
            table.compare_and_swap(key, old.as_deref(), new.as_deref(), ttl)?.into()
        }
        Verb::Alter(key, alter) => table.alter(key, ttl, |old| change(old, &alter))?.into(),
        Verb::InsertMany(pairs) => table.insert_many(&pairs, ttl)?.into(),
        Verb::ReplaceMany(pairs) => table.replace_many(&pairs, ttl)?.into(),
        Verb::UpsertMany(pairs) => table.write_many(Write::Upsert, &pairs, ttl)?.into(),
        Verb::DeleteMany(keys) => table.delete_many(&keys)?.into(),
        Verb::SelectMany(keys) => {
            let mut values = Vec::new();
            table.select_many(&keys, |_, value| values.push(value.map(<[u8]>::to_vec)))?;
            values.into()
        }
        Verb::ContainsMany(keys) => table.contains_many(&keys)?.into(),
        Verb::IncrementMany(amounts) => table.increment_many(&amounts, ttl)?.into(),
        Verb::CompareAndSwapMany(swaps) => {
            let swaps: Vec<_> =
                swaps.iter().map(|(key, old, new)| (key, old.as_deref(), new.as_deref())).collect();
            table.compare_and_swap_many(&swaps, ttl)?.into()
        }
        Verb::Scan { range, reverse, limit } => {
            let scan = table.scan(range.bounds(prefix_range))?;
            let limit = limit.unwrap_or(usize::MAX);
            if reverse {
                scan.rev().take(limit).collect::<Vec<_>>().into()
            } else {
                scan.take(limit).collect::<Vec<_>>().into()
            }
        }
        Verb::Iter => table.iter()?.collect::<Vec<_>>().into(),
    })
}

/// The verbs of a snapshot's table, which has no others.
fn read(table: &ExpiringReads, verb: ExpiringVerb) -> Fallible<Answer> {
    Ok(match verb {
        ExpiringVerb::Ttl(key) => left(table.ttl(key)),
        ExpiringVerb::Shared(Verb::Iter, _) => table.iter().collect::<Vec<_>>().into(),
        ExpiringVerb::Shared(Verb::SelectMany(keys), _) => {
            keys.iter().map(|key| table.select(key)).collect::<Vec<_>>().into()
        }
        _ => return Err(Failure::new("TWINDEX_READ_ONLY", "a snapshot's table has no verb that writes")),
    })
}

fn run_in(tx: &mut Transaction, table: &ExpiringTable, verb: ExpiringVerb) -> Result<Answer> {
    fn each<I, T>(items: Vec<I>, verb: impl FnMut(I) -> Result<T>) -> Result<Answer>
    where
        Answer: From<T>,
    {
        Ok(items.into_iter().map(verb).collect::<Result<Vec<_>>>()?.into())
    }
    let mut tx = tx.expiring(table);
    let (verb, ttl) = match verb {
        ExpiringVerb::Shared(verb, ttl) => (verb, ttl),
        ExpiringVerb::Touch(key, ttl) => return Ok(tx.touch(key, ttl)?.into()),
        ExpiringVerb::Ttl(key) => return Ok(left(tx.ttl(key)?)),
        ExpiringVerb::RemoveExpired(_) => unreachable!("a transaction removes nothing that is hidden"),
    };
    Ok(match verb {
        Verb::Insert(key, value) => tx.insert(key, value, ttl)?.into(),
        Verb::Replace(key, value) => tx.replace(key, value, ttl)?.into(),
        Verb::Upsert(key, value) => tx.write(Write::Upsert, key, value, ttl)?.into(),
        Verb::Delete(key) => tx.delete(key)?.into(),
        Verb::Select(key) => tx.select(key)?.into(),
        Verb::Contains(key) => tx.contains(key)?.into(),
        Verb::Increment(key, by) => tx.increment(key, by, ttl)?.into(),
        Verb::CompareAndSwap(key, old, new) => {
            tx.compare_and_swap(key, old.as_deref(), new.as_deref(), ttl)?.into()
        }
        Verb::Alter(key, alter) => tx.alter(key, ttl, |old| change(old, &alter))?.into(),
        Verb::InsertMany(pairs) => each(pairs, |(key, value)| tx.insert(key, value, ttl))?,
        Verb::SelectMany(keys) => each(keys, |key| tx.select(key))?,
        Verb::ContainsMany(keys) => each(keys, |key| tx.contains(key))?,
        Verb::Scan { range, reverse, limit } => {
            tx.range(range.bounds(prefix_range), limit.unwrap_or(usize::MAX), reverse)?.into()
        }
        other => unreachable!("no step has {other:?} in a transaction"),
    })
}
