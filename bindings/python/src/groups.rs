//! The arguments of the `_many` verbs.
//!
//! They are collected first: Python code that runs while they are read cannot change them afterwards, and
//! a reference to each keeps its memory while the batch is outside the interpreter.

use std::mem::ManuallyDrop;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList, PyString, PyTuple};

use crate::arena::Arena;
use crate::codec::{Encoded, KeyCodec};
use crate::error::{self, Result};
use crate::objects::{content, prefetch};
use crate::room::{gather, with_room};

/// So many objects ahead are asked for: what a batch is made of seldom lies in the processor's cache.
const AHEAD: usize = 16;

/// Keys of so many bytes are copied.
const SHORT: usize = 64;

/// An object that something else keeps alive.
type Lent<'py> = ManuallyDrop<Bound<'py, PyAny>>;

/// Keys with what belongs to each, `N` objects a group, one group after another.
#[derive(Default)]
pub(crate) struct Groups<'py, const N: usize> {
    /// Each is in `held`, or in a tuple that is, which has its items for as long as it lives.
    flat: Vec<Lent<'py>>,
    held: Vec<Bound<'py, PyAny>>,
}

impl<'py, const N: usize> Groups<'py, N> {
    /// From a sequence of groups.
    pub(crate) fn new(what: &str, sequence: &Bound<'py, PyAny>) -> Result<Self> {
        let groups = items(what, sequence)?;
        let mut flat = with_room(N * groups.len())?;
        let mut held = Vec::new();
        for group in &groups {
            let before = flat.len();
            if let Ok(tuple) = group.cast::<PyTuple>() {
                lend_items(&mut flat, tuple)?;
            } else {
                let items = items(what, group)?;
                flat.extend(items.iter().map(lend));
                held.extend(items);
            }
            let found = flat.len() - before;
            if found != N {
                return Err(error::wrong_length(what, N, found, group));
            }
        }
        held.try_reserve(groups.len())?;
        held.extend(groups);
        Ok(Self { flat, held })
    }

    pub(crate) fn len(&self) -> usize {
        self.flat.len() / N
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &[Lent<'py>; N]> {
        let groups = self.flat.as_chunks().0;
        groups.iter().enumerate().map(|(at, group)| {
            if let Some(ahead) = groups.get(at + AHEAD) {
                for object in ahead {
                    prefetch(object);
                }
            }
            group
        })
    }
}

impl<'py> Groups<'py, 2> {
    /// From a mapping, or from a sequence of pairs, as `dict.update` does.
    pub(crate) fn pairs(what: &str, source: &Bound<'py, PyAny>) -> Result<Self> {
        if let Ok(dict) = source.cast_exact::<PyDict>() {
            let mut pairs = Self::default();
            pairs.extend_by_dict(dict);
            return Ok(pairs);
        }
        if source.cast_exact::<PyList>().is_ok() || !source.hasattr("keys")? {
            return Self::new(what, source);
        }
        let mut pairs = Self::default();
        for key in source.call_method0("keys")?.try_iter()? {
            let key = key?;
            let value = source.get_item(&key)?;
            pairs.hold(key, value);
        }
        Ok(pairs)
    }

    pub(crate) fn extend_by_dict(&mut self, dict: &Bound<'py, PyDict>) {
        for (key, value) in dict {
            self.hold(key, value);
        }
    }

    fn hold(&mut self, key: Bound<'py, PyAny>, value: Bound<'py, PyAny>) {
        self.flat.extend([lend(&key), lend(&value)]);
        self.held.extend([key, value]);
    }
}

/// The items of a list, a tuple or anything else to iterate over.
pub(crate) fn items<'py>(what: &str, sequence: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>> {
    if let Ok(list) = sequence.cast::<PyList>() {
        return items_of_list(list);
    }
    if let Ok(tuple) = sequence.cast::<PyTuple>() {
        return gather(tuple.iter().map(Ok));
    }
    // One string or byte string is iterable too, but it is a key, not keys.
    if sequence.is_instance_of::<PyString>() || sequence.is_instance_of::<PyBytes>() {
        return Err(error::wrong_type(what, "iterable", sequence));
    }
    match sequence.try_iter() {
        Ok(iterator) => gather(iterator.map(|item| Ok(item?))),
        Err(cause) if cause.is_instance_of::<PyTypeError>(sequence.py()) => {
            Err(error::wrong_type(what, "iterable", sequence).caused_by(sequence.py(), cause))
        }
        Err(error) => Err(error.into()),
    }
}

/// Counts references only once the objects have had time to come into the cache.
fn items_of_list<'py>(list: &Bound<'py, PyList>) -> Result<Vec<Bound<'py, PyAny>>> {
    let lent = lend_list(list)?;
    gather(asked_ahead(&lent).map(|object| Ok(Bound::clone(object))))
}

/// The items of a list without references of their own. They are good until Python code runs.
fn lend_list<'py>(list: &Bound<'py, PyList>) -> Result<Vec<Lent<'py>>> {
    let py = list.py();
    let mut lent = with_room(list.len())?;
    // SAFETY: the positions are in the list, and nothing drops a reference that was not counted. The module is loaded
    // only where one thread at a time runs the interpreter, so the list stays as it is until Python code runs.
    lent.extend((0..list.len().cast_signed()).map(|at| unsafe {
        ManuallyDrop::new(Bound::from_owned_ptr(py, ffi::PyList_GetItem(list.as_ptr(), at)))
    }));
    Ok(lent)
}

/// Each object, some time after its memory was asked for.
fn asked_ahead<'a, 'py>(objects: &'a [Lent<'py>]) -> impl Iterator<Item = &'a Lent<'py>> {
    objects.iter().enumerate().map(|(at, object)| {
        if let Some(ahead) = objects.get(at + AHEAD) {
            prefetch(ahead);
        }
        object
    })
}

/// The keys of a batch.
pub(crate) enum Keys<'py> {
    /// Short ones, which take less time to copy than to count references to.
    Copied(Arena),
    Held(Vec<Bound<'py, PyAny>>),
}

impl<'py> Keys<'py> {
    pub(crate) fn new(sequence: &Bound<'py, PyAny>, codec: KeyCodec) -> Result<Self> {
        if let (KeyCodec::Bytes, Ok(list)) = (codec, sequence.cast_exact::<PyList>())
            && let Some(copied) = copy_list(list)?
        {
            return Ok(Self::Copied(copied));
        }
        items("keys", sequence).map(Self::Held)
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Copied(keys) => keys.len(),
            Self::Held(keys) => keys.len(),
        }
    }

    /// Those from one position on, so many or up to the last.
    pub(crate) fn encode(&self, from: usize, most: usize, codec: KeyCodec) -> Result<Vec<Encoded<'_>>> {
        let to = self.len().min(from.saturating_add(most));
        let mut encoded = with_room(to - from)?;
        match self {
            Self::Copied(keys) => {
                encoded.extend(keys.iter_from(from).flatten().take(most).map(Encoded::Borrowed));
            }
            Self::Held(keys) => {
                for key in &keys[from..to] {
                    encoded.push(codec.encode(key)?);
                }
            }
        }
        Ok(encoded)
    }

    pub(crate) fn encode_all(&self, codec: KeyCodec) -> Result<Vec<Encoded<'_>>> {
        self.encode(0, self.len(), codec)
    }
}

/// The items of a list where they are `bytes`, and short.
fn copy_list(list: &Bound<'_, PyList>) -> Result<Option<Arena>> {
    let lent = lend_list(list)?;
    let mut copied = Arena::with_room(lent.len())?;
    for object in asked_ahead(&lent) {
        match object.cast_exact::<PyBytes>().map(content) {
            Ok(bytes) if bytes.len() <= SHORT => copied.push(Some(bytes)),
            _ => return Ok(None),
        }
    }
    copied.check()?;
    Ok(Some(copied))
}

/// The object without a reference of its own.
fn lend<'py>(object: &Bound<'py, PyAny>) -> Lent<'py> {
    // SAFETY: the pointer is valid, and what is made of it never drops a reference.
    ManuallyDrop::new(unsafe { Bound::from_owned_ptr(object.py(), object.as_ptr()) })
}

/// The items of a tuple without references of their own.
#[inline]
fn lend_items<'py>(flat: &mut Vec<Lent<'py>>, tuple: &Bound<'py, PyTuple>) -> Result<()> {
    let py = tuple.py();
    for at in 0..tuple.len().cast_signed() {
        // SAFETY: the position is in the tuple, so this is an item that lives as long as the tuple.
        flat.push(unsafe {
            ManuallyDrop::new(Bound::from_owned_ptr_or_err(py, ffi::PyTuple_GetItem(tuple.as_ptr(), at))?)
        });
    }
    Ok(())
}
