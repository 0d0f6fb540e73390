//! The verbs of tables in transactions.

use twindex_durable::AnyTable::{self, Expiring, Plain};
use twindex_durable::{Error, ExpiringTable, Result};

use crate::cached::Ttl;
use crate::pairs::{DELETE, Done, Timed, Verbs, write_of};
use crate::transacting::Joined;

/// What only tables whose pairs expire have, and lib/shared/transaction.js asks of no other.
fn expiring(table: &AnyTable) -> Result<&ExpiringTable> {
    match table {
        Expiring(table) => Ok(table),
        Plain(table) => Err(Error::WrongExpiry { table: table.name().into(), expires: false }),
    }
}

impl Verbs for Joined {
    const EXPIRES: bool = true;
    const SUMS_EXPIRE: bool = true;

    fn select_with<'c>(&self, key: &[u8], read: impl FnOnce(&[u8])) -> Done<'c, Option<()>> {
        let value = self.run(|transaction, table| match table {
            Plain(table) => transaction.select(table, key),
            Expiring(table) => transaction.expiring(table).select(key),
        })?;
        Ok(value.map(|value| read(&value)))
    }

    fn write<'c, const VERB: u8>(&self, key: &[u8], value: &[u8], ttl: Ttl) -> Done<'c> {
        self.run(|transaction, table| match table {
            Plain(table) if VERB == DELETE => transaction.delete(table, key),
            Plain(table) => transaction.write(write_of(VERB), table, key, value),
            Expiring(table) if VERB == DELETE => transaction.expiring(table).delete(key),
            Expiring(table) => transaction.expiring(table).write(write_of(VERB), key, value, ttl),
        })
    }

    fn increment<'c>(&self, key: &[u8], by: i64, ttl: Ttl) -> Done<'c, i64> {
        self.run(|transaction, table| match table {
            Plain(table) => transaction.increment(table, key, by),
            Expiring(table) => transaction.expiring(table).increment(key, by, ttl),
        })
    }

    fn swap<'c>(&self, key: &[u8], expected: Option<&[u8]>, value: Option<&[u8]>) -> Done<'c> {
        self.run(|transaction, table| {
            transaction.expiring(expiring(table)?).compare_and_swap(key, expected, value, None)
        })
    }
}

impl Timed for Joined {
    fn ttl<'c>(&self, key: &[u8]) -> Done<'c, twindex_cache::Ttl> {
        self.run(|transaction, table| transaction.expiring(expiring(table)?).ttl(key))
    }

    fn touch<'c>(&self, key: &[u8], ttl: Ttl) -> Done<'c> {
        self.run(|transaction, table| transaction.expiring(expiring(table)?).touch(key, ttl))
    }
}
