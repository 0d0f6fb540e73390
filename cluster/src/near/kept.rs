//! The pairs that are kept in the process: so many bytes of them, the least used ones go first.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use foldhash::fast::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher as _;

use crate::locks::lock;

/// As many threads as this look things up at once.
const SHARDS: usize = 16;

/// What an entry takes beside its key, which is held twice, and its value.
const OVERHEAD: usize = 144;

/// A value, or that there is none.
pub(crate) type Found = Option<Vec<u8>>;

/// Stands for a read under way. What is written meanwhile takes it away, and with it the right to keep what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

#[derive(Debug)]
struct Entry {
    found: Found,
    until: Instant,
    was_used: bool,
}

#[derive(Debug, Default)]
struct Shard {
    entries: HashMap<Vec<u8>, Entry, RandomState>,
    /// The keys in the order in which their turn comes to go. A key that is gone already is passed over.
    order: VecDeque<Vec<u8>>,
    reading: HashMap<Vec<u8>, Ticket, RandomState>,
    bytes: usize,
}

/// A bounded set of entries, each for at most so long.
#[derive(Debug)]
pub(super) struct Kept {
    shards: [Mutex<Shard>; SHARDS],
    hasher: RandomState,
    /// For each shard.
    capacity: usize,
    tickets: AtomicU64,
}

impl Kept {
    pub(super) fn new(bytes: usize) -> Self {
        let shards = std::array::from_fn(|_| Mutex::default());
        Self { shards, hasher: RandomState::default(), capacity: bytes / SHARDS, tickets: AtomicU64::new(0) }
    }

    fn shard(&self, key: &[u8]) -> &Mutex<Shard> {
        &self.shards[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// What is kept for a key; or a ticket for the one who reads it now.
    pub(super) fn get(&self, key: &[u8]) -> Result<Found, Ticket> {
        let mut shard = lock(self.shard(key));
        if let Some(entry) = shard.entries.get_mut(key)
            && Instant::now() < entry.until
        {
            entry.was_used = true;
            return Ok(entry.found.clone());
        }
        if let Some(ticket) = shard.reading.get(key) {
            return Err(*ticket);
        }
        let ticket = Ticket(self.tickets.fetch_add(1, Relaxed));
        shard.reading.insert(key.to_vec(), ticket);
        Err(ticket)
    }

    /// What is kept for a key, if anything is.
    pub(super) fn peek(&self, key: &[u8], now: Instant) -> Option<Found> {
        let mut shard = lock(self.shard(key));
        let entry = shard.entries.get_mut(key).filter(|entry| now < entry.until)?;
        entry.was_used = true;
        Some(entry.found.clone())
    }

    /// Keeps what was read, if its ticket is still good.
    pub(super) fn put(&self, key: &[u8], ticket: Ticket, found: &Found, until: Instant) {
        let mut shard = lock(self.shard(key));
        if shard.reading.get(key) != Some(&ticket) {
            return;
        }
        shard.reading.remove(key);
        shard.remove(key);
        shard.bytes += size(key, found);
        shard.entries.insert(key.to_vec(), Entry { found: found.clone(), until, was_used: false });
        shard.order.push_back(key.to_vec());
        shard.shrink(self.capacity);
    }

    /// Gives a ticket back: what was read is not to be kept.
    pub(super) fn give_back(&self, key: &[u8], ticket: Ticket) {
        let mut shard = lock(self.shard(key));
        if shard.reading.get(key) == Some(&ticket) {
            shard.reading.remove(key);
        }
    }

    /// Forgets a key, also what is being read of it.
    pub(super) fn forget(&self, key: &[u8]) {
        let mut shard = lock(self.shard(key));
        shard.reading.remove(key);
        shard.remove(key);
    }

    /// Keeps nothing of what is being read now.
    pub(super) fn doom(&self) {
        for shard in &self.shards {
            lock(shard).reading.clear();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        for shard in &self.shards {
            *lock(shard) = Shard::default();
        }
    }

    /// How many entries there are, and how many bytes they take about.
    pub(super) fn size(&self) -> (usize, usize) {
        self.shards
            .iter()
            .map(lock)
            .fold((0, 0), |(entries, bytes), shard| (entries + shard.entries.len(), bytes + shard.bytes))
    }
}

impl Shard {
    fn remove(&mut self, key: &[u8]) {
        if let Some(entry) = self.entries.remove(key) {
            self.bytes -= size(key, &entry.found);
        }
    }

    fn shrink(&mut self, capacity: usize) {
        // Keys in the order that are gone take memory too.
        while self.bytes > capacity || self.order.len() > 2 * self.entries.len() + 16 {
            let Some(key) = self.order.pop_front() else { return };
            match self.entries.get_mut(&key) {
                Some(entry) if entry.was_used && self.bytes <= 2 * capacity => {
                    entry.was_used = false;
                    self.order.push_back(key);
                }
                Some(_) => self.remove(&key),
                None => {}
            }
        }
    }
}

fn size(key: &[u8], found: &Found) -> usize {
    2 * key.len() + found.as_ref().map_or(0, Vec::len) + OVERHEAD
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn put(kept: &Kept, key: &[u8], value: &[u8]) {
        let ticket = kept.get(key).expect_err("not there yet");
        kept.put(key, ticket, &Some(value.to_vec()), Instant::now() + Duration::from_mins(1));
    }

    #[test]
    fn what_was_invalidated_while_it_was_read_is_not_kept() {
        let kept = Kept::new(1 << 20);
        let ticket = kept.get(b"a").expect_err("nothing is there");
        kept.forget(b"a");
        kept.put(b"a", ticket, &Some(b"old".to_vec()), Instant::now() + Duration::from_mins(1));
        let second = kept.get(b"a").expect_err("nothing was kept");
        assert_ne!(ticket, second);
        kept.doom();
        kept.put(b"a", second, &None, Instant::now() + Duration::from_mins(1));
        assert!(kept.get(b"a").is_err());
        kept.clear();
        put(&kept, b"a", b"1");
        assert_eq!(kept.get(b"a"), Ok(Some(b"1".to_vec())));
    }

    #[test]
    fn nothing_outlives_its_time() {
        let kept = Kept::new(1 << 20);
        let ticket = kept.get(b"a").expect_err("nothing is there");
        kept.put(b"a", ticket, &Some(b"1".to_vec()), Instant::now());
        assert!(kept.get(b"a").is_err());
    }

    #[test]
    fn it_stays_within_its_bytes_and_keeps_what_is_used() {
        let capacity = 1 << 20;
        let kept = Kept::new(capacity);
        put(&kept, b"used", b"1");
        for number in 0..50_000_u32 {
            put(&kept, &number.to_be_bytes(), &[0; 100]);
            assert!(kept.get(b"used").is_ok(), "after {number}");
        }
        let (entries, bytes) = kept.size();
        assert!(bytes <= capacity && bytes > capacity / 2, "{entries} entries, {bytes} bytes");
    }

    #[test]
    fn keys_that_come_and_go_take_no_memory() {
        let kept = Kept::new(1 << 20);
        for _ in 0..10_000 {
            put(&kept, b"a", b"1");
            kept.forget(b"a");
        }
        assert_eq!(kept.size(), (0, 0));
        assert!(lock(kept.shard(b"a")).order.len() < 32);
    }
}
