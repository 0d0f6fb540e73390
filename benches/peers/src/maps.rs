//! Maps in memory, each used as its documentation says is best.

use std::collections::BTreeMap;
use std::hash::BuildHasher as _;
use std::ops::Bound::{Included, Unbounded};

use masstree::{MassTree15, RangeBound};
use parking_lot::RwLock;
use seize::{Guard as _, LocalGuard};
use twindex_benches::{Bytes, Hasher, Options, Peer, Session, SortedSession, map, replace, shared};

map!(Dashmap, "dashmap", shared, dashmap::DashMap<Bytes, Bytes, Hasher>, dashmap::DashMap::with_hasher(Hasher::default()),
    |map, key, value, read| {
        insert: map.insert(key.into(), value.into()).is_none(),
        replace: map.get_mut(key).map(|mut old| replace(&mut old, value)).is_some(),
        delete: map.remove(key).is_some(),
        select: map.get(key).map(|value| read(&value)),
    }
);

map!(Scc, "scc", shared, scc::HashMap<Bytes, Bytes, Hasher>, scc::HashMap::with_hasher(Hasher::default()),
    |map, key, value, read| {
        insert: map.insert_sync(key.into(), value.into()).is_ok(),
        replace: map.update_sync(key, |_, old| replace(old, value)).is_some(),
        delete: map.remove_sync(key).is_some(),
        select: map.read_sync(key, |_, value| read(value)),
    }
);

// hashbrown made concurrent in the plainest way. Each map has a hasher of its own, so the hash that picks the shard says
// nothing about the slot.
map!(Sharded, "sharded", shared, Shards, Shards::new(), |map, key, value, read| {
    insert: map.of(key).write().insert(key.into(), value.into()).is_none(),
    replace: map.of(key).write().get_mut(key).map(|old| replace(old, value)).is_some(),
    delete: map.of(key).write().remove(key).is_some(),
    select: map.of(key).read().get(key).map(|value| read(value)),
});

struct Shards {
    hasher: Hasher,
    maps: Vec<RwLock<hashbrown::HashMap<Bytes, Bytes, Hasher>>>,
}

impl Shards {
    fn new() -> Self {
        Self { hasher: Hasher::default(), maps: (0..64).map(|_| RwLock::default()).collect() }
    }

    fn of(&self, key: &[u8]) -> &RwLock<hashbrown::HashMap<Bytes, Bytes, Hasher>> {
        &self.maps[self.hasher.hash_one(key) as usize % self.maps.len()]
    }
}

// A scan holds the lock.
map!(BTreeRwLock, "btree-rwlock", shared, RwLock<BTreeMap<Bytes, Bytes>>, RwLock::default(), |map, key, value, read| {
    insert: map.write().insert(key.into(), value.into()).is_none(),
    replace: map.write().get_mut(key).map(|old| replace(old, value)).is_some(),
    delete: map.write().remove(key).is_some(),
    select: map.read().get(key).map(|value| read(value)),
    scan: map.read().range::<[u8], _>((Included(key), Unbounded)),
});

map!(TreeIndex, "treeindex", shared, scc::TreeIndex<Bytes, Bytes>, scc::TreeIndex::new(), |map, key, value, read| {
    insert: map.insert_sync(key.into(), value.into()).is_ok(),
    replace: { map.upsert_sync(key.into(), value.into()); true },
    delete: map.remove_sync(key),
    select: map.peek_with(key, |_, value| read(value)),
    scan: map.range::<[u8], _>((Included(key), Unbounded), &scc::Guard::new()),
});

// Neither of its ways to insert says whether the key was there.
map!(Skiplist, "skiplist", shared, crossbeam_skiplist::SkipMap<Bytes, Bytes>, crossbeam_skiplist::SkipMap::new(),
    |map, key, value, read| {
        insert: { map.get_or_insert(key.into(), value.into()); true },
        replace: { map.insert(key.into(), value.into()); true },
        delete: map.remove(key).is_some(),
        select: map.get(key).map(|entry| read(entry.value())),
    }
);

impl SortedSession for &Skiplist {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let entries = self.0.range::<[u8], _>((Included(first), Unbounded)).take(limit);
        entries.map(|entry| read(entry.key(), entry.value())).count()
    }
}

// Keys of a range must be of a sized type.
map!(Indexset, "indexset", alone, indexset::BTreeMap<Bytes, Bytes>, indexset::BTreeMap::new(), |map, key, value, read| {
    insert: map.insert(key.into(), value.into()).is_none(),
    replace: map.insert(key.into(), value.into()).is_some(),
    delete: map.remove(key).is_some(),
    select: map.get(key).map(|value| read(value)),
    scan: map.range(Bytes::from(key)..),
});

// No key may be the start of another: such a key ends the run.
map!(Blart, "blart", alone, blart::TreeMap<Bytes, Bytes>, blart::TreeMap::new(), |map, key, value, read| {
    insert: map.try_insert(key.into(), value.into()).expect("no key is the start of another").is_none(),
    replace: map.get_mut(key).map(|old| replace(old, value)).is_some(),
    delete: map.remove(key).is_some(),
    select: map.get(key).map(|value| read(value)),
    scan: map.range::<[u8], _>((Included(key), Unbounded)),
});

/// After so many removed values a guard lets go of them: as seldom as papaya advises, often enough that they do not pile up.
const REFRESH: usize = 256;

/// A map with a guard that a session keeps.
pub struct Pinned<'p, M> {
    map: &'p M,
    guard: LocalGuard<'p>,
    removed: usize,
}

impl<M> Pinned<'_, M> {
    fn removed<R>(&mut self, result: R) -> R {
        self.removed += 1;
        if self.removed.is_multiple_of(REFRESH) {
            self.guard.refresh();
        }
        result
    }
}

macro_rules! pinned {
    ($(#[$doc:meta])* $peer:ident, $name:literal, $map:ty, $new:expr, |$it:ident, $key:ident, $value:ident, $guard:ident, $read:ident| {
        insert: $insert:expr, replace: $replace:expr, delete: $delete:expr, select: $select:expr,
    }) => {
        $(#[$doc])*
        pub struct $peer($map);

        impl Peer for $peer {
            const NAME: &'static str = $name;
            shared!(Pinned<'p, $map>, |peer| Pinned { map: &peer.0, guard: peer.0.guard(), removed: 0 });

            fn open(_: &Options) -> Self {
                Self($new)
            }
        }

        impl Session for Pinned<'_, $map> {
            fn insert(&mut self, $key: &[u8], $value: &[u8]) -> bool {
                let ($it, $guard) = (self.map, &self.guard);
                $insert
            }

            fn replace(&mut self, $key: &[u8], $value: &[u8]) -> bool {
                let ($it, $guard) = (self.map, &self.guard);
                let is_replaced = $replace;
                self.removed(is_replaced)
            }

            fn delete(&mut self, $key: &[u8]) -> bool {
                let ($it, $guard) = (self.map, &self.guard);
                let is_deleted = $delete;
                self.removed(is_deleted)
            }

            fn select<R>(&mut self, $key: &[u8], $read: impl FnOnce(&[u8]) -> R) -> Option<R> {
                let ($it, $guard) = (self.map, &self.guard);
                $select
            }
        }
    };
}

pinned!(Papaya, "papaya", papaya::HashMap<Bytes, Bytes, Hasher>, papaya::HashMap::with_hasher(Hasher::default()),
    |map, key, value, guard, read| {
        insert: map.insert(key.into(), value.into(), guard).is_none(),
        replace: map.update(key.into(), |_| value.into(), guard).is_some(),
        delete: map.remove(key, guard).is_some(),
        select: map.get(key, guard).map(|value| read(value)),
    }
);

pinned!(
    /// The crate of that name, a trie of B+ trees. Its keys have at most 256 bytes.
    Masstree, "masstree", MassTree15<Bytes>, MassTree15::new(), |map, key, value, guard, read| {
        insert: map.insert_with_guard(key, value.into(), guard).is_none(),
        replace: map.insert_with_guard(key, value.into(), guard).is_some(),
        delete: matches!(map.remove_with_guard(key, guard), Ok(Some(_))),
        select: map.get_ref(key, guard).map(|value| read(&value)),
    }
);

impl SortedSession for Pinned<'_, MassTree15<Bytes>> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let mut count = 0;
        let visit = |key: &[u8], value: &Bytes| {
            read(key, value);
            count += 1;
            count < limit
        };
        self.map.scan_ref(RangeBound::Included(first), RangeBound::Unbounded, visit, &self.guard);
        count
    }
}
