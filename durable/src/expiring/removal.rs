//! The removal of expired pairs, in bounded steps.

use std::cell::Cell;
use std::sync::TryLockError;
use std::time::{Duration, Instant};

use twindex::Change;
use twindex_format::{Operation, Pass, has_expired, split_deadline};

use super::due::{Expiry, Removal};
use crate::core::{Core, Logged};
use crate::error::Result;
use crate::handle::Writer;
use crate::mutex::lock;

/// One of so many writes takes a step, which passes three or four pairs for each write. So one in eight pairs of a busy table is
/// expired and not yet removed.
const WRITES_PER_STEP: u64 = 128;
/// A step of a writer removes at most so many.
const MOST_OF_WRITER: usize = WRITES_PER_STEP as usize;
/// The thread that syncs the log removes for so long at a time, twice a second.
const BUSY: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Step {
    removed: usize,
    is_last: bool,
    /// What to acknowledge, if it is to be known that the pairs are removed from the file.
    written: Option<u64>,
}

impl Expiry {
    /// Removes what has expired, for a moment. It does not wait for anything, and what cannot be removed stays.
    pub(crate) fn remove_for_a_moment(&self, core: &Core) {
        let tables: Vec<_> = lock(&self.tables).values().cloned().collect();
        let begun = Instant::now();
        for removal in tables {
            let may_write = || core.logged().is_some_and(|logged| !logged.log.is_ahead());
            while removal.due.is_due(self.clock().now()) && may_write() {
                match removal.try_step(core, MOST_OF_WRITER) {
                    Some(Ok(Step { is_last: false, .. })) if begun.elapsed() < BUSY => {}
                    _ => break,
                }
            }
        }
    }
}

thread_local! {
    static CHANCE: Cell<u64> = const { Cell::new(1) };
}

/// Whether a step is due after so many writes of this thread. By chance, since threads that counted their writes together would
/// wait for each other's processors.
fn is_turn(writes: usize) -> bool {
    let next = CHANCE.try_with(|chance| {
        // The multiplier and increment of Knuth's MMIX; the highest bits are the best ones.
        chance.set(
            chance.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407),
        );
        chance.get()
    });
    next.is_ok_and(|next| next / (u64::MAX / WRITES_PER_STEP) < writes as u64)
}

impl Removal {
    /// To be called after so many writes, of pairs with this deadline.
    #[inline]
    pub(crate) fn written(&self, core: &Core, deadline: u64, writes: usize) {
        self.due.note(deadline);
        if is_turn(writes) {
            self.step_of_writer(core);
        }
    }

    #[cold]
    fn step_of_writer(&self, core: &Core) {
        if self.due.is_due(core.expiry.clock().now()) {
            // The write has been done. What could not be removed is still hidden.
            let _ = self.try_step(core, MOST_OF_WRITER);
        }
    }

    /// Removes up to so many expired pairs. If it returns fewer, there were no more.
    pub(crate) fn remove(&self, core: &Core, most: usize) -> Result<usize> {
        core.check_writable()?;
        let (mut removed, mut written, mut pass) = (0, None, lock(&self.pass));
        // It may begin amid a pass. The next one then goes through all.
        let mut passes = if pass.is_new() { 1 } else { 2 };
        while passes > 0 && removed < most && self.due.is_due(core.expiry.clock().now()) {
            let step = self.step(core, &mut pass, most - removed)?;
            removed += step.removed;
            passes -= u32::from(step.is_last);
            written = step.written.or(written);
        }
        drop(pass);
        if let (Some(written), Some(Logged { log, .. })) = (written, core.logged()) {
            log.acknowledge(written)?;
        }
        Ok(removed)
    }

    fn try_step(&self, core: &Core, most: usize) -> Option<Result<Step>> {
        match self.pass.try_lock() {
            Ok(mut pass) => Some(self.step(core, &mut pass, most)),
            Err(TryLockError::Poisoned(poisoned)) => Some(self.step(core, &mut poisoned.into_inner(), most)),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Passes some pairs and removes up to so many.
    fn step(&self, core: &Core, pass: &mut Pass, most: usize) -> Result<Step> {
        let now = core.expiry.clock().now();
        let mut expired = Vec::new();
        let behind = pass.step(&self.due, &self.table, now, &mut |key| expired.push(key.to_vec()))?;
        let mut step = Step::default();
        for key in expired.iter().take(most) {
            let (is_removed, written) = self.remove_if_expired(core, key, now)?;
            step.removed += usize::from(is_removed);
            step.written = written.or(step.written);
        }
        step.is_last = expired.len() <= most && pass.go_on(behind, &self.due);
        Ok(step)
    }

    /// Removes a pair if it has expired by then: whether it had, and what to acknowledge. It waits for nothing.
    fn remove_if_expired(&self, core: &Core, key: &[u8], now: u64) -> Result<(bool, Option<u64>)> {
        let expired = |old: Option<&[u8]>| {
            let is_past = old.is_some_and(|stored| has_expired(split_deadline(stored).0, now));
            if is_past { Change::Delete } else { Change::Keep }
        };
        let (writer, stripes) = (Writer::at_once(core, key.len())?, core.stripes());
        let _held = stripes.hold(stripes.of(self.id, key));
        let _writing = core.engine.writing();
        core.check_writable()?;
        let removed = self.table.alter(key, expired)?;
        let written =
            if removed { writer.append(|log| log.push(self.id, Operation::Delete(key))) } else { None };
        Ok((removed, written))
    }
}
