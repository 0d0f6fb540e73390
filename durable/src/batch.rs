//! Writes that are done all or not at all.

use std::io;
use std::sync::{Arc, PoisonError};

use twindex::dump::Operation;

use crate::compact;
use crate::core::{Core, Logged};
use crate::error::Result;
use crate::handle::Handle;
use crate::table::Table;

/// Writes that are collected and then done together: after a crash the file has all of them or none, and
/// where one fails the others are undone.
///
/// They are done in the order in which they were added. No other writer comes in between, if the store has a
/// log; readers may see some done and others not yet.
///
/// ```
/// use twindex_durable::twindex::Index;
/// # let store = twindex_durable::Store::new();
/// let accounts = store.table("accounts", Index::Hash)?;
/// let mut batch = store.batch();
/// batch.upsert(&accounts, "ada", "90")?;
/// batch.upsert(&accounts, "bob", "10")?;
/// assert_eq!(batch.commit()?, [true, true]);
/// # Ok::<(), twindex_durable::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a batch does nothing until it is committed"]
pub struct Batch {
    handle: Arc<Handle>,
    steps: Vec<Step>,
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
}

/// What undoes a step: the key's value before it.
type Undo<'b> = (&'b Step, Option<Vec<u8>>);

impl Batch {
    pub(crate) fn new(handle: Arc<Handle>) -> Self {
        Self { handle, steps: Vec::new() }
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

    fn add(&mut self, table: &Table, verb: Verb, key: &[u8], value: &[u8]) -> Result<()> {
        table.check_pair(&self.handle, key, value)?;
        self.steps.try_reserve(1).map_err(io::Error::from).map_err(twindex::Error::from)?;
        self.steps.push(Step { table: table.clone(), verb, key: copied(key)?, value: copied(value)? });
        Ok(())
    }

    /// Does all of them: whether each took effect.
    ///
    /// Where one fails, as at the memory limit, none is done.
    pub fn commit(self) -> Result<Vec<bool>> {
        let core = &self.handle.0;
        let bytes = self.steps.iter().map(|step| step.key.len() + step.value.len()).sum();
        let logged = self.handle.before_write(bytes)?;
        let _not_while_saved =
            core.home.as_ref().map(|home| home.batches.read().unwrap_or_else(PoisonError::into_inner));
        let Some(Logged { log, stripes }) = logged else { return self.apply(core) };
        let of = |step: &Step| stripes.of(step.table.id, &step.key);
        let mut stripes_of_steps = room(self.steps.len())?;
        stripes_of_steps.extend(self.steps.iter().map(of));
        let held = stripes.hold_many(stripes_of_steps);
        let took = self.apply(core)?;
        if !took.contains(&true) {
            return Ok(took);
        }
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

    fn apply(&self, core: &Core) -> Result<Vec<bool>> {
        let mut done: Vec<Undo<'_>> = room(self.steps.len())?;
        let mut took = room(self.steps.len())?;
        for step in &self.steps {
            let before = step.table.in_memory().select(&step.key);
            match step.apply() {
                Ok(yes) => {
                    if yes {
                        done.push((step, before));
                    }
                    took.push(yes);
                }
                Err(error) => {
                    undo(core, done);
                    return Err(error.into());
                }
            }
        }
        Ok(took)
    }
}

/// Gives keys back what they had. They fit before, but on the way there the old values need room beside the
/// new ones, so the limit is out of force meanwhile.
fn undo(core: &Core, done: Vec<Undo<'_>>) {
    let limit = core.engine.memory_limit();
    core.engine.set_memory_limit(None);
    for (step, before) in done.into_iter().rev() {
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
    fn apply(&self) -> twindex::Result<bool> {
        let table = self.table.in_memory();
        match self.verb {
            Verb::Insert => table.insert(&self.key, &self.value),
            Verb::Replace => table.replace(&self.key, &self.value),
            Verb::Upsert => table.upsert(&self.key, &self.value),
            Verb::Delete => table.delete(&self.key),
        }
    }
}
