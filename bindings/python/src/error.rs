//! Errors as the classes of `twindex.errors`.

use std::collections::TryReserveError;
use std::io;

use pyo3::PyTypeInfo;
use pyo3::exceptions::{PyIndexError, PyKeyError, PyKeyboardInterrupt, PyMemoryError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use twindex_codec::Excerpt;

use self::classes::{
    ArgumentTypeError, CacheLimitError, ClosedError, CodecNameError, CorruptError, EncodingError,
    ForeignTableError, ForkedError, InUseError, IntegerOverflowError, IoError, KeyTooLongError,
    LogFailedError, MemoryLimitError, MissingFileError, NameInUseError, NoFileError, NoLogError,
    NoTableError, NotAPositionError, NotAnIntegerError, OptionError, PairLengthError, PositionGoneError,
    ReadOnlyError, TableDroppedError, TableNameError, UnexpectedError, UnknownDurabilityError,
    UnknownIndexError, ValueTooLargeError, WrongCodecError, WrongIndexError,
};

#[allow(missing_docs, reason = "the macro's types are documented where they are defined, in Python")]
mod classes {
    use pyo3::import_exception;

    import_exception!(twindex.errors, Error);
    import_exception!(twindex.errors, ArgumentTypeError);
    import_exception!(twindex.errors, CacheLimitError);
    import_exception!(twindex.errors, ClosedError);
    import_exception!(twindex.errors, CodecNameError);
    import_exception!(twindex.errors, CorruptError);
    import_exception!(twindex.errors, EncodingError);
    import_exception!(twindex.errors, ForeignTableError);
    import_exception!(twindex.errors, UnexpectedError);
    import_exception!(twindex.errors, ForkedError);
    import_exception!(twindex.errors, InUseError);
    import_exception!(twindex.errors, IntegerOverflowError);
    import_exception!(twindex.errors, IoError);
    import_exception!(twindex.errors, KeyTooLongError);
    import_exception!(twindex.errors, LogFailedError);
    import_exception!(twindex.errors, MemoryLimitError);
    import_exception!(twindex.errors, MissingFileError);
    import_exception!(twindex.errors, NameInUseError);
    import_exception!(twindex.errors, NoFileError);
    import_exception!(twindex.errors, NoLogError);
    import_exception!(twindex.errors, NoTableError);
    import_exception!(twindex.errors, NotAPositionError);
    import_exception!(twindex.errors, NotAnIntegerError);
    import_exception!(twindex.errors, OptionError);
    import_exception!(twindex.errors, PairLengthError);
    import_exception!(twindex.errors, PositionGoneError);
    import_exception!(twindex.errors, ReadOnlyError);
    import_exception!(twindex.errors, TableDroppedError);
    import_exception!(twindex.errors, TableNameError);
    import_exception!(twindex.errors, UnknownDurabilityError);
    import_exception!(twindex.errors, UnknownIndexError);
    import_exception!(twindex.errors, ValueTooLargeError);
    import_exception!(twindex.errors, WrongCodecError);
    import_exception!(twindex.errors, WrongIndexError);
}

/// A Python exception, which the engine's errors turn into. In a box, so that a result is two words.
pub(crate) struct Failure(Box<PyErr>);

pub(crate) type Result<T> = std::result::Result<T, Failure>;

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

        let message = error.to_string();
        Self::from(match error {
            Durable::Engine(error) => return error.into(),
            Durable::Io { source, .. } => io_error(errno(&source), message),
            Durable::InUse { .. } => InUseError::new_err(message),
            Durable::Damaged { .. } => CorruptError::new_err(message),
            Durable::LogFailed { .. } => LogFailedError::new_err(message),
            Durable::ReadOnly { .. } => ReadOnlyError::new_err(message),
            Durable::Closed { .. } => ClosedError::new_err(message),
            Durable::NoFile => NoFileError::new_err(message),
            Durable::UnknownDurability { .. } => UnknownDurabilityError::new_err(message),
            Durable::PositionGone { position, oldest, .. } => {
                PositionGoneError::new_err((message, position.to_string(), oldest.to_string()))
            }
            Durable::NoLog { .. } => NoLogError::new_err(message),
            Durable::NotAPosition { .. } => NotAPositionError::new_err(message),
            Durable::ForeignTable { .. } => ForeignTableError::new_err(message),
            Durable::Unexpected { .. } => UnexpectedError::new_err(message),
            _ => classes::Error::new_err(message),
        })
    }
}

impl From<twindex::Error> for Failure {
    #[cold]
    fn from(error: twindex::Error) -> Self {
        use twindex::Error as Engine;

        let message = error.to_string();
        Self::from(match error {
            Engine::KeyTooLong { .. } => KeyTooLongError::new_err(message),
            Engine::ValueTooLarge { .. } => ValueTooLargeError::new_err(message),
            Engine::TableName { .. } => TableNameError::new_err(message),
            Engine::WrongIndex { .. } => WrongIndexError::new_err(message),
            Engine::WrongCodec { .. } => WrongCodecError::new_err(message),
            Engine::CodecName { .. } => CodecNameError::new_err(message),
            Engine::NameInUse { .. } => NameInUseError::new_err(message),
            Engine::NoTable { .. } => NoTableError::new_err(message),
            Engine::UnknownIndex { .. } => UnknownIndexError::new_err(message),
            Engine::TableDropped { .. } => TableDroppedError::new_err(message),
            Engine::MemoryLimit { .. } => MemoryLimitError::new_err(message),
            Engine::NotAnInteger { .. } => NotAnIntegerError::new_err(message),
            Engine::Overflow { .. } => IntegerOverflowError::new_err(message),
            Engine::Corrupt { .. } => CorruptError::new_err(message),
            Engine::Io(error) if error.kind() == io::ErrorKind::OutOfMemory => PyMemoryError::new_err(()),
            Engine::Io(error) => io_error(errno(&error), message),
            _ => classes::Error::new_err(message),
        })
    }
}

/// What a write to a cache failed with.
#[cold]
pub(crate) fn of_cache(error: twindex::Error) -> Failure {
    match error {
        twindex::Error::MemoryLimit { .. } => Failure::from(CacheLimitError::new_err(error.to_string())),
        error => error.into(),
    }
}

impl From<twindex_codec::Error> for Failure {
    #[cold]
    fn from(error: twindex_codec::Error) -> Self {
        use twindex_codec::Error as Codec;

        let message = error.to_string();
        Self::from(match error {
            Codec::NotADecimal { .. } => NotAnIntegerError::new_err(message),
            Codec::OutOfRange => IntegerOverflowError::new_err(message),
            Codec::TooLong { .. } => KeyTooLongError::new_err(message),
            Codec::OutOfMemory => PyMemoryError::new_err(()),
            _ => EncodingError::new_err(message),
        })
    }
}

/// What went wrong with a file. `except FileNotFoundError` catches that there is none.
fn io_error(number: Option<i32>, message: String) -> PyErr {
    if number == Some(2) {
        os_error::<MissingFileError>(number, message)
    } else {
        os_error::<IoError>(number, message)
    }
}

/// An `OSError`, with its number where that is known.
fn os_error<T: PyTypeInfo>(number: Option<i32>, message: String) -> PyErr {
    match number {
        Some(number) => PyErr::new::<T, _>((number, message)),
        None => PyErr::new::<T, _>(message),
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
    Failure::from(ArgumentTypeError::new_err(format!(
        "{what} must be {expected}, not {kind}: {}",
        shown(object)
    )))
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
    Failure::from(ArgumentTypeError::new_err(message)).caused_by(object.py(), cause)
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
    Failure::from(PairLengthError::new_err(format!(
        "{what} must be groups of {expected} items, not of {found}: {shown}"
    )))
}

/// A misuse that no type shows beforehand.
#[cold]
pub(crate) fn misuse(message: impl Into<String>) -> Failure {
    Failure::from(ArgumentTypeError::new_err(message.into()))
}

/// An option that is unknown, out of range, or not to be combined with another.
#[cold]
pub(crate) fn option(message: impl Into<String>) -> Failure {
    Failure::from(OptionError::new_err(message.into()))
}

/// A value that its codec cannot encode or decode.
#[cold]
pub(crate) fn encoding(message: impl Into<String>) -> Failure {
    Failure::from(EncodingError::new_err(message.into()))
}

/// An integer of more than 64 bits.
#[cold]
pub(crate) fn overflow(what: &str, object: &Bound<'_, PyAny>) -> Failure {
    Failure::from(IntegerOverflowError::new_err(format!(
        "{what} does not fit into 64 bits: {}",
        shown(object)
    )))
}

/// A call after the store was closed.
#[cold]
pub(crate) fn closed() -> Failure {
    Failure::from(ClosedError::new_err("the store is closed"))
}

/// A use of what belongs to the process that this one was forked from.
#[cold]
pub(crate) fn forked() -> Failure {
    Failure::from(ForkedError::new_err(
        "the store belongs to the process that this one was forked from; \
         make or open a store in this process, or start processes by \"spawn\"",
    ))
}

/// A table that remembers a codec that has to be named. A pickle is one, as to read it runs what it says, and so is `object`.
#[cold]
pub(crate) fn unknown_codec(table: &str, of: &str, name: &str) -> Failure {
    let how = match name {
        "pickle" | "object" => "which runs what it reads: name it where you trust who wrote it",
        _ => "which is none of Twindex: name it, as a twindex.Codec",
    };
    Failure::from(WrongCodecError::new_err(format!(
        "the {of} of table {table:?} have the codec {name:?}, {how}, or \"bytes\" to see what is stored"
    )))
}

/// A use of a batch after its end.
#[cold]
pub(crate) fn ended() -> Failure {
    Failure::from(ClosedError::new_err("the batch has ended: it was committed or given up"))
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

/// An object in an error message, cut where it is long.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    static REPR: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    match REPR.import(py, "reprlib", "repr").and_then(|repr| repr.call1((object,))) {
        Ok(text) => text.to_string(),
        Err(failure) => {
            if failure.is_instance_of::<PyKeyboardInterrupt>(py) {
                // It is raised again once the call has returned.
                let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
            }
            "(no repr)".into()
        }
    }
}
