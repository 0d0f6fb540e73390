//! Positions in a sorted table, and scans of its ranges.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use crate::catalogue::State;
use crate::error::Result;
use crate::merge::{Merge, Range};
use crate::names::Layout;
use crate::pairs::{Pair, Pairs};
use crate::shared::Shared;

/// Of whom more pairs are expected, all are.
const LONG: usize = 1024;

/// How many pairs a cursor reads ahead at first.
const AHEAD: usize = 16;

/// A position in a sorted table.
///
/// The position is a key. The cursor reads some pairs ahead: it sees this client's earlier writes at once, and other clients' writes
/// when it reads more pairs. At an end of its range it stays on the pair that it returned last, so the next call finds
/// pairs that were appended since.
pub struct Cursor {
    shared: Arc<Shared>,
    table: Arc<State>,
    range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    /// The key that was returned last, and the one before the last call.
    on: Option<Vec<u8>>,
    before: Option<Vec<u8>>,
    down: bool,
    merge: Option<Merge>,
    /// What was read ahead.
    ready: VecDeque<Pair>,
    /// How many pairs are read ahead next.
    ahead: usize,
    /// How many writes this client had made when reading began.
    writes: u64,
}

impl Cursor {
    pub(crate) fn new(
        shared: Arc<Shared>,
        table: Arc<State>,
        range: (Bound<Vec<u8>>, Bound<Vec<u8>>),
    ) -> Self {
        let (on, before, ready) = (None, None, VecDeque::new());
        Self { shared, table, range, on, before, down: false, merge: None, ready, ahead: AHEAD, writes: 0 }
    }

    /// Moves to the next pair upwards and returns it, or `None` at the end. A new cursor moves to the first pair of
    /// its range.
    pub async fn scan_asc_next(&mut self) -> Result<Option<Pair>> {
        self.step(false).await
    }

    /// Moves to the next pair downwards and returns it, or `None` at the end. A new cursor moves to the last pair
    /// of its range.
    pub async fn scan_desc_next(&mut self) -> Result<Option<Pair>> {
        self.step(true).await
    }

    /// [`scan_asc_next`](Self::scan_asc_next) up to `limit` times.
    pub async fn scan_asc_next_many(&mut self, limit: usize) -> Result<Pairs> {
        self.steps(false, limit).await
    }

    /// [`scan_desc_next`](Self::scan_desc_next) up to `limit` times.
    pub async fn scan_desc_next_many(&mut self, limit: usize) -> Result<Pairs> {
        self.steps(true, limit).await
    }

    async fn steps(&mut self, down: bool, limit: usize) -> Result<Pairs> {
        self.turn(down);
        self.shared.check_open()?;
        let mut pairs = Vec::new();
        while pairs.len() < limit && self.fill(Some(limit - pairs.len())).await? {
            let count = self.ready.len().min(limit - pairs.len());
            pairs.extend(self.ready.drain(..count));
        }
        if let Some((key, _)) = pairs.last() {
            self.on = Some(key.clone());
        }
        Ok(pairs)
    }

    /// For the bindings: goes back to where the last call began, whose result nobody took.
    #[doc(hidden)]
    pub fn rewind(&mut self) {
        self.on.clone_from(&self.before);
        self.merge = None;
        self.ready.clear();
    }

    /// Begins a call: forgets what was read ahead the other way, or before the last write of this client.
    fn turn(&mut self, down: bool) {
        self.before.clone_from(&self.on);
        let writes = self.table.writes.load(Relaxed);
        if self.down != down || self.writes != writes {
            self.merge = None;
            self.ready.clear();
            self.ahead = AHEAD;
            (self.down, self.writes) = (down, writes);
        }
    }

    async fn step(&mut self, down: bool) -> Result<Option<Pair>> {
        self.turn(down);
        self.shared.check_open()?;
        if !self.fill(None).await? {
            return Ok(None);
        }
        let pair = self.ready.pop_front();
        self.on = pair.as_ref().map(|(key, _)| key.clone());
        Ok(pair)
    }

    /// Whether there are more pairs, which are then ready; `expected` so many will be asked for.
    async fn fill(&mut self, expected: Option<usize>) -> Result<bool> {
        if self.table.is_dropped() {
            return Ok(false);
        }
        if !self.ready.is_empty() {
            return Ok(true);
        }
        let Some(layout) = self.shared.layout(&self.table)? else { return Ok(false) };
        let mut merge = match self.merge.take() {
            Some(merge) => merge,
            None => self.begin(layout, expected),
        };
        self.ready = merge.more().await?.into();
        if !self.ready.is_empty() {
            self.merge = Some(merge);
        }
        Ok(!self.ready.is_empty())
    }

    /// Begins to read what is left of the range.
    fn begin(&mut self, layout: Arc<Layout>, expected: Option<usize>) -> Merge {
        let expected = expected.unwrap_or(self.ahead);
        self.ahead = self.ahead.saturating_mul(4);
        let is_whole = expected > LONG;
        let router = self.shared.router.clone();
        Merge::new(router, layout, &self.rest(), self.down, (!is_whole).then_some(expected))
    }

    /// The rest of the range, in the cursor's direction.
    fn rest(&self) -> Range {
        let (lower, upper) = &self.range;
        match &self.on {
            None => Range::new(lower, upper),
            Some(on) if self.down => Range::new(lower, &Bound::Excluded(on.clone())),
            Some(on) => Range::new(&Bound::Excluded(on.clone()), upper),
        }
    }
}

impl fmt::Debug for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cursor")
            .field("table", &self.table.name)
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

/// The pairs of a range of a sorted table, one after another.
///
/// A pair that is present throughout comes once and in order. One that is written meanwhile may come or not.
#[derive(Debug)]
pub struct Scan {
    cursor: Cursor,
    left: usize,
}

impl Scan {
    pub(crate) fn new(cursor: Cursor) -> Self {
        Self { cursor, left: usize::MAX }
    }

    /// From the last pair down, if nothing has been read yet.
    #[must_use]
    pub fn rev(mut self) -> Self {
        self.cursor.down = !self.cursor.down;
        self
    }

    /// No more pairs than these: they come in one round trip nearly always.
    #[must_use]
    pub fn limit(self, limit: usize) -> Self {
        Self { left: limit, ..self }
    }

    /// The next pair, or `None` at the end.
    pub async fn next(&mut self) -> Result<Option<Pair>> {
        Ok(self.next_many(1).await?.pop())
    }

    /// Up to `count` of the next pairs, fewer if they are long; none at the end.
    pub async fn next_many(&mut self, count: usize) -> Result<Pairs> {
        let count = count.min(self.left);
        self.cursor.shared.check_open()?;
        if count == 0 || !self.cursor.fill(Some(self.left)).await? {
            self.left = 0;
            return Ok(Vec::new());
        }
        let ready = &mut self.cursor.ready;
        let pairs: Pairs = ready.drain(..count.min(ready.len())).collect();
        if let (true, Some((key, _))) = (ready.is_empty(), pairs.last()) {
            self.cursor.on = Some(key.clone());
        }
        self.left -= pairs.len();
        Ok(pairs)
    }
}
