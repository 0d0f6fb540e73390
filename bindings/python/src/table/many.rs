//! The verbs for many keys, which work outside the interpreter.

use pyo3::prelude::*;
use pyo3::types::PyList;

use super::Table;
use crate::allocation::{gather, with_room};
use crate::arena::Arena;
use crate::codec::Encoded;
use crate::error::Result;
use crate::groups::{Groups, Keys};
use crate::interrupts::{AT_ONCE, Interrupts};
use crate::objects::{self, Flags};
use crate::progress::check_not_telling;
use crate::verbs::in_turns;

/// So many values at a time are read outside the interpreter: enough to make leaving it cheap, few enough
/// to stay in the processor's cache until they are objects.
const READ_AT_ONCE: usize = 1024;
/// As many as come to so many bytes, if the rest are as long as those before; of the first, so many.
const READ_BYTES: usize = 4 << 20;
const READ_FIRST: usize = 64;

/// So many pairs at a time are written outside the interpreter, and signals looked for in between: each of these turns is a
/// record on disk where writes wait for it, so that they are not to be many.
const WRITTEN_AT_ONCE: usize = 4 * AT_ONCE;
/// Or as many as have so many bytes.
const WRITTEN_BYTES: usize = 16 << 20;

impl Table {
    /// Does `work` with all items outside the interpreter, some at a time.
    pub(super) fn in_turns<T: Sync, R: Send>(
        &self,
        py: Python<'_>,
        items: &[T],
        bytes: impl Fn(&T) -> usize,
        work: impl Sync + Fn(&twindex_durable::Table, &[T]) -> twindex_durable::Result<Vec<R>>,
    ) -> Result<Vec<R>> {
        in_turns(py, items, (WRITTEN_AT_ONCE, WRITTEN_BYTES), bytes, |part| {
            let table = self.open()?;
            if table.may_wait() {
                check_not_telling()?;
            }
            Ok(py.detach(|| work(table, part))?)
        })
    }
}

#[pymethods]
impl Table {
    /// The value of each key, None for those that are absent.
    ///
    /// >>> users = Store().table("users")
    /// >>> users["ada"] = "1815"
    /// >>> users.select_many(["ada", "bob"])
    /// ['1815', None]
    #[pyo3(signature = (keys, /))]
    fn select_many<'py>(&self, keys: &Bound<'py, PyAny>) -> Result<Bound<'py, PyList>> {
        let py = keys.py();
        let keys = Keys::new(keys, &self.codecs.keys)?;
        let mut values = with_room(keys.len())?;
        let mut arena = Arena::with_room(keys.len().min(READ_AT_ONCE))?;
        while values.len() < keys.len() {
            let fit = (READ_BYTES * arena.len()).checked_div(arena.bytes()).unwrap_or(READ_AT_ONCE);
            let most = if values.is_empty() { READ_FIRST } else { fit.clamp(1, READ_AT_ONCE) };
            let keys = keys.encode(values.len(), most, |key| self.codecs.keys.encode_sought(key))?;
            let table = self.open()?;
            arena.clear();
            py.detach(|| table.in_memory().select_many(&keys, |_, value| arena.push(value)));
            arena.check()?;
            for value in arena.iter() {
                values.push(match value {
                    Some(value) => self.codecs.values.decode(py, value)?,
                    None => py.None().into_bound(py),
                });
            }
            py.check_signals()?;
        }
        self.store.check_open()?;
        Ok(objects::list(py, values)?)
    }

    /// `compare_and_swap` for each key, expected and new value: whether each took effect.
    #[pyo3(signature = (swaps, /))]
    fn compare_and_swap_many(&self, swaps: &Bound<'_, PyAny>) -> Result<Flags> {
        let py = swaps.py();
        let swaps = Groups::<3>::new("swaps", swaps)?;
        let mut encoded = with_room(swaps.len())?;
        let mut interrupts = Interrupts::default();
        for [key, expected, new] in swaps.iter() {
            let key = self.codecs.keys.encode(key)?;
            let (expected, new) =
                (self.codecs.values.encode_present(expected)?, self.codecs.values.encode_present(new)?);
            let bytes = |value: &Option<Encoded<'_>>| value.as_ref().map_or(0, Encoded::len);
            interrupts.item_of(py, key.len() + bytes(&expected) + bytes(&new))?;
            encoded.push((key, expected, new));
        }
        let slices = encoded.iter().map(|(key, expected, new)| {
            Ok((key, expected.as_ref().map(AsRef::as_ref), new.as_ref().map(AsRef::as_ref)))
        });
        let swaps: Vec<twindex::Swap<'_, &Encoded<'_>>> = gather(py, slices)?;
        let bytes = |(key, _, new): &twindex::Swap<'_, &Encoded<'_>>| key.len() + new.map_or(0, <[u8]>::len);
        self.in_turns(py, &swaps, bytes, |table, swaps| table.compare_and_swap_many(swaps)).map(Flags)
    }
}
