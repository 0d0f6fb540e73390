//! Threads of the store's own: one that syncs, and one that compacts when it is worth it. Where a system has no
//! threads, writers do both.

use std::io::{self, ErrorKind};
use std::sync::{Arc, Weak};
use std::thread;

use crate::compact::{BURST, compact_unless_running};
use crate::core::{Core, Home, Logged};
use crate::log::{Log, SYNC_EVERY};

/// Starts the thread that syncs the log, for as long as there is one.
pub(crate) fn sync_every_second(log: &Arc<Log>) -> io::Result<()> {
    let weak = Arc::downgrade(log);
    match thread::Builder::new().name("twindex-sync".into()).spawn(move || sync(&weak)) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            log.leave_to_writers();
            Ok(())
        }
        started => started.map(drop),
    }
}

fn sync(log: &Weak<Log>) {
    loop {
        thread::sleep(SYNC_EVERY);
        let Some(log) = log.upgrade() else { return };
        // A log that failed tells its writers so; there is nothing left to sync. One whose disk is full goes on.
        if log.tick().is_err() && log.check().is_err() {
            return;
        }
    }
}

/// Compacts the file, where that is not left to the user and nobody is at it yet. Called by writers when they have
/// let go of their keys.
pub(crate) fn compact(core: &Arc<Core>) {
    let wanted = |home: &&Home| !home.compact_by_hand && !home.compaction.is_running();
    let home = core.home.as_ref().filter(wanted).filter(|home| home.compaction.is_time());
    let Some(running) = home.and_then(|home| home.compaction.begin_in_background()) else { return };
    let Some(Logged { log, .. }) = core.logged() else { return };
    // Until it has begun, which may take a while on a busy machine.
    let pace = log.allow(log.at() + BURST);
    let core_of_thread = Arc::clone(core);
    let started = thread::Builder::new().name("twindex-compact".into()).spawn(move || {
        let _until_then = (running, pace);
        compact_now(&core_of_thread);
    });
    match started {
        Err(error) if error.kind() == ErrorKind::Unsupported => compact_now(core),
        // Where no thread can be had at the moment, the log goes on growing, and it is tried again later.
        _ => {}
    }
}

fn compact_now(core: &Core) {
    if let Some(home) = &core.home
        && let Some(compacted) = compact_unless_running(core, home)
    {
        if let Some(Logged { log, .. }) = &home.logged
            && !home.compaction.is_stopped()
        {
            log.note_compaction(compacted.as_ref().err());
        }
        home.compaction.note(compacted.err());
    }
}
