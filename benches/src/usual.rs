//! Twindex, and what Rust programs use today: hashbrown's map, which is std's, and std's B-tree.

use std::collections::BTreeMap;
use std::ops::Bound;

use hashbrown::HashMap;
use twindex::{Cursor, IndexKind, Store, Table};

use crate::command::System;
use crate::options::Options;
use crate::peer::{Bytes, Hasher, Peer, Session, SortedSession, replace};
use crate::{map, shared};

/// All of them.
pub const SYSTEMS: [System; 4] = [
    System::hash::<TwindexHash>(),
    System::hash::<Hashbrown>(),
    System::sorted::<TwindexSorted>(),
    System::sorted::<BTree>(),
];

macro_rules! twindex {
    ($peer:ident, $index:expr) => {
        #[doc = "A table of Twindex."]
        pub struct $peer(Table);

        impl Peer for $peer {
            const NAME: &'static str = "twindex";
            shared!(&'p Table, |peer| &peer.0);

            fn open(_: &Options) -> Self {
                Self(Store::new().table("pairs", $index).expect("the name is valid"))
            }

            /// Many small tables are tables of one store.
            fn several(count: usize, _: &Options) -> Option<Vec<Self>> {
                let store = Store::new();
                let table =
                    |number: usize| store.table(&number.to_string(), $index).expect("the name is valid");
                Some((0..count).map(|number| Self(table(number))).collect())
            }
        }
    };
}
twindex!(TwindexHash, IndexKind::Hash);
twindex!(TwindexSorted, IndexKind::Sorted);

impl Session for &Table {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::insert(self, key, value).expect("there is no memory limit")
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        Table::replace(self, key, value).expect("there is no memory limit")
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        Table::delete(self, key).expect("the key is not too long")
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.select_with(key, read)
    }

    fn insert_many(&mut self, pairs: &[(&[u8], &[u8])]) -> usize {
        let took_effect = Table::insert_many(self, pairs).expect("there is no memory limit");
        took_effect.into_iter().filter(|&effect| effect).count()
    }

    fn select_many(&mut self, keys: &[&[u8]], read: impl FnMut(usize, Option<&[u8]>)) {
        Table::select_many(self, keys, read);
    }
}

/// Gives the next pairs of a cursor one by one; how many.
pub fn walk(mut cursor: Cursor, limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
    let mut count = 0;
    while count < limit
        && let Some((key, value)) = cursor.scan_asc_next()
    {
        read(key, value);
        count += 1;
    }
    count
}

impl SortedSession for &Table {
    fn scan(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        walk(self.cursor(first..).expect("it is sorted"), limit, read)
    }

    fn scan_many(&mut self, first: &[u8], limit: usize, read: impl FnMut(&[u8], &[u8])) -> usize {
        self.cursor(first..).expect("it is sorted").scan_asc_next_many(limit, read)
    }
}

map!(Hashbrown, "hashbrown", alone, HashMap<Bytes, Bytes, Hasher>, HashMap::default(), |map, key, value, read| {
    insert: map.insert(key.into(), value.into()).is_none(),
    replace: map.get_mut(key).map(|old| replace(old, value)).is_some(),
    delete: map.remove(key).is_some(),
    select: map.get(key).map(|value| read(value)),
});

map!(BTree, "btreemap", alone, BTreeMap<Bytes, Bytes>, BTreeMap::new(), |map, key, value, read| {
    insert: map.insert(key.into(), value.into()).is_none(),
    replace: map.get_mut(key).map(|old| replace(old, value)).is_some(),
    delete: map.remove(key).is_some(),
    select: map.get(key).map(|value| read(value)),
    scan: map.range::<[u8], _>((Bound::Included(key), Bound::Unbounded)),
});
