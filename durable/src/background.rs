//! Threads of the store's own: one that syncs, and one that compacts when it is worth it.

use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use crate::compact;
use crate::core::Core;
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
    let core = Arc::clone(core);
    // Where no thread can be had, the log goes on growing, and it is tried again later.
    let _ = thread::Builder::new().name("twindex-compact".into()).spawn(move || {
        let _running = running;
        if let Some(home) = &core.home {
            let compacted = compact::compact(&core, home, &mut |_| {});
            home.compaction.note(compacted.err());
        }
    });
}
