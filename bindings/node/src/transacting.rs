//! Transactions that are open, and their tables.

use std::cell::RefCell;
use std::rc::Rc;

use twindex_durable::{AnyTable, Result, Transaction};

use crate::fault::Fault;

pub(crate) type Transacting = Rc<RefCell<Option<Transaction>>>;

pub(crate) struct Joined {
    pub(crate) transaction: Transacting,
    pub(crate) table: AnyTable,
}

impl Joined {
    pub(crate) fn run<'c, T>(
        &self,
        verb: impl FnOnce(&mut Transaction, &AnyTable) -> Result<T>,
    ) -> std::result::Result<T, Fault<'c>> {
        let mut transaction = self.transaction.borrow_mut();
        Ok(verb(transaction.as_mut().ok_or_else(Fault::bug)?, &self.table)?)
    }
}
