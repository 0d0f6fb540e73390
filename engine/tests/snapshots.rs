//! Snapshots: what they show, and that what they keep is freed again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use twindex::{Change, Error, IndexKind, Snapshot, Store, Table, TableOptions};

type Pairs = BTreeMap<Vec<u8>, Vec<u8>>;

/// Checks every read verb of a snapshot's table.
fn expect(snapshot: &Snapshot, name: &str, pairs: &Pairs) {
    let table = snapshot.table(name).unwrap();
    assert_eq!(table.len(), pairs.len(), "{name}");
    let mut all: Vec<_> = table.iter().collect();
    if table.index() == IndexKind::Hash {
        all.sort();
    }
    assert!(all.iter().map(|(key, value)| (key, value)).eq(pairs), "{name}: {} {}", all.len(), pairs.len());
    for key in 0..KEYS {
        let key = key_of(key);
        assert_eq!(table.select(&key), pairs.get(&key).cloned());
    }
    let keys: Vec<_> = pairs.keys().collect();
    table.select_many(&keys, |at, value| assert_eq!(value, pairs.get(keys[at]).map(Vec::as_slice)));
    if table.index() == IndexKind::Sorted {
        assert!(
            table
                .scan(..)
                .unwrap()
                .rev()
                .eq(pairs.iter().rev().map(|(key, value)| (key.clone(), value.clone())))
        );
        let first = pairs.first_key_value().map(|(key, value)| (key.clone(), value.clone()));
        assert_eq!(table.first().unwrap(), first);
    }
}

const KEYS: usize = if cfg!(miri) { 30 } else { 400 };

fn key_of(number: usize) -> Vec<u8> {
    // Some keys are too long for cells and records.
    let long = if number.is_multiple_of(41) { 600 } else { 0 };
    [format!("key {number:05}").into_bytes(), vec![b'x'; long]].concat()
}

fn value_of(random: &mut fastrand::Rng) -> Vec<u8> {
    let len = match random.u8(..) {
        0..=1 => random.usize(..9000),
        2..=9 => random.usize(..900),
        _ => random.usize(..40),
    };
    std::iter::repeat_with(|| random.u8(..)).take(len).collect()
}

/// For each kind of index a store with a table of it.
fn both() -> impl Iterator<Item = (Store, Table)> {
    [IndexKind::Hash, IndexKind::Sorted].into_iter().map(|index| {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        (store, table)
    })
}

fn check(store: &Store) {
    #[cfg(twindex_check)]
    store.tables().iter().for_each(Table::check);
    let _ = store;
}

#[test]
fn snapshots_of_different_moments_show_their_moments() {
    for seed in 0..if cfg!(miri) { 1 } else { 30 } {
        let mut random = fastrand::Rng::with_seed(seed);
        let store = Store::new();
        let names = ["hash", "sorted"];
        let mut model = [Pairs::new(), Pairs::new()];
        store.table("hash", IndexKind::Hash).unwrap();
        store.table("sorted", IndexKind::Sorted).unwrap();
        let mut open: Vec<(Snapshot, [Pairs; 2])> = Vec::new();
        let steps = if cfg!(miri) { 150 } else { 3000 };
        for step in 0..steps {
            let at = random.usize(..2);
            let (name, pairs) = (names[at], &mut model[at]);
            let table = store.find_table(name).unwrap();
            let key = key_of(random.usize(..KEYS));
            match random.usize(..1000) {
                0..=599 => {
                    let value = value_of(&mut random);
                    table.upsert(&key, &value).unwrap();
                    pairs.insert(key, value);
                }
                600..=899 => {
                    assert_eq!(table.delete(&key).unwrap(), pairs.remove(&key).is_some());
                }
                900..=949 => {
                    let many: Vec<_> =
                        (0..100).map(|_| (key_of(random.usize(..KEYS)), value_of(&mut random))).collect();
                    table.upsert_many(&many).unwrap();
                    pairs.extend(many);
                }
                950..=954 => {
                    table.clear().unwrap();
                    pairs.clear();
                }
                955..=957 => {
                    table.delete_many(&(0..KEYS).map(key_of).collect::<Vec<_>>()).unwrap();
                    pairs.clear();
                }
                958..=975 if open.len() < 8 => open.push((store.snapshot().unwrap(), model.clone())),
                976..=990 if !open.is_empty() => drop(open.swap_remove(random.usize(..open.len()))),
                _ => {
                    if let Some((snapshot, models)) = open.get(random.usize(..8)) {
                        expect(snapshot, name, &models[at]);
                    }
                }
            }
            if step % 50 == 0 {
                check(&store);
            }
        }
        for (snapshot, models) in &open {
            (0..2).for_each(|at| expect(snapshot, names[at], &models[at]));
        }
        while !open.is_empty() {
            drop(open.swap_remove(random.usize(..open.len())));
            check(&store);
            for (snapshot, models) in &open {
                (0..2).for_each(|at| expect(snapshot, names[at], &models[at]));
            }
        }
        let stats = store.snapshot_stats();
        assert_eq!((stats.snapshots, stats.kept_bytes), (0, 0));
        for (name, pairs) in names.iter().zip(&model) {
            let table = store.find_table(name).unwrap();
            let mut all: Vec<_> = table.iter().collect();
            all.sort();
            assert!(all.into_iter().eq(pairs.clone()));
        }
    }
}

#[test]
fn cursors_and_iterators_of_a_snapshot_stay_in_it() {
    for (store, table) in both() {
        let keys: Vec<_> = (0..KEYS).map(key_of).collect();
        table.insert_many(&keys.iter().map(|key| (key, b"old")).collect::<Vec<_>>()).unwrap();
        let mut pairs = store.snapshot().unwrap().table("t").unwrap().iter();
        let mut shown = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            shown.extend(pairs.next());
            table.upsert(key, format!("new {at}")).unwrap();
            table.delete(&keys[KEYS - 1 - at]).unwrap();
        }
        assert_eq!(store.snapshot_stats().snapshots, 1, "the iterator keeps it open");
        shown.extend(&mut pairs);
        assert!(shown.iter().all(|(_, value)| value == b"old"));
        shown.sort();
        assert!(shown.iter().map(|pair| &pair.0).eq(&keys));
        drop(pairs);
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
    }
}

#[test]
fn tables_made_and_dropped_later_do_not_matter() {
    let store = Store::new();
    let old = store.table_with("old", TableOptions::new(IndexKind::Sorted).keys("str")).unwrap();
    old.insert("a", "1").unwrap();
    let snapshot = store.snapshot().unwrap();
    store.drop_table("old");
    store.table("new", IndexKind::Hash).unwrap().insert("b", "2").unwrap();
    store.table("old", IndexKind::Hash).unwrap().insert("c", "3").unwrap();
    assert!(matches!(snapshot.table("new"), Err(Error::NoTable { .. })));
    let shown = snapshot.table("old").unwrap();
    assert_eq!((shown.index(), shown.codecs().0, shown.len()), (IndexKind::Sorted, "str", 1));
    assert_eq!(shown.select("a").unwrap(), b"1");
    assert_eq!(snapshot.tables().len(), 1);
    drop(store);
    assert_eq!(shown.last().unwrap().unwrap().0, b"a", "a snapshot outlives its store");
}

#[test]
fn snapshot_tables_cannot_be_written() {
    for (store, table) in both() {
        table.insert("a", "1").unwrap();
        let snapshot = store.snapshot().unwrap();
        let shown = snapshot.table("t").unwrap();
        let table = shown.as_table();
        let refused =
            |result: Result<bool, Error>| assert_eq!(result.unwrap_err().code(), "TWINDEX_READ_ONLY");
        refused(table.upsert("a", "2").map(|()| true));
        refused(table.insert("b", "2"));
        refused(table.delete("a"));
        refused(table.alter("a", |_| unreachable!()));
        refused(table.increment("a", 1).map(|_| true));
        refused(table.upsert_many(&[("a", "2"); 200]).map(|()| true));
        refused(table.clear().map(|()| true));
        assert!(table.index() == IndexKind::Sorted || table.reserve(1_000_000).is_err());
        assert!(!table.is_dropped());
        assert_eq!(shown.select("a").unwrap(), b"1");
    }
}

#[test]
fn snapshots_within_a_write_are_refused_and_dropping_one_is_not_lost() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash).unwrap();
    let mut snapshot = Some(store.snapshot().unwrap());
    table
        .alter("a", |_| {
            assert!(matches!(store.snapshot(), Err(Error::InWrite)));
            snapshot = None;
            Change::Set(b"1".to_vec())
        })
        .unwrap();
    assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
    assert_eq!(table.select("a").unwrap(), b"1");
}

#[test]
fn counter_under_an_open_snapshot_does_not_fill_memory() {
    for (store, table) in both() {
        for key in 0..1000 {
            table.increment(format!("{key}"), 1).unwrap();
        }
        let before = store.memory();
        let snapshot = store.snapshot().unwrap();
        for round in 0..if cfg!(miri) { 1500 } else { 100_000 } {
            table.increment(format!("{}", round % 1000), 1).unwrap();
        }
        assert!(store.memory() < before + (1 << 20), "{} after {before}", store.memory());
        assert_eq!(snapshot.table("t").unwrap().select("7").unwrap(), b"1");
    }
}

#[test]
fn write_refused_for_memory_names_snapshots() {
    for (store, table) in both() {
        for key in 0..2000 {
            table.insert(format!("{key:05}"), [b'o'; 40]).unwrap();
        }
        store.set_memory_limit(Some(store.memory() + (50 << 10)));
        let snapshot = store.snapshot().unwrap();
        let refused = (0..2000).find_map(|key| table.upsert(format!("{key:05}"), [b'n'; 40]).err()).unwrap();
        assert!(matches!(refused, Error::MemoryLimit { kept, .. } if kept > 0), "{refused:?}");
        assert!(refused.to_string().contains("of them for open snapshots"), "{refused}");
        assert!(snapshot.table("t").unwrap().iter().all(|(_, value)| value == [b'o'; 40]));
        drop(snapshot);
        table.upsert("00000", [b'n'; 40]).unwrap();
    }
}

#[test]
fn last_handle_that_goes_within_a_write_closes_the_snapshot_after_it() {
    for (store, table) in both() {
        table.insert("a", "1").unwrap();
        let pairs = store.snapshot().unwrap().table("t").unwrap().iter();
        table.upsert("a", "2").unwrap();
        store.atomically(|| {
            drop(pairs);
            table.upsert("a", "3").unwrap();
        });
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
        check(&store);
    }
}

/// What a snapshot kept was once freed by the end of another one that had looked before at which snapshots are open.
#[test]
fn closing_one_snapshot_leaves_what_a_newer_one_needs() {
    for (store, table) in both() {
        let ended = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Relaxed) {
                    drop(store.snapshot().unwrap());
                }
            });
            for round in 0..if cfg!(miri) { 5 } else { 300 } {
                let large = vec![b'x'; if round % 3 == 0 { 1000 } else { 10 }];
                let value = [format!("{round} ").into_bytes(), large].concat();
                let keys: Vec<_> = (0..40).map(key_of).collect();
                table.upsert_many(&keys.iter().map(|key| (key, &value)).collect::<Vec<_>>()).unwrap();
                let shown = store.snapshot().unwrap().table("t").unwrap();
                if round % 5 == 0 {
                    table.clear().unwrap();
                } else {
                    for key in &keys {
                        table.upsert(key, "later").unwrap();
                    }
                }
                assert!(keys.iter().all(|key| shown.select(key).as_ref() == Some(&value)));
                assert_eq!(shown.iter().filter(|(_, found)| *found == value).count(), keys.len());
            }
            ended.store(true, Relaxed);
        });
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
        check(&store);
    }
}

/// A root that was kept for a closed snapshot alone was once followed after its nodes were freed.
#[test]
fn tree_of_a_closed_snapshot_is_not_followed() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let older = store.snapshot().unwrap();
        let table = store.table("t", index).unwrap();
        table.insert("z", "stays").unwrap();
        let keys: Vec<_> = (0..if cfg!(miri) { 100 } else { 2000 }).map(|key| format!("{key:06}")).collect();
        let fill = |len: usize| keys.iter().for_each(|key| table.upsert(key, vec![3; len]).unwrap());
        fill(50);
        let snapshot = store.snapshot().unwrap();
        table.upsert(&keys[0], "2").unwrap();
        store.atomically(move || drop(snapshot));
        drop(older);
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
        for len in [20, 300] {
            table.delete_many(&keys).unwrap();
            fill(len);
        }
        fill(5000);
        let shown = store.snapshot().unwrap().table("t").unwrap();
        fill(5001);
        assert!(keys.iter().all(|key| shown.select(key).unwrap().len() == 5000));
        drop(shown);
        check(&store);
    }
}

#[test]
fn cleared_and_dropped_tables_count_as_kept() {
    for (store, table) in both() {
        let other = store.table("other", table.index()).unwrap();
        for key in 0..1000 {
            table.insert(format!("{key}"), [1; 100]).unwrap();
            other.insert(format!("{key}"), [1; 100]).unwrap();
        }
        let snapshot = store.snapshot().unwrap();
        table.insert("a", "kept once").unwrap();
        table.clear().unwrap();
        store.drop_table("other");
        let kept = store.snapshot_stats().kept_bytes;
        assert!((200_000..=store.memory()).contains(&kept), "{kept}");
        drop(snapshot);
        assert_eq!(store.snapshot_stats().kept_bytes, 0);
    }
}

#[test]
fn many_snapshots_one_after_the_other_take_no_more_memory() {
    for (store, table) in both() {
        (0..1000).for_each(|key| assert!(table.insert(format!("{key:04}"), "1").unwrap()));
        let mut kept = store.snapshot().unwrap();
        for round in 0..if cfg!(miri) { 30 } else { 3000 } {
            for key in 0..5 {
                table.increment(format!("{:04}", (round * 7 + key) % 1000), 1).unwrap();
            }
            // Each opens before the last one closes.
            kept = store.snapshot().unwrap();
        }
        assert!(store.memory() < 1 << 20, "{}: {}", table.index(), store.memory());
        drop(kept);
        check(&store);
    }
}

#[test]
fn closing_many_snapshots_looks_only_at_what_each_kept() {
    for (number, (store, table)) in both().chain(both()).enumerate() {
        let newest_first = number < 2;
        // With a look at all that is kept for all that are open, this takes minutes.
        let mut open: Vec<_> = (0..if cfg!(miri) { 20 } else { 5000 })
            .map(|at| {
                table.upsert("k", format!("{at}")).unwrap();
                store.snapshot().unwrap()
            })
            .collect();
        table.upsert("k", "last").unwrap();
        if newest_first {
            open.reverse();
        }
        let each = store.snapshot_stats().kept_bytes / open.len();
        for (closed, snapshot) in open.drain(..).enumerate() {
            assert!(!newest_first || closed % 100 != 0 || snapshot.table("t").unwrap().select("k").is_some());
            drop(snapshot);
        }
        assert!(each > 0);
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
        check(&store);
    }
}

#[test]
fn what_a_closed_snapshot_kept_is_free_at_once() {
    for (store, table) in both() {
        let large = vec![1; if cfg!(miri) { 20_000 } else { 2 << 20 }];
        let keys: Vec<_> = (0..if cfg!(miri) { 4 } else { 20 }).map(key_of).collect();
        for key in &keys {
            table.upsert(key, &large).unwrap();
        }
        let snapshot = store.snapshot().unwrap();
        for key in &keys {
            table.upsert(key, "small").unwrap();
        }
        assert!(store.memory() > keys.len() * large.len());
        drop(snapshot);
        assert!(store.memory() < 3 * large.len(), "{}: {}", table.index(), store.memory());
    }
}
