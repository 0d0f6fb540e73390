//! Batches of pairs, which a hash table takes shard by shard, and a sorted one leaf by leaf where its keys ascend.

use std::collections::BTreeMap;

use twindex::{Error, IndexKind, Store, Table};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;
type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

fn contents(table: &Table) -> Model {
    let pairs: Pairs = table.iter().collect();
    assert_eq!(pairs.len(), table.len());
    assert!(pairs.iter().all(|(key, value)| table.select(key).as_ref() == Some(value)));
    if table.index() == IndexKind::Sorted {
        let mut back: Pairs = table.scan(..).unwrap().rev().collect();
        back.reverse();
        assert!(back == pairs);
    }
    pairs.into_iter().collect()
}

fn value(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = if rng.u8(..20) == 0 { rng.usize(400..6000) } else { rng.usize(..40) };
    vec![rng.u8(..); len]
}

#[test]
fn runs_and_single_inserts_meet_in_the_same_leaves() {
    const RUNS: u32 = if cfg!(miri) { 4 } else { 60 };
    const LENGTH: u32 = 120;
    let store = Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    let key = |number: u32| format!("{number:08}").into_bytes();
    // Each thread has the numbers of its own remainder, all over the table.
    std::thread::scope(|scope| {
        for thread in 0..3_u32 {
            let table = &table;
            scope.spawn(move || {
                for run in 0..RUNS {
                    let run: Pairs = (0..LENGTH)
                        .map(|at| (key((run * LENGTH + at) * 4 + thread), vec![thread as u8]))
                        .collect();
                    assert!(table.insert_many(&run).unwrap().into_iter().all(|inserted| inserted));
                }
            });
        }
        scope.spawn(|| {
            for number in (0..RUNS * LENGTH).rev() {
                assert!(table.insert(key(number * 4 + 3), [3]).unwrap());
            }
        });
        scope.spawn(|| {
            // What a scan has met does not go away again.
            let mut seen = 0;
            while seen < 4 * (RUNS * LENGTH) as usize {
                let now = table.iter().count();
                assert!(now >= seen, "{now} after {seen}");
                seen = now;
            }
        });
    });
    let expected: Pairs =
        (0..4 * RUNS * LENGTH).map(|number| (key(number), vec![(number % 4) as u8])).collect();
    assert!(contents(&table) == expected.into_iter().collect());
}

/// The leaf's next pair may be of a run that came since, and not the one behind the separator.
#[test]
fn a_cursor_at_the_end_of_a_leaf_meets_the_run_behind_it() {
    const KEYS: u32 = if cfg!(miri) { 20 } else { 400 };
    let key = |number: u32, more: u32| format!("{number:06}/{more:02}").into_bytes();
    let store = Store::new();
    let table = store.table("t", IndexKind::Sorted).unwrap();
    // In no order, so that leaves have room.
    (0..KEYS).for_each(|at| assert!(table.insert(key(at * 7919 % KEYS, 0), "first").unwrap()));
    for number in (0..KEYS).rev() {
        let mut cursor = table.cursor(key(number, 0).as_slice()..).unwrap();
        assert_eq!(cursor.scan_asc_next().map(|(at, _)| at.to_vec()), Some(key(number, 0)));
        // Short, so that the leaf need not be replaced.
        let run: Pairs = (1..[4, 33][number as usize % 2]).map(|more| (key(number, more), vec![])).collect();
        assert!(table.insert_many(&run).unwrap().into_iter().all(|inserted| inserted));
        assert_eq!(cursor.scan_asc_next().map(|(at, _)| at.to_vec()), Some(key(number, 1)));
    }
}

#[test]
fn a_batch_that_meets_the_memory_limit_keeps_its_start() {
    let limits = || (10_000..400_000).step_by(if cfg!(miri) { 200_000 } else { 7_000 });
    for (index, limit) in BOTH.into_iter().flat_map(|index| limits().map(move |limit| (index, limit))) {
        let store = Store::with_memory_limit(limit);
        let table = store.table("t", index).unwrap();
        let mut rng = fastrand::Rng::with_seed(limit as u64);
        let pairs: Pairs =
            (0..4000).map(|number| (format!("{number:08}").into_bytes(), value(&mut rng))).collect();
        match table.insert_many(&pairs) {
            Ok(inserted) => assert!(inserted.len() == pairs.len() && inserted.into_iter().all(|one| one)),
            Err(Error::MemoryLimit { limit: given, .. }) => assert_eq!(given, Some(limit)),
            Err(error) => panic!("{error}"),
        }
        assert!(store.memory() <= limit);
        let found = contents(&table);
        // Of a hash table some behind the first that was refused may be there.
        let start: Model = pairs.iter().take_while(|(key, _)| found.contains_key(key)).cloned().collect();
        assert!(found.len() == start.len() || index == IndexKind::Hash);
        let written: Model = pairs.into_iter().collect();
        assert!(found.iter().all(|(key, value)| written.get(key) == Some(value)));
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
        let table = store.table("t", IndexKind::Hash).unwrap();
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
    let table = store.table("t", IndexKind::Hash).unwrap();
    assert!(matches!(table.reserve(10_000_000), Err(Error::MemoryLimit { .. })));
    assert!(table.insert("a", "1").unwrap() && store.memory() <= 1 << 20);
    table.reserve(1000).unwrap();
    assert!(store.table("s", IndexKind::Sorted).unwrap().reserve(usize::MAX).is_ok());
}

/// A reservation takes memory step by step. Before it was asked for first, a number for which no machine has memory took all
/// that there was, until the system ended the process.
#[test]
fn a_reserve_that_no_machine_has_memory_for_takes_none() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash).unwrap();
    for pairs in [usize::MAX, isize::MAX as usize] {
        assert!(matches!(table.reserve(pairs), Err(Error::MemoryLimit { .. })));
        assert!(store.memory() < 1 << 20);
    }
}

#[test]
fn a_dropped_table_takes_no_batch() {
    for index in BOTH {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        table.insert("a", "1").unwrap();
        store.drop_table("t");
        let pairs: Pairs = (0..200_u8).map(|number| (vec![number], vec![])).collect();
        assert!(matches!(table.insert_many(&pairs), Err(Error::TableDropped { .. })));
        assert!(table.is_empty() && !table.contains([0]));
    }
}
