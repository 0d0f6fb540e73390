//! Values that are shared with the store rather than copied, and what keeps them.

use twindex::{IndexKind, Store};

const LARGE: usize = 100_000;

#[test]
fn a_shared_value_outlives_every_change_of_its_pair() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        table.insert("key", vec![1; LARGE]).unwrap();
        let first = table.select_shared("key").unwrap();
        assert!(first.is_shared());
        table.upsert("key", vec![2; LARGE]).unwrap();
        let second = table.select_shared("key").unwrap();
        table.delete("key").unwrap();
        assert!(table.select_shared("key").is_none());
        table.clear().unwrap();
        drop((table, store));
        assert!(first.iter().all(|&byte| byte == 1) && first.len() == LARGE);
        assert!(second.clone().iter().all(|&byte| byte == 2));
    }
}

#[test]
fn what_a_shared_value_holds_counts_until_it_is_dropped() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        table.insert("key", vec![1; LARGE]).unwrap();
        let (value, copy) = (table.select_shared("key").unwrap(), table.select_shared("key").unwrap());
        table.clear().unwrap();
        assert!((LARGE..LARGE + 4096).contains(&store.memory()), "it holds {}", store.memory());
        drop(value);
        assert!(store.memory() >= LARGE);
        drop(copy);
        assert!(store.memory() < 4096, "it holds {}", store.memory());
    }
}

#[test]
fn a_small_value_is_copied() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let table = Store::new().table("t", index).unwrap();
        table.insert("key", "small").unwrap();
        let value = table.select_shared("key").unwrap();
        assert!(!value.is_shared());
        table.replace("key", "other").unwrap();
        assert_eq!(value.as_ref(), b"small");
        assert_eq!(format!("{value:?}"), "Value(\"small\")");
    }
}

#[test]
fn a_value_may_go_to_another_thread() {
    let table = Store::new().table("t", IndexKind::Hash).unwrap();
    table.insert("key", vec![7; LARGE]).unwrap();
    let value = table.select_shared("key").unwrap();
    let sum = std::thread::spawn(move || value.iter().map(|&byte| usize::from(byte)).sum::<usize>());
    table.delete("key").unwrap();
    assert_eq!(sum.join().unwrap(), 7 * LARGE);
}

/// A cursor shows large values without copying them: the last one stays whole while it is on it, and goes with it.
#[test]
fn a_cursor_keeps_the_large_value_that_it_is_on() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    for key in 0..100_u8 {
        table.insert([key], vec![key; LARGE]).unwrap();
    }
    let mut cursor = table.cursor(..).unwrap();
    for key in 0..100_u8 {
        let (found, value) = cursor.scan_asc_next().unwrap();
        assert_eq!(found, [key]);
        // Deletes from other handles and threads cannot take it away.
        std::thread::scope(|scope| scope.spawn(|| table.delete([key]).unwrap()).join().unwrap());
        assert!(value.len() == LARGE && value.iter().all(|&byte| byte == key));
    }
    assert!(cursor.scan_asc_next().is_none());
    table.clear().unwrap();
    assert!((LARGE..LARGE + 4096).contains(&store.memory()), "it holds {}", store.memory());
    drop(cursor);
    assert!(store.memory() < 4096, "it holds {}", store.memory());
}

/// Keys so long that they do not stand in a leaf, beside values of every size.
#[test]
fn long_keys_and_large_values_are_found_in_order() {
    let table = Store::new().table("t", IndexKind::Sorted).unwrap();
    let key = |len: usize, last: u8| [vec![b'k'; len], vec![last]].concat();
    let mut expected = Vec::new();
    for len in [0, 1, 3, 4, 5, 200, 400, 500, 510, 600, 5_000, 65_000] {
        for last in 0..3 {
            for value in [0, 1, 100, 505, 600, 10_000] {
                let key = [key(len, last), vec![value as u8]].concat();
                table.insert(&key, vec![last; value]).unwrap();
                expected.push((key, vec![last; value]));
            }
        }
    }
    expected.sort();
    assert!(table.iter().eq(expected.iter().cloned()));
    for (key, value) in &expected {
        assert_eq!(table.select(key).as_ref(), Some(value));
    }
    let mut shown = Vec::new();
    let mut cursor = table.cursor(..).unwrap();
    while cursor.scan_desc_next_many(7, |key, value| shown.push((key.to_vec(), value.to_vec()))) > 0 {}
    shown.reverse();
    assert!(shown == expected);
    for (key, _) in &expected {
        assert!(table.delete(key).unwrap());
    }
    assert!(table.is_empty());
}
