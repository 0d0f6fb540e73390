//! What can go wrong with a cluster store.

use std::fmt;
use std::sync::Arc;

use twindex::Index;

/// What can go wrong, and with what.
///
/// A write that returns an error has changed nothing, with two exceptions. After
/// [`UnknownOutcome`](Error::UnknownOutcome) nobody knows. And a `_many` form writes to several servers: where one of
/// them failed, what the others were sent may be written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The arguments were refused, or the table was, as every store of Twindex refuses them.
    Engine(twindex::Error),
    /// The URL cannot be used.
    Url {
        /// The URL, without its password.
        url: String,
        /// What is wrong with it.
        what: String,
    },
    /// No server took the command in time. It was not carried out.
    Unavailable {
        /// What the last attempt met.
        reason: String,
    },
    /// The connection broke, or no answer came in time, after the write was sent: it may be carried out or not.
    UnknownOutcome {
        /// The server that it was sent to.
        server: Arc<str>,
        /// What happened.
        reason: String,
    },
    /// The server refused the command, for example for want of memory or of permission.
    Refused {
        /// What the server said.
        reason: String,
    },
    /// The store was closed.
    Closed,
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_UNKNOWN_OUTCOME`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Url { .. } => "TWINDEX_URL",
            Self::Unavailable { .. } => "TWINDEX_UNAVAILABLE",
            Self::UnknownOutcome { .. } => "TWINDEX_UNKNOWN_OUTCOME",
            Self::Refused { .. } => "TWINDEX_REFUSED",
            Self::Closed => "TWINDEX_CLOSED",
        }
    }

    pub(crate) fn wrong_index(table: &str, has: Index) -> Self {
        let needs = if has == Index::Hash { Index::Sorted } else { Index::Hash };
        Self::Engine(twindex::Error::WrongIndex { table: table.into(), has, needs })
    }

    pub(crate) fn dropped(table: &str) -> Self {
        Self::Engine(twindex::Error::TableDropped { table: table.into() })
    }

    /// An answer of another kind than the command gives: a server that is none, or of another version.
    pub(crate) fn unexpected(what: &'static str) -> Self {
        Self::Refused { reason: format!("the server's answer is no {what}") }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Engine(error) => error.fmt(f),
            Self::Url { url, what } => write!(f, "the URL \"{url}\" cannot be used: {what}"),
            Self::Unavailable { reason } => {
                write!(f, "no server took the command, so nothing was done: {reason}")
            }
            Self::UnknownOutcome { server, reason } => write!(
                f,
                "the write was sent to {server} and no answer came, so it may be done or not: {reason}. Read the \
                 pair to find out"
            ),
            Self::Refused { reason } => write!(f, "the server refused the command: {reason}"),
            Self::Closed => f.write_str("the store was closed"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Engine(error) => Some(error),
            _ => None,
        }
    }
}

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        Self::Engine(error)
    }
}
