//! Errors as the classes of `twindex.errors`.

use std::collections::TryReserveError;
use std::io;

use pyo3::exceptions::{PyIndexError, PyKeyError, PyKeyboardInterrupt, PyMemoryError, PyTypeError};
use pyo3::types::PyType;
use pyo3::{PyErrArguments, intern};
use twindex_codec::Excerpt;

use crate::prelude::*;

#[allow(missing_docs, reason = "the macro's types are documented where they are defined, in Python")]
mod classes {
    use pyo3::import_exception;

    // Those that share a code with the class that they derive from.
    import_exception!(twindex.errors, MissingFileError);
    import_exception!(twindex.errors, PairLengthError);
}

/// An exception of the class with this code. Runs no Python code: a scan may be reading.
#[cold]
fn raised(code: &str, arguments: impl PyErrArguments + 'static) -> PyErr {
    static CLASSES: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    Python::attach(|py| {
        let class =
            CLASSES.import(py, "twindex.errors", "_CLASSES").and_then(|classes| classes.get_item(code));
        match class.and_then(|class| Ok(class.cast_into::<PyType>()?)) {
            Ok(class) => PyErr::from_type(class, arguments),
            Err(failure) => failure,
        }
    })
}

/// A Python exception, which the engine's errors turn into. In a box, so that a result is two words.
pub(crate) struct Failure(Box<PyErr>);

pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

impl From<PyErr> for Failure {
    #[cold]
    fn from(error: PyErr) -> Self {
        Self(Box::new(error))
    }
}

impl From<TryReserveError> for Failure {
    #[cold]
    fn from(_: TryReserveError) -> Self {
        PyMemoryError::new_err(()).into()
    }
}

impl From<Failure> for PyErr {
    #[cold]
    fn from(Failure(error): Failure) -> Self {
        *error
    }
}

impl From<twindex_durable::Error> for Failure {
    #[cold]
    fn from(error: twindex_durable::Error) -> Self {
        use twindex_durable::Error as Durable;

        let (code, message) = (error.code(), error.to_string());
        Self::from(match error {
            Durable::Engine(error) => return error.into(),
            Durable::Io { source, .. } => io_error(errno(&source), message),
            Durable::PositionGone { position, oldest, .. } => {
                raised(code, (message, position.to_string(), oldest.to_string()))
            }
            _ => raised(code, message),
        })
    }
}

/// The errors of the engine and of caches: those of a reader or a writer, and those that have a class.
macro_rules! of_engine {
    ($($engine:ident)*) => {
        $(impl From<$engine::Error> for Failure {
            #[cold]
            fn from(error: $engine::Error) -> Self {
                let (code, message) = (error.code(), error.to_string());
                Self::from(match error {
                    $engine::Error::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => PyMemoryError::new_err(()),
                    $engine::Error::Io(error) => io_error(errno(&error), message),
                    _ => raised(code, message),
                })
            }
        })*
    };
}

of_engine!(twindex twindex_cache);

impl From<twindex_codec::Error> for Failure {
    #[cold]
    fn from(error: twindex_codec::Error) -> Self {
        Self::from(match error {
            twindex_codec::Error::OutOfMemory => PyMemoryError::new_err(()),
            error => raised(error.code(), error.to_string()),
        })
    }
}

/// What went wrong with a file. `except FileNotFoundError` catches that there is none.
fn io_error(number: Option<i32>, message: String) -> PyErr {
    match number {
        Some(2) => classes::MissingFileError::new_err((2, message)),
        Some(number) => raised("TWINDEX_IO", (number, message)),
        None => raised("TWINDEX_IO", message),
    }
}

/// The number that `OSError.errno` shows: that of the system's error, which may be wrapped in others, or where
/// a wrapper hides it, by the kind of error. Those of the kinds here are the same on every platform.
fn errno(error: &io::Error) -> Option<i32> {
    let inner = || std::error::Error::source(error)?.downcast_ref::<io::Error>().and_then(errno);
    error.raw_os_error().or_else(inner).or(match error.kind() {
        io::ErrorKind::NotFound => Some(2),
        io::ErrorKind::PermissionDenied => Some(13),
        io::ErrorKind::AlreadyExists => Some(17),
        io::ErrorKind::NotADirectory => Some(20),
        io::ErrorKind::IsADirectory => Some(21),
        io::ErrorKind::InvalidInput => Some(22),
        io::ErrorKind::StorageFull => Some(28),
        _ => None,
    })
}

/// `what` must be `expected`, but it is this object.
#[cold]
pub(crate) fn wrong_type(what: &str, expected: &str, object: &Bound<'_, PyAny>) -> Failure {
    let kind = object.get_type().fully_qualified_name().map_or_else(|_| "?".into(), |name| name.to_string());
    Failure::from(raised("TWINDEX_TYPE", format!("{what} must be {expected}, not {kind}: {}", shown(object))))
}

/// [`wrong_type`], where that is why a call raised. Other exceptions pass, such as that of a signal.
#[cold]
pub(crate) fn of_type_error(cause: PyErr, what: &str, expected: &str, object: &Bound<'_, PyAny>) -> Failure {
    let py = object.py();
    if cause.is_instance_of::<PyTypeError>(py) {
        wrong_type(what, expected, object).caused_by(py, cause)
    } else {
        cause.into()
    }
}

/// An object with memory, which it does not show in one piece.
#[cold]
pub(crate) fn no_bytes(what: &str, object: &Bound<'_, PyAny>, cause: PyErr) -> Failure {
    let message = format!("{what} must have its bytes in one piece, {cause}: {}", shown(object));
    Failure::from(raised("TWINDEX_TYPE", message)).caused_by(object.py(), cause)
}

/// A key of so many bytes, which begins with these.
#[cold]
pub(crate) fn key_too_long(len: usize, start: &[u8]) -> Failure {
    twindex::Error::KeyTooLong { len, start: Excerpt(start).to_string() }.into()
}

/// A group of more or fewer items than it should have.
#[cold]
pub(crate) fn wrong_length(what: &str, expected: usize, found: usize, group: &Bound<'_, PyAny>) -> Failure {
    let shown = shown(group);
    Failure::from(classes::PairLengthError::new_err(format!(
        "{what} must be groups of {expected} items, not of {found}: {shown}"
    )))
}

/// Errors of a code, whose message says what is wrong.
macro_rules! errors {
    ($($(#[$doc:meta])* $name:ident: $code:literal;)*) => {
        $($(#[$doc])*
        #[cold]
        pub(crate) fn $name(message: impl Into<String>) -> Failure {
            of_code($code, message.into())
        })*
    };
}

errors! {
    /// A misuse that no type shows beforehand.
    misuse: "TWINDEX_TYPE";
    /// An option that is unknown, out of range, or not to be combined with another.
    option: "TWINDEX_RANGE";
    /// A value that its codec cannot encode or decode.
    encoding: "TWINDEX_ENCODING";
}

/// An error of this code.
#[cold]
pub(crate) fn of_code(code: &str, message: String) -> Failure {
    Failure::from(raised(code, message))
}

/// Uses after an end.
macro_rules! ends {
    ($($(#[$doc:meta])* $name:ident: $code:literal, $message:literal;)*) => {
        $($(#[$doc])*
        #[cold]
        pub(crate) fn $name() -> Failure {
            of_code($code, $message.into())
        })*
    };
}

ends! {
    /// A call after the store was closed.
    closed: "TWINDEX_CLOSED", "the store is closed";
    /// A use of what belongs to the process that this one was forked from.
    forked: "TWINDEX_FORKED", "the store belongs to the process that this one was forked from; \
                               make or open a store in this process, or start processes by \"spawn\"";
    /// A use of a batch after its end.
    ended: "TWINDEX_CLOSED", "the batch has ended: it was committed or dropped";
    /// A use of a snapshot, or of its tables, after its end.
    snapshot_ended: "TWINDEX_ENDED", "the snapshot has ended: it was closed";
    /// A use of a transaction, or of its tables, after its end.
    transaction_ended: "TWINDEX_ENDED", "the transaction has ended: it was committed or dropped";
}

/// An integer of more than 64 bits.
#[cold]
pub(crate) fn overflow(what: &str, object: &Bound<'_, PyAny>) -> Failure {
    Failure::from(raised("TWINDEX_OVERFLOW", format!("{what} does not fit into 64 bits: {}", shown(object))))
}

/// A table that remembers a codec that has to be named. A pickle is one, as to read it runs what it says, and so is `object`.
#[cold]
pub(crate) fn unknown_codec(table: &str, of: &str, name: &str) -> Failure {
    let how = match name {
        "pickle" | "object" => "and reading it can run code: name it if you trust this file",
        _ => "which Twindex does not have: pass a twindex.Codec of that name",
    };
    Failure::from(raised(
        "TWINDEX_WRONG_CODEC",
        format!(
            "the {of} of table {table:?} have the codec {name:?}, {how}, or name \"bytes\" to get the stored bytes"
        ),
    ))
}

/// The `IndexError` of a table with fewer pairs.
#[cold]
pub(crate) fn position(index: impl std::fmt::Display) -> Failure {
    Failure::from(PyIndexError::new_err(format!("the table has no pair at position {index}")))
}

/// The `KeyError` of a mapping without this key.
#[cold]
pub(crate) fn missing(key: &Bound<'_, PyAny>) -> Failure {
    Failure::from(PyKeyError::new_err((key.clone().unbind(),)))
}

impl Failure {
    /// The same, raised from nothing: what was handled when it was raised is not shown with it.
    pub(crate) fn without_context(self, py: Python<'_>) -> Result<Self> {
        self.0.value(py).setattr(intern!(py, "__suppress_context__"), true)?;
        Ok(self)
    }

    /// The same, raised from `cause`.
    pub(crate) fn caused_by(self, py: Python<'_>, cause: PyErr) -> Self {
        self.0.set_cause(py, Some(cause));
        self
    }
}

/// An object in an error message, cut if it is long.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    static REPR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    match REPR.import(py, "reprlib", "repr").and_then(|repr| repr.call1((object,))) {
        Ok(text) => text.to_string(),
        Err(failure) => {
            keep_interrupt(py, &failure);
            "(no repr)".into()
        }
    }
}

/// Has Ctrl-C's error raised again once the call has returned, where it is no error of the call.
pub(crate) fn keep_interrupt(py: Python<'_>, failure: &PyErr) {
    if failure.is_instance_of::<PyKeyboardInterrupt>(py) {
        let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    }
}
