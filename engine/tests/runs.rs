//! Runs of ascending keys, which a sorted table takes leaf by leaf.

use std::collections::BTreeMap;

use twindex::{Error, Index, Store, Table};

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn contents(table: &Table) -> Pairs {
    let pairs: Pairs = table.iter().collect();
    assert_eq!(pairs.len(), table.len());
    assert!(pairs.iter().all(|(key, value)| table.select(key).as_ref() == Some(value)));
    let mut back: Pairs = table.scan(..).rev().collect();
    back.reverse();
    assert!(back == pairs);
    pairs
}

/// A key that is short, or begins as many others do, or is too long for a leaf.
fn key(rng: &mut fastrand::Rng, number: u32) -> Vec<u8> {
    let text = match rng.u8(..8) {
        0 => format!("{number:08}"),
        1 => format!("{number:08}{}", "x".repeat(rng.usize(..40))),
        2 => format!("{number:08}{}", "long".repeat(rng.usize(100..300))),
        _ => format!("{number:08}-key"),
    };
    text.into_bytes()
}

fn value(rng: &mut fastrand::Rng) -> Vec<u8> {
    let len = if rng.u8(..20) == 0 { rng.usize(400..6000) } else { rng.usize(..40) };
    vec![rng.u8(..); len]
}

#[test]
fn runs_do_what_single_inserts_do() {
    for seed in 0..60 {
        let mut rng = fastrand::Rng::with_seed(seed);
        let store = Store::new();
        let table = store.table("t", Index::Sorted).unwrap();
        let mut model = BTreeMap::new();
        for _ in 0..40 {
            let (start, step) = (rng.u32(..5000), rng.u32(1..4));
            let run: BTreeMap<_, _> =
                (0..rng.u32(..400)).map(|at| (key(&mut rng, start + at * step), value(&mut rng))).collect();
            let run: Pairs = run.into_iter().collect();
            let expected: Vec<bool> = run
                .iter()
                .map(|(key, value)| {
                    let absent = !model.contains_key(key);
                    model.entry(key.clone()).or_insert_with(|| value.clone());
                    absent
                })
                .collect();
            assert_eq!(table.insert_many(&run).unwrap(), expected, "seed {seed}");
            for _ in 0..rng.usize(..60) {
                let number = rng.u32(..6000);
                let key = key(&mut rng, number);
                assert_eq!(table.delete(&key).unwrap(), model.remove(&key).is_some());
            }
        }
        assert!(contents(&table) == model.into_iter().collect::<Pairs>(), "seed {seed}");
        table.clear().unwrap();
        assert!(table.is_empty());
        drop((table, store));
    }
}

#[test]
fn runs_and_single_inserts_meet_in_the_same_leaves() {
    const RUNS: u32 = if cfg!(miri) { 4 } else { 60 };
    const LENGTH: u32 = 120;
    let store = Store::new();
    let table = store.table("t", Index::Sorted).unwrap();
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
    assert!(contents(&table) == expected);
}

/// The leaf's next pair may be of a run that came since, and not the one behind the separator.
#[test]
fn a_cursor_at_the_end_of_a_leaf_meets_the_run_behind_it() {
    const KEYS: u32 = if cfg!(miri) { 20 } else { 400 };
    let key = |number: u32, more: u32| format!("{number:06}/{more:02}").into_bytes();
    let store = Store::new();
    let table = store.table("t", Index::Sorted).unwrap();
    // In no order, so that leaves have room.
    (0..KEYS).for_each(|at| assert!(table.insert(key(at * 7919 % KEYS, 0), "first").unwrap()));
    for number in (0..KEYS).rev() {
        let mut cursor = table.cursor(key(number, 0).as_slice()..);
        assert_eq!(cursor.scan_asc_next().map(|(at, _)| at.to_vec()), Some(key(number, 0)));
        // Short, so that the leaf need not be replaced.
        let run: Pairs = (1..[4, 33][number as usize % 2]).map(|more| (key(number, more), vec![])).collect();
        assert!(table.insert_many(&run).unwrap().into_iter().all(|inserted| inserted));
        assert_eq!(cursor.scan_asc_next().map(|(at, _)| at.to_vec()), Some(key(number, 1)));
    }
}

#[test]
fn a_run_that_meets_the_memory_limit_keeps_its_start() {
    for limit in (10_000..400_000).step_by(7_000) {
        let store = Store::with_memory_limit(limit);
        let table = store.table("t", Index::Sorted).unwrap();
        let mut rng = fastrand::Rng::with_seed(limit as u64);
        let run: Pairs =
            (0..3000).map(|number| (format!("{number:08}").into_bytes(), value(&mut rng))).collect();
        match table.insert_many(&run) {
            Ok(inserted) => assert!(inserted.len() == run.len() && inserted.into_iter().all(|one| one)),
            Err(Error::MemoryLimit { limit: given, .. }) => assert_eq!(given, Some(limit)),
            Err(error) => panic!("{error}"),
        }
        assert!(store.memory() <= limit);
        assert!(contents(&table) == run[..table.len()]);
        drop(table);
        store.drop_table("t");
        assert_eq!(store.memory(), 0);
    }
}

#[test]
fn a_dropped_table_takes_no_run() {
    let store = Store::new();
    let table = store.table("t", Index::Sorted).unwrap();
    store.drop_table("t");
    let run: Pairs = (0..100_u8).map(|number| (vec![number], vec![])).collect();
    assert!(matches!(table.insert_many(&run), Err(Error::TableDropped { .. })));
    assert!(table.is_empty());
}
