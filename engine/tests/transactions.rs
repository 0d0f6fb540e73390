//! Transactions: the anomalies of Martin Kleppmann's Hermitage by their names, random histories, and money.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, mpsc};
use std::thread;

use twindex::{Error, IndexKind, Store, Table, Transaction};

fn store() -> (Store, Table) {
    let store = Store::new();
    let table = store.table("test", IndexKind::Sorted).unwrap();
    table.insert_many(&[("1", "10"), ("2", "20")]).unwrap();
    (store, table)
}

fn number(value: Option<Vec<u8>>) -> i64 {
    value.map_or(0, |value| String::from_utf8(value).unwrap().parse().unwrap())
}

fn is_conflict<T>(result: Result<T, Error>) -> bool {
    match result {
        Ok(_) => false,
        Err(Error::Conflict { .. }) => true,
        Err(error) => panic!("{error}"),
    }
}

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

fn all(tx: &mut Transaction, table: &Table) -> Result<Pairs, Error> {
    tx.range(table, .., usize::MAX, false)
}

#[test]
fn g0_dirty_writes_do_not_interleave() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    one.upsert(&table, "1", "11").unwrap();
    two.upsert(&table, "1", "12").unwrap();
    one.upsert(&table, "2", "21").unwrap();
    one.commit().unwrap();
    two.upsert(&table, "2", "22").unwrap();
    two.commit().unwrap();
    assert_eq!([table.select("1").unwrap(), table.select("2").unwrap()], [b"12", b"22"]);
}

#[test]
fn g1a_aborted_reads_do_not_happen() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    one.upsert(&table, "1", "101").unwrap();
    assert_eq!(number(two.select(&table, "1").unwrap()), 10);
    drop(one);
    assert_eq!(number(two.select(&table, "1").unwrap()), 10);
    two.commit().unwrap();
    assert_eq!(table.select("1").unwrap(), b"10");
}

#[test]
fn g1b_intermediate_reads_do_not_happen() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    one.upsert(&table, "1", "101").unwrap();
    assert_eq!(number(two.select(&table, "1").unwrap()), 10);
    one.upsert(&table, "1", "11").unwrap();
    one.commit().unwrap();
    assert!(is_conflict(two.select(&table, "2")) || number(two.select(&table, "1").unwrap()) == 10);
}

#[test]
fn g1c_circular_information_flow_does_not_happen() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    one.upsert(&table, "1", "11").unwrap();
    two.upsert(&table, "2", "22").unwrap();
    assert_eq!(number(one.select(&table, "2").unwrap()), 20);
    assert_eq!(number(two.select(&table, "1").unwrap()), 10);
    one.commit().unwrap();
    assert!(is_conflict(two.commit()));
}

#[test]
fn otv_observed_transactions_do_not_vanish() {
    let (store, table) = store();
    let mut one = store.begin();
    one.upsert(&table, "1", "11").unwrap();
    one.upsert(&table, "2", "19").unwrap();
    let mut three = store.begin();
    assert_eq!(number(three.select(&table, "1").unwrap()), 10);
    one.commit().unwrap();
    assert!(is_conflict(three.select(&table, "2")), "it would see a half of the first");
    assert!(is_conflict(three.commit()));
}

#[test]
fn pmp_predicates_do_not_get_more_rows() {
    let (store, table) = store();
    let mut one = store.begin();
    assert_eq!(one.range(&table, "3".as_bytes().., 10, false).unwrap(), []);
    let mut two = store.begin();
    assert!(two.insert(&table, "3", "30").unwrap());
    two.commit().unwrap();
    assert!(is_conflict(one.range(&table, "3".as_bytes().., 9, false)));
}

#[test]
fn what_a_transaction_takes_from_an_end_one_by_one_is_checked_to_its_end() {
    for (down, changed) in [(false, "k000"), (false, "a"), (true, "k299"), (true, "z")] {
        for is_late in [false, true] {
            let store = Store::new();
            let table = store.table("queue", IndexKind::Sorted).unwrap();
            let keys: Vec<_> = (0..300).map(|n| format!("k{n:03}")).collect();
            table.insert_many(&keys.iter().map(|key| (key, key)).collect::<Vec<_>>()).unwrap();
            let mut tx = store.begin();
            for n in 0..200 {
                let (key, _) = tx.range(&table, .., 1, down).unwrap().pop().unwrap();
                assert_eq!(key, keys[if down { 299 - n } else { n }].as_bytes());
                assert!(tx.delete(&table, key).unwrap());
            }
            assert_eq!(tx.range(&table, .., 1000, false).unwrap().len(), 100);
            table.upsert(changed, "by another").unwrap();
            if is_late {
                assert!(is_conflict(tx.commit()), "{changed} {down}");
            } else {
                assert!(is_conflict(tx.range(&table, .., 1, down)), "{changed} {down}");
            }
            assert_eq!(table.len(), 300 + usize::from(!changed.starts_with('k')));
        }
    }
}

#[test]
fn pmp_write_predicates_conflict() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    for (key, value) in all(&mut one, &table).unwrap() {
        one.upsert(&table, key, (number(Some(value)) + 10).to_string()).unwrap();
    }
    for (key, value) in all(&mut two, &table).unwrap() {
        if value == b"20" {
            two.delete(&table, key).unwrap();
        }
    }
    one.commit().unwrap();
    assert!(is_conflict(two.commit()));
    assert_eq!([table.select("1").unwrap(), table.select("2").unwrap()], [b"20", b"30"]);
}

#[test]
fn p4_updates_are_not_lost() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    one.increment(&table, "1", 1).unwrap();
    two.increment(&table, "1", 1).unwrap();
    one.commit().unwrap();
    assert!(is_conflict(two.commit()));
    let mut three = store.begin();
    three.increment(&table, "2", 1).unwrap();
    table.increment("2", 100).unwrap();
    assert!(is_conflict(three.commit()), "a plain write is a write too");
    assert_eq!([table.select("1").unwrap(), table.select("2").unwrap()], [b"11".to_vec(), b"120".to_vec()]);
}

#[test]
fn g_single_reads_are_not_skewed() {
    let (store, table) = store();
    let mut one = store.begin();
    assert_eq!(number(one.select(&table, "1").unwrap()), 10);
    store
        .transaction(|tx| {
            tx.upsert(&table, "1", "12")?;
            tx.upsert(&table, "2", "18")
        })
        .unwrap();
    assert!(is_conflict(one.select(&table, "2")));
}

#[test]
fn g2_item_writes_are_not_skewed() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    for tx in [&mut one, &mut two] {
        assert_eq!(number(tx.select(&table, "1").unwrap()) + number(tx.select(&table, "2").unwrap()), 30);
    }
    one.upsert(&table, "1", "11").unwrap();
    two.upsert(&table, "2", "21").unwrap();
    one.commit().unwrap();
    assert!(is_conflict(two.commit()));
}

#[test]
fn g2_anti_dependency_cycles_do_not_happen() {
    let (store, table) = store();
    let (mut one, mut two) = (store.begin(), store.begin());
    assert_eq!(all(&mut one, &table).unwrap().len(), 2);
    assert_eq!(all(&mut two, &table).unwrap().len(), 2);
    one.insert(&table, "3", "30").unwrap();
    two.insert(&table, "4", "42").unwrap();
    one.commit().unwrap();
    assert!(is_conflict(two.commit()));
}

#[test]
fn transactions_see_their_own_writes() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        table.insert("b", "1").unwrap();
        let mut tx = store.begin();
        assert!(tx.insert(&table, "a", "0").unwrap() && !tx.insert(&table, "a", "1").unwrap());
        assert!(tx.delete(&table, "b").unwrap() && !tx.contains(&table, "b").unwrap());
        assert!(!tx.replace(&table, "b", "2").unwrap());
        assert_eq!(tx.increment(&table, "c", 5).unwrap() + tx.increment(&table, "c", 5).unwrap(), 15);
        if index == IndexKind::Sorted {
            let pairs = |pairs: &[(&str, &str)]| -> Vec<_> {
                pairs
                    .iter()
                    .map(|&(key, value)| (key.as_bytes().to_vec(), value.as_bytes().to_vec()))
                    .collect()
            };
            assert_eq!(all(&mut tx, &table).unwrap(), pairs(&[("a", "0"), ("c", "10")]));
            assert_eq!(tx.range(&table, .., 1, true).unwrap(), pairs(&[("c", "10")]));
        } else {
            assert!(matches!(tx.range(&table, .., 1, true), Err(Error::WrongIndex { .. })));
        }
        assert_eq!(table.len(), 1, "nothing is written before the commit");
        assert_eq!(tx.writes().count(), 3);
        tx.commit().unwrap();
        assert_eq!((table.len(), table.select("c").unwrap()), (2, b"10".to_vec()));
        assert_eq!(store.snapshot_stats().transactions, 0);
    }
}

#[test]
fn errors_and_dropped_transactions_write_nothing() {
    let (store, table) = store();
    let failed = store.transaction(|tx| {
        tx.upsert(&table, "1", "lost")?;
        Err::<(), _>(Error::NoTable { name: "none".into() })
    });
    assert_eq!(failed.unwrap_err().code(), "TWINDEX_NO_TABLE");
    let mut tx = store.begin();
    tx.upsert(&table, "1", "lost").unwrap();
    assert!(matches!(tx.table("none"), Err(Error::NoTable { .. })));
    assert!(tx.upsert(&Store::new().table("test", IndexKind::Sorted).unwrap(), "1", "other store").is_err());
    let snapshot = store.snapshot().unwrap();
    let shown = snapshot.table("test").unwrap();
    assert!(matches!(tx.select(shown.as_table(), "1"), Err(Error::ReadOnly { .. })));
    store.drop_table("test");
    assert!(tx.commit().is_err());
    assert_eq!(shown.select("1").unwrap(), b"10");
    table.select("1");
}

#[test]
fn commit_at_the_memory_limit_writes_all_or_nothing() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        for key in 0..200 {
            table.insert(format!("{key:04}"), "old").unwrap();
        }
        store.set_memory_limit(Some(store.memory() + (16 << 10)));
        let mut tx = store.begin();
        for key in (0..600).rev() {
            tx.upsert(&table, format!("{key:04}"), [b'n'; 300]).unwrap();
        }
        tx.delete(&table, "0000").unwrap();
        assert_eq!(tx.commit().unwrap_err().code(), "TWINDEX_MEMORY_LIMIT");
        assert_eq!(table.len(), 200);
        assert!(table.iter().all(|(_, value)| value == b"old"));
        assert!(store.memory_limit().is_some());
    }
}

#[test]
fn refused_commit_of_few_writes_gives_all_memory_back() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let (one, two) = (store.table("a", index).unwrap(), store.table("b", index).unwrap());
        for table in [&one, &two] {
            table.insert_many(&[("1", "old"), ("2", "old")]).unwrap();
        }
        store.set_memory_limit(Some(store.memory() + 100_000));
        for round in 0..100 {
            let mut tx = store.begin();
            // The first values fit, and would fill the memory if they were kept each time.
            tx.upsert(&one, "1", vec![b'n'; 8000]).unwrap();
            tx.upsert(&one, format!("new {round}"), "n").unwrap();
            tx.upsert(&two, "1", vec![b'n'; 500_000]).unwrap();
            tx.delete(&two, "2").unwrap();
            assert_eq!(tx.commit().unwrap_err().code(), "TWINDEX_MEMORY_LIMIT");
        }
        for table in [&one, &two] {
            assert_eq!((table.len(), table.select("1").unwrap()), (2, b"old".to_vec()));
        }
    }
}

#[test]
fn commits_grow_and_empty_tables() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let (table, other) = (store.table("t", index).unwrap(), store.table("o", IndexKind::Sorted).unwrap());
        let snapshots: Vec<_> = (0..if cfg!(miri) { 20 } else { 2000 })
            .step_by(2)
            .map(|key: usize| {
                let put = |tx: &mut Transaction| {
                    tx.insert(&table, format!("{key:05}"), "1")?;
                    tx.insert(&table, format!("{:05}", key + 1), "1")?;
                    tx.upsert(&other, "count", key.to_string())
                };
                store.transaction(put).unwrap();
                (key.is_multiple_of(500)).then(|| (key, store.snapshot().unwrap()))
            })
            .collect();
        assert_eq!(table.len(), 2 * snapshots.len());
        for (key, _) in &table {
            store.transaction(|tx| tx.delete(&table, &key)).unwrap();
        }
        assert!(table.is_empty());
        for (key, snapshot) in snapshots.into_iter().flatten() {
            let seen = snapshot.table("t").unwrap();
            assert_eq!((seen.len(), seen.iter().count()), (key + 2, key + 2));
            let count = number(snapshot.table("o").unwrap().select("count"));
            assert_eq!(usize::try_from(count).unwrap(), key);
        }
        #[cfg(twindex_check)]
        store.tables().iter().for_each(Table::check);
    }
}

#[test]
fn conflicts_restart_a_bounded_number_of_times() {
    let (store, table) = store();
    let mut runs = 0;
    let failed = store.transaction(|tx| {
        runs += 1;
        tx.increment(&table, "1", 1)?;
        table.increment("1", 1).map(drop)
    });
    assert!(is_conflict(failed));
    assert_eq!(number(table.select("1")), 10 + runs);
    assert!(runs > 10);
}

#[test]
fn commit_within_a_write_is_refused() {
    let (store, table) = store();
    let mut tx = store.begin();
    tx.upsert(&table, "1", "2").unwrap();
    let mut tx = Some(tx);
    store.atomically(|| {
        assert!(matches!(tx.take().unwrap().commit(), Err(Error::InWrite)));
        assert!(matches!(store.transaction(|tx| tx.select(&table, "1")), Err(Error::InWrite)));
    });
    table.select_with("1", |_| store.transaction(|tx| tx.upsert(&table, "2", "x")).unwrap());
    assert_eq!(table.select("2").unwrap(), b"x");
}

#[test]
fn money_is_never_lost_or_created() {
    const ACCOUNTS: u64 = 20;
    let store = Store::new();
    let tables = [store.table("h", IndexKind::Hash).unwrap(), store.table("s", IndexKind::Sorted).unwrap()];
    for table in &tables {
        (0..ACCOUNTS).for_each(|account| assert!(table.insert(format!("{account:02}"), "100").unwrap()));
    }
    let rounds = if cfg!(miri) { 5 } else { 400 };
    thread::scope(|scope| {
        for seed in 0..3 {
            let (store, tables) = (&store, &tables);
            scope.spawn(move || {
                let mut random = fastrand::Rng::with_seed(seed);
                for _ in 0..rounds {
                    let mut place = || (&tables[random.usize(..2)], format!("{:02}", random.u64(..ACCOUNTS)));
                    let (from, to) = (place(), place());
                    store
                        .transaction(|tx| {
                            if number(tx.select(from.0, &from.1)?) > 0 {
                                tx.increment(from.0, &from.1, -1)?;
                                tx.increment(to.0, &to.1, 1)?;
                            }
                            Ok::<_, Error>(())
                        })
                        .unwrap();
                }
            });
        }
        for _ in 0..rounds / 4 {
            let snapshot = store.snapshot().unwrap();
            let sum = |name| -> i64 {
                snapshot.table(name).unwrap().iter().map(|(_, value)| number(Some(value))).sum()
            };
            assert_eq!(sum("h") + sum("s"), 200 * ACCOUNTS.cast_signed());
            // A transaction that only reads sees it too, whether it then commits or not.
            let mut tx = store.begin();
            let mut read = || -> Result<i64, Error> {
                let mut sum = 0;
                for account in 0..ACCOUNTS {
                    sum += number(tx.select(&tables[0], format!("{account:02}"))?);
                }
                let sorted = all(&mut tx, &tables[1])?;
                Ok(sum + sorted.into_iter().map(|(_, value)| number(Some(value))).sum::<i64>())
            };
            match read() {
                Ok(sum) => assert_eq!(sum, 200 * ACCOUNTS.cast_signed()),
                Err(error) => assert_eq!(error.code(), "TWINDEX_CONFLICT"),
            }
        }
    });
}

/// Random transactions over few keys, each value written once. As each transaction reads a key before it writes it, the history
/// gives the order of a key's values, and with it all dependencies. It is serializable exactly if they have no cycle.
#[test]
fn random_histories_are_serializable() {
    /// What a transaction read, and what it wrote in place of it.
    type Done = Vec<(u64, u64, Option<u64>)>;
    const KEYS: u64 = 6;
    let rounds = if cfg!(miri) { 1 } else { 9 };
    for seed in 0..rounds {
        let store = Store::new();
        let indexes = [[IndexKind::Hash, IndexKind::Sorted], [IndexKind::Hash; 2], [IndexKind::Sorted; 2]]
            [seed as usize % 3];
        let tables = ["a", "b"].map(|name| store.table(name, indexes[usize::from(name == "b")]).unwrap());
        let next = AtomicU64::new(1);
        let history: Mutex<Vec<Done>> = Mutex::default();
        thread::scope(|scope| {
            for thread in 0..4 {
                let (store, tables, next, history) = (&store, &tables, &next, &history);
                scope.spawn(move || {
                    let mut random = fastrand::Rng::with_seed(seed * 10 + thread);
                    for _ in 0..if cfg!(miri) { 6 } else { 150 } {
                        let count = random.u64(1..4);
                        let picked: Vec<(u64, bool)> =
                            (0..count).map(|_| (random.u64(..KEYS), random.bool())).collect();
                        let done = store.transaction(|tx| {
                            let mut done = Done::new();
                            for &(key, writes) in &picked {
                                if done.iter().any(|other| other.0 == key) {
                                    continue;
                                }
                                let table = &tables[(key % 2) as usize];
                                let found = number(tx.select(table, key.to_string())?).cast_unsigned();
                                let new = writes.then(|| next.fetch_add(1, SeqCst));
                                if let Some(new) = new {
                                    tx.upsert(table, key.to_string(), new.to_string())?;
                                }
                                done.push((key, found, new));
                            }
                            Ok::<_, Error>(done)
                        });
                        history.lock().unwrap().push(done.unwrap());
                    }
                });
            }
        });
        let history = history.into_inner().unwrap();
        assert!(is_serializable(&history), "{history:?}");
    }
    // The checker itself finds a write skew and a lost update.
    assert!(!is_serializable(&[vec![(0, 0, None), (1, 0, Some(1))], vec![(1, 0, None), (0, 0, Some(2))]]));
    assert!(!is_serializable(&[vec![(0, 0, Some(1))], vec![(0, 0, Some(2))]]));
}

/// Whether the transactions can stand in one order: each has per key what it read, and what it wrote after that.
fn is_serializable(history: &[Vec<(u64, u64, Option<u64>)>]) -> bool {
    let mut after = vec![Vec::new(); history.len()];
    for (one, reads) in history.iter().enumerate() {
        for &(key, found, written) in reads {
            for (two, others) in history.iter().enumerate().filter(|&(two, _)| two != one) {
                for &(other_key, other_found, other_written) in others {
                    if key == other_key {
                        // It read what the other one wrote, or the other one overwrote what it read.
                        if other_written == Some(found) {
                            after[two].push(one);
                        }
                        if other_found == found && other_written.is_some() {
                            after[one].push(two);
                        }
                        if other_found == found && written.is_some() && other_written.is_some() {
                            return false;
                        }
                    }
                }
            }
        }
    }
    let mut before = vec![0; history.len()];
    after.iter().flatten().for_each(|&next: &usize| before[next] += 1);
    let mut ready: Vec<_> = (0..history.len()).filter(|&at| before[at] == 0).collect();
    let mut ordered = 0;
    while let Some(at) = ready.pop() {
        ordered += 1;
        for &next in &after[at] {
            before[next] -= 1;
            if before[next] == 0 {
                ready.push(next);
            }
        }
    }
    ordered == history.len()
}

#[test]
fn commit_beside_a_drop_of_a_table_writes_all_or_nothing() {
    for _ in 0..if cfg!(miri) { 2 } else { 100 } {
        let store = Store::new();
        let kept = store.table("a", IndexKind::Hash).unwrap();
        let dropped = store.table("b", IndexKind::Sorted).unwrap();
        let mut tx = store.begin();
        for key in 0..50 {
            tx.upsert(&kept, key.to_string(), "new").unwrap();
            tx.upsert(&dropped, key.to_string(), "new").unwrap();
        }
        let done = thread::scope(|scope| {
            scope.spawn(|| store.drop_table("b"));
            tx.commit()
        });
        assert_eq!(kept.len(), if done.is_ok() { 50 } else { 0 });
    }
}

#[test]
fn reads_around_a_clear_are_a_conflict() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let (one, two) = (store.table("a", index).unwrap(), store.table("b", index).unwrap());
        one.insert("k", "old").unwrap();
        two.insert("k", "old").unwrap();
        for drops in [false, true] {
            let mut tx = store.begin();
            assert!(tx.contains(&one, "k").unwrap());
            if drops {
                store.drop_table("a");
            } else {
                one.clear().unwrap();
            }
            two.upsert("k", "new").unwrap();
            assert!(is_conflict(tx.select(&two, "k")));
            assert!(is_conflict(tx.commit()));
            _ = one.insert("k", "old");
        }
    }
}

/// Closing the snapshot leaves the table empty, which the next write may renew.
#[test]
fn large_commit_to_a_table_emptied_under_a_snapshot_is_no_conflict() {
    let store = Store::new();
    let table = store.table("t", IndexKind::Hash).unwrap();
    let pairs =
        |from: u32| (from..from + 30).map(|key| (key.to_be_bytes(), vec![0; 9000])).collect::<Vec<_>>();
    table.insert_many(&pairs(0)).unwrap();
    let snapshot = store.snapshot().unwrap();
    table.retain(|_, _| false).unwrap();
    drop(snapshot);
    let mut tx = store.begin();
    for (key, value) in pairs(100) {
        assert!(tx.insert(&table, key, value).unwrap());
    }
    tx.commit().unwrap();
    assert_eq!(table.len(), 30);
}

#[test]
fn transactions_beside_long_batches_take_effect() {
    let (store, table) = store();
    let other = store.table("other", IndexKind::Hash).unwrap();
    let (begun, wait) = mpsc::channel();
    thread::scope(|scope| {
        scope.spawn(|| {
            store.atomically(|| {
                begun.send(()).unwrap();
                other.insert("a", "1").unwrap();
                thread::sleep(std::time::Duration::from_millis(if cfg!(miri) { 1 } else { 300 }));
                other.insert("b", "1").unwrap();
            });
        });
        wait.recv().unwrap();
        assert_eq!(store.transaction(|tx| tx.select(&table, "1")).unwrap().unwrap(), b"10");
        assert_eq!(store.transaction(|tx| tx.increment(&table, "1", 1)).unwrap(), 11);
        let both =
            store.transaction(|tx| Ok::<_, Error>((tx.contains(&other, "a")?, tx.contains(&other, "b")?)));
        assert_eq!(both.unwrap(), (true, true));
    });
}

/// A destructor of a thread-local runs when the thread has given back what it is known by.
#[test]
fn transactions_and_snapshots_work_while_a_thread_ends() {
    struct Flush(Store, Table);

    impl Drop for Flush {
        fn drop(&mut self) {
            let Self(store, table) = self;
            store.transaction(|tx| tx.increment(table, "1", 1)).unwrap();
            store.atomically(|| assert!(matches!(store.snapshot(), Err(Error::InWrite))));
            let snapshot = store.snapshot().unwrap();
            table.increment("1", 1).unwrap();
            assert_eq!(snapshot.table("test").unwrap().select("1").unwrap(), b"11");
        }
    }

    thread_local! {
        static AT_END: std::cell::RefCell<Option<Flush>> = const { std::cell::RefCell::new(None) };
    }
    let (store, table) = store();
    thread::scope(|scope| {
        let ended = scope.spawn(|| {
            AT_END.set(Some(Flush(store.clone(), table.clone())));
            table.contains("1");
        });
        ended.join().unwrap();
    });
    let mut turns = 0;
    while table.select("1").unwrap() != b"12" {
        turns += 1;
        assert!(turns < 10_000, "the destructor has not ended");
        thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn reads_of_empty_tables_take_no_memory_and_are_watched() {
    for index in [IndexKind::Hash, IndexKind::Sorted] {
        let store = Store::new();
        let (empty, other) = (store.table("e", index).unwrap(), store.table("o", index).unwrap());
        let before = store.memory();
        store.set_memory_limit(Some(1));
        let mut tx = store.begin();
        assert_eq!(tx.select(&empty, "k").unwrap(), None);
        if index == IndexKind::Sorted {
            assert_eq!(all(&mut tx, &empty).unwrap(), []);
        }
        assert_eq!(store.memory(), before);
        store.set_memory_limit(None);
        empty.insert("k", "1").unwrap();
        other.insert("k", "1").unwrap();
        assert!(is_conflict(tx.select(&other, "k")));
    }
}
