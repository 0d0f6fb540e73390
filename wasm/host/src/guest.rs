//! What one instance holds.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;

use wasmtime::component::{Resource, ResourceTable};

use crate::bucket::{Bucket, Cas};
use crate::refused::{Refused, Result};

/// How many listings of sorted tables an instance may have under way, by cursors that are numbers.
const LISTINGS: usize = 16;

/// A guest's handle of a bucket, which is a `table` of `twindex:engine` as well.
pub(crate) type Handle = Resource<Arc<Bucket>>;

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) handles: usize,
    pub(crate) answer: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { handles: 1024, answer: 64 << 20 }
    }
}

/// The buckets and handles of one instance of a component.
/// [`KeyValue::guest`](crate::KeyValue::guest) makes it.
pub struct Guest {
    pub(crate) buckets: Arc<HashMap<String, Arc<Bucket>>>,
    pub(crate) limits: Limits,
    handles: ResourceTable,
    /// The bytes that its swaps hold.
    held: usize,
    /// The newest listings: their cursors, and the keys behind which they go on.
    listings: VecDeque<(u64, Vec<u8>)>,
    last_cursor: u64,
}

impl Guest {
    pub(crate) fn new(buckets: Arc<HashMap<String, Arc<Bucket>>>, limits: Limits) -> Self {
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(limits.handles);
        Self { buckets, limits, handles, held: 0, listings: VecDeque::new(), last_cursor: 0 }
    }

    pub(crate) fn find(&self, name: &str) -> Result<Arc<Bucket>> {
        self.buckets.get(name).cloned().ok_or_else(|| Refused::NoSuchStore(name.chars().take(80).collect()))
    }

    pub(crate) fn open(&mut self, name: &str) -> Result<Handle> {
        let bucket = self.find(name)?;
        self.push(bucket)
    }

    pub(crate) fn push<T: Send + 'static>(&mut self, entry: T) -> Result<Resource<T>> {
        self.handles.push(entry).map_err(|_| Refused::Handles(self.limits.handles))
    }

    /// The bucket of a handle. wasmtime lets a guest pass no handles but its own.
    pub(crate) fn bucket(&self, handle: &Handle) -> wasmtime::Result<&Arc<Bucket>> {
        Ok(self.handles.get(handle)?)
    }

    pub(crate) fn cas(&self, handle: &Resource<Cas>) -> wasmtime::Result<&Cas> {
        Ok(self.handles.get(handle)?)
    }

    /// Keeps a swap, if the guest may hold its bytes.
    pub(crate) fn push_cas(&mut self, cas: Cas) -> Result<Resource<Cas>> {
        let bytes = cas.bytes();
        // One large value is no reason to refuse; many are.
        if self.held > 0 && self.held + bytes > self.limits.answer {
            return Err(Refused::Answer(self.limits.answer));
        }
        let handle = self.push(cas)?;
        self.held += bytes;
        Ok(handle)
    }

    pub(crate) fn take_cas(&mut self, handle: Resource<Cas>) -> wasmtime::Result<Cas> {
        let cas = self.handles.delete(handle)?;
        self.held -= cas.bytes();
        Ok(cas)
    }

    pub(crate) fn drop_handle(&mut self, rep: u32) -> wasmtime::Result<()> {
        self.handles.delete(Handle::new_own(rep))?;
        Ok(())
    }

    /// The number that stands for a key behind which a listing goes on.
    pub(crate) fn remember(&mut self, after: Vec<u8>) -> u64 {
        if self.listings.len() == LISTINGS {
            self.listings.pop_front();
        }
        self.last_cursor += 1;
        self.listings.push_back((self.last_cursor, after));
        self.last_cursor
    }

    pub(crate) fn recall(&self, cursor: u64) -> Result<Vec<u8>> {
        let found = self.listings.iter().find(|(number, _)| *number == cursor);
        found.map(|(_, after)| after.clone()).ok_or(Refused::Cursor)
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest").field("buckets", &self.buckets.keys()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::KeyValue;

    #[test]
    fn swaps_and_listings_that_a_guest_keeps_are_bounded() {
        let store = twindex::Store::new();
        store.table("b", twindex::IndexKind::Hash).unwrap().insert("k", [7; 600]).unwrap();
        let mut guest = KeyValue::new(store).bucket("b", "b").max_answer(1000).guest();
        let look = |guest: &mut Guest| {
            let bucket = guest.find("b").ok().unwrap();
            guest.push_cas(Cas::look(bucket, "k".into()).ok().unwrap())
        };
        let first = look(&mut guest).ok().unwrap();
        assert!(matches!(look(&mut guest), Err(Refused::Answer(1000))));
        guest.take_cas(first).unwrap();
        assert!(look(&mut guest).is_ok(), "what was given back");

        let cursors: Vec<_> = (0..=LISTINGS).map(|number| guest.remember(vec![number as u8])).collect();
        assert!(matches!(guest.recall(cursors[0]), Err(Refused::Cursor)));
        assert!(matches!(guest.recall(cursors[1]).as_deref(), Ok([1])));
    }
}
