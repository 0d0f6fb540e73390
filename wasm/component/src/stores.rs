//! `twindex:engine/stores`.

use std::cell::RefCell;
use std::ops::Bound;

use twindex::Write;
use twindex_format::{Dump, limit_while_loading, name_limit, tables_of, values_that_expire, write_tables};

use crate::Component;
use crate::bindings::exports::twindex::engine::stores::{
    self, Bytes, Damage, Error, Guest, GuestCursor, GuestEntries, GuestSnapshot, GuestStore, GuestTable,
    GuestTransaction, Index, Pair, Place, Report, SnapshotStats, TableBorrow, TableOptions,
};
use crate::keyvalue;

impl Guest for Component {
    type Store = Store;
    type Table = Table;
    type Cursor = Cursor;
    type Entries = Entries;
    type Snapshot = Snapshot;
    type Transaction = Transaction;

    fn check(file: Bytes, memory_limit: Option<u64>) -> Result<Report> {
        let limit = reachable(memory_limit);
        let most = limit.map_or(usize::MAX, limit_while_loading);
        let report = twindex_format::check(&file.as_slice(), most, &|| false, &mut |_| ());
        Ok(told(report.map_err(|error| name_limit(error, limit))?))
    }

    fn recover(file: Bytes, memory_limit: Option<u64>) -> Result<(Report, stores::Store)> {
        let limit = reachable(memory_limit);
        let most = limit.map_or(usize::MAX, limit_while_loading);
        let saved = twindex_format::salvage(&file.as_slice(), most, &|| false, &mut |_| ());
        let (report, store) = saved.map_err(|error| name_limit(error, limit))?;
        store.set_memory_limit(limit);
        Ok((told(report), stores::Store::new(Store(store))))
    }
}

fn told(report: twindex_format::Report) -> Report {
    let damage = report.damage.into_iter().map(|damage| Damage {
        where_: Place { offset: damage.offset, length: damage.bytes },
        what: damage.what.to_string(),
    });
    Report {
        bytes: report.bytes,
        dump_pairs: report.dump_pairs,
        operations: report.operations,
        damage: damage.collect(),
        torn: report.torn.map(|torn| Place { offset: torn.offset, length: torn.bytes }),
    }
}

type Result<T> = std::result::Result<T, Error>;

/// Methods that are the engine's of the same name.
macro_rules! same {
    ($($name:ident($($argument:ident: $of:ty),*) -> $to:ty;)*) => {
        $(fn $name(&self, $($argument: $of),*) -> Result<$to> {
            Ok(self.0.$name($($argument),*)?)
        })*
    };
}

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        Self { code: error.code().into(), message: error.to_string() }
    }
}

impl From<Index> for twindex::IndexKind {
    fn from(index: Index) -> Self {
        match index {
            Index::Hash => Self::Hash,
            Index::Sorted => Self::Sorted,
        }
    }
}

impl From<twindex::IndexKind> for Index {
    fn from(index: twindex::IndexKind) -> Self {
        match index {
            twindex::IndexKind::Hash => Self::Hash,
            twindex::IndexKind::Sorted => Self::Sorted,
        }
    }
}

/// A limit beyond what addresses reach is none.
fn reachable(limit: Option<u64>) -> Option<usize> {
    limit.and_then(|limit| usize::try_from(limit).ok())
}

pub(crate) struct Store(twindex::Store);

impl GuestStore for Store {
    fn new() -> Self {
        Self(twindex::Store::new())
    }

    fn buckets() -> stores::Store {
        stores::Store::new(Self(keyvalue::buckets()))
    }

    fn load(dump: Bytes, memory_limit: Option<u64>) -> Result<stores::Store> {
        let limit = reachable(memory_limit);
        let bytes = limit.unwrap_or(usize::MAX);
        let store = twindex::Store::load_within(&mut dump.as_slice(), bytes)?;
        store.set_memory_limit(limit);
        Ok(stores::Store::new(Self(store)))
    }

    fn dump(&self) -> Result<Bytes> {
        let mut dump = Vec::new();
        self.0.dump(&mut dump)?;
        Ok(dump)
    }

    fn table(&self, name: String, index: Index) -> Result<stores::Table> {
        plain(self.0.table(&name, index.into())?)
    }

    fn table_with(&self, name: String, options: TableOptions) -> Result<stores::Table> {
        let mut asked = twindex::TableOptions::new(options.index.into()).create(options.create);
        if let Some(keys) = &options.keys {
            asked = asked.keys(keys);
        }
        if let Some(values) = &options.values {
            asked = asked.values(values);
        }
        plain(self.0.table_with(&name, asked)?)
    }

    fn tables(&self) -> Vec<(String, Index)> {
        self.0.tables().iter().map(|table| (table.name().into(), table.index().into())).collect()
    }

    fn snapshot(&self) -> Result<stores::Snapshot> {
        Ok(stores::Snapshot::new(Snapshot(self.0.snapshot()?)))
    }

    fn begin(&self) -> stores::Transaction {
        stores::Transaction::new(Transaction(RefCell::new(Some(self.0.begin()))))
    }

    fn snapshot_stats(&self) -> SnapshotStats {
        let stats = self.0.snapshot_stats();
        SnapshotStats {
            snapshots: stats.snapshots as u64,
            kept_bytes: stats.kept_bytes as u64,
            transactions: stats.transactions as u64,
        }
    }

    fn drop_table(&self, name: String) -> bool {
        self.0.drop_table(&name)
    }

    fn memory(&self) -> u64 {
        self.0.memory() as u64
    }

    fn memory_limit(&self) -> Option<u64> {
        self.0.memory_limit().map(|limit| limit as u64)
    }

    fn set_memory_limit(&self, limit: Option<u64>) {
        self.0.set_memory_limit(reachable(limit));
    }
}

pub(crate) struct Snapshot(twindex::Snapshot);

impl GuestSnapshot for Snapshot {
    fn table(&self, name: String) -> Result<stores::Table> {
        plain(self.0.table(&name)?.as_table().clone())
    }

    fn tables(&self) -> Vec<(String, Index)> {
        self.0.tables().iter().map(|table| (table.name().into(), table.index().into())).collect()
    }

    fn dump(&self) -> Result<Bytes> {
        let mut dump = Vec::new();
        write_tables(&tables_of(&self.0), 0, &mut dump, &mut |_| ())?;
        Ok(dump)
    }
}

/// A table, unless its pairs expire: what this component wrote would have no deadline.
fn plain(table: twindex::Table) -> Result<stores::Table> {
    if values_that_expire(table.codecs().1).is_some() {
        let message = "the pairs of this table expire, which this component does not support";
        return Err(Error { code: "TWINDEX_NOT_SUPPORTED".into(), message: message.into() });
    }
    Ok(stores::Table::new(Table(table)))
}

pub(crate) struct Transaction(RefCell<Option<twindex::Transaction>>);

impl Transaction {
    fn with<T>(
        &self,
        table: &TableBorrow<'_>,
        work: impl FnOnce(&mut twindex::Transaction, &twindex::Table) -> twindex::Result<T>,
    ) -> Result<T> {
        let mut transaction = self.0.borrow_mut();
        let transaction = transaction.as_mut().ok_or_else(ended)?;
        Ok(work(transaction, &table.get::<Table>().0)?)
    }

    fn write(&self, write: Write, table: &TableBorrow<'_>, key: &[u8], value: &[u8]) -> Result<bool> {
        self.with(table, |transaction, table| transaction.write(write, table, key, value))
    }
}

fn ended() -> Error {
    Error { code: "TWINDEX_ENDED".into(), message: "the transaction has ended".into() }
}

macro_rules! of_transaction {
    ($($name:ident($($argument:ident: $of:ty),*) -> $to:ty;)*) => {
        $(fn $name(&self, table: TableBorrow<'_>, $($argument: $of),*) -> Result<$to> {
            self.with(&table, |transaction, table| transaction.$name(table, $($argument),*))
        })*
    };
}

impl GuestTransaction for Transaction {
    of_transaction! {
        select(key: Bytes) -> Option<Bytes>;
        contains(key: Bytes) -> bool;
        delete(key: Bytes) -> bool;
        increment(key: Bytes, by: i64) -> i64;
    }

    fn insert(&self, table: TableBorrow<'_>, key: Bytes, value: Bytes) -> Result<bool> {
        self.write(Write::Insert, &table, &key, &value)
    }

    fn replace(&self, table: TableBorrow<'_>, key: Bytes, value: Bytes) -> Result<bool> {
        self.write(Write::Replace, &table, &key, &value)
    }

    fn upsert(&self, table: TableBorrow<'_>, key: Bytes, value: Bytes) -> Result<()> {
        self.write(Write::Upsert, &table, &key, &value).map(drop)
    }

    fn compare_and_swap(
        &self,
        table: TableBorrow<'_>,
        key: Bytes,
        expected: Option<Bytes>,
        new: Option<Bytes>,
    ) -> Result<bool> {
        self.with(&table, |transaction, table| {
            if transaction.select(table, &key)? != expected {
                return Ok(false);
            }
            match new {
                Some(new) => transaction.write(Write::Upsert, table, &key, new)?,
                None => transaction.delete(table, &key)?,
            };
            Ok(true)
        })
    }

    fn scan(
        &self,
        table: TableBorrow<'_>,
        lower: stores::Bound,
        upper: stores::Bound,
        reverse: bool,
        limit: u32,
    ) -> Result<Vec<Pair>> {
        let range = (bound(lower), bound(upper));
        self.with(&table, |transaction, table| {
            transaction.range(table, slices(&range), limit as usize, reverse)
        })
    }

    fn commit(&self) -> Result<()> {
        Ok(self.0.take().ok_or_else(ended)?.commit()?)
    }
}

pub(crate) struct Table(twindex::Table);

impl GuestTable for Table {
    fn name(&self) -> String {
        self.0.name().into()
    }

    fn index(&self) -> Index {
        self.0.index().into()
    }

    fn codecs(&self) -> (String, String) {
        let (keys, values) = self.0.codecs();
        (keys.into(), values.into())
    }

    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn memory(&self) -> u64 {
        self.0.memory() as u64
    }

    same! {
        insert(key: Bytes, value: Bytes) -> bool;
        replace(key: Bytes, value: Bytes) -> bool;
        delete(key: Bytes) -> bool;
        take(key: Bytes) -> Option<Bytes>;
        increment(key: Bytes, by: i64) -> i64;
        clear() -> ();
        first() -> Option<Pair>;
        last() -> Option<Pair>;
        pop_first() -> Option<Pair>;
        pop_last() -> Option<Pair>;
    }

    fn upsert(&self, key: Bytes, value: Bytes) -> Result<bool> {
        self.0.upsert(key, value)?;
        Ok(true)
    }

    fn select(&self, key: Bytes) -> Option<Bytes> {
        self.0.select(key)
    }

    fn contains(&self, key: Bytes) -> bool {
        self.0.contains(key)
    }

    fn compare_and_swap(&self, key: Bytes, expected: Option<Bytes>, new: Option<Bytes>) -> Result<bool> {
        Ok(self.0.compare_and_swap(key, expected.as_deref(), new.as_deref())?)
    }

    fn insert_many(&self, pairs: Vec<Pair>) -> Result<Vec<bool>> {
        Ok(self.0.insert_many(&pairs)?)
    }

    fn replace_many(&self, pairs: Vec<Pair>) -> Result<Vec<bool>> {
        Ok(self.0.replace_many(&pairs)?)
    }

    fn upsert_many(&self, pairs: Vec<Pair>) -> Result<Vec<bool>> {
        self.0.upsert_many(&pairs)?;
        Ok(vec![true; pairs.len()])
    }

    fn delete_many(&self, keys: Vec<Bytes>) -> Result<Vec<bool>> {
        Ok(self.0.delete_many(&keys)?)
    }

    fn select_many(&self, keys: Vec<Bytes>) -> Vec<Option<Bytes>> {
        let mut values = Vec::with_capacity(keys.len());
        self.0.select_many(&keys, |_, value| values.push(value.map(<[u8]>::to_vec)));
        values
    }

    fn contains_many(&self, keys: Vec<Bytes>) -> Vec<bool> {
        self.0.contains_many(&keys)
    }

    fn increment_many(&self, amounts: Vec<(Bytes, i64)>) -> Result<Vec<i64>> {
        Ok(self.0.increment_many(&amounts)?)
    }

    fn scan(
        &self,
        lower: stores::Bound,
        upper: stores::Bound,
        reverse: bool,
        limit: u32,
    ) -> Result<Vec<Pair>> {
        let range = (bound(lower), bound(upper));
        let mut pairs = Vec::new();
        self.0.cursor(slices(&range))?.steps(reverse, limit as usize, |key, value| {
            pairs.push(copy((key, value)));
            true
        });
        Ok(pairs)
    }

    fn delete_range(&self, lower: stores::Bound, upper: stores::Bound) -> Result<u64> {
        Ok(self.0.delete_range(slices(&(bound(lower), bound(upper))))? as u64)
    }

    fn delete_prefix(&self, prefix: Bytes) -> Result<u64> {
        Ok(self.0.delete_prefix(prefix)? as u64)
    }

    fn cursor(&self, lower: stores::Bound, upper: stores::Bound) -> Result<stores::Cursor> {
        cursor(&self.0, &(bound(lower), bound(upper)))
    }

    fn prefix(&self, prefix: Bytes) -> Result<stores::Cursor> {
        cursor(&self.0, &twindex::prefix_range(&prefix))
    }

    fn entries(&self) -> stores::Entries {
        stores::Entries::new(Entries(RefCell::new(self.0.iter())))
    }
}

fn bound(bound: stores::Bound) -> Bound<Bytes> {
    match bound {
        stores::Bound::Unbounded => Bound::Unbounded,
        stores::Bound::Included(key) => Bound::Included(key),
        stores::Bound::Excluded(key) => Bound::Excluded(key),
    }
}

fn slices((lower, upper): &(Bound<Bytes>, Bound<Bytes>)) -> (Bound<&[u8]>, Bound<&[u8]>) {
    (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice))
}

fn cursor(table: &twindex::Table, range: &(Bound<Bytes>, Bound<Bytes>)) -> Result<stores::Cursor> {
    Ok(stores::Cursor::new(Cursor(RefCell::new(table.cursor(slices(range))?))))
}

pub(crate) struct Cursor(RefCell<twindex::Cursor>);

impl GuestCursor for Cursor {
    fn scan_asc_next(&self) -> Option<Pair> {
        self.0.borrow_mut().scan_asc_next().map(copy)
    }

    fn scan_desc_next(&self) -> Option<Pair> {
        self.0.borrow_mut().scan_desc_next().map(copy)
    }

    fn seek(&self, key: Bytes) {
        self.0.borrow_mut().seek(key);
    }

    fn key(&self) -> Option<Bytes> {
        self.0.borrow().key().map(<[u8]>::to_vec)
    }

    fn value(&self) -> Option<Bytes> {
        self.0.borrow().value()
    }

    fn scan_asc_next_many(&self, count: u32) -> Vec<Pair> {
        (0..count).map_while(|_| self.scan_asc_next()).collect()
    }

    fn scan_desc_next_many(&self, count: u32) -> Vec<Pair> {
        (0..count).map_while(|_| self.scan_desc_next()).collect()
    }
}

fn copy((key, value): (&[u8], &[u8])) -> Pair {
    (key.to_vec(), value.to_vec())
}

pub(crate) struct Entries(RefCell<twindex::Iter>);

impl GuestEntries for Entries {
    fn next_many(&self, count: u32) -> Vec<Pair> {
        self.0.borrow_mut().by_ref().take(count as usize).collect()
    }
}
