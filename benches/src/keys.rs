//! Key sets, prepared before any clock runs.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::ops::Range;

use fastrand::Rng;

use crate::options::{Fallible, Options};

/// Keys in the order in which they will be used, all in one block of memory, each with its number.
///
/// A walk over the list reads memory in order, so the list costs every index the same, little.
#[derive(Clone, Debug, Default)]
pub struct KeyList {
    bytes: Vec<u8>,
    /// Where each key begins and ends in `bytes`.
    spans: Vec<(u32, u32)>,
    numbers: Vec<u32>,
    /// Whether lists in other orders leave the bytes where they are, so that each key costs a cache miss.
    is_scattered: bool,
}

impl KeyList {
    /// How many keys there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The bytes of all keys together.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The key at a position.
    pub fn key(&self, position: usize) -> &[u8] {
        let (start, end) = self.spans[position];
        &self.bytes[start as usize..end as usize]
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
        let numbers = Vec::with_capacity(positions.len());
        if self.is_scattered {
            let spans = positions.iter().map(|&position| self.spans[position as usize]).collect();
            let numbers = positions.iter().map(|&position| self.number(position as usize)).collect();
            return Self { bytes: self.bytes.clone(), spans, numbers, is_scattered: true };
        }
        let bytes = Vec::with_capacity(self.bytes.len());
        let mut list =
            Self { bytes, spans: Vec::with_capacity(positions.len()), numbers, is_scattered: false };
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
        let end = |bytes: &Vec<u8>| u32::try_from(bytes.len()).expect("a list takes 4 GiB of keys");
        let start = end(&self.bytes);
        self.bytes.extend_from_slice(key);
        self.spans.push((start, end(&self.bytes)));
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

/// The keys that the options ask for, and `spare` more, in random order, the same in every process.
pub(crate) fn keys(options: &Options, spare: u32) -> Fallible<KeyList> {
    let count = options.pairs + spare;
    let rng = &mut rng();
    match options.keys.as_str() {
        "hex" => random_hex(count, options.key_bytes, rng),
        "seq" => {
            let width = usize::from(options.key_bytes);
            Ok(numbered(
                &(0..count)
                    .map(|number| format!("{number:0width$}"))
                    .collect::<KeyList>()
                    .shuffled_in_groups(1, rng),
            ))
        }
        "paths" => Ok(numbered(&paths(count, rng).shuffled_in_groups(1, rng))),
        "letters" => letters(count, rng),
        "mixed" => {
            let list = KeyList { is_scattered: true, ..lengthened(&random_hex(count, 16, rng)?, rng) };
            Ok(list.shuffled_in_groups(1, rng))
        }
        path => {
            let text = std::fs::read(path).map_err(|error| {
                format!(
                    "--keys takes hex, seq, paths, letters, mixed or a file of lines, not {path}: {error}"
                )
            })?;
            words(&text, count, rng).map_err(|error| format!("{path}: {error}").into())
        }
    }
}

/// Keys and orders are the same in every process.
pub(crate) fn rng() -> Rng {
    Rng::with_seed(64)
}

/// The same keys with their positions as their numbers.
fn numbered(list: &KeyList) -> KeyList {
    (0..list.len()).map(|position| list.key(position)).collect()
}

/// Paths of files with long common starts: some dozen folders at each of three to five levels.
fn paths(count: u32, rng: &mut Rng) -> KeyList {
    const NAMES: &str = "assets backup blog build cache config data docs download export images include index lib logs \
                         media news photos public reports scripts shared templates users";
    const ENDS: [&str; 6] = ["html", "jpg", "json", "log", "md", "rs"];
    let names: Vec<&str> = NAMES.split(' ').collect();
    let path = |number| {
        let mut path = String::from("/srv/www");
        for _ in 0..rng.u8(3..=5) {
            let _ = write!(path, "/{}", names[rng.usize(..names.len())]);
        }
        let _ = write!(path, "/file-{number}.{}", ENDS[rng.usize(..ENDS.len())]);
        path
    };
    (0..count).map(path).collect()
}

/// The same keys, each with more bytes behind it: 65 in all on average, 150 at most.
fn lengthened(keys: &KeyList, rng: &mut Rng) -> KeyList {
    let lengthen = |(_, key): (u32, &[u8])| {
        let mut long = [key, b"/"].concat();
        let bytes = 20 + (rng.f64() * rng.f64() * 180.0) as usize;
        long.resize_with(bytes.min(150), || rng.lowercase() as u8);
        long
    };
    keys.pairs(0..keys.len()).map(lengthen).collect()
}

/// Different keys of three letters and digits.
fn letters(count: u32, rng: &mut Rng) -> Fallible<KeyList> {
    const LETTERS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut numbers: Vec<usize> = (0..LETTERS.len().pow(3)).collect();
    if count as usize > numbers.len() {
        return Err(format!("there are no {count} different keys of three letters").into());
    }
    rng.shuffle(&mut numbers);
    let key = |number: &usize| [number / 3844, number / 62 % 62, number % 62].map(|digit| LETTERS[digit]);
    Ok(numbers[..count as usize].iter().map(key).collect())
}

/// Different keys of `key_bytes` random lowercase hexadecimal digits. Of sixteen, no two are equal by chance.
pub(crate) fn random_hex(count: u32, key_bytes: u16, rng: &mut Rng) -> Fallible<KeyList> {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    if key_bytes < 8 && u64::from(count) > 1 << (4 * key_bytes) {
        return Err(format!("there are no {count} different keys of {key_bytes} hexadecimal digits").into());
    }
    let (mut list, mut seen) = (KeyList::default(), HashSet::new());
    let mut key = vec![0; usize::from(key_bytes)];
    while list.len() < count as usize {
        key.fill_with(|| DIGITS[rng.usize(..16)]);
        if key_bytes >= 16 || seen.insert(key.clone()) {
            list.push(list.len() as u32, &key);
        }
    }
    Ok(list)
}

/// The lines of a text, at most `limit`, without empty ones and duplicates, in random order.
fn words(text: &[u8], limit: u32, rng: &mut Rng) -> Fallible<KeyList> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn keys_of(list: &KeyList) -> Vec<&[u8]> {
        list.pairs(0..list.len()).map(|(_, key)| key).collect()
    }

    #[test]
    fn random_keys_are_different_hexadecimal_text() {
        for (count, key_bytes) in [(16, 1), (256, 2), (4_096, 3), (5_000, 16), (5_000, 40)] {
            let list = random_hex(count, key_bytes, &mut rng()).unwrap();
            let keys = keys_of(&list);
            assert_eq!(keys.iter().collect::<HashSet<_>>().len(), count as usize);
            assert!(keys.iter().all(|key| {
                key.len() == usize::from(key_bytes)
                    && key.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
            }));
        }
        let error = random_hex(257, 2, &mut rng()).unwrap_err().to_string();
        assert!(error.contains("257"), "{error}");
    }

    #[test]
    fn keys_of_other_kinds_are_different_and_numbered_in_order() {
        let hex = random_hex(1_000, 16, &mut rng()).unwrap();
        for list in
            [paths(1_000, &mut rng()), letters(1_000, &mut rng()).unwrap(), lengthened(&hex, &mut rng())]
        {
            assert_eq!(keys_of(&list).iter().collect::<HashSet<_>>().len(), 1_000);
            assert!((0..1_000).all(|position| list.number(position) == position as u32));
        }
        assert!(letters(62 * 62 * 62 + 1, &mut rng()).is_err());
    }

    #[test]
    fn lines_of_a_file_are_keys_once_each() {
        let mut keys: Vec<_> = keys_of(&words(b"pear\napple\r\n\npear\nplum\n", 9, &mut rng()).unwrap())
            .into_iter()
            .map(<[u8]>::to_vec)
            .collect();
        keys.sort();
        assert_eq!(keys, [b"apple".to_vec(), b"pear".to_vec(), b"plum".to_vec()]);
        assert!(words(b"\n\n", 9, &mut rng()).is_err());
    }

    #[test]
    fn other_orders_keep_keys_with_their_numbers_and_groups() {
        for is_scattered in [false, true] {
            let list = KeyList { is_scattered, ..random_hex(1_000, 16, &mut rng()).unwrap() };
            let shuffled = list.shuffled_in_groups(3, &mut rng());
            for group in 0..3 {
                let numbers = |list: &KeyList| {
                    let mut numbers: Vec<u32> =
                        list.pairs(list.group(group, 3)).map(|(number, _)| number).collect();
                    numbers.sort_unstable();
                    numbers
                };
                assert_eq!(numbers(&list), numbers(&shuffled));
            }
            let (sorted, reversed) = (list.sorted(), list.sorted().reversed());
            assert!(keys_of(&sorted).is_sorted() && keys_of(&reversed).iter().rev().is_sorted());
            assert!(sorted.pairs(0..1_000).all(|(number, key)| list.key(number as usize) == key));
        }
    }
}
