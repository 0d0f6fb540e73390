//! papaya's lock-free map.

use papaya::{Guard, HashMap, LocalGuard};

use super::alike::Hasher;
use crate::peer::{Peer, Session, spread};

type Map = HashMap<Box<[u8]>, Box<[u8]>, Hasher>;

/// After so many removed values the guard lets go of them: as seldom as its documents advise, and often
/// enough that they do not pile up.
const REFRESH: usize = 256;

pub(crate) struct Papaya(Map);

pub(crate) struct Pinned<'p> {
    map: &'p Map,
    guard: LocalGuard<'p>,
    removed: usize,
}

impl Pinned<'_> {
    fn count_removed(&mut self) {
        self.removed += 1;
        if self.removed == REFRESH {
            self.guard.refresh();
            self.removed = 0;
        }
    }
}

impl Peer for Papaya {
    const NAME: &'static str = "papaya";
    const THREADS: bool = true;
    type Session<'p> = Pinned<'p>;

    fn new() -> Self {
        Self(HashMap::with_hasher(Hasher::default()))
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Pinned<'_>) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || Pinned { map: &self.0, guard: self.0.guard(), removed: 0 }, work)
    }
}

impl Session for Pinned<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.map.insert(key.into(), value.into(), &self.guard).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        let updated = self.map.update(key.into(), |_| value.into(), &self.guard).is_some();
        self.count_removed();
        updated
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let deleted = self.map.remove(key, &self.guard).is_some();
        self.count_removed();
        deleted
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.map.get(key, &self.guard).map(|value| read(value))
    }
}
