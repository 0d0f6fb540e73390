//! The errors of a store in a file.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;
use std::{fmt, io};

use crate::position::Position;

/// Any error of a store in a file.
///
/// A write that returns an error has changed nothing, with three exceptions: a `_many` form that met the memory
/// limit, as in the engine; a write that met [`LogFailed`](Error::LogFailed), which may be in memory but is
/// not promised to be on disk; and, where more than 64 threads write at the moment at which the disk becomes full, one whose
/// [`Io`](Error::Io) says that the change is in memory and will be in the file once there is free space.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The engine refused, without regard to any file.
    Engine(twindex::Error),
    /// The system refused.
    Io {
        /// The file that it was about.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Another process, or another store of this one, has the file open for writing.
    InUse {
        /// The file.
        path: PathBuf,
        /// The process that has it, where it is known.
        pid: Option<u32>,
    },
    /// Bytes that were on disk are not what was written there, or the file is no store.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where, in bytes from its start.
        offset: u64,
        /// The fault.
        what: &'static str,
    },
    /// Writing or syncing the log failed, now or earlier, so nothing more can be promised. Reads go on; to
    /// write again, open the file anew.
    LogFailed {
        /// The file.
        path: PathBuf,
        /// What the system said at first.
        reason: Arc<str>,
    },
    /// The store was opened read-only.
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// The store was closed.
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// The store has no file, so there is nothing that it could be saved to.
    NoFile,
    /// A name that is none of `none`, `everysec` and `always`.
    UnknownDurability {
        /// The name as given.
        name: String,
    },
    /// The file does not have the changes behind a position: a compaction dropped them, they were lost in a power cut, or belong to
    /// another file. Begin again from a copy of the store and its [`position`](crate::Store::position).
    PositionGone {
        /// The file.
        path: PathBuf,
        /// The position that was asked for.
        position: Position,
        /// The oldest position that the file has.
        oldest: Position,
    },
    /// The file has no log, so there are no positions in it: it is empty, or its store's durability is `none`.
    NoLog {
        /// The file.
        path: PathBuf,
    },
    /// A text that is not a position.
    NotAPosition {
        /// The text as given.
        text: String,
    },
    /// A batch or a transaction of one store was given a table of another.
    ForeignTable {
        /// The table's name.
        table: String,
    },
    /// A key or value of a typed table or cache cannot be written or read by its codec.
    Codec {
        /// The table, or `None` for a cache.
        table: Option<String>,
        /// How the key begins, unless it is the key that cannot be written.
        key: Option<String>,
        /// The codec.
        codec: &'static str,
        /// The fault.
        source: twindex_codec::Error,
    },
    /// A cache whose keys or values have one codec was asked for with another.
    WrongCodecOfCache {
        /// `keys` or `values`.
        of: &'static str,
        /// The codec that the cache has.
        has: String,
        /// The codec that was asked for.
        needs: String,
    },
    /// A typed cache refused.
    Cache(twindex_cache::Error),
    /// What a batch expected is not so. Nothing of the batch was done.
    Unexpected {
        /// Which of the batch's expectations do not hold, counted from 0 in the order in which they were added.
        failed: Vec<usize>,
        /// The table of the first of them.
        table: String,
        /// How its key begins.
        key: String,
    },
    /// The pairs of the table expire and it was opened as if they did not, or the other way round.
    WrongExpiry {
        /// The table's name.
        table: String,
        /// Whether its pairs expire.
        expires: bool,
    },
    /// A time to live of zero, or of more than [`MAX_TTL`](crate::MAX_TTL).
    Ttl {
        /// The time as given.
        given: Duration,
    },
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_IN_USE`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Io { .. } => "TWINDEX_IO",
            Self::InUse { .. } => "TWINDEX_IN_USE",
            Self::Damaged { .. } => "TWINDEX_CORRUPT",
            Self::LogFailed { .. } => "TWINDEX_LOG_FAILED",
            Self::ReadOnly { .. } => "TWINDEX_READ_ONLY",
            Self::Closed { .. } => "TWINDEX_CLOSED",
            Self::NoFile => "TWINDEX_NO_FILE",
            Self::UnknownDurability { .. } => "TWINDEX_UNKNOWN_DURABILITY",
            Self::PositionGone { .. } => "TWINDEX_POSITION_GONE",
            Self::NoLog { .. } => "TWINDEX_NO_LOG",
            Self::NotAPosition { .. } => "TWINDEX_NOT_A_POSITION",
            Self::ForeignTable { .. } => "TWINDEX_FOREIGN_TABLE",
            Self::Codec { source, .. } => source.code(),
            Self::WrongCodecOfCache { .. } => "TWINDEX_WRONG_CODEC",
            Self::Cache(error) => error.code(),
            Self::Unexpected { .. } => "TWINDEX_UNEXPECTED",
            Self::WrongExpiry { .. } => "TWINDEX_WRONG_EXPIRY",
            Self::Ttl { .. } => "TWINDEX_TTL",
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: path.into(), source }
    }

    /// Where it was the limit while loading, the store's own.
    pub(crate) fn naming_limit(self, limit: usize) -> Self {
        match self {
            Self::Engine(error) => Self::Engine(twindex_format::name_limit(error, Some(limit))),
            other => other,
        }
    }

    /// An error met while this file was read or written by the engine.
    pub(crate) fn of_file(path: &Path, error: twindex::Error) -> Self {
        match error {
            // Where the engine's error names the file already, it does so once.
            twindex::Error::Io(source) => match source.downcast::<AtPath>() {
                Ok(named) => Self::Io { path: named.path, source: named.source },
                Err(source) => Self::io(path, source),
            },
            twindex::Error::Corrupt { offset, what } => Self::Damaged { path: path.into(), offset, what },
            other => Self::Engine(other),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::InUse { path, pid: Some(pid) } if *pid == std::process::id() => {
                write!(f, "{} is in use by this process already (process {pid})", path.display())
            }
            Self::InUse { path, pid: Some(pid) } => {
                write!(f, "{} is in use by process {pid}", path.display())
            }
            Self::InUse { path, pid: None } => write!(f, "{} is in use by another process", path.display()),
            // There is nothing to save of what is no store, or of a version that is not known.
            Self::Damaged { path, offset: 0..=8, what } => {
                write!(f, "{} cannot be read as a store: {what}", path.display())
            }
            Self::Damaged { path, offset, what } => write!(
                f,
                "{} is damaged at byte {offset}: {what}. Nothing was changed; `twindex recover` writes what \
                 can be saved to a new file",
                path.display()
            ),
            Self::LogFailed { path, reason } => write!(
                f,
                "{}: the log failed, so no more writes are accepted ({reason}). Reads go on",
                path.display()
            ),
            Self::ReadOnly { path } => write!(f, "{} was opened read-only", path.display()),
            Self::Closed { path } => write!(f, "the store of {} was closed", path.display()),
            Self::NoFile => f.write_str("the store is only in memory: it was not opened from a file"),
            Self::UnknownDurability { name } => write!(
                f,
                "unknown durability \"{}\", it is \"none\", \"everysec\" or \"always\"",
                name.chars().take(32).collect::<String>().escape_debug()
            ),
            Self::PositionGone { path, position, oldest } => write!(
                f,
                "{} no longer has the changes after position {position}: the oldest position in it is {oldest}. Begin \
                 again from a copy of the store and its position",
                path.display()
            ),
            Self::NoLog { path } => write!(
                f,
                "{} has no log, and so no positions: it is empty, or its store has the durability \"none\"",
                path.display()
            ),
            Self::NotAPosition { text } => {
                let text = text.chars().take(64).collect::<String>();
                write!(f, "\"{}\" is not a position of a store", text.escape_debug())
            }
            Self::ForeignTable { table } => {
                write!(f, "table \"{table}\" belongs to another store")
            }
            Self::Codec { table, key, codec, source } => {
                match table {
                    Some(table) => write!(f, "table \"{table}\"")?,
                    None => f.write_str("the cache")?,
                }
                if let Some(key) = key {
                    write!(f, ", key \"{key}\"")?;
                }
                write!(f, ", codec \"{codec}\": {source}")
            }
            Self::WrongCodecOfCache { of, has, needs } => {
                write!(f, "the {of} of the cache have the codec \"{has}\", this needs \"{needs}\"")
            }
            Self::Cache(error) => error.fmt(f),
            Self::Unexpected { failed, table, key } => write!(
                f,
                "the batch did nothing: the key \"{key}\" of table \"{table}\" is not as expected (expectation {}{})",
                failed.first().copied().unwrap_or_default(),
                if failed.len() > 1 { ", and others" } else { "" },
            ),
            Self::WrongExpiry { table, expires: true } => {
                write!(f, "the pairs of table \"{table}\" expire: open it as a table that expires")
            }
            Self::WrongExpiry { table, expires: false } => {
                write!(f, "the pairs of table \"{table}\" do not expire: it was created without that")
            }
            Self::Ttl { given } => {
                write!(f, "a time to live of {given:?} must be above zero and at most {:?}", crate::MAX_TTL)
            }
        }
    }
}

impl FromStr for Position {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| Error::NotAPosition { text: text.into() })
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            Self::Io { source, .. } => Some(source),
            Self::Codec { source, .. } => Some(source),
            Self::Cache(error) => Some(error),
            _ => None,
        }
    }
}

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        Self::Engine(error)
    }
}

impl From<twindex_cache::Error> for Error {
    fn from(error: twindex_cache::Error) -> Self {
        Self::Cache(error)
    }
}

/// An error of the system about a file.
#[derive(Debug)]
pub(crate) struct AtPath {
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl fmt::Display for AtPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.source)
    }
}

impl std::error::Error for AtPath {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}
