//! A cache in the process, kept true by the servers' invalidations.
//!
//! Every master says on a connection of its own which keys were written: of hash tables by `CLIENT TRACKING`, of sorted
//! tables by the functions that write them, on a channel of each partition. These rules keep its answers true:
//!
//! 1. A read begins a computation of the cache before it asks the server. Everything that says the key was written removes the
//!    key, and the cache then does not keep what was computed. So no answer that an invalidation overtook is kept.
//! 2. An answer is kept only if the server that gave it is being listened to, and, of a sorted table, on the partition's
//!    channel.
//! 3. When listening to a server ends or begins, whatever the reason, everything is forgotten. Before it begins, the server
//!    said nothing about writes, also to slots that came from a server that is listened to. Reads that were under way when
//!    listening to a channel begins are not kept.
//! 4. A write of this client takes its keys out when its outcome is known.
//! 5. Nothing is shown longer than the longest life, or than the pair's own time to live.

pub(crate) mod listener;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, RwLock, Weak};
use std::time::{Duration, Instant};

use redis::{PushInfo, PushKind, Value};
use twindex_cache::{Begun, Cache, CacheOptions, Lead, Leader, MAX_TTL, MIN_CAPACITY};

use crate::error::Result;
use crate::locks::{lock, read, write};
use crate::names::{Layout, Partition};
use crate::topology::Address;

/// Figures of a near cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearStats {
    /// Reads from the cache.
    pub hits: u64,
    /// Reads from a server.
    pub misses: u64,
    /// Keys that the servers said were written.
    pub invalidations: u64,
    /// How often everything was forgotten, since a server could not be listened to any more or was emptied.
    pub emptied: u64,
    /// The cached pairs.
    pub pairs: usize,
    /// How many bytes they take.
    pub bytes: usize,
    /// How many servers are being listened to.
    pub servers: usize,
    /// How many partitions of sorted tables are.
    pub channels: usize,
}

/// A value, or that there is none.
pub(crate) type Found = Option<Vec<u8>>;

/// The last byte of what is kept: a value precedes `THERE`, and a key without one has `ABSENT` alone.
const ABSENT: u8 = 0;
const THERE: u8 = 1;

/// A read under way, which may be kept.
#[derive(Debug)]
pub(crate) struct Miss<'n> {
    near: &'n Near,
    /// The right to keep the answer. Another read of the key may have it.
    lead: Option<Lead>,
    /// How many channels there had been.
    channels: u64,
    /// Before the server was asked. Since then the pair's time to live goes by.
    asked: Instant,
}

impl Miss<'_> {
    /// Keeps what a server answered, where that is allowed: what it has of a partition of a sorted table, or a pair of a hash
    /// table, whose own time to live is `ttl`.
    pub(crate) fn keep(
        self,
        server: &Address,
        partition: Option<&Partition>,
        found: &Found,
        ttl: Option<Duration>,
    ) {
        let life = ttl.map_or(self.near.longest_life, |ttl| ttl.min(self.near.longest_life));
        let life = life.saturating_sub(self.asked.elapsed()).min(MAX_TTL);
        let Some(lead) = self.lead else { return };
        let heard = read(&self.near.heard);
        let is_told = |channels: &HashSet<Vec<u8>>| {
            partition.is_none_or(|partition| channels.contains(partition.channel()))
        };
        if self.channels == self.near.channels.load(Relaxed) && heard.get(server).is_some_and(is_told) {
            let entry = match found {
                Some(value) => [value, &[THERE][..]].concat(),
                None => vec![ABSENT],
            };
            // A life of nothing is an error, and then nothing is kept.
            let _ = lead.end(entry, Some(life));
        }
    }
}

#[derive(Debug)]
pub(crate) struct Near {
    kept: Cache,
    longest_life: Duration,
    /// The servers that are being listened to, and on which channels.
    heard: RwLock<HashMap<Address, HashSet<Vec<u8>>>>,
    /// The partitions of sorted tables whose writes are to be told, by their channels.
    wanted: Mutex<HashMap<Vec<u8>, Weak<Layout>>>,
    /// Told whenever more are wanted.
    more: tokio::sync::Notify,
    /// How often listening to a channel began. It changes while `heard` is locked.
    channels: AtomicU64,
    misses: AtomicU64,
    invalidations: AtomicU64,
    emptied: AtomicU64,
}

impl Near {
    /// A cache of so many bytes, but at least the fewest that it can have.
    pub(crate) fn new(bytes: usize, longest_life: Duration) -> Result<Self> {
        Ok(Self {
            kept: Cache::new(CacheOptions::capacity(bytes.max(MIN_CAPACITY)))?,
            longest_life,
            heard: RwLock::default(),
            wanted: Mutex::default(),
            more: tokio::sync::Notify::new(),
            channels: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            invalidations: AtomicU64::new(0),
            emptied: AtomicU64::new(0),
        })
    }

    /// The cached value of a key, or the right to cache the value read now.
    pub(crate) fn get(&self, key: &[u8]) -> std::result::Result<Found, Miss<'_>> {
        let channels = self.channels.load(Relaxed);
        let lead = match self.kept.begin(key, Leader::Task) {
            Ok(Begun::Value(entry)) => return Ok(found_in(&entry)),
            Ok(Begun::Lead(lead)) => Some(lead),
            // Another read of it is under way, or the key is too long.
            Ok(Begun::Wait(_)) | Err(_) => None,
        };
        self.misses.fetch_add(1, Relaxed);
        Err(Miss { near: self, lead, channels, asked: Instant::now() })
    }

    /// The cached value of a key, if there is one. A miss leaves no placeholder.
    pub(crate) fn find(&self, key: &[u8]) -> Option<Found> {
        self.kept.get_with(key, found_in)
    }

    /// A key was written.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.kept.remove(key);
    }

    /// Listening to a server begins: it names every write from now on.
    fn begin(&self, server: &Address) {
        let mut heard = write(&self.heard);
        self.kept.clear();
        heard.insert(server.clone(), HashSet::new());
    }

    /// Listening to a server ends.
    fn end(&self, server: &Address) {
        if write(&self.heard).remove(server).is_some() {
            self.empty();
        }
    }

    fn is_heard(&self, server: &Address) -> bool {
        read(&self.heard).contains_key(server)
    }

    /// A server that is being listened to tells on this channel what is written from now on.
    fn begin_channel(&self, server: &Address, channel: &[u8]) {
        let mut heard = write(&self.heard);
        self.channels.fetch_add(1, Relaxed);
        if let Some(channels) = heard.get_mut(server) {
            channels.insert(channel.to_vec());
        }
    }

    /// Wants to be told what is written to this sorted table, for as long as it is used.
    pub(crate) fn want(&self, layout: &Arc<Layout>) {
        let Some(first) = layout.partitions.first() else { return };
        let mut wanted = lock(&self.wanted);
        if wanted.get(first.channel()).is_some_and(|layout| layout.strong_count() > 0) {
            return;
        }
        let before = wanted.len();
        wanted.retain(|_, layout| layout.strong_count() > 0);
        let has_lost = wanted.len() < before;
        for partition in &layout.partitions {
            wanted.insert(partition.channel().to_vec(), Arc::downgrade(layout));
        }
        if has_lost {
            // Since a table's last handle went, nobody has heeded what was told of it.
            self.empty();
        }
        self.more.notify_waiters();
    }

    /// The channels of the partitions of which a server tells nothing yet, and may: each with its slot.
    fn missing(&self, server: &Address, has: impl Fn(u16) -> bool) -> Vec<Vec<u8>> {
        let layouts: HashMap<*const Layout, Arc<Layout>> = lock(&self.wanted)
            .values()
            .filter_map(Weak::upgrade)
            .map(|layout| (Arc::as_ptr(&layout), layout))
            .collect();
        let heard = read(&self.heard);
        let Some(told) = heard.get(server) else { return Vec::new() };
        let all = layouts.values().flat_map(|layout| &layout.partitions);
        all.filter(|partition| has(partition.slot) && !told.contains(partition.channel()))
            .map(|partition| partition.channel().to_vec())
            .collect()
    }

    /// Takes what the function says on a channel: keys, each behind its length; none where the partition was cleared.
    fn told(&self, channel: &[u8], mut message: &[u8]) {
        let layout = lock(&self.wanted).get(channel).and_then(Weak::upgrade);
        if message.is_empty() {
            self.empty();
        }
        while let Some((length, rest)) = message.split_first_chunk::<2>() {
            let Some((key, rest)) = rest.split_at_checked(u16::from_be_bytes(*length).into()) else { break };
            self.invalidations.fetch_add(1, Relaxed);
            if let Some(layout) = &layout {
                self.forget(&layout.key(key));
            }
            message = rest;
        }
    }

    /// Forgets everything.
    pub(crate) fn empty(&self) {
        self.kept.clear();
        self.emptied.fetch_add(1, Relaxed);
    }

    /// Takes what a server says unasked.
    fn hear(&self, server: &Address, info: &PushInfo) {
        match info.kind {
            PushKind::Invalidate => match info.data.first() {
                Some(Value::Array(keys)) => {
                    self.invalidations.fetch_add(keys.len() as u64, Relaxed);
                    for key in keys {
                        if let Value::BulkString(key) = key {
                            self.forget(key);
                        }
                    }
                }
                // The server was emptied.
                _ => self.empty(),
            },
            PushKind::SMessage => match &info.data[..] {
                [Value::BulkString(channel), Value::BulkString(message)] => self.told(channel, message),
                _ => self.end(server),
            },
            // Where a slot goes to another server, so do its channels. What the client awaits next on this connection is
            // mixed up with this, so that the connection is not used any more.
            PushKind::Disconnection | PushKind::SUnsubscribe => self.end(server),
            _ => {}
        }
    }

    pub(crate) fn stats(&self) -> NearStats {
        let kept = self.kept.stats();
        NearStats {
            hits: kept.hits,
            misses: self.misses.load(Relaxed),
            invalidations: self.invalidations.load(Relaxed),
            emptied: self.emptied.load(Relaxed),
            pairs: kept.entries,
            bytes: kept.memory,
            servers: read(&self.heard).len(),
            channels: read(&self.heard).values().map(HashSet::len).sum(),
        }
    }
}

fn found_in(entry: &[u8]) -> Found {
    entry.split_last().filter(|(last, _)| **last == THERE).map(|(_, value)| value.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn miss<'n>(near: &'n Near, key: &[u8]) -> Miss<'n> {
        near.get(key).expect_err("nothing is kept")
    }

    type Event = fn(&Near, &Address);

    #[test]
    fn a_read_that_races_an_invalidation_is_not_kept() {
        let near = Near::new(0, Duration::from_mins(1)).unwrap();
        let server = Address { host: "a".into(), port: 1 };
        let old = Some(b"old".to_vec());
        miss(&near, b"a").keep(&server, None, &old, None);
        drop(miss(&near, b"a")); // Nobody listened to that server.
        near.begin(&server);
        let events: [(&str, Event); 4] = [
            ("a write", |near, _| near.forget(b"a")),
            ("a new channel", |near, server| near.begin_channel(server, b"c")),
            ("the end of listening", |near, server| {
                near.end(server);
                near.begin(server);
            }),
            ("an emptied server", |near, _| near.empty()),
        ];
        for (what, event) in events {
            let raced = miss(&near, b"a");
            event(&near, &server);
            raced.keep(&server, None, &old, None);
            assert_eq!(near.find(b"a"), None, "{what}");
        }
        let (first, second) = (miss(&near, b"a"), miss(&near, b"a"));
        second.keep(&server, None, &old, None);
        assert_eq!(near.find(b"a"), None, "the first read of the key may be kept, and it is under way");
        first.keep(&server, None, &Some(b"new".to_vec()), None);
        assert_eq!(near.find(b"a"), Some(Some(b"new".to_vec())));
        miss(&near, b"b").keep(&server, None, &None, None);
        assert_eq!(near.find(b"b"), Some(None));
        near.forget(b"a");
        assert_eq!((near.find(b"a"), near.stats().pairs), (None, 1));
        for ttl in [Duration::ZERO, Duration::MAX] {
            miss(&near, b"c").keep(&server, None, &old, Some(ttl));
            assert_eq!(near.find(b"c").is_some(), !ttl.is_zero());
            near.forget(b"c");
        }
    }
}
