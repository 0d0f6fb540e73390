//! What happens in the background, told to the program's logger.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

use log::Level;

use crate::error::Error;

/// The target of all that this crate tells the program's logger through the `log` facade.
///
/// Each record has the file as the value of the key `path`, and as that of `event` one of:
///
/// | event | level | what happened |
/// |---|---|---|
/// | `log_failed` | error | nothing can be written any more |
/// | `log_full` | warn | the disk refuses room for the log, so writes fail until it has some |
/// | `log_torn` | warn | an unfinished last write was discarded when the file was opened |
/// | `compaction_failed` | warn | the file could not be compacted; it is tried again |
/// | `slow_sync` | warn | a sync took more than a second |
/// | `writers_wait` | warn | writers wait, since too much is not on disk |
/// | `follow_failed` | warn | a follower does not keep up; it tries again |
/// | `transactions_open` | warn | transactions were begun more than a minute ago and have not ended (with `everysec`) |
///
/// The logger may be called while locks of the store are held, so it must not use the store, nor wait for a thread that does.
pub const LOG_TARGET: &str = "twindex";

/// What happened.
pub(crate) enum Notice<'n> {
    LogFailed(&'n std::io::Error),
    LogFull(&'n std::io::Error),
    /// At this offset, so many bytes.
    LogTorn(u64, u64),
    CompactionFailed(&'n Error),
    SlowSync(Duration),
    /// So many bytes are not on disk, and the first of them was written so long ago.
    WritersWait(u64, Option<Duration>),
    FollowFailed(&'n str),
    TransactionsOpen(usize),
}

impl Notice<'_> {
    /// Tells the logger that this happened to the file at `path`. A logger that panics ends no thread of ours.
    #[cold]
    pub(crate) fn tell(&self, path: &Path) {
        let path = path.display();
        let tell =
            || log::log!(target: LOG_TARGET, self.level(), path:%, event = self.event(); "{path}: {self}");
        let _ = catch_unwind(AssertUnwindSafe(tell));
    }

    fn level(&self) -> Level {
        if matches!(self, Self::LogFailed(_)) { Level::Error } else { Level::Warn }
    }

    fn event(&self) -> &'static str {
        match self {
            Self::LogFailed(_) => "log_failed",
            Self::LogFull(_) => "log_full",
            Self::LogTorn(..) => "log_torn",
            Self::CompactionFailed(_) => "compaction_failed",
            Self::SlowSync(_) => "slow_sync",
            Self::WritersWait(..) => "writers_wait",
            Self::FollowFailed(_) => "follow_failed",
            Self::TransactionsOpen(_) => "transactions_open",
        }
    }
}

impl fmt::Display for Notice<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LogFailed(error) => write!(f, "the log failed: {error}"),
            Self::LogFull(error) => write!(f, "no room for the log: {error}"),
            Self::LogTorn(offset, bytes) => {
                write!(f, "an unfinished last write of {bytes} bytes was discarded at offset {offset}")
            }
            Self::CompactionFailed(error) => write!(f, "it could not be compacted: {error}"),
            Self::SlowSync(time) => write!(f, "a sync took {time:.1?}"),
            Self::WritersWait(bytes, since) => {
                write!(f, "writers wait, since {bytes} bytes are not on disk")?;
                since.map_or(Ok(()), |since| write!(f, ", the first of them for {since:.1?}"))
            }
            Self::FollowFailed(error) => write!(f, "it does not keep up: {error}"),
            Self::TransactionsOpen(count) => {
                write!(f, "{count} transactions were begun more than a minute ago and never ended")
            }
        }
    }
}
