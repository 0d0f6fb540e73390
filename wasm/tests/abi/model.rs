//! Random operations through the ABI do what they do to a map of the standard library.

use std::collections::BTreeMap;
use std::ops::Bound;

use proptest::prelude::*;

use crate::guest::{EXCLUDED, Guest, INCLUDED, NONE, pack, unpack_values};

type Bytes = Vec<u8>;
type Model = BTreeMap<Bytes, Bytes>;

#[derive(Clone, Debug)]
enum Operation {
    Insert(Bytes, Bytes),
    Replace(Bytes, Bytes),
    Upsert(Bytes, Bytes),
    Delete(Bytes),
    Increment(Bytes, i64),
    CompareAndSwap(Bytes, Option<Bytes>, Option<Bytes>),
    UpsertMany(Vec<(Bytes, Bytes)>),
    DeleteMany(Vec<Bytes>),
    SelectMany(Vec<Bytes>),
    Scan {
        lower: (u32, Bytes),
        upper: (u32, Bytes),
        reverse: bool,
        count: u32,
    },
    /// Moves the cursor, by a block of pairs where `at_once`.
    Step {
        down: bool,
        count: u32,
        at_once: bool,
    },
    Reload,
}

/// Few enough that operations meet.
fn key() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        4 => prop::collection::vec(prop::sample::select(vec![0_u8, b'a', b'b', 0xff]), 0..4),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

fn value() -> impl Strategy<Value = Bytes> {
    prop_oneof![
        2 => (-3_i64..4).prop_map(|number| number.to_string().into_bytes()),
        2 => prop::collection::vec(any::<u8>(), 0..20),
        1 => (any::<u8>(), 0..100_000_usize).prop_map(|(byte, times)| vec![byte; times]),
    ]
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    let end = || (prop::sample::select(vec![NONE, INCLUDED, EXCLUDED]), key());
    prop_oneof![
        4 => (key(), value()).prop_map(|(key, value)| Insert(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Replace(key, value)),
        2 => (key(), value()).prop_map(|(key, value)| Upsert(key, value)),
        2 => key().prop_map(Delete),
        1 => (key(), any::<i64>()).prop_map(|(key, by)| Increment(key, by)),
        1 => (key(), prop::option::of(value()), prop::option::of(value()))
            .prop_map(|(key, expected, new)| CompareAndSwap(key, expected, new)),
        1 => prop::collection::vec((key(), value()), 0..20).prop_map(UpsertMany),
        1 => prop::collection::vec(key(), 0..20).prop_map(DeleteMany),
        1 => prop::collection::vec(key(), 0..20).prop_map(SelectMany),
        2 => (end(), end(), any::<bool>(), 0..20_u32)
            .prop_map(|(lower, upper, reverse, count)| Scan { lower, upper, reverse, count }),
        4 => (any::<bool>(), 1..30_u32, prop::bool::weighted(0.2))
            .prop_map(|(down, count, at_once)| Step { down, count, at_once }),
        1 => Just(Reload),
    ]
}

struct Run {
    guest: Guest,
    store: u32,
    table: u32,
    index: &'static str,
    /// A cursor over all pairs of a sorted table, and the key that it is on.
    cursor: Option<u32>,
    on: Option<Bytes>,
    model: Model,
}

impl Run {
    fn new(index: &'static str) -> Self {
        let mut guest = Guest::new();
        let store = guest.store_new(None).unwrap();
        let table = guest.table(store, b"t", index).unwrap();
        let mut run = Self { guest, store, table, index, cursor: None, on: None, model: Model::new() };
        run.open_cursor();
        run
    }

    fn open_cursor(&mut self) {
        self.on = None;
        self.cursor = match self.guest.cursor(self.table, (NONE, b""), (NONE, b"")) {
            Err(error) if self.index == "hash" && error.code == "TWINDEX_WRONG_INDEX" => None,
            opened => Some(opened.unwrap()),
        };
    }

    fn step(&mut self, operation: Operation) {
        let Self { guest, table, model, .. } = self;
        match operation {
            Operation::Insert(key, value) => {
                let absent = !model.contains_key(&key);
                assert_eq!(guest.insert(*table, &key, &value), Ok(absent));
                model.entry(key).or_insert(value);
            }
            Operation::Replace(key, value) => {
                assert_eq!(guest.replace(*table, &key, &value), Ok(model.contains_key(&key)));
                model.entry(key).and_modify(|old| *old = value);
            }
            Operation::Upsert(key, value) => {
                assert_eq!(guest.upsert(*table, &key, &value), Ok(true));
                model.insert(key, value);
            }
            Operation::Delete(key) => {
                assert_eq!(guest.delete(*table, &key), Ok(model.remove(&key).is_some()));
            }
            Operation::Increment(key, by) => self.increment(key, by),
            Operation::CompareAndSwap(key, expected, new) => {
                let matched = model.get(&key) == expected.as_ref();
                let swapped = guest.compare_and_swap(*table, &key, expected.as_deref(), new.as_deref());
                assert_eq!(swapped, Ok(matched));
                match new {
                    _ if !matched => {}
                    Some(new) => drop(model.insert(key, new)),
                    None => drop(model.remove(&key)),
                }
            }
            Operation::UpsertMany(pairs) => {
                let mut block = Vec::new();
                for (key, value) in &pairs {
                    pack(&mut block, &[Some(key), Some(value)]);
                }
                let [(at, length)] = guest.put([&block]);
                let status = guest.exports.upsert_many.call(&mut guest.store, (*table, at, length));
                guest.check(status).unwrap();
                assert_eq!(guest.answer_bytes(), vec![1; pairs.len()]);
                model.extend(pairs);
            }
            Operation::DeleteMany(keys) => {
                let block = packed_keys(&keys);
                let [(at, length)] = guest.put([&block]);
                let status = guest.exports.delete_many.call(&mut guest.store, (*table, at, length));
                guest.check(status).unwrap();
                let expected: Bytes = keys.iter().map(|key| u8::from(model.remove(key).is_some())).collect();
                assert_eq!(guest.answer_bytes(), expected);
            }
            Operation::SelectMany(keys) => {
                let block = packed_keys(&keys);
                let [(at, length)] = guest.put([&block]);
                let status = guest.exports.select_many.call(&mut guest.store, (*table, at, length));
                guest.check(status).unwrap();
                let expected: Vec<_> = keys.iter().map(|key| model.get(key).cloned()).collect();
                assert_eq!(unpack_values(guest.answer_bytes()), expected);
            }
            Operation::Scan { lower, upper, reverse, count } => self.scan(&lower, &upper, reverse, count),
            Operation::Step { down, count, at_once } => {
                if let Some(cursor) = self.cursor {
                    self.move_cursor(cursor, down, count, at_once);
                }
            }
            Operation::Reload => {
                let loaded = guest.dump(self.store).and_then(|dump| guest.load(&dump)).unwrap();
                guest.close(self.store).unwrap();
                self.store = loaded;
                self.table = guest.table(loaded, b"t", self.index).unwrap();
                self.open_cursor();
            }
        }
    }

    fn increment(&mut self, key: Bytes, by: i64) {
        let old = self.model.get(&key);
        let number = old.map_or(Some(0), |text| str::from_utf8(text).ok()?.parse().ok());
        let outcome = self.guest.increment(self.table, &key, by);
        match number.map(|number: i64| number.checked_add(by)) {
            None => assert_eq!(outcome.unwrap_err().code, "TWINDEX_NOT_AN_INTEGER"),
            Some(None) => assert_eq!(outcome.unwrap_err().code, "TWINDEX_OVERFLOW"),
            Some(Some(sum)) => {
                assert_eq!(outcome, Ok(sum));
                self.model.insert(key, sum.to_string().into_bytes());
            }
        }
    }

    fn scan(&mut self, lower: &(u32, Bytes), upper: &(u32, Bytes), reverse: bool, count: u32) {
        let outcome = self.guest.scan(self.table, (lower.0, &lower.1), (upper.0, &upper.1), reverse, count);
        if self.index == "hash" {
            assert_eq!(outcome.unwrap_err().code, "TWINDEX_WRONG_INDEX");
            return;
        }
        let bounds = (bound(lower), bound(upper));
        let pairs = self.model.iter().filter(|(key, _)| contains(bounds, key));
        let pairs = pairs.map(|(key, value)| (key.clone(), value.clone()));
        let expected: Vec<_> = if reverse {
            pairs.rev().take(count as usize).collect()
        } else {
            pairs.take(count as usize).collect()
        };
        assert_eq!(outcome.unwrap(), expected);
    }

    fn move_cursor(&mut self, cursor: u32, down: bool, count: u32, at_once: bool) {
        let beyond = self.on.clone().map_or(Bound::Unbounded, Bound::Excluded);
        let left: Vec<_> = if down {
            self.model.range((Bound::Unbounded, beyond)).rev().take(count as usize).collect()
        } else {
            self.model.range((beyond, Bound::Unbounded)).take(count as usize).collect()
        };
        let guest = &mut self.guest;
        if at_once {
            let exports = &guest.exports;
            let many = if down { &exports.scan_desc_next_many } else { &exports.scan_asc_next_many };
            let status = many.call(&mut guest.store, (cursor, count, u32::MAX));
            guest.check(status).unwrap();
            assert!(guest.answered_pairs().iter().map(|(key, value)| (key, value)).eq(left.iter().copied()));
        } else {
            for at in 0..count as usize {
                let pair =
                    guest.scan_next_with(cursor, down, |key, value| (key.to_vec(), value.to_vec())).unwrap();
                assert_eq!(pair.as_ref().map(|(key, value)| (key, value)), left.get(at).copied());
            }
        }
        if let Some((key, _)) = left.last() {
            self.on = Some((*key).clone());
        }
    }

    fn finish(mut self) {
        let mut pairs = self.guest.iterate(self.table, 3).unwrap();
        pairs.sort();
        assert!(pairs.into_iter().eq(self.model.clone()));
        assert_eq!(self.guest.len(self.table).unwrap(), self.model.len());
    }
}

fn packed_keys(keys: &[Bytes]) -> Bytes {
    let mut block = Vec::new();
    for key in keys {
        pack(&mut block, &[Some(key)]);
    }
    block
}

fn bound((kind, key): &(u32, Bytes)) -> Bound<&[u8]> {
    match *kind {
        INCLUDED => Bound::Included(key),
        EXCLUDED => Bound::Excluded(key),
        _ => Bound::Unbounded,
    }
}

fn contains(bounds: (Bound<&[u8]>, Bound<&[u8]>), key: &[u8]) -> bool {
    std::ops::RangeBounds::<[u8]>::contains(&bounds, key)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_table_is_a_map(
        index in prop::sample::select(vec!["hash", "sorted"]),
        operations in prop::collection::vec(operation(), 1..60),
    ) {
        let mut run = Run::new(index);
        for operation in operations {
            run.step(operation);
        }
        run.finish();
    }
}
