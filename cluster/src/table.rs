//! A table and its verbs.

use std::cell::Cell;
use std::fmt;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use redis::Value;
use twindex::{Change, IndexKind, MAX_KEY_BYTES, Write};
use twindex_cache::{MAX_TTL, Ttl};

use crate::catalogue::State;
use crate::cursor::{Cursor, Scan};
use crate::error::{Error, Result, check_value, settled};
use crate::names::Layout;
use crate::near::{Found, Miss, Near};
use crate::pairs::Swap;
use crate::router::{Kind, Op};
use crate::shared::Shared;
use crate::unlink::unlink;
use crate::walk::Walk;
use crate::{hash, sorted};

/// A table in the cluster. Clones are handles of the same table.
///
/// It has the verbs of the crate `twindex`. A handle of a dropped table finds nothing, and its writes fail. A table dropped by
/// another client is noticed within a second; writes until then are dropped with it. After idling a write notices it at once,
/// and the first read may still find pairs that are not removed yet.
///
/// A `_many` form writes to several servers. Where some fail, [`Error::PartlyDone`] says of each item what became of it.
#[derive(Clone)]
pub struct Table {
    pub(crate) shared: Arc<Shared>,
    state: Arc<State>,
    ttl: Option<Duration>,
}

impl Table {
    pub(crate) fn new(shared: Arc<Shared>, state: Arc<State>) -> Self {
        Self { shared, state, ttl: None }
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.state.name
    }

    /// The table's index.
    pub fn index(&self) -> IndexKind {
        self.state.index()
    }

    /// The names of the codecs of its keys and values, which the table remembers.
    pub fn codecs(&self) -> (&str, &str) {
        self.state.codecs()
    }

    /// Whether it was dropped, as far as this client knows.
    pub fn is_dropped(&self) -> bool {
        self.state.is_dropped()
    }

    /// A handle whose `insert`, `replace` and `upsert` let their pairs expire after this time. Pairs of sorted tables do not
    /// expire.
    pub fn with_ttl(&self, ttl: Duration) -> Result<Self> {
        self.needs(IndexKind::Hash)?;
        Ok(Self { ttl: life(Some(ttl))?, ..self.clone() })
    }

    /// Fails as a write of this key would before it is sent: it is too long, or the table was dropped or its store closed,
    /// as far as this client knows.
    pub fn check(&self, key: impl AsRef<[u8]>) -> Result<()> {
        twindex::check_key(key.as_ref())?;
        self.reading()?.map(drop).ok_or_else(|| Error::dropped(&self.state.name))
    }

    fn needs(&self, index: IndexKind) -> Result<()> {
        if self.state.index() == index {
            Ok(())
        } else {
            Err(Error::wrong_index(&self.state.name, self.state.index()))
        }
    }

    fn is_hash(&self) -> bool {
        self.state.index() == IndexKind::Hash
    }

    /// The keys of the table as they are now; none if it was dropped.
    fn reading(&self) -> Result<Option<Arc<Layout>>> {
        self.shared.layout(&self.state)
    }

    pub(crate) async fn writing(&self) -> Result<Arc<Layout>> {
        self.shared.writing(&self.state).await
    }

    /// What was read of this key before may be old.
    pub(crate) fn wrote(&self, layout: &Layout, key: &[u8]) {
        self.state.writes.fetch_add(1, Relaxed);
        self.forget(layout, std::iter::once(key));
    }

    /// Forgets what is kept of these keys near.
    fn forget<'k>(&self, layout: &Layout, keys: impl Iterator<Item = &'k [u8]>) {
        if let Some(near) = &self.shared.near {
            keys.for_each(|key| near.forget(&layout.key(key)));
        }
    }

    /// Writes the pairs of some items: what `settle` makes of what became of each. What is kept of them near is forgotten once
    /// that is known.
    ///
    /// `of_hash` makes the command for one item of a hash table, `add` gives an item to a call of the function `name`, which
    /// writes items of a sorted one.
    async fn change<I, T, R>(
        &self,
        items: &[I],
        key: impl Fn(&I) -> &[u8],
        of_hash: impl Fn(&Layout, &I) -> Op,
        (name, add): (&str, impl Fn(&mut redis::Cmd, &I) -> usize),
        decode: impl Fn(Value) -> Result<T>,
        settle: impl FnOnce(&mut dyn Iterator<Item = Result<T>>) -> R,
    ) -> Result<R> {
        for item in items {
            twindex::check_key(key(item))?;
        }
        let layout = self.writing().await?;
        let router = &self.shared.router;
        let settled = if self.is_hash() {
            let ops = items.iter().map(|item| of_hash(&layout, item)).collect();
            let outcomes = router.run(ops, Kind::Write).await;
            settle(&mut outcomes.into_iter().map(|outcome| decode(outcome?.accepted()?)))
        } else {
            let (ops, places) = sorted::chunks(&layout, items, &key, name, add);
            let outcomes = router.run(ops, Kind::Write).await;
            settle(&mut sorted::gather(items.len(), places, outcomes, decode).into_iter())
        };
        // Whether it succeeded or not: what was read before it may be old.
        self.state.writes.fetch_add(1, Relaxed);
        self.forget(&layout, items.iter().map(key));
        Ok(settled)
    }

    // --- writes

    /// Adds a pair if the key is absent. Returns whether it was.
    pub async fn insert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Insert, key, value).await
    }

    /// Gives a key that is present another value. Returns whether it was.
    pub async fn replace(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        self.write(Write::Replace, key, value).await
    }

    /// Gives a key a value, present or not.
    pub async fn upsert(&self, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<()> {
        self.write(Write::Upsert, key, value).await.map(drop)
    }

    /// Does the verb that `write` names. Returns whether it took effect.
    pub async fn write(&self, write: Write, key: impl AsRef<[u8]>, value: impl AsRef<[u8]>) -> Result<bool> {
        only(self.write_many(write, &[(key, value)]).await?)
    }

    /// [`insert`](Self::insert) for each pair.
    pub async fn insert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        self.write_many(Write::Insert, pairs).await
    }

    /// [`replace`](Self::replace) for each pair.
    pub async fn replace_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<Vec<bool>> {
        self.write_many(Write::Replace, pairs).await
    }

    /// [`upsert`](Self::upsert) for each pair.
    pub async fn upsert_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(&self, pairs: &[(K, V)]) -> Result<()> {
        self.write_many(Write::Upsert, pairs).await.map(drop)
    }

    /// [`write`](Self::write) for each pair.
    pub async fn write_many<K: AsRef<[u8]>, V: AsRef<[u8]>>(
        &self,
        write: Write,
        pairs: &[(K, V)],
    ) -> Result<Vec<bool>> {
        for (_, value) in pairs {
            check_value(value.as_ref())?;
        }
        let op = |layout: &Layout, (key, value): &(K, V)| {
            hash::put(layout, write, key.as_ref(), value.as_ref(), self.ttl)
        };
        let add = |cmd: &mut redis::Cmd, (key, value): &(K, V)| {
            cmd.arg(key.as_ref()).arg(value.as_ref());
            key.as_ref().len() + value.as_ref().len()
        };
        let function = (write.name(), add);
        self.change(pairs, |pair| pair.0.as_ref(), op, function, hash::took_effect, settled).await?
    }

    /// Removes a pair. Returns whether the key was present.
    pub async fn delete(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        only(self.delete_many(&[key]).await?)
    }

    /// [`delete`](Self::delete) for each key.
    pub async fn delete_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        let op = |layout: &Layout, key: &K| hash::delete(layout, key.as_ref());
        self.change(keys, K::as_ref, op, ("delete", add_key), hash::took_effect, settled).await?
    }

    /// Changes one pair: `change` gets the value, if there is one, and says what becomes of it. Whether a pair was written
    /// or removed.
    ///
    /// If another client writes the pair in between, `change` is called again with the new value.
    pub async fn alter(
        &self,
        key: impl AsRef<[u8]>,
        mut change: impl FnMut(Option<&[u8]>) -> Change,
    ) -> Result<bool> {
        let key = key.as_ref();
        twindex::check_key(key)?;
        self.writing().await?;
        loop {
            let old = self.select(key).await?;
            let new = match change(old.as_deref()) {
                Change::Set(new) => Some(new),
                Change::Delete if old.is_some() => None,
                Change::Delete | Change::Keep => return Ok(false),
            };
            if self.compare_and_swap(key, old.as_deref(), new.as_deref()).await? {
                return Ok(true);
            }
        }
    }

    /// Adds to a value, which is the text of an integer; an absent one counts as 0. The sum.
    pub async fn increment(&self, key: impl AsRef<[u8]>, by: i64) -> Result<i64> {
        only(self.increment_many(&[(key, by)]).await?)
    }

    /// [`increment`](Self::increment) for each key. All are tried.
    pub async fn increment_many<K: AsRef<[u8]>>(&self, amounts: &[(K, i64)]) -> Result<Vec<i64>> {
        let op = |layout: &Layout, (key, by): &(K, i64)| hash::increment(layout, key.as_ref(), *by);
        let add = |cmd: &mut redis::Cmd, (key, by): &(K, i64)| {
            cmd.arg(key.as_ref()).arg(*by);
            key.as_ref().len()
        };
        let all = |outcomes: &mut dyn Iterator<Item = Result<Value>>| outcomes.collect::<Vec<_>>();
        let sums = self.change(amounts, |amount| amount.0.as_ref(), op, ("increment", add), Ok, all).await?;
        let mut done = Vec::with_capacity(sums.len());
        for ((key, by), sum) in amounts.iter().zip(sums) {
            done.push(match sum.and_then(sum_of) {
                Ok(Some(sum)) => Ok(sum),
                Ok(None) => self.increment_text(key.as_ref(), *by).await,
                Err(Error::Refused { reason }) if is_no_sum(&reason) => {
                    self.increment_text(key.as_ref(), *by).await
                }
                Err(error) => Err(error),
            });
        }
        settled(&mut done.into_iter())
    }

    /// Adds to what the server does not take for an integer, such as `+7`, or finds what is wrong with it.
    async fn increment_text(&self, key: &[u8], by: i64) -> Result<i64> {
        loop {
            let old = self.select(key).await?;
            let value = match &old {
                None => 0,
                Some(text) => std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| text.parse::<i64>().ok())
                    .ok_or_else(|| twindex::Error::NotAnInteger { start: excerpt(text) })?,
            };
            let sum = value.checked_add(by).ok_or(twindex::Error::Overflow { value, by })?;
            if self.compare_and_swap(key, old.as_deref(), Some(sum.to_string().as_bytes())).await? {
                return Ok(sum);
            }
        }
    }

    /// Writes the value `new` if the key's value is `expected`. `None` is an absent value. Returns whether it took effect.
    pub async fn compare_and_swap(
        &self,
        key: impl AsRef<[u8]>,
        expected: Option<&[u8]>,
        new: Option<&[u8]>,
    ) -> Result<bool> {
        only(self.compare_and_swap_many(&[(key.as_ref(), expected, new)]).await?)
    }

    /// [`compare_and_swap`](Self::compare_and_swap) for each key.
    pub async fn compare_and_swap_many(&self, swaps: &[Swap<'_>]) -> Result<Vec<bool>> {
        for value in swaps.iter().flat_map(|(_, expected, new)| [expected, new]) {
            check_value(value.unwrap_or_default())?;
        }
        let op = |layout: &Layout, swap: &Swap<'_>| hash::swap(layout, *swap);
        let add = |cmd: &mut redis::Cmd, (key, expected, new): &Swap<'_>| {
            cmd.arg(*key);
            for value in [expected, new] {
                cmd.arg(u8::from(value.is_some())).arg(value.unwrap_or_default());
            }
            key.len() + expected.map_or(0, <[u8]>::len) + new.map_or(0, <[u8]>::len)
        };
        let name = if swaps.iter().all(|swap| swap.2.is_none()) { "unswap" } else { "swap" };
        self.change(swaps, |swap| swap.0, op, (name, add), hash::took_effect, settled).await?
    }

    /// Removes all pairs. In a sorted table this takes a step for each partition, in a hash table it walks over all keys of
    /// all servers. Where some servers fail it goes on with the others; then [`Error::PartlyDone`] has an answer for all that
    /// was removed, and the first error of each kind.
    pub async fn clear(&self) -> Result<()> {
        let layout = self.writing().await?;
        let done = unlink(&self.shared.router, &layout).await;
        self.state.writes.fetch_add(1, Relaxed);
        if let Some(near) = &self.shared.near {
            near.empty();
        }
        done
    }

    // --- reads

    /// The value of a key, if it is present.
    pub async fn select(&self, key: impl AsRef<[u8]>) -> Result<Option<Vec<u8>>> {
        if let Some(found) = self.select_kept(key.as_ref())? {
            give_way(1).await;
            return Ok(found);
        }
        // In a box, so that what is found near does not pay for the size of this.
        only(Box::pin(self.select_many(&[key])).await?)
    }

    /// What the near cache has of a key, where it has something.
    fn select_kept(&self, key: &[u8]) -> Result<Option<Found>> {
        let Some(near) = &self.shared.near else { return Ok(None) };
        self.shared.check_open()?;
        self.shared.catalogue.look();
        if self.state.is_dropped() {
            return Ok(None);
        }
        let prefix = &self.state.layout.prefix;
        let length = prefix.len() + key.len();
        let mut buffer = [0; 128];
        let Some(whole) = buffer.get_mut(..length) else {
            return Ok(near.find(&self.state.layout.key(key)));
        };
        whole[..prefix.len()].copy_from_slice(prefix);
        whole[prefix.len()..].copy_from_slice(key);
        Ok(near.find(whole))
    }

    /// [`select`](Self::select) for each key.
    pub async fn select_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        match &self.shared.near {
            Some(near) => self.select_near(near, keys).await,
            None => self.read_many(keys, hash::select, hash::value, None).await,
        }
    }

    /// Reads through the near cache.
    async fn select_near<K: AsRef<[u8]>>(&self, near: &Near, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let Some(layout) = self.reading()? else { return Ok(vec![None; keys.len()]) };
        let mut values = Vec::with_capacity(keys.len());
        let mut missed = Vec::new();
        for (place, key) in keys.iter().map(AsRef::as_ref).enumerate() {
            let found = if key.len() <= MAX_KEY_BYTES { near.get(&layout.key(key)) } else { Ok(None) };
            values.push(found.unwrap_or_else(|miss| {
                missed.push((place, key, miss));
                None
            }));
        }
        if missed.is_empty() {
            give_way(values.len()).await;
            return Ok(values);
        }
        if self.is_hash() {
            self.keep_pairs(&layout, missed, &mut values).await?;
        } else {
            self.keep_rows(&layout, missed, &mut values).await?;
        }
        Ok(values)
    }

    /// Reads what was missed of a hash table, and keeps it as long as it lives at most.
    async fn keep_pairs(
        &self,
        layout: &Layout,
        missed: Vec<Missed<'_>>,
        values: &mut [Option<Vec<u8>>],
    ) -> Result<()> {
        let both = |(_, key, _): &Missed<'_>| [hash::select(layout, key), hash::time_to_live(layout, key)];
        let ops = missed.iter().flat_map(both).collect();
        let mut replies = self.shared.router.all(ops, Kind::Read).await?.into_iter();
        for (place, _, miss) in missed {
            let (Some(value), Some(ttl)) = (replies.next(), replies.next()) else { break };
            let server = value.server.clone();
            let is_same = server == ttl.server;
            let found = hash::value(value.accepted()?)?;
            if let (Value::Int(millis), true) = (ttl.accepted()?, is_same) {
                // Below 0 it does not expire, or there is none.
                miss.keep(&server, None, &found, u64::try_from(millis).ok().map(Duration::from_millis));
            }
            values[place] = found;
        }
        Ok(())
    }

    /// Reads what was missed of a sorted table, and keeps it where the writes to its partition are told.
    async fn keep_rows(
        &self,
        layout: &Layout,
        missed: Vec<Missed<'_>>,
        values: &mut [Option<Vec<u8>>],
    ) -> Result<()> {
        let keys: Vec<&[u8]> = missed.iter().map(|(_, key, _)| *key).collect();
        let (ops, places) = sorted::reads(layout, &keys, "HMGET");
        let replies = self.shared.router.all(ops, Kind::Read).await?;
        let mut missed: Vec<_> = missed.into_iter().map(Some).collect();
        for (places, reply) in places.into_iter().zip(replies) {
            let server = reply.server.clone();
            let Value::Array(answers) = reply.accepted()? else { return Err(Error::unexpected("list")) };
            for (at, answer) in places.into_iter().zip(answers) {
                let Some((place, key, miss)) = missed[at].take() else { continue };
                let found = hash::value(answer)?;
                miss.keep(&server, layout.part(key), &found, None);
                values[place] = found;
            }
        }
        Ok(())
    }

    /// Whether a key is present.
    pub async fn contains(&self, key: impl AsRef<[u8]>) -> Result<bool> {
        only(self.contains_many(&[key]).await?)
    }

    /// [`contains`](Self::contains) for each key.
    pub async fn contains_many<K: AsRef<[u8]>>(&self, keys: &[K]) -> Result<Vec<bool>> {
        if self.is_hash() {
            return self.read_many(keys, hash::contains, hash::took_effect, false).await;
        }
        let values = self.select_many(keys).await?;
        Ok(values.iter().map(Option::is_some).collect())
    }

    async fn read_many<K: AsRef<[u8]>, T: Clone>(
        &self,
        keys: &[K],
        of_hash: impl Fn(&Layout, &[u8]) -> Op,
        decode: impl Fn(Value) -> Result<T>,
        absent: T,
    ) -> Result<Vec<T>> {
        let Some(layout) = self.reading()? else { return Ok(vec![absent; keys.len()]) };
        // A key that no table can have is absent.
        let possible: Vec<&[u8]> =
            keys.iter().map(AsRef::as_ref).filter(|key| key.len() <= MAX_KEY_BYTES).collect();
        let router = &self.shared.router;
        let found: Vec<T> = if self.is_hash() {
            let ops = possible.iter().map(|key| of_hash(&layout, key)).collect();
            let outcomes = router.run(ops, Kind::Read).await;
            outcomes.into_iter().map(|outcome| decode(outcome?.accepted()?)).collect::<Result<_>>()?
        } else {
            let (ops, places) = sorted::reads(&layout, &possible, "HMGET");
            let outcomes = router.run(ops, Kind::Read).await;
            sorted::gather(possible.len(), places, outcomes, decode).into_iter().collect::<Result<_>>()?
        };
        let mut found = found.into_iter();
        let is_possible = |key: &K| key.as_ref().len() <= MAX_KEY_BYTES;
        let read = |key| if is_possible(key) { found.next() } else { None };
        Ok(keys.iter().map(read).map(|read| read.unwrap_or_else(|| absent.clone())).collect())
    }

    /// The number of pairs. A sorted table needs a command for each partition, a hash table a walk over all keys of all servers.
    pub async fn len(&self) -> Result<u64> {
        let Some(layout) = self.reading()? else { return Ok(0) };
        if self.is_hash() {
            return self.iter().count().await;
        }
        let mut sum = 0;
        for reply in self.shared.router.all(sorted::lengths(&layout), Kind::Read).await? {
            let Value::Int(length) = reply.accepted()? else { return Err(Error::unexpected("number")) };
            sum += length.unsigned_abs();
        }
        Ok(sum)
    }

    /// Whether there are no pairs.
    pub async fn is_empty(&self) -> Result<bool> {
        if self.is_hash() {
            return Ok(self.iter().next().await?.is_none());
        }
        Ok(self.len().await? == 0)
    }

    /// All pairs, in the order of their keys if the table is sorted. A hash table walks over all keys of all servers; a pair
    /// whose slot is moved to another server meanwhile may be left out.
    #[expect(clippy::iter_not_returning_iterator, reason = "its pairs are awaited")]
    pub fn iter(&self) -> Walk {
        Walk::new(self.shared.clone(), self.state.clone())
    }

    // --- expiry

    /// How long a pair of a hash table still lives.
    pub async fn ttl(&self, key: impl AsRef<[u8]>) -> Result<Ttl> {
        self.needs(IndexKind::Hash)?;
        let Some(layout) = self.reading()? else { return Ok(Ttl::Absent) };
        let op = hash::time_to_live(&layout, key.as_ref());
        match self.shared.router.one(op, Kind::Read).await?.accepted()? {
            Value::Int(-2) => Ok(Ttl::Absent),
            Value::Int(millis @ 0..) => Ok(Ttl::Left(Duration::from_millis(millis.unsigned_abs()))),
            Value::Int(_) => Ok(Ttl::Forever),
            _ => Err(Error::unexpected("time")),
        }
    }

    /// Gives a pair of a hash table a new time to live, or none. Returns whether that changed it.
    pub async fn touch(&self, key: impl AsRef<[u8]>, ttl: Option<Duration>) -> Result<bool> {
        self.needs(IndexKind::Hash)?;
        let (key, ttl) = (key.as_ref(), life(ttl)?);
        let op = |layout: &Layout, key: &&[u8]| hash::expire(layout, key, ttl);
        // Only hash tables get here, so no function is called.
        only(self.change(&[key], |key| key, op, ("", add_key), hash::took_effect, settled).await??)
    }

    // --- scans

    /// A cursor over a range of a sorted table.
    pub fn cursor<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Cursor> {
        self.shared.check_open()?;
        self.needs(IndexKind::Sorted)?;
        let owned = |bound: Bound<&&[u8]>| bound.map(|key| key.to_vec());
        let range = (owned(range.start_bound()), owned(range.end_bound()));
        Ok(Cursor::new(self.shared.clone(), self.state.clone(), range))
    }

    /// The pairs of a range of a sorted table.
    pub fn scan<'k>(&self, range: impl RangeBounds<&'k [u8]>) -> Result<Scan> {
        Ok(Scan::new(self.cursor(range)?))
    }

    /// The pairs of a sorted table whose keys begin so.
    pub fn prefix(&self, prefix: impl AsRef<[u8]>) -> Result<Scan> {
        let (lower, upper) = twindex::prefix_range(prefix.as_ref());
        self.scan((lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)))
    }
}

/// A time to live as caches take it: [`Duration::MAX`] is for ever.
fn life(ttl: Option<Duration>) -> Result<Option<Duration>> {
    match ttl {
        Some(Duration::MAX) | None => Ok(None),
        Some(ttl) if ttl.is_zero() || ttl > MAX_TTL => Err(twindex_cache::Error::Ttl { given: ttl }.into()),
        Some(_) => Ok(ttl),
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name())
            .field("index", &self.index())
            .finish_non_exhaustive()
    }
}

/// What the near cache has not: its place among all, the key, and the right to keep what is read.
type Missed<'m> = (usize, &'m [u8], Miss<'m>);

/// After some hits of the near cache, some 0.6 ms, lets the thread do something else. Without it a loop of hits keeps the listener
/// from its only thread, and reads what is old. Tokio's own budget costs three times as much.
async fn give_way(found: usize) {
    const AFTER: usize = 8192;
    thread_local!(static HITS: Cell<usize> = const { Cell::new(0) });
    let hits = HITS.get() + found;
    let is_due = hits >= AFTER;
    HITS.set(if is_due { 0 } else { hits });
    if is_due {
        tokio::task::yield_now().await;
    }
}

/// The one answer to one item.
fn only<T>(mut answers: Vec<T>) -> Result<T> {
    answers.pop().ok_or_else(|| Error::unexpected("answer"))
}

fn add_key<K: AsRef<[u8]>>(cmd: &mut redis::Cmd, key: &K) -> usize {
    cmd.arg(key.as_ref());
    key.as_ref().len()
}

/// The sum that the server made, or none where it did not take the value for an integer.
fn sum_of(value: Value) -> Result<Option<i64>> {
    match value {
        Value::Int(sum) => Ok(Some(sum)),
        Value::Nil => Ok(None),
        Value::BulkString(text) => {
            let sum = std::str::from_utf8(&text).ok().and_then(|text| text.parse().ok());
            sum.map(Some).ok_or_else(|| Error::unexpected("sum"))
        }
        _ => Err(Error::unexpected("sum")),
    }
}

fn is_no_sum(reason: &str) -> bool {
    reason.contains("not an integer") || reason.contains("would overflow")
}

/// The start of some bytes, as text that is safe to print.
pub(crate) fn excerpt(bytes: &[u8]) -> String {
    let shown = &bytes[..bytes.len().min(32)];
    let dots = if shown.len() < bytes.len() { "..." } else { "" };
    format!("{}{dots}", shown.escape_ascii())
}
