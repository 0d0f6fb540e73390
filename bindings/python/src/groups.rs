//! The arguments of the `_many` verbs.
//!
//! They are collected first: Python code that runs while they are read cannot change them afterwards, and
//! a reference to each keeps its memory while the batch is outside the interpreter.

use std::mem::ManuallyDrop;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::sync::critical_section::with_critical_section;

use crate::arena::Arena;
use crate::dict::each_pair;
use crate::objects::{content, prefetch};
use crate::prelude::*;

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
        let mut interrupts = Interrupts::default();
        for group in &groups {
            interrupts.item(sequence.py())?;
            let before = flat.len();
            if let Ok(tuple) = group.cast_exact::<PyTuple>() {
                lend_items(&mut flat, tuple)?;
            } else {
                let items = items(what, group)?;
                flat.try_reserve(items.len())?;
                held.try_reserve(items.len())?;
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
        let mut pairs = Self::default();
        if let Ok(dict) = source.cast_exact::<PyDict>() {
            pairs.extend_by_dict(dict)?;
            return Ok(pairs);
        }
        if source.cast_exact::<PyList>().is_ok() || !source.hasattr("keys")? {
            return Self::new(what, source);
        }
        let mut interrupts = Interrupts::default();
        for key in source.call_method0("keys")?.try_iter()? {
            let key = key?;
            let value = source.get_item(&key)?;
            pairs.hold(key, value)?;
            interrupts.item(source.py())?;
        }
        Ok(pairs)
    }

    pub(crate) fn extend_by_dict(&mut self, dict: &Bound<'py, PyDict>) -> Result<()> {
        self.flat.try_reserve(2 * dict.len())?;
        self.held.try_reserve(2 * dict.len())?;
        each_pair(dict, |key, value| self.hold(key, value))
    }

    fn hold(&mut self, key: Bound<'py, PyAny>, value: Bound<'py, PyAny>) -> Result<()> {
        self.flat.try_reserve(2)?;
        self.held.try_reserve(2)?;
        self.flat.extend([lend(&key), lend(&value)]);
        self.held.extend([key, value]);
        Ok(())
    }
}

/// The items of a list, a tuple or anything else to iterate over.
pub(crate) fn items<'py>(what: &str, sequence: &Bound<'py, PyAny>) -> Result<Vec<Bound<'py, PyAny>>> {
    let py = sequence.py();
    // Subclasses may make their own items.
    if let Ok(list) = sequence.cast_exact::<PyList>() {
        return items_of_list(list);
    }
    if let Ok(tuple) = sequence.cast_exact::<PyTuple>() {
        return gather(py, tuple.iter().map(Ok));
    }
    // One string or byte string is iterable too, but it is a key, not keys.
    if sequence.is_instance_of::<PyString>() || sequence.is_instance_of::<PyBytes>() {
        return Err(error::wrong_type(what, "iterable", sequence));
    }
    match sequence.try_iter() {
        Ok(iterator) => gather(py, iterator.map(|item| Ok(item?))),
        Err(cause) if cause.is_instance_of::<PyTypeError>(py) => {
            Err(error::wrong_type(what, "iterable", sequence).caused_by(py, cause))
        }
        Err(error) => Err(error.into()),
    }
}

/// Counts references only once the objects have had time to come into the cache.
fn items_of_list<'py>(list: &Bound<'py, PyList>) -> Result<Vec<Bound<'py, PyAny>>> {
    let mut items = with_room(list.len())?;
    each_block(list, |lent| {
        items.try_reserve(lent.len())?;
        items.extend(asked_ahead(lent).map(|object| Bound::clone(object)));
        Ok(true)
    })?;
    Ok(items)
}

/// Shows the items of a list, some at a time and without references of their own, for as long as `show` wants more.
/// `show` must not run Python code. Between two blocks a signal's handler may.
fn each_block<'py>(
    list: &Bound<'py, PyList>,
    mut show: impl FnMut(&[Lent<'py>]) -> Result<bool>,
) -> Result<()> {
    let py = list.py();
    let mut lent = with_room(list.len().min(AT_ONCE))?;
    let mut from = 0;
    let mut block = || {
        let to = list.len().min(from + AT_ONCE);
        lent.clear();
        // SAFETY: the positions are in the list, and nothing drops a reference that was not counted. Until Python code runs
        // the list stays as it is: the interpreter's lock keeps other threads away, or the section around this block.
        lent.extend((from..to).map(|at| unsafe {
            let item = ffi::PyList_GetItem(list.as_ptr(), at.cast_signed());
            ManuallyDrop::new(Bound::from_owned_ptr(py, item))
        }));
        from = to;
        Ok::<_, Failure>(show(&lent)? && to < list.len())
    };
    while with_critical_section(list, &mut block)? {
        py.check_signals()?;
    }
    Ok(())
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
    pub(crate) fn new(sequence: &Bound<'py, PyAny>, codec: &KeyCodec) -> Result<Self> {
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
    pub(crate) fn encode<'a>(
        &'a self,
        from: usize,
        most: usize,
        encode: impl Fn(&'a Bound<'py, PyAny>) -> Result<Encoded<'a>>,
    ) -> Result<Vec<Encoded<'a>>> {
        let to = self.len().min(from.saturating_add(most));
        let mut encoded = with_room(to - from)?;
        match self {
            Self::Copied(keys) => {
                encoded.extend(keys.iter_from(from).flatten().take(most).map(Encoded::Borrowed));
            }
            Self::Held(keys) => {
                let mut interrupts = Interrupts::default();
                for key in &keys[from..to] {
                    let bytes = encode(key)?;
                    interrupts.item_of(key.py(), bytes.len())?;
                    encoded.push(bytes);
                }
            }
        }
        Ok(encoded)
    }

    pub(crate) fn encode_all<'a>(
        &'a self,
        encode: impl Fn(&'a Bound<'py, PyAny>) -> Result<Encoded<'a>>,
    ) -> Result<Vec<Encoded<'a>>> {
        self.encode(0, self.len(), encode)
    }
}

/// The items of a list where they are `bytes`, and short.
fn copy_list(list: &Bound<'_, PyList>) -> Result<Option<Arena>> {
    let mut copied = Arena::with_room(list.len())?;
    let mut all_short = true;
    each_block(list, |lent| {
        for object in asked_ahead(lent) {
            match object.cast_exact::<PyBytes>().map(content) {
                Ok(bytes) if bytes.len() <= SHORT => copied.push(Some(bytes)),
                _ => {
                    all_short = false;
                    break;
                }
            }
        }
        Ok(all_short)
    })?;
    copied.check()?;
    Ok(all_short.then_some(copied))
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
    flat.try_reserve(tuple.len())?;
    for at in 0..tuple.len().cast_signed() {
        // SAFETY: the position is in the tuple, so this is an item that lives as long as the tuple.
        flat.push(unsafe {
            ManuallyDrop::new(Bound::from_owned_ptr_or_err(py, ffi::PyTuple_GetItem(tuple.as_ptr(), at))?)
        });
    }
    Ok(())
}
