//! dashmap, with as many shards as it takes by itself.

use dashmap::DashMap;

use super::alike::{Hasher, replace};
use crate::peer::{Peer, Session, spread};

pub(crate) struct Dashmap(DashMap<Box<[u8]>, Box<[u8]>, Hasher>);

impl Peer for Dashmap {
    const NAME: &'static str = "dashmap";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self(DashMap::with_hasher(Hasher::default()))
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &Dashmap {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.insert(key.into(), value.into()).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.get_mut(key).map(|mut old| replace(&mut old, value)).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.get(key).map(|value| read(&value))
    }
}
