//! The thread that keeps a follower up with its file.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::pid;
use crate::memory::spawn;
use crate::pause::Pause;

/// After a refresh that failed, the next one begins so many times what it took later, but not later than that.
const AFTER_FAILURE: u32 = 10;
const LONGEST: Duration = Duration::from_mins(1);

/// Keeps the store up with its file from now on.
pub(crate) fn start(core: &Arc<Core>) -> Result<()> {
    // What goes wrong at once is for the caller.
    core.refresh(false)?;
    let home = core.home()?;
    if home.follower.is_none() || home.following.process.swap(pid().max(1), Relaxed) != 0 {
        return Ok(());
    }
    let weak = Arc::downgrade(core);
    let started = spawn("twindex-follow", move || follow(&weak));
    started.map(drop).map_err(|error| {
        home.following.process.store(0, Relaxed);
        Error::io(&home.path, error)
    })
}

fn follow(core: &Weak<Core>) {
    let mut pause = Pause::new();
    loop {
        pause.wait(None);
        let begun = Instant::now();
        let has_failed = {
            let Some(core) = core.upgrade() else { return };
            let refreshed = core.refresh(true);
            match refreshed {
                Err(Error::Closed { .. }) => return,
                Ok(1..) => pause = Pause::new(),
                _ => {}
            }
            refreshed.is_err()
        };
        if has_failed {
            // A file with more than fits into memory is read anew each time.
            thread::sleep((AFTER_FAILURE * begun.elapsed()).min(LONGEST));
        }
    }
}
