//! What a function of this module can end with instead of a value, and how JavaScript gets to know it.

use std::borrow::Cow;
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
    Refused(Refusal),
    /// A code, a message, and the value that it is about.
    Said(&'static str, Cow<'static, str>, Option<Value<'c>>),
    /// Node-API refused: an exception is pending, or the thread is being ended.
    Node(Failed),
}

impl<R: Into<Refusal>> From<R> for Fault<'_> {
    #[cold]
    fn from(refusal: R) -> Self {
        Self(Box::new(Why::Refused(refusal.into())))
    }
}

impl From<Failed> for Fault<'_> {
    #[cold]
    fn from(failed: Failed) -> Self {
        Self(Box::new(Why::Node(failed)))
    }
}

impl<'c> Fault<'c> {
    #[cold]
    fn said(code: &'static str, message: impl Into<Cow<'static, str>>, got: Option<Value<'c>>) -> Self {
        Self(Box::new(Why::Said(code, message.into(), got)))
    }

    /// The value is of the wrong type; `needed` reads "a key is a string in this table".
    pub(crate) fn wrong_type(needed: &'static str, got: Value<'c>) -> Self {
        Self::said("TWINDEX_TYPE", needed, Some(got))
    }

    /// The value is of the right type, and out of range.
    pub(crate) fn range(needed: &'static str, got: Value<'c>) -> Self {
        Self::said("TWINDEX_RANGE", needed, Some(got))
    }

    pub(crate) fn closed() -> Self {
        Self::said("TWINDEX_CLOSED", "the store is closed", None)
    }

    pub(crate) fn ended() -> Self {
        Self::said("TWINDEX_ENDED", "the snapshot is closed", None)
    }

    /// A bug of ours.
    pub(crate) fn bug() -> Self {
        Self::said("TWINDEX_BUG", "a bug in Twindex: please report what led to it", None)
    }

    #[cold]
    pub(crate) fn too_long(len: usize) -> Self {
        let message = format!("{len} bytes do not fit into a string; read them with \"bytes\" or \"view\"");
        Self::said("TWINDEX_ENCODING", message, None)
    }

    #[cold]
    pub(crate) fn lone_surrogate(column: Column) -> Self {
        let message = format!("{} with a lone surrogate has no form in UTF-8", column.name());
        Self::said("TWINDEX_ENCODING", message, None)
    }

    #[cold]
    pub(crate) fn not_utf8(column: Column, bytes: &[u8]) -> Self {
        let what = column.name().replacen("a ", "the ", 1);
        let start = bytes[..bytes.len().min(SHOWN_BYTES)].escape_ascii();
        let rest = if bytes.len() > SHOWN_BYTES { "..." } else { "" };
        Self::said("TWINDEX_ENCODING", format!("{what} is not UTF-8: \"{start}{rest}\""), None)
    }

    /// The error that JavaScript is to see, made by `raise`: `(code, message, details, value?) => Error`. `None` where an exception
    /// is pending already, or none can be made.
    pub(crate) fn error(self, js: Js<'c>, raise: Option<Value<'c>>) -> Option<Value<'c>> {
        let (code, message, details, got) = match *self.0 {
            Why::Refused(refusal) => (refusal.code(), refusal.to_string().into(), details(&refusal), None),
            Why::Said(code, message, got) => (code, message, None, got),
            Why::Node(_) if js.is_exception_pending() => return None,
            Why::Node(Failed(status)) => {
                ("TWINDEX_BUG", format!("Node-API refused with status {status}").into(), None, None)
            }
        };
        let text = |text: &str| js.text(text.as_bytes())?.ok();
        let details = details.map_or_else(|| js.undefined(), |details| js.json(&details)).ok()?;
        let (code, message) = (text(code)?, text(&message)?);
        let error = match got {
            Some(got) => js.call(raise?, &[code, message, details, got]),
            None => js.call(raise?, &[code, message, details]),
        };
        error.ok()
    }

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
