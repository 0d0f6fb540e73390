//! Batches: all or nothing, only if what they expect is so, and no other writer in between.

use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::thread;

use tempfile::{TempDir, tempdir};
use twindex_durable::twindex::IndexKind;
use twindex_durable::{Error, Store, Table};

use crate::common::{ALL, Pairs, open, pairs_of};

/// A store in memory, and one with each durability.
fn stores() -> (TempDir, Vec<(String, Store, Option<PathBuf>)>) {
    let folder = tempdir().expect("a folder for temporary files");
    let mut all = vec![("in memory".to_owned(), Store::new(), None)];
    for durability in ALL {
        let path = folder.path().join(format!("{durability}.twx"));
        let store = open(&path, durability);
        all.push((durability.to_string(), store, Some(path)));
    }
    (folder, all)
}

fn parsed(value: &[u8]) -> i64 {
    std::str::from_utf8(value).unwrap().parse().unwrap()
}

fn number(table: &Table, key: &str) -> i64 {
    table.select(key).unwrap().as_deref().map_or(0, parsed)
}

/// What the store has, once it was opened again where it is in a file.
fn again(store: &Store, path: Option<&PathBuf>) -> Store {
    let Some(path) = path else { return store.clone() };
    store.close().unwrap();
    Store::open(path).unwrap()
}

#[test]
fn a_batch_is_done_only_if_what_it_expects_is_so() {
    let (_folder, stores) = stores();
    for (what, store, path) in stores {
        let table = store.table("t", IndexKind::Hash).unwrap();
        let log = store.table("log", IndexKind::Sorted).unwrap();
        table.insert("ada", "1815").unwrap();
        let mut batch = store.batch();
        batch.expect(&table, "ada", Some(b"1815")).unwrap();
        batch.expect(&table, "bob", None).unwrap();
        batch.upsert(&table, "ada", "1852").unwrap();
        batch.insert(&log, "1", "ada").unwrap();
        batch.replace(&log, "absent", "ada").unwrap();
        // What the batch writes does not count.
        batch.expect(&table, "ada", Some(b"1815")).unwrap();
        assert_eq!(batch.commit().unwrap(), [true, true, false], "{what}");
        let mut batch = store.batch();
        batch.expect(&log, "1", Some(b"ada")).unwrap();
        batch.expect(&table, "ada", Some(b"1815")).unwrap();
        batch.expect(&table, "bob", Some(b"")).unwrap();
        batch.expect(&table, "ada", None).unwrap();
        batch.delete(&log, "1").unwrap();
        batch.upsert(&table, "bob", "").unwrap();
        let error = batch.commit().unwrap_err();
        assert_eq!(error.code(), "TWINDEX_UNEXPECTED");
        assert!(error.to_string().contains("\"ada\" of table \"t\""), "{error}");
        assert!(matches!(&error, Error::Unexpected { failed, .. } if *failed == [1, 2, 3]), "{error:?}");
        // A batch may expect something and write nothing.
        let mut batch = store.batch();
        batch.expect(&table, "bob", None).unwrap();
        assert!(batch.commit().unwrap().is_empty());
        let store = again(&store, path.as_ref());
        let pairs = |name| store.find_table(name).unwrap().unwrap().iter().unwrap().collect::<Vec<_>>();
        assert_eq!(pairs("t"), [(b"ada".to_vec(), b"1852".to_vec())], "{what}");
        assert_eq!(pairs("log"), [(b"1".to_vec(), b"ada".to_vec())], "{what}");
    }
}

#[test]
fn no_other_writer_comes_between() {
    for round in 0..30 {
        let (_folder, stores) = if round == 0 {
            stores()
        } else {
            (tempdir().unwrap(), vec![("in memory".into(), Store::new(), None)])
        };
        for (what, store, path) in stores {
            let table = store.table("t", IndexKind::Hash).unwrap();
            let (rounds, done) = (if what == "always" { 20 } else { 200 }, AtomicI64::new(0));
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for _ in 0..rounds {
                            table.increment("count", 1).unwrap();
                        }
                    });
                    scope.spawn(|| {
                        for _ in 0..rounds {
                            let now = table.select("count").unwrap();
                            let next = 1 + now.as_deref().map_or(0, parsed);
                            let mut batch = store.batch();
                            batch.expect(&table, "count", now.as_deref()).unwrap();
                            batch.upsert(&table, "count", next.to_string()).unwrap();
                            batch.increment(&table, "batches", 1).unwrap();
                            match batch.commit() {
                                Ok(_) => drop(done.fetch_add(1, Relaxed)),
                                Err(error) => assert_eq!(error.code(), "TWINDEX_UNEXPECTED"),
                            }
                            // Others write many at once.
                            table.upsert_many(&[("a", "1"), ("b", "2")]).unwrap();
                        }
                    });
                }
            });
            let done = done.into_inner();
            let table = again(&store, path.as_ref()).table("t", IndexKind::Hash).unwrap();
            assert_eq!(number(&table, "count"), 2 * rounds + done, "{what}");
            assert_eq!(number(&table, "batches"), done, "{what}");
        }
    }
}

/// Batches of all sizes, in order and not, with keys that come more than once, against a model. Of those that fail somewhere
/// nothing is left: an integer overflows in some, others meet the memory limit.
#[test]
fn batches_do_all_or_nothing_whatever_is_in_them() {
    let (_folder, stores) = stores();
    for (what, store, path) in stores {
        let mut random = fastrand::Rng::with_seed(25);
        let (rounds, mut failed) = (if what == "always" { 40_u8 } else { 60 }, [0; 2]);
        let tables =
            [IndexKind::Hash, IndexKind::Sorted].map(|index| store.table(&index.to_string(), index).unwrap());
        let mut models = [Pairs::new(), Pairs::new()];
        let mut next = 0_u64;
        for round in 0..rounds {
            let (mut after, mut took) = (models.clone(), Vec::new());
            let mut batch = store.batch();
            let mut fits = true;
            for _ in 0..1 << random.u32(..6) {
                let at = random.usize(..2);
                let (table, model) = (&tables[at], &mut after[at]);
                // Runs of new keys in order are written otherwise than single ones.
                let ascends = random.u8(..4) > 0;
                for _ in 0..if ascends { 1 << random.u32(..7) } else { 1 } {
                    next += 1;
                    let key = if ascends { next } else { random.u64(..next) }.to_be_bytes();
                    let old = model.get(&key[..]).cloned();
                    let most = if random.u8(..50) == 0 { 9999 } else { 40 };
                    let value = vec![round; random.usize(..most)];
                    let verb = random.u8(..if ascends { 3 } else { 5 });
                    match verb {
                        0 => batch.insert(table, key, &value).unwrap(),
                        1 => batch.replace(table, key, &value).unwrap(),
                        2 => batch.upsert(table, key, &value).unwrap(),
                        3 => batch.delete(table, key).unwrap(),
                        _ => {
                            let by = if random.bool() { i64::MAX / 2 } else { i64::MIN / 2 };
                            let counter = [&b"counter"[..], &[key[7] % 2]].concat();
                            batch.increment(table, &counter, by).unwrap();
                            let old = model.get(&counter).map_or(0, |text| parsed(text));
                            fits &= old.checked_add(by).is_some();
                            model.insert(counter, old.wrapping_add(by).to_string().into());
                            took.push(true);
                            continue;
                        }
                    }
                    took.push([old.is_none(), old.is_some(), true, old.is_some()][usize::from(verb)]);
                    if took.last() == Some(&true) {
                        drop(if verb == 3 {
                            model.remove(&key[..])
                        } else {
                            model.insert(key.into(), value)
                        });
                    }
                }
            }
            let is_limited = random.u8(..3) == 0;
            if is_limited {
                store.set_memory_limit(Some(store.memory() + random.usize(..20_000)));
            }
            match batch.commit() {
                Ok(done) => {
                    assert!(fits && done == took, "{what}, round {round}");
                    models = after;
                }
                Err(error) => {
                    let code = error.code();
                    assert!(
                        !fits && code == "TWINDEX_OVERFLOW" || is_limited && code == "TWINDEX_MEMORY_LIMIT",
                        "{error}"
                    );
                    failed[usize::from(code == "TWINDEX_OVERFLOW")] += 1;
                }
            }
            store.set_memory_limit(None);
            for (table, model) in tables.iter().zip(&models) {
                assert!(pairs_of(table) == *model, "{what}, round {round}, {}", table.name());
            }
        }
        assert!(failed.iter().all(|&count| count > 0), "{failed:?} failed for each reason");
        let store = again(&store, path.as_ref());
        for (table, model) in tables.iter().zip(&models) {
            assert!(pairs_of(&store.table(table.name(), table.index()).unwrap()) == *model, "{what}");
        }
    }
}

#[test]
fn no_thread_passes_the_memory_limit_while_batches_are_refused() {
    const LIMIT: usize = 1 << 20;
    let (_folder, all) = stores();
    for (number, (name, store, _)) in all.into_iter().enumerate() {
        store.set_memory_limit(Some(LIMIT));
        let index = if number % 2 == 0 { IndexKind::Hash } else { IndexKind::Sorted };
        let table = store.table("t", index).unwrap();
        let refused: usize = thread::scope(|scope| {
            let add =
                |thread: u8| (0..2000).for_each(|n| drop(table.upsert(format!("{thread}.{n}"), [b'x'; 200])));
            (0..2).for_each(|thread| drop(scope.spawn(move || add(thread))));
            let commit = |thread: u8| {
                let mut random = fastrand::Rng::with_seed(thread.into());
                let is_refused = |_: &usize| {
                    let mut batch = store.batch();
                    for key in 0..20 {
                        let key = [vec![thread; random.usize(..40)], vec![key]].concat();
                        batch.upsert(&table, key, vec![b'y'; random.usize(..20_000)]).unwrap();
                    }
                    let is_refused = batch.commit().is_err();
                    assert!(store.memory() <= LIMIT, "{name}: {} bytes", store.memory());
                    is_refused
                };
                // How fast the file is decides how often the limit is met, so this goes on until it was.
                (0..3000).filter(is_refused).take(50).count()
            };
            let committing = [2, 3].map(|thread| scope.spawn(move || commit(thread)));
            committing.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(refused, 2 * 50, "{name}: the limit was hardly met");
    }
}
