//! Reads and writes that take effect together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::{mem, thread};

use twindex::Write;
use twindex_format::{Operation, has_expired};

use crate::error::{Error, Result};
use crate::expiring::due::Removal;
use crate::handle::Handle;
use crate::store::Store;
use crate::table::Table;
use crate::verbs::write_verbs;
use crate::watch::Teller;

/// A transaction is run so often before it fails with [`twindex::Error::Conflict`].
const RUNS: usize = 1000;
/// What an operation takes beside its key and value, at most.
const HEAD: usize = 16;

/// Reads and writes that take effect together, as if nothing had come in between, or not at all, also after a crash.
///
/// Reads see what the store held at one moment, and the transaction's own writes. See [`Store::transaction`].
#[derive(Debug)]
pub struct Transaction {
    begun: Begun,
    engine: twindex::Transaction,
    /// The tables that it uses, each once.
    tables: Vec<Table>,
    /// It read a range, whose keys are not known.
    has_ranges: bool,
    /// What it wrote into tables whose pairs expire, by table and key.
    pub(crate) lent: HashMap<(u32, Vec<u8>), Lent>,
    /// By which pairs have expired for it: the time of its first use of a table whose pairs expire.
    pub(crate) moment: Option<u64>,
    /// The earliest deadline of a pair of the store that it gave a new one because the pair was there.
    pub(crate) renewed: u64,
}

/// A pair of a table whose pairs expire, as the transaction wrote it.
#[derive(Debug)]
pub(crate) struct Lent {
    pub(crate) removal: Arc<Removal>,
    pub(crate) deadline: u64,
    /// The deadline is the transaction's own, not that of the pair that was there.
    pub(crate) is_own: bool,
}

thread_local! {
    /// The stores of the transactions that this thread runs.
    static RUNNING: RefCell<Vec<*const Handle>> = const { RefCell::new(Vec::new()) };
}

/// That this thread runs a transaction.
struct Running;

impl Running {
    fn begin(handle: &Arc<Handle>) -> Result<Option<Self>> {
        let own = Arc::as_ptr(handle);
        let begun = RUNNING.try_with(|running| {
            let running = &mut *running.borrow_mut();
            (!running.contains(&own)).then(|| running.push(own))
        });
        match begun {
            Ok(None) => Err(twindex::Error::InWrite.into()),
            Ok(Some(())) => Ok(Some(Self)),
            // A thread that is about to end has no list any more.
            Err(_) => Ok(None),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = RUNNING.try_with(|running| running.borrow_mut().pop());
    }
}

/// A transaction of a store, in one of the counts.
#[derive(Debug)]
struct Begun(Arc<Handle>, usize);

impl Begun {
    fn new(handle: &Arc<Handle>) -> Self {
        Self(Arc::clone(handle), handle.0.transactions.begin())
    }
}

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.0.transactions.end(self.1);
    }
}

impl Store {
    /// Runs `run` and commits what it wrote, as one record of the log. If something that it read was changed meanwhile, it is run
    /// again, up to a thousand times. Then this fails with [`Conflict`](twindex::Error::Conflict).
    ///
    /// An error of `run` ends the transaction, and nothing is written. No lock is held while it runs. Another transaction of the
    /// same store within it fails with [`InWrite`](twindex::Error::InWrite).
    ///
    /// ```
    /// # use twindex_durable::{Error, Store, twindex::IndexKind};
    /// # let store = Store::new();
    /// let accounts = store.table("accounts", IndexKind::Hash)?;
    /// accounts.insert("ada", "100")?;
    /// store.transaction(|tx| {
    ///     tx.increment(&accounts, "ada", -30)?;
    ///     tx.increment(&accounts, "bob", 30)?;
    ///     Ok::<_, Error>(())
    /// })?;
    /// assert_eq!(accounts.select("ada")?.as_deref(), Some(b"70".as_slice()));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn transaction<T, E: From<Error>>(
        &self,
        mut run: impl FnMut(&mut Transaction) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let _running = Running::begin(&self.handle)?;
        for runs in 0..RUNS {
            let mut transaction = self.begin()?;
            match run(&mut transaction) {
                _ if transaction.engine.has_conflict() => {}
                Err(error) => return Err(error),
                Ok(done) => match transaction.commit() {
                    Err(Error::Engine(twindex::Error::Conflict { .. })) => {}
                    Err(error) => return Err(error.into()),
                    Ok(()) => return Ok(done),
                },
            }
            (0..runs.min(64)).for_each(|_| thread::yield_now());
        }
        Err(Error::Engine(twindex::Error::Conflict { runs: RUNS }).into())
    }

    /// Begins a transaction that the caller commits, and begins again after [`Conflict`](twindex::Error::Conflict). It may live
    /// long, and move to another thread. To give it up, drop it.
    pub fn begin(&self) -> Result<Transaction> {
        self.handle.0.check_open()?;
        Ok(Transaction {
            begun: Begun::new(&self.handle),
            engine: self.in_memory().begin(),
            tables: Vec::new(),
            has_ranges: false,
            lent: HashMap::new(),
            moment: None,
            renewed: u64::MAX,
        })
    }
}

impl Transaction {
    /// The table called `name`. Handles that came from the store itself serve as well.
    pub fn table(&self, name: &str) -> Result<Table> {
        let store = Store { handle: Arc::clone(&self.begun.0) };
        store.find_table(name)?.ok_or_else(|| twindex::Error::NoTable { name: name.into() }.into())
    }

    /// For bindings: whether it has met a conflict, and so can only be begun again.
    #[doc(hidden)]
    pub fn has_conflict(&self) -> bool {
        self.engine.has_conflict()
    }

    /// Checks the arguments, and remembers the table, whose id the log needs.
    fn touch(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.begun.0.0.check_open()?;
        table.check_pair(&self.begun.0, key, value)?;
        if !self.tables.iter().any(|own| own.is_same(table)) {
            self.tables.push(table.clone());
        }
        Ok(())
    }

    /// A copy of the key's value, or `None` if the key is absent.
    pub fn select(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        self.touch(table, &[], &[])?;
        Ok(self.begun.0.0.between_refreshes(|_| self.engine.select(table.in_memory(), key))?)
    }

    /// Whether the key is present.
    pub fn contains(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        self.touch(table, &[], &[])?;
        Ok(self.begun.0.0.between_refreshes(|_| self.engine.contains(table.in_memory(), key))?)
    }

    /// Up to `limit` pairs of a sorted table with keys in `range`, the first ones, or the last ones from the end if `down`.
    pub fn range(
        &mut self,
        table: &Table,
        range: impl twindex::KeyRange,
        limit: usize,
        down: bool,
    ) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        self.touch(table, &[], &[])?;
        self.has_ranges = true;
        Ok(self.begun.0.0.between_refreshes(|_| self.engine.range(table.in_memory(), range, limit, down))?)
    }

    /// Does the verb that `write` names. Returns whether it takes effect.
    pub fn write(
        &mut self,
        write: Write,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<bool> {
        let (key, value) = (key.as_ref(), value.as_ref());
        self.touch(table, key, value)?;
        Ok(self.engine.write(write, table.in_memory(), key, value)?)
    }

    write_verbs!(
        (&mut self) self,
        (table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> bool,
        "; whether it was."
    );

    /// Removes the pair. Returns whether the key was present.
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<bool> {
        let key = key.as_ref();
        self.touch(table, key, &[])?;
        Ok(self.engine.delete(table.in_memory(), key)?)
    }

    /// Adds `by` to the value, decimal text, and returns the sum. An absent key counts as 0.
    pub fn increment(&mut self, table: &Table, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        let key = key.as_ref();
        self.touch(table, key, &[])?;
        Ok(self.engine.increment(table.in_memory(), key, by)?)
    }

    /// Writes all that the transaction wrote, if nothing that it read has changed. Otherwise it fails with
    /// [`Conflict`](twindex::Error::Conflict). After any error but [`Error::LogFailed`] nothing is written. When it returns, the
    /// writes are as safe as the store's durability says.
    pub fn commit(mut self) -> Result<()> {
        let lent = mem::take(&mut self.lent);
        let done = self.commit_rest();
        for Lent { removal, deadline, .. } in lent.into_values() {
            removal.due.note(deadline);
        }
        done
    }

    fn commit_rest(self) -> Result<()> {
        let Self { begun, engine, tables, has_ranges, renewed, .. } = self;
        let handle = &*begun.0;
        // Right before the writes, since the commit may wait for the disk until then.
        let check = || {
            if renewed != u64::MAX && has_expired(renewed, handle.0.expiry.clock().now()) {
                // To others the pair was absent already. It must not come back.
                return Err(twindex::Error::Conflict { runs: 1 }.into());
            }
            handle.0.check_writable()
        };
        let sizes = engine.writes().map(|(_, key, value)| HEAD + key.len() + value.map_or(0, <[u8]>::len));
        let (count, bytes) = sizes.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size));
        handle.0.check_open()?;
        if bytes == 0 {
            return Ok(engine.commit()?);
        }
        let Some(writer) = handle.before_write(bytes)? else {
            engine.commit_with(true, check, |_| ())?;
            if handle.0.watches.any() {
                // They began meanwhile, and the engine has let go of the writes.
                Teller::new(&handle.0.watches).lose(|id| tables.iter().any(|own| own.id == id), count);
            }
            return Ok(());
        };
        if handle.0.engine.is_writing() {
            return Err(twindex::Error::InWrite.into());
        }
        let id_of = |table: &twindex::Table| {
            tables.iter().find(|own| own.in_memory().is_same(table)).map_or(u32::MAX, |own| own.id)
        };
        // Other writes to what it read or writes are in the log before it, or after it, as they are in memory.
        let stripes = handle.0.stripes();
        let used = engine.used().map(|(table, key)| stripes.of(id_of(table), key));
        let held = (!has_ranges).then(|| stripes.hold_many(used.collect()));
        let append = |transaction: &twindex::Transaction| {
            writer.append(|record| {
                for (table, key, value) in transaction.writes() {
                    let operation = value.map_or(Operation::Delete(key), |value| Operation::Put(key, value));
                    record.push(id_of(table), operation);
                }
            })
        };
        let committed = engine.commit_with(held.is_some(), check, append);
        drop((held, writer));
        let written = committed?.flatten();
        handle.acknowledge(written)
    }
}
