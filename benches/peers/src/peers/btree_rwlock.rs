//! std's B-tree made concurrent in the plainest way: behind one lock of `parking_lot`. A scan holds it.

use std::collections::BTreeMap;
use std::ops::Bound;

use parking_lot::RwLock;

use super::alike::replace;
use crate::peer::{Peer, Session, SortedSession, spread};

type Map = BTreeMap<Box<[u8]>, Box<[u8]>>;

pub(crate) struct BTreeRwLock(RwLock<Map>);

impl Peer for BTreeRwLock {
    const NAME: &'static str = "btree-rwlock";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self(RwLock::default())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &BTreeRwLock {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        let (owned_key, owned_value) = (key.into(), value.into());
        self.0.write().insert(owned_key, owned_value).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.write().get_mut(key).map(|old| replace(old, value)).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let removed = self.0.write().remove(key);
        removed.is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.read().get(key).map(|value| read(value))
    }
}

impl SortedSession for &BTreeRwLock {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let map = self.0.read();
        let pairs = map.range::<[u8], _>((Bound::Included(first), Bound::Unbounded)).take(limit);
        pairs.map(|(key, value)| read(key, value)).count()
    }
}
