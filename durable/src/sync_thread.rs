//! The thread that syncs a log twice a second, removes expired pairs, and compacts the file when writers pause.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Instant;
use std::{io, thread};

use crate::compact;
use crate::core::Core;
use crate::error::{Error, Result};
use crate::log::SYNC_EVERY;
use crate::memory::spawn;
use crate::notice::tell;
use crate::options::Durability;

/// Starts it for a store that wants one, for as long as there is the store.
pub(crate) fn start(core: &Arc<Core>) -> Result<()> {
    let Some((home, logged)) = core.home.as_ref().and_then(|home| Some((home, home.logged.as_ref()?))) else {
        return Ok(());
    };
    if home.durability != Durability::EverySec {
        return Ok(());
    }
    core.expiry.remember(&core.tables());
    let weak = Arc::downgrade(core);
    match spawn("twindex-sync", move || sync(&weak)) {
        Err(error) if error.kind() == io::ErrorKind::Unsupported => logged.log.leave_to_writers(),
        Err(error) => return Err(Error::io(&home.path, error)),
        Ok(_) => logged.log.watch(),
    }
    Ok(())
}

fn sync(core: &Weak<Core>) {
    loop {
        thread::sleep(SYNC_EVERY);
        let Some(core) = core.upgrade() else { return };
        let Some(logged) = core.logged() else { return };
        if core.check_open().is_err() {
            return;
        }
        // A log that failed tells its writers so; there is nothing left to sync. One whose disk is full goes on.
        if logged.log.tick().is_err() && logged.log.check().is_err() {
            return;
        }
        if let (Some(home), Some(old)) = (&core.home, core.transactions.look(Instant::now())) {
            tell_open(&home.path, old);
        }
        core.expiry.remove_for_a_moment(&core);
        if logged.log.is_quiet() {
            compact::in_background(&core);
        }
    }
}

pub(crate) fn tell_open(path: &Path, transactions: usize) {
    let what = "transactions were begun more than a minute ago and never ended";
    tell(path, "transactions_open", format_args!("{transactions} {what}"));
}
