//! What users of a store hold, and how it is written to.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use twindex::TableOptions;
use twindex::dump::{Operation, Operations, TableEntry};

use crate::compact;
use crate::core::{Core, Logged, lock};
use crate::error::{Error, Result};
use crate::log::Log;
use crate::memory;

/// What users of a store hold: its file is let go when they all have let go of this, though a thread of ours
/// may still be at work.
#[derive(Debug)]
pub(crate) struct Handle(pub(crate) Arc<Core>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Handle {
    pub(crate) fn table(&self, name: &str, options: TableOptions<'_>) -> Result<(u32, twindex::Table)> {
        self.0.check_open()?;
        let mut ids = lock(&self.0.ids);
        if let Some(id) = ids.get(name) {
            return Ok((*id, self.0.engine.table_with(name, options)?));
        }
        if !options.creates() {
            return Err(twindex::Error::NoTable { name: name.into() }.into());
        }
        let id = self.0.next_id.load(Relaxed);
        let create = |operations: &mut Operations| {
            operations.push(id, Operation::Create(TableEntry::new(name, options)));
        };
        let (table, written) = self.change_whole(|| Ok(self.0.engine.table_with(name, options)?), create)?;
        ids.insert(name.into(), id);
        self.0.next_id.store(id + 1, Relaxed);
        self.acknowledge(written)?;
        Ok((id, table))
    }

    pub(crate) fn drop_table(&self, name: &str) -> Result<bool> {
        let mut ids = lock(&self.0.ids);
        let Some(&id) = ids.get(name) else { return Ok(false) };
        let (_, written) = self.change_whole(
            || Ok(self.0.engine.drop_table(name)),
            |operations| operations.push(id, Operation::Drop),
        )?;
        ids.remove(name);
        self.acknowledge(written)?;
        Ok(true)
    }

    /// A change of a whole table, with every writer kept out until it is in the log, and what to
    /// [`acknowledge`](Self::acknowledge).
    pub(crate) fn change_whole<T>(
        &self,
        apply: impl FnOnce() -> Result<T>,
        fill: impl FnOnce(&mut Operations),
    ) -> Result<(T, Option<u64>)> {
        let Some(Logged { log, stripes }) = self.before_write(0)? else {
            let _pass = self.0.gate.pass_with_all();
            return Ok((apply()?, None));
        };
        let _held = stripes.hold_all();
        let result = apply()?;
        Ok((result, Some(log.append(fill)?)))
    }

    /// Returns once what was written is as safe as the durability says.
    pub(crate) fn acknowledge(&self, written: Option<u64>) -> Result<()> {
        match (written, self.0.logged()) {
            (Some(written), Some(Logged { log, .. })) => log.acknowledge(written),
            _ => Ok(()),
        }
    }

    /// To be called before a change is made and a lock taken: waits until the log may grow by so many bytes, and checks
    /// that the change is allowed and that there is memory to log it.
    #[inline]
    pub(crate) fn before_write(&self, bytes: usize) -> Result<Option<&Logged>> {
        let logged = self.0.logged();
        if let Some(Logged { log, .. }) = logged {
            log.wait_for_room(bytes).or_else(|error| self.refused(log, error))?;
            memory::ensure(bytes)?;
        }
        self.0.check_writable()?;
        Ok(logged)
    }

    /// Tries to write the file anew, where that is what writers are refused for.
    #[cold]
    fn refused(&self, log: &Log, error: Error) -> Result<()> {
        self.0.check_writable()?;
        if log.is_due() {
            compact::when_due(&self.0);
        }
        Err(error)
    }
}
