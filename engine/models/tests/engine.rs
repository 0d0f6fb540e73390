//! The real engine under schedulers that choose at every access to shared memory which thread goes on.
//!
//! Constants are tiny, memory that is given back is spoilt, and every structure is checked at the end. Times the
//! environment's `TWINDEX_STRESS` for a long run.

mod quarantine;
#[path = "../../tests/common/scale.rs"]
mod scale;

use std::collections::BTreeMap;

use scale::scaled;
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::thread;
use shuttle::{Config, Runner};
use twindex::{Change, IndexKind, Store, Table};

#[global_allocator]
static QUARANTINE: quarantine::Quarantine = quarantine::Quarantine;

const BOTH: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];

/// Runs `body` under so many schedules of each kind.
fn model(schedules: usize, body: impl Fn() + Clone + Send + Sync + 'static) {
    let schedules = scaled(schedules, schedules);
    let mut config = Config::new();
    config.stack_size = 1 << 20;
    config.silence_warnings = true;
    Runner::new(RandomScheduler::new(schedules), config.clone()).run(body.clone());
    Runner::new(PctScheduler::new(3, schedules), config).run(body);
}

/// The same for both indexes.
fn model_both(schedules: usize, body: impl Fn(IndexKind) + Clone + Send + Sync + 'static) {
    for index in BOTH {
        let body = body.clone();
        model(schedules, move || body(index));
    }
}

type Work = Box<dyn FnOnce(&Table) + Send>;

fn work(work: impl FnOnce(&Table) + Send + 'static) -> Work {
    Box::new(work)
}

/// Runs each on a thread of its own, and checks the table when all are done.
fn on_threads(table: &Table, all: impl IntoIterator<Item = Work>) {
    let threads: Vec<_> = all
        .into_iter()
        .map(|work| {
            let table = table.clone();
            thread::spawn(move || work(&table))
        })
        .collect();
    for thread in threads {
        thread.join().expect("no thread panics");
    }
    table.check();
}

fn new_table(index: IndexKind) -> Table {
    Store::new().table("t", index).expect("a new table")
}

fn key(number: usize) -> Vec<u8> {
    format!("key/{number:03}").into_bytes()
}

/// A value that shows whether it is whole and which key it is of.
fn value(key: &[u8], version: u8, length: usize) -> Vec<u8> {
    [key, &[version], &vec![version ^ key[key.len() - 1]; length]].concat()
}

/// The version of a value that was found under a key.
fn read(key: &[u8], found: &[u8]) -> u8 {
    let (start, rest) = found.split_at_checked(key.len()).expect("a value begins with its key");
    assert_eq!(start, key, "a value of another key");
    let (&version, fill) = rest.split_first().expect("a value has a version");
    assert!(fill.iter().all(|&byte| byte == version ^ key[key.len() - 1]), "a value that is not whole");
    version
}

fn fill(table: &Table, numbers: impl IntoIterator<Item = usize>) {
    for number in numbers {
        assert!(table.insert(key(number), value(&key(number), 0, 10)).unwrap());
    }
}

/// Looks at a value twice, and lets others run in between.
fn look(table: &Table, key: &[u8]) -> Option<u8> {
    table.select_with(key, |found| {
        let version = read(key, found);
        thread::yield_now();
        assert_eq!(read(key, found), version, "a value that a reader looks at changed");
        version
    })
}

/// `insert_many` of keys in order counted its pairs once all were written, so a pair could be found in a table that said it
/// was empty.
#[test]
fn a_table_with_a_pair_is_not_empty() {
    model_both(150, |index| {
        let table = new_table(index);
        let writer = |table: &Table| {
            let pairs: Vec<_> = (0..6).map(|number| (key(number), value(&key(number), 0, 10))).collect();
            table.insert_many(&pairs).unwrap();
        };
        let reader = |table: &Table| {
            for _ in 0..8 {
                assert!(
                    !table.contains(key(0)) || !table.is_empty(),
                    "a pair was found, and none was counted"
                );
            }
        };
        on_threads(&table, [work(writer), work(reader)]);
        assert_eq!(table.len(), 6);
    });
}

#[test]
fn a_pair_is_published_whole_or_not_at_all() {
    model_both(300, |index| {
        let table = new_table(index);
        let lengths = [20, 400];
        let writer = move |table: &Table| {
            for (number, length) in lengths.into_iter().enumerate() {
                assert!(table.insert(key(number), value(&key(number), 1, length)).unwrap());
                assert!(table.replace(key(number), value(&key(number), 2, length + 1)).unwrap());
            }
        };
        let reader = |table: &Table| {
            let mut seen = [0; 2];
            for _ in 0..3 {
                for (number, seen) in seen.iter_mut().enumerate() {
                    let version = look(table, &key(number)).unwrap_or(0);
                    assert!(version >= *seen, "a reader went back");
                    *seen = version;
                }
            }
        };
        on_threads(&table, [work(writer), work(reader), work(reader)]);
    });
}

/// Segments grow and split, leaves and inner nodes too, while what was there before is looked for.
#[test]
fn growth_hides_no_pair() {
    model_both(150, |index| {
        let table = new_table(index);
        fill(&table, [0, 10, 20]);
        let writer = |numbers: [usize; 8]| work(move |table: &Table| fill(table, numbers));
        let reader = |table: &Table| {
            for number in [20, 0, 10, 20, 10, 0] {
                assert_eq!(look(table, &key(number)), Some(0), "a pair was missed");
            }
            assert_eq!(table.contains_many(&[key(0), key(10), key(99), key(20)]), [true, true, false, true]);
        };
        let (up, down) = ([1, 2, 3, 4, 5, 6, 7, 8], [39, 37, 35, 33, 31, 29, 27, 25]);
        on_threads(&table, [writer(up), writer(down), work(reader)]);
        assert_eq!(table.len(), 19);
    });
}

/// Leaves beside each other split at the same time, each under its own lock, and with them the nodes above.
#[test]
fn splits_of_neighbours_lose_none_of_each_other_s_leaves() {
    model(200, || {
        let table = new_table(IndexKind::Sorted);
        fill(&table, (0..50).step_by(10));
        let writer = |first: usize| work(move |table: &Table| fill(table, (first..50).step_by(10)));
        on_threads(&table, [writer(3), writer(5), writer(7)]);
        for number in (0..50).filter(|number| [0, 3, 5, 7].contains(&(number % 10))) {
            assert_eq!(look(&table, &key(number)), Some(0), "pair {number} was lost");
        }
    });
}

/// A leaf is replaced by larger and larger ones while others make its parent split: what leads to it is not to be copied
/// before and stored after.
#[test]
fn a_leaf_that_is_replaced_beside_a_split_of_its_parent_is_led_to() {
    model(200, || {
        let table = new_table(IndexKind::Sorted);
        fill(&table, (0..40).step_by(4));
        let grower = |number: usize| {
            work(move |table: &Table| {
                for version in 1..5 {
                    let pair = value(&key(number), version, 10 * usize::from(version));
                    assert!(table.replace(key(number), pair).unwrap());
                    assert_eq!(look(table, &key(number)), Some(version), "a write was lost");
                }
            })
        };
        let splitter = work(|table: &Table| fill(table, [17, 21, 18, 22, 19, 23, 14, 25]));
        on_threads(&table, [grower(16), grower(20), splitter]);
        assert_eq!([16, 20].map(|number| look(&table, &key(number))), [Some(4); 2]);
        assert_eq!(table.len(), 18);
    });
}

/// Leaves merge, and take their parent's place where it has no other children, beside leaves that split.
#[test]
fn a_merge_beside_a_split_loses_no_leaf() {
    model(200, || {
        let table = new_table(IndexKind::Sorted);
        fill(&table, 0..20);
        let merger = |numbers: std::ops::Range<usize>| {
            work(move |table: &Table| {
                for number in numbers.filter(|number| number % 4 != 0) {
                    assert!(table.delete(key(number)).unwrap());
                }
            })
        };
        // Keys right behind those of 8 and of 12.
        let splitter = work(|table: &Table| {
            for more in ["8/a", "8/b", "8/c", "8/d", "2/a", "2/b"] {
                let key = format!("key/0{}{more}", u8::from(!more.starts_with('8'))).into_bytes();
                assert!(table.insert(&key, value(&key, 0, 10)).unwrap());
            }
        });
        on_threads(&table, [merger(0..10), merger(10..20), splitter]);
        for number in (0..20).step_by(4) {
            assert_eq!(look(&table, &key(number)), Some(0), "pair {number} was lost");
        }
        assert_eq!(table.len(), 11);
    });
}

/// A segment is split without its lock: writers of its pairs wait, all others go on.
#[test]
fn a_write_beside_a_split_is_kept() {
    model(60, || {
        let table = new_table(IndexKind::Hash);
        fill(&table, 0..36);
        let writer = |new: std::ops::Range<usize>, old: std::ops::Range<usize>| {
            work(move |table: &Table| {
                for (new, old) in new.zip(old) {
                    fill(table, [new]);
                    if old % 2 == 0 {
                        assert!(table.replace(key(old), value(&key(old), 1, 10)).unwrap());
                    } else {
                        assert!(table.delete(key(old)).unwrap());
                    }
                }
            })
        };
        on_threads(&table, [writer(36..48, 0..12), writer(48..60, 12..24)]);
        for number in 0..60 {
            let version = if number >= 24 { Some(0) } else { (number % 2 == 0).then_some(1) };
            assert_eq!(look(&table, &key(number)), version, "a write of pair {number} was lost");
        }
    });
}

/// Leaves and nodes merge and segments lose pairs beside scans and walks: what stays comes once, in order.
#[test]
fn a_scan_beside_deletes_and_inserts_meets_what_stays_once() {
    model_both(120, |index| {
        let table = new_table(index);
        fill(&table, 0..24);
        let churn = |numbers: std::ops::Range<usize>| {
            work(move |table: &Table| {
                for number in numbers.clone().filter(|number| number % 4 != 0) {
                    assert!(table.delete(key(number)).unwrap());
                }
                fill(table, numbers.filter(|number| number % 4 == 1));
            })
        };
        let reader = |table: &Table| {
            let mut met = BTreeMap::new();
            let mut order = Vec::new();
            for (key, value) in table {
                read(&key, &value);
                order.push(key.clone());
                assert_eq!(met.insert(key, value), None, "a key comes twice");
            }
            if table.index() == IndexKind::Sorted {
                assert!(order.is_sorted());
                let down: Vec<_> = table.scan(..).unwrap().rev().map(|(key, _)| key).collect();
                assert!(down.iter().rev().is_sorted());
                assert!((0..24).step_by(4).all(|number| down.contains(&key(number))), "a key was missed");
            }
            assert!((0..24).step_by(4).all(|number| met.contains_key(&key(number))), "a key was missed");
        };
        on_threads(&table, [churn(0..12), churn(12..24), work(reader)]);
        assert_eq!(table.len(), 12);
    });
}

/// A walk once met a key twice that was deleted and written again beside it, into another slot.
#[test]
fn a_walk_meets_no_key_twice_that_comes_and_goes() {
    model(400, || {
        let table = new_table(IndexKind::Hash);
        fill(&table, 0..3);
        let churn = |table: &Table| {
            assert!(table.delete(key(0)).unwrap());
            assert!(table.delete(key(1)).unwrap());
            fill(table, [1, 0]);
            assert!(table.delete(key(2)).unwrap());
            fill(table, [2]);
        };
        let walk = |table: &Table| {
            let mut keys: Vec<_> = table.iter().map(|(key, _)| key).collect();
            keys.sort();
            assert!(keys.is_sorted_by(|one, next| one < next), "a key comes twice");
        };
        on_threads(&table, [work(churn), work(walk)]);
    });
}

/// Memory is used again while readers look at what was in it.
#[test]
fn a_value_in_a_reader_s_hands_is_not_used_again() {
    model_both(150, |index| {
        let table = new_table(index);
        fill(&table, 0..4);
        let churn = |first: u8| {
            work(move |table: &Table| {
                for version in first..first + 4 {
                    for number in 0..2 {
                        table.delete(key(number)).unwrap();
                        let length = [10, 10, 350][usize::from(version % 3)];
                        table.upsert(key(number), value(&key(number), version, length)).unwrap();
                    }
                }
            })
        };
        let reader = |table: &Table| {
            for number in [0, 1, 0, 1, 2, 3] {
                look(table, &key(number));
            }
        };
        on_threads(&table, [churn(1), churn(11), work(reader), work(reader)]);
    });
}

#[test]
fn a_clear_beside_readers_and_writers_leaves_a_whole_table() {
    model_both(150, |index| {
        let table = new_table(index);
        fill(&table, 0..6);
        let reader = |table: &Table| {
            (0..6).for_each(|number| _ = look(table, &key(number)));
            table.iter().for_each(|(key, value)| _ = read(&key, &value));
        };
        let writer = |table: &Table| {
            for number in 0..6 {
                table.upsert(key(number), value(&key(number), 1, 60)).unwrap();
            }
        };
        let clear = |table: &Table| (0..2).for_each(|_| table.clear().unwrap());
        on_threads(&table, [work(reader), work(writer), work(clear)]);
        assert!(table.len() <= 6);
        table.clear().unwrap();
        assert!(table.is_empty());
    });
}

/// Whoever deletes the last pair closes the index, and beside it others write: none of that may be lost.
#[test]
fn a_table_that_becomes_empty_loses_nothing_written_since() {
    model_both(250, |index| {
        let table = new_table(index);
        let visitor = |number: usize| {
            work(move |table: &Table| {
                for _ in 0..2 {
                    fill(table, [number]);
                    assert!(table.delete(key(number)).unwrap(), "what was written was lost");
                }
                fill(table, [number]);
                assert_eq!(look(table, &key(number)), Some(0), "what was written was lost");
            })
        };
        on_threads(&table, [visitor(0), visitor(1), visitor(2)]);
        assert_eq!(table.len(), 3);
    });
}

/// A leaf that another thread held while the last pair went kept the whole table's memory until the next last pair went,
/// and later, where the other had a batch, until the next single write.
#[test]
fn a_table_that_two_threads_empty_returns_its_memory() {
    for visits in [1, 2] {
        model_both(400, move |index| {
            let table = new_table(index);
            assert!(!table.replace(key(0), "never there").unwrap());
            let started = table.memory();
            fill(&table, 0..20);
            (2..20).for_each(|number| assert!(table.delete(key(number)).unwrap()));
            assert!(table.memory() > started);
            let emptier =
                |number: usize| work(move |table: &Table| assert!(table.delete(key(number)).unwrap()));
            let visitor = work(move |table: &Table| {
                let absent: Vec<_> = (5..5 + visits).map(|number| (key(number), "never there")).collect();
                let updated = match &absent[..] {
                    [(key, value)] => table.replace(key, value).unwrap(),
                    batch => table.replace_many(batch).unwrap().contains(&true),
                };
                assert!(!updated);
            });
            on_threads(&table, [emptier(0), emptier(1), visitor]);
            assert!(table.is_empty() && table.memory() <= started, "{} bytes", table.memory());
        });
    }
}

/// The same beside a clear, which may take away any pair but the one that is written after it.
#[test]
fn a_clear_beside_a_last_delete_loses_nothing_written_since() {
    model_both(250, |index| {
        let table = new_table(index);
        let other = |table: &Table| {
            table.insert(key(0), value(&key(0), 0, 400)).unwrap();
            table.delete(key(0)).unwrap();
        };
        let clear = |table: &Table| {
            table.clear().unwrap();
            fill(table, [1]);
            assert_eq!(look(table, &key(1)), Some(0));
        };
        on_threads(&table, [work(other), work(clear)]);
        assert_eq!(look(&table, &key(1)), Some(0), "what was written after the clear was lost");
    });
}

#[test]
fn changes_of_one_key_take_turns() {
    model_both(200, |index| {
        let table = new_table(index);
        let count = |table: &Table| {
            (0..2).for_each(|_| _ = table.increment("n", 1).unwrap());
            let append = |old: Option<&[u8]>| Change::Set([old.unwrap_or_default(), b"x"].concat());
            (0..2).for_each(|_| assert!(table.alter("list", append).unwrap()));
            // Others split and replace what these keys are in.
            let own = key(shuttle::current::me().into());
            table.upsert(&own, value(&own, 1, 50)).unwrap();
            table.delete(&own).unwrap();
        };
        on_threads(&table, [work(count), work(count), work(count)]);
        assert_eq!(table.select("n").as_deref(), Some(b"6".as_slice()));
        assert_eq!(table.select("list").as_deref(), Some(b"xxxxxx".as_slice()));
        assert_eq!(table.len(), 2);
    });
}

/// A cursor once held a leaf for unchanged that was just being replaced, and so missed a delete that was finished
/// before its step.
#[test]
fn a_cursor_sees_what_was_finished_before_its_step() {
    model(600, || {
        let table = new_table(IndexKind::Sorted);
        fill(&table, 0..6);
        let own = |table: &Table| {
            let mut cursor = table.cursor(key(1).as_slice()..).unwrap();
            assert_eq!(cursor.scan_asc_next().map(|(at, _)| at.to_vec()), Some(key(1)));
            assert!(table.delete(key(2)).unwrap());
            assert_ne!(
                cursor.scan_asc_next().map(|(at, _)| at.to_vec()),
                Some(key(2)),
                "it was deleted before"
            );
            assert!(table.delete(key(4)).unwrap());
            assert!(table.insert(key(2), value(&key(2), 1, 30)).unwrap());
            assert_eq!(
                cursor.scan_desc_next().map(|(at, _)| at.to_vec()),
                Some(key(2)),
                "it was inserted before"
            );
        };
        let other = |table: &Table| {
            for number in [10, 0, 11, 5] {
                let _present = table.delete(key(number)).unwrap();
                table.upsert(key(number + 50), value(&key(number + 50), 1, 50)).unwrap();
                table.upsert(key(0), value(&key(0), 2, 20 + number)).unwrap();
            }
        };
        on_threads(&table, [work(own), work(other)]);
    });
}

/// A cursor looks at its leaf before each step, and another thread clears the table meanwhile.
#[test]
fn a_cursor_beside_a_clear_looks_at_no_memory_that_was_given_back() {
    model(400, || {
        let table = new_table(IndexKind::Sorted);
        fill(&table, 0..8);
        let cursor = |table: &Table| {
            let mut cursor = table.cursor(..).unwrap();
            for _ in 0..4 {
                if let Some((key, value)) = cursor.scan_asc_next() {
                    read(key, value);
                }
            }
            for _ in 0..2 {
                if let Some((key, value)) = cursor.scan_desc_next() {
                    read(key, value);
                }
            }
        };
        let clear = |table: &Table| {
            table.clear().unwrap();
            fill(table, 2..5);
            table.clear().unwrap();
        };
        on_threads(&table, [work(cursor), work(clear)]);
        assert!(table.is_empty());
    });
}

/// A reader in two stores at once keeps what it reads in both.
#[test]
fn a_reader_of_two_stores_keeps_both() {
    model_both(200, |index| {
        let (outer, inner) = (new_table(index), new_table(index));
        fill(&outer, 0..2);
        fill(&inner, 0..2);
        let churn = |table: Table| {
            work(move |_| {
                for version in 1..5 {
                    table.upsert(key(0), value(&key(0), version, 40)).unwrap();
                    table.upsert(key(1), value(&key(1), version, 350)).unwrap();
                }
            })
        };
        let nested = inner.clone();
        let reader = move |outer: &Table| {
            for number in [0, 1] {
                outer.select_with(key(number), |found| {
                    let before = read(&key(number), found);
                    look(&nested, &key(number));
                    assert_eq!(read(&key(number), found), before);
                });
            }
        };
        on_threads(&outer, [churn(outer.clone()), churn(inner.clone()), work(reader)]);
        inner.check();
    });
}

/// A store's limit holds for all threads together, and what was refused changes nothing.
#[test]
fn a_memory_limit_is_never_passed() {
    model_both(150, |index| {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        let own = store.memory();
        fill(&table, 0..2);
        let limit = store.memory() + 700;
        store.set_memory_limit(Some(limit));
        let writer = |first: usize| {
            work(move |table: &Table| {
                for number in first..first + 4 {
                    let pair = value(&key(number), 1, 320);
                    match table.insert(key(number), pair) {
                        Ok(inserted) => assert!(inserted && look(table, &key(number)) == Some(1)),
                        Err(error) => assert_eq!(
                            (error.code(), table.contains(key(number))),
                            ("TWINDEX_MEMORY_LIMIT", false)
                        ),
                    }
                }
            })
        };
        let watched = store.clone();
        let watch = move |_: &Table| (0..8).for_each(|_| assert!(watched.memory() <= limit));
        on_threads(&table, [writer(10), writer(20), work(watch)]);
        assert_eq!(store.memory(), own + table.memory());
    });
}

/// A thread that looks up in two stores by turns is seen by the writers of each.
#[test]
fn a_reader_of_two_stores_by_turns_is_seen_in_both() {
    model(300, || {
        let tables = [new_table(IndexKind::Hash), new_table(IndexKind::Hash)];
        for table in &tables {
            fill(table, 0..2);
        }
        let both = tables.clone();
        let reader = move |_: &Table| {
            for at in [0, 0, 1, 1, 0, 1, 1, 0] {
                assert!(look(&both[at], &key(at)).is_some());
            }
        };
        let writer = |table: Table| {
            work(move |_| {
                for version in 1..10 {
                    for number in 0..2 {
                        assert!(table.replace(key(number), value(&key(number), version, 10)).unwrap());
                    }
                }
            })
        };
        on_threads(&tables[0], [work(reader), writer(tables[0].clone()), writer(tables[1].clone())]);
        tables[1].check();
    });
}

/// An overwrite takes no more memory once the old value is free. A reader that was in it for a moment had it refused.
#[test]
fn overwrite_at_the_limit_waits_for_readers_of_the_old_values() {
    model_both(150, |index| {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        for number in 0..2 {
            assert!(table.insert(key(number), value(&key(number), 0, 9000)).unwrap());
        }
        store.set_memory_limit(Some(store.memory() + 12_000));
        let writer = |table: &Table| {
            for version in 1..5 {
                let written = table.replace(key(0), value(&key(0), version, 9000));
                assert!(written.is_ok_and(|written| written), "version {version} was refused");
            }
        };
        let reader = |table: &Table| (0..4).for_each(|number| _ = look(table, &key(number % 2)));
        on_threads(&table, [work(writer), work(reader)]);
    });
}

// --- snapshots and transactions

/// A snapshot has all of a batch or nothing, of all tables and keys at one moment, and shows the same whatever comes after: while
/// segments and leaves are copied, split and freed beside its readers.
#[test]
fn snapshot_shows_one_moment_beside_first_copies() {
    model_both(150, |index| {
        let store = Store::new();
        let table = store.table("t", index).unwrap();
        let other = store.table("u", index).unwrap();
        fill(&table, 0..4);
        fill(&other, 0..4);
        let writer = |first: usize| {
            let (store, other) = (store.clone(), other.clone());
            work(move |table: &Table| {
                for version in 2..5 {
                    store.atomically(|| {
                        table.upsert(key(first), value(&key(first), version, 40)).unwrap();
                        other.upsert(key(first), value(&key(first), version, 330)).unwrap();
                    });
                    table.insert(key(first + usize::from(version) * 10), "new").unwrap();
                }
            })
        };
        let reader = || {
            let store = store.clone();
            work(move |_: &Table| {
                for _ in 0..2 {
                    let snapshot = store.snapshot().unwrap();
                    let (table, other) = (snapshot.table("t").unwrap(), snapshot.table("u").unwrap());
                    let look = || {
                        [0, 1].map(|number| {
                            let key = key(number);
                            let [one, two] = [&table, &other]
                                .map(|table| table.select_with(&key, |found| read(&key, found)));
                            assert_eq!(one, two, "a batch is seen whole");
                            one
                        })
                    };
                    let before = look();
                    let mut pairs = table.iter();
                    let first = usize::from(pairs.next().is_some());
                    assert_eq!(look(), before, "and stays as it is");
                    assert_eq!(first + pairs.count(), table.len());
                }
            })
        };
        // Readers and cursors of the table itself pass through what is being copied.
        let live = work(|table: &Table| {
            for _ in 0..2 {
                assert!(look(table, &key(0)).is_some());
                let stays = |(found, _): &(Vec<u8>, Vec<u8>)| (0..4).any(|number| *found == key(number));
                assert_eq!(table.iter().filter(stays).count(), 4, "a pair that stays is shown once");
            }
        });
        on_threads(&table, [writer(0), writer(1), reader(), reader(), live]);
        other.check();
        assert_eq!(store.snapshot_stats(), twindex::SnapshotStats::default());
    });
}

/// Transactions beside each other, plain writes and a transaction that only reads: nothing is lost, and no sum is ever wrong.
#[test]
fn commits_beside_reads_keep_the_sum() {
    model(150, || {
        let store = Store::new();
        let tables =
            [store.table("t", IndexKind::Hash).unwrap(), store.table("u", IndexKind::Sorted).unwrap()];
        for table in &tables {
            (0..2).for_each(|number| assert!(table.insert(key(number), "10").unwrap()));
        }
        let transfer = |from: usize, to: usize| {
            let (store, tables) = (store.clone(), tables.clone());
            work(move |_: &Table| {
                let done = store.transaction(|tx| {
                    tx.increment(&tables[from % 2], key(from / 2), -1)?;
                    tx.increment(&tables[to % 2], key(to / 2), 1).map(drop)
                });
                assert!(done.is_ok());
            })
        };
        let (counted, store) = (tables.clone(), store.clone());
        let sum = work(move |_: &Table| {
            let mut tx = store.begin();
            let mut sum = || -> Result<i64, twindex::Error> {
                let mut sum = 0;
                for table in &counted {
                    for number in 0..2 {
                        let found = tx.select(table, key(number))?.expect("an account");
                        sum += String::from_utf8(found).unwrap().parse::<i64>().unwrap();
                    }
                }
                Ok(sum)
            };
            assert!(
                sum().is_ok_and(|sum| sum == 40) || tx.commit().is_err(),
                "a reader sees no half of a commit"
            );
        });
        on_threads(&tables[0], [transfer(0, 1), transfer(3, 0), transfer(1, 2), sum]);
        tables[1].check();
    });
}

/// Commits that each need room in several leaves, beside each other, a plain write and a snapshot that has leaves copied.
#[test]
fn commits_that_widen_leaves_are_seen_whole() {
    model(100, || {
        let store = Store::new();
        let table = store.table("t", IndexKind::Sorted).unwrap();
        (0..10).for_each(|number| assert!(table.insert(key(2 * number), [0; 24]).unwrap()));
        let commit = |first: usize| {
            let store = store.clone();
            work(move |table: &Table| {
                let write = |tx: &mut twindex::Transaction| {
                    (0..3).try_for_each(|at| tx.upsert(table, key(first + 6 * at), [1; 40]))
                };
                assert!(store.transaction(write).is_ok());
            })
        };
        let seen = store.clone();
        let seen = work(move |_: &Table| {
            let table = seen.snapshot().unwrap().table("t").unwrap();
            for first in [1, 3] {
                let count = (0..3).filter(|at| table.contains(key(first + 6 * at))).count();
                assert!(count % 3 == 0, "a snapshot shows {count} of 3 writes of a commit");
            }
        });
        let plain = work(|table: &Table| assert!(table.upsert(key(5), [2; 40]).is_ok()));
        on_threads(&table, [commit(1), commit(3), seen, plain]);
        assert_eq!(table.len(), 17);
    });
}

/// Of two transactions that each read what the other one writes, one runs again: its commit sees the other's lock or write.
#[test]
fn commits_that_read_what_the_other_writes_do_not_both_take_effect() {
    model_both(150, |index| {
        let store = Store::new();
        let tables = ["t", "u"].map(|name| store.table(name, index).unwrap());
        for table in &tables {
            assert!(table.insert(key(0), "10").unwrap());
        }
        let take = |own: usize| {
            let (store, tables) = (store.clone(), tables.clone());
            work(move |_: &Table| {
                let done = store.transaction(|tx| {
                    let mut sum = 0;
                    for table in &tables {
                        let found = tx.select(table, key(0))?.expect("it is there");
                        sum += String::from_utf8(found).unwrap().parse::<i64>().unwrap();
                    }
                    if sum < 20 { Ok(0) } else { tx.increment(&tables[own], key(0), -1) }
                });
                assert!(done.is_ok());
            })
        };
        on_threads(&tables[0], [take(0), take(1)]);
        let left = tables.each_ref().map(|table| table.select(key(0)).unwrap());
        assert!(left == [b"9".to_vec(), b"10".to_vec()] || left == [b"10".to_vec(), b"9".to_vec()]);
    });
}
