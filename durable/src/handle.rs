//! What users of a store hold, and how it is written to.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use twindex::TableOptions;
use twindex_format::{Operation, Operations, TableEntry};

use crate::compact;
use crate::core::{Core, Logged};
use crate::error::{Error, Result};
use crate::log::{Log, Place, with_operations};
use crate::memory;
use crate::mutex::lock;
use crate::watch::Teller;

/// What users of a store hold: its file is let go when they all have let go of this, though a thread of ours
/// may still be at work.
#[derive(Debug)]
pub(crate) struct Handle(pub(crate) Arc<Core>);

impl Drop for Handle {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

/// A writer's right to append to the log, if there is one, and its record's place there. It goes after the locks of the write.
pub(crate) struct Writer<'c> {
    logged: Option<(&'c Logged, Place<'c>)>,
    pub(crate) teller: Teller<'c>,
}

impl<'c> Writer<'c> {
    /// As [`Handle::writer`], for what does not wait until the log may grow.
    pub(crate) fn at_once(core: &'c Core, bytes: usize) -> Result<Self> {
        memory::ensure(bytes)?;
        let place = |logged: &'c Logged| Ok::<_, Error>((logged, logged.log.place_now(bytes)?));
        let logged = core.logged().map(place).transpose()?;
        Ok(Self { logged, teller: Teller::new(&core.watches) })
    }

    /// Appends the operations that `fill` makes as one record to the log, and tells the watches. Returns what to
    /// [`acknowledge`](Handle::acknowledge) then. To be called while the keys' stripes are held, or with other writers kept out.
    #[inline]
    pub(crate) fn append(&self, fill: impl FnOnce(&mut Operations)) -> Option<u64> {
        if self.logged.is_none() && !self.teller.is_heard() {
            return None;
        }
        with_operations(fill, |operations| self.append_made(operations))
    }

    /// Appends these operations as one record. Otherwise like `append`.
    #[inline]
    pub(crate) fn append_made(&self, operations: &mut Operations) -> Option<u64> {
        let written = self.logged.as_ref().map(|(logged, _)| logged.log.append(operations));
        self.teller.tell(operations.payload());
        written
    }
}

impl Handle {
    pub(crate) fn table(&self, name: &str, options: TableOptions<'_>) -> Result<(u32, twindex::Table)> {
        self.0.check_open()?;
        let find = |ids: &BTreeMap<String, u32>| {
            let id = *ids.get(name)?;
            Some(self.0.engine.table_with(name, options).map(|table| (id, table)))
        };
        if let Some(found) = find(&lock(&self.0.ids)) {
            return Ok(found?);
        }
        if !options.creates() {
            return Err(twindex::Error::NoTable { name: name.into() }.into());
        }
        // Nothing is waited for once the ids are held: a compaction that writers wait for takes them too.
        let writer = self.writer(0)?;
        let mut ids = lock(&self.0.ids);
        if let Some(found) = find(&ids) {
            return Ok(found?);
        }
        let id = self.0.next_id.load(Relaxed);
        let create = |operations: &mut Operations| {
            operations.push(id, Operation::Create(TableEntry::new(name, options)));
        };
        let apply = || Ok(self.0.engine.table_with(name, options)?);
        let (table, written) = self.change_whole(&writer, apply, create)?;
        ids.insert(name.into(), id);
        self.0.next_id.store(id + 1, Relaxed);
        drop(ids);
        self.acknowledge(written)?;
        Ok((id, table))
    }

    pub(crate) fn drop_table(&self, name: &str) -> Result<bool> {
        if !lock(&self.0.ids).contains_key(name) {
            return Ok(false);
        }
        let writer = self.writer(0)?;
        let mut ids = lock(&self.0.ids);
        let Some(&id) = ids.get(name) else { return Ok(false) };
        let table = self.0.engine.find_table(name);
        let (_, written) = self.change_whole(
            &writer,
            || Ok(self.0.engine.drop_table(name)),
            |operations| operations.push(id, Operation::Drop),
        )?;
        ids.remove(name);
        drop(ids);
        self.0.expiry.forget(id);
        table.map(|table| table.reclaim());
        self.acknowledge(written)?;
        Ok(true)
    }

    /// A change of a whole table, with every writer kept out until it is in the log and the watches know, and what to
    /// [`acknowledge`](Self::acknowledge).
    pub(crate) fn change_whole<T>(
        &self,
        writer: &Writer<'_>,
        apply: impl FnOnce() -> Result<T>,
        fill: impl FnOnce(&mut Operations),
    ) -> Result<(T, Option<u64>)> {
        self.0.engine.alone(|| {
            self.0.check_writable()?;
            let result = apply()?;
            let written = writer.append(fill);
            if let Some((Logged { log, .. }, _)) = &writer.logged {
                log.forget_marks();
            }
            Ok((result, written))
        })?
    }

    /// Returns once what was written is as safe as the durability says. It may compact the file, so the caller holds no lock.
    #[inline]
    pub(crate) fn acknowledge(&self, written: Option<u64>) -> Result<()> {
        let (Some(written), Some(Logged { log, .. })) = (written, self.0.logged()) else { return Ok(()) };
        if log.is_due() {
            compact::when_due(&self.0);
        }
        log.acknowledge(written)
    }

    /// To be called before a lock is taken: waits until the log may grow by so many bytes, reserves their place, and
    /// checks that there is memory to log them. Without a log, checks that the change is allowed; with one, the writer
    /// does that by [`check_writable`](Core::check_writable) once it counts as one.
    #[inline]
    pub(crate) fn writer(&self, bytes: usize) -> Result<Writer<'_>> {
        let teller = Teller::new(&self.0.watches);
        let Some(logged) = self.0.logged() else {
            self.0.check_writable()?;
            return Ok(Writer { logged: None, teller });
        };
        let place = logged.log.place_for(bytes).map_err(|error| self.refused(&logged.log, error))?;
        memory::ensure(bytes)?;
        Ok(Writer { logged: Some((logged, place)), teller })
    }

    /// The same, or `None` if neither a log nor a watch is to hear of it. If there is a watch by the end, it is told
    /// [late](crate::table::Table::tell_late).
    #[inline]
    pub(crate) fn before_write(&self, bytes: usize) -> Result<Option<Writer<'_>>> {
        if self.0.logged().is_none() && !self.0.watches.any() {
            self.0.check_writable()?;
            return Ok(None);
        }
        self.writer(bytes).map(Some)
    }

    /// Tries to write the file anew, where that is what writers are refused for.
    #[cold]
    fn refused(&self, log: &Log, error: Error) -> Error {
        if let Err(error) = self.0.check_writable() {
            return error;
        }
        if log.is_due() {
            compact::when_due(&self.0);
        }
        error
    }
}
