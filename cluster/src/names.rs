//! What the keys in the servers are called.
//!
//! | what | key |
//! |---|---|
//! | the catalogue | `tw~{catalogue}` |
//! | generations that are being removed | `tw~{catalogue}:dropped` |
//! | a pair of a hash table | `tw:users:Zk3hVq0aT9bXw2Lr:` and the pair's key |
//! | a partition of a sorted table | `tw~log:pR7-dE_5sYc1Jm8u:{17}:pairs` and the same with `:order` |
//!
//! `tw` is the namespace. Behind the table's name stands its generation, 96 random bits: no other table ever has it, also
//! not after `FLUSHALL`. In names `%`, `:`, `~`, braces and what is special in patterns is
//! written as `%` and two digits, so one table's keys never begin as another's do. Only pairs of hash tables begin with
//! `tw:`, so that a near cache hears of nothing else.

use std::fmt::Write as _;
use std::sync::atomic::AtomicUsize;

use crate::error::{Error, Result};
use crate::slot;

/// What one store's keys begin with.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    namespace: String,
}

/// The keys of one generation of a table.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) generation: String,
    /// What all its keys begin with.
    pub(crate) prefix: Vec<u8>,
    /// The checksum of that, by which slots are found without what all keys have.
    prefix_crc: slot::State,
    /// None for a hash table.
    pub(crate) partitions: Vec<Partition>,
    /// About how many bytes a pair has, as the last page that was read says; 0 before there was one.
    pub(crate) pair_bytes: AtomicUsize,
}

/// A part of a sorted table that lies in one slot.
#[derive(Debug)]
pub(crate) struct Partition {
    pub(crate) slot: u16,
    /// The HASH of its pairs.
    pub(crate) pairs: Vec<u8>,
    /// The ZSET of its keys.
    pub(crate) order: Vec<u8>,
}

impl Names {
    pub(crate) fn new(namespace: &str) -> Self {
        Self { namespace: escaped(namespace) }
    }

    pub(crate) fn catalogue(&self) -> Vec<u8> {
        format!("{}~{{catalogue}}", self.namespace).into_bytes()
    }

    pub(crate) fn dropped(&self) -> Vec<u8> {
        format!("{}~{{catalogue}}:dropped", self.namespace).into_bytes()
    }

    /// What every pair of a hash table begins with.
    pub(crate) fn prefix(&self) -> Vec<u8> {
        format!("{}:", self.namespace).into_bytes()
    }

    /// The keys of a table, which has partitions if it is sorted.
    pub(crate) fn layout(&self, table: &str, generation: &str, partitions: u16) -> Layout {
        let kind = if partitions == 0 { ':' } else { '~' };
        let prefix = format!("{}{kind}{}:{generation}:", self.namespace, escaped(table));
        let partition = |number| {
            let tag = tag(generation, partitions, number);
            let key = |part| format!("{prefix}{{{tag}}}:{part}").into_bytes();
            Partition { slot: slot::of(tag.to_string().as_bytes()), pairs: key("pairs"), order: key("order") }
        };
        let partitions = (0..partitions).map(partition).collect();
        let mut prefix_crc = slot::State::new();
        prefix_crc.update(prefix.as_bytes());
        Layout {
            generation: generation.into(),
            prefix: prefix.into_bytes(),
            prefix_crc,
            partitions,
            pair_bytes: AtomicUsize::new(0),
        }
    }
}

impl Partition {
    /// The channel on which the functions tell what they wrote to it: it must lie in the same slot.
    pub(crate) fn channel(&self) -> &[u8] {
        &self.pairs
    }
}

impl Layout {
    /// The key of a pair of a hash table.
    pub(crate) fn key(&self, key: &[u8]) -> Vec<u8> {
        [&self.prefix, key].concat()
    }

    /// Which partition of a sorted table has this key.
    pub(crate) fn partition(&self, key: &[u8]) -> usize {
        usize::from(slot::crc(key)) % self.partitions.len()
    }

    /// The partition of a pair; none if the table is no sorted one.
    pub(crate) fn part(&self, key: &[u8]) -> Option<&Partition> {
        (!self.partitions.is_empty()).then(|| &self.partitions[self.partition(key)])
    }

    /// The slot in which a pair lies.
    pub(crate) fn slot(&self, key: &[u8]) -> u16 {
        self.part(key).map_or_else(|| slot::after(self.prefix_crc, key), |partition| partition.slot)
    }

    /// The pattern of all keys of the table.
    pub(crate) fn pattern(&self) -> Vec<u8> {
        [&self.prefix[..], b"*"].concat()
    }
}

/// A number whose slot is in the partition's even share of all slots, so that every master gets as many partitions.
fn tag(generation: &str, partitions: u16, number: u16) -> u64 {
    let share =
        |slot: u16| u32::from(slot) * u32::from(partitions) / u32::from(slot::SLOTS) == u32::from(number);
    // Tables begin at different places, so that their partitions are not all in the same slots.
    let first = u64::from(slot::crc(generation.as_bytes())) * 1_000_000;
    (first..first + 1_000_000).find(|tag| share(slot::of(tag.to_string().as_bytes()))).unwrap_or(first)
}

/// A generation that no table has had: 96 random bits in letters that need no escapes.
pub(crate) fn new_generation() -> Result<String> {
    const LETTERS: &[u8; 64] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_";
    let mut bytes = [0; 16];
    let filled = rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| Error::Unavailable { reason: "the system has no random numbers".into() })?;
    Ok(bytes.map(|byte| char::from(LETTERS[usize::from(byte % 64)])).iter().collect())
}

fn escaped(name: &str) -> String {
    let mut escaped = String::with_capacity(name.len());
    for c in name.chars() {
        if matches!(c, '%' | ':' | '~' | '{' | '}' | '*' | '?' | '[' | ']' | '\\') {
            let _ = write!(escaped, "%{:02X}", c as u32);
        } else {
            escaped.push(c);
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_spread_evenly_and_lie_in_the_slots_of_their_keys() {
        for partitions in [1, 3, 16, 1024] {
            let layout = Names::new("tw").layout("log", "4", partitions);
            for (number, partition) in layout.partitions.iter().enumerate() {
                assert_eq!(slot::of(&partition.pairs), partition.slot);
                assert_eq!(slot::of(&partition.order), partition.slot);
                assert_eq!(
                    usize::from(partition.slot) * usize::from(partitions) / usize::from(slot::SLOTS),
                    number
                );
            }
        }
    }

    #[test]
    fn no_table_has_the_keys_of_another() {
        let names = Names::new("tw");
        let users = names.layout("users", "3", 0);
        assert_eq!(users.key(b"ada"), b"tw:users:3:ada");
        for key in ["", "ada", "{ada}mail", "a{da}", "{}ada", "{ada", "}{", "{}{ada}"].map(str::as_bytes) {
            assert_eq!(users.slot(key), slot::of(&users.key(key)));
        }
        assert_eq!(names.layout("a:1", "2", 0).prefix, b"tw:a%3A1:2:");
        assert_eq!(names.layout("{x}*", "2", 0).pattern(), b"tw:%7Bx%7D%2A:2:*");
        assert_ne!(names.layout("{catalogue}", "2", 0).prefix, names.catalogue());
        let generation = new_generation().expect("randomness");
        assert_eq!((generation.len(), &*escaped(&generation)), (16, &*generation));
        assert_ne!(generation, new_generation().expect("randomness"));
    }
}
