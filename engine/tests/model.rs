//! Every verb against `BTreeMap`, on one thread.

use std::collections::BTreeMap;

use crate::history::Checked;
use crate::scale::scaled;
use crate::sound::assert_sound;
use crate::strategies::{config, history};
use proptest::prelude::*;
use twindex::{IndexKind, Store, Table};

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

proptest! {
    #![proptest_config(config(200))]

    #[test]
    fn a_table_does_what_a_map_does(index in prop::sample::select(&BOTH[..]), ops in history(b"")) {
        let store = Store::new();
        let table = store.table("t", index).expect("a new table");
        let mut checked = Checked::new(store, table, b"");
        for op in &ops {
            checked.run(op);
        }
        checked.finish();
    }
}

proptest! {
    #![proptest_config(config(100))]

    /// Opens, drops and lists tables.
    #[test]
    fn a_store_does_what_a_map_of_names_does(
        ops in prop::collection::vec(("[ab]{1,2}", 0..4_u8, any::<u8>()), 1..60),
    ) {
        let store = Store::new();
        let mut model: BTreeMap<String, (IndexKind, Option<u8>)> = BTreeMap::new();
        for (name, op, value) in ops {
            let index = if value % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted };
            match (op, model.get_mut(&name)) {
                (0, known) => assert_eq!(store.drop_table(&name), known.is_some()),
                (1, Some(known)) if known.0 != index => {
                    let error = store.table(&name, index).expect_err("it has the other index");
                    assert_eq!(error.code(), "TWINDEX_WRONG_INDEX");
                }
                (_, known) => {
                    let known = known.map_or((index, None), |known| *known);
                    let table = store.table(&name, known.0).expect("the name is free or has this index");
                    assert_eq!(table.select(b"k"), known.1.map(|value| vec![value]));
                    table.upsert(b"k", [value]).expect("there is no limit");
                    model.insert(name.clone(), (known.0, Some(value)));
                }
            }
            if op == 0 {
                model.remove(&name);
            }
            let listed: Vec<_> = store.tables().iter().map(|table| (table.name().to_owned(), table.index())).collect();
            assert!(listed.iter().map(|(name, index)| (name, *index)).eq(model.iter().map(|(name, known)| (name, known.0))));
            for name in ["a", "b", "ab"] {
                assert_eq!(store.find_table(name).is_some(), model.contains_key(name));
            }
        }
    }
}

/// Enough pairs that every part of an index grows and shrinks many times.
#[test]
fn a_large_table_does_what_a_map_does() {
    BOTH.into_iter().for_each(grow_and_shrink);
}

fn grow_and_shrink(index: IndexKind) {
    let pairs = scaled(20_000, 300);
    let mut random = fastrand::Rng::with_seed(7);
    let table = Store::new().table("t", index).expect("a new table");
    let mut model = BTreeMap::new();
    for round in 0..4_u8 {
        let fresh: BTreeMap<_, _> =
            (0..pairs).map(|_| (some_key(&mut random, pairs), some_value(&mut random, round))).collect();
        insert_in_batches(&table, &mut random, &mut model, fresh);
        assert_same(&table, &model);
        let mut doomed: Vec<_> = model.keys().filter(|_| random.u8(..) < 150).cloned().collect();
        random.shuffle(&mut doomed);
        for (number, batch) in doomed.chunks(100).enumerate() {
            assert!(table.delete_many(batch).expect("no key is long").iter().all(|deleted| *deleted));
            if number.is_multiple_of(16) {
                assert_sound(&table);
            }
        }
        for key in doomed {
            model.remove(&key);
        }
        assert_same(&table, &model);
    }
    for key in std::mem::take(&mut model).into_keys() {
        assert!(table.delete(&key).expect("no key is long"));
    }
    assert_same(&table, &model);
}

/// Numbers in order, numbers as bytes in no order, and long shared prefixes.
fn some_key(random: &mut fastrand::Rng, pairs: usize) -> Vec<u8> {
    let number = random.usize(..pairs * 2);
    match number % 3 {
        0 => format!("{number:012}").into_bytes(),
        1 => (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes().to_vec(),
        _ => format!("{}/{number}", "long/and/shared/".repeat(number % 8)).into_bytes(),
    }
}

fn some_value(random: &mut fastrand::Rng, round: u8) -> Vec<u8> {
    let length = match random.u8(..) {
        0 => random.usize(4000..9000),
        1..10 => random.usize(..1000),
        _ => random.usize(..24),
    };
    vec![round; length]
}

fn insert_in_batches(
    table: &Table,
    random: &mut fastrand::Rng,
    model: &mut BTreeMap<Vec<u8>, Vec<u8>>,
    fresh: BTreeMap<Vec<u8>, Vec<u8>>,
) {
    let mut pairs: Vec<_> = fresh.into_iter().collect();
    if random.bool() {
        random.shuffle(&mut pairs);
    }
    for batch in pairs.chunks(64) {
        let inserted = if random.bool() {
            table.insert_many(batch).expect("there is no limit")
        } else {
            batch.iter().map(|(key, value)| table.insert(key, value).expect("there is no limit")).collect()
        };
        for ((key, value), inserted) in batch.iter().zip(inserted) {
            assert_eq!(inserted, !model.contains_key(key));
            model.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

fn assert_same(table: &Table, model: &BTreeMap<Vec<u8>, Vec<u8>>) {
    assert_sound(table);
    assert_eq!(table.len(), model.len());
    let mut pairs: Vec<_> = table.iter().collect();
    if table.index() == IndexKind::Hash {
        pairs.sort();
    }
    assert!(pairs.iter().map(|(key, value)| (key, value)).eq(model));
    let keys: Vec<_> = model.keys().collect();
    table.select_many(&keys, |position, value| {
        assert_eq!(value, model.get(keys[position]).map(Vec::as_slice));
    });
    if table.index() == IndexKind::Sorted {
        assert!(table.scan(..).unwrap().rev().eq(pairs.into_iter().rev()));
    }
}
