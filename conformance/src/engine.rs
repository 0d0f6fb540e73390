//! The engine as a host, which is also what others can be compared with.

use twindex::{Change, Cursor, Error, Result, Store, Table, Write, prefix_range};
use twindex_format::Dump;

use crate::{Alter, Answer, Failure, Fallible, Host, Pair, Range, Verb, slices};

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

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` passes it")]
fn failure(error: Error) -> Failure {
    Failure::new(error.code(), &error)
}

impl InMemory {
    fn store(&self) -> Fallible<&Store> {
        self.0.as_ref().ok_or_else(|| Failure::new("TWINDEX_CLOSED", "the store is closed"))
    }
}

impl Host for InMemory {
    type Table = Table;
    type Cursor = Cursor;

    fn table(&mut self, name: &str, index: &str) -> Fallible<Table> {
        self.store()?.table(name, index.parse().map_err(failure)?).map_err(failure)
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

    fn run(&mut self, table: &mut Table, verb: Verb) -> Fallible<Answer> {
        self.store()?;
        run(table, verb).map_err(failure)
    }

    fn cursor(&mut self, table: &mut Table, range: Range) -> Fallible<Cursor> {
        self.store()?;
        table.try_cursor(slices(&range.bounds(prefix_range))).map_err(failure)
    }

    fn next(&mut self, cursor: &mut Cursor, down: bool) -> Fallible<Option<Pair>> {
        self.store()?;
        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
        Ok(pair.map(|(key, value)| (key.to_vec(), value.to_vec())))
    }

    fn next_many(&mut self, cursor: &mut Cursor, down: bool, limit: usize) -> Fallible<Vec<Pair>> {
        self.store()?;
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
}

fn run(table: &Table, verb: Verb) -> Result<Answer> {
    Ok(match verb {
        Verb::Insert(key, value) => table.insert(key, value)?.into(),
        Verb::Replace(key, value) => table.replace(key, value)?.into(),
        Verb::Upsert(key, value) => table.write(Write::Upsert, key, value)?.into(),
        Verb::Delete(key) => table.delete(key)?.into(),
        Verb::Select(key) => table.select(key).into(),
        Verb::Contains(key) => table.contains(key).into(),
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
            let scan = table.try_cursor(slices(&range.bounds(prefix_range)))?.into_iter();
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

/// What an [`Alter`] makes of a value.
pub fn change(old: Option<&[u8]>, alter: &Alter) -> Change<Vec<u8>> {
    match alter {
        Alter::Append(more) => Change::Set([old.unwrap_or_default(), more].concat()),
        Alter::Remove => Change::Delete,
        Alter::Keep => Change::Keep,
    }
}
