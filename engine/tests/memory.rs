//! What `memory` counts, and what a memory limit refuses.

use std::collections::BTreeMap;

use crate::scale::scaled;
use proptest::prelude::*;
use twindex::{Change, Error, IndexKind, Store, Table, Write};

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

/// A new store with a table of each index in turn.
fn for_both(test: impl Fn(Store, Table)) {
    for index in BOTH {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        test(store, table);
    }
}

/// Pairs of every size class, some of them large.
fn fill(table: &Table, pairs: usize) -> usize {
    let values: Vec<_> = (0..pairs).map(|number| vec![7_u8; [0, 3, 40, 300, 5000][number % 5]]).collect();
    for (number, value) in values.iter().enumerate() {
        table.upsert(format!("key/{number}"), value).expect("there is no limit");
    }
    values.iter().map(Vec::len).sum()
}

#[test]
fn memory_covers_what_the_values_hold() {
    for index in BOTH {
        let store = Store::new();
        let (one, two) = (store.table("one", index).unwrap(), store.table("two", index).unwrap());
        let held_by_one = fill(&one, scaled(1000, 50));
        let held_by_two = fill(&two, scaled(500, 20));
        assert!(one.memory() >= held_by_one);
        assert!(two.memory() >= held_by_two);
        assert!(store.memory() >= one.memory() + two.memory());
        assert!(store.memory() <= 10 * (held_by_one + held_by_two) + (16 << 20), "{}", store.memory());
    }
}

#[test]
fn clear_returns_memory_to_its_base() {
    for_both(|store, table| {
        let base = (store.memory(), table.memory());
        for _ in 0..3 {
            fill(&table, scaled(2000, 50));
            assert!(store.memory() > base.0 && table.memory() > base.1);
            table.clear().unwrap();
            assert_eq!((store.memory(), table.memory()), base);
        }
    });
}

/// A cursor that had stopped once kept the index that it had read, with all its memory, through a clear.
#[test]
fn a_cursor_that_nobody_moves_keeps_no_memory() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    let base = store.memory();
    fill(&table, scaled(2000, 50));
    let mut cursor = table.cursor(..).unwrap();
    assert!(cursor.scan_asc_next().is_some());
    table.clear().unwrap();
    assert_eq!(store.memory(), base);
    assert_eq!(cursor.scan_asc_next(), None);
    table.insert("later", "1").unwrap();
    assert_eq!(cursor.scan_asc_next(), Some((b"later".as_slice(), b"1".as_slice())));
}

/// The last pairs to go once left the large values of those before them behind.
#[test]
fn deleting_all_pairs_returns_their_memory() {
    for_both(|store, table| {
        for _ in 0..3 {
            let pairs = scaled(1000, 50);
            fill(&table, pairs);
            for number in 0..pairs {
                assert!(table.delete(format!("key/{number}")).unwrap());
            }
            assert!(store.memory() < 64 << 10, "{}", store.memory());
        }
    });
}

/// Keys of large pairs once were not counted in what waits to be freed, so hundreds of megabytes could wait.
#[test]
fn deleting_long_keys_returns_their_memory() {
    for_both(|store, table| {
        let keys: Vec<_> = (0..scaled(400, 10)).map(|number| format!("{number:060000}")).collect();
        for key in &keys {
            assert!(table.insert(key, "").unwrap());
        }
        for key in &keys[1..] {
            assert!(table.delete(key).unwrap());
        }
        assert!(store.memory() < 16 << 20, "{}", store.memory());
    });
}

/// What a reader was in while it was cleared once stayed until the next clear.
#[test]
fn a_clear_beside_a_reader_returns_memory_later() {
    for_both(|store, table| {
        table.insert("large", vec![0; 10 << 20]).unwrap();
        table.select_with("large", |_| table.clear().unwrap());
        (0..scaled(2000, 100)).for_each(|number| assert!(table.insert(number.to_string(), "").unwrap()));
        assert!(store.memory() < 1 << 20, "{}", store.memory());
    });
}

/// A large value is made before its record or its leaf: where the limit refused these, it stayed for ever. The room
/// grows by steps so small that every allocation is once the one that is refused.
#[test]
fn a_refused_write_leaves_no_large_value_behind() {
    for index in BOTH {
        let store = Store::new();
        let base = store.memory();
        let table = store.table("t", index).unwrap();
        fill(&table, 40);
        for room in (0..scaled(400, 8)).map(|step| step * if cfg!(miri) { 2000 } else { 40 }) {
            for (number, length) in [9000, 5000, 4500, 600, 300, 40].into_iter().enumerate() {
                store.set_memory_limit(Some(store.memory() + room));
                let key = format!("key/{}", 4 + 5 * number);
                let results = [
                    table.replace(&key, vec![1; length]),
                    table.alter(&key, |_| Change::Set(vec![2; length + 1])),
                    table.insert(format!("new/{room}/{length}"), vec![3; length]),
                ];
                let refused = |result| matches!(result, Err(Error::MemoryLimit { .. }));
                assert!(results.into_iter().all(|result| matches!(result, Ok(true)) || refused(result)));
            }
        }
        store.set_memory_limit(None);
        store.drop_table("t");
        drop(table);
        assert_eq!(store.memory(), base);
    }
}

#[test]
fn dropping_a_table_returns_its_memory() {
    for index in BOTH {
        let store = Store::new();
        let other = store.table("other", index).unwrap();
        fill(&other, 20);
        let base = store.memory();
        for _ in 0..3 {
            let table = store.table("t", index).unwrap();
            fill(&table, scaled(2000, 50));
            assert!(store.memory() > base);
            assert!(store.drop_table("t"));
            drop(table);
            assert_eq!(store.memory(), base);
        }
    }
}

/// Tables without pairs once counted nothing, so no limit refused however many of them.
#[test]
fn tables_without_pairs_count_up_to_the_limit() {
    const LIMIT: usize = 64 << 10;
    for index in BOTH {
        let store = Store::with_memory_limit(LIMIT);
        let refused = |number| match store.table(&format!("table {number}"), index) {
            Ok(_) => false,
            Err(Error::MemoryLimit { limit: Some(LIMIT), needed, .. }) if needed > LIMIT => true,
            Err(error) => panic!("{error}"),
        };
        let made = (0..10_000).find(|&number| refused(number)).unwrap();
        assert!((50..200).contains(&made), "{made} tables");
        assert!(store.memory() <= LIMIT && store.memory() > LIMIT - 1024, "{}", store.memory());
        assert!(store.find_table(&format!("table {made}")).is_none(), "it was refused");
        assert_eq!(store.tables().len(), made);
        assert!(!refused(0), "it is there already");

        // A long name counts too.
        assert!(store.drop_table("table 0") && store.drop_table("table 1"));
        let short = store.memory();
        store.table(&"n".repeat(255), index).unwrap();
        assert!(store.memory() - short > 2 * 255, "{} bytes", store.memory() - short);

        store.tables().iter().for_each(|table| assert!(store.drop_table(table.name())));
        assert_eq!(store.memory(), 0);
    }
}

/// A handle that outlives its table's place in the store is counted until it goes too.
#[test]
fn an_unlisted_handle_holds_no_pairs() {
    for_both(|store, table| {
        let base = store.memory();
        fill(&table, scaled(500, 50));
        let clone = table.clone();
        store.drop_table("t");
        assert!(store.memory() <= base);
        drop((table, clone));
        assert_eq!(store.memory(), Store::new().memory());
    });
}

#[test]
fn churn_does_not_grow_memory_for_ever() {
    for (index, longest) in BOTH.into_iter().flat_map(|index| [(index, 600), (index, 6000)]) {
        let table = Store::new().table("t", index).unwrap();
        let mut random = fastrand::Rng::with_seed(11);
        let live = scaled(500, 20);
        let churn = |random: &mut fastrand::Rng| {
            for _ in 0..live * 20 {
                let key = random.usize(..live).to_string();
                if random.bool() {
                    table.upsert(key, vec![1; random.usize(..longest)]).unwrap();
                } else {
                    table.delete(key).unwrap();
                }
            }
        };
        churn(&mut random);
        let settled = table.memory();
        for _ in 0..5 {
            churn(&mut random);
            assert!(table.memory() <= 2 * settled + (1 << 20), "{} after {settled}", table.memory());
        }
    }
}

/// Leaves that grew in one size lay idle when pairs came and went and leaves of every size were needed: a sorted table
/// of a million pairs came to hold 73 bytes a pair instead of 42. Leaves that had become small never became one, so it
/// grew with every round.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn a_table_whose_pairs_are_all_replaced_hardly_grows() {
    for index in BOTH {
        let table = Store::new().table("t", index).unwrap();
        let mut random = fastrand::Rng::with_seed(5);
        let mut next = || format!("{:016x}", random.u64(..));
        let mut keys: Vec<String> = (0..100_000).map(|_| next()).collect();
        for key in &keys {
            table.insert(key, [0; 16]).unwrap();
        }
        let filled = table.memory();
        for _ in 0..8 {
            for key in &mut keys {
                table.delete(&key).unwrap();
                *key = next();
                table.insert(&key, [0; 16]).unwrap();
            }
        }
        // A quarter may be idle, and more while blocks move.
        let churned = table.memory();
        assert!(churned <= filled * 3 / 2, "{index}: {churned} bytes after {filled}");
        assert!(keys.iter().all(|key| table.contains(key)) && table.iter().count() == keys.len());
    }
}

/// What a record leaves was only ever used for one of the same size: a hash table whose values grew held each of their
/// former sizes, 1.5 times the bytes of its pairs here, and with values of random sizes thereafter 3.3 times.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn a_hash_table_whose_values_change_size_holds_little_more_than_they_need() {
    let table = Store::new().table("t", IndexKind::Hash).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut keys: Vec<String> = (0..20_000).map(|number| format!("{number:016}")).collect();
    for length in [16, 64, 256, 1024] {
        random.shuffle(&mut keys);
        for key in &keys {
            table.upsert(key, vec![1; length]).unwrap();
        }
    }
    let needed = 20_000 * (16 + 1024);
    let grown = table.memory();
    assert!(grown < needed * 142 / 100, "{grown}");
    for key in keys.iter().cycle().take(100_000) {
        table.upsert(key, vec![2; random.usize(..2048)]).unwrap();
    }
    let mixed = table.memory();
    assert!(mixed < needed * 17 / 10, "{mixed}");
}

/// As long as a table had few shards, so much of it waited to be freed as if it had many: of this one 400 bytes a pair.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn little_of_a_small_hash_table_waits_to_be_freed() {
    let table = Store::new().table("t", IndexKind::Hash).unwrap();
    for number in 0..100_000 {
        table.upsert(format!("{:016}", number % 1000), [1; 16]).unwrap();
    }
    assert!(table.memory() < 200 << 10, "{}", table.memory());
}

/// What a table with the same pairs holds that nothing was ever deleted from.
#[cfg(not(any(twindex_tiny, miri)))]
fn fresh_memory(table: &Table) -> usize {
    let fresh = Store::new().table("t", table.index()).unwrap();
    let mut pairs: Vec<_> = table.iter().collect();
    fastrand::Rng::with_seed(1).shuffle(&mut pairs);
    for (key, value) in &pairs {
        assert!(fresh.insert(key, value).unwrap());
    }
    fresh.memory()
}

/// A sorted table cuts its blocks and never joins them, so those of former sizes lie idle. It is said how much that is.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn values_that_grow_leave_about_as_much_idle_as_they_are() {
    let table = Store::new().table("t", IndexKind::Sorted).unwrap();
    let mut random = fastrand::Rng::with_seed(7);
    let mut keys: Vec<_> = (0..4000).map(|_| format!("{:016x}", random.u64(..))).collect();
    for length in (4..=13).map(|bits| 1 << bits) {
        random.shuffle(&mut keys);
        for key in &keys {
            table.upsert(key, vec![1; length]).unwrap();
        }
    }
    let fresh = fresh_memory(&table);
    assert!(table.memory() <= fresh * 21 / 10, "{} bytes, and {fresh} afresh", table.memory());
}

/// What most pairs leave is used again before the table grows.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn a_table_that_loses_most_pairs_grows_again_in_their_memory() {
    let table = Store::new().table("t", IndexKind::Sorted).unwrap();
    let mut random = fastrand::Rng::with_seed(9);
    let mut keys: Vec<_> = (0..200_000).map(|_| format!("{:016x}", random.u64(..))).collect();
    for key in &keys {
        assert!(table.insert(key, [1; 16]).unwrap());
    }
    let full = table.memory();
    random.shuffle(&mut keys);
    let gone = keys.split_off(2000);
    for key in &gone {
        assert!(table.delete(key).unwrap());
    }
    assert_eq!(table.len(), 2000);
    assert!(keys.iter().all(|key| table.contains(key)) && !gone.iter().any(|key| table.contains(key)));
    assert!(table.iter().map(|(key, _)| key).is_sorted());
    for key in &gone {
        assert!(table.insert(key, [2; 16]).unwrap());
    }
    assert!(table.memory() <= full + full / 4, "{} bytes, and {full} before", table.memory());
}

/// The keys move on, so that no place in an index is ever used again.
#[test]
fn a_queue_does_not_grow_memory_for_ever() {
    for index in BOTH {
        let table = Store::new().table("t", index).unwrap();
        let live = scaled(500, 20);
        let key = |number: usize| format!("{number:010}");
        let mut settled = 0;
        for number in 0..live * 40 {
            table.insert(key(number), vec![1; 100 + number % 50]).unwrap();
            if number >= live {
                assert!(table.delete(key(number - live)).unwrap());
            }
            if number == live * 10 {
                settled = table.memory();
            }
        }
        assert_eq!(table.len(), live);
        assert!(table.memory() <= 2 * settled + (1 << 20), "{} after {settled}", table.memory());
    }
}

#[test]
fn a_store_fills_up_to_its_limit_and_no_further() {
    const LIMIT: usize = 8 << 20;
    let value = vec![1; LIMIT / 64];
    for index in BOTH {
        let store = Store::with_memory_limit(LIMIT);
        let table = store.table("t", index).unwrap();
        let mut written = 0;
        let error = loop {
            match table.insert(format!("key/{written}"), &value) {
                Ok(inserted) => assert!(inserted),
                Err(error) => break error,
            }
            written += 1;
            assert!(store.memory() <= LIMIT);
        };
        assert!((32..64).contains(&written), "{written}");
        assert!(
            matches!(error, Error::MemoryLimit { limit: Some(LIMIT), needed, .. } if needed > LIMIT),
            "{error}"
        );
        assert_eq!(table.len(), written);
        assert!(!table.contains(format!("key/{written}")));
        assert!(table.iter().all(|(_, found)| found == value));
    }
}

/// A sorted table that was full had no block left to write a leaf anew, so hardly a pair in it could be updated, and only
/// thousands of deletes made room for another one.
#[cfg(not(any(twindex_tiny, miri)))]
#[test]
fn a_full_table_s_pairs_can_be_updated_and_replaced() {
    for index in BOTH {
        let store = Store::with_memory_limit(4 << 20);
        let table = store.table("t", index).unwrap();
        let mut random = fastrand::Rng::with_seed(3);
        let mut keys = Vec::new();
        loop {
            let key = format!("{:016x}", random.u64(..));
            if table.insert(&key, [1; 16]).is_err() {
                break;
            }
            keys.push(key);
        }
        assert!(keys.len() > 60_000, "{index}: {}", keys.len());
        let updated = keys.iter().filter(|key| table.replace(key, [2; 16]).is_ok()).count();
        assert!(updated >= keys.len() * 3 / 4, "{index}: {updated} of {}", keys.len());
        let others: Vec<_> = (0..100).map(|_| format!("{:016x}", random.u64(..))).collect();
        let room = keys.iter().take(2000).any(|key| {
            assert!(table.delete(key).unwrap());
            others.iter().any(|other| table.insert(other, [3; 16]).unwrap_or(false))
        });
        assert!(room && store.memory() <= 4 << 20);
    }
}

/// What a delete left was counted until some hundred more had been deleted, so a full store stayed full after it.
#[test]
fn a_delete_makes_room_for_as_much_at_once() {
    const LIMIT: usize = 2 << 20;
    let value = vec![1; LIMIT / 20];
    for index in BOTH {
        let store = Store::with_memory_limit(LIMIT);
        let table = store.table("t", index).unwrap();
        let held = (0..100_u8).take_while(|number| table.insert([*number], &value).is_ok()).count() as u8;
        assert!((15..20).contains(&held), "{held}");
        for number in held..held + 40 {
            assert!(table.insert([number], &value).is_err());
            assert!(table.delete([number - held]).unwrap());
            assert!(table.insert([number], &value).unwrap());
        }
        // What was shown to `alter` may have changed before another attempt, so that is its caller's.
        let fresh = || table.alter("altered", |_| Change::Set(value.clone()));
        assert!(table.delete([held + 39]).unwrap() && fresh().is_err() && fresh().unwrap());
        assert_eq!(table.len(), usize::from(held));
    }
}

#[test]
fn a_store_over_a_new_limit_keeps_its_pairs_and_refuses_to_grow() {
    for_both(|store, table| {
        fill(&table, 100);
        let before: BTreeMap<_, _> = table.iter().collect();
        store.set_memory_limit(Some(1));
        let error = table.insert("new", vec![1; 16 << 20]).unwrap_err();
        assert_eq!(error.code(), "TWINDEX_MEMORY_LIMIT");
        assert_eq!(table.iter().collect::<BTreeMap<_, _>>(), before);
        assert!(table.delete("key/0").unwrap());
        store.set_memory_limit(None);
        assert!(table.insert("new", vec![1; 16 << 20]).unwrap());
        assert_eq!(table.len(), 100);
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: scaled(40, 2) as u32,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Whatever the limit refuses, it leaves the pairs as they were.
    #[test]
    fn a_refused_write_changes_nothing(
        sorted in any::<bool>(),
        room in 0..512_usize << 10,
        ops in prop::collection::vec((0..40_u8, 0..5_u8, 0..64_usize << 10), 1..if cfg!(miri) { 10 } else { 120 }),
    ) {
        let store = Store::new();
        let base = store.memory();
        let table = store.table("t", BOTH[usize::from(sorted)]).unwrap();
        let own = store.memory();
        let limit = own + room;
        store.set_memory_limit(Some(limit));
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        for (key, verb, length) in ops {
            let before = store.memory();
            let (key, value) = (vec![key], vec![verb; length]);
            let old = model.get(&key).cloned();
            let done = match verb {
                0 => table.insert(&key, &value),
                1 => table.replace(&key, &value),
                2 => table.upsert(&key, &value).map(|()| true),
                3 => table.compare_and_swap(&key, old.as_deref(), Some(&value)),
                _ => table.delete(&key),
            };
            match done {
                Ok(true) if verb == 4 => drop(model.remove(&key)),
                Ok(true) => drop(model.insert(key.clone(), value)),
                Ok(false) => {}
                Err(Error::MemoryLimit { limit: told, needed, .. }) => assert!(told == Some(limit) && needed > limit),
                Err(error) => panic!("{error}"),
            }
            assert!(store.memory() <= limit.max(before));
            assert_eq!(table.select(&key), model.get(&key).cloned());
            crate::sound::assert_sound(&table);
            assert_eq!(store.memory(), own + table.memory());
        }
        assert_eq!(table.len(), model.len());
        assert!(table.iter().collect::<BTreeMap<_, _>>() == model);
        store.drop_table("t");
        drop(table);
        assert_eq!(store.memory(), base, "nothing was left behind");
    }
}

/// Wherever in a batch the memory ends, the table stays whole, each key has what it had or what it was to get, and nothing
/// is lost track of.
#[test]
fn a_batch_that_is_refused_half_way_leaves_a_whole_table() {
    let mut random = fastrand::Rng::with_seed(11);
    for round in 0..scaled(6, 2) {
        let store = Store::new();
        let base = store.memory();
        let table = store.table("t", BOTH[round % 2]).unwrap();
        let mut model: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
        let mut next = 0_u32;
        for _ in 0..if cfg!(miri) { 3 } else { 50 } {
            let room = [0, 64, 600, 5000, 40_000, 1 << 20][random.usize(..6)];
            store.set_memory_limit(Some(store.memory() + random.usize(..=room)));
            let (in_order, key_len) = (random.bool(), if random.u8(..8) == 0 { 600 } else { 7 });
            let most = [8, 40, 70, 140, 520, 4200][random.usize(..6)];
            let mut pair = || {
                next += 1;
                let mut key = format!("{:07}", if in_order { next } else { random.u32(..next) }).into_bytes();
                key.resize(key_len, b'k');
                let len = random.usize(..most);
                (key, vec![random.u8(..); len])
            };
            let pairs: Vec<_> = (0..200).map(|_| pair()).collect();
            let pairs = &pairs[..random.usize(1..200)];
            let keys: Vec<_> = pairs.iter().map(|(key, _)| key).collect();
            let deletes = random.u8(..4) == 0;
            let done =
                if deletes { table.delete_many(&keys) } else { table.write_many(Write::Upsert, pairs) };
            for key in keys {
                let found = table.select(key);
                let mut given = pairs.iter().filter(|(other, _)| other == key).map(|(_, value)| Some(value));
                let mut is_new = |found: Option<&Vec<u8>>| {
                    if deletes { found.is_none() } else { given.any(|given| given == found) }
                };
                assert!(
                    is_new(found.as_ref()) || done.is_err() && found.as_ref() == model.get(key),
                    "{done:?}"
                );
                match found {
                    Some(value) => drop(model.insert(key.clone(), value)),
                    None => drop(model.remove(key)),
                }
            }
            crate::sound::assert_sound(&table);
            assert_eq!(table.len(), model.len());
        }
        assert!(table.iter().collect::<BTreeMap<_, _>>() == model);
        store.drop_table("t");
        drop(table);
        assert_eq!(store.memory(), base, "nothing was left behind");
    }
}
