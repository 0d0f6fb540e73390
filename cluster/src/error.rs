//! The errors of a cluster store.

use std::fmt;
use std::sync::Arc;

use redis::{ErrorKind, RedisError};
use twindex::IndexKind;

/// The longest value that servers take, and the longest batch that is sent.
pub(crate) const MAX_SENT: usize = 512 << 20;

/// Any error of a cluster store.
///
/// A write that returns an error has changed nothing, with three exceptions. After
/// [`UnknownOutcome`](Error::UnknownOutcome) it may be done. After [`NotReplicated`](Error::NotReplicated) it is done. And
/// [`PartlyDone`](Error::PartlyDone) says of each item of a `_many` form what became of it.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The arguments were refused, or the table was, as every store of Twindex refuses them.
    Engine(twindex::Error),
    /// The near cache cannot be made, or a time to live is none.
    Cache(twindex_cache::Error),
    /// The URL cannot be used.
    Url {
        /// The URL, without its password.
        url: String,
        /// The fault.
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
    /// The write is done, and too few replicas have it: it is lost if its server dies or is replaced now.
    /// See [`Options::replicas`](crate::Options::replicas).
    NotReplicated {
        /// The server that did it.
        server: Arc<str>,
        /// How many replicas were to have it.
        wanted: u32,
        /// How many had it in time.
        reached: u32,
    },
    /// A `_many` form wrote some of its items, or may have, and not all; or `clear` removed some pairs.
    PartlyDone {
        /// What became of each item, in their order. (Of `clear`: an answer for what was removed, and the errors.) An item with an error is not written, but for
        /// [`UnknownOutcome`](Error::UnknownOutcome) and [`NotReplicated`](Error::NotReplicated).
        outcomes: Vec<Result<Answer>>,
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
    /// A value, or all of a batch, is longer than the 512 MiB that servers take.
    TooLarge {
        /// Its length in bytes.
        len: usize,
    },
    /// The server refused the command, for example for want of memory or of permission, or it refused the user.
    Refused {
        /// What the server said.
        reason: String,
    },
    /// The store was closed.
    Closed,
    /// A fault of Twindex itself. A write that was under way may be done or not.
    Bug {
        /// What failed, and where.
        what: String,
    },
}

/// The answer to a write of one item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Whether it took effect.
    Took(bool),
    /// The sum after an increment.
    Sum(i64),
}

impl From<bool> for Answer {
    fn from(took: bool) -> Self {
        Self::Took(took)
    }
}

impl From<i64> for Answer {
    fn from(sum: i64) -> Self {
        Self::Sum(sum)
    }
}

/// The result of a fallible operation of this crate.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// A stable name of the kind of error, the same in every language, such as `TWINDEX_UNKNOWN_OUTCOME`.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Engine(error) => error.code(),
            Self::Cache(error) => error.code(),
            Self::Url { .. } => "TWINDEX_URL",
            Self::Unavailable { .. } => "TWINDEX_UNAVAILABLE",
            Self::UnknownOutcome { .. } => "TWINDEX_UNKNOWN_OUTCOME",
            Self::NotReplicated { .. } => "TWINDEX_NOT_REPLICATED",
            Self::PartlyDone { .. } => "TWINDEX_PARTLY_DONE",
            Self::CrossSlot { .. } => "TWINDEX_CROSS_SLOT",
            Self::Unexpected { .. } => "TWINDEX_UNEXPECTED",
            Self::ForeignTable { .. } => "TWINDEX_FOREIGN_TABLE",
            Self::TooLarge { .. } => "TWINDEX_VALUE_TOO_LARGE",
            Self::Refused { .. } => "TWINDEX_REFUSED",
            Self::Closed => "TWINDEX_CLOSED",
            Self::Bug { .. } => "TWINDEX_BUG",
        }
    }

    /// Whether nothing was written.
    fn is_undone(&self) -> bool {
        !matches!(
            self,
            Self::UnknownOutcome { .. }
                | Self::NotReplicated { .. }
                | Self::PartlyDone { .. }
                | Self::Bug { .. }
        )
    }

    /// The same error once more, for another item of the same command.
    pub(crate) fn again(&self) -> Self {
        match self {
            Self::Unavailable { reason } => Self::Unavailable { reason: reason.clone() },
            Self::UnknownOutcome { server, reason } => {
                Self::UnknownOutcome { server: server.clone(), reason: reason.clone() }
            }
            Self::Closed => Self::Closed,
            Self::Refused { reason } => Self::Refused { reason: reason.clone() },
            other => Self::Refused { reason: other.to_string() },
        }
    }

    pub(crate) fn wrong_index(table: &str, has: IndexKind) -> Self {
        let needs = if has == IndexKind::Hash { IndexKind::Sorted } else { IndexKind::Hash };
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
            Self::Cache(error) => error.fmt(f),
            Self::Url { url, what } => write!(f, "the URL \"{url}\" cannot be used: {what}"),
            Self::Unavailable { reason } => {
                write!(f, "no server took the command, so it was not done: {reason}")
            }
            Self::UnknownOutcome { server, reason } => write!(
                f,
                "the write was sent to {server} and no answer came, so it may be done or not: {reason}. Read the \
                 pair to find out"
            ),
            Self::NotReplicated { server, wanted, reached } => write!(
                f,
                "the write is done on {server}, and {reached} of the {wanted} replicas that were to have it had it in \
                 time. It is lost if that server dies or is replaced before"
            ),
            Self::PartlyDone { outcomes } => {
                let count = |is: fn(&Result<Answer>) -> bool| outcomes.iter().filter(|one| is(one)).count();
                let done = count(|one| matches!(one, Ok(_) | Err(Self::NotReplicated { .. })));
                let undone = count(|one| matches!(one, Err(error) if error.is_undone()));
                let all = outcomes.len();
                let unknown = all - done - undone;
                write!(f, "of {all} items {done} are done, {unknown} may be, {undone} are not")?;
                match outcomes.iter().enumerate().find_map(|(at, one)| Some((at, one.as_ref().err()?))) {
                    Some((at, error)) => write!(f, "; `outcomes` has each. Item {at}: {error}"),
                    None => Ok(()),
                }
            }
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
            Self::TooLarge { len } => {
                write!(f, "a value or batch of {len} bytes is too large, servers take {MAX_SENT}")
            }
            Self::Refused { reason } => write!(f, "the server refused the command: {reason}"),
            Self::Closed => f.write_str("the store was closed"),
            Self::Bug { what } => {
                write!(
                    f,
                    "a fault of Twindex, please report it: {what}. A write under way may be done or not"
                )
            }
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
        Self { reason: format!("{server}: {}", line_of(error)).into(), is_final }
    }

    /// As above, of a server that could not be connected to, with or without TLS. A server hangs up on a client that does not
    /// speak TLS as it does; without TLS it may wait for more. A server that is only announced, and was never reached, may have
    /// another address from here.
    pub(crate) fn to_connect(
        server: &str,
        error: &RedisError,
        is_tls: bool,
        is_only_announced: bool,
    ) -> Self {
        let mut failure = Self::new(server, error);
        let is_database = failure.reason.contains("refused to switch database");
        let is_no_tls = error.is_timeout() || failure.reason.contains("InvalidContentType");
        let mut guess = String::new();
        if is_database {
            failure.is_final = true;
            guess.push_str(
                ". The URL names a database that the server does not have; a cluster has only database 0",
            );
        } else if is_tls && is_no_tls {
            guess.push_str(" (perhaps it speaks no TLS: then the URL begins with redis://)");
        } else if !is_tls && error.is_connection_dropped() && !error.is_connection_refusal() {
            guess.push_str(" (perhaps it speaks TLS: then the URL begins with rediss://)");
        }
        if is_only_announced && (error.is_timeout() || error.is_io_error()) {
            guess.push_str(
                ". The cluster announced this address. Where it is another one from here, as with Docker or NAT, say so \
                 in `addresses`",
            );
        }
        failure.reason = [&failure.reason, &*guess].concat().into();
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

/// The error in one line. One that is no answer of a server has several.
pub(crate) fn line_of(error: &RedisError) -> String {
    error.to_string().lines().collect::<Vec<_>>().join(" ")
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

/// Checks a value before anything is sent: servers take no more than 512 MiB.
pub(crate) fn check_value(value: &[u8]) -> Result<()> {
    if value.len() > MAX_SENT { Err(Error::TooLarge { len: value.len() }) } else { Ok(()) }
}

/// What became of each item as one result: all answers; an error, where it is the one of all or nothing was written; or what
/// became of each.
pub(crate) fn settled<T: Into<Answer>>(outcomes: &mut dyn Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let mut done = Vec::with_capacity(outcomes.size_hint().0);
    let failed = loop {
        match outcomes.next() {
            Some(Ok(answer)) => done.push(answer),
            Some(Err(error)) => break error,
            None => return Ok(done),
        }
    };
    let is_alone = done.is_empty();
    let code = failed.code();
    let rest: Vec<Result<T>> = outcomes.collect();
    let is_like = |is: &dyn Fn(&Error) -> bool| rest.iter().all(|one| one.as_ref().is_err_and(is));
    let is_undone = failed.is_undone() && is_like(&Error::is_undone);
    if is_alone && (is_undone || is_like(&|error| error.code() == code)) {
        return Err(failed);
    }
    let all = done.into_iter().map(Ok).chain([Err(failed)]).chain(rest);
    Err(Error::PartlyDone { outcomes: all.map(|one| one.map(Into::into)).collect() })
}

impl From<twindex_cache::Error> for Error {
    fn from(error: twindex_cache::Error) -> Self {
        Self::Cache(error)
    }
}

impl From<twindex::Error> for Error {
    fn from(error: twindex::Error) -> Self {
        Self::Engine(error)
    }
}
