//! Key sets, prepared before any clock runs.

use std::collections::HashSet;
use std::ops::Range;

use fastrand::Rng;

use crate::fallible::Fallible;

/// Keys in the order in which they will be used, all in one block of memory, each with its number.
///
/// Whoever walks over the list reads memory in order, so the list costs every index the same, little.
#[derive(Clone, Debug, Default)]
pub struct KeyList {
    bytes: Vec<u8>,
    /// Where each key ends in `bytes`.
    ends: Vec<usize>,
    numbers: Vec<u32>,
}

impl KeyList {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The bytes of all keys together.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The key at a position.
    pub fn key(&self, position: usize) -> &[u8] {
        let start = position.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[position]]
    }

    /// The number of the key at a position: its position in the list that was made first.
    pub fn number(&self, position: usize) -> u32 {
        self.numbers[position]
    }

    /// The numbers and keys at some positions.
    pub fn pairs(&self, positions: Range<usize>) -> impl ExactSizeIterator<Item = (u32, &[u8])> {
        positions.map(|position| (self.number(position), self.key(position)))
    }

    /// The same keys in the order of a list of positions.
    #[must_use]
    pub fn in_order(&self, positions: &[u32]) -> Self {
        let mut list = Self {
            bytes: Vec::with_capacity(self.bytes.len()),
            ends: Vec::with_capacity(positions.len()),
            numbers: Vec::with_capacity(positions.len()),
        };
        for &position in positions {
            list.push(self.number(position as usize), self.key(position as usize));
        }
        list
    }

    /// The same keys in ascending order.
    #[must_use]
    pub fn sorted(&self) -> Self {
        let mut positions = self.positions();
        positions.sort_unstable_by_key(|&position| self.key(position as usize));
        self.in_order(&positions)
    }

    /// The same keys, the last one first.
    #[must_use]
    pub fn reversed(&self) -> Self {
        let mut positions = self.positions();
        positions.reverse();
        self.in_order(&positions)
    }

    /// The same keys in random order.
    #[must_use]
    pub fn shuffled(&self, rng: &mut Rng) -> Self {
        self.shuffled_in_groups(1, rng)
    }

    /// The same keys, in random order within each of `count` groups.
    #[must_use]
    pub fn shuffled_in_groups(&self, count: usize, rng: &mut Rng) -> Self {
        let mut positions = self.positions();
        for group in 0..count {
            rng.shuffle(&mut positions[self.group(group, count)]);
        }
        self.in_order(&positions)
    }

    /// The positions of one of `count` groups of the same size, give or take one.
    pub fn group(&self, group: usize, count: usize) -> Range<usize> {
        self.len() * group / count..self.len() * (group + 1) / count
    }

    fn positions(&self) -> Vec<u32> {
        (0..self.len() as u32).collect()
    }

    /// Adds a key and its number at the end.
    pub fn push(&mut self, number: u32, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.ends.push(self.bytes.len());
        self.numbers.push(number);
    }
}

impl<K: AsRef<[u8]>> FromIterator<K> for KeyList {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut list = Self::default();
        for (number, key) in (0..).zip(keys) {
            list.push(number, key.as_ref());
        }
        list
    }
}

/// Different keys of `key_bytes` random lowercase hexadecimal digits.
///
/// The first sixteen digits are the key's number under a random bijection, so that no two keys are equal
/// and none has to be looked up to know that.
pub fn random_hex(count: u32, key_bytes: u16, rng: &mut Rng) -> Fallible<KeyList> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let bits = 4 * u32::from(key_bytes.min(16));
    if bits < 32 && u64::from(count) > 1 << bits {
        return Err(format!("there are no {count} different keys of {key_bytes} hexadecimal digits").into());
    }
    let mix = Bijection::new(bits, rng);
    let mut list = KeyList::default();
    let mut key = vec![0; usize::from(key_bytes)];
    for number in 0..count {
        let mixed = mix.apply(u64::from(number));
        for (position, digit) in key.iter_mut().enumerate() {
            *digit = if position < 16 {
                DIGITS[(mixed >> (4 * position)) as usize & 15]
            } else {
                DIGITS[rng.usize(..16)]
            };
        }
        list.push(number, &key);
    }
    Ok(list)
}

/// The lines of a text, at most `limit`, without empty ones and duplicates, in random order.
pub fn words(text: &[u8], limit: u32, rng: &mut Rng) -> Fallible<KeyList> {
    let mut seen = HashSet::new();
    let mut lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .filter(|line| !line.is_empty() && seen.insert(*line))
        .take(limit as usize)
        .collect();
    if lines.is_empty() {
        return Err("the file holds no key".into());
    }
    rng.shuffle(&mut lines);
    Ok(lines.into_iter().collect())
}

/// A bijection of the numbers of some bits: shifts and odd multiplications, each of which is one.
struct Bijection {
    bits: u32,
    start: u64,
    factors: [u64; 3],
}

impl Bijection {
    fn new(bits: u32, rng: &mut Rng) -> Self {
        Self { bits, start: rng.u64(..), factors: std::array::from_fn(|_| rng.u64(..) | 1) }
    }

    fn apply(&self, number: u64) -> u64 {
        let mask = u64::MAX >> (64 - self.bits);
        self.factors.iter().fold(number.wrapping_add(self.start) & mask, |mixed, factor| {
            let mixed = mixed.wrapping_mul(*factor) & mask;
            mixed ^ (mixed >> (self.bits / 2))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(list: &KeyList) -> Vec<&[u8]> {
        list.pairs(0..list.len()).map(|(_, key)| key).collect()
    }

    #[test]
    fn random_keys_are_different_hexadecimal_text() {
        for (count, key_bytes) in [(16, 1), (256, 2), (4_096, 3), (5_000, 16), (5_000, 40)] {
            let list = random_hex(count, key_bytes, &mut Rng::with_seed(1)).unwrap();
            let keys = keys_of(&list);
            assert_eq!(keys.iter().collect::<HashSet<_>>().len(), count as usize);
            assert!(keys.iter().all(|key| {
                key.len() == usize::from(key_bytes)
                    && key.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            }));
        }
    }

    #[test]
    fn more_keys_than_there_are_is_an_error() {
        let error = random_hex(257, 2, &mut Rng::with_seed(1)).unwrap_err().to_string();
        assert!(error.contains("257"), "{error}");
    }

    #[test]
    fn words_drop_duplicates_and_empty_lines() {
        let list = words(b"b\r\n\na\nb\nc\n", 10, &mut Rng::with_seed(1)).unwrap();
        assert_eq!(keys_of(&list.sorted()), [b"a", b"b", b"c"]);
        assert_eq!(words(b"b\na\nc", 2, &mut Rng::with_seed(1)).unwrap().len(), 2);
        assert!(words(b"\n\n", 2, &mut Rng::with_seed(1)).is_err());
    }

    #[test]
    fn a_reordered_key_keeps_its_number() {
        let list = random_hex(1_000, 8, &mut Rng::with_seed(1)).unwrap();
        for reordered in [list.sorted(), list.reversed(), list.shuffled(&mut Rng::with_seed(2))] {
            assert_ne!(keys_of(&reordered), keys_of(&list));
            assert!(reordered.pairs(0..1_000).all(|(number, key)| key == list.key(number as usize)));
        }
        assert!(list.sorted().pairs(0..1_000).is_sorted_by_key(|(_, key)| key));
    }

    #[test]
    fn groups_cover_everything_and_are_shuffled_within() {
        let list = random_hex(1_001, 8, &mut Rng::with_seed(1)).unwrap();
        let groups: Vec<_> = (0..4).map(|group| list.group(group, 4)).collect();
        assert_eq!((groups[0].start, groups[3].end), (0, 1_001));
        assert!(groups.windows(2).all(|pair| pair[0].end == pair[1].start));
        let shuffled = list.shuffled_in_groups(4, &mut Rng::with_seed(2));
        for group in groups {
            let mut numbers: Vec<_> =
                shuffled.pairs(group.clone()).map(|(number, _)| number as usize).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, group.collect::<Vec<_>>());
        }
    }
}
