//! What can go wrong with a cluster store.

use std::fmt;
use std::sync::Arc;

use redis::{ErrorKind, RedisError};
use twindex::Index;

/// What can go wrong, and with what.
///
/// A write that returns an error has changed nothing, with three exceptions. After
/// [`UnknownOutcome`](Error::UnknownOutcome) nobody knows. After [`NotReplicated`](Error::NotReplicated) it is done. And a
/// `_many` form writes to several servers: where one of
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
    /// The write is done, and too few replicas have it: it is lost if its server dies now.
    /// See [`Options::replicas`](crate::Options::replicas).
    NotReplicated {
        /// The server that did it.
        server: Arc<str>,
        /// How many replicas were to have it.
        wanted: u32,
        /// How many had it in time.
        reached: u32,
    },
    /// No server can do the batch in one step: its keys lie in several slots of the cluster.
    CrossSlot {
        /// One key and its table.
        one: String,
        /// A key in another slot, and its table.
        other: String,
    },
    /// What a [batch](crate::Batch) expected is not so. Nothing of it was done.
    Unexpected {
        /// Which of the batch's expectations do not hold, counted from 0 in the order in which they were added.
        failed: Vec<usize>,
        /// The table of the first of them.
        table: String,
        /// How its key begins.
        key: String,
    },
    /// A batch was given a table of another store.
    ForeignTable {
        /// The table's name.
        table: String,
    },
    /// The server refused the command, for example for want of memory or of permission, or it refused the user.
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
            Self::NotReplicated { .. } => "TWINDEX_NOT_REPLICATED",
            Self::CrossSlot { .. } => "TWINDEX_CROSS_SLOT",
            Self::Unexpected { .. } => "TWINDEX_UNEXPECTED",
            Self::ForeignTable { .. } => "TWINDEX_FOREIGN_TABLE",
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
            Self::NotReplicated { server, wanted, reached } => write!(
                f,
                "the write is done on {server}, and {reached} of the {wanted} replicas that were to have it had it in \
                 time. It is lost if that server dies before"
            ),
            Self::CrossSlot { one, other } => write!(
                f,
                "a batch is done in one slot of the cluster, and the keys {one} and {other} lie in two. Keys of hash \
                 tables lie in one where they have the same text in braces; a sorted table with 1 partition lies in one"
            ),
            Self::Unexpected { failed, table, key } => write!(
                f,
                "the batch did nothing: the key \"{key}\" of table \"{table}\" is not as expected (expectation {}{})",
                failed.first().copied().unwrap_or_default(),
                if failed.len() > 1 { ", and others" } else { "" },
            ),
            Self::ForeignTable { table } => {
                write!(f, "table \"{table}\" is of another store than the batch")
            }
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

/// Why a server cannot be asked.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub(crate) reason: Arc<str>,
    /// Whether the server knows the client and will not have it: asking again changes nothing.
    is_final: bool,
}

impl Failure {
    pub(crate) fn new(server: &str, error: &RedisError) -> Self {
        let is_final = error.kind() == ErrorKind::AuthenticationFailed || is_forbidden(error.code());
        // What is no answer of a server is shown on several lines.
        let reason = error.to_string().lines().collect::<Vec<_>>().join(" ");
        Self { reason: format!("{server}: {reason}").into(), is_final }
    }

    /// As above, of a server that could not be connected to, with or without TLS. One that speaks it hangs up on whoever does
    /// not, and one that does not may wait for more.
    pub(crate) fn to_connect(server: &str, error: &RedisError, is_tls: bool) -> Self {
        let mut failure = Self::new(server, error);
        let is_no_tls = error.is_timeout() || failure.reason.contains("InvalidContentType");
        let guess = match is_tls {
            true if is_no_tls => " (perhaps it speaks no TLS: then the URL begins with redis://)",
            false if error.is_connection_dropped() => {
                " (perhaps it speaks TLS: then the URL begins with rediss://)"
            }
            _ => return failure,
        };
        failure.reason = [&failure.reason, guess].concat().into();
        failure
    }

    /// A failure that may pass.
    pub(crate) fn passing(reason: String) -> Self {
        Self { reason: reason.into(), is_final: false }
    }

    pub(crate) fn is_final(&self) -> bool {
        self.is_final
    }
}

/// Whether the code of a server's error says that the password is wrong or the user has not the right.
fn is_forbidden(code: Option<&str>) -> bool {
    matches!(code, Some("WRONGPASS" | "NOAUTH" | "NOPERM"))
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        let reason = failure.reason.to_string();
        if failure.is_final { Self::Refused { reason } } else { Self::Unavailable { reason } }
    }
}

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        Self::Engine(error)
    }
}
