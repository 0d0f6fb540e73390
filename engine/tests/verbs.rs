//! Verbs that other languages do not have yet, and cursors, against `BTreeMap`.

use std::collections::{BTreeMap, HashSet};

use std::ops::Bound::{Excluded, Included, Unbounded};
use std::thread;

use twindex::{Change, Cursor, Error, IndexKind, KeyRange, MAX_KEY_BYTES, Store, Table, Value};

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

fn table(index: IndexKind) -> Table {
    Store::new().table("t", index).expect("a new table")
}

fn key(number: u32) -> Vec<u8> {
    format!("key/{number:05}").into_bytes()
}

/// A table of so many pairs, with values of which some are large.
fn filled(index: IndexKind, pairs: u32) -> (Table, BTreeMap<Vec<u8>, Vec<u8>>) {
    let table = table(index);
    let value = |number: u32| vec![number as u8; [3, 600, 9000][number as usize % 97 % 3]];
    let model: BTreeMap<_, _> = (0..pairs).map(|number| (key(number), value(number))).collect();
    for (key, value) in &model {
        assert!(table.insert(key, value).unwrap());
    }
    (table, model)
}

fn assert_same(table: &Table, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    let found: BTreeMap<_, _> = table.iter().collect();
    assert!(found == *model);
    assert_eq!(table.len(), model.len());
}

#[test]
fn take_returns_what_it_removes() {
    for index in BOTH {
        let (table, mut model) = filled(index, 300);
        for number in (0..310).step_by(3) {
            assert_eq!(table.take(key(number)).unwrap(), model.remove(&key(number)));
        }
        assert_same(&table, &model);
        assert!(matches!(table.take(vec![0; MAX_KEY_BYTES + 1]), Err(Error::KeyTooLong { .. })));
    }
}

#[test]
fn get_or_insert_with_makes_a_value_only_where_there_is_none() {
    for index in BOTH {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        assert_eq!(table.get_or_insert_with("a", || "1").unwrap(), b"1");
        assert_eq!(table.get_or_insert_with("a", || -> &str { unreachable!() }).unwrap(), b"1");
        // Another one was quicker: its value counts.
        let late = table.get_or_insert_with("b", || {
            assert!(table.insert("b", "theirs").unwrap());
            "ours"
        });
        assert_eq!(late.unwrap(), b"theirs");
        let long = table.get_or_insert_with(vec![0; MAX_KEY_BYTES + 1], || -> &str { unreachable!() });
        assert!(matches!(long, Err(Error::KeyTooLong { .. })));
        store.drop_table("t");
        let dropped = table.get_or_insert_with("c", || -> &str { unreachable!() });
        assert!(matches!(dropped, Err(Error::TableDropped { .. })));
    }
}

#[test]
fn the_ends_of_a_table_are_its_least_and_greatest_key() {
    let (table, mut model) = filled(IndexKind::Sorted, 400);
    let own = |(key, value): (&Vec<u8>, &Vec<u8>)| (key.clone(), value.clone());
    while !model.is_empty() {
        assert_eq!(table.first().unwrap(), model.first_key_value().map(own));
        assert_eq!(table.last().unwrap(), model.last_key_value().map(own));
        assert_eq!(table.pop_first().unwrap(), model.pop_first());
        assert_eq!(table.pop_last().unwrap(), model.pop_last());
    }
    for end in [table.first(), table.last(), table.pop_first(), table.pop_last()] {
        assert_eq!(end.unwrap(), None);
    }
}

#[test]
fn threads_that_pop_get_each_pair_once() {
    let (table, model) = filled(IndexKind::Sorted, 600);
    let popped: Vec<_> = thread::scope(|scope| {
        let pop = |first| {
            let table = &table;
            move || {
                let next = || if first { table.pop_first() } else { table.pop_last() };
                std::iter::from_fn(|| next().unwrap()).collect::<Vec<_>>()
            }
        };
        let threads = [true, false, true].map(|first| scope.spawn(pop(first)));
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(popped.len(), model.len());
    assert!(popped.into_iter().collect::<BTreeMap<_, _>>() == model);
}

#[test]
fn retain_removes_what_is_not_kept() {
    for index in BOTH {
        let (table, mut model) = filled(index, 1000);
        let keep = |key: &[u8], value: &[u8]| key.ends_with(b"7") || value.len() > 700;
        let before = model.len();
        model.retain(|key, value| keep(key, value));
        assert_eq!(table.retain(keep).unwrap(), before - model.len());
        assert_same(&table, &model);
        // The closure runs without a lock.
        assert_eq!(table.retain(|key, value| table.select(key).as_deref() == Some(value)).unwrap(), 0);
        // A pair that was changed after it was judged stays.
        let changed = table.retain(|key, _| {
            table.alter(key, |_| Change::Set(b"new".into())).unwrap();
            false
        });
        assert_eq!((changed.unwrap(), table.len()), (0, model.len()));
    }
}

#[test]
fn delete_range_removes_the_range_and_nothing_else() {
    type Bounds = (std::ops::Bound<Vec<u8>>, std::ops::Bound<Vec<u8>>);
    let ranges: [Bounds; 7] = [
        (Included(key(100)), Excluded(key(900))),
        (Excluded(key(950)), Included(key(960))),
        (Unbounded, Excluded(key(3))),
        (Included(key(1990)), Unbounded),
        (Included(key(1500)), Included(key(1400))),
        (Excluded(key(1200)), Excluded(key(1200))),
        (Unbounded, Unbounded),
    ];
    let (table, mut model) = filled(IndexKind::Sorted, 2000);
    for range in ranges {
        let (from, to) = range.key_bounds();
        let is_inside = |key: &[u8]| {
            use std::ops::RangeBounds;
            (from, to).contains(&key)
        };
        let before = model.len();
        model.retain(|key, _| !is_inside(key));
        assert_eq!(table.delete_range(range.clone()).unwrap(), before - model.len(), "{range:?}");
        assert_same(&table, &model);
    }
    let (table, mut model) = filled(IndexKind::Sorted, 2000);
    for prefix in ["key/001", "key/00199", "nothing", ""] {
        let before = model.len();
        model.retain(|key, _| !key.starts_with(prefix.as_bytes()));
        assert_eq!(table.delete_prefix(prefix).unwrap(), before - model.len(), "{prefix}");
        assert_same(&table, &model);
    }
}

#[test]
fn ranges_take_any_kind_of_key() {
    let (table, _) = filled(IndexKind::Sorted, 20);
    let count = |scan: twindex::Scan| scan.count();
    assert_eq!(count(table.scan("key/00005".."key/00010").unwrap()), 5);
    assert_eq!(count(table.scan(key(5)..=key(10)).unwrap()), 6);
    assert_eq!(count(table.scan(b"key/00018".as_slice()..).unwrap()), 2);
    assert_eq!(count(table.scan(..b"key/00003").unwrap()), 3);
    assert_eq!(count(table.scan(..="key/00003".to_owned()).unwrap()), 4);
    assert_eq!(count(table.scan((Excluded("key/00003"), Unbounded)).unwrap()), 16);
    assert_eq!(count(table.scan(twindex::prefix_range(b"key/0001")).unwrap()), 10);
    assert_eq!(count(table.scan(..).unwrap()), 20);
    let mut packed = Vec::with_capacity(1000);
    assert!(table.cursor(..).unwrap().pack(false, 5, usize::MAX, &mut packed) > 0);
}

fn steps(cursor: &mut Cursor, down: bool, limit: usize) -> Vec<Vec<u8>> {
    let step = || {
        let pair = if down { cursor.scan_desc_next() } else { cursor.scan_asc_next() };
        pair.map(|(key, _)| key.to_vec())
    };
    std::iter::from_fn(step).take(limit).collect()
}

#[test]
fn a_cursor_that_seeks_stands_between_two_pairs() {
    let table = table(IndexKind::Sorted);
    let keys: Vec<_> = (0..600).step_by(2).map(key).collect();
    for key in &keys {
        assert!(table.insert(key, key).unwrap());
    }
    let ranges = [
        (Unbounded, Unbounded),
        (Included(key(100)), Included(key(300))),
        (Excluded(key(100)), Excluded(key(300))),
        (Included(key(101)), Excluded(key(301))),
    ];
    for range in ranges {
        let inside: Vec<_> = table.scan(range.clone()).unwrap().map(|(key, _)| key).collect();
        let mut cursor = table.cursor(range).unwrap();
        for at in [0, 99, 100, 101, 102, 198, 199, 300, 301, 302, 599, 700] {
            let (below, above) = inside.split_at(inside.partition_point(|one| *one < key(at)));
            cursor.seek(key(at));
            assert_eq!((cursor.key(), cursor.value()), (None, None));
            let copy = cursor.clone();
            assert_eq!(steps(&mut cursor, false, 3), above[..above.len().min(3)], "{at}");
            let last = above[..above.len().min(3)].last();
            assert_eq!(cursor.key(), last.map(Vec::as_slice));
            assert_eq!(cursor.value().as_ref(), last);
            let down: Vec<_> = below.iter().rev().take(3).cloned().collect();
            assert_eq!(steps(&mut copy.clone(), true, 3), down, "{at}");
            assert!(copy.clone().into_iter().map(|(key, _)| key).eq(above.iter().cloned()), "{at}");
            assert!(copy.into_iter().rev().map(|(key, _)| key).eq(above.iter().rev().cloned()), "{at}");
        }
    }
}

#[test]
fn a_value_compares_as_its_bytes() {
    let table = table(IndexKind::Hash);
    let value = |bytes: &[u8]| -> Value {
        let _ = table.upsert("k", bytes);
        table.select_shared("k").unwrap()
    };
    let (small, large) = (value(b"small"), value(&[b's'; 9000]));
    assert!(!small.is_shared() && large.is_shared());
    assert!(small != large && small < large && small == *b"small".as_slice());
    assert_eq!(large.clone(), large);
    #[expect(clippy::mutable_key_type, reason = "the count of owners is no part of the value")]
    let set = HashSet::from([small, large]);
    assert!(set.contains(b"small".as_slice()) && set.contains([b's'; 9000].as_slice()));
    let boxed: Vec<Box<[u8]>> = set.into_iter().map(Into::into).collect();
    assert_eq!(boxed.iter().map(|bytes| bytes.len()).sum::<usize>(), 9005);
}
