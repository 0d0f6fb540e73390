//! Compaction: a dump beside the file, the changes logged meanwhile, and a rename.
//!
//! The dump is a snapshot, and all that changed since is in the log. If the memory limit leaves no room for what a snapshot keeps,
//! the tables are dumped while writers go on: doing again what is in the log makes the two one. Behind the pairs the dump keeps the last changes of the old log, so
//! that feeds and followers continue in the new file.
//!
//! Writers may be quicker than the disk. So they may append [`BURST`] bytes, and a share of what the new file has
//! on disk; beyond that they wait until it has more, which is put on disk in chunks, so that no wait is long. The
//! share is a half while the log is copied: who is ahead by `n` bytes is caught up with by copying `2 n` at most.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use twindex_format::{History, Progress, TableEntry, TableInfo};

use crate::core::{Core, Home, Logged};
use crate::error::{Error, Result};
use crate::log::SLACK;
use crate::memory::spawn;
use crate::rewrite::{Alone, BURST, CHUNK, KEPT, New};

/// What they may append while the last chunk is copied.
pub(crate) const LAST_BYTES: u64 = 64 * 1024;

/// Writes the whole store to its file.
pub(crate) fn compact(
    core: &Core,
    home: &Home,
    _alone: &Alone<'_>,
    progress: Option<&mut dyn FnMut(Progress)>,
) -> Result<()> {
    let Some(Logged { log, .. }) = &home.logged else {
        return core.save(home, progress.unwrap_or(&mut |_| {}));
    };
    home.check_writable()?;
    let ((from, position, marks), tables) = core.moment(true, || log.place())?;
    let old = log.end()?;
    let infos = tables.iter().map(|(id, table)| (*id, TableInfo::of(&TableEntry::of(table)))).collect();
    let history =
        Some(&History { file: &*old.file, salt: old.salt, up_to: from, bytes: KEPT, marks, tables: infos });
    let held = home.lock_in_place()?;
    let mut new = New::create(&*home.disk, &home.path, held.as_ref(), &home.compaction.stopped)?;
    drop(held);
    if let Some(progress) = progress {
        // The caller's function may itself write to the store, or wait for a thread that does.
        new.dump(&tables, history, progress)?;
        new.begin_log(position)?;
        new.sync()?;
        new.keep_pace(log, log.at());
    } else {
        new.keep_pace(log, from);
        new.dump(&tables, history, &mut |_| {})?;
        new.begin_log(position)?;
        new.sync()?;
    }
    // From here on writes keep nothing for it.
    drop(tables);
    // Without a snapshot the dump may have a part of a batch that was under way. The log is to have all of it, or what undid it.
    core.engine.alone(|| ())?;
    new.slow_down();
    let mut copied = from;
    let leader = loop {
        while log.at() - copied > CHUNK {
            copied = new.copy(&log.end()?, copied)?;
        }
        // While another sync ends, writers may go on.
        let leader = log.lead();
        if log.at() - copied <= CHUNK {
            break leader;
        }
    };
    let _held = new.hold_at(log.at() + LAST_BYTES);
    copied = new.copy(&log.end()?, copied)?;
    new.sync()?;
    leader.switch(|end| {
        new.copy(end, copied)?;
        new.sync()?;
        // So that the log has room to go on, too.
        new.file.reserve(new.at, new.at + SLACK).map_err(|error| Error::io(&new.beside, error))?;
        let folder = home.disk.folder(&home.path).map_err(|error| Error::io(&home.path, error))?;
        let mut held = home.lock_in_place()?;
        let lock = new.put_in_place(held.as_ref())?;
        *held = lock.or(held.take());
        // From here on a crash may leave either file, and the old one will lack what is written next.
        folder.sync().map_err(|error| leader.fail(&error))?;
        Ok(new.end())
    })?;
    drop(leader);
    home.compaction.count.fetch_add(1, Relaxed);
    Ok(())
}

/// Compacts the file because its log has become long: now, or when writers pause, if it can wait. Called by writers
/// when they have let go of their keys.
pub(crate) fn when_due(core: &Arc<Core>) {
    if core.logged().is_some_and(|logged| !logged.log.put_off(core.engine.memory())) {
        in_background(core);
    }
}

/// Compacts the file, where that is not left to the user and nobody is at it yet.
pub(crate) fn in_background(core: &Arc<Core>) {
    let wanted = |home: &&Home| !home.compact_by_hand && !home.compaction.is_running();
    let home = core.home.as_ref().filter(wanted).filter(|home| home.compaction.is_time());
    let Some(running) = home.and_then(|home| home.compaction.begin_in_background()) else { return };
    let Some(Logged { log, .. }) = core.logged() else { return };
    // Until it has begun, which may take a while on a busy machine.
    let pace = log.allow(log.at() + BURST);
    let core_of_thread = Arc::clone(core);
    let started = spawn("twindex-compact", move || {
        let _until_then = (running, pace);
        compact_now(&core_of_thread);
    });
    match started {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => compact_now(core),
        // Where no thread can be had at the moment, the log goes on growing, and it is tried again later.
        _ => {}
    }
}

fn compact_now(core: &Core) {
    // One that is on its way may wait for a function of the caller's, which waits for writers, which wait for this one to end.
    if let Some(home) = &core.home
        && let Some(alone) = home.compaction.try_begin()
    {
        let compacted = compact(core, home, &alone, None);
        drop(alone);
        if let Some(Logged { log, .. }) = &home.logged
            && !home.compaction.is_stopped()
        {
            log.note_compaction(compacted.as_ref().err());
        }
        home.compaction.note(compacted.err());
    }
}
