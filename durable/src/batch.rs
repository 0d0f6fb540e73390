//! Writes that are done all or not at all.

use std::cell::Cell;
use std::sync::Arc;
use std::{io, mem};

use twindex::Write;
use twindex_format::{Operation, Operations};

use crate::core::{Core, Logged};
use crate::error::{Error, Result};
use crate::handle::{Handle, Writer};
use crate::log::with_operations;
use crate::memory::{copied, room};
use crate::store::Store;
use crate::stripes::Stripes;
use crate::table::Table;
use crate::transaction::Transaction;
use crate::verbs::write_verbs;

/// Writes that are collected and then done together: after a crash the file has all of them or none, and
/// if one fails the others are undone.
///
/// They are done in the order in which they were added. No other write to their keys, and to those that are
/// [expected](Self::expect), comes in between. Readers may see some done and others not yet; a [`Snapshot`](crate::Snapshot) has all of them or none.
///
/// ```
/// use twindex_durable::twindex::IndexKind;
/// # let store = twindex_durable::Store::new();
/// let accounts = store.table("accounts", IndexKind::Hash)?;
/// let mut batch = store.batch();
/// batch.upsert(&accounts, "ada", "90")?;
/// batch.upsert(&accounts, "bob", "10")?;
/// batch.expect(&accounts, "ada", None)?; // only if there is no such account yet
/// assert_eq!(batch.commit()?, [true, true]);
/// # Ok::<(), twindex_durable::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    handle: Arc<Handle>,
    /// The tables of its steps, each once.
    tables: Vec<Table>,
    steps: Vec<Step>,
    expected: Vec<Expected>,
    /// The keys and values of the steps, as the log has them if each step takes effect.
    operations: Operations,
}

thread_local! {
    /// Memory of the last batch that this thread let go of: to make it grow again takes as long as to write to it.
    static SPARE: Cell<(Vec<Step>, Operations)> = Cell::default();
}

/// How many digits a sum has at most.
const MOST_DIGITS: usize = 20;
/// More than this is not kept.
const SPARE_BYTES: usize = 1 << 16;
/// What a key is to have, or `None` if it is to be absent.
#[derive(Debug)]
struct Expected {
    table: Table,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

/// A write. Its key is so long and begins there in the operations, and its value follows.
#[derive(Debug)]
struct Step {
    table: u32,
    key: u16,
    value: u32,
    at: usize,
    verb: Verb,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    Write(Write),
    Delete,
    /// By so much; once it is done, the sum.
    Increment(i64),
}

impl Verb {
    /// Whether it gives the key the step's value.
    fn sets(self) -> bool {
        matches!(self, Self::Write(_))
    }
}

/// What the steps did, and what undoes it.
#[derive(Default)]
struct Done {
    /// Whether each of the first steps took effect.
    took: Vec<bool>,
    /// What keys had that were there.
    before: Before,
}

/// The values that keys had before steps.
#[derive(Default)]
struct Before {
    /// The step, where the value is in `bytes`, and how long it is.
    places: Vec<(usize, usize, usize)>,
    bytes: Vec<u8>,
}

impl Before {
    fn keep(&mut self, step: usize, value: &[u8]) -> twindex::Result<()> {
        self.bytes.try_reserve(value.len()).map_err(io::Error::from)?;
        self.places.try_reserve(1).map_err(io::Error::from)?;
        self.places.push((step, self.bytes.len(), value.len()));
        self.bytes.extend_from_slice(value);
        Ok(())
    }

    /// Once the places are in order.
    fn of(&self, step: usize) -> Option<&[u8]> {
        let found = self.places.binary_search_by_key(&step, |place| place.0).ok()?;
        let (_, at, len) = self.places[found];
        Some(&self.bytes[at..at + len])
    }
}

impl Store {
    /// A batch of writes that are done all or not at all.
    pub fn batch(&self) -> Batch {
        // A thread that is about to end has none any more.
        let (steps, operations) = SPARE.try_with(Cell::take).unwrap_or_default();
        let handle = Arc::clone(&self.handle);
        Batch { handle, tables: Vec::new(), steps, expected: Vec::new(), operations }
    }
}

impl Batch {
    /// The number of writes in it.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    write_verbs!(
        (&mut self) self,
        (table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> (),
        "."
    );

    /// Does the verb that `write` names.
    pub fn write(
        &mut self,
        write: Write,
        table: &Table,
        key: impl AsRef<[u8]>,
        value: impl AsRef<[u8]>,
    ) -> Result<()> {
        self.add(table, Verb::Write(write), key.as_ref(), value.as_ref())
    }

    /// Removes the pair.
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, Verb::Delete, key.as_ref(), &[])
    }

    /// Adds `by` to the value, a decimal integer in ASCII. An absent key counts as 0. The batch fails if the value is
    /// something else, or the sum has more than 64 bits.
    pub fn increment(&mut self, table: &Table, key: impl AsRef<[u8]>, by: i64) -> Result<()> {
        self.add(table, Verb::Increment(by), key.as_ref(), &[])
    }

    /// Has the batch done only if the key has this value when it is committed, or is absent for `None`. Values that the
    /// batch itself writes do not count, wherever this comes among its writes.
    pub fn expect(&mut self, table: &Table, key: impl AsRef<[u8]>, value: Option<&[u8]>) -> Result<()> {
        let key = key.as_ref();
        table.check_pair(&self.handle, key, value.unwrap_or_default())?;
        self.expected.try_reserve(1).map_err(io::Error::from).map_err(twindex::Error::from)?;
        let value = value.map(copied).transpose()?;
        self.expected.push(Expected { table: table.clone(), key: copied(key)?, value });
        Ok(())
    }

    fn add(&mut self, table: &Table, verb: Verb, key: &[u8], value: &[u8]) -> Result<()> {
        /// What an operation takes beside its key and value, at most.
        const HEAD: usize = 16;
        table.check_pair(&self.handle, key, value)?;
        let number = self.number_of(table)?;
        self.steps.try_reserve(1).map_err(io::Error::from).map_err(twindex::Error::from)?;
        self.operations.reserve(HEAD + key.len() + value.len())?;
        let operation = match verb {
            Verb::Delete => Operation::Delete(key),
            _ => Operation::Put(key, value),
        };
        self.operations.push(table.id, operation);
        let at = self.operations.payload().len() - key.len() - value.len();
        // Lengths that were checked.
        self.steps.push(Step { table: number, key: key.len() as u16, value: value.len() as u32, at, verb });
        Ok(())
    }

    /// The number of the table among those of the steps. Most steps are of the same table as the one before.
    fn number_of(&mut self, table: &Table) -> Result<u32> {
        let is_it = |own: &Table| own.is_same(table);
        if let Some(last) = self.steps.last()
            && is_it(&self.tables[last.table as usize])
        {
            return Ok(last.table);
        }
        if let Some(number) = self.tables.iter().position(is_it) {
            return Ok(number as u32);
        }
        self.tables.try_reserve(1).map_err(io::Error::from).map_err(twindex::Error::from)?;
        self.tables.push(table.clone());
        Ok(self.tables.len() as u32 - 1)
    }

    #[inline]
    fn key(&self, step: &Step) -> &[u8] {
        &self.operations.payload()[step.at..][..step.key.into()]
    }

    #[inline]
    fn value(&self, step: &Step) -> &[u8] {
        &self.operations.payload()[step.at + usize::from(step.key)..][..step.value as usize]
    }

    #[inline]
    fn table(&self, step: &Step) -> &Table {
        &self.tables[step.table as usize]
    }

    /// Does all writes. Returns whether each took effect.
    ///
    /// If one fails, as at the memory limit, none is done. Fails with [`Error::Unexpected`] if an
    /// [expectation](Self::expect) does not hold.
    ///
    /// If the system has no memory even to undo it, a part stays in memory, and the error says so. Then the log ends with
    /// [`Error::LogFailed`], and the file has nothing of the batch.
    pub fn commit(mut self) -> Result<Vec<bool>> {
        let handle = Arc::clone(&self.handle);
        let core = &handle.0;
        if core.engine.memory_limit().is_some() {
            return self.commit_within_limit();
        }
        let writer = handle.writer(self.operations.payload().len() + MOST_DIGITS * self.steps.len())?;
        let held = match core.logged() {
            Some(Logged { stripes, .. }) => Some(stripes.hold_many(self.stripes(stripes)?)),
            None => None,
        };
        let apply = || {
            core.check_writable()?;
            self.check_expected(|expected| {
                let table = expected.table.in_memory();
                Ok(match &expected.value {
                    Some(value) => table.select_with(&expected.key, |found| found == value).unwrap_or(false),
                    None => !table.contains(&expected.key),
                })
            })?;
            self.apply_and_log(core, &writer)
        };
        // Snapshots and transactions see all of it or nothing.
        let (took, written) =
            if held.is_some() { core.engine.atomically(apply) } else { core.engine.alone(apply)? }?;
        drop((held, writer));
        handle.acknowledge(written)?;
        Ok(took)
    }

    /// To undo writes takes memory. So in a store with a limit the batch is a transaction, whose commit takes all that it needs
    /// before it writes.
    fn commit_within_limit(&self) -> Result<Vec<bool>> {
        let store = Store { handle: Arc::clone(&self.handle) };
        loop {
            let mut transaction = store.begin()?;
            let took = self.write_to(&mut transaction);
            if !transaction.has_conflict() {
                let took = took?;
                match transaction.commit() {
                    Err(Error::Engine(twindex::Error::Conflict { .. })) => {}
                    committed => return committed.map(|()| took),
                }
            }
            // The writer that came first is done.
            std::thread::yield_now();
        }
    }

    fn write_to(&self, transaction: &mut Transaction) -> Result<Vec<bool>> {
        self.check_expected(|expected| {
            let found = transaction.select(&expected.table, &expected.key)?;
            Ok(found.as_deref() == expected.value.as_deref())
        })?;
        let mut took = room(self.steps.len())?;
        for step in &self.steps {
            let (table, key) = (self.table(step), self.key(step));
            took.push(match step.verb {
                Verb::Write(write) => transaction.write(write, table, key, self.value(step))?,
                Verb::Delete => transaction.delete(table, key)?,
                Verb::Increment(by) => transaction.increment(table, key, by).map(|_| true)?,
            });
        }
        Ok(took)
    }

    /// Does all of them in memory and appends what took effect. If one fails, the others are undone.
    fn apply_and_log(&mut self, core: &Core, writer: &Writer<'_>) -> Result<(Vec<bool>, Option<u64>)> {
        // None begins before the writers' locks are let go of.
        let is_compacted = core.home.as_ref().is_some_and(|home| home.compaction.is_running());
        let mut done = Done::default();
        if let Err(error) = self.apply(&mut done) {
            return Err(self.give_up(core, writer, done, error, is_compacted));
        }
        let took = done.took;
        if !took.contains(&true) {
            return Ok((took, None));
        }
        let is_ready = |(step, took): (&Step, &bool)| *took && !matches!(step.verb, Verb::Increment(_));
        let written = if self.steps.iter().zip(&took).all(is_ready) {
            writer.append_made(&mut self.operations)
        } else {
            writer.append(|log| self.log_what_took(log, &took))
        };
        Ok((took, written))
    }

    fn log_what_took(&self, log: &mut Operations, took: &[bool]) {
        for (step, _) in self.steps.iter().zip(took).filter(|(_, took)| **took) {
            let (id, key) = (self.table(step).id, self.key(step));
            match step.verb {
                Verb::Delete => log.push(id, Operation::Delete(key)),
                Verb::Increment(sum) => log.push(id, Operation::Put(key, sum.to_string().as_bytes())),
                Verb::Write(_) => log.push(id, Operation::Put(key, self.value(step))),
            }
        }
    }

    /// The locks of all keys that it writes or expects something of.
    fn stripes(&self, stripes: &Stripes) -> twindex::Result<Vec<usize>> {
        let mut all = room(self.steps.len() + self.expected.len())?;
        all.extend(self.steps.iter().map(|step| stripes.of(self.table(step).id, self.key(step))));
        all.extend(self.expected.iter().map(|expected| stripes.of(expected.table.id, &expected.key)));
        Ok(all)
    }

    fn check_expected(&self, mut holds: impl FnMut(&Expected) -> Result<bool>) -> Result<()> {
        if let Some(dropped) = self.expected.iter().find(|expected| expected.table.in_memory().is_dropped()) {
            let table = dropped.table.name().into();
            return Err(twindex::Error::TableDropped { table }.into());
        }
        let mut failed = Vec::new();
        for (number, expected) in self.expected.iter().enumerate() {
            if !holds(expected)? {
                failed.push(number);
            }
        }
        let Some(Expected { table, key, .. }) = failed.first().map(|&first| &self.expected[first]) else {
            return Ok(());
        };
        let (table, key) = (table.name().into(), key[..key.len().min(32)].escape_ascii().to_string());
        Err(Error::Unexpected { failed, table, key })
    }

    /// Does the steps in memory. If one fails, `done` has those before it.
    fn apply(&mut self, done: &mut Done) -> twindex::Result<()> {
        done.took = room(self.steps.len())?;
        while done.took.len() < self.steps.len() {
            let at = done.took.len();
            if self.steps[at].verb.sets() { self.apply_run(at, done)? } else { self.apply_group(at, done)? }
        }
        Ok(())
    }

    /// Does the steps from `from` on that set values in one table.
    fn apply_run(&self, from: usize, done: &mut Done) -> twindex::Result<()> {
        let steps = &self.steps[from..];
        let is_of_run = |step: &&Step| step.table == steps[0].table && step.verb.sets();
        let run = steps.iter().take_while(is_of_run);
        let mut pairs = room(run.clone().count())?;
        pairs.extend(run.map(|step| (self.key(step), self.value(step))));
        let Done { took, before } = done;
        let mut kept = Ok(());
        let wants = |at: usize, old: Option<&[u8]>| {
            let takes_effect =
                matches!(steps[at].verb, Verb::Write(write) if write.takes_effect(old.is_some()));
            if takes_effect
                && kept.is_ok()
                && let Some(old) = old
            {
                kept = before.keep(from + at, old);
            }
            takes_effect && kept.is_ok()
        };
        self.table(&steps[0]).in_memory().write_each(&pairs, took, wants)?;
        kept
    }

    /// Does the next few of the steps from `from` on that delete or increment in one table.
    fn apply_group(&mut self, from: usize, done: &mut Done) -> twindex::Result<()> {
        /// So many cache misses overlap.
        const GROUP: usize = 16;
        let Self { tables, steps, operations, .. } = self;
        let steps = &mut steps[from..];
        let first = steps[0].table;
        let is_of_group = |step: &&Step| step.table == first && !step.verb.sets();
        let count = steps.iter().take(GROUP).take_while(is_of_group).count();
        let mut keys = [&[][..]; GROUP];
        for (key, step) in keys.iter_mut().zip(&steps[..count]) {
            *key = &operations.payload()[step.at..][..step.key.into()];
        }
        let table = tables[first as usize].in_memory();
        table.prefetch(&keys[..count]);
        for (step, key) in steps[..count].iter_mut().zip(keys) {
            let number = done.took.len();
            table.select_with(key, |old| done.before.keep(number, old)).transpose()?;
            done.took.push(match &mut step.verb {
                Verb::Increment(number) => {
                    *number = table.increment(key, *number)?;
                    true
                }
                _ => table.delete(key)?,
            });
        }
        Ok(())
    }

    /// Undoes what was done before a step failed; what the caller is told.
    fn give_up(
        &self,
        core: &Core,
        writer: &Writer<'_>,
        mut done: Done,
        error: twindex::Error,
        is_compacted: bool,
    ) -> Error {
        done.before.places.sort_unstable();
        let undone = self.put_back(core, &done);
        if undone.is_err() {
            let is_of_batch = |id| self.tables.iter().any(|table| table.id == id);
            writer.teller.lose(is_of_batch, done.took.len() as u64);
        }
        match (undone, core.logged()) {
            // A compaction of live tables may have read what was undone, so the new file's log is to tell what is true.
            (Ok(()), Some(Logged { log, .. })) if is_compacted && done.took.contains(&true) => {
                with_operations(|record| self.log_what_was(record, &done), |record| log.append(record));
                error.into()
            }
            (Ok(()), _) => error.into(),
            (Err(undoing), None) => twindex::Error::from(not_undone(&error, &undoing)).into(),
            // No later write may reach the file, which has nothing of the batch.
            (Err(undoing), Some(Logged { log, .. })) => log.fail(&not_undone(&error, &undoing)),
        }
    }

    /// Goes back through the steps. It ends with the same pairs however often it is done.
    fn put_back(&self, core: &Core, done: &Done) -> twindex::Result<()> {
        let mut all = Ok(());
        for (number, step) in self.done(done).rev() {
            let (table, key) = (self.table(step).in_memory(), self.key(step));
            let undone = match done.before.of(number) {
                Some(value) if table.select_with(key, |now| now == value) == Some(true) => Ok(()),
                // A limit that was set meanwhile does not hold for what was there before.
                Some(value) => core.engine.within(usize::MAX, || table.upsert(key, value).map(drop)),
                None => table.delete(key).map(drop),
            };
            match undone {
                // There is nothing to undo in a table that was dropped.
                Ok(()) | Err(twindex::Error::TableDropped { .. }) => {}
                // The others are undone all the same.
                Err(error) => all = all.and(Err(error)),
            }
        }
        all
    }

    /// The same for whoever reads the log.
    fn log_what_was(&self, log: &mut Operations, done: &Done) {
        for (number, step) in self.done(done).rev() {
            let (id, key) = (self.table(step).id, self.key(step));
            let old = done.before.of(number);
            log.push(id, old.map_or(Operation::Delete(key), |old| Operation::Put(key, old)));
        }
    }

    /// The steps that took effect, with their numbers.
    fn done<'b>(&'b self, done: &'b Done) -> impl DoubleEndedIterator<Item = (usize, &'b Step)> {
        self.steps[..done.took.len()].iter().enumerate().filter(|(at, _)| done.took[*at])
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let (mut steps, mut operations) = (mem::take(&mut self.steps), mem::take(&mut self.operations));
        steps.clear();
        steps.shrink_to(SPARE_BYTES / size_of::<Step>());
        operations.clear(SPARE_BYTES);
        let _ = SPARE.try_with(|spare| spare.set((steps, operations)));
    }
}

fn not_undone(error: &twindex::Error, undoing: &dyn std::fmt::Display) -> io::Error {
    let what = format!(
        "a batch failed and could not be undone, so a part of it stays in memory: {error}; {undoing}"
    );
    io::Error::new(io::ErrorKind::OutOfMemory, what)
}
