//! The class `ExpiringTable`.

use std::sync::Arc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer, PyTraverseError, PyVisit};
use twindex::{Change, Swap, Write};
use twindex_durable::{Error, ExpiringReads, ExpiringTable as Expiring, Result as Done};

use super::verbs::table_changes;
use super::{WORTH_LEAVING, table};
use crate::arguments::{Amount, Count, Given};
use crate::attached::Attached;
use crate::cache::{Life, Ttl, seconds_of};
use crate::codec::{Codecs, Encoded, KeyCodec, ValueCodec};
use crate::error::{self, Failure, Result};
use crate::fork::Inherited;
use crate::groups::{Groups, Keys};
use crate::objects::{Flags, Sums};
use crate::popitem::Popping;
use crate::progress::check_not_telling;
use crate::shared::Shared;
use crate::verbs::{Engine, encode_amounts, encode_pairs, expiring_puts, shared_verbs, updates};

/// A table whose pairs expire: a `Table` with times to live. `Store.table(name, expires=True)` makes one.
///
/// >>> sessions = Store().table("sessions", expires=True)
/// >>> sessions.upsert("4f1a", "ada", ttl=1800)
/// True
/// >>> sessions["4f1a"], sessions.ttl("4f1a") <= 1800
/// ('ada', True)
/// >>> sessions.touch("4f1a", 3600)
/// True
///
/// `ttl` is in seconds or a `timedelta`; without one, or with `math.inf`, the pair stays. `sessions[key] = value` and `update` write
/// pairs that stay. A pair that has expired is absent for every method, though it counts in `len` until it is removed.
#[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
pub(crate) struct ExpiringTable {
    store: Arc<Shared>,
    /// The `Store` that holds it, which a pickle of the table has too.
    owner: Py<PyAny>,
    pub(super) engine: Inherited<Expiring>,
    codecs: Codecs,
    popping: Attached<Popping>,
}

impl Engine for Expiring {
    type Error = Error;

    const TURN: (usize, usize) = <twindex_durable::Table as Engine>::TURN;

    fn write(&self, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Done<bool> {
        self.write(write, key, value, ttl)
    }

    fn write_many(
        &self,
        write: Write,
        pairs: &[(Encoded<'_>, Encoded<'_>)],
        ttl: Option<Duration>,
    ) -> Done<Vec<bool>> {
        self.write_many(write, pairs, ttl)
    }

    fn delete(&self, key: &[u8]) -> Done<bool> {
        self.delete(key)
    }

    fn leave(&self, key: &[u8]) -> Done<bool> {
        self.alter(key, None, |_| Change::Keep)
    }

    fn increment(&self, key: &[u8], by: i64, ttl: Option<Duration>) -> Done<i64> {
        self.increment(key, by, ttl)
    }

    fn compare_and_swap(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Done<bool> {
        self.compare_and_swap(key, expected, new, None)
    }

    fn compare_and_swap_many(&self, swaps: &[Swap<'_, &Encoded<'_>>]) -> Done<Vec<bool>> {
        self.compare_and_swap_many(swaps, None)
    }

    fn delete_many(&self, keys: &[Encoded<'_>]) -> Done<Vec<bool>> {
        self.delete_many(keys)
    }

    fn increment_many(&self, amounts: &[(Encoded<'_>, i64)], ttl: Option<Duration>) -> Done<Vec<i64>> {
        self.increment_many(amounts, ttl)
    }
}

impl Lends for Expiring {
    fn touch(&self, key: &[u8], ttl: Option<Duration>) -> Done<bool> {
        self.touch(key, ttl)
    }

    fn life(&self, key: &[u8]) -> Done<Life> {
        self.ttl(key)
    }
}

/// What tables also do whose pairs expire.
pub(crate) trait Lends: Engine {
    fn touch(&self, key: &[u8], ttl: Option<Duration>) -> Result<bool, Self::Error>;
    fn life(&self, key: &[u8]) -> Result<Life, Self::Error>;
}

/// The error of a batch, which has plain tables alone.
#[cold]
pub(crate) fn not_supported() -> Failure {
    error::of_code("TWINDEX_NOT_SUPPORTED", "batches have no tables whose pairs expire".into())
}

table!(ExpiringTable, Expiring, ExpiringReads, true);
shared_verbs!(ExpiringTable, Expiring);
table_changes!(ExpiringTable);

/// Gives the class of a table the writes that take a time to live.
macro_rules! lends {
    ($class:ident) => {
        expiring_puts! {
            $class:
            /// Adds the pair where the key is absent; whether it was. `ttl` is how many seconds it lives.
            insert: Insert,
            /// `insert` for each pair of a mapping or an iterable: whether each took effect.
            insert_many;

            /// Gives the key another value where it is present; whether it was. Its time to live begins anew.
            replace: Replace,
            /// `replace` for each pair of a mapping or an iterable: whether each took effect.
            replace_many;

            /// Gives the key this value, present or not. Always takes effect, so always True.
            upsert: Upsert,
            /// `upsert` for each pair of a mapping or an iterable: whether each took effect.
            upsert_many;
        }

        #[pymethods]
        impl $class {
            /// How many seconds the pair still lives: `math.inf` where it does not expire, None where the key is absent.
            #[pyo3(signature = (key, /))]
            fn ttl(&self, key: &Bound<'_, PyAny>) -> Result<Option<f64>> {
                let (py, key) = (key.py(), self.codecs.keys.encode_sought(key)?);
                Ok(seconds_of(self.change(py, 0, |table| table.life(key.as_ref()))?))
            }

            /// Lets the pair live for `ttl` seconds from now on, or by default for ever; whether the key was there.
            #[pyo3(signature = (key, ttl=None, /))]
            fn touch(&self, key: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<bool> {
                let (py, key, ttl) = (key.py(), self.codecs.keys.encode(key)?, ttl.map(|Ttl(ttl)| ttl));
                self.write(py, 0, |table| Lends::touch(table, key.as_ref(), ttl))
            }

            /// Adds `by` to the value and returns the sum. An absent key counts as 0, and its new pair lives for `ttl` seconds. A pair that is
            /// there keeps the time at which it expires, so this counts requests by the minute.
            ///
            /// >>> requests = Store().table("requests", values="int", expires=True)
            /// >>> requests.increment("10.0.0.7", ttl=60), requests.increment("10.0.0.7", ttl=60)
            /// (1, 2)
            #[pyo3(signature = (key, /, by=Amount(1), *, ttl=None), text_signature = "($self, key, /, by=1, *, ttl=None)")]
            fn increment(&self, key: &Bound<'_, PyAny>, by: Amount, ttl: Option<Ttl>) -> Result<i64> {
                self.codecs.values.check_decimal()?;
                let (py, key, ttl) = (key.py(), self.codecs.keys.encode(key)?, ttl.map(|Ttl(ttl)| ttl));
                self.write(py, 0, |table| Engine::increment(table, key.as_ref(), by.0, ttl))
            }

            /// `increment` for each key and amount of a mapping or an iterable: the sums. Stops at the first that fails.
            #[pyo3(signature = (amounts, /, *, ttl=None))]
            fn increment_many(&self, amounts: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<Sums> {
                let (py, groups, ttl) = (amounts.py(), Groups::pairs("amounts", amounts)?, ttl.map(|Ttl(ttl)| ttl));
                let amounts = encode_amounts(py, &self.codecs, &groups)?;
                let bytes = |(key, _): &(Encoded<'_>, i64)| key.len();
                self.in_turns(py, &amounts, bytes, |table, amounts| Engine::increment_many(table, amounts, ttl)).map(Sums)
            }
        }
    };
}

pub(crate) use lends;

lends!(ExpiringTable);

#[pymethods]
impl ExpiringTable {
    /// Removes up to `limit` expired pairs and returns how many that were; all of them by default. Fewer than `limit` means that there
    /// are no more. Writes do this too, a few at a time.
    #[pyo3(signature = (limit=None))]
    fn remove_expired(&self, py: Python<'_>, limit: Option<Count>) -> Result<usize> {
        let (mut left, mut removed) = (limit.map_or(usize::MAX, |Count(pairs)| pairs), 0);
        while left > 0 {
            let most = left.min(10_000);
            let done = self.write(py, usize::MAX, |table| table.remove_expired(most))?;
            (left, removed) = (left - done, removed + done);
            if done < most {
                break;
            }
            py.check_signals()?;
        }
        Ok(removed)
    }
}
