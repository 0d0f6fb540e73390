//! indexset's two-level B-tree, whose keys must be of a sized type.

use indexset::BTreeMap;

use crate::peer::{Peer, Session, SortedSession, alone};

pub(crate) struct Indexset {
    map: BTreeMap<Box<[u8]>, Box<[u8]>>,
}

impl Peer for Indexset {
    const NAME: &'static str = "indexset";
    const THREADS: bool = false;
    type Session<'p> = &'p mut Self;

    fn new() -> Self {
        Self { map: BTreeMap::new() }
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
    ) -> Vec<R> {
        alone(threads, self, work)
    }
}

impl Session for &mut Indexset {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.map.insert(key.into(), value.into()).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.map.insert(key.into(), value.into()).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.map.remove(key).is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.map.get(key).map(|value| read(value))
    }
}

impl SortedSession for &mut Indexset {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let first: Box<[u8]> = first.into();
        self.map.range(first..).take(limit).map(|(key, value)| read(key, value)).count()
    }
}
