//! Writes that are done all or not at all.

use std::io;
use std::sync::{Arc, PoisonError};

use twindex::dump::Operation;

use crate::compact;
use crate::core::{Core, Logged};
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::stripes::Stripes;
use crate::table::Table;

/// Writes that are collected and then done together: after a crash the file has all of them or none, and
/// where one fails the others are undone.
///
/// They are done in the order in which they were added. No other write to their keys, and to those that are
/// [expected](Self::expect), comes in between. Readers may see some done and others not yet: there are no snapshots.
///
/// ```
/// use twindex_durable::twindex::Index;
/// # let store = twindex_durable::Store::new();
/// let accounts = store.table("accounts", Index::Hash)?;
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
    steps: Vec<Step>,
    expected: Vec<Expected>,
}

/// What a key is to have, or `None` where it is to be absent.
#[derive(Debug)]
struct Expected {
    table: Table,
    key: Vec<u8>,
    value: Option<Vec<u8>>,
}

#[derive(Debug)]
struct Step {
    table: Table,
    verb: Verb,
    key: Vec<u8>,
    value: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum Verb {
    Insert,
    Replace,
    Upsert,
    Delete,
    /// By so much; the sum is the step's value then.
    Increment(i64),
}

/// What undoes a step: its number, and the key's value before it.
type Undo = (usize, Option<Vec<u8>>);

impl Batch {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, steps: Vec::new(), expected: Vec::new() }
    }

    /// The number of writes in it.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Adds the pair where the key is absent.
    pub fn insert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, Verb::Insert, key.as_ref(), value.as_ref())
    }

    /// Replaces the value where the key is present.
    pub fn replace(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, Verb::Replace, key.as_ref(), value.as_ref())
    }

    /// Gives the key this value, present or not.
    pub fn upsert(&mut self, table: &Table, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, Verb::Upsert, key.as_ref(), value.as_ref())
    }

    /// Removes the pair.
    pub fn delete(&mut self, table: &Table, key: impl AsRef<[u8]>) -> Result<()> {
        self.add(table, Verb::Delete, key.as_ref(), &[])
    }

    /// Adds `by` to the value, a decimal integer in ASCII. An absent key counts as 0. The batch fails where the value is
    /// no such number, or the sum is none of 64 bits.
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
        table.check_pair(&self.handle, key, value)?;
        self.steps.try_reserve(1).map_err(io::Error::from).map_err(twindex::Error::from)?;
        self.steps.push(Step { table: table.clone(), verb, key: copied(key)?, value: copied(value)? });
        Ok(())
    }

    /// Does all of them: whether each took effect.
    ///
    /// Where one fails, as at the memory limit, none is done. Fails with [`Error::Unexpected`] where an
    /// [expectation](Self::expect) does not hold.
    pub fn commit(mut self) -> Result<Vec<bool>> {
        let handle = Arc::clone(&self.handle);
        let core = &handle.0;
        let bytes = self.steps.iter().map(|step| step.key.len() + step.value.len()).sum();
        let logged = handle.before_write(bytes)?;
        let _not_while_saved =
            core.home.as_ref().map(|home| home.batches.read().unwrap_or_else(PoisonError::into_inner));
        let stripes = logged.map_or_else(|| core.gate.close(), |logged| &logged.stripes);
        let held = stripes.hold_many(self.keys(stripes)?);
        self.check_expected()?;
        let took = self.apply(core)?;
        let Some(Logged { log, .. }) = logged.filter(|_| took.contains(&true)) else { return Ok(took) };
        let written = log.append(|log| {
            for (step, _) in self.steps.iter().zip(&took).filter(|(_, took)| **took) {
                match step.verb {
                    Verb::Delete => log.push(step.table.id, Operation::Delete(&step.key)),
                    _ => log.push(step.table.id, Operation::Put(&step.key, &step.value)),
                }
            }
        })?;
        drop(held);
        if log.is_due() {
            compact::in_background(core);
        }
        log.acknowledge(written)?;
        Ok(took)
    }

    /// The locks of all keys that it writes or expects something of.
    fn keys(&self, stripes: &Stripes) -> twindex::Result<Vec<usize>> {
        let mut keys = room(self.steps.len() + self.expected.len())?;
        keys.extend(self.steps.iter().map(|step| stripes.of(step.table.id, &step.key)));
        keys.extend(self.expected.iter().map(|expected| stripes.of(expected.table.id, &expected.key)));
        Ok(keys)
    }

    fn check_expected(&self) -> Result<()> {
        if let Some(dropped) = self.expected.iter().find(|expected| expected.table.in_memory().is_dropped()) {
            let table = dropped.table.name().into();
            return Err(twindex::Error::TableDropped { table }.into());
        }
        let holds = |expected: &Expected| {
            let table = expected.table.in_memory();
            match &expected.value {
                Some(value) => table.select_with(&expected.key, |found| found == value).unwrap_or(false),
                None => !table.contains(&expected.key),
            }
        };
        let failed: Vec<_> = (0..).zip(&self.expected).filter(|(_, expected)| !holds(expected)).collect();
        let Some((_, Expected { table, key, .. })) = failed.first() else { return Ok(()) };
        let (table, key) = (table.name().into(), key[..key.len().min(32)].escape_ascii().to_string());
        Err(Error::Unexpected { failed: failed.into_iter().map(|(number, _)| number).collect(), table, key })
    }

    fn apply(&mut self, core: &Core) -> Result<Vec<bool>> {
        let mut done: Vec<Undo> = room(self.steps.len())?;
        let mut took = room(self.steps.len())?;
        for (number, step) in self.steps.iter_mut().enumerate() {
            let before = step.table.in_memory().select(&step.key);
            match step.apply() {
                Ok(yes) => {
                    if yes {
                        done.push((number, before));
                    }
                    took.push(yes);
                }
                Err(error) => {
                    self.undo(core, done);
                    return Err(error.into());
                }
            }
        }
        Ok(took)
    }

    /// Gives keys back what they had. They fit before, but on the way there the old values need room beside the
    /// new ones, so the limit is out of force meanwhile.
    fn undo(&self, core: &Core, done: Vec<Undo>) {
        let limit = core.engine.memory_limit();
        core.engine.set_memory_limit(None);
        for (number, before) in done.into_iter().rev() {
            let step = &self.steps[number];
            let table = step.table.in_memory();
            let undone = match before {
                Some(value) => table.upsert(&step.key, value),
                None => table.delete(&step.key),
            };
            // It fails only where the table was dropped, and then there is nothing to undo.
            drop(undone);
        }
        core.engine.set_memory_limit(limit);
    }
}

/// A copy, where there is memory for one.
fn copied(bytes: &[u8]) -> twindex::Result<Vec<u8>> {
    let mut copy = room(bytes.len())?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// An empty list with memory for so many.
fn room<T>(count: usize) -> twindex::Result<Vec<T>> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(io::Error::from)?;
    Ok(all)
}

impl Step {
    fn apply(&mut self) -> twindex::Result<bool> {
        let table = self.table.in_memory();
        match self.verb {
            Verb::Insert => table.insert(&self.key, &self.value),
            Verb::Replace => table.replace(&self.key, &self.value),
            Verb::Upsert => table.upsert(&self.key, &self.value),
            Verb::Delete => table.delete(&self.key),
            Verb::Increment(by) => {
                self.value = table.increment(&self.key, by)?.to_string().into();
                Ok(true)
            }
        }
    }
}
