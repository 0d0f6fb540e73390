//! A cache in the process for pairs of hash tables, kept true by the servers' invalidations.
//!
//! Every master says on a connection of its own which keys were written. These rules keep what is shown true:
//!
//! 1. Who reads a key first takes a ticket, then asks the server, and keeps the answer only if the ticket is still good.
//!    Everything that says the key was written takes the ticket away. So no answer that an invalidation overtook is kept.
//! 2. An answer is kept only if the server that gave it is being listened to.
//! 3. When listening to a server ends, whatever the reason, everything is forgotten. When it begins, all tickets are
//!    taken away, since the server said nothing about writes before.
//! 4. A write of this client takes its keys out when its outcome is known.
//! 5. Nothing is shown longer than the longest life, or than the pair's own time to live.

mod kept;
pub(crate) mod listener;

use std::collections::HashSet;
use std::sync::RwLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use redis::{PushInfo, PushKind, Value};

use self::kept::{Found, Kept, Ticket};
use crate::locks::{read, write};
use crate::topology::Address;

/// Figures of a near cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NearStats {
    /// Reads that asked no server.
    pub hits: u64,
    /// Reads that asked one.
    pub misses: u64,
    /// Keys that the servers said were written.
    pub invalidations: u64,
    /// How often everything was forgotten, since a server could not be listened to any more or was emptied.
    pub emptied: u64,
    /// How many pairs are kept.
    pub pairs: usize,
    /// How many bytes they take, about.
    pub bytes: usize,
    /// How many servers are being listened to.
    pub servers: usize,
}

/// A read that may be kept. If it is not, its ticket is given back.
#[derive(Debug)]
pub(crate) struct Miss<'n> {
    near: &'n Near,
    key: Vec<u8>,
    ticket: Ticket,
}

impl Miss<'_> {
    /// Keeps what a server answered, where that is allowed; `ttl` is the pair's own time to live.
    pub(crate) fn keep(self, server: &Address, found: &Found, ttl: Option<Duration>) {
        let life = ttl.map_or(self.near.longest_life, |ttl| ttl.min(self.near.longest_life));
        let heard = read(&self.near.heard);
        if heard.contains(server) {
            self.near.kept.put(&self.key, self.ticket, found, Instant::now() + life);
        }
    }
}

impl Drop for Miss<'_> {
    fn drop(&mut self) {
        self.near.kept.give_back(&self.key, self.ticket);
    }
}

#[derive(Debug)]
pub(crate) struct Near {
    kept: Kept,
    longest_life: Duration,
    /// The servers that are being listened to.
    heard: RwLock<HashSet<Address>>,
    hits: AtomicU64,
    misses: AtomicU64,
    invalidations: AtomicU64,
    emptied: AtomicU64,
}

impl Near {
    pub(crate) fn new(bytes: usize, longest_life: Duration) -> Self {
        Self {
            kept: Kept::new(bytes),
            longest_life,
            heard: RwLock::default(),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            invalidations: AtomicU64::new(0),
            emptied: AtomicU64::new(0),
        }
    }

    /// What is kept for a key, or the right to keep what is read now.
    pub(crate) fn get(&self, key: &[u8]) -> Result<Found, Miss<'_>> {
        match self.kept.get(key) {
            Ok(found) => {
                self.hits.fetch_add(1, Relaxed);
                Ok(found)
            }
            Err(ticket) => {
                self.misses.fetch_add(1, Relaxed);
                Err(Miss { near: self, key: key.to_vec(), ticket })
            }
        }
    }

    /// A key was written.
    pub(crate) fn forget(&self, key: &[u8]) {
        self.kept.forget(key);
    }

    /// Listening to a server begins: it names every write from now on.
    fn begin(&self, server: &Address) {
        let mut heard = write(&self.heard);
        self.kept.doom();
        heard.insert(server.clone());
    }

    /// Listening to a server ends.
    fn end(&self, server: &Address) {
        if write(&self.heard).remove(server) {
            self.empty();
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
            PushKind::Disconnection => self.end(server),
            _ => {}
        }
    }

    pub(crate) fn stats(&self) -> NearStats {
        let (pairs, bytes) = self.kept.size();
        NearStats {
            hits: self.hits.load(Relaxed),
            misses: self.misses.load(Relaxed),
            invalidations: self.invalidations.load(Relaxed),
            emptied: self.emptied.load(Relaxed),
            pairs,
            bytes,
            servers: read(&self.heard).len(),
        }
    }
}
