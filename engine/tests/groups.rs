//! Batches of pairs for a hash table, which takes them shard by shard.

use std::collections::BTreeMap;

use twindex::{Error, Index, Store, Table};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

const SEEDS: u64 = if cfg!(miri) { 1 } else { 40 };

fn contents(table: &Table) -> Model {
    let pairs: Model = table.iter().collect();
    assert_eq!(pairs.len(), table.len());
    assert!(pairs.iter().all(|(key, value)| table.select(key).as_ref() == Some(value)));
    pairs
}

/// Keys of which some come twice, with values of which some are large.
fn batch(rng: &mut fastrand::Rng, most: u32) -> Pairs {
    let keys = rng.u32(1..most);
    let value = |rng: &mut fastrand::Rng| {
        let len = if rng.u8(..30) == 0 { rng.usize(4000..6000) } else { rng.usize(..40) };
        vec![rng.u8(..); len]
    };
    let len = rng.u32(..most);
    (0..len).map(|_| (format!("key {}", rng.u32(..keys)).into_bytes(), value(rng))).collect()
}

#[test]
fn batches_do_what_single_writes_do() {
    for seed in 0..SEEDS {
        let mut rng = fastrand::Rng::with_seed(seed);
        let store = Store::new();
        let table = store.table("t", Index::Hash).unwrap();
        let mut model = Model::new();
        for _ in 0..20 {
            let pairs = batch(&mut rng, 1000);
            let verb = rng.u8(..3);
            let expected: Vec<bool> = pairs
                .iter()
                .map(|(key, value)| {
                    let writes = match verb {
                        0 => !model.contains_key(key),
                        1 => model.contains_key(key),
                        _ => true,
                    };
                    if writes {
                        model.insert(key.clone(), value.clone());
                    }
                    writes
                })
                .collect();
            let found = match verb {
                0 => table.insert_many(&pairs),
                1 => table.replace_many(&pairs),
                _ => table.upsert_many(&pairs),
            };
            assert_eq!(found.unwrap(), expected, "seed {seed}");
            let gone = batch(&mut rng, 300);
            for (key, _) in gone {
                assert_eq!(table.delete(&key).unwrap(), model.remove(&key).is_some());
            }
            if rng.u8(..4) == 0 {
                table.reserve(rng.usize(..20_000)).unwrap();
            }
            if rng.u8(..15) == 0 {
                table.clear().unwrap();
                model.clear();
            }
        }
        assert!(contents(&table) == model, "seed {seed}");
    }
}

#[test]
fn batches_of_many_threads_meet_single_writes() {
    const BATCHES: u32 = if cfg!(miri) { 2 } else { 40 };
    const LENGTH: u32 = 500;
    let store = Store::new();
    let table = store.table("t", Index::Hash).unwrap();
    // Which thread was first at a key is all that is open.
    let first = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3_u8)
            .map(|thread| {
                let table = &table;
                scope.spawn(move || {
                    let mut first = Vec::new();
                    for batch in 0..BATCHES {
                        let keys: Vec<_> =
                            (0..LENGTH).map(|at| (batch * LENGTH + at).to_be_bytes()).collect();
                        let pairs: Vec<_> = keys.iter().map(|key| (*key, [thread])).collect();
                        let inserted = match thread {
                            0 => pairs.iter().map(|(key, value)| table.insert(key, value).unwrap()).collect(),
                            _ => table.insert_many(&pairs).unwrap(),
                        };
                        first.extend(
                            keys.iter().zip(inserted).filter(|(_, new)| *new).map(|(key, _)| (*key, thread)),
                        );
                        table.reserve((batch * LENGTH) as usize).unwrap();
                    }
                    first
                })
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(first.len(), (BATCHES * LENGTH) as usize);
    let expected: Model = first.into_iter().map(|(key, thread)| (key.to_vec(), vec![thread])).collect();
    assert!(contents(&table) == expected);
}

#[test]
fn a_batch_that_meets_the_memory_limit_keeps_its_start() {
    for limit in (10_000..400_000).step_by(if cfg!(miri) { 200_000 } else { 7_000 }) {
        let store = Store::with_memory_limit(limit);
        let table = store.table("t", Index::Hash).unwrap();
        let pairs: Pairs = (0..6000_u32).map(|number| (number.to_be_bytes().to_vec(), vec![7; 40])).collect();
        let written = match table.insert_many(&pairs) {
            Ok(inserted) => {
                assert!(inserted.into_iter().all(|one| one));
                pairs.len()
            }
            Err(Error::MemoryLimit { limit: given, .. }) => {
                assert_eq!(given, Some(limit));
                // The first that is absent was refused; of those behind it some may be there.
                pairs.iter().position(|(key, _)| !table.contains(key)).expect("one was refused")
            }
            Err(error) => panic!("{error}"),
        };
        assert!(store.memory() <= limit);
        let found = contents(&table);
        assert!(found.len() >= written);
        assert!(
            found
                .iter()
                .all(|(key, value)| pairs.binary_search_by(|pair| pair.0.cmp(key)).is_ok()
                    && value.len() == 40)
        );
        drop(table);
        store.drop_table("t");
        assert_eq!(store.memory(), 0);
    }
}

#[test]
fn what_is_reserved_needs_about_the_memory_of_what_grew() {
    let pairs: Vec<_> = (0..20_000_u32).map(|number| (number.to_be_bytes(), [7; 16])).collect();
    let memory = |reserve| {
        let store = Store::new();
        let table = store.table("t", Index::Hash).unwrap();
        table.reserve(reserve).unwrap();
        table.insert_many(&pairs).unwrap();
        assert_eq!(table.len(), pairs.len());
        store.memory()
    };
    let (grown, reserved) = (memory(0), memory(pairs.len()));
    assert!(reserved < 3 * grown, "{reserved} and {grown} bytes");
}

#[test]
fn a_limit_refuses_what_is_reserved_beyond_it() {
    let store = Store::with_memory_limit(1 << 20);
    let table = store.table("t", Index::Hash).unwrap();
    assert!(matches!(table.reserve(10_000_000), Err(Error::MemoryLimit { .. })));
    assert!(table.insert("a", "1").unwrap() && store.memory() <= 1 << 20);
    table.reserve(1000).unwrap();
    assert!(store.table("s", Index::Sorted).unwrap().reserve(usize::MAX).is_ok());
}

/// What is reserved is taken step by step. Before it was asked for first, a number for which no machine has memory took all
/// that there was, until the system ended the process.
#[test]
fn a_reserve_that_no_machine_has_memory_for_takes_none() {
    let store = Store::new();
    let table = store.table("t", Index::Hash).unwrap();
    for pairs in [usize::MAX, isize::MAX as usize] {
        assert!(matches!(table.reserve(pairs), Err(Error::MemoryLimit { .. })));
        assert!(store.memory() < 1 << 20);
    }
}

#[test]
fn a_dropped_table_takes_no_batch() {
    let store = Store::new();
    let table = store.table("t", Index::Hash).unwrap();
    table.insert("a", "1").unwrap();
    store.drop_table("t");
    let pairs: Pairs = (0..200_u8).map(|number| (vec![number], vec![])).collect();
    assert!(matches!(table.insert_many(&pairs), Err(Error::TableDropped { .. })));
    assert!(!table.contains([0]));
}
