//! What Rust programs use today: hashbrown's map, which is std's, and std's `BTreeMap`.

use std::collections::BTreeMap;
use std::collections::btree_map::Range;
use std::ops::Bound::{Included, Unbounded};

use hashbrown::HashMap;
use twindex_benches::{Fallible, Host, Test, Worker};

type Bytes = Box<[u8]>;

/// The map of the test. Each round begins with an empty one.
pub(crate) enum Usual {
    Hash(HashMap<Bytes, Bytes>),
    Sorted(BTreeMap<Bytes, Bytes>),
}

/// The only thread that uses the map.
pub(crate) enum Owner<'m> {
    Hash(&'m mut HashMap<Bytes, Bytes>),
    Sorted(&'m mut BTreeMap<Bytes, Bytes>),
    /// Reads the map in order.
    Walk(Range<'m, Bytes, Bytes>),
    /// While it changes from one to the other.
    Idle,
}

impl Default for Usual {
    fn default() -> Self {
        Self::Hash(HashMap::new())
    }
}

impl Host for Usual {
    const NAME: &'static str = "rust";
    const THREADS: bool = false;
    type Worker<'h> = Owner<'h>;

    fn renew(&mut self, test: Test) -> Fallible {
        *self = match test {
            Test::Strings | Test::Clients => Self::Hash(HashMap::new()),
            Test::Sorted => Self::Sorted(BTreeMap::new()),
        };
        Ok(())
    }

    fn workers(&mut self, _threads: usize) -> Fallible<Vec<Owner<'_>>> {
        Ok(vec![match self {
            Self::Hash(map) => Owner::Hash(map),
            Self::Sorted(map) => Owner::Sorted(map),
        }])
    }

    fn memory(&mut self) -> Fallible<Option<u64>> {
        Ok(None)
    }

    fn system(test: Test) -> &'static str {
        match test {
            Test::Strings | Test::Clients => "hashbrown",
            Test::Sorted => "BTreeMap",
        }
    }
}

const WRONG_STEP: &str = "the map has no such step";

impl Worker for Owner<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        match self {
            Self::Hash(map) => Ok(map.insert(key.into(), value.into()).is_none()),
            Self::Sorted(map) => Ok(map.insert(key.into(), value.into()).is_none()),
            Self::Walk(_) | Self::Idle => Err(WRONG_STEP.into()),
        }
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> Fallible<bool> {
        let old = match self {
            Self::Hash(map) => map.get_mut(key),
            Self::Sorted(map) => map.get_mut(key),
            Self::Walk(_) | Self::Idle => return Err(WRONG_STEP.into()),
        };
        Ok(old.map(|old| old.copy_from_slice(value)).is_some())
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Fallible<Option<R>> {
        match self {
            Self::Hash(map) => Ok(map.get(key).map(|value| read(value))),
            Self::Sorted(map) => Ok(map.get(key).map(|value| read(value))),
            Self::Walk(_) | Self::Idle => Err(WRONG_STEP.into()),
        }
    }

    fn open(&mut self, first: &[u8]) -> Fallible {
        let Self::Sorted(map) = std::mem::replace(self, Self::Idle) else { return Err(WRONG_STEP.into()) };
        *self = Self::Walk(map.range::<[u8], _>((Included(first), Unbounded)));
        Ok(())
    }

    fn scan_asc_next<R>(&mut self, read: impl FnOnce(&[u8], &[u8]) -> R) -> Fallible<Option<R>> {
        let Self::Walk(pairs) = self else { return Err(WRONG_STEP.into()) };
        Ok(pairs.next().map(|(key, value)| read(key, value)))
    }
}
