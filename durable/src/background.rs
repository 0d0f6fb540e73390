//! Threads of the store's own: one that syncs, and one that compacts when it is worth it.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::compact::{BURST, compact_unless_running};
use crate::core::{Core, Logged};
use crate::log::Log;

/// Half a second until a sync begins leaves the other half for it to end.
const SYNC_EVERY: Duration = Duration::from_millis(500);

/// Starts the thread that syncs the log, for as long as there is one.
pub(crate) fn sync_every_second(log: &Arc<Log>) -> std::io::Result<()> {
    let log = Arc::downgrade(log);
    thread::Builder::new().name("twindex-sync".into()).spawn(move || sync(&log)).map(drop)
}

fn sync(log: &Weak<Log>) {
    loop {
        thread::sleep(SYNC_EVERY);
        let Some(log) = log.upgrade() else { return };
        // A log that failed tells its writers so; there is nothing left to sync.
        if log.tick().is_err() {
            return;
        }
    }
}

/// Starts to compact the file, where that is not left to the user and nobody is at it yet.
pub(crate) fn compact(core: &Arc<Core>) {
    let home = core.home.as_ref().filter(|home| !home.compact_by_hand);
    let Some(running) = home.and_then(|home| home.compaction.begin_in_background()) else { return };
    let Some(Logged { log, .. }) = core.logged() else { return };
    // Until it has begun, which may take a while on a busy machine.
    let pace = log.allow(log.at() + BURST);
    let core = Arc::clone(core);
    // Where no thread can be had, the log goes on growing, and it is tried again later.
    let _ = thread::Builder::new().name("twindex-compact".into()).spawn(move || {
        let _until_then = (running, pace);
        let home = core.home.as_ref();
        if let Some((home, compacted)) =
            home.and_then(|home| Some((home, compact_unless_running(&core, home)?)))
        {
            home.compaction.note(compacted.err());
        }
    });
}
