//! The pairs that are kept in the process: a cache of so many bytes, which drops what matters least.

use std::collections::HashMap;
use std::hash::BuildHasher as _;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use foldhash::fast::RandomState;
use twindex::{Cache, CacheOptions, Store};

use crate::clock;
use crate::locks::lock;

/// As many threads as this wait for answers at once without waiting for each other.
const SHARDS: usize = 16;

/// A value, or that there is none.
pub(crate) type Found = Option<Vec<u8>>;

/// Stands for a read under way. What is written meanwhile takes it away, and with it the right to keep what was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket(u64);

type Reading = HashMap<Vec<u8>, Ticket, RandomState>;

/// A bounded set of entries, each for at most so long.
///
/// A value is followed by `THERE`, and a key that has none by `ABSENT` alone. Entries come and go under the lock of their key's
/// tickets; they are looked up without it.
#[derive(Debug)]
pub(super) struct Kept {
    entries: Cache,
    reading: [Mutex<Reading>; SHARDS],
    hasher: RandomState,
    tickets: AtomicU64,
}

const ABSENT: u8 = 0;
const THERE: u8 = 1;

impl Kept {
    pub(super) fn new(bytes: usize) -> Result<Self, twindex::Error> {
        let store = Store::new();
        store.set_clock(clock::millis);
        Ok(Self {
            entries: store.cache("near", CacheOptions::bytes(bytes))?,
            reading: Default::default(),
            hasher: RandomState::default(),
            tickets: AtomicU64::new(0),
        })
    }

    fn reading(&self, key: &[u8]) -> &Mutex<Reading> {
        &self.reading[self.hasher.hash_one(key) as usize % SHARDS]
    }

    /// What is kept for a key; or a ticket for the one who reads it now.
    pub(super) fn get(&self, key: &[u8]) -> Result<Found, Ticket> {
        if let Some(found) = self.find(key) {
            return Ok(found);
        }
        let mut reading = lock(self.reading(key));
        if let Some(ticket) = reading.get(key) {
            return Err(*ticket);
        }
        let ticket = Ticket(self.tickets.fetch_add(1, Relaxed));
        reading.insert(key.to_vec(), ticket);
        Err(ticket)
    }

    /// What is kept for a key, if anything is.
    pub(super) fn find(&self, key: &[u8]) -> Option<Found> {
        let mut value = self.entries.select(key)?;
        Some((value.pop() == Some(THERE)).then_some(value))
    }

    /// Keeps what was read for so long, if its ticket is still good.
    pub(super) fn put(&self, key: &[u8], ticket: Ticket, found: &Found, life: Duration) {
        let mut reading = lock(self.reading(key));
        if reading.get(key) != Some(&ticket) {
            return;
        }
        reading.remove(key);
        let entry = match found {
            Some(value) => [value, &[THERE][..]].concat(),
            None => vec![ABSENT],
        };
        // The clock may be late when the entry is looked up.
        let life = life.saturating_sub(Duration::from_millis(clock::LATE));
        if self.entries.upsert_for(key, entry, life).is_err() {
            // There is no room for it. An older one may be there.
            self.remove(key);
        }
    }

    /// Gives a ticket back: what was read is not to be kept.
    pub(super) fn give_back(&self, key: &[u8], ticket: Ticket) {
        let mut reading = lock(self.reading(key));
        if reading.get(key) == Some(&ticket) {
            reading.remove(key);
        }
    }

    /// Forgets a key, also what is being read of it.
    pub(super) fn forget(&self, key: &[u8]) {
        let mut reading = lock(self.reading(key));
        reading.remove(key);
        self.remove(key);
    }

    fn remove(&self, key: &[u8]) {
        if self.entries.delete(key).is_err() && self.entries.contains(key) {
            self.clear_entries();
        }
    }

    /// Keeps nothing of what is being read now.
    pub(super) fn doom(&self) {
        for reading in &self.reading {
            lock(reading).clear();
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&self) {
        self.doom();
        self.clear_entries();
    }

    fn clear_entries(&self) {
        // That fails for a cache that was dropped alone, and this one never is.
        let _done = self.entries.clear();
    }

    /// How many entries there are, and how many bytes they take.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.entries.len(), self.entries.memory())
    }

    /// How many look-ups found something.
    pub(super) fn hits(&self) -> u64 {
        self.entries.stats().hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_mins(1);

    fn put(kept: &Kept, key: &[u8], value: &[u8]) {
        let ticket = kept.get(key).expect_err("not there yet");
        kept.put(key, ticket, &Some(value.to_vec()), MINUTE);
    }

    #[test]
    fn a_read_that_races_an_invalidation_is_not_kept() {
        let kept = Kept::new(1 << 20).unwrap();
        let ticket = kept.get(b"a").expect_err("nothing is there");
        kept.forget(b"a");
        kept.put(b"a", ticket, &Some(b"old".to_vec()), MINUTE);
        let second = kept.get(b"a").expect_err("nothing was kept");
        assert_ne!(ticket, second);
        kept.doom();
        kept.put(b"a", second, &None, MINUTE);
        assert!(kept.get(b"a").is_err());
        kept.clear();
        put(&kept, b"a", b"1");
        assert_eq!(kept.get(b"a"), Ok(Some(b"1".to_vec())));
        kept.clear();
        assert_eq!(kept.find(b"a"), None);
    }

    #[test]
    fn it_stays_within_its_bytes_and_keeps_what_is_used() {
        let capacity = 1 << 20;
        let kept = Kept::new(capacity).unwrap();
        put(&kept, b"used", b"1");
        let mut kept_long = 0;
        for number in 0..50_000_u32 {
            put(&kept, &number.to_be_bytes(), &[0; 100]);
            match kept.get(b"used") {
                Ok(_) => kept_long += 1,
                Err(ticket) => kept.put(b"used", ticket, &Some(b"1".to_vec()), MINUTE),
            }
            assert!(kept.size().1 <= capacity, "after {number}");
        }
        let (entries, bytes) = kept.size();
        assert!(
            bytes > capacity / 2 && kept_long > 49_000,
            "{entries} entries, {bytes} bytes, {kept_long} hits"
        );
    }

    #[test]
    fn a_pair_that_is_too_large_replaces_none_and_is_not_kept() {
        let kept = Kept::new(1 << 20).unwrap();
        put(&kept, b"a", b"1");
        kept.forget(b"a");
        put(&kept, b"a", &vec![0; 2 << 20]);
        assert_eq!(kept.find(b"a"), None);
    }
}
