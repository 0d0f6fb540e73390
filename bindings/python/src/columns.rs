//! Pairs as columns, in memory as Apache Arrow has it: what `twindex._arrow` makes record batches of, and back.

use std::collections::TryReserveError;
use std::str::from_utf8;

use twindex_codec::{decimal, int};

use crate::buffer::Buffer;
use crate::prelude::*;

/// So many pairs are read at a time, or as many as have so many bytes, and signals looked for in between.
const READ_AT_ONCE: usize = 4096;
const READ_BYTES: usize = 1 << 20;
/// A batch ends once it has so many bytes.
const BATCH_BYTES: usize = 64 << 20;

/// What a column holds, and how a table stores it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Bytes,
    Text,
    Json,
    /// Integers, as keys and as values are.
    Ordered,
    Decimal,
}

impl Kind {
    /// The function of `pyarrow` that gives its type.
    fn name(self) -> &'static str {
        match self {
            Self::Bytes => "large_binary",
            Self::Text | Self::Json => "large_string",
            Self::Ordered | Self::Decimal => "int64",
        }
    }

    fn integer(self, stored: &[u8]) -> Option<twindex_codec::Result<i64>> {
        match self {
            Self::Bytes | Self::Text | Self::Json => None,
            Self::Ordered => Some(int::decode(stored)),
            Self::Decimal => Some(decimal::decode(stored)),
        }
    }
}

/// The kinds of a table's columns.
pub(crate) fn kinds(codecs: &Codecs) -> Result<(Kind, Kind)> {
    let none = |of: &str, name: &str| {
        error::misuse(format!(
            "{of} of the codec {name:?} have no type of Arrow: open the table with \"bytes\""
        ))
    };
    let keys = match &codecs.keys {
        KeyCodec::Bytes => Kind::Bytes,
        KeyCodec::Str => Kind::Text,
        KeyCodec::Int => Kind::Ordered,
        other => return Err(none("keys", other.name())),
    };
    let values = match &codecs.values {
        ValueCodec::Bytes => Kind::Bytes,
        ValueCodec::Str => Kind::Text,
        ValueCodec::Json => Kind::Json,
        ValueCodec::Int => Kind::Decimal,
        other => return Err(none("values", other.name())),
    };
    Ok((keys, values))
}

/// The names of their types.
pub(crate) fn types(codecs: &Codecs) -> Result<(&'static str, &'static str)> {
    kinds(codecs).map(|(keys, values)| (keys.name(), values.name()))
}

/// A column that is made.
struct Column {
    kind: Kind,
    /// Where each item ends in `data`, behind a zero; nothing of integers.
    ends: Vec<u8>,
    data: Vec<u8>,
}

impl Column {
    fn new(kind: Kind) -> Self {
        let ends = if kind.integer(&[]).is_some() { Vec::new() } else { 0_i64.to_ne_bytes().into() };
        Self { kind, ends, data: Vec::new() }
    }

    /// Adds what is stored. Returns whether it can be read.
    fn push(&mut self, stored: &[u8]) -> std::result::Result<bool, TryReserveError> {
        if let Some(number) = self.kind.integer(stored) {
            let Ok(number) = number else { return Ok(false) };
            self.data.try_reserve(size_of::<i64>())?;
            self.data.extend(number.to_ne_bytes());
            return Ok(true);
        }
        if self.kind != Kind::Bytes && from_utf8(stored).is_err() {
            return Ok(false);
        }
        self.data.try_reserve(stored.len())?;
        self.ends.try_reserve(size_of::<i64>())?;
        self.data.extend_from_slice(stored);
        self.ends.extend((self.data.len() as u64).cast_signed().to_ne_bytes());
        Ok(true)
    }

    fn objects<'py>(&self, py: Python<'py>) -> Result<Vec<Bound<'py, PyAny>>> {
        let ends = self.kind.integer(&[]).is_none().then_some(&self.ends);
        ends.into_iter().chain([&self.data]).map(|part| Ok(objects::bytes(py, part)?)).collect()
    }
}

#[pymethods]
impl Scan {
    /// The next pairs as columns: how many, and the buffers of the keys and of the values. None at the end.
    #[pyo3(signature = (most, /))]
    #[expect(clippy::type_complexity, reason = "two lists of buffers")]
    fn _columns<'py>(
        &self,
        py: Python<'py>,
        most: usize,
    ) -> Result<Option<(usize, Vec<Bound<'py, PyAny>>, Vec<Bound<'py, PyAny>>)>> {
        let (keys, values) = kinds(self.codecs())?;
        let (mut keys, mut values, mut rows) = (Column::new(keys), Column::new(values), 0);
        while rows < most && keys.data.len() + values.data.len() < BATCH_BYTES {
            let (asked, mut bytes, mut failure) = ((most - rows).min(READ_AT_ONCE), 0, None);
            let read = self.read(py, asked, |key, value| {
                bytes += key.len() + value.len();
                let made = match (keys.push(key), values.push(value)) {
                    (Ok(true), Ok(true)) => Ok(()),
                    (Err(short), _) | (_, Err(short)) => Err(Failure::from(short)),
                    (Ok(false), _) => self.codecs().keys.make(py, key).map(drop),
                    (_, Ok(false)) => self.codecs().values.make(py, value).map(drop),
                };
                failure = made.err();
                failure.is_none() && bytes < READ_BYTES
            })?;
            if let Some(failure) = failure {
                return Err(failure);
            }
            rows += read;
            if read < asked && bytes < READ_BYTES {
                break;
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        Ok(Some((rows, keys.objects(py)?, values.objects(py)?)))
    }
}

fn broken() -> Failure {
    error::misuse("the buffers of a column do not fit its length")
}

/// Copies of buffers: others may write to them.
pub(crate) fn copies(buffers: &[Bound<'_, PyAny>]) -> Result<Vec<Vec<u8>>> {
    let copy = |object| match Buffer::of("column", object)? {
        Some(buffer) => buffer.copy(usize::MAX),
        None => Err(error::wrong_type("column", "a buffer", object)),
    };
    buffers.iter().map(copy).collect()
}

/// The items of a column, as a table stores them.
pub(crate) fn items<'a>(
    what: &str,
    kind: Kind,
    rows: usize,
    buffers: &'a [Vec<u8>],
) -> Result<Vec<Encoded<'a>>> {
    let mut items = with_room(rows)?;
    let numbers = |buffer: &'a [u8]| buffer.as_chunks().0.iter().map(|bytes| i64::from_ne_bytes(*bytes));
    match (kind, buffers) {
        (Kind::Ordered, [data]) if data.len() == 8 * rows => {
            items.extend(numbers(data).map(|number| Encoded::Ordered(int::encode(number))));
        }
        (Kind::Decimal, [data]) if data.len() == 8 * rows => {
            items.extend(numbers(data).map(|number| Encoded::Decimal(decimal::encode(number))));
        }
        (Kind::Bytes | Kind::Text | Kind::Json, [ends, data]) if ends.len() == 8 * (rows + 1) => {
            let first = numbers(ends).next().ok_or_else(broken)?;
            let at = |end: i64| end.checked_sub(first).and_then(|at| usize::try_from(at).ok());
            for (start, end) in numbers(ends).zip(numbers(ends).skip(1)) {
                let item = at(start).zip(at(end)).and_then(|(start, end)| data.get(start..end));
                let item = item.ok_or_else(broken)?;
                if kind != Kind::Bytes && from_utf8(item).is_err() {
                    return Err(error::encoding(format!("the {what} in row {} is not UTF-8", items.len())));
                }
                items.push(Encoded::Borrowed(item));
            }
        }
        _ => return Err(broken()),
    }
    Ok(items)
}
