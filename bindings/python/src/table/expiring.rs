//! The class `ExpiringTable`.

use pyo3::{PyClass, PyClassInitializer};
use twindex_durable::{ExpiringReads, ExpiringTable as Expiring, Result as Done};

use super::verbs::table_changes;
use super::{WORTH_LEAVING, table};
use crate::arguments::Given;
use crate::popitem::Popping;
use crate::prelude::*;
use crate::ttl::{Life, Ttl, seconds_of};
use crate::verbs::{Engine, encode_amounts, encode_pairs, increments, puts, shared_verbs, ttl_of, updates};

/// A `Table` whose pairs expire. `Store.table(name, expires=True)` opens one.
///
/// >>> sessions = Store().table("sessions", expires=True)
/// >>> sessions.upsert("4f1a", "ada", ttl=1800)
/// True
/// >>> sessions["4f1a"], sessions.ttl("4f1a") <= 1800
/// ('ada', True)
/// >>> sessions.touch("4f1a", 3600)
/// True
///
/// `ttl` is in seconds or a `timedelta`. Without one, or with `math.inf`, a pair lives for ever; so do those of `sessions[key] = value`
/// and `update`. An expired pair is absent for every method, but counts in `len` until it is removed.
#[pyclass(frozen, mapping, weakref, generic, module = "twindex")]
pub(crate) struct ExpiringTable {
    store: Arc<Shared>,
    /// The table's `Store`.
    owner: Py<PyAny>,
    pub(super) engine: Inherited<Expiring>,
    codecs: Codecs,
    popping: Attached<Popping>,
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
        puts!($class, ttl);
        increments!($class, ttl);

        #[pymethods]
        impl $class {
            /// How many seconds the pair still lives: `math.inf` if it does not expire, None if the key is absent.
            #[pyo3(signature = (key, /))]
            fn ttl(&self, key: &Bound<'_, PyAny>) -> Result<Option<f64>> {
                let (py, key) = (key.py(), self.codecs.keys.encode_sought(key)?);
                Ok(seconds_of(self.change(py, 0, |table| table.life(key.as_ref()))?))
            }

            /// Gives the pair a new time to live, by default for ever. Returns whether the key was present.
            #[pyo3(signature = (key, ttl=None, /))]
            fn touch(&self, key: &Bound<'_, PyAny>, ttl: Option<Ttl>) -> Result<bool> {
                let (py, key, ttl) = (key.py(), self.codecs.keys.encode(key)?, ttl.map(|Ttl(ttl)| ttl));
                self.write(py, 0, |table| Lends::touch(table, key.as_ref(), ttl))
            }
        }
    };
}

pub(crate) use lends;

lends!(ExpiringTable);

#[pymethods]
impl ExpiringTable {
    /// Removes up to `limit` expired pairs, by default all. Returns their number; if it is less than `limit`, there are no more. Writes
    /// do this too, a few at a time.
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
