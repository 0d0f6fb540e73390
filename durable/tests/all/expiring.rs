//! Tables whose pairs expire, by a clock that the tests set.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use twindex_durable::twindex::{IndexKind, TableOptions};
use twindex_durable::{
    AnyTable, Durability, Effect, Error, ExpiringPart, ExpiringTable, Store, Ttl, Watched, load, twindex,
};

use crate::common::{ALL, folder, follower, open, open_by_hand, until};

const KINDS: [IndexKind; 2] = [IndexKind::Hash, IndexKind::Sorted];
/// A time in 2049, before which a store that goes by the system's clock removes nothing.
const BEGIN: u64 = 2_500_000_000_000;
const MINUTE: Duration = Duration::from_mins(1);

/// A steady clock and a wall clock.
#[derive(Clone)]
pub(crate) struct Hands(Arc<[AtomicU64; 2]>);

impl Hands {
    pub(crate) fn of(store: &Store) -> Self {
        let hands = Self(Arc::new([AtomicU64::new(1000), AtomicU64::new(BEGIN)]));
        hands.clone().set(store);
        hands
    }

    pub(crate) fn set(self, store: &Store) {
        store.set_clock(move || (self.0[0].load(Relaxed), self.0[1].load(Relaxed)));
    }

    pub(crate) fn pass(&self, time: Duration) {
        for hand in &*self.0 {
            hand.fetch_add(time.as_millis() as u64, Relaxed);
        }
    }
}

fn in_memory(kind: IndexKind) -> (ExpiringTable, Hands, Store) {
    let store = Store::new();
    let hands = Hands::of(&store);
    (store.expiring_table("t", kind).unwrap(), hands, store)
}

fn pairs(table: &ExpiringTable) -> BTreeMap<Vec<u8>, Vec<u8>> {
    table.iter().unwrap().collect()
}

fn left(table: &ExpiringTable, key: &str) -> Option<u64> {
    match table.ttl(key).unwrap() {
        Ttl::Left(left) => Some(left.as_millis() as u64),
        _ => None,
    }
}

#[test]
fn cursors_and_scans_of_many_leaves_pass_over_expired_pairs_both_ways() {
    let (table, hands, _store) = in_memory(IndexKind::Sorted);
    for number in 0..1000_u32 {
        let ttl = (number % 10 != 5).then_some(MINUTE);
        table.upsert(format!("{number:03}"), number.to_string(), ttl).unwrap();
    }
    let mut cursor = table.cursor("100".."900").unwrap();
    assert_eq!(cursor.scan_asc_next(), Some((b"100".as_slice(), b"100".as_slice())));
    hands.pass(MINUTE);
    assert_eq!(cursor.scan_asc_next().unwrap().0, b"105");
    assert_eq!((cursor.key(), cursor.value().as_deref()), (Some(b"105".as_slice()), Some(b"105".as_slice())));
    assert_eq!(cursor.scan_asc_next().unwrap().0, b"115");
    assert_eq!(cursor.scan_desc_next().unwrap().0, b"105");
    assert_eq!(cursor.scan_desc_next(), None);
    assert_eq!(cursor.scan_asc_next().unwrap().0, b"115", "the cursor stayed, though expired pairs precede");
    cursor.seek("500");
    assert_eq!(cursor.key(), None);
    let mut keys = Vec::new();
    assert_eq!(cursor.scan_asc_next_many(2, |key, _| keys.push(key.to_vec())), 2);
    assert_eq!((keys.concat(), cursor.key()), (b"505515".to_vec(), Some(b"515".as_slice())));
    assert_eq!(cursor.scan_desc_next_many(9, |_, _| ()), 9);
    assert_eq!(cursor.scan_desc_next().unwrap().0, b"415");
    assert_eq!(table.scan(..).unwrap().count(), 100);
    assert_eq!(table.scan("1".."2").unwrap().rev().map(|(key, _)| key).next().unwrap(), b"195");
    assert_eq!(table.prefix("99").unwrap().collect::<Vec<_>>(), [(b"995".to_vec(), b"995".to_vec())]);
    assert_eq!(table.delete_range("1".."2").unwrap(), 10);
    assert_eq!(pairs(&table).len(), 90);
}

#[test]
fn what_has_expired_stays_hidden_when_the_wall_clock_goes_back() {
    let (table, hands, _store) = in_memory(IndexKind::Hash);
    table.upsert("a", "1", MINUTE).unwrap();
    table.upsert("b", "1", 2 * MINUTE).unwrap();
    hands.pass(MINUTE);
    assert!(!table.contains("a").unwrap());
    hands.0[1].fetch_sub(3_600_000, Relaxed);
    assert!(!table.contains("a").unwrap());
    assert_eq!(left(&table, "b"), Some(60_000));
    // The steady clock goes on.
    hands.pass(MINUTE);
    assert!(!table.contains("b").unwrap());
    // A wall clock that is set forward, as after the machine has slept, is followed.
    table.upsert("c", "1", 2 * 60 * MINUTE).unwrap();
    hands.0[1].fetch_add(4 * 3_600_000, Relaxed);
    hands.0[0].fetch_add(1, Relaxed);
    assert!(!table.contains("c").unwrap());
}

#[test]
fn deadlines_survive_closing_compaction_save_dump_load_and_reach_followers() {
    for (durability, kind) in ALL.into_iter().zip(KINDS.into_iter().cycle()) {
        let (folder, path) = folder();
        let store = open_by_hand(&path, durability);
        let hands = Hands::of(&store);
        let table = store.expiring_table("t", kind).unwrap();
        let fill = |from: u32| {
            for number in from..from + 30 {
                let ttl = (number % 3 != 0).then(|| MINUTE * (number % 3));
                table.upsert(format!("{number:03}"), "v", ttl).unwrap();
            }
        };
        fill(0);
        let see = |store: &Store, minutes: u64, count: usize| {
            let hands = Hands::of(store);
            hands.pass(Duration::from_mins(minutes));
            let AnyTable::Expiring(table) = store.any_table_with("t", TableOptions::new(kind), None).unwrap()
            else {
                panic!("it does not expire")
            };
            assert_eq!(pairs(&table).len(), count);
            assert_eq!(table.ttl("001").unwrap() == Ttl::Absent, minutes > 0);
        };
        for minutes in [0, 1, 2] {
            let mut dump = Vec::new();
            store.dump(&mut dump).unwrap();
            let loaded = <twindex::Store as twindex_durable::Dump>::load(&mut dump.as_slice()).unwrap();
            see(&Store::from(loaded), minutes, 30 - 10 * minutes as usize);
            let copy = folder.path().join(format!("copy{minutes}.twx"));
            store.save_as(&copy).unwrap();
            see(&Store::from(load(&copy).unwrap()), minutes, 30 - 10 * minutes as usize);
        }
        if durability == Durability::None {
            fill(30);
        } else {
            see(&follower(&path), 1, 20);
            store.compact().unwrap();
            fill(30);
            let copy = follower(&path);
            see(&copy, 1, 40);
            let Ok(AnyTable::Expiring(of_copy)) = copy.any_table_with("t", TableOptions::new(kind), None)
            else {
                panic!("it does not expire")
            };
            assert!(matches!(of_copy.upsert("a", "1", None), Err(Error::ReadOnly { .. })));
            assert!(matches!(of_copy.remove_expired(9), Err(Error::ReadOnly { .. })));
            assert_eq!(of_copy.len(), 60);
        }
        hands.pass(MINUTE);
        assert_eq!(pairs(&table).len(), 40);
        store.close().unwrap();
        assert!(matches!(table.select("000"), Err(Error::Closed { .. })));
        see(&open(&path, durability), 2, 20);
    }
}

#[test]
fn expiry_is_remembered_with_the_codecs_and_contradictions_are_errors() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    let options = TableOptions::new(IndexKind::Hash).keys("int").values("str");
    store.expiring_table_with("e", options).unwrap();
    store.table_with("p", options).unwrap();
    store.close().unwrap();
    let store = open(&path, Durability::EverySec);
    let any = |name, options, expires| store.any_table_with(name, options, expires);
    assert!(
        matches!(any("e", options, None), Ok(AnyTable::Expiring(table)) if table.codecs() == ("int", "str"))
    );
    assert!(matches!(any("p", options, None), Ok(AnyTable::Plain(_))));
    assert!(matches!(any("new", options, None), Ok(AnyTable::Plain(_))));
    assert!(matches!(any("newer", options, Some(true)), Ok(AnyTable::Expiring(_))));
    let bytes = TableOptions::new(IndexKind::Hash).keys("bytes").values("bytes");
    assert!(matches!(any("e", bytes, None), Ok(AnyTable::Expiring(_))));
    let json = options.values("json");
    let Err(Error::Engine(wrong @ twindex::Error::WrongCodec { .. })) = any("e", json, None) else {
        panic!("it was opened")
    };
    assert!(wrong.to_string().contains("str") && !wrong.to_string().contains("expires:"), "{wrong}");
    let is_wrong = |error: Error, expires: bool| {
        assert!(matches!(&error, Error::WrongExpiry { expires: is, .. } if *is == expires), "{error}");
        assert!(error.code() == "TWINDEX_WRONG_EXPIRY" && error.to_string().contains('"'));
    };
    is_wrong(any("p", options, Some(true)).unwrap_err(), false);
    is_wrong(any("e", options, Some(false)).unwrap_err(), true);
    is_wrong(store.expiring_table("p", IndexKind::Hash).unwrap_err(), false);
    is_wrong(store.table("e", IndexKind::Hash).unwrap_err(), true);
    is_wrong(store.find_table("e").unwrap_err(), true);
    is_wrong(store.table_with("q", options.values("expires:str")).unwrap_err(), true);
    is_wrong(store.snapshot().unwrap().table("e").unwrap_err(), true);
    is_wrong(store.snapshot().unwrap().expiring_table("p").unwrap_err(), false);
    let absent = any("none", options.create(false), Some(true));
    assert!(matches!(absent, Err(Error::Engine(twindex::Error::NoTable { .. }))));
}

#[test]
fn writes_remove_expired_pairs_in_bounded_steps() {
    for kind in KINDS {
        let (table, hands, _store) = in_memory(kind);
        for number in 0..20_000_u32 {
            table
                .upsert(number.to_be_bytes(), "v", if number % 2 == 0 { MINUTE } else { 9 * MINUTE })
                .unwrap();
        }
        assert_eq!(table.len(), 20_000);
        hands.pass(MINUTE);
        let mut most = 0;
        for number in 20_000..50_000_u32 {
            let before = table.len();
            table.upsert(number.to_be_bytes(), "v", 9 * MINUTE).unwrap();
            most = most.max(before.saturating_sub(table.len()));
        }
        assert_eq!(table.len(), 40_000, "{kind}: the expired half is gone");
        assert!(most < 128, "{most} at once");
        // Nothing is due, so nothing is looked at.
        assert_eq!(table.remove_expired(usize::MAX).unwrap(), 0);
    }
}

#[test]
fn the_thread_that_syncs_removes_expired_pairs_of_a_file_that_nobody_writes_to() {
    let (_folder, path) = folder();
    let make = open(&path, Durability::EverySec);
    for kind in KINDS {
        let table = make.expiring_table(kind.name(), kind).unwrap();
        let pairs: Vec<_> = (0..3000_u32).map(|number| (number.to_be_bytes(), "v")).collect();
        table.upsert_many(&pairs, Duration::from_millis(1)).unwrap();
    }
    make.close().unwrap();
    // Neither table is opened.
    let store = open(&path, Durability::EverySec);
    until("the pairs are removed", || store.stats().pairs == 0);
}

#[test]
fn the_feed_has_values_without_deadlines_and_says_when_they_expire() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    let hands = Hands::of(&store);
    let before = store.position().unwrap();
    let options = TableOptions::new(IndexKind::Hash).values("str");
    let table = store.expiring_table_with("t", options).unwrap();
    table.upsert("a", "1", MINUTE).unwrap();
    table.upsert("b", "2", None).unwrap();
    store.table_with("p", options).unwrap().upsert("c", "3").unwrap();
    let from_start = |compacted: bool| {
        let changes = store.changes(before).unwrap().flat_map(|batch| batch.unwrap().changes);
        let puts = changes.filter_map(|change| match change.effect {
            Effect::Put { key, value } => {
                assert_eq!(change.table.values, "str", "compacted: {compacted}");
                Some((String::from_utf8(key).unwrap(), value, change.expires))
            }
            _ => None,
        });
        puts.collect::<Vec<_>>()
    };
    let put = |key: &str, value: &str, expires| (key.to_owned(), value.as_bytes().to_vec(), expires);
    let all = [put("a", "1", Some(BEGIN + 60_000)), put("b", "2", None), put("c", "3", None)];
    assert_eq!(from_start(false), all);
    let watch = table.watch("").unwrap();
    table.upsert("a", "4", MINUTE).unwrap();
    let Some(Watched::Change(change)) = watch.poll() else { panic!("a watch is told at once") };
    assert_eq!(
        (change.effect, change.expires),
        (Effect::Put { key: "a".into(), value: "4".into() }, all[0].2)
    );
    drop(watch);
    let all = [&all[..], &[put("a", "4", all[0].2)]].concat();
    store.compact().unwrap();
    assert_eq!(from_start(true), all);
    hands.pass(MINUTE);
    let watch = table.watch("").unwrap();
    assert_eq!(table.remove_expired(9).unwrap(), 1);
    let removed = Effect::Delete { key: "a".into() };
    assert!(matches!(watch.poll(), Some(Watched::Change(change)) if change.effect == removed));
}

#[test]
fn deadlines_pass_between_transactions_not_within_one() {
    for kind in KINDS {
        let (table, hands, store) = in_memory(kind);
        table.insert("k", "1", MINUTE).unwrap();
        let mut transaction = store.begin().unwrap();
        let mut part = transaction.expiring(&table);
        assert!(part.contains("k").unwrap());
        part.upsert("own", "2", MINUTE).unwrap();
        hands.pass(2 * MINUTE);
        let mut part = transaction.expiring(&table);
        assert_eq!(part.select("k").unwrap().as_deref(), Some(b"1".as_slice()));
        assert_eq!(part.select("own").unwrap().as_deref(), Some(b"2".as_slice()));
        assert!(!part.insert("k", "9", None).unwrap());
        if kind == IndexKind::Sorted {
            assert_eq!(part.range(.., 9, false).unwrap().len(), 2);
        }
        part.increment("k", 1, None).unwrap();
        transaction.commit().unwrap();
        assert!(pairs(&table).is_empty(), "what has expired is not returned outside");
        let absent: Result<_, Error> = store.transaction(|tx| tx.expiring(&table).contains("k"));
        assert!(!absent.unwrap());
    }
}

#[test]
fn a_transaction_renews_no_pair_that_has_expired_by_its_commit() {
    let (table, hands, store) = in_memory(IndexKind::Hash);
    for renews in [
        |part: &mut ExpiringPart<'_>| part.touch("k", None),
        |part: &mut ExpiringPart<'_>| part.replace("k", "2", None),
        // Own writes of the same deadline, under another key and under the same.
        |part: &mut ExpiringPart<'_>| {
            part.upsert("other", "1", MINUTE)?;
            part.touch("k", None)
        },
        |part: &mut ExpiringPart<'_>| {
            let was_there = part.contains("k")?;
            if was_there {
                part.increment("k", 1, None)?;
                part.touch("k", None)?;
            }
            Ok(was_there)
        },
    ] {
        table.upsert("k", "1", MINUTE).unwrap();
        let mut done = Vec::new();
        store
            .transaction(|tx| {
                done.push(renews(&mut tx.expiring(&table))?);
                hands.pass(2 * MINUTE);
                Ok::<_, Error>(())
            })
            .unwrap();
        assert_eq!(done, [true, false], "it runs again, by a new moment");
        assert!(!table.contains("k").unwrap());
    }
    store
        .transaction(|tx| {
            tx.expiring(&table).insert("own", "1", MINUTE)?;
            hands.pass(2 * MINUTE);
            tx.expiring(&table).touch("own", None)
        })
        .unwrap();
    assert!(table.contains("own").unwrap(), "its own write was there all the time");
}

#[test]
fn what_a_transaction_wrote_is_removed_once_it_has_expired() {
    let (table, hands, store) = in_memory(IndexKind::Sorted);
    store
        .transaction(|tx| {
            let mut part = tx.expiring(&table);
            part.insert("a", "1", MINUTE)?;
            part.increment("b", 1, MINUTE)?;
            part.insert("c", "1", None).map(drop)
        })
        .unwrap();
    assert_eq!(table.remove_expired(99).unwrap(), 0);
    hands.pass(MINUTE);
    assert_eq!((table.remove_expired(99).unwrap(), table.len()), (2, 1));
}

#[test]
fn what_was_written_before_an_error_is_removed_once_it_has_expired() {
    let (table, hands, store) = in_memory(IndexKind::Hash);
    table.upsert("a", "1", None).unwrap();
    assert_eq!(table.remove_expired(9).unwrap(), 0, "from here on nothing is due");
    store.set_memory_limit(Some(store.memory() + (1 << 20)));
    let large = vec![0; 4 << 20];
    let swaps = [("b", None, Some(b"1".as_slice())), ("c", None, Some(&large))];
    let error = table.compare_and_swap_many(&swaps, MINUTE).unwrap_err();
    assert_eq!((error.code(), table.len()), ("TWINDEX_MEMORY_LIMIT", 2));
    hands.pass(MINUTE);
    assert_eq!(table.remove_expired(9).unwrap(), 1);
}

#[test]
fn a_replace_fails_where_no_write_is_allowed() {
    let (_folder, path) = folder();
    let store = open(&path, Durability::EverySec);
    let written = store.expiring_table("t", IndexKind::Hash).unwrap();
    let read = follower(&path).expiring_table("t", IndexKind::Hash).unwrap();
    store.close().unwrap();
    for (table, code) in [(&read, "TWINDEX_READ_ONLY"), (&written, "TWINDEX_CLOSED")] {
        let one = table.replace("absent", "1", None).map(drop);
        let many = table.replace_many(&[("absent", "1")], None).map(drop);
        for done in [one, many] {
            assert_eq!(done.map_err(|error| error.code()), Err(code));
        }
    }
}

#[test]
fn removal_never_takes_a_pair_that_another_thread_has_renewed() {
    for kind in KINDS {
        let (_folder, path) = folder();
        let store = open(&path, Durability::EverySec);
        let hands = Hands::of(&store);
        let table = store.expiring_table("t", kind).unwrap();
        let keys: Vec<_> = (0..2000_u32).map(u32::to_be_bytes).collect();
        for round in 0..5_u32 {
            let old: Vec<_> = keys.iter().map(|key| (key, round.to_be_bytes())).collect();
            table.upsert_many(&old, MINUTE).unwrap();
            hands.pass(MINUTE);
            thread::scope(|scope| {
                let removing = scope.spawn(|| while table.remove_expired(64).unwrap() > 0 {});
                for (number, key) in keys.iter().enumerate() {
                    match number % 3 {
                        0 => assert!(table.insert(key, "new", MINUTE).unwrap()),
                        1 => table.upsert(key, "new", MINUTE).unwrap(),
                        _ => assert_eq!(table.increment(key, 1, MINUTE).unwrap(), 1),
                    }
                }
                removing.join().unwrap();
            });
            assert_eq!(pairs(&table).len(), keys.len());
            hands.pass(MINUTE);
        }
        let expected = table.len();
        store.close().unwrap();
        assert_eq!(open(&path, Durability::EverySec).expiring_table("t", kind).unwrap().len(), expected);
    }
}
