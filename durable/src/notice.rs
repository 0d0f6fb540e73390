//! Background events, for the program's logger.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// The target of this crate's records in the program's logger, by the `log` facade.
///
/// Each record has the file as the value of the key `path`, and one of these events as the value of `event`:
///
/// | event | level | what happened |
/// |---|---|---|
/// | `log_failed` | error | nothing can be written any more |
/// | `log_full` | warn | the disk refuses room for the log, so writes fail until it has some |
/// | `log_torn` | warn | an incomplete last write was discarded when the file was opened |
/// | `compaction_failed` | warn | the file could not be compacted; it is tried again |
/// | `slow_sync` | warn | a sync took more than a second |
/// | `writers_wait` | warn | writers wait, since too much is not on disk |
/// | `follow_failed` | warn | a follower does not keep up; it tries again |
/// | `transactions_open` | warn | transactions were begun more than a minute ago and have not ended (with `everysec`) |
///
/// The logger may be called while locks of the store are held, so it must not use the store, nor wait for a thread that does.
pub const LOG_TARGET: &str = "twindex";

/// Tells the logger of an event of the file at `path`. A logger that panics ends no thread of ours.
#[cold]
pub(crate) fn tell(path: &Path, event: &str, message: fmt::Arguments<'_>) {
    let (path, level) =
        (path.display(), if event == "log_failed" { log::Level::Error } else { log::Level::Warn });
    let tell = || log::log!(target: LOG_TARGET, level, path:%, event = event; "{path}: {message}");
    let _ = catch_unwind(AssertUnwindSafe(tell));
}
