//! Merges the partitions of a sorted table into one order, page by page.

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use tokio::task::JoinHandle;

use crate::error::{Error, Result};
use crate::names::Layout;
use crate::pairs::{Pair, Pairs};
use crate::router::{Kind, Router};
use crate::sorted;

/// The most pairs that a page has. Lua unpacks a list of them, and takes no more than 8,000.
const LONGEST: usize = 4000;

/// The pages of a whole scan: a first one that is soon there, then longer ones.
const FIRST: usize = 64;
const LATER: usize = 1024;

/// About how many bytes the pages of all partitions have that are fetched at once.
const PAGE_BYTES: usize = 4 << 20;

/// A range, as `ZRANGE` names it.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    lower: Vec<u8>,
    upper: Vec<u8>,
}

impl Range {
    pub(crate) fn new(lower: &Bound<Vec<u8>>, upper: &Bound<Vec<u8>>) -> Self {
        Self { lower: bound(lower, b'-'), upper: bound(upper, b'+') }
    }
}

fn bound(bound: &Bound<Vec<u8>>, open: u8) -> Vec<u8> {
    match bound {
        Bound::Unbounded => vec![open],
        Bound::Included(key) => [b"[", &key[..]].concat(),
        Bound::Excluded(key) => [b"(", &key[..]].concat(),
    }
}

/// One partition's share.
#[derive(Debug)]
struct Part {
    /// The rest of its range in the server.
    range: Range,
    /// What has come, in the order of the scan.
    pairs: VecDeque<Pair>,
    /// Whether nothing is left in the server.
    is_done: bool,
}

/// A page that came: of which partition, and whether it is the last.
type Page = (usize, Pairs, bool);

/// A scan of a range, either way.
#[derive(Debug)]
pub(crate) struct Merge {
    router: Arc<Router>,
    layout: Arc<Layout>,
    down: bool,
    parts: Vec<Part>,
    /// How many pairs a partition is asked for.
    asked: usize,
    /// Whether everything is wanted: then pages grow, and the next ones are fetched beside what the caller does.
    is_whole: bool,
    ahead: Option<JoinHandle<Result<Vec<Page>>>>,
}

impl Merge {
    /// A scan of which `expected` pairs are wanted, or all.
    pub(crate) fn new(
        router: Arc<Router>,
        layout: Arc<Layout>,
        range: &Range,
        down: bool,
        expected: Option<usize>,
    ) -> Self {
        let part = |_| Part { range: range.clone(), pairs: VecDeque::new(), is_done: false };
        let parts: Vec<Part> = layout.partitions.iter().map(part).collect();
        let asked = expected.map_or(FIRST, |expected| share(expected, parts.len()));
        Self { router, layout, down, parts, asked, is_whole: expected.is_none(), ahead: None }
    }

    /// The next pairs, in order. None are left once there are none.
    pub(crate) async fn more(&mut self) -> Result<Pairs> {
        loop {
            let pages = match self.ahead.take() {
                Some(ahead) => {
                    ahead.await.map_err(|error| Error::Unavailable { reason: error.to_string() })??
                }
                None => self.fetch().await?,
            };
            for (partition, pairs, is_done) in pages {
                self.take(partition, pairs, is_done);
            }
            let ready = self.ready();
            let is_done = self.parts.iter().all(|part| part.is_done);
            if self.is_whole && !is_done {
                self.asked = (self.asked * 4).min(LATER);
                self.ahead = Some(self.router.spawn(self.fetch()));
            }
            if is_done || !ready.is_empty() {
                return Ok(ready);
            }
        }
    }

    /// Fetches the next page of every partition of which little is left here.
    fn fetch(&self) -> impl Future<Output = Result<Vec<Page>>> + Send + use<> {
        let is_low =
            |part: &Part| !part.is_done && (part.pairs.is_empty() || part.pairs.len() < self.asked / 2);
        let low: Vec<usize> =
            (0..self.parts.len()).filter(|&partition| is_low(&self.parts[partition])).collect();
        let ops = low
            .iter()
            .map(|&partition| {
                let Range { lower, upper } = &self.parts[partition].range;
                // All pages together take about so many bytes, and a value of each partition.
                let limits = (self.asked, PAGE_BYTES / low.len());
                sorted::page(&self.layout, partition, [lower, upper], self.down, limits)
            })
            .collect();
        let (router, layout) = (self.router.clone(), self.layout.clone());
        async move {
            let replies = router.all(ops, Kind::Read).await?;
            let (mut pages, mut broken) = (Vec::with_capacity(low.len()), Vec::new());
            for (partition, reply) in low.into_iter().zip(replies) {
                match sorted::pairs(reply.accepted()?)? {
                    Some((pairs, has_more)) => pages.push((partition, pairs, !has_more)),
                    // Its page is fetched again.
                    None => broken.push(sorted::mend(&layout, partition)),
                }
            }
            for mended in router.all(broken, Kind::Repeat).await? {
                mended.accepted()?;
            }
            Ok(pages)
        }
    }

    fn take(&mut self, partition: usize, pairs: Pairs, is_done: bool) {
        let part = &mut self.parts[partition];
        if let Some((key, _)) = pairs.last() {
            let bytes: usize = pairs.iter().map(|(key, value)| key.len() + value.len()).sum();
            self.layout.pair_bytes.store(bytes / pairs.len() + 1, Relaxed);
            let end = if self.down { &mut part.range.upper } else { &mut part.range.lower };
            *end = [b"(", &key[..]].concat();
        }
        part.pairs.extend(pairs);
        part.is_done = is_done;
    }

    /// Takes out what no pair that has not come can lie before.
    fn ready(&mut self) -> Pairs {
        let down = self.down;
        let before = |one: &[u8], two: &[u8]| if down { one > two } else { one < two };
        let mut end: Option<Vec<u8>> = None;
        for part in self.parts.iter().filter(|part| !part.is_done) {
            let Some((last, _)) = part.pairs.back() else { return Vec::new() };
            if end.as_ref().is_none_or(|end| before(last, end)) {
                end = Some(last.clone());
            }
        }
        let mut ready = Vec::new();
        for part in &mut self.parts {
            let count = match &end {
                Some(end) => part.pairs.partition_point(|(key, _)| !before(end, key)),
                None => part.pairs.len(),
            };
            ready.extend(part.pairs.drain(..count));
        }
        // It finds the runs that are in order already, and merges them.
        ready.sort_by(|(one, _), (two, _)| if down { two.cmp(one) } else { one.cmp(two) });
        ready
    }
}

impl Drop for Merge {
    fn drop(&mut self) {
        if let Some(ahead) = &self.ahead {
            ahead.abort();
        }
    }
}

/// How many pairs each partition is asked for, so that one round trip gives `expected` of them nearly always: its share
/// and three times what a share varies by.
fn share(expected: usize, partitions: usize) -> usize {
    let mean = expected.div_ceil(partitions);
    (mean + 3 * mean.isqrt() + 2).min(expected).clamp(1, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_the_mean_and_some_more() {
        assert_eq!(share(100, 16), 15);
        assert_eq!(share(1, 16), 1);
        assert_eq!(share(0, 16), 1);
        assert_eq!(share(100, 1), 100);
        assert_eq!(share(1_000_000, 16), LONGEST);
    }
}
