//! blart's adaptive radix tree. No key of it may be the start of another: such a key ends the run.

use std::ops::Bound;

use blart::TreeMap;

use super::alike::replace;
use crate::peer::{Peer, Session, SortedSession, alone};

pub(crate) struct Blart(TreeMap<Box<[u8]>, Box<[u8]>>);

impl Peer for Blart {
    const NAME: &'static str = "blart";
    const THREADS: bool = false;
    type Session<'p> = &'p mut Self;

    fn new() -> Self {
        Self(TreeMap::new())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
    ) -> Vec<R> {
        alone(threads, self, work)
    }
}

impl Session for &mut Blart {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.try_insert(key.into(), value.into()).expect("no key is the start of another").is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.get_mut(key).map(|old| replace(old, value)).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.0.remove(key).is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.get(key).map(|value| read(value))
    }
}

impl SortedSession for &mut Blart {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let pairs = self.0.range::<[u8], _>((Bound::Included(first), Bound::Unbounded)).take(limit);
        pairs.map(|(key, value)| read(key, value)).count()
    }
}
