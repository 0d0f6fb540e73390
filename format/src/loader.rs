//! Filling a store from records.

use twindex::{Error, Result, Store, Table, TableOptions};

use crate::entry::TableEntry;
use crate::operation::{Operation, Position};
use crate::record::{Kind, corrupt, synced_by};
use crate::unpack::Unpacked;
use crate::varint::take_varint;

/// The id of the table whose pairs a record holds.
pub fn table_of_pairs(mut payload: &[u8]) -> Option<u32> {
    take_varint(&mut payload)
}

const BAD_TABLE: &str = "a table's id, name, index or codec is not valid, or the table comes twice";
const UNKNOWN_TABLE: &str = "an id that no table has";

/// Fills a store from records.
#[derive(Debug)]
pub struct Loader {
    store: Store,
    tables: Tables,
    /// The id of the last table, and how many pairs its record announces. In a dump these follow the record.
    expected: (u32, u64),
    next_id: u32,
    position: Position,
    /// Behind a compaction an id may come again that a dropped table had.
    goes_on: bool,
}

/// The tables by id, as a tree in which the bits of an id, from the lowest on, choose the branch: no order of ids makes it deeper
/// than 32. A map's code would be 1 kB more of a compressed WebAssembly module.
#[derive(Debug, Default)]
struct Tables(Vec<Node>);

#[derive(Debug)]
struct Node {
    id: u32,
    /// A dropped table leaves `None`.
    table: Option<Table>,
    /// Where the next nodes are.
    next: [usize; 2],
}

impl Tables {
    fn find(&self, id: u32) -> Option<&Node> {
        let (mut at, mut bits) = (0, id);
        loop {
            let node = self.0.get(at)?;
            if node.id == id {
                return Some(node);
            }
            at = node.next[bits as usize & 1];
            bits >>= 1;
        }
    }

    fn set(&mut self, id: u32, table: Option<Table>) {
        let (end, mut at, mut bits) = (self.0.len(), 0, id);
        while let Some(node) = self.0.get_mut(at) {
            if node.id == id {
                node.table = table;
                return;
            }
            let next = &mut node.next[bits as usize & 1];
            *next = end.min(*next);
            at = *next;
            bits >>= 1;
        }
        self.0.push(Node { id, table, next: [usize::MAX; 2] });
    }
}

impl<'t> FromIterator<(u32, &'t Table)> for Tables {
    fn from_iter<I: IntoIterator<Item = (u32, &'t Table)>>(numbered: I) -> Self {
        let mut tables = Self::default();
        numbered.into_iter().for_each(|(id, table)| tables.set(id, Some(table.clone())));
        tables
    }
}

impl Loader {
    /// A loader that fills this store. Existing tables get the ids from 0 on, by name.
    pub fn new(store: Store) -> Self {
        let tables: Tables = (0..).zip(&store.tables()).collect();
        let next_id = tables.0.len() as u32;
        Self { store, tables, expected: (0, 0), next_id, position: Position::default(), goes_on: false }
    }

    /// A loader that goes on if another one, or a writer, has left a store with these tables.
    pub fn going_on<'t>(store: Store, numbered: impl IntoIterator<Item = &'t (u32, Table)>) -> Self {
        let tables = numbered.into_iter().map(|(id, table)| (*id, table)).collect();
        Self { store, tables, expected: (0, 0), next_id: 0, position: Position::default(), goes_on: true }
    }

    /// The store.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The tables with their ids, in the order in which they came.
    pub fn tables(&self) -> impl Iterator<Item = (u32, &Table)> {
        self.tables.0.iter().filter_map(|node| Some((node.id, node.table.as_ref()?)))
    }

    /// An id that no table has had.
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The position after the last record of operations.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The table with this id.
    pub fn find(&self, id: u32) -> Option<&Table> {
        self.tables.find(id)?.table.as_ref()
    }

    /// Whether there is a table with this id, or was one.
    pub(crate) fn has_had(&self, id: u32) -> bool {
        self.tables.find(id).is_some()
    }

    /// Applies the record at `offset`. Returns how many pairs or operations it holds.
    ///
    /// An operation that was already applied changes nothing. Pairs must be new.
    pub fn record(&mut self, kind: Kind, offset: u64, payload: &[u8]) -> Result<u64> {
        match kind {
            Kind::Table => {
                let found = TableEntry::of_record(payload);
                let (id, pairs, table) = found.ok_or(Error::Corrupt { offset, what: BAD_TABLE })?;
                self.create(id, offset, table)?;
                self.expected = (id, pairs);
                Ok(0)
            }
            Kind::Pairs => self.unpack(offset, payload)?.insert(),
            Kind::Log => self.replay(offset, payload, true),
            Kind::Synced => synced_by(offset, payload).map(|_| 0),
            Kind::End | Kind::Kept => Ok(0),
        }
    }

    /// Decodes the first pairs of a record and changes nothing yet. Several threads may do this at once.
    pub fn unpack<'p>(&self, offset: u64, mut payload: &'p [u8]) -> Result<Unpacked<'p>> {
        let found = take_varint(&mut payload).and_then(|id| Some((id, self.find(id)?)));
        let (id, table) = found.ok_or(Error::Corrupt { offset, what: UNKNOWN_TABLE })?;
        let expected = if self.expected.0 == id { self.expected.1 } else { 0 };
        Unpacked::new(table, expected, offset, payload)
    }

    /// Applies operations. `begins` says whether the record begins with them: only there may be a position.
    pub(crate) fn replay(&mut self, offset: u64, mut payload: &[u8], begins: bool) -> Result<u64> {
        let (mut done, mut first) = (0, begins);
        self.position = self.position.after(payload);
        while !payload.is_empty() {
            let (id, operation) = Operation::take(&mut payload)
                .ok_or(Error::Corrupt { offset, what: "an operation runs over its limits or its record" })?;
            let is_first = std::mem::replace(&mut first, false);
            match (operation, self.find(id)) {
                (Operation::Position(_), _) if is_first && id == 0 => continue,
                (Operation::Position(_), _) => return corrupt(offset, "a position that begins no record"),
                (Operation::Create(table), _) => self.create(id, offset, table)?,
                (_, None) => return corrupt(offset, UNKNOWN_TABLE),
                (Operation::Put(key, value), Some(table)) => table.upsert(key, value)?,
                (Operation::Delete(key), Some(table)) => drop(table.delete(key)?),
                (Operation::Clear, Some(table)) => table.clear()?,
                (Operation::Drop, Some(table)) => {
                    self.store.drop_table(table.name());
                    self.tables.set(id, None);
                }
            }
            done += 1;
        }
        Ok(done)
    }

    /// Creates the table that a record or an operation at `offset` describes.
    pub fn create(&mut self, id: u32, offset: u64, table: TableEntry<'_>) -> Result<()> {
        let TableEntry { name, index, keys, values } = table;
        let is_taken = if self.goes_on { self.find(id).is_some() } else { self.has_had(id) };
        if is_taken || self.store.find_table(name).is_some() {
            return corrupt(offset, BAD_TABLE);
        }
        let options = TableOptions::new(index).keys(keys).values(values);
        self.tables.set(id, Some(self.store.table_with(name, options)?));
        self.expected = (id, 0);
        self.next_id = self.next_id.max(id.saturating_add(1));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use twindex::IndexKind;

    use super::*;

    #[test]
    fn tables_are_found_by_their_ids_in_whatever_order_these_come() {
        let ids: Vec<u32> =
            (0..300).rev().chain((1..=300).map(|n: u32| n.wrapping_mul(0x9e37_79b9))).collect();
        let mut loader = Loader::new(Store::new());
        for &id in &ids {
            assert!(loader.find(id).is_none() && !loader.has_had(id));
            let table =
                TableEntry { name: &id.to_string(), index: IndexKind::Hash, keys: "bytes", values: "bytes" };
            loader.create(id, 0, table).unwrap();
            assert!(loader.create(id, 0, table).is_err());
        }
        loader.tables.set(7, None);
        assert!(loader.find(7).is_none() && loader.has_had(7));
        for (id, table) in loader.tables() {
            assert_eq!(table.name(), id.to_string());
            assert_eq!(loader.find(id).unwrap().name(), table.name());
        }
        assert!(loader.tables().map(|(id, _)| id).eq(ids.into_iter().filter(|&id| id != 7)));
    }
}
