//! hashbrown's map, which is std's: the fastest for one thread.

use hashbrown::HashMap;

use super::alike::{Hasher, replace};
use crate::peer::{Peer, Session, alone};

pub(crate) struct Hashbrown(HashMap<Box<[u8]>, Box<[u8]>, Hasher>);

impl Peer for Hashbrown {
    const NAME: &'static str = "hashbrown";
    const THREADS: bool = false;
    type Session<'p> = &'p mut Self;

    fn new() -> Self {
        Self(HashMap::default())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Self::Session<'_>) -> R + Sync,
    ) -> Vec<R> {
        alone(threads, self, work)
    }
}

impl Session for &mut Hashbrown {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.insert(key.into(), value.into()).is_none()
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
