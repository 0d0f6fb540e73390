//! crossbeam's concurrent skip list.

use std::ops::Bound;

use crossbeam_skiplist::SkipMap;

use crate::peer::{Peer, Session, SortedSession, spread};

pub(crate) struct Skiplist(SkipMap<Box<[u8]>, Box<[u8]>>);

impl Peer for Skiplist {
    const NAME: &'static str = "skiplist";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self(SkipMap::new())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &Skiplist {
    /// Neither of its ways to insert says whether the key was there; the count of keys is checked later.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.get_or_insert(key.into(), value.into());
        true
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.insert(key.into(), value.into());
        true
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.get(key).map(|entry| read(entry.value()))
    }
}

impl SortedSession for &Skiplist {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let entries = self.0.range::<[u8], _>((Bound::Included(first), Bound::Unbounded)).take(limit);
        entries.map(|entry| read(entry.key(), entry.value())).count()
    }
}
