//! Every pair of a table.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;

use twindex::IndexKind;

use crate::catalogue::State;
use crate::cursor::{Cursor, Scan};
use crate::error::Result;
use crate::hash;
use crate::keys::KeyWalk;
use crate::pairs::{Pair, Pairs};
use crate::router::Kind;
use crate::shared::Shared;

/// How many values are read at once, at first and at most, and about how many bytes of them.
const FIRST: usize = 16;
const MOST: usize = 1000;
const BYTES: usize = 4 << 20;

/// All pairs of a table, each once.
pub struct Walk(Kinds);

enum Kinds {
    Sorted(Box<Scan>),
    Hash(Box<HashWalk>),
}

struct HashWalk {
    shared: Arc<Shared>,
    table: Arc<State>,
    keys: Option<KeyWalk>,
    /// The keys whose values are still to be read, and how many are read next.
    found: VecDeque<Vec<u8>>,
    count: usize,
    ready: VecDeque<Pair>,
}

impl Walk {
    pub(crate) fn new(shared: Arc<Shared>, table: Arc<State>) -> Self {
        Self(match table.index() {
            IndexKind::Sorted => {
                let all = (Bound::Unbounded, Bound::Unbounded);
                Kinds::Sorted(Box::new(Scan::new(Cursor::new(shared, table, all))))
            }
            IndexKind::Hash => {
                let (found, ready) = (VecDeque::new(), VecDeque::new());
                Kinds::Hash(Box::new(HashWalk { shared, table, keys: None, found, count: FIRST, ready }))
            }
        })
    }

    /// The next pair, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Pair>> {
        match &mut self.0 {
            Kinds::Sorted(scan) => scan.next().await,
            Kinds::Hash(walk) => Ok(walk.next_many(1).await?.pop()),
        }
    }

    /// Up to `count` of the next pairs, fewer if they are long; none at the end.
    pub async fn next_many(&mut self, count: usize) -> Result<Pairs> {
        match &mut self.0 {
            Kinds::Sorted(scan) => scan.next_many(count).await,
            Kinds::Hash(walk) => walk.next_many(count).await,
        }
    }

    /// All that are left.
    pub async fn all(mut self) -> Result<Pairs> {
        let mut all = Vec::new();
        loop {
            let some = self.next_many(usize::MAX).await?;
            if some.is_empty() {
                return Ok(all);
            }
            all.extend(some);
        }
    }

    /// How many there are.
    pub(crate) async fn count(self) -> Result<u64> {
        let Kinds::Hash(walk) = self.0 else { return Ok(self.all().await?.len() as u64) };
        let Some(layout) = walk.shared.layout(&walk.table)? else { return Ok(0) };
        let mut keys = KeyWalk::new(walk.shared.router.clone(), layout);
        let mut count = 0;
        while let Some(found) = keys.next().await? {
            count += found.len() as u64;
        }
        Ok(count)
    }
}

impl Scan {
    /// All that are left.
    pub async fn all(self) -> Result<Pairs> {
        Walk::from(self).all().await
    }
}

/// The pairs of a scan, as those of a table come.
impl From<Scan> for Walk {
    fn from(scan: Scan) -> Self {
        Self(Kinds::Sorted(Box::new(scan)))
    }
}

impl fmt::Debug for Walk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

impl HashWalk {
    /// The next pairs that are here, once some are.
    async fn next_many(&mut self, most: usize) -> Result<Pairs> {
        let Some(layout) = self.shared.layout(&self.table)? else { return Ok(Vec::new()) };
        let router = &self.shared.router;
        let keys = self.keys.get_or_insert_with(|| KeyWalk::new(router.clone(), layout));
        while self.ready.is_empty() {
            if self.found.is_empty() {
                let Some(found) = keys.next().await? else { return Ok(Vec::new()) };
                self.found = found.into();
                continue;
            }
            let read = self.count.min(self.found.len());
            let ops = self.found.range(..read).map(|key| hash::select(&keys.layout, key)).collect();
            let replies = router.all(ops, Kind::Read).await?.into_iter();
            let values = replies.map(|reply| hash::value(reply.accepted()?)).collect::<Result<Vec<_>>>()?;
            // Only now: after an error, or a call that was dropped, the next one reads the same keys.
            let (some, mut bytes) = (self.found.drain(..read), 0);
            for (key, value) in some.zip(values) {
                // Pairs removed by now are left out.
                if let Some(value) = value {
                    bytes += value.len();
                    self.ready.push_back((key, value));
                }
            }
            self.count = (self.count * 4).min(BYTES * read / (bytes + 1)).clamp(1, MOST);
        }
        let count = most.min(self.ready.len());
        Ok(self.ready.drain(..count).collect())
    }
}
