//! The crate `masstree`, a trie of B+ trees. Its keys have at most 256 bytes.

use masstree::{MassTree15, RangeBound};
use seize::{Guard, LocalGuard};

use crate::peer::{Peer, Session, SortedSession, spread};

type Tree = MassTree15<Box<[u8]>>;

/// After so many removed values the guard lets go of them.
const REFRESH: usize = 256;

pub(crate) struct Masstree(Tree);

pub(crate) struct Pinned<'p> {
    tree: &'p Tree,
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

impl Peer for Masstree {
    const NAME: &'static str = "masstree";
    const THREADS: bool = true;
    type Session<'p> = Pinned<'p>;

    fn new() -> Self {
        Self(Tree::new())
    }

    fn each_thread<R: Send>(
        &mut self,
        threads: usize,
        work: impl Fn(usize, &mut Pinned<'_>) -> R + Sync,
    ) -> Vec<R> {
        spread(threads, || Pinned { tree: &self.0, guard: self.0.guard(), removed: 0 }, work)
    }
}

impl Session for Pinned<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> bool {
        self.tree.insert_with_guard(key, value.into(), &self.guard).is_none()
    }

    fn replace(&mut self, key: &[u8], value: &[u8]) -> bool {
        let updated = self.tree.insert_with_guard(key, value.into(), &self.guard).is_some();
        self.count_removed();
        updated
    }

    fn delete(&mut self, key: &[u8]) -> bool {
        let deleted = matches!(self.tree.remove_with_guard(key, &self.guard), Ok(Some(_)));
        self.count_removed();
        deleted
    }

    fn select<R>(&mut self, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.tree.get_ref(key, &self.guard).map(|value| read(&value))
    }
}

impl SortedSession for Pinned<'_> {
    fn scan(&mut self, first: &[u8], limit: usize, mut read: impl FnMut(&[u8], &[u8])) -> usize {
        let mut count = 0;
        self.tree.scan_ref(
            RangeBound::Included(first),
            RangeBound::Unbounded,
            |key, value| {
                read(key, value);
                count += 1;
                count < limit
            },
            &self.guard,
        );
        count
    }
}
