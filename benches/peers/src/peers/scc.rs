//! scc's hash map.

use scc::HashMap;

use super::alike::{Hasher, replace};
use crate::peer::{Peer, Session, spread};

pub(crate) struct Scc(HashMap<Box<[u8]>, Box<[u8]>, Hasher>);

impl Peer for Scc {
    const NAME: &'static str = "scc";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self(HashMap::with_hasher(Hasher::default()))
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &Scc {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.insert_sync(key.into(), value.into()).is_ok()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.0.update_sync(key, |_, old| replace(old, value)).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        self.0.remove_sync(key).is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.0.read_sync(key, |_, value| read(value))
    }
}
