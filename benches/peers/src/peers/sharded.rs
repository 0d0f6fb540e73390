//! hashbrown made concurrent in the plainest way: 64 maps, each behind a lock of `parking_lot`.

use std::hash::BuildHasher;

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::alike::{Hasher, replace};
use crate::peer::{Peer, Session, spread};

const SHARDS: usize = 64;

type Shard = RwLock<HashMap<Box<[u8]>, Box<[u8]>, Hasher>>;

pub(crate) struct Sharded {
    hasher: Hasher,
    shards: Box<[Shard]>,
}

impl Sharded {
    /// Each map has a hasher of its own, so the hash that picks the shard says nothing about the slot.
    fn shard(&self, key: &[u8]) -> &Shard {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }
}

impl Peer for Sharded {
    const NAME: &'static str = "sharded";
    const THREADS: bool = true;
    type Session<'p> = &'p Self;

    fn new() -> Self {
        Self { hasher: Hasher::default(), shards: (0..SHARDS).map(|_| Shard::default()).collect() }
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut &Self) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || &*self, work)
    }
}

impl Session for &Sharded {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        let (owned_key, owned_value) = (key.into(), value.into());
        self.shard(key).write().insert(owned_key, owned_value).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.shard(key).write().get_mut(key).map(|old| replace(old, value)).is_some()
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let removed = self.shard(key).write().remove(key);
        removed.is_some()
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.shard(key).read().get(key).map(|value| read(value))
    }
}
