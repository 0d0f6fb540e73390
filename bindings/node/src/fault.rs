//! What a function of this module can end with instead of a value, and how JavaScript gets to know it.

use napi::sys;

use crate::js::{Js, Value};

/// Why there is no result.
pub(crate) enum Fault<'c> {
    /// The engine refused.
    Engine(twindex::Error),
    /// The value is of the wrong type; `needed` reads "a key is a string in this table".
    Type { needed: &'static str, got: Value<'c> },
    /// The value is of the right type, and out of range.
    Range { needed: &'static str, got: Value<'c> },
    /// The bytes cannot be shown in the encoding that the table has.
    Encoding(String),
    /// The store was closed.
    Closed,
    /// Node-API refused: an exception is pending, or the thread is being ended.
    Node(sys::napi_status),
    /// A bug of ours.
    Panic,
}

impl From<twindex::Error> for Fault<'_> {
    fn from(error: twindex::Error) -> Self {
        Self::Engine(error)
    }
}

impl Fault<'_> {
    /// A value that no JavaScript string can hold.
    pub(crate) fn too_long(len: usize) -> Self {
        Self::Encoding(format!("{len} bytes do not fit into a string; read them with \"buffer\" or \"view\""))
    }

    /// Bytes that no string stands for.
    pub(crate) fn not_utf8(what: &str, bytes: &[u8]) -> Self {
        let start = bytes[..bytes.len().min(32)].escape_ascii();
        Self::Encoding(format!(
            "{what} is not UTF-8 (it begins with \"{start}\"); read it with \"buffer\" or \"view\""
        ))
    }
}

impl<'c> Fault<'c> {
    /// Leaves this as the pending exception. `raise` makes the error: `(code, message, value?) => Error`.
    pub(crate) fn throw(self, js: Js<'c>, raise: Option<Value<'c>>) {
        let (code, message, got) = match self {
            Self::Engine(error) => (error.code(), error.to_string(), None),
            Self::Type { needed, got } => ("TWINDEX_TYPE", needed.into(), Some(got)),
            Self::Range { needed, got } => ("TWINDEX_RANGE", needed.into(), Some(got)),
            Self::Encoding(message) => ("TWINDEX_ENCODING", message, None),
            Self::Closed => ("TWINDEX_CLOSED", "the store is closed".into(), None),
            Self::Panic => ("TWINDEX_BUG", "a bug in Twindex: please report what led to it".into(), None),
            Self::Node(_) if js.is_exception_pending() => return,
            Self::Node(status) => ("TWINDEX_BUG", format!("Node-API refused with status {status}"), None),
        };
        if raise.and_then(|raise| make(js, raise, code, &message, got)).is_none()
            && !js.is_exception_pending()
        {
            js.throw_plain(c"TWINDEX_BUG", c"Twindex failed before it was prepared");
        }
    }
}

/// Has JavaScript make the error, and throws it.
fn make<'c>(js: Js<'c>, raise: Value<'c>, code: &str, message: &str, got: Option<Value<'c>>) -> Option<()> {
    let code = js.text(code.as_bytes())?.ok()?;
    let message = js.text(message.as_bytes())?.ok()?;
    let error = match got {
        Some(got) => js.call(raise, &[code, message, got]),
        None => js.call(raise, &[code, message]),
    };
    js.throw(error.ok()?);
    Some(())
}
