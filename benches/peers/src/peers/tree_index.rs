//! scc's concurrent B+ tree.

use std::ops::Bound;

use scc::Guard;

use crate::peer::{Peer, Session, SortedSession, spread};

pub(crate) struct TreeIndex(scc::TreeIndex<Box<[u8]>, Box<[u8]>>);

impl Peer for TreeIndex {
    const NAME: &'static str = "treeindex";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self(scc::TreeIndex::new())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &TreeIndex {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.insert_sync(key.into(), value.into()).is_ok()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.upsert_sync(key.into(), value.into());
        true
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.0.remove_sync(key)
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.peek_with(key, |_, value| read(value))
    }
}

impl SortedSession for &TreeIndex {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let guard = Guard::new();
        let pairs = self.0.range::<[u8], _>((Bound::Included(first), Bound::Unbounded), &guard).take(limit);
        pairs.map(|(key, value)| read(key, value)).count()
    }
}
