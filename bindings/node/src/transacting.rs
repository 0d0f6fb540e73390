//! Transactions that are open, with their tables.

use twindex_durable::{AnyTable, Result, Store, Transaction};

use crate::encoding::Encodings;
use crate::fault::Fault;
use crate::memory::reserve;

/// A transaction, and the tables that it has opened, by number.
pub(crate) struct Transacting {
    transaction: Transaction,
    tables: Vec<(AnyTable, Encodings)>,
}

impl Transacting {
    pub(crate) fn begin(store: &Store) -> Result<Self> {
        Ok(Self { transaction: store.begin()?, tables: Vec::new() })
    }

    /// Gives a table a number.
    pub(crate) fn add<'c>(&mut self, table: AnyTable) -> std::result::Result<u32, Fault<'c>> {
        reserve(&mut self.tables, 1)?;
        self.tables.push((table, Encodings::default()));
        Ok(self.tables.len() as u32 - 1)
    }

    pub(crate) fn encodings<'c>(&mut self, table: u32) -> std::result::Result<&mut Encodings, Fault<'c>> {
        self.tables.get_mut(table as usize).map(|(_, encodings)| encodings).ok_or_else(Fault::bug)
    }

    /// Does something with one of its tables.
    pub(crate) fn run<'c, T>(
        &mut self,
        table: u32,
        verb: impl FnOnce(&mut Transaction, &AnyTable) -> Result<T>,
    ) -> std::result::Result<T, Fault<'c>> {
        let (table, _) = self.tables.get(table as usize).ok_or_else(Fault::bug)?;
        Ok(verb(&mut self.transaction, table)?)
    }

    pub(crate) fn has_conflict(&self) -> bool {
        self.transaction.has_conflict()
    }

    pub(crate) fn commit(self) -> Result<()> {
        self.transaction.commit()
    }
}
