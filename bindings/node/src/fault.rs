//! What a function of this module can end with instead of a value, and how JavaScript gets to know it.

use std::path::Path;

use serde_json::{Value as Json, json};
use twindex_durable::Error;

use crate::encoding::Column;
use crate::js::{Failed, Js, Value};
use crate::shared::Refusal;

/// A message shows so much of bytes, in every language.
const SHOWN_BYTES: usize = 32;

/// What a function of this module ends with.
pub(crate) type Answer<'c> = Result<Value<'c>, Fault<'c>>;

/// Why there is no result. In a box, so that every result of this module fits into two registers: what functions hand
/// up through memory took a tenth of a look-up.
pub(crate) struct Fault<'c>(Box<Why<'c>>);

enum Why<'c> {
    /// The store refused.
    Refused(Refusal),
    /// The value is of the wrong type; `needed` reads "a key is a string in this table".
    Type { needed: &'static str, got: Value<'c> },
    /// The value is of the right type, and out of range.
    Range { needed: &'static str, got: Value<'c> },
    /// The bytes cannot be shown in the encoding that the table has.
    Encoding(String),
    /// The store was closed.
    Closed,
    /// The snapshot was closed.
    Ended,
    /// Node-API refused: an exception is pending, or the thread is being ended.
    Node(Failed),
    /// A bug of ours.
    Bug,
}

impl<R: Into<Refusal>> From<R> for Fault<'_> {
    #[cold]
    fn from(refusal: R) -> Self {
        Self::new(Why::Refused(refusal.into()))
    }
}

impl From<Failed> for Fault<'_> {
    #[cold]
    fn from(failed: Failed) -> Self {
        Self::new(Why::Node(failed))
    }
}

impl<'c> Fault<'c> {
    #[cold]
    fn new(why: Why<'c>) -> Self {
        Self(Box::new(why))
    }

    /// The value is of the wrong type; `needed` reads "a key is a string in this table".
    #[cold]
    pub(crate) fn wrong_type(needed: &'static str, got: Value<'c>) -> Self {
        Self::new(Why::Type { needed, got })
    }

    /// The value is of the right type, and out of range.
    #[cold]
    pub(crate) fn range(needed: &'static str, got: Value<'c>) -> Self {
        Self::new(Why::Range { needed, got })
    }

    /// The store was closed.
    #[cold]
    pub(crate) fn closed() -> Self {
        Self::new(Why::Closed)
    }

    /// The snapshot was closed.
    #[cold]
    pub(crate) fn ended() -> Self {
        Self::new(Why::Ended)
    }

    /// A bug of ours.
    #[cold]
    pub(crate) fn bug() -> Self {
        Self::new(Why::Bug)
    }

    /// A value that no JavaScript string can hold.
    #[cold]
    pub(crate) fn too_long(len: usize) -> Self {
        Self::new(Why::Encoding(format!(
            "{len} bytes do not fit into a string; read them with \"bytes\" or \"view\""
        )))
    }

    /// A string with half a character in it.
    #[cold]
    pub(crate) fn lone_surrogate(column: Column) -> Self {
        Self::new(Why::Encoding(format!("{} with a lone surrogate has no form in UTF-8", column.name())))
    }

    /// Bytes that no string stands for.
    #[cold]
    pub(crate) fn not_utf8(column: Column, bytes: &[u8]) -> Self {
        let what = column.name().replacen("a ", "the ", 1);
        let start = bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii();
        let rest = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
        Self::new(Why::Encoding(format!("{what} is not UTF-8: \"{start}{rest}\"")))
    }

    /// The error that JavaScript is to see, made by `raise`: `(code, message, details, value?) => Error`. `None` where an exception
    /// is pending already, or none can be made.
    pub(crate) fn error(self, js: Js<'c>, raise: Option<Value<'c>>) -> Option<Value<'c>> {
        let (code, message, got) = match &*self.0 {
            Why::Refused(refusal) => (refusal.code(), refusal.to_string(), None),
            Why::Type { needed, got } => ("TWINDEX_TYPE", (*needed).into(), Some(*got)),
            Why::Range { needed, got } => ("TWINDEX_RANGE", (*needed).into(), Some(*got)),
            Why::Encoding(message) => ("TWINDEX_ENCODING", message.clone(), None),
            Why::Closed => ("TWINDEX_CLOSED", "the store is closed".into(), None),
            Why::Ended => ("TWINDEX_ENDED", "the snapshot is closed".into(), None),
            Why::Bug => ("TWINDEX_BUG", "a bug in Twindex: please report what led to it".into(), None),
            Why::Node(_) if js.is_exception_pending() => return None,
            Why::Node(Failed(status)) => {
                ("TWINDEX_BUG", format!("Node-API refused with status {status}"), None)
            }
        };
        let details = if let Why::Refused(refusal) = &*self.0 { details(refusal) } else { None };
        let text = |text: &str| js.text(text.as_bytes())?.ok();
        let details = details.map_or_else(|| js.undefined(), |details| js.json(&details)).ok()?;
        let (code, message) = (text(code)?, text(&message)?);
        let error = match got {
            Some(got) => js.call(raise?, &[code, message, details, got]),
            None => js.call(raise?, &[code, message, details]),
        };
        error.ok()
    }

    /// Leaves this as the pending exception.
    pub(crate) fn throw(self, js: Js<'c>, raise: Option<Value<'c>>) {
        match self.error(js, raise) {
            Some(error) => js.throw(error),
            None if js.is_exception_pending() => {}
            None => js.throw_plain(c"TWINDEX_BUG", c"Twindex failed before it was prepared"),
        }
    }
}

/// What the error's properties say, for a program to read.
fn details(refusal: &Refusal) -> Option<Json> {
    let shown = |path: &Path| path.to_string_lossy().into_owned();
    Some(match refusal {
        Refusal::Store(Error::InUse { path, pid: Some(pid) }) => json!({ "pid": pid, "path": shown(path) }),
        Refusal::Store(Error::Damaged { path, offset, .. }) => {
            json!({ "path": shown(path), "offset": offset })
        }
        Refusal::Cache(twindex_cache::Error::Corrupt { offset, .. }, path) => {
            json!({ "offset": offset, "path": path.as_deref().map(shown) })
        }
        Refusal::OpenOtherwise { path, .. } => json!({ "pid": std::process::id(), "path": shown(path) }),
        Refusal::Store(Error::PositionGone { path, position, oldest }) => json!({
            "path": shown(path), "position": position.to_string(), "oldest": oldest.to_string(),
        }),
        Refusal::Store(
            Error::InUse { path, pid: None }
            | Error::Io { path, .. }
            | Error::NoLog { path }
            | Error::LogFailed { path, .. }
            | Error::ReadOnly { path }
            | Error::Closed { path },
        ) => json!({ "path": shown(path) }),
        Refusal::Store(_) | Refusal::Cache(..) | Refusal::Options(_) | Refusal::Memory => {
            return None;
        }
    })
}
