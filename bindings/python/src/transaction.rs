//! The classes `Transaction` and `TransactionTable`.

use std::hint::black_box;
use std::ops::Bound as End;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use pyo3::types::PyIterator;
use twindex::{IndexKind, Swap, TableOptions, Write};
use twindex_durable::{AnyTable, ExpiringPart};

use crate::arguments::Given;
use crate::prelude::*;
use crate::table::Table;
use crate::table::expiring::{Lends, lends};
use crate::table::reads::{described, range_reads};
use crate::table::verbs::table_changes;
use crate::ttl::{Life, Ttl, seconds_of};
use crate::verbs::{
    Engine, encode_amounts, encode_pairs, increments, key_reads, puts, shared_verbs, ttl_of, updates,
};

/// The same of a table of either kind.
macro_rules! either {
    ($table:expr, $one:ident => $does:expr) => {
        match $table {
            AnyTable::Plain($one) => $does,
            AnyTable::Expiring($one) => $does,
        }
    };
}

/// Reads and writes that take effect as one step, or not at all, also after a crash. `Store.transaction` makes one.
///
/// It reads the store at one moment, and its own writes. It ends by `commit`, by `close`, which abandons it, or with its `with`
/// block, which commits unless there was an exception. If a value that it read has changed meanwhile, the commit raises
/// `ConflictError` and writes nothing. No lock is held until the commit.
///
/// >>> store = Store()
/// >>> accounts = store.table("accounts", values="int")
/// >>> accounts["ada"] = 100
/// >>> with store.transaction() as tx:
/// ...     mine = tx.table(accounts)
/// ...     mine["ada"], mine["bob"] = mine["ada"] - 30, 30
/// >>> sorted(accounts.items())
/// [('ada', 70), ('bob', 30)]
#[pyclass(frozen, weakref, module = "twindex")]
pub(crate) struct Transaction {
    store: Arc<Shared>,
    running: Arc<Running>,
}

/// What a transaction and its tables share.
struct Running {
    /// None once it has ended. Held over nothing that runs Python code or waits for the interpreter.
    engine: Mutex<Option<Inherited<twindex_durable::Transaction>>>,
    has_conflict: AtomicBool,
}

impl Running {
    /// What `body` does with the engine's transaction, unless that has ended.
    fn with<T>(
        &self,
        body: impl FnOnce(&mut twindex_durable::Transaction) -> twindex_durable::Result<T>,
    ) -> Result<T> {
        check_memory()?;
        let done = {
            let mut engine = self.engine.lock().unwrap_or_else(PoisonError::into_inner);
            engine.as_deref_mut().map(body)
        };
        self.note(done.ok_or_else(error::transaction_ended)?)
    }

    /// Remembers that it met a conflict.
    fn note<T>(&self, done: twindex_durable::Result<T>) -> Result<T> {
        if let Err(twindex_durable::Error::Engine(twindex::Error::Conflict { .. })) = done {
            self.has_conflict.store(true, Relaxed);
        }
        Ok(done?)
    }

    fn take(&self, py: Python<'_>) -> Option<Inherited<twindex_durable::Transaction>> {
        self.engine.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// What Python's side does where a transaction begins to run and where it ends.
fn call<'py>(py: Python<'py>, name: &str, transaction: &Bound<'py, Transaction>) -> Result<()> {
    static MODULE: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let module =
        MODULE.get_or_try_init(py, || Ok::<_, PyErr>(py.import("twindex._transactions")?.unbind()))?;
    module.bind(py).call_method1(name, (transaction,))?;
    Ok(())
}

impl Transaction {
    pub(crate) fn new(store: &Arc<Shared>) -> Result<Self> {
        check_memory()?;
        let engine = store.open()?.begin()?;
        let running = Running {
            engine: Mutex::new(Some(Inherited::new(engine))),
            has_conflict: AtomicBool::new(false),
        };
        Ok(Self { store: Arc::clone(store), running: Arc::new(running) })
    }

    fn has_ended(&self, py: Python<'_>) -> bool {
        if self.store.is_foreign() {
            // A thread of the parent may have locked it, for ever.
            return self.running.engine.try_lock().is_ok_and(|engine| engine.is_none());
        }
        self.running.engine.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

#[pymethods]
impl Transaction {
    /// A table in the transaction: a `TransactionTable`. Raises `NoTableError` if there is no such table: a transaction
    /// creates none.
    ///
    /// `table` is a name, or a `Table` of the store, whose codecs it uses. For a name `keys` and `values` are as in `Store.table`.
    #[pyo3(signature = (table, *, keys=None, values=None))]
    fn table(
        &self,
        table: &Bound<'_, PyAny>,
        keys: Option<&Bound<'_, PyAny>>,
        values: Option<&Bound<'_, PyAny>>,
    ) -> Result<TransactionTable> {
        let (py, store) = (table.py(), self.store.open()?);
        let mut seen = Table::named(&self.store, table, keys, values)?;
        let (known, name) = (seen.engine.take(), &seen.name);
        let options = TableOptions::new(IndexKind::Hash).any_index(true).create(false);
        let find = || store.any_table_with(name, options, None);
        // Another thread may be in a long verb of it.
        let table = py.detach(|| self.running.with(|_| known.map_or_else(find, Ok)))?;
        let codecs = seen.codecs(py, either!(&table, table => table.codecs()))?;
        let part = Part { running: Arc::clone(&self.running), table };
        Ok(TransactionTable { store: Arc::clone(&self.store), part: Inherited::new(part), codecs })
    }

    /// Commits the writes and ends the transaction. If a value that it read has changed, raises `ConflictError` and writes
    /// nothing.
    fn commit(&self, py: Python<'_>) -> Result<()> {
        self.store.check_open()?;
        check_not_telling()?;
        let engine = self.running.take(py).ok_or_else(error::transaction_ended)?;
        check_memory()?;
        let done = py.detach(|| engine.into_inner().commit());
        self.running.note(done)
    }

    /// Abandons the transaction: nothing is written. Closing it again, or after a commit, does nothing.
    fn close(&self, py: Python<'_>) {
        if !self.store.is_foreign() {
            drop(self.running.take(py));
        }
    }

    /// Whether it has ended.
    #[getter]
    fn closed(&self, py: Python<'_>) -> bool {
        self.has_ended(py)
    }

    /// Whether it met a conflict, and may be run again.
    #[getter]
    fn _has_conflict(&self) -> bool {
        self.running.has_conflict.load(Relaxed)
    }

    /// The state that all transactions of a store share.
    #[getter]
    fn _of(&self) -> usize {
        Arc::as_ptr(&self.store).addr()
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> Result<Bound<'py, Self>> {
        let this = slf.get();
        this.store.check_open()?;
        if this.has_ended(slf.py()) {
            return Err(error::transaction_ended());
        }
        call(slf.py(), "enter", slf)?;
        Ok(slf.clone())
    }

    #[pyo3(signature = (kind, error, traceback, /))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        traceback: &Bound<'_, PyAny>,
    ) -> Result<()> {
        let _ = (error, traceback);
        let (py, this) = (slf.py(), slf.get());
        let done = if kind.is_none() && !this.has_ended(py) {
            this.commit(py)
        } else {
            this.close(py);
            Ok(())
        };
        call(py, "leave", slf)?;
        done
    }

    fn __repr__(&self, py: Python<'_>) -> &'static str {
        if self.has_ended(py) { "<twindex.Transaction: ended>" } else { "<twindex.Transaction>" }
    }
}

not_copied!(Transaction, "a Transaction cannot be pickled or copied");

/// A table in a transaction: a table's reads and writes of keys, and scans of a sorted one.
///
/// `Transaction.table` returns one. It has no length, and a hash table no iteration: any write to the table would be a conflict. Times to
/// live need a table whose pairs expire; otherwise they raise `WrongExpiryError`.
///
/// >>> store = Store()
/// >>> log = store.table("log", index="sorted", keys="int")
/// >>> log.update([(10, "a"), (20, "b")])
/// >>> with store.transaction() as tx:
/// ...     mine = tx.table(log)
/// ...     key, value = mine.pop_first()
/// ...     mine[key + 20] = value
/// ...     list(mine.scan()), list(log)
/// ([(20, 'b'), (30, 'a')], [10, 20])
/// >>> list(log)
/// [20, 30]
#[pyclass(frozen, weakref, generic, module = "twindex")]
pub(crate) struct TransactionTable {
    store: Arc<Shared>,
    part: Inherited<Part>,
    codecs: Codecs,
}

/// What a transaction does with one table.
pub(crate) struct Part {
    running: Arc<Running>,
    table: AnyTable,
}

type Encodings<'a> = (Encoded<'a>, Encoded<'a>);

/// Fails if the system has no memory for the copies that a transaction makes of so many bytes.
fn ask_for(bytes: usize) -> Result<()> {
    /// Fewer find room in the reserve.
    const SMALL: usize = 64 << 10;
    const COPIES: usize = 3;
    if bytes >= SMALL {
        black_box(with_room::<u8>(bytes.saturating_mul(COPIES))?);
    }
    Ok(())
}

/// Fails if a key is too long, before anything is written.
fn check_keys(keys: impl IntoIterator<Item = impl AsRef<[u8]>>) -> Result<()> {
    keys.into_iter().try_for_each(|key| Ok(twindex::check_key(key.as_ref())?))
}

impl Part {
    /// Asks for the memory of the key's value as it is, and of a new one.
    fn ask(&self, key: &[u8], new: usize) -> Result<()> {
        let old = either!(&self.table, table => table.in_memory().select_with(key, <[u8]>::len));
        ask_for(old.unwrap_or(0).saturating_add(new))
    }

    /// The pairs of a range, once there is memory for them.
    fn range(
        &self,
        (lower, upper): (End<&[u8]>, End<&[u8]>),
        limit: usize,
        down: bool,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let mut bytes = 0_usize;
        let count = |key: &[u8], value: &[u8]| {
            bytes = bytes.saturating_add(key.len() + value.len());
            true
        };
        either!(&self.table, table => table.in_memory().cursor((lower, upper))?.steps(down, limit, count));
        ask_for(bytes)?;
        self.running.with(|transaction| match &self.table {
            AnyTable::Plain(table) => transaction.range(table, (lower, upper), limit, down),
            AnyTable::Expiring(table) => transaction.expiring(table).range((lower, upper), limit, down),
        })
    }

    fn select(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.ask(key, 0)?;
        self.running.with(|transaction| match &self.table {
            // As of a table, a key that is too long is absent.
            _ if key.len() > twindex::MAX_KEY_BYTES => Ok(None),
            AnyTable::Plain(table) => transaction.select(table, key),
            AnyTable::Expiring(table) => transaction.expiring(table).select(key),
        })
    }

    /// What the transaction does with a table whose pairs expire.
    fn lend<T>(&self, body: impl FnOnce(ExpiringPart<'_>) -> twindex_durable::Result<T>) -> Result<T> {
        self.running.with(|transaction| match &self.table {
            AnyTable::Plain(table) => {
                Err(twindex_durable::Error::WrongExpiry { table: table.name().into(), expires: false })
            }
            AnyTable::Expiring(table) => body(transaction.expiring(table)),
        })
    }
}

impl Engine for Part {
    type Error = Failure;

    const TURN: (usize, usize) = (AT_ONCE, AT_ONCE << 10);

    fn write(&self, write: Write, key: &[u8], value: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.ask(key, value.len())?;
        match (&self.table, ttl) {
            (AnyTable::Plain(table), None) => {
                self.running.with(|transaction| transaction.write(write, table, key, value))
            }
            _ => self.lend(|mut part| part.write(write, key, value, ttl)),
        }
    }

    fn write_many(&self, write: Write, pairs: &[Encodings<'_>], ttl: Option<Duration>) -> Result<Vec<bool>> {
        check_keys(pairs.iter().map(|(key, _)| key))?;
        pairs.iter().map(|(key, value)| self.write(write, key.as_ref(), value.as_ref(), ttl)).collect()
    }

    fn delete(&self, key: &[u8]) -> Result<bool> {
        self.ask(key, 0)?;
        self.running.with(|transaction| match &self.table {
            AnyTable::Plain(table) => transaction.delete(table, key),
            AnyTable::Expiring(table) => transaction.expiring(table).delete(key),
        })
    }

    fn leave(&self, _key: &[u8]) -> Result<bool> {
        Ok(false)
    }

    fn increment(&self, key: &[u8], by: i64, ttl: Option<Duration>) -> Result<i64> {
        match (&self.table, ttl) {
            (AnyTable::Plain(table), None) => {
                self.running.with(|transaction| transaction.increment(table, key, by))
            }
            _ => self.lend(|mut part| part.increment(key, by, ttl)),
        }
    }

    fn compare_and_swap(&self, key: &[u8], expected: Option<&[u8]>, new: Option<&[u8]>) -> Result<bool> {
        self.ask(key, new.map_or(0, <[u8]>::len))?;
        self.running.with(|transaction| {
            let table = match &self.table {
                AnyTable::Plain(table) => table,
                AnyTable::Expiring(table) => {
                    return transaction.expiring(table).compare_and_swap(key, expected, new, None);
                }
            };
            if transaction.select(table, key)?.as_deref() != expected {
                return Ok(false);
            }
            match new {
                Some(value) => transaction.upsert(table, key, value)?,
                None => transaction.delete(table, key).map(drop)?,
            }
            Ok(true)
        })
    }

    fn compare_and_swap_many(&self, swaps: &[Swap<'_, &Encoded<'_>>]) -> Result<Vec<bool>> {
        check_keys(swaps.iter().map(|(key, ..)| key))?;
        swaps.iter().map(|(key, old, new)| self.compare_and_swap(key.as_ref(), *old, *new)).collect()
    }

    fn delete_many(&self, keys: &[Encoded<'_>]) -> Result<Vec<bool>> {
        check_keys(keys)?;
        keys.iter().map(|key| Engine::delete(self, key.as_ref())).collect()
    }
}

impl Lends for Part {
    fn touch(&self, key: &[u8], ttl: Option<Duration>) -> Result<bool> {
        self.lend(|mut part| part.touch(key, ttl))
    }

    fn life(&self, key: &[u8]) -> Result<Life> {
        self.lend(|mut part| part.ttl(key))
    }
}

key_reads!(TransactionTable);
range_reads!(TransactionTable, PyIterator);
described!(TransactionTable);
shared_verbs!(TransactionTable, Part);
lends!(TransactionTable);
table_changes!(TransactionTable);

impl TransactionTable {
    fn open(&self) -> Result<&Part> {
        self.store.check_open()?;
        Ok(&self.part)
    }

    fn about(&self) -> (&str, IndexKind, (&str, &str)) {
        either!(&self.part.table, table => (table.name(), table.index(), table.codecs()))
    }

    fn state(&self) -> &'static str {
        if self.part.running.engine.try_lock().is_ok_and(|engine| engine.is_none()) {
            "ended"
        } else {
            "running"
        }
    }

    fn change<T: Send>(
        &self,
        py: Python<'_>,
        _bytes: usize,
        write: impl Send + FnOnce(&Part) -> Result<T>,
    ) -> Result<T> {
        let part = self.open()?;
        py.detach(|| write(part))
    }

    fn read(&self, py: Python<'_>, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let part = self.open()?;
        py.detach(|| part.select(key))
    }

    fn find<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Option<Bound<'py, PyAny>>> {
        let py = key.py();
        let found = self.read(py, self.codecs.keys.encode_sought(key)?.as_ref())?;
        found.map(|value| self.codecs.values.decode(py, &value)).transpose()
    }

    fn stored(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Python::attach(|py| self.read(py, key))
    }

    fn has_many(&self, py: Python<'_>, keys: &[Encoded<'_>]) -> Result<Vec<bool>> {
        self.in_turns(py, keys, Encoded::len, |part, keys| {
            keys.iter().map(|key| Ok(part.select(key.as_ref())?.is_some())).collect()
        })
    }

    fn stored_pairs(
        &self,
        py: Python<'_>,
        range: &Range<'_, '_>,
        reverse: bool,
        limit: usize,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        let part = self.open()?;
        let (mut lower, mut upper) = range
            .ends(&self.codecs.keys, |lower, upper| (lower.map(<[u8]>::to_vec), upper.map(<[u8]>::to_vec)))?;
        let mut found = Vec::new();
        loop {
            let ends = (lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice));
            // A signal may end a long scan.
            let most = (limit - found.len()).min(AT_ONCE);
            let mut more = py.detach(|| part.range(ends, most, reverse))?;
            let next = more.last().filter(|_| more.len() == most).map(|(key, _)| key.clone());
            found.try_reserve(more.len())?;
            found.append(&mut more);
            let Some(next) = next.filter(|_| found.len() < limit) else { return Ok(found) };
            *(if reverse { &mut upper } else { &mut lower }) = End::Excluded(next);
            py.check_signals()?;
        }
    }

    fn decode<'py>(&self, py: Python<'py>, (key, value): &(Vec<u8>, Vec<u8>)) -> Result<Pair<'py>> {
        Ok(Pair(self.codecs.keys.decode(py, key)?, self.codecs.values.decode(py, value)?))
    }

    fn scan_range<'py>(
        &self,
        py: Python<'py>,
        range: &Range<'_, '_>,
        yields: Yields,
        reverse: bool,
        limit: Option<Count>,
    ) -> Result<Bound<'py, PyIterator>> {
        let found = self.stored_pairs(py, range, reverse, limit.map_or(usize::MAX, |Count(pairs)| pairs))?;
        let made = found.iter().map(|pair| {
            let Pair(key, value) = self.decode(py, pair)?;
            match yields {
                Yields::Keys => Ok(key),
                Yields::Values => Ok(value),
                Yields::Pairs => Ok(objects::pair(key, value)?),
            }
        });
        Ok(objects::list(py, gather(py, made)?)?.try_iter()?)
    }

    fn at_end<'py>(&self, py: Python<'py>, down: bool) -> Result<Option<Pair<'py>>> {
        self.end(py, down, false)
    }

    fn pop_end<'py>(&self, py: Python<'py>, down: bool) -> Result<Option<Pair<'py>>> {
        self.end(py, down, true)
    }

    fn end<'py>(&self, py: Python<'py>, down: bool, removes: bool) -> Result<Option<Pair<'py>>> {
        while let Some(stored) = self.stored_pairs(py, &Range::default(), down, 1)?.pop() {
            let pair = self.decode(py, &stored)?;
            if !removes {
                return Ok(Some(pair));
            }
            // By its bytes: a codec may encode the key otherwise.
            let (key, value) = (&stored.0, Some(&*stored.1));
            if self.change(py, 0, |part| part.compare_and_swap(key, value, None))? {
                return Ok(Some(pair));
            }
            py.check_signals()?;
        }
        Ok(None)
    }
}

#[pymethods]
impl TransactionTable {
    fn __traverse__(&self, visit: PyVisit<'_>) -> std::result::Result<(), PyTraverseError> {
        self.codecs.visit(&visit)
    }

    fn __getitem__<'py>(&self, key: &Bound<'py, PyAny>) -> Result<Bound<'py, PyAny>> {
        self.find(key)?.ok_or_else(|| error::missing(key))
    }

    /// The keys of a sorted table, all read at once.
    fn __iter__<'py>(&self, py: Python<'py>) -> Result<Bound<'py, PyIterator>> {
        self.scan_range(py, &Range::default(), Yields::Keys, false, None)
    }

    /// Whether the key is present.
    #[pyo3(signature = (key, /))]
    fn contains(&self, key: &Bound<'_, PyAny>) -> Result<bool> {
        Ok(self.read(key.py(), self.codecs.keys.encode_sought(key)?.as_ref())?.is_some())
    }

    /// The value of each key, None for those that are absent.
    #[pyo3(signature = (keys, /))]
    fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, pyo3::types::PyList>> {
        let py = keys.py();
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let keys = keys.encode_all(|key| self.codecs.keys.encode_sought(key))?;
        let found = self.in_turns(py, &keys, Encoded::len, |part, keys| {
            keys.iter().map(|key| part.select(key.as_ref())).collect()
        })?;
        let values = found.iter().map(|value| match value {
            Some(value) => self.codecs.values.decode(py, value),
            None => Ok(py.None().into_bound(py)),
        });
        Ok(objects::list(py, gather(py, values)?)?)
    }
}

not_copied!(TransactionTable, "a TransactionTable cannot be pickled or copied");
